//! Detection of stale reads: the reads of a run are repeated on the tree as it was when they were made.
//!
//! That tree is the present one, with the pre-images of the changes that the run made afterwards laid over it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::history::{Past, is_same};
use crate::{
    Context,
    call::{files::Files, prompt::MADE},
    change::restored::pre_image,
    reply::{answer_of, as_value, packed_value, replies_with_contents},
};
use adapter::contract::BaselineRecord;
use base::{
    call::Call,
    change::Stamp,
    error::{Code, Error},
    path::RepoPath,
};
use gate::Rules;
use record::{
    Record, RunFolder,
    event::{self, Event, StaleRead, Stored},
};
use system::{
    policy::Policy,
    workspace::{Kind, Overlay, View, parallel_map},
};

/// The context, record, policy and rules with which the reads of a run are repeated.
pub(crate) struct Reading<'a> {
    pub(crate) context: &'a Context,
    pub(crate) folder: &'a RunFolder,
    pub(crate) past: &'a Past,
    /// The policy under which they were made.
    pub(crate) policy: &'a Policy,
    pub(crate) rules: &'a Rules,
    /// The rules that redacted the searched texts.
    pub(crate) redacted: Option<&'a Rules>,
}

/// A change of one file that has yet to come.
#[derive(Debug)]
struct Coming {
    transaction: String,
    index: usize,
    before: Option<Stamp>,
}

/// The tree as it was at some moment of the run.
#[derive(Debug, Default)]
struct Then {
    coming: BTreeMap<RepoPath, VecDeque<Coming>>,
    overlay: Overlay,
    /// Files of which the overlay does not say yet what they were.
    unsettled: BTreeSet<RepoPath>,
    /// The results of the reads since the last change, by call.
    known: BTreeMap<String, Result<Stored, Code>>,
}

impl Reading<'_> {
    /// Every read that would give something else now.
    pub(crate) fn stale(&self) -> Result<Vec<StaleRead>, Error> {
        let mut then = Then::before(self.past.records());
        let mut stale = Vec::new();
        for (at, record) in self.past.records().iter().enumerate() {
            self.context.check_cancelled()?;
            match &record.event {
                Event::Committed(moved) | Event::Undone(moved) => then.pass(moved),
                Event::Call(recorded) if is_read(recorded) && self.past.is_answer(at, record) => {
                    let call = self.past.call_of(recorded)?;
                    if !self.reads_the_same(&mut then, recorded, &call)? {
                        let row = |what| StaleRead { what, position: record.position.clone() };
                        stale.extend(self.what(&then, recorded, &call)?.into_iter().map(row));
                    }
                }
                Event::DtaProposed(_) if self.past.is_answered(&record.position) => {
                    let changed = self.changed_of_baseline(&mut then, record)?;
                    let row = |path: RepoPath| StaleRead { what: path.to_string(), position: record.position.clone() };
                    stale.extend(changed.into_iter().map(row));
                }
                _ => {}
            }
        }
        Ok(stale)
    }

    fn reads_the_same(&self, then: &mut Then, recorded: &event::Call, call: &Call) -> Result<bool, Error> {
        then.settle(self.folder)?;
        let key = format!("{} {}", call.name(), recorded.args.form());
        let found = match then.known.get(&key) {
            Some(found) => found.clone(),
            None => {
                let found = match self.read_again(&then.overlay, recorded, call) {
                    Ok(reply) => Ok(packed_value(&reply, replies_with_contents(call), self.rules.secrets())?),
                    Err(error) => Err(error.code()),
                };
                then.known.insert(key, found.clone());
                found
            }
        };
        let same = match (&found, &recorded.reply) {
            (Ok(reply), Some(recorded)) => is_same(recorded.form(), reply.form()),
            (Err(code), None) => recorded.error.as_ref().is_some_and(|error| error.code() == *code),
            (Ok(_), None) | (Err(_), Some(_)) => false,
        };
        Ok(same || self.only_a_folder_of_ours(then, recorded, call)?)
    }

    fn files<'a>(&'a self, overlay: &'a Overlay) -> Files<'a> {
        let stop = Some(&*self.context.options.cancel);
        // What an earlier version gave a script may be larger than a reply may be now.
        Files { context: self.context, policy: self.policy, overlay, most: u64::MAX, redacted: self.redacted, stop }
    }

    fn read_again(&self, overlay: &Overlay, recorded: &event::Call, call: &Call) -> Result<Value, Error> {
        let parts = match call {
            Call::PromptCompose(parts) => parts,
            Call::EditFind(find) => return self.files(overlay).find_targets(find),
            other => return self.files(overlay).answer(other),
        };
        let composed = self.files(overlay).compose(parts)?;
        let made = recorded.error.as_ref().filter(|error| error.details().get(MADE) == Some(&json!(composed.sha256)));
        if let Some(error) = made {
            // It was made, and is the same now. Why it was of no use then has nothing to do with files.
            return Err(Error::new(error.code(), "the prompt was of no use"));
        }
        as_value(&composed)
    }

    /// Returns the paths or patterns of a read whose result has changed; of a prompt, the files that differ, if any do.
    fn what(&self, then: &Then, recorded: &event::Call, call: &Call) -> Result<Vec<String>, Error> {
        let Call::PromptCompose(parts) = call else { return Ok(vec![what(call)]) };
        let Ok(reply) = answer_of(recorded, &self.folder.pack()?)? else { return Ok(vec![what(call)]) };
        let was = |path: &str| {
            let is_it = |part: &&Value| part["name"] == format!("file:{path}");
            reply["parts"].as_array().and_then(|parts| parts.iter().find(is_it)).map(|part| part["sha256"].clone())
        };
        let files = self.files(&then.overlay);
        let is_other = |path: &&str| was(path) != files.sha256(path).ok().map(Value::from);
        let others: Vec<String> = parts.paths().filter(is_other).map(str::to_owned).collect();
        Ok(if others.is_empty() { vec![what(call)] } else { others })
    }

    /// True if nothing was found at a path where now is a folder that holds nothing but files which the run made afterwards.
    fn only_a_folder_of_ours(&self, then: &Then, recorded: &event::Call, call: &Call) -> Result<bool, Error> {
        let (Call::FilesExists { path } | Call::FilesStat { path }) = call else { return Ok(false) };
        let was_nothing = recorded.reply.as_ref().is_some_and(|reply| *reply.form() == json!(false))
            || recorded.error.as_ref().is_some_and(|error| error.code() == Code::NotFound);
        let Ok(path) = RepoPath::parse(path) else { return Ok(false) };
        let is_folder = self.context.workspace.stat(&path)?.is_some_and(|found| found.kind == Kind::Folder);
        if !was_nothing || !is_folder {
            return Ok(false);
        }
        let globs = system::workspace::Globs::parse(&[format!("{}/**", system::workspace::Globs::literal(&path))])?;
        let below = View::new(&self.context.workspace, &then.overlay).list(&globs, self.context.options.threads)?;
        Ok(below.paths.is_empty() && !then.coming.is_empty())
    }

    /// The files that an adapter looked at and that are otherwise.
    fn changed_of_baseline(&self, then: &mut Then, record: &Record) -> Result<Vec<RepoPath>, Error> {
        let Some(file) = record.files.first() else { return Ok(Vec::new()) };
        let baseline: BaselineRecord = serde_json::from_slice(&self.folder.read(&file.path)?)
            .map_err(|_| Error::new(Code::RecordDamaged, format!("`{}` is no baseline", file.path)))?;
        then.settle(self.folder)?;
        let view = View::new(&self.context.workspace, &then.overlay);
        let changed = parallel_map(self.context.options.threads, &baseline.files, |file| {
            let same = view.hash(&file.path).is_ok_and(|stamp| stamp.sha256 == file.sha256);
            (!same).then(|| file.path.clone())
        });
        Ok(changed.into_iter().flatten().collect())
    }
}

impl Then {
    /// The tree before the run.
    fn before(records: &[Record]) -> Self {
        let revoked = records.iter().filter_map(|record| record.event.revoked());
        let revoked: BTreeSet<&str> = revoked.map(|revoked| revoked.transaction.as_str()).collect();
        let mut then = Then::default();
        let moves = records.iter().filter_map(|record| record.event.moved());
        for moved in moves.filter(|moved| !revoked.contains(moved.transaction.as_str())) {
            for (index, entry) in moved.entries.iter().enumerate() {
                let coming = Coming { transaction: moved.transaction.clone(), index, before: entry.before };
                then.coming.entry(entry.path.clone()).or_default().push_back(coming);
            }
        }
        then.unsettled = then.coming.keys().cloned().collect();
        then
    }

    /// Goes on to the tree after a change.
    fn pass(&mut self, moved: &event::Transaction) {
        for entry in &moved.entries {
            let Some(coming) = self.coming.get_mut(&entry.path) else { continue };
            if coming.front().is_some_and(|next| next.transaction == moved.transaction) {
                coming.pop_front();
                self.unsettled.insert(entry.path.clone());
            }
        }
    }

    /// Makes the overlay say what every file was.
    fn settle(&mut self, folder: &RunFolder) -> Result<(), Error> {
        if self.unsettled.is_empty() {
            return Ok(());
        }
        self.known.clear();
        for path in std::mem::take(&mut self.unsettled) {
            match self.coming.get(&path).and_then(VecDeque::front) {
                None => self.overlay.remove(&path),
                Some(Coming { before: None, .. }) => self.overlay.insert(path, None),
                Some(Coming { transaction, index, before: Some(stamp) }) => {
                    let content = pre_image(folder, transaction, *index, stamp, &path)?;
                    self.overlay.insert(path, Some(content));
                }
            }
        }
        Ok(())
    }
}

/// An error that names what was read and is otherwise now; none if all is as it was.
pub(crate) fn refusal(run: &str, stale: &[StaleRead]) -> Option<Error> {
    let first = stale.first()?;
    let more = if stale.len() > 1 { format!(" (and {} more)", stale.len() - 1) } else { String::new() };
    let message = format!("`{}` is not what the run read at position {}{more}", first.what, first.position);
    let mut files: Vec<&str> = stale.iter().map(|read| read.what.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let hint = format!(
        "undo the change and resume again; or `nrv resume {run} --accept-stale-reads` goes on with what was read then"
    );
    Some(Error::new(Code::StalePreimage, message).detail("files", files).detail("reads", json!(stale)).hint(hint))
}

fn is_read(call: &event::Call) -> bool {
    call.call.starts_with("files.") || matches!(call.call.as_str(), "code.find" | "edit.find" | "prompt.compose")
}

fn what(call: &Call) -> String {
    match call {
        Call::FilesRead { path }
        | Call::FilesExists { path }
        | Call::FilesStat { path }
        | Call::FilesSha256 { path } => path.clone(),
        Call::FilesGlob { patterns } | Call::FilesGrep { patterns, .. } => patterns.join(" "),
        Call::CodeFind(search) => search.glob.join(" "),
        Call::EditFind(find) => find.patterns.join(" "),
        Call::PromptCompose(parts) => parts.paths().collect::<Vec<_>>().join(" "),
        other => other.name().to_owned(),
    }
}
