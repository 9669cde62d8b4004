//! Budgets: reserved before a call, not after it. N means N.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{
    change::ChangeSet,
    clock::Stopwatch,
    diff::Stat,
    error::{Code, Error},
    path::RepoPath,
    policy,
};

/// The budgets of a run.
#[derive(Debug)]
pub(super) struct Budget {
    limits: policy::Budget,
    calls: u64,
    files: BTreeSet<RepoPath>,
    diff_lines: u64,
    bytes: u64,
    watch: Stopwatch,
    /// Milliseconds that the run waited for a person, which are nobody's to spend.
    waited_ms: u64,
}

/// What a call takes of the budgets for changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Files that the run had not changed before.
    pub(super) files: Vec<RepoPath>,
    /// Lines added and removed.
    pub(super) diff_lines: u64,
    /// Bytes written.
    pub(super) bytes: u64,
}

impl Cost {
    /// As records have it, without what is zero; none if it is nothing.
    pub(super) fn describe(&self) -> Option<Value> {
        let kinds = [("files", self.files.len() as u64), ("diff_lines", self.diff_lines), ("bytes", self.bytes)];
        let map: Map<String, Value> =
            kinds.into_iter().filter(|(_, n)| *n > 0).map(|(kind, n)| (kind.to_owned(), json!(n))).collect();
        (!map.is_empty()).then_some(Value::Object(map))
    }
}

impl Budget {
    pub(super) fn new(limits: policy::Budget) -> Self {
        Budget {
            limits,
            calls: 0,
            files: BTreeSet::new(),
            diff_lines: 0,
            bytes: 0,
            watch: Stopwatch::start(),
            waited_ms: 0,
        }
    }

    /// Reserves one call.
    pub(super) fn reserve_call(&mut self) -> Result<(), Error> {
        self.check_wall()?;
        self.calls = admit("calls", self.calls, 1, self.limits.calls)?;
        Ok(())
    }

    /// An error if the run has taken longer than it may.
    pub(super) fn check_wall(&self) -> Result<(), Error> {
        let limit = self.limits.wall_s;
        if self.watch.elapsed_ms().saturating_sub(self.waited_ms) / 1000 >= limit {
            return Err(spent("wall_s", limit, limit, 1));
        }
        Ok(())
    }

    /// Takes time out of the account.
    pub(super) fn forgive(&mut self, waited: Stopwatch) {
        self.waited_ms += waited.elapsed_ms();
    }

    /// Reserves files, lines and bytes for a change; all or nothing. A file that the run changed already is not counted again.
    pub(super) fn reserve_change(&mut self, changes: &ChangeSet, stats: &[Stat]) -> Result<Cost, Error> {
        self.check_change(changes, stats)?;
        let new = changes.changes().iter().map(|change| &change.path).filter(|path| !self.files.contains(path));
        let cost = Cost { files: new.cloned().collect(), diff_lines: lines(stats), bytes: bytes(changes) };
        self.diff_lines += cost.diff_lines;
        self.bytes += cost.bytes;
        self.files.extend(cost.files.iter().cloned());
        Ok(cost)
    }

    /// Gives back what was reserved for a change that never reached the tree.
    pub(super) fn release(&mut self, cost: &Cost) {
        self.diff_lines -= cost.diff_lines;
        self.bytes -= cost.bytes;
        self.files.retain(|path| !cost.files.contains(path));
    }

    /// An error if [`Budget::reserve_change`] would be one. Nothing is reserved: for what is proposed and never written.
    pub(super) fn check_change(&self, changes: &ChangeSet, stats: &[Stat]) -> Result<(), Error> {
        let new_files = changes.changes().iter().filter(|change| !self.files.contains(&change.path)).count() as u64;
        admit("files", self.files.len() as u64, new_files, self.limits.files)?;
        admit("diff_lines", self.diff_lines, lines(stats), self.limits.diff_lines)?;
        admit("bytes", self.bytes, bytes(changes), self.limits.bytes).map(drop)
    }

    /// Lines that the run has added and removed so far.
    pub(super) fn lines(&self) -> u64 {
        self.diff_lines
    }

    /// Files that the run has changed.
    pub(super) fn files(&self) -> &BTreeSet<RepoPath> {
        &self.files
    }

    /// Calls that the run has made.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// Used and left, as scripts see it.
    pub(super) fn describe(&self) -> Value {
        let row = |used: u64, limit: u64| json!({"used": used, "limit": limit, "left": limit.saturating_sub(used)});
        json!({
            "calls": row(self.calls, self.limits.calls),
            "files": row(self.files.len() as u64, self.limits.files),
            "diff_lines": row(self.diff_lines, self.limits.diff_lines),
            "bytes": row(self.bytes, self.limits.bytes),
        })
    }
}

fn lines(stats: &[Stat]) -> u64 {
    stats.iter().map(|stat| stat.lines.total()).sum()
}

/// How many bytes a change writes.
fn bytes(changes: &ChangeSet) -> u64 {
    let written = changes.changes().iter().filter_map(|change| change.after.as_ref());
    written.map(|content| content.bytes.len() as u64).sum()
}

/// The new sum, if it stays within the limit.
fn admit(name: &str, used: u64, asked: u64, limit: u64) -> Result<u64, Error> {
    let sum = used.saturating_add(asked);
    if sum > limit { Err(spent(name, limit, used, asked)) } else { Ok(sum) }
}

fn spent(name: &str, limit: u64, used: u64, asked: u64) -> Error {
    Error::new(
        Code::BudgetExhausted,
        format!("the budget `{name}` is spent: limit {limit}, used {used}, asked {asked}"),
    )
    .detail("budget", name)
    .detail("limit", limit)
    .detail("used", used)
    .detail("asked", asked)
    .hint(format!("raise `{name}` in `[budget]` of `nrv.toml` and in the script's header, or change less at once"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        change::{Change, Content},
        diff::Lines,
    };

    fn budget(calls: u64, files: u64, diff_lines: u64) -> Budget {
        Budget::new(policy::Budget { calls, files, diff_lines, ..policy::Budget::default() })
    }

    fn change(path: &str) -> ChangeSet {
        let content = |text: &str| Some(Content::new(text.into(), 0o644));
        let path = RepoPath::parse(path).unwrap();
        let before = content("a\n").map(|content| content.stamp());
        ChangeSet::new(vec![Change { path, before, after: content("b\n") }]).unwrap()
    }

    /// One line less and one more for each file.
    fn stats(changes: &ChangeSet) -> Vec<Stat> {
        let stat = |change: &Change| Stat { path: change.path.clone(), lines: Lines { added: 1, removed: 1 } };
        changes.changes().iter().map(stat).collect()
    }

    #[test]
    fn checking_a_change_spends_nothing() {
        let mut budget = budget(1, 1, 2);
        let (one, two) = (change("a"), change("b"));
        for _ in 0..3 {
            budget.check_change(&one, &stats(&one)).unwrap();
        }
        assert_eq!((budget.lines(), budget.files().len()), (0, 0));
        budget.reserve_change(&one, &stats(&one)).unwrap();
        let error = budget.check_change(&two, &stats(&two)).unwrap_err();
        assert_eq!(error.details()["budget"], "files");
    }

    #[test]
    fn what_is_given_back_can_be_reserved_again() {
        let mut budget = budget(1, 1, 2);
        let one = change("a");
        for _ in 0..3 {
            let cost = budget.reserve_change(&one, &stats(&one)).unwrap();
            assert_eq!(cost.describe(), Some(json!({"files": 1, "diff_lines": 2, "bytes": 2})));
            budget.release(&cost);
        }
        assert_eq!((budget.lines(), budget.files().len()), (0, 0));
        assert_eq!(Cost::default().describe(), None);
    }

    #[test]
    fn a_limit_of_n_admits_exactly_n() {
        let mut budget = budget(2, 2, 4);
        budget.reserve_call().unwrap();
        budget.reserve_call().unwrap();
        let error = budget.reserve_call().unwrap_err();
        assert_eq!((error.code(), error.details()["limit"].as_u64()), (Code::BudgetExhausted, Some(2)));
        for path in ["a", "b"] {
            budget.reserve_change(&change(path), &stats(&change(path))).unwrap();
        }
        let error = budget.reserve_change(&change("c"), &stats(&change("c"))).unwrap_err();
        assert_eq!(error.details()["budget"], "files");
        let error = budget.reserve_change(&change("a"), &stats(&change("a"))).unwrap_err();
        assert_eq!(error.details()["budget"], "diff_lines");
        assert_eq!((budget.lines(), budget.files().len(), budget.calls()), (4, 2, 2));
    }
}
