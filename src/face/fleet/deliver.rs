//! From approved patches to branches and change requests: each patch becomes one commit on a branch of its repository, once, and one
//! request, once, and both can be taken back.

use serde::{Deserialize, Serialize};

use super::{
    claim::{self, Taken},
    clone::Clone as Cloned,
    collect::Row,
    form::{CommitForm, RequestForm},
    plan::Task,
    request::Values,
    result::{self, Part},
    work::Worker,
};
use crate::{
    base::{
        error::{Code, Error},
        hash::Sha256,
        json,
    },
    script::remote::{Git, Surroundings},
    service::exec::PrivateFolder,
};

/// A branch that was pushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The task.
    pub task: Sha256,
    /// The name of the branch.
    pub branch: String,
    /// The commit on it.
    pub commit: String,
}

/// A change request that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requested {
    /// The task.
    task: Sha256,
    /// Its address, as the client prints it.
    request: String,
}

/// Runs the client of a forge; what it prints.
pub type Command<'c> = dyn FnMut(&[String]) -> Result<String, Error> + 'c;

impl Worker<'_> {
    /// Pushes the patch of a task as a commit on a new branch. False if that was done before.
    ///
    /// `stale_preimage` if the repository has another branch of that name, and `temporary` if it can't be reached, or another process
    /// delivers the task.
    pub fn deliver(&self, task: &Task, row: &Row, form: &CommitForm) -> Result<(Delivered, bool), Error> {
        let before = self.delivered(task.id)?;
        if let Some(before) = before.filter(|_| matches!(self.is_taken_back(task), Ok(false))) {
            return Ok((before, false));
        }
        self.alone(task, |folder| {
            let surroundings = self.surroundings();
            let (clone, commit) = self.committed((task, row), form, folder, &surroundings)?;
            clone.push(&task.url, &commit, form)?;
            let delivered = Delivered { task: task.id, branch: form.branch.clone(), commit };
            self.store.create(&key("delivered", task.id), json::canonical(&delivered)?.as_bytes())?;
            Ok((delivered, true))
        })
    }

    /// A bundle of git with the patch of a task as a commit on a branch, for those who have the task's commit.
    pub fn bundle(&self, task: &Task, row: &Row, form: &CommitForm) -> Result<Vec<u8>, Error> {
        let (folder, surroundings) = (PrivateFolder::make("fleet")?, self.surroundings());
        let (clone, commit) = self.committed((task, row), form, &folder, &surroundings)?;
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
        let commit = clone.commit(&patch, form)?;
        Ok((clone, commit))
    }

    /// The branch that was pushed for a task; none if none was.
    pub fn delivered(&self, task: Sha256) -> Result<Option<Delivered>, Error> {
        self.noted("delivered", task, |delivered: &Delivered| delivered.task == task)
    }

    /// Opens the change request of a branch that was pushed; its address. False if that was done before.
    pub fn request(
        &self,
        (task, delivered): (&Task, &Delivered),
        (form, request): (&CommitForm, &RequestForm),
        command: &mut Command<'_>,
    ) -> Result<(String, bool), Error> {
        let is_taken_back = self.is_taken_back(task)?;
        if let Some(before) = self.requested(task.id)?.filter(|_| !is_taken_back) {
            return Ok((before, false));
        }
        let values = Values { task, form, commit: &delivered.commit, request: "" };
        self.alone(task, |_| {
            // One that was killed, or that others have opened: there is one request a branch.
            let found = last_line(&command(&values.filled(&request.find))?);
            let (address, is_new) = match found {
                Some(found) => (found, false),
                None => {
                    let opened = last_line(&command(&values.filled(&request.open))?);
                    let silent = || Error::new(Code::CommandFailed, "`request.open` printed no address of a request");
                    (opened.ok_or_else(silent)?, true)
                }
            };
            let requested = Requested { task: task.id, request: address.clone() };
            self.store.create(&key("requested", task.id), json::canonical(&requested)?.as_bytes())?;
            Ok((address, is_new))
        })
    }

    /// The change request that was opened for a task; none if none was.
    pub fn requested(&self, task: Sha256) -> Result<Option<String>, Error> {
        let requested = self.noted("requested", task, |requested: &Requested| requested.task == task)?;
        Ok(requested.map(|requested| requested.request))
    }

    /// Closes the request of a task and removes its branch, if it is as it was pushed; false if it is gone already.
    ///
    /// `stale_preimage` if others have committed on it.
    pub fn take_back(&self, task: &Task, delivered: &Delivered, command: &mut Command<'_>) -> Result<bool, Error> {
        self.alone(task, |folder| {
            let surroundings = self.surroundings();
            let git = Git { place: folder.path(), limits: super::resolve::LIMITS, surroundings: &surroundings };
            let Delivered { branch, commit, .. } = delivered;
            let is_there = Cloned::is_there(&git, &task.url, commit, branch)?;
            if is_there {
                self.close(task, commit, command)?;
                Cloned::remove(&git, &task.url, commit, branch)?;
            }
            self.store.create(&key("taken-back", task.id), b"")?;
            Ok(is_there)
        })
    }

    /// Closes the request of a task, if there is one that is open.
    fn close(&self, task: &Task, commit: &str, command: &mut Command<'_>) -> Result<(), Error> {
        let (Some(form), Some(forms)) = (&self.head.commit, &self.head.request) else { return Ok(()) };
        let values = Values { task, form, commit, request: "" };
        let Some(request) = last_line(&command(&values.filled(&forms.find))?) else { return Ok(()) };
        command(&Values { request: &request, ..values }.filled(&forms.close)).map(drop)
    }

    /// Does something for a task that no other process may do at the same time.
    fn alone<T>(&self, task: &Task, work: impl FnOnce(&PrivateFolder) -> Result<T, Error>) -> Result<T, Error> {
        let folder = PrivateFolder::make("fleet")?;
        let what = Sha256::of(format!("deliver {}", task.id).as_bytes());
        let claim = match claim::take(&self.terms(), what, &folder)? {
            Taken::Ours(claim) => claim,
            Taken::Busy { .. } => {
                return Err(Error::new(Code::Temporary, "another process delivers it").hint("start it again later"));
            }
        };
        let done = work(&folder);
        match &done {
            Ok(_) => claim.release(self.store, what)?,
            Err(error) => claim.give_up(self.store, what, error)?,
        }
        done
    }

    /// True if the branch of a task was removed, so that it can be pushed again.
    fn is_taken_back(&self, task: &Task) -> Result<bool, Error> {
        Ok(self.store.get(&key("taken-back", task.id))?.is_some())
    }

    fn noted<T: for<'de> Deserialize<'de>>(
        &self,
        kind: &str,
        task: Sha256,
        is_right: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, Error> {
        let Some(bytes) = self.store.get(&key(kind, task))? else { return Ok(None) };
        let noted: Option<T> = serde_json::from_slice(&bytes).ok();
        noted.filter(is_right).map(Some).ok_or_else(|| {
            Error::new(Code::RecordDamaged, format!("the object `{}` of the store is damaged", key(kind, task)))
        })
    }
}

fn key(kind: &str, task: Sha256) -> String {
    format!("{kind}/{task}")
}

/// The last line that says something.
fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
