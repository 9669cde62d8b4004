//! The evidence for evaluators: the calls, changes and manifests of a run, gathered once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    manifest::{Manifest, is_manifest},
    rework::{self, Changed, Step},
};
use crate::{
    change::{draft::Draft, ledger::Ledger},
    life::attempts::{BEGIN, END, detours},
    recorder::Recorder,
    tally::Tally,
    terms::Terms,
};
use base::{
    change::{Entry, Stamp},
    diff::{self, FilePatch, Lines, ParseOptions, Strip},
    error::{Code, Error},
    hash::Sha256,
    micro::tool_of,
    path::RepoPath,
};
use gate::Decision;
use record::{
    Pack, Record, RunFolder,
    event::{self, Changes, Event, FileRow, JudgedPatch, Kind},
};

#[cfg(test)]
use serde::Deserialize;

/// The evidence on which evaluators judge a run.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Calls that the run made.
    pub(super) calls: u64,
    /// How often gates objected.
    pub(super) violations: u64,
    /// Those calls that may be about commands or tests.
    pub(super) calls_made: Vec<MadeCall>,
    /// Which of them belong to attempts that were not kept.
    pub(super) undone: BTreeSet<usize>,
    /// Manifests that are not what they were before the run.
    pub(super) manifests: Vec<Manifest>,
    /// The totals of all changes.
    pub(super) changes: Changes,
    /// The same without those of attempts that were undone.
    pub(super) standing: Changes,
}

/// A call that may be about a command or a test, with its values in full.
#[derive(Debug, Default)]
pub(super) struct MadeCall {
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) decision: Decision,
    /// None if it failed.
    pub(super) reply: Option<Value>,
}

impl MadeCall {
    fn of(call: &event::Call, pack: &Pack) -> Result<Self, Error> {
        let (name, decision) = (call.call.clone(), call.decision);
        let reply = call.reply.as_ref().map(|reply| pack.value(reply)).transpose()?;
        Ok(MadeCall { name, args: pack.value(&call.args)?, decision, reply })
    }

    /// A call as a record has it.
    #[cfg(test)]
    pub(super) fn read(data: &Value) -> Self {
        MadeCall::of(&event::Call::deserialize(data).unwrap(), &Pack::default()).unwrap()
    }
}

/// The records that are looked at. Most calls are not, and their values are not read.
const LOOKED_AT: &[Kind] =
    &[Kind::Judged, Kind::Committed, Kind::Undoing, Kind::Undone, Kind::Revoked, Kind::AttemptPutBack];
const CALLS: &[&str] = &["exec.run", BEGIN, END, "custom"];

impl Ending<'_, '_> {
    /// Gathers what evaluators look at, from the record, the packs and the tree.
    pub(super) fn evidence(&self) -> Result<Evidence, Error> {
        let records = self.recorder.folder.records_of_calls(LOOKED_AT, CALLS)?;
        let pack = self.recorder.folder.pack()?;
        let all = Steps::new(&self.recorder.folder, &pack, &records)?;
        let changes = rework::totals(&all.read(&records, &BTreeSet::new())?);
        let tried = tried(&records);
        let standing = if tried.is_empty() { changes } else { rework::totals(&all.read(&records, &tried)?) };
        let calls = records.iter().filter_map(|record| record.event.call());
        let calls_made: Vec<MadeCall> = calls.map(|call| MadeCall::of(call, &pack)).collect::<Result<_, _>>()?;
        let undone = undone(&calls_made);
        Ok(Evidence {
            calls: self.run.budget.calls(),
            violations: self.tally.violations.len() as u64,
            calls_made,
            undone,
            manifests: self.manifests(),
            changes,
            standing,
        })
    }

    /// Manifests that the run changed, or would change in a dry run, as they were and as they are.
    fn manifests(&self) -> Vec<Manifest> {
        let mut first: BTreeMap<&RepoPath, Option<Vec<u8>>> = BTreeMap::new();
        for transaction in &self.ledger.transactions {
            for (index, entry) in transaction.entries.iter().enumerate().filter(|(_, entry)| is_manifest(&entry.path)) {
                let name = format!("packs/{}/pre/{index}", transaction.transaction);
                let image = |length| self.recorder.folder.read_image(&name, length).ok().map(|(bytes, _)| bytes);
                let before = || entry.before.and_then(|stamp| image(stamp.length));
                first.entry(&entry.path).or_insert_with(before);
            }
        }
        for (path, previewed) in self.draft.proposed.iter().filter(|(path, _)| is_manifest(path)) {
            let before = || previewed.before.and_then(|_| self.run.context.view().read(path).ok());
            first.entry(path).or_insert_with(|| before().map(|content| content.into_bytes()));
        }
        let changed = first.into_iter().filter_map(|(path, before)| {
            let after = match self.draft.view().read(path) {
                Err(error) if error.code() == Code::NotFound => return None,
                // Such as a link, which names dependencies elsewhere.
                read => read.ok().map(|content| content.into_bytes()),
            };
            Some(Manifest { path: path.clone(), before, after })
        });
        changed.collect()
    }
}

/// Which calls belong to attempts that were undone, or that the run never ended, since then nothing of them stays either.
fn undone(calls: &[MadeCall]) -> BTreeSet<usize> {
    let mut open = Vec::new();
    let mut undone = BTreeSet::new();
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| call.reply.is_some()) {
        match call.name.as_str() {
            BEGIN => open.push(at),
            END => {
                let begun = open.pop().unwrap_or(at);
                if call.args["keep"] != true {
                    undone.extend(begun..at);
                }
            }
            _ => {}
        }
    }
    undone.extend(open.first().into_iter().flat_map(|begun| *begun..calls.len()));
    undone
}

/// Reads what a run did to files out of its records.
struct Steps<'r> {
    folder: &'r RunFolder,
    /// The files that gates judged, by the hash of the patch.
    judged: BTreeMap<Sha256, Vec<FileRow>>,
    /// The patches of micro-edits, by their hashes.
    edits: BTreeSet<Sha256>,
    /// Files that several transactions are about. Only in these can a line be followed.
    followed: BTreeSet<RepoPath>,
}

impl<'r> Steps<'r> {
    fn new(folder: &'r RunFolder, pack: &Pack, records: &[Record]) -> Result<Self, Error> {
        let (mut judged, mut edits) = (BTreeMap::new(), BTreeSet::new());
        let (mut seen, mut followed) = (BTreeSet::new(), BTreeSet::new());
        for record in records {
            match &record.event {
                Event::Judged(change) => {
                    let hash = match &change.patch {
                        JudgedPatch::File(file) => Some(file.sha256),
                        JudgedPatch::Kept(kept) => kept.sha256(),
                    };
                    let files: Option<Vec<FileRow>> = serde_json::from_value(pack.value(&change.files)?).ok();
                    // Records of earlier versions don't say which part is about which file.
                    let files = files.filter(|files| files.iter().all(|file| file.length.is_some()));
                    let is_edit = change.adapter.as_deref().is_some_and(|tool| tool_of(tool).is_ok());
                    edits.extend(hash.filter(|_| is_edit));
                    judged.extend(hash.zip(files));
                }
                Event::Committed(moved) | Event::Undone(moved) => {
                    let paths = moved.entries.iter().map(|entry| entry.path.clone());
                    followed.extend(paths.filter(|path| !seen.insert(path.clone())));
                }
                Event::Revoked(_) => followed.extend(seen.iter().cloned()),
                _ => {}
            }
        }
        Ok(Steps { folder, judged, edits, followed })
    }

    /// Returns the steps of the run in their order, without these transactions.
    fn read(&self, records: &[Record], without: &BTreeSet<&str>) -> Result<Vec<Step>, Error> {
        let mut known: BTreeMap<&str, &[Entry]> = BTreeMap::new();
        let mut steps = Vec::new();
        let detours = detours(records);
        for record in records {
            let Some(name) = record.event.transaction().filter(|name| !without.contains(name)) else { continue };
            match &record.event {
                Event::Committed(committed) => {
                    steps.push(Step::Changed(self.changed(record, name, &committed.entries)?));
                    known.insert(name, &committed.entries);
                }
                Event::Undone(undone) if !detours.contains(name) => {
                    steps.push(Step::Back(states(&undone.entries, |entry| entry.after)));
                }
                // A change that could not be recorded as it should be was taken back.
                Event::Revoked(_) => {
                    let entries = known.get(name).copied().unwrap_or_default();
                    steps.push(Step::Back(states(entries, |entry| entry.before)));
                }
                _ => {}
            }
        }
        Ok(steps)
    }

    /// The files of a transaction, with the parts of its patch that are about those which are followed.
    fn changed(&self, record: &Record, transaction: &str, entries: &[Entry]) -> Result<Vec<Changed>, Error> {
        let name = format!("packs/{transaction}/patch");
        let hash = record.files.iter().find(|file| file.path == name).map(|file| file.sha256);
        let judged = hash.and_then(|hash| self.judged.get(&hash));
        let is_edit = hash.is_some_and(|hash| self.edits.contains(&hash));
        let is_followed = entries.iter().any(|entry| self.followed.contains(&entry.path));
        let mut lines: BTreeMap<&RepoPath, Lines> = BTreeMap::new();
        let mut parts: BTreeMap<RepoPath, Vec<FilePatch>> = BTreeMap::new();
        let mut backups: BTreeSet<&RepoPath> = BTreeSet::new();
        let mut take = |patch: &[u8]| -> Result<(), Error> {
            let options = ParseOptions { strip: Strip::Exactly(1), ..ParseOptions::default() };
            let read = if patch.is_empty() { Vec::new() } else { diff::parse(patch, &options)?.files };
            for part in read {
                if let Some(path) = part.target().or(part.source()).cloned() {
                    parts.entry(path).or_default().push(part);
                }
            }
            Ok(())
        };
        match judged {
            Some(judged) => {
                let counted = |file: &FileRow| Lines { added: file.added, removed: file.removed };
                lines.extend(judged.iter().map(|file| (&file.path, counted(file))));
                let patch = if is_followed { self.folder.read(&name)? } else { Vec::new() };
                let mut at = 0;
                backups.extend(judged.iter().filter(|file| file.backup).map(|file| &file.path));
                for file in judged {
                    let length = file.length.unwrap_or_default();
                    let part = patch.get(at..at + length).unwrap_or_default();
                    at += length;
                    if self.followed.contains(&file.path) && !file.backup {
                        take(part)?;
                    }
                }
            }
            // Records of earlier versions don't say which part is about which file.
            None => take(&self.folder.read(&name)?)?,
        }
        let file = |entry: &Entry| {
            let parts = parts.remove(&entry.path).unwrap_or_default();
            let counted = || parts.iter().map(FilePatch::size).sum();
            Changed {
                path: entry.path.clone(),
                before: entry.before.map(|stamp| stamp.sha256),
                after: entry.after.map(|stamp| stamp.sha256),
                lines: lines.get(&entry.path).copied().unwrap_or_else(counted),
                parts,
                is_edit,
            }
        };
        Ok(entries.iter().filter(|entry| !backups.contains(&entry.path)).map(file).collect())
    }
}

/// The transactions of attempts that were undone, and those that undid them.
fn tried(records: &[Record]) -> BTreeSet<&str> {
    let undoing = records.iter().filter_map(|record| record.event.undoing());
    let undoing = undoing.filter(|undoing| undoing.attempt.is_some());
    undoing.flat_map(|undoing| undoing.of.iter().chain([&undoing.transaction]).map(String::as_str)).collect()
}

fn states(entries: &[Entry], state: impl Fn(&Entry) -> Option<Stamp>) -> Vec<(RepoPath, Option<Sha256>)> {
    entries.iter().map(|entry| (entry.path.clone(), state(entry).map(|stamp| stamp.sha256))).collect()
}

/// The parts of an ending run from which its evidence is gathered.
pub(crate) struct Ending<'e, 'a> {
    pub(crate) run: &'e Terms<'a>,
    pub(crate) recorder: &'e Recorder<'a>,
    pub(crate) ledger: &'e Ledger<'a>,
    pub(crate) draft: &'e Draft<'a>,
    pub(crate) tally: &'e Tally,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_attempts_that_were_not_kept_are_known() {
        let begin = || json!({"call": "attempt.begin", "args": {}, "reply": {}});
        let end = |keep: bool| json!({"call": "attempt.end", "args": {"keep": keep}, "reply": {}});
        let other = || json!({"call": "exec.run", "reply": {"status": 0}});
        let found = |calls: &[Value]| {
            let calls: Vec<MadeCall> = calls.iter().map(MadeCall::read).collect();
            undone(&calls).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(found(&[other(), begin(), other(), end(true), other()]), Vec::<usize>::new());
        assert_eq!(found(&[other(), begin(), other(), end(false), other()]), [1, 2]);
        assert_eq!(found(&[begin(), other(), begin(), other(), end(true), end(false), other()]), [0, 1, 2, 3, 4]);
        assert_eq!(found(&[begin(), other(), begin(), other(), end(false), end(true)]), [2, 3]);
        assert_eq!(found(&[other(), begin(), other()]), [1, 2]);
    }
}
