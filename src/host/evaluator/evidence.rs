//! What evaluators look at: the calls, changes and manifests of a run, gathered once.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    Ending,
    dependencies::Manifest,
    manifest::is_manifest,
    rework::{Changed, Changes, Step},
};
use crate::{
    base::{
        change::{Entry, Stamp},
        diff::{self, FilePatch, Lines, ParseOptions, Strip},
        error::{Code, Error},
        hash::Sha256,
        path::RepoPath,
    },
    host::call::attempt::detours,
    record::{Pack, Record, RunFolder},
};

/// What evaluators look at.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Calls that the run made.
    pub(super) calls: u64,
    /// How often gates objected.
    pub(super) violations: u64,
    /// `data` of those calls that may be about commands or tests, with their values in full.
    pub(super) calls_made: Vec<Value>,
    /// Which of them belong to attempts that were not kept.
    pub(super) undone: BTreeSet<usize>,
    /// Manifests that are not what they were before the run.
    pub(super) manifests: Vec<Manifest>,
    /// What all changes came to.
    pub(super) changes: Changes,
    /// The same without those of attempts that were undone.
    pub(super) standing: Changes,
}

/// What stands in the lines of records that are looked at. Most calls are not, and their values are not read.
const LOOKED_AT: &[&str] = &[
    r#""kind":"judged""#,
    r#""kind":"committed""#,
    r#""kind":"undoing""#,
    r#""kind":"undone""#,
    r#""kind":"revoked""#,
    r#""kind":"attempt_put_back""#,
    r#""call":"exec.run""#,
    r#""call":"attempt.begin""#,
    r#""call":"attempt.end""#,
    r#""call":"custom""#,
];

impl Ending<'_, '_> {
    /// Gathers what evaluators look at, from the record, the packs and the tree.
    pub(super) fn evidence(&self) -> Result<Evidence, Error> {
        let records = self.recorder.folder.records_with(LOOKED_AT)?;
        let pack = self.recorder.folder.pack()?;
        let all = Steps::new(&self.recorder.folder, &pack, &records)?;
        let changes = Changes::of(&all.read(&records, &BTreeSet::new())?);
        let tried = tried(&records);
        let standing = if tried.is_empty() { changes } else { Changes::of(&all.read(&records, &tried)?) };
        let calls = records.iter().filter(|record| record.kind == "call");
        let calls_made: Vec<Value> = calls.map(|record| in_full(&pack, &record.data)).collect::<Result<_, _>>()?;
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
fn undone(calls: &[Value]) -> BTreeSet<usize> {
    let mut open = Vec::new();
    let mut undone = BTreeSet::new();
    for (at, data) in calls.iter().enumerate().filter(|(_, data)| data.get("error").is_none()) {
        match data["call"].as_str() {
            Some("attempt.begin") => open.push(at),
            Some("attempt.end") => {
                let begun = open.pop().unwrap_or(at);
                if data["args"]["keep"] != true {
                    undone.extend(begun..at);
                }
            }
            _ => {}
        }
    }
    undone.extend(open.first().into_iter().flat_map(|begun| *begun..calls.len()));
    undone
}

/// A call's `data` with its arguments and its reply in place of their names.
fn in_full(pack: &Pack, data: &Value) -> Result<Value, Error> {
    let mut data = data.clone();
    for key in ["args", "reply"] {
        if data.get(key).is_some() {
            data[key] = pack.value(&data[key])?;
        }
    }
    Ok(data)
}

/// A file of a change, as gates judged it.
#[derive(Deserialize)]
struct Judged {
    path: RepoPath,
    added: u64,
    removed: u64,
    /// Of its part of the patch.
    length: usize,
    /// True if it only keeps what another file was.
    #[serde(default)]
    backup: bool,
}

/// Reads what a run did to files out of its records.
struct Steps<'r> {
    folder: &'r RunFolder,
    /// What gates judged, by the hash of the patch.
    judged: BTreeMap<Sha256, Vec<Judged>>,
    /// Files that several transactions are about. Only in these can a line be followed.
    followed: BTreeSet<RepoPath>,
}

impl<'r> Steps<'r> {
    fn new(folder: &'r RunFolder, pack: &Pack, records: &[Record]) -> Result<Self, Error> {
        let mut judged = BTreeMap::new();
        let (mut seen, mut followed) = (BTreeSet::new(), BTreeSet::new());
        for record in records {
            match record.kind.as_str() {
                "judged" => {
                    let hash = record.data["patch"]["sha256"].as_str().and_then(|hash| hash.parse().ok());
                    let files = serde_json::from_value(pack.value(&record.data["files"])?).ok();
                    judged.extend(hash.zip(files));
                }
                "committed" | "undone" => {
                    followed.extend(
                        entries(record).into_iter().map(|entry| entry.path).filter(|path| !seen.insert(path.clone())),
                    );
                }
                "revoked" => followed.extend(seen.iter().cloned()),
                _ => {}
            }
        }
        Ok(Steps { folder, judged, followed })
    }

    /// What the run did, in the order in which it did it, without these transactions.
    fn read(&self, records: &[Record], without: &BTreeSet<&str>) -> Result<Vec<Step>, Error> {
        let mut known: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
        let mut steps = Vec::new();
        let detours = detours(records);
        for record in records {
            let name = record.data["transaction"].as_str().unwrap_or_default();
            match record.kind.as_str() {
                _ if without.contains(name) => {}
                "committed" => {
                    let entries = entries(record);
                    steps.push(Step::Changed(self.changed(record, name, &entries)?));
                    known.insert(name, entries);
                }
                "undone" if detours.contains(name) => {}
                "undone" => steps.push(Step::Back(states(&entries(record), |entry| entry.after))),
                // A change that could not be recorded as it should be was taken back.
                "revoked" => {
                    let entries = known.get(name).map(Vec::as_slice).unwrap_or_default();
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
                let counted = |file: &Judged| Lines { added: file.added, removed: file.removed };
                lines.extend(judged.iter().map(|file| (&file.path, counted(file))));
                let patch = if is_followed { self.folder.read(&name)? } else { Vec::new() };
                let mut at = 0;
                backups.extend(judged.iter().filter(|file| file.backup).map(|file| &file.path));
                for file in judged {
                    let part = patch.get(at..at + file.length).unwrap_or_default();
                    at += file.length;
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
            }
        };
        Ok(entries.iter().filter(|entry| !backups.contains(&entry.path)).map(file).collect())
    }
}

/// The transactions of attempts that were undone, and those that undid them.
fn tried(records: &[Record]) -> BTreeSet<&str> {
    let is_attempt = |record: &&Record| record.kind == "undoing" && record.data["attempt"].is_string();
    let undoing = records.iter().filter(is_attempt).flat_map(|record| {
        let of = record.data["of"].as_array().into_iter().flatten();
        of.chain([&record.data["transaction"]]).filter_map(Value::as_str)
    });
    undoing.collect()
}

/// The files that a record of a transaction names.
fn entries(record: &Record) -> Vec<Entry> {
    serde_json::from_value(record.data["entries"].clone()).unwrap_or_default()
}

fn states(entries: &[Entry], state: impl Fn(&Entry) -> Option<Stamp>) -> Vec<(RepoPath, Option<Sha256>)> {
    entries.iter().map(|entry| (entry.path.clone(), state(entry).map(|stamp| stamp.sha256))).collect()
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
        let found = |calls: &[Value]| undone(calls).into_iter().collect::<Vec<_>>();
        assert_eq!(found(&[other(), begin(), other(), end(true), other()]), Vec::<usize>::new());
        assert_eq!(found(&[other(), begin(), other(), end(false), other()]), [1, 2]);
        assert_eq!(found(&[begin(), other(), begin(), other(), end(true), end(false), other()]), [0, 1, 2, 3, 4]);
        assert_eq!(found(&[begin(), other(), begin(), other(), end(false), end(true)]), [2, 3]);
        assert_eq!(found(&[other(), begin(), other()]), [1, 2]);
    }
}
