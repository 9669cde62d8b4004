//! Results that follow from the events of a run: how many files changed, and which changes are not verified.

use std::collections::{BTreeMap, BTreeSet};

use super::{Record, event::Event};
use base::{
    change::Stamp,
    output::{Output, Phase},
};

/// How many files are otherwise than they were before the run.
pub fn changed_files(records: &[Record]) -> u64 {
    let mut files: BTreeMap<&str, (Option<Stamp>, Option<Stamp>)> = BTreeMap::new();
    for entry in records.iter().filter_map(|record| record.event.moved()).flat_map(|moved| &moved.entries) {
        files.entry(entry.path.as_str()).or_insert((entry.before, entry.after)).1 = entry.after;
    }
    files.values().filter(|(before, after)| before != after).count() as u64
}

/// The transactions that stand and that nothing has verified.
pub fn unverified(records: &[Record]) -> BTreeSet<String> {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    let mut about: BTreeMap<&str, &[String]> = BTreeMap::new();
    for record in records {
        let position = record.position.as_str();
        match &record.event {
            Event::Committed(committed) => drop(open.insert(&committed.transaction, position)),
            Event::Checked(checked) => drop(open.remove(checked.transaction.as_str())),
            // What a preview would come to says nothing of what was written.
            Event::DtaVerified(verified) => {
                let output = &verified.output;
                if output.verifier.passed && output.phase == Phase::Verify {
                    open.retain(|_, at| *at != position);
                }
            }
            Event::Revoked(revoked) => open.retain(|known, at| *known != revoked.transaction && *at != position),
            Event::Undoing(undoing) => drop(about.insert(&undoing.transaction, &undoing.of)),
            Event::AttemptSetAside(set_aside) => drop(about.insert(&set_aside.transaction, &set_aside.of)),
            Event::Undone(undone) => match about.get(undone.transaction.as_str()) {
                Some(of) => open.retain(|name, _| !of.iter().any(|one| one == name)),
                // An older record does not say what was undone.
                None => open.clear(),
            },
            _ => {}
        }
    }
    open.into_keys().map(str::to_owned).collect()
}

/// The output of a verifier with what became of its change: a change that failed is undone, unless it stands unverified.
pub fn settled(records: &[Record], output: &Output) -> Output {
    let failed = output.phase == Phase::Verify && !output.verifier.passed;
    if failed && unverified(records).is_empty() { output.clone().into_undone() } else { output.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Checked, DtaVerified, Transaction, Undoing};
    use base::output::Verdict;

    fn transaction(name: &str) -> Box<Transaction> {
        Box::new(Transaction { transaction: name.to_owned(), ..Transaction::default() })
    }

    #[test]
    fn a_change_counts_as_verified_only_if_its_own_verifier_passed() {
        let committed = |name: &str, at: &str| Record::of_event(at, Event::Committed(transaction(name)));
        let verified = |at: &str, passed: bool| {
            let output = Output {
                tool: String::new(),
                ok: passed,
                phase: Phase::Verify,
                baseline: BTreeMap::new(),
                proposed_changes: BTreeMap::new(),
                applied_changes: BTreeMap::new(),
                undone: false,
                run: None,
                artifacts: Vec::new(),
                verifier: Verdict { passed, ..Verdict::default() },
            };
            let verified = DtaVerified { tool: String::new(), output, after: BTreeMap::new() };
            Record::of_event(at, Event::DtaVerified(verified.into()))
        };
        let checked = |name: &str, at: &str| {
            Record::of_event(at, Event::Checked(Checked { transaction: name.to_owned(), files: 1 }.into()))
        };
        let left = |records: &[Record]| unverified(records).into_iter().collect::<Vec<_>>();
        assert!(left(&[committed("t1", "1"), verified("1", true)]).is_empty());
        assert_eq!(left(&[committed("t1", "1"), verified("1", false)]), ["t1"]);
        let later = [committed("t1", "1"), verified("1", false), committed("t2", "2"), checked("t2", "2")];
        assert_eq!(left(&later), ["t1"], "what is verified later says nothing of it");
        let undoing = Undoing { transaction: "t2".to_owned(), of: vec!["t1".to_owned()], attempt: None };
        let undoing = Record::of_event("", Event::Undoing(undoing.into()));
        let undone = Record::of_event("", Event::Undone(transaction("t2")));
        assert!(left(&[committed("t1", "1"), verified("1", false), undoing, undone.clone()]).is_empty());
        assert!(left(&[committed("t1", "1"), undone]).is_empty());
    }
}
