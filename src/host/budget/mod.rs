//! Budgets: reserved before a call and settled after it, never the other way round. N means N.

mod rate;
mod wall;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use self::rate::Rates;
pub(super) use self::wall::{Deadline, Wall};
use base::{
    change::ChangeSet,
    diff::Stat,
    error::{Code, Error},
    path::RepoPath,
};
use record::event;
use system::{clock::Stopwatch, policy};

/// The budgets of a run. Calls that are made at the same time never get more together than there is.
#[derive(Debug)]
pub(super) struct Budget {
    limits: policy::Budget,
    spent: Mutex<Spent>,
    rates: Arc<Mutex<Rates>>,
    wall: Arc<Wall>,
    /// Bytes of the record.
    record: AtomicU64,
}

/// A limit on the uses of one key in a minute, shared by all users of the key.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    rates: Arc<Mutex<Rates>>,
    key: String,
    limit: u64,
}

impl Rate {
    /// Reserves one use at this moment.
    pub(super) fn reserve(&self, now_ms: u64) -> Result<(), Error> {
        let Rate { rates, key, limit } = self;
        let mut rates = rates.lock().unwrap_or_else(PoisonError::into_inner);
        rates.take(key, *limit, now_ms).map_err(|full| {
            let error = spent_error(key, *limit, full.used, 1).detail("retry_after_ms", full.retry_after_ms);
            error.hint(format!("raise `{key}` in `nrv.toml`, or call it less often"))
        })
    }
}

/// The amounts that a run has spent, or reserved for calls that are being answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Host calls.
    pub(super) calls: u64,
    /// Files that were changed.
    pub(super) files: BTreeSet<RepoPath>,
    /// Lines added and removed.
    pub(super) diff_lines: u64,
    /// Bytes written.
    pub(super) bytes: u64,
    /// The sum of the demands of calls.
    pub(super) demand: Demand,
}

/// A call's use of the budgets that nrv can't measure by itself.
///
/// Before the call it is the most that the call may take; after the call it is the amount that the call took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Milliseconds that programs run; of `budget.exec_s`.
    pub exec_ms: u64,
    /// Tokens of language models, in and out; of `budget.tokens`.
    pub tokens: u64,
    /// Money, in millionths of the unit of `budget.cost`.
    pub cost: u64,
    /// Calls of tools of MCP servers; of `budget.mcp`.
    pub mcp: u64,
}

impl Demand {
    /// The demand of a recorded cost.
    pub(super) fn of(cost: &event::Cost) -> Self {
        let event::Cost { exec_ms, tokens, cost, mcp, .. } = *cost;
        Demand { exec_ms, tokens, cost, mcp }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Demand {
            exec_ms: self.exec_ms.saturating_add(other.exec_ms),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            mcp: self.mcp.saturating_add(other.mcp),
        }
    }
}

/// A call's use of the budgets, beside the call itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Files that the run had not changed before.
    pub(super) files: Vec<RepoPath>,
    /// Lines added and removed.
    pub(super) diff_lines: u64,
    /// Bytes written.
    pub(super) bytes: u64,
    /// The call's own demand.
    pub(super) demand: Demand,
}

impl Cost {
    /// As records have it.
    pub(super) fn recorded(&self) -> event::Cost {
        let Cost { files, diff_lines, bytes, demand } = self;
        let Demand { exec_ms, tokens, cost, mcp } = *demand;
        event::Cost { files: files.len() as u64, diff_lines: *diff_lines, bytes: *bytes, exec_ms, tokens, cost, mcp }
    }
}

impl Spent {
    /// Returns the cost of a change.
    fn cost_of(&self, changes: &ChangeSet, stats: &[Stat]) -> Cost {
        let new = changes.changes().iter().map(|change| &change.path).filter(|path| !self.files.contains(path));
        let (files, demand) = (new.cloned().collect(), Demand::default());
        Cost { files, diff_lines: lines(stats), bytes: bytes(changes), demand }
    }

    /// Adds what a change takes.
    fn take(&mut self, cost: &Cost) {
        self.diff_lines += cost.diff_lines;
        self.bytes += cost.bytes;
        self.files.extend(cost.files.iter().cloned());
    }
}

impl Budget {
    pub(super) fn new(limits: policy::Budget) -> Self {
        let wall = Arc::new(Wall::new(limits.wall_s));
        Budget { limits, spent: Mutex::default(), rates: Arc::default(), wall, record: AtomicU64::new(0) }
    }

    /// Reserves room in the record.
    pub(super) fn reserve_record(&self, bytes: u64) -> Result<(), Error> {
        let used = self.record.fetch_add(bytes, Ordering::Relaxed);
        admit("record", used, bytes, self.limits.record).map(drop).inspect_err(|_| {
            self.record.fetch_sub(bytes, Ordering::Relaxed);
        })
    }

    /// Counts what is recorded whatever there is room for.
    pub(super) fn count_record(&self, bytes: u64) {
        self.record.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of the record that may still be written.
    pub(super) fn room(&self) -> u64 {
        self.limits.record.saturating_sub(self.record.load(Ordering::Relaxed))
    }

    /// Takes in what the run had spent before it went on, and the milliseconds that it had taken; what it adds. Whether that
    /// is more than may be spent now is seen when something new is asked for.
    pub(super) fn take_in(&self, more: Spent, wall_ms: u64) -> Cost {
        let mut spent = self.spent();
        self.wall.add(wall_ms);
        spent.calls += more.calls;
        spent.diff_lines += more.diff_lines;
        spent.bytes += more.bytes;
        spent.demand = spent.demand.and(more.demand);
        let files = more.files.into_iter().filter(|path| spent.files.insert(path.clone())).collect();
        Cost { files, diff_lines: more.diff_lines, bytes: more.bytes, demand: more.demand }
    }

    /// The same account under other limits.
    pub(super) fn under(&self, limits: policy::Budget) -> Self {
        let budget = Budget::new(limits);
        budget.spent().clone_from(&self.spent());
        budget.count_record(self.record.load(Ordering::Relaxed));
        budget
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves one call.
    pub(super) fn reserve_call(&self) -> Result<(), Error> {
        self.check_wall()?;
        let mut spent = self.spent();
        spent.calls = admit("calls", spent.calls, 1, self.limits.calls)?;
        Ok(())
    }

    /// Returns the limit on the uses of a key in a minute; none if the uses are not limited.
    pub(super) fn rate(&self, key: &str, per_min: Option<u64>) -> Option<Rate> {
        per_min.map(|limit| Rate { rates: Arc::clone(&self.rates), key: key.to_owned(), limit })
    }

    /// The time that the run has taken.
    pub(super) fn wall(&self) -> Arc<Wall> {
        Arc::clone(&self.wall)
    }

    /// An error if the run has taken longer than it may.
    pub(super) fn check_wall(&self) -> Result<(), Error> {
        let limit = self.limits.wall_s;
        if self.wall.is_spent() {
            return Err(spent("wall_s", limit, self.wall.used_ms() / 1000, 0));
        }
        Ok(())
    }

    /// Stops counting time, since a person is asked; [`Budget::forgive`] goes on with it.
    pub(super) fn pause(&self) {
        self.wall.pause();
    }

    /// Takes time out of the account.
    pub(super) fn forgive(&self, waited: Stopwatch) {
        self.wall.forgive(waited);
    }

    /// Reserves what a call asks for itself; all or nothing.
    pub(super) fn reserve(&self, demand: Demand) -> Result<(), Error> {
        let mut spent = self.spent();
        let used = spent.demand;
        let exec = admit("exec_s", used.exec_ms, demand.exec_ms, self.limits.exec_s.saturating_mul(1000));
        let exec_ms = exec.map_err(|error| in_units(error, 1000.0))?;
        let tokens = admit("tokens", used.tokens, demand.tokens, self.limits.tokens)?;
        let cost = admit("cost", used.cost, demand.cost, self.limits.cost.unwrap_or(u64::MAX));
        let cost = cost.map_err(|error| in_units(error, 1e6))?;
        let mcp = admit("mcp", used.mcp, demand.mcp, self.limits.mcp)?;
        spent.demand = Demand { exec_ms, tokens, cost, mcp };
        Ok(())
    }

    /// Reserves time for a program: what it may take, or what is left if that is less. Without anything left, none.
    pub(super) fn reserve_exec(&self, timeout_ms: u64) -> Result<Demand, Error> {
        let left = self.limits.exec_s.saturating_mul(1000).saturating_sub(self.spent().demand.exec_ms);
        let demand = Demand { exec_ms: timeout_ms.min(left).max(1), ..Demand::default() };
        self.reserve(demand).map(|()| demand)
    }

    /// The error of a program, by its name, for which the time that was left of the budget was too short.
    pub(super) fn took_the_rest(&self, name: &str) -> Error {
        Error::new(Code::BudgetExhausted, format!("{name} took what was left of the budget `exec_s`"))
            .detail("budget", "exec_s")
            .detail("limit", self.limits.exec_s)
            .hint("raise `exec_s` in `[budget]` of `nrv.toml` and in the script's header")
    }

    /// True if so many calls are left.
    pub(super) fn has_calls(&self, calls: usize) -> bool {
        self.limits.calls.saturating_sub(self.spent().calls) >= calls as u64
    }

    /// True if there is so much time left for programs.
    pub(super) fn has_exec(&self, ms: u64) -> bool {
        self.limits.exec_s.saturating_mul(1000).saturating_sub(self.spent().demand.exec_ms) >= ms
    }

    /// Replaces what was reserved by what it came to, which may be less, or more if a call took more than it said.
    pub(super) fn settle(&self, reserved: Demand, actual: Demand) {
        let settle = |sum: u64, reserved: u64, actual: u64| sum.saturating_sub(reserved).saturating_add(actual);
        let mut spent = self.spent();
        let demand = &mut spent.demand;
        demand.exec_ms = settle(demand.exec_ms, reserved.exec_ms, actual.exec_ms);
        demand.tokens = settle(demand.tokens, reserved.tokens, actual.tokens);
        demand.cost = settle(demand.cost, reserved.cost, actual.cost);
        demand.mcp = settle(demand.mcp, reserved.mcp, actual.mcp);
    }

    /// Reserves files, lines and bytes for a change; all or nothing. A file that the run changed already is not counted again.
    pub(super) fn reserve_change(&self, changes: &ChangeSet, stats: &[Stat]) -> Result<Cost, Error> {
        let mut spent = self.spent();
        let cost = spent.cost_of(changes, stats);
        self.admit_change(&spent, &cost)?;
        spent.take(&cost);
        Ok(cost)
    }

    /// Takes what a call took once before: its change is admitted or refused again, what it asked for itself is as it was.
    pub(super) fn charge(&self, cost: &Cost) -> Result<(), Error> {
        let mut spent = self.spent();
        self.admit_change(&spent, cost)?;
        spent.take(cost);
        spent.demand = spent.demand.and(cost.demand);
        Ok(())
    }

    /// True if the run has changed a file.
    pub(super) fn has_changed(&self, path: &RepoPath) -> bool {
        self.spent().files.contains(path)
    }

    /// Gives back what was reserved for a change that never reached the tree.
    pub(super) fn release(&self, cost: &Cost) {
        let mut spent = self.spent();
        spent.diff_lines = spent.diff_lines.saturating_sub(cost.diff_lines);
        spent.bytes = spent.bytes.saturating_sub(cost.bytes);
        spent.files.retain(|path| !cost.files.contains(path));
    }

    /// An error if [`Budget::reserve_change`] would be one. Nothing is reserved: for what is proposed and never written.
    pub(super) fn check_change(&self, changes: &ChangeSet, stats: &[Stat]) -> Result<(), Error> {
        let spent = self.spent();
        self.admit_change(&spent, &spent.cost_of(changes, stats))
    }

    fn admit_change(&self, spent: &Spent, cost: &Cost) -> Result<(), Error> {
        admit("files", spent.files.len() as u64, cost.files.len() as u64, self.limits.files)?;
        admit("diff_lines", spent.diff_lines, cost.diff_lines, self.limits.diff_lines)?;
        admit("bytes", spent.bytes, cost.bytes, self.limits.bytes).map(drop)
    }

    /// Lines that the run has added and removed so far.
    pub(super) fn lines(&self) -> u64 {
        self.spent().diff_lines
    }

    /// How many files the run has changed.
    pub(super) fn files(&self) -> usize {
        self.spent().files.len()
    }

    /// Calls that the run has made.
    pub(super) fn calls(&self) -> u64 {
        self.spent().calls
    }

    /// Used and left, as scripts see it. Time is not in it: it differs from run to run.
    pub(super) fn describe(&self) -> Value {
        let row = |used: u64, limit: u64| json!({"used": used, "limit": limit, "left": limit.saturating_sub(used)});
        let spent = self.spent();
        let mut budget = json!({
            "calls": row(spent.calls, self.limits.calls),
            "files": row(spent.files.len() as u64, self.limits.files),
            "diff_lines": row(spent.diff_lines, self.limits.diff_lines),
            "bytes": row(spent.bytes, self.limits.bytes),
            "exec_ms": row(spent.demand.exec_ms, self.limits.exec_s.saturating_mul(1000)),
            "tokens": row(spent.demand.tokens, self.limits.tokens),
        });
        // A run that uses no such tool has the same reply as one of a release without them.
        if spent.demand.mcp > 0 {
            budget["mcp"] = row(spent.demand.mcp, self.limits.mcp);
        }
        if let Some(limit) = self.limits.cost {
            budget["cost_millionths"] = row(spent.demand.cost, limit);
        }
        budget
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

/// The numbers of an error in the units of the policy.
fn in_units(error: Error, unit: f64) -> Error {
    let number = |key: &str| error.details().get(key).and_then(Value::as_f64).unwrap_or_default() / unit;
    let (name, limit, used, asked) =
        (error.details()["budget"].as_str().unwrap_or_default(), number("limit"), number("used"), number("asked"));
    spent(name, limit, used, asked)
}

fn spent<N: Copy + std::fmt::Display + Into<Value>>(name: &str, limit: N, used: N, asked: N) -> Error {
    spent_error(name, limit, used, asked)
        .hint(format!("raise `{name}` in `[budget]` of `nrv.toml`, and above the header's by `--budget {name}=…`; or change less at once"))
}

fn spent_error<N: Copy + std::fmt::Display + Into<Value>>(name: &str, limit: N, used: N, asked: N) -> Error {
    Error::new(
        Code::BudgetExhausted,
        format!("the budget `{name}` is spent: limit {limit}, used {used}, asked {asked}"),
    )
    .detail("budget", name)
    .detail("limit", limit)
    .detail("used", used)
    .detail("asked", asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{
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
        let budget = budget(1, 1, 2);
        let (one, two) = (change("a"), change("b"));
        for _ in 0..3 {
            budget.check_change(&one, &stats(&one)).unwrap();
        }
        assert_eq!((budget.lines(), budget.files()), (0, 0));
        budget.reserve_change(&one, &stats(&one)).unwrap();
        let error = budget.check_change(&two, &stats(&two)).unwrap_err();
        assert_eq!(error.details()["budget"], "files");
    }

    #[test]
    fn what_is_given_back_can_be_reserved_again() {
        let budget = budget(1, 1, 2);
        let one = change("a");
        for _ in 0..3 {
            let cost = budget.reserve_change(&one, &stats(&one)).unwrap();
            assert_eq!(json!(cost.recorded()), json!({"files": 1, "diff_lines": 2, "bytes": 2}));
            budget.release(&cost);
        }
        assert_eq!((budget.lines(), budget.files()), (0, 0));
        assert_eq!(Cost::default().recorded(), event::Cost::default());
    }

    #[test]
    fn a_limit_of_n_admits_exactly_n() {
        let budget = budget(2, 2, 4);
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
        assert_eq!((budget.lines(), budget.files(), budget.calls()), (4, 2, 2));
    }

    #[test]
    fn what_calls_ask_for_themselves_is_reserved_and_settled() {
        let limits = policy::Budget { exec_s: 2, tokens: 100, cost: Some(1_500_000), ..policy::Budget::default() };
        let ask = |exec_ms, tokens, cost| Demand { exec_ms, tokens, cost, mcp: 0 };
        for (ok, more, name, words) in [
            (ask(2000, 0, 0), ask(1, 0, 0), "exec_s", "limit 2, used 2, asked 0.001"),
            (ask(0, 100, 0), ask(0, 1, 0), "tokens", "limit 100, used 100, asked 1"),
            (ask(0, 0, 1_500_000), ask(0, 0, 1), "cost", "limit 1.5, used 1.5, asked 0.000001"),
        ] {
            let budget = Budget::new(limits.clone());
            budget.reserve(ok).unwrap();
            let error = budget.reserve(more).unwrap_err();
            assert_eq!((error.code(), &error.details()["budget"]), (Code::BudgetExhausted, &json!(name)));
            assert!(error.message().ends_with(words), "{error}");
            // Less than was reserved: the rest can be had.
            budget.settle(ok, Demand::default());
            budget.reserve(ok).unwrap();
            // More than was reserved: that is what it came to.
            budget.settle(Demand::default(), more);
            assert!(budget.reserve(Demand::default()).is_err());
        }
    }

    #[test]
    fn calls_at_the_same_time_never_get_more_together_than_there_is() {
        for round in 0..20 {
            let budget = Budget::new(policy::Budget {
                calls: 50,
                files: 7,
                diff_lines: 13,
                tokens: 90,
                ..policy::Budget::default()
            });
            let admitted = || {
                let mut got = [0; 3];
                for n in 0..40 {
                    let one = change(&format!("{round}-{n}"));
                    got[0] += u64::from(budget.reserve_call().is_ok());
                    got[1] += u64::from(budget.reserve_change(&one, &stats(&one)).is_ok());
                    got[2] += u64::from(budget.reserve(Demand { tokens: 7, ..Demand::default() }).is_ok());
                }
                got
            };
            let sums = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(admitted)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .fold([0; 3], |sum, got| [sum[0] + got[0], sum[1] + got[1], sum[2] + got[2]])
            });
            // Six changes of two lines each fit into 13 lines.
            assert_eq!(sums, [50, 6, 12]);
            assert_eq!((budget.calls(), budget.lines()), (50, 12));
        }
    }
}
