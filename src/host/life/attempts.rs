//! The attempts of a run, as its record tells them.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::transaction::Transacted;
use record::{
    Record,
    event::{self, Event},
};

/// The names of the calls by which attempts begin and end.
pub(crate) const BEGIN: &str = "attempt.begin";

pub(crate) const END: &str = "attempt.end";

/// True for the call by which an attempt ended that was kept.
pub(crate) fn keeps(end: &event::Call) -> bool {
    end.args.form().get("keep").is_some_and(|keep| *keep == true)
}

/// The state of a run's attempts, according to its calls.
#[derive(Debug, Default)]
pub(crate) struct AttemptState<'r> {
    /// The calls that began those which are open, outermost first.
    pub(crate) open: Vec<&'r Record>,
    pub(crate) kept: u64,
    pub(crate) undone: u64,
}

impl<'r> AttemptState<'r> {
    /// By the records of the calls that were answered, in their order.
    pub(crate) fn of(calls: impl Iterator<Item = &'r Record>) -> Self {
        let mut state = AttemptState::default();
        for record in calls {
            let Some(call) = record.event.call().filter(|call| call.reply.is_some()) else { continue };
            match call.call.as_str() {
                BEGIN => state.open.push(record),
                END => {
                    state.open.pop();
                    *(if keeps(call) { &mut state.kept } else { &mut state.undone }) += 1;
                }
                _ => {}
            }
        }
        state
    }
}

/// Changes that a run took back when it stopped inside an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Aside {
    /// Where the attempt was begun.
    pub(crate) attempt: String,
    /// The transactions that do not stand meanwhile.
    pub(crate) of: Vec<String>,
    /// The transaction that took them back.
    pub(crate) undo: Transacted,
}

/// The transactions that a run took back.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Those that do not stand.
    back: BTreeSet<String>,
    /// Those of them that were taken back with their attempt, so that the run went on all the same.
    with_attempt: BTreeSet<String>,
    /// How many files were brought back at the end of each attempt that was undone, by its position.
    pub(crate) files: BTreeMap<String, usize>,
    /// The changes that are set aside now.
    pub(crate) aside: Option<Aside>,
}

impl Taken {
    /// By the records of a run.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut taken = Taken::default();
        let mut begun: BTreeMap<&str, &Event> = BTreeMap::new();
        for record in records {
            match &record.event {
                Event::Undoing(_) | Event::AttemptSetAside(_) | Event::AttemptPutBack(_) => {
                    begun.extend(record.event.transaction().map(|name| (name, &record.event)));
                }
                Event::Revoked(revoked) => drop(taken.back.insert(revoked.transaction.clone())),
                Event::Undone(undone) => {
                    if let Some(begun) = begun.remove(undone.transaction.as_str()) {
                        taken.take(begun, undone);
                    }
                }
                _ => {}
            }
        }
        taken
    }

    /// Takes in a transaction by which others were taken back, or put back.
    fn take(&mut self, begun: &Event, undone: &event::Transaction) {
        match begun {
            Event::AttemptPutBack(_) => self.put_back(),
            Event::AttemptSetAside(set_aside) => {
                self.back.extend(set_aside.of.iter().cloned());
                self.with_attempt.extend(set_aside.of.iter().cloned());
                let (attempt, of) = (set_aside.attempt.clone(), set_aside.of.clone());
                self.aside = Some(Aside { attempt, of, undo: undone.into() });
            }
            Event::Undoing(undoing) => {
                self.back.extend(undoing.of.iter().cloned());
                if let Some(attempt) = &undoing.attempt {
                    self.with_attempt.extend(undoing.of.iter().cloned());
                    self.files.insert(attempt.clone(), undone.entries.len());
                }
            }
            _ => {}
        }
    }

    /// Marks the transactions that were set aside as standing again.
    pub(crate) fn put_back(&mut self) {
        for name in self.aside.take().into_iter().flat_map(|aside| aside.of) {
            self.back.remove(&name);
            self.with_attempt.remove(&name);
        }
    }

    /// True for a transaction that does not stand.
    pub(crate) fn is_back(&self, name: &str) -> bool {
        self.back.contains(name)
    }

    /// True for one that was taken back because the run had failed.
    pub(crate) fn is_gone(&self, name: &str) -> bool {
        self.is_back(name) && !self.with_attempt.contains(name)
    }
}

/// The transactions that set changes aside or put them back, each of which cancels another one out.
pub(crate) fn detours(records: &[Record]) -> BTreeSet<&str> {
    let done: BTreeSet<&str> =
        records.iter().filter_map(|record| record.event.undone()).map(|undone| undone.transaction.as_str()).collect();
    let put_back = records.iter().filter_map(|record| record.event.attempt_put_back());
    let put_back = put_back.filter(|put_back| done.contains(put_back.transaction.as_str()));
    put_back.flat_map(|put_back| [put_back.transaction.as_str(), put_back.aside.as_str()]).collect()
}
