//! Which files changed, what became of that, and their diffs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    material::Material,
    model::{Change, Changes, Fate},
    patch,
};
use crate::{base::diff, record::Record};

/// The kinds of records by which changes of an attempt are taken back until the run goes on.
const SET_ASIDE: &str = "attempt_set_aside";
const PUT_BACK: &str = "attempt_put_back";

/// How many lines of diffs are shown in all.
const MOST_LINES: usize = 20_000;

/// Gathers the changes in the order of the record.
struct Gathered<'m, 'a> {
    material: &'m Material<'a>,
    files: Vec<Change>,
    /// Of each path the changes that stand: which it is, and the hash of what was there before.
    standing: BTreeMap<String, Vec<(usize, Value)>>,
    /// The change that gates judged last.
    judged: Option<&'m Record>,
    room: usize,
}

/// The files that the run changed, or would.
pub(super) fn of(material: &Material<'_>) -> Changes {
    let mut gathered =
        Gathered { material, files: Vec::new(), standing: BTreeMap::new(), judged: None, room: MOST_LINES };
    let says = |record: &&Record| matches!(record.kind.as_str(), SET_ASIDE | PUT_BACK);
    let detours: BTreeMap<&str, &Record> =
        material.records.iter().filter(says).map(|record| (name(record), record)).collect();
    for record in &material.records {
        match record.kind.as_str() {
            "judged" => gathered.judged = Some(record),
            "committed" => gathered.commit(record),
            "undone" if detours.contains_key(name(record)) => gathered.detour(detours[name(record)]),
            "undone" | "undone_after_crash" => gathered.undo(record),
            _ => {}
        }
    }
    // What was set aside when the run came to its end is not put back any more.
    if material.end().is_some_and(|end| end.kind == "run_finished") {
        gathered.settle();
    }
    let would = material.end().and_then(|record| record.files.iter().find(|file| file.path == "artifacts/run.patch"));
    match would {
        Some(file) => {
            let bytes = material.patch(&serde_json::json!({"path": file.path})).unwrap_or_default();
            gathered.take("", Fate::WouldChange, &bytes);
        }
        None => gathered.propose(),
    }
    let counted = |change: &&Change| !matches!(change.fate, Fate::Undone | Fate::Proposed | Fate::SetAside);
    let stands = gathered.files.iter().any(|change| counted(&change));
    let counted = || gathered.files.iter().filter(|change| !stands || counted(change));
    let added = counted().map(|change| change.added).sum();
    let removed = counted().map(|change| change.removed).sum();
    Changes { added, removed, files: gathered.files }
}

impl Gathered<'_, '_> {
    /// A transaction was committed: its files, with the diffs of its patch.
    fn commit(&mut self, record: &Record) {
        let transaction = name(record);
        let patch = self.material.pack_patch(transaction);
        let parts: BTreeMap<String, diff::Part<'_>> = diff::parts(patch.as_deref().unwrap_or_default())
            .into_iter()
            .filter_map(|part| Some((part.path()?, part)))
            .collect();
        let counted = if patch.is_none() { self.counted(&record.position) } else { BTreeMap::new() };
        for entry in record.data["entries"].as_array().into_iter().flatten() {
            let path = entry["path"].as_str().unwrap_or_default().to_owned();
            let part = parts.get(&path).map(|part| part.bytes);
            let mut change = self.change(path.clone(), &record.position, Fate::Changed, part);
            change.transaction = Some(transaction.to_owned());
            change.remark = change.remark.or_else(|| remark(entry));
            if patch.is_none() {
                change.note = Some("the diff is not in this record".to_owned());
                (change.added, change.removed) = counted.get(&change.path).copied().unwrap_or_default();
            }
            self.standing.entry(path).or_default().push((self.files.len(), entry["before"]["sha256"].clone()));
            self.files.push(change);
        }
    }

    /// The lines added to and removed from each file by the change that was judged at a position, if the record still says so.
    fn counted(&self, position: &str) -> BTreeMap<String, (u64, u64)> {
        let judged = self.judged.filter(|record| record.position == position);
        let rows = judged.and_then(|record| self.material.value(&record.data["files"])).unwrap_or_default();
        let row = |row: &Value| {
            let number = |key: &str| row[key].as_u64();
            Some((row["path"].as_str()?.to_owned(), (number("added")?, number("removed")?)))
        };
        rows.as_array().into_iter().flatten().filter_map(row).collect()
    }

    /// The changes of an attempt were set aside, or put back.
    fn detour(&mut self, record: &Record) {
        let of: Vec<&str> = record.data["of"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let fate = if record.kind == SET_ASIDE { Fate::SetAside } else { Fate::Changed };
        let is_of = |change: &&mut Change| change.transaction.as_deref().is_some_and(|name| of.contains(&name));
        self.files.iter_mut().filter(is_of).for_each(|change| change.fate = fate);
    }

    fn settle(&mut self) {
        let aside = self.files.iter_mut().filter(|change| change.fate == Fate::SetAside);
        aside.for_each(|change| change.fate = Fate::Undone);
    }

    /// Files were brought back: what stood of them is undone, or it was another run's.
    fn undo(&mut self, record: &Record) {
        for entry in record.data["entries"].as_array().into_iter().flatten() {
            let path = entry["path"].as_str().unwrap_or_default();
            let mut own = false;
            while let Some((at, before)) = self.standing.get_mut(path).and_then(Vec::pop) {
                own = true;
                self.files[at].fate = Fate::Undone;
                if before == entry["after"]["sha256"] {
                    break;
                }
            }
            if !own {
                let mut change = self.change(path.to_owned(), &record.position, Fate::BroughtBack, None);
                change.remark = remark(entry);
                change.note = Some("its diff is in the report of the run that changed it".to_owned());
                self.files.push(change);
            }
        }
    }

    /// What was proposed of files that were never changed.
    fn propose(&mut self) {
        let mut known: BTreeSet<String> = self.files.iter().map(|change| change.path.clone()).collect();
        let proposals =
            self.material.records.iter().filter(|record| matches!(record.kind.as_str(), "dta_proposed" | "judged"));
        let mut seen = BTreeSet::new();
        for record in proposals {
            let named = match record.files.iter().find(|file| file.path.ends_with(".patch")) {
                Some(file) => serde_json::json!({"path": file.path}),
                None => record.data["patch"].clone(),
            };
            // What is proposed and what is judged then is one change.
            let name = named["sha256"]
                .as_str()
                .or(record.data["patch_sha256"].as_str())
                .or(named["path"].as_str())
                .unwrap_or_default()
                .to_owned();
            if !seen.insert(name) {
                continue;
            }
            let bytes = self.material.patch(&named).unwrap_or_default();
            for part in diff::parts(&bytes) {
                let path = part.path().unwrap_or_default();
                if known.insert(path.clone()) {
                    let change = self.change(path, &record.position, Fate::Proposed, Some(part.bytes));
                    self.files.push(change);
                }
            }
        }
    }

    /// All files of a patch.
    fn take(&mut self, position: &str, fate: Fate, patch: &[u8]) {
        for part in diff::parts(patch) {
            let change = self.change(part.path().unwrap_or_default(), position, fate, Some(part.bytes));
            self.files.push(change);
        }
    }

    /// One file's change, with as much of the diff as there is room for.
    fn change(&mut self, path: String, position: &str, fate: Fate, part: Option<&[u8]>) -> Change {
        let shown = part.map(|part| patch::read(&self.material.shown(part), &mut self.room)).unwrap_or_default();
        Change {
            // A name may hold a secret as well.
            path: self.material.shown(path.as_bytes()),
            position: position.to_owned(),
            transaction: None,
            fate,
            remark: shown.remark,
            added: shown.added,
            removed: shown.removed,
            hunks: shown.hunks,
            left_out: shown.left_out,
            note: None,
        }
    }
}

/// The transaction that a record is about.
fn name(record: &Record) -> &str {
    record.data["transaction"].as_str().unwrap_or_default()
}

/// What an entry says beside the contents.
fn remark(entry: &Value) -> Option<String> {
    match (&entry["before"], &entry["after"]) {
        (Value::Null, Value::Object(_)) => Some("created".to_owned()),
        (Value::Object(_), Value::Null) => Some("removed".to_owned()),
        _ => None,
    }
}
