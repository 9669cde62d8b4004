//! Which files changed, what became of that, and their diffs.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    material::Material,
    model::{Change, Changes, Fate},
    patch,
};
use base::{change::Entry, diff, hash::Sha256};
use record::{
    Record,
    event::{Event, Judged, JudgedPatch, Transaction},
};

/// How many lines of diffs are shown in all.
const MOST_LINES: usize = 20_000;

/// Gathers the changes in the order of the record.
struct Gathered<'m, 'a> {
    material: &'m Material<'a>,
    files: Vec<Change>,
    /// Of each path the changes that stand: which it is, and the hash of what was there before.
    standing: BTreeMap<String, Vec<(usize, Option<Sha256>)>>,
    /// The change that gates judged last, and where.
    judged: Option<(&'m str, &'m Judged)>,
    room: usize,
}

/// The files that the run changed, or would.
pub(super) fn of(material: &Material<'_>) -> Changes {
    let mut gathered =
        Gathered { material, files: Vec::new(), standing: BTreeMap::new(), judged: None, room: MOST_LINES };
    let detours: BTreeMap<&str, &Event> = material.records.iter().filter_map(|record| detour(&record.event)).collect();
    for record in &material.records {
        match &record.event {
            Event::Judged(judged) => gathered.judged = Some((&record.position, judged)),
            Event::Committed(committed) => gathered.commit(record, committed),
            Event::Undone(undone) => match detours.get(undone.transaction.as_str()) {
                Some(detour) => gathered.detour(detour),
                None => gathered.undo(record, undone),
            },
            Event::UndoneAfterCrash(undone) => gathered.undo(record, undone),
            _ => {}
        }
    }
    // What was set aside when the run came to its end is not put back any more.
    if material.end().is_some_and(|(record, _)| record.event.run_finished().is_some()) {
        gathered.settle();
    }
    let would =
        material.end().and_then(|(record, _)| record.files.iter().find(|file| file.path == "artifacts/run.patch"));
    match would {
        Some(file) => {
            let bytes = material.artifact(&file.path).unwrap_or_default();
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
    fn commit(&mut self, record: &Record, committed: &Transaction) {
        let patch = self.material.pack_patch(&committed.transaction);
        let parts: BTreeMap<String, diff::Part<'_>> = diff::parts(patch.as_deref().unwrap_or_default())
            .into_iter()
            .filter_map(|part| Some((part.path()?, part)))
            .collect();
        let counted = if patch.is_none() { self.counted(&record.position) } else { BTreeMap::new() };
        for entry in &committed.entries {
            let path = entry.path.to_string();
            let part = parts.get(&path).map(|part| part.bytes);
            let mut change = self.change(path.clone(), &record.position, Fate::Changed, part);
            change.transaction = Some(committed.transaction.clone());
            change.remark = change.remark.or_else(|| remark(entry));
            if patch.is_none() {
                change.note = Some("the diff is not in this record".to_owned());
                (change.added, change.removed) = counted.get(&change.path).copied().unwrap_or_default();
            }
            let before = entry.before.map(|stamp| stamp.sha256);
            self.standing.entry(path).or_default().push((self.files.len(), before));
            self.files.push(change);
        }
    }

    /// The lines added to and removed from each file by the change that was judged at a position, if the record still says so.
    fn counted(&self, position: &str) -> BTreeMap<String, (u64, u64)> {
        let judged = self.judged.filter(|(at, _)| *at == position);
        let rows = judged.and_then(|(_, judged)| self.material.rows(&judged.files)).unwrap_or_default();
        rows.into_iter().map(|row| (row.path.to_string(), (row.added, row.removed))).collect()
    }

    /// The changes of an attempt were set aside, or put back.
    fn detour(&mut self, event: &Event) {
        let (of, fate) = match event {
            Event::AttemptSetAside(set_aside) => (&set_aside.of, Fate::SetAside),
            Event::AttemptPutBack(put_back) => (&put_back.of, Fate::Changed),
            _ => return,
        };
        let is_of = |change: &&mut Change| change.transaction.as_ref().is_some_and(|name| of.contains(name));
        self.files.iter_mut().filter(is_of).for_each(|change| change.fate = fate);
    }

    fn settle(&mut self) {
        let aside = self.files.iter_mut().filter(|change| change.fate == Fate::SetAside);
        aside.for_each(|change| change.fate = Fate::Undone);
    }

    /// Files were brought back: what stood of them is undone, or it was another run's.
    fn undo(&mut self, record: &Record, undone: &Transaction) {
        for entry in &undone.entries {
            let mut own = false;
            let after = entry.after.map(|stamp| stamp.sha256);
            while let Some((at, before)) = self.standing.get_mut(entry.path.as_str()).and_then(Vec::pop) {
                own = true;
                self.files[at].fate = Fate::Undone;
                if before == after {
                    break;
                }
            }
            if !own {
                let mut change = self.change(entry.path.to_string(), &record.position, Fate::BroughtBack, None);
                change.remark = remark(entry);
                change.note = Some("its diff is in the report of the run that changed it".to_owned());
                self.files.push(change);
            }
        }
    }

    /// Adds the proposed changes of files that were never changed.
    fn propose(&mut self) {
        let mut known: BTreeSet<String> = self.files.iter().map(|change| change.path.clone()).collect();
        let mut seen = BTreeSet::new();
        for record in &self.material.records {
            let Some((name, bytes)) = self.proposal(record) else { continue };
            // What is proposed and what is judged then is one change.
            if !seen.insert(name) {
                continue;
            }
            for part in diff::parts(&bytes.unwrap_or_default()) {
                let path = part.path().unwrap_or_default();
                if known.insert(path.clone()) {
                    let change = self.change(path, &record.position, Fate::Proposed, Some(part.bytes));
                    self.files.push(change);
                }
            }
        }
    }

    /// The hash of the patch that a record proposes, and the patch if it is here.
    fn proposal(&self, record: &Record) -> Option<(String, Option<Vec<u8>>)> {
        let file = record.files.iter().find(|file| file.path.ends_with(".patch"));
        match &record.event {
            Event::DtaProposed(proposed) => {
                let bytes = file.and_then(|file| self.material.artifact(&file.path));
                Some((proposed.patch_sha256.text(), bytes))
            }
            Event::Judged(judged) => match &judged.patch {
                JudgedPatch::File(file) => Some((file.sha256.to_string(), self.material.artifact(&file.path))),
                JudgedPatch::Kept(kept) => {
                    let sha256 = kept.sha256()?;
                    Some((sha256.to_string(), self.material.content(&sha256)))
                }
            },
            _ => None,
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

/// The transaction by which changes of an attempt are taken back until the run goes on, or put back.
fn detour(event: &Event) -> Option<(&str, &Event)> {
    let is_detour = event.attempt_set_aside().is_some() || event.attempt_put_back().is_some();
    event.transaction().filter(|_| is_detour).map(|name| (name, event))
}

/// The remark on an entry: `created` or `removed`; none if the file was there before and after.
fn remark(entry: &Entry) -> Option<String> {
    match (&entry.before, &entry.after) {
        (None, Some(_)) => Some("created".to_owned()),
        (Some(_), None) => Some("removed".to_owned()),
        _ => None,
    }
}
