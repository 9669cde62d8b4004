//! From approved patches to branches and change requests: each patch becomes one commit on a branch of its repository, once, and one
//! request, once, and both can be taken back.
//!
//! Deliveries of a task are numbered: what was taken back can be delivered again. What is about to be done is noted before, and what was
//! done after, so that a process that is killed at any moment leaves enough to go on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    claim::{self, Taken, Terms},
    clone::Clone as Cloned,
    collect::Row,
    form::{CommitForm, RequestForm},
    plan::Task,
    request::{Values, address, form_of},
    result::{self, Part, SHORT},
    work::Worker,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};
use script::remote::{Git, Surroundings};
use service::exec::PrivateFolder;
use system::clock;

/// The folder of keys of deliveries that were begun.
const BEGUN: &str = "deliveries";

/// The most deliveries of a task.
const MOST: u32 = 1000;

/// Another process counts as dead if it holds a delivery for so long: its commands have ten minutes each.
const LEASE_MS: u64 = 4 * 3_600_000;

/// A branch that was pushed, or is about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The task.
    pub task: Sha256,
    /// The name of the branch.
    pub branch: String,
    /// The commit on it.
    pub commit: String,
    /// The hash of the patch and of the form of its commit.
    pub of: Sha256,
    /// The change request, as the client prints it; none if none is wanted or it is not open yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// The kinds of commands of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It looks.
    Find,
    /// It opens or closes something.
    Change,
}

/// Runs the client of a forge; what it prints.
pub type Command<'c> = dyn FnMut(Step, &[String]) -> Result<String, Error> + 'c;

/// A delivery of a task, by its number.
struct Delivery<'w> {
    worker: &'w Worker<'w>,
    task: &'w Task,
    number: u32,
}

impl Worker<'_> {
    /// Pushes the patch of a task as a commit on a new branch, and opens its request if the plan has one. False if that was done before.
    ///
    /// `stale_preimage` if the repository has another branch of that name, or the task was delivered otherwise before, and `temporary` if a
    /// server can't be reached, or another process delivers the task.
    pub fn deliver(
        &self,
        (task, row): (&Task, &Row),
        form: &CommitForm,
        command: &mut Command<'_>,
    ) -> Result<(Delivered, bool), Error> {
        let form = &form_of(form, task);
        if let Some(done) = self.delivery(task)?.done(row, form)? {
            return Ok((done, false));
        }
        self.alone(task, |folder| {
            // Another process may have gone on since the look above.
            let delivery = self.delivery(task)?;
            if let Some(done) = delivery.done(row, form)? {
                return Ok((done, false));
            }
            // A client that does not work stops the delivery before anything is pushed.
            let request = self.head.request.as_ref();
            let found = request.map(|request| delivery.find((form, request), command)).transpose()?.flatten();
            let (delivery, branch, is_new) = match delivery.noted::<Delivered>("delivered")? {
                Some(branch) => (delivery, branch, false),
                None => {
                    let (delivery, branch) = self.push(delivery, row, form, folder)?;
                    (delivery, branch, true)
                }
            };
            let Some(request) = request else { return Ok((branch, is_new)) };
            let opened = match found {
                Some(found) => found,
                None => delivery.open((form, request), &branch.commit, command)?,
            };
            let done = Delivered { request: Some(opened), ..branch };
            delivery.note("requested", &done)?;
            Ok((done, true))
        })
    }

    /// Pushes the branch of a delivery, and notes it before and after. A push that was refused is no delivery.
    fn push<'w>(
        &self,
        mut delivery: Delivery<'w>,
        row: &Row,
        form: &CommitForm,
        folder: &PrivateFolder,
    ) -> Result<(Delivery<'w>, Delivered), Error> {
        let task = delivery.task;
        let surroundings = self.surroundings();
        let git = Git { place: folder, limits: super::resolve::LIMITS, surroundings: &surroundings };
        let url = git.push_address(&task.url, &form.branch)?;
        let (clone, commit) = self.committed((task, row), form, folder, &surroundings)?;
        let branch =
            Delivered { task: task.id, branch: form.branch.clone(), commit, of: content(row, form)?, request: None };
        if let Some(begun) = delivery.noted::<Delivered>(BEGUN)?.filter(|begun| *begun != branch) {
            // It was begun with another commit, by a process that did not come to its end.
            if clone.has(&url, (&begun.branch, &begun.commit))? {
                return Err(otherwise(&begun));
            }
            delivery.note("taken-back", &begun)?;
            delivery = Delivery { number: delivery.number + 1, ..delivery };
        }
        delivery.note(BEGUN, &branch)?;
        if let Err(error) = clone.push(&url, &branch.commit, form) {
            if error.code() == Code::StalePreimage {
                delivery.note("taken-back", &branch)?;
            }
            return Err(error);
        }
        delivery.note("delivered", &branch)?;
        Ok((delivery, branch))
    }

    /// True if nothing of a task's delivery is left to do.
    pub fn is_delivered(&self, (task, row): (&Task, &Row), form: &CommitForm) -> Result<bool, Error> {
        self.delivery(task)?.done(row, &form_of(form, task)).map(|done| done.is_some())
    }

    /// The tasks whose delivery was begun, by their ids. An error if the store can't be listed.
    pub fn begun(&self) -> Result<BTreeSet<String>, Error> {
        let keys = self.store.list(BEGUN)?;
        Ok(keys.iter().filter_map(|key| Some(key.rsplit_once('-')?.0.to_owned())).collect())
    }

    /// Closes the request of a task and removes its branch, if it is as it was pushed; false if the branch is gone. None if there is nothing
    /// to take back.
    ///
    /// `stale_preimage` if others have committed on it.
    pub fn take_back(
        &self,
        task: &Task,
        form: &CommitForm,
        command: &mut Command<'_>,
    ) -> Result<Option<(String, bool)>, Error> {
        let form = &form_of(form, task);
        self.alone(task, |folder| {
            let delivery = self.delivery(task)?;
            let pushed = delivery.noted::<Delivered>("delivered")?;
            let is_known = pushed.is_some();
            let Some(branch) = pushed.map_or_else(|| delivery.noted(BEGUN), |pushed| Ok(Some(pushed)))? else {
                return Ok(None);
            };
            let requested = delivery.noted::<Delivered>("requested")?.and_then(|requested| requested.request);
            self.check_plan(form, &branch, requested.as_deref())?;
            let surroundings = self.surroundings();
            let git = Git { place: folder, limits: super::resolve::LIMITS, surroundings: &surroundings };
            let url = git.push_address(&task.url, &branch.branch)?;
            let is_there = match Cloned::is_there(&git, &url, &branch.commit, &branch.branch) {
                Err(error) if error.code() == Code::StalePreimage => {
                    // The branch is another's, or is so by now, and stays; nothing is left to take back.
                    if !is_known || delivery.noted::<Delivered>("taking-back")?.is_some() {
                        delivery.note("taken-back", &branch)?;
                    }
                    return if is_known { Err(error) } else { Ok(None) };
                }
                found => found?,
            };
            let request = self.head.request.as_ref();
            let found = request.map(|request| delivery.find((form, request), command)).transpose()?.flatten();
            // The request that is known to be ours, or one of a branch that is.
            let ours = found.and_then(|found| requested.or_else(|| is_there.then_some(found)));
            delivery.note("taking-back", &branch)?;
            if let (Some(request), Some(ours)) = (request, ours) {
                let values = Values { task, form, commit: &branch.commit, request: &ours };
                command(Step::Change, &values.filled(&request.close))?;
            }
            if is_there {
                Cloned::remove(&git, &url, &branch.commit, &branch.branch)?;
            }
            delivery.note("taken-back", &branch)?;
            Ok(Some((branch.branch.clone(), is_there)))
        })
    }

    /// An error if the plan is not the one that pushed a branch or opened its request.
    fn check_plan(&self, form: &CommitForm, branch: &Delivered, requested: Option<&str>) -> Result<(), Error> {
        if branch.branch != form.branch {
            return Err(Error::new(Code::StalePreimage, format!("the branch was `{}` then", branch.branch))
                .hint("roll back with the plan that pushed it"));
        }
        match requested.filter(|_| self.head.request.is_none()) {
            None => Ok(()),
            Some(request) => {
                Err(Error::new(Code::StalePreimage, format!("`{request}` was opened, and the plan has no `request`"))
                    .hint("roll back with the plan that opened it"))
            }
        }
    }

    /// A bundle of git with the patch of a task as a commit on a branch, for those who have the task's commit.
    pub fn bundle(&self, task: &Task, row: &Row, form: &CommitForm) -> Result<Vec<u8>, Error> {
        let (folder, surroundings, form) = (PrivateFolder::make("fleet")?, self.surroundings(), form_of(form, task));
        let (clone, commit) = self.committed((task, row), &form, &folder, &surroundings)?;
        clone.bundle(&commit, &form.branch)
    }

    /// A clone with the patch of a task as a commit.
    fn committed<'a>(
        &self,
        (task, row): (&Task, &Row),
        form: &CommitForm,
        folder: &'a PrivateFolder,
        surroundings: &'a Surroundings<'a>,
    ) -> Result<(Cloned<'a>, String), Error> {
        let sha256 = row.outcome.patch.ok_or_else(|| Error::new(Code::Internal, "a task has no patch"))?;
        let patch = result::part(self.store, &row.outcome, Part::Patch, sha256)?;
        let clone = Cloned::make(task, self.head.clone_mb, folder, surroundings)?;
        let commit = clone.commit(&patch, &row.entries, form)?;
        Ok((clone, commit))
    }

    /// The delivery of a task that is the current one: the first that was not taken back.
    fn delivery<'w>(&'w self, task: &'w Task) -> Result<Delivery<'w>, Error> {
        for number in 1..MOST {
            let delivery = Delivery { worker: self, task, number };
            if delivery.noted::<Delivered>("taken-back")?.is_none() {
                return Ok(delivery);
            }
        }
        Err(Error::new(Code::InvalidInput, format!("the task was delivered {MOST} times")))
    }

    /// Does something for a task that no other process may do at the same time.
    fn alone<T>(&self, task: &Task, work: impl FnOnce(&PrivateFolder) -> Result<T, Error>) -> Result<T, Error> {
        let folder = PrivateFolder::make("fleet")?;
        let what = Sha256::of(format!("deliver {}", task.id).as_bytes());
        // Who delivers it again has looked at what failed.
        let terms = || Terms { lease_ms: LEASE_MS, pause_ms: 0, ..self.terms() };
        let claim = match claim::take(&terms(), what, &folder)? {
            Taken::Ours(claim) => claim,
            Taken::Busy { until_ms, .. } => {
                let message = format!("another process delivers it, until {} at the latest", clock::rfc3339(until_ms));
                return Err(Error::new(Code::Temporary, message)
                    .hint("start it again later, or with `--take-over` if that process is gone"));
            }
        };
        let done = work(&folder);
        match &done {
            Ok(_) => claim.release(&terms(), what)?,
            Err(error) => drop(claim.give_up(&terms(), what, error)),
        }
        done
    }
}

/// The hash of the patch of a task and of the form of its commit.
fn content(row: &Row, form: &CommitForm) -> Result<Sha256, Error> {
    json::sha256(&(row.outcome.patch, form))
}

fn otherwise(before: &Delivered) -> Error {
    Error::new(Code::StalePreimage, format!("it was pushed as `{}` with another commit before", before.branch))
        .hint("take that back with the plan that pushed it")
}

impl Delivery<'_> {
    /// The delivery, if nothing of it is left to do.
    ///
    /// `stale_preimage` if it was delivered in another form, or is being taken back.
    fn done(&self, row: &Row, form: &CommitForm) -> Result<Option<Delivered>, Error> {
        if self.noted::<Delivered>("taking-back")?.is_some() {
            return Err(Error::new(Code::StalePreimage, "it was taken back in part")
                .hint("finish that with `nrv fleet rollback`"));
        }
        let Some(pushed) = self.noted::<Delivered>("delivered")? else { return Ok(None) };
        if pushed.of != content(row, form)? {
            return Err(otherwise(&pushed));
        }
        match self.worker.head.request {
            Some(_) => self.noted("requested"),
            None => Ok(Some(pushed)),
        }
    }

    /// The open request of the branch, if there is one.
    fn find(
        &self,
        (form, request): (&CommitForm, &RequestForm),
        command: &mut Command<'_>,
    ) -> Result<Option<String>, Error> {
        let values = Values { task: self.task, form, commit: "", request: "" };
        address("find", &command(Step::Find, &values.filled(&request.find))?)
    }

    /// Opens the request of the branch.
    fn open(
        &self,
        (form, request): (&CommitForm, &RequestForm),
        commit: &str,
        command: &mut Command<'_>,
    ) -> Result<String, Error> {
        let values = Values { task: self.task, form, commit, request: "" };
        let opened = address("open", &command(Step::Change, &values.filled(&request.open))?)?;
        opened.ok_or_else(|| Error::new(Code::CommandFailed, "`request.open` printed no address of a request"))
    }

    fn noted<T: for<'de> Deserialize<'de>>(&self, kind: &str) -> Result<Option<T>, Error> {
        let key = self.key(kind);
        let Some(bytes) = self.worker.store.get(&key, SHORT)? else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|_| Error::new(Code::RecordDamaged, format!("the object `{key}` of the store is damaged")))
    }

    fn note(&self, kind: &str, delivered: &Delivered) -> Result<(), Error> {
        self.worker.store.create(&self.key(kind), json::canonical(delivered)?.as_bytes()).map(drop)
    }

    fn key(&self, kind: &str) -> String {
        format!("{kind}/{}-{}", self.task.id, self.number)
    }
}
