//! Statistics of many runs: the rules that were broken most often and cost most, and the results of changes.
//!
//! They are computed from the last record of each run, so that thousands of runs take little time. The same records give the
//! same numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{outcome::overviews, retention::began};
use crate::{
    Context, Overview,
    evaluator::measure::{TESTS_PASS, ratio},
};
use base::error::{Error, nearest};
use record::event::{Kind, RunEnd, Shown};

/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// The combined statistics of several runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Runs that are over, rollbacks left out.
    pub runs: u64,
    /// Those that changed something.
    pub changed: u64,
    /// Those of them whose changes were undone, by themselves or by a later rollback.
    pub rolled_back: u64,
    /// The rules that were broken, the costliest first.
    pub violations: Vec<Broken>,
    /// How changes went.
    pub changes: Rates,
    /// The counts of attempts that were kept and undone.
    pub attempts: Tries,
    /// Metrics that scripts gave, by name.
    pub metrics: BTreeMap<String, Spread>,
}

/// A rule that runs have broken.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Broken {
    /// The rule.
    pub rule: String,
    /// The gate that it belongs to.
    pub gate: String,
    /// How often it was broken.
    pub count: u64,
    /// In how many runs.
    pub runs: u64,
    /// The mean rework of these runs: the share of the lines they added that did not stand.
    pub rework: f64,
    /// `count` × `rework`: what the list is sorted by.
    pub score: f64,
}

/// The counts of the attempts of runs: all, kept and undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tries {
    /// How many there were.
    pub count: u64,
    /// Those whose changes were kept, whatever became of the run then.
    pub kept: u64,
    /// Those that were undone.
    pub undone: u64,
    /// The share that was kept; none without attempts.
    pub kept_share: Option<f64>,
}

/// Shares and means; none where nothing was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Lines added and removed per change of a file.
    pub lines_per_modification: Option<f64>,
    /// The share of changes of files with at most five lines.
    pub small_share: Option<f64>,
    /// The share of runs with tests in which all passed.
    pub build_success: Option<f64>,
    /// Calls per committed change, over runs that committed any.
    pub calls_per_change: Option<f64>,
    /// The share of runs that changed something whose changes were undone.
    pub rollback_frequency: Option<f64>,
    /// The mean rework of runs that added lines.
    pub rework: Option<f64>,
}

/// The values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// In how many runs it was given.
    pub runs: u64,
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
}

impl Stats {
    /// The numbers that runs are compared by, by name: shares and means, and the mean of each metric.
    ///
    /// A metric of the name of a share or mean is `metrics.NAME`.
    pub fn measures(&self) -> Vec<(String, Option<f64>)> {
        let Rates { lines_per_modification, small_share, build_success, calls_per_change, rollback_frequency, rework } =
            self.changes;
        let mut measures = [
            ("runs", Some(self.runs as f64)),
            ("rollback_frequency", rollback_frequency),
            ("lines_per_modification", lines_per_modification),
            ("small_share", small_share),
            ("build_success", build_success),
            ("calls_per_change", calls_per_change),
            ("rework", rework),
            ("kept_share", self.attempts.kept_share),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec();
        for (name, spread) in &self.metrics {
            let is_taken = measures.iter().any(|(taken, _)| taken == name);
            measures.push((if is_taken { format!("metrics.{name}") } else { name.clone() }, Some(spread.mean)));
        }
        measures
    }
}

/// Sums over runs, of which rates are made.
#[derive(Default)]
struct Sums {
    modifications: u64,
    lines: u64,
    small: u64,
    tested: u64,
    tests_passed: u64,
    calls: u64,
    committed: u64,
    attempts: (u64, u64),
    rework: Vec<f64>,
    broken: BTreeMap<(String, String), (u64, Vec<f64>)>,
    metrics: BTreeMap<String, Vec<f64>>,
}

/// The runs of a script, or one run by its id or `last`, together. `not_found` if there is none.
pub fn stats_of(context: &Context, name: &str, days: Option<u64>) -> Result<Stats, Error> {
    let all = overviews(context)?;
    if all.iter().any(|run| run.subject == name) {
        return combined(context, &all, days, |run| run.subject == name);
    }
    let found = context.runs.open(name).map_err(|error| {
        let near = nearest(name, all.iter().map(|run| run.subject.as_str()));
        let hint = near.map_or("name a run, or a script that ran".to_owned(), |near| format!("did you mean `{near}`?"));
        Error::new(error.code(), format!("no run and no script that ran is named `{}`", name.escape_debug())).hint(hint)
    })?;
    combined(context, &all, days, |run| run.run == found.id())
}

/// Takes the runs of the last days together; all of them without a number.
pub fn stats(context: &Context, days: Option<u64>) -> Result<Stats, Error> {
    combined(context, &overviews(context)?, days, |_| true)
}

fn combined(
    context: &Context,
    all: &[Overview],
    days: Option<u64>,
    is_meant: impl Fn(&Overview) -> bool,
) -> Result<Stats, Error> {
    let since = days.map(|days| context.options.clock.now_ms().saturating_sub(days.saturating_mul(DAY_MS)));
    let is_recent = |run: &Overview| since.is_none_or(|since| began(&run.run).is_some_and(|began| began >= since));
    let undoing = all.iter().filter(|run| run.state == "done" && run.mode == "apply");
    // From the last to the first: what a rollback undid stands again if it was rolled back itself.
    let undone = undoing.rev().fold(BTreeSet::new(), |mut undone: BTreeSet<&str>, run| {
        let parent = run.subject.strip_prefix("rollback of ").filter(|_| !undone.contains(run.run.as_str()));
        undone.extend(parent);
        undone
    });
    let mut stats = Stats::default();
    let mut sums = Sums::default();
    for run in all.iter().filter(|run| !run.is_rollback && is_meant(run) && is_recent(run)) {
        let Some(end) = end_of(context, &run.run)? else { continue };
        stats.runs += 1;
        let committed = end.changes.unwrap_or_default().committed;
        let is_undone = committed > 0 && (undone.contains(run.run.as_str()) || end.was_undone());
        stats.changed += u64::from(committed > 0);
        stats.rolled_back += u64::from(is_undone);
        sums.add(&end, is_undone);
    }
    Ok(sums.into_stats(stats))
}

/// How a run ended; none if it goes on, waits or died.
fn end_of(context: &Context, id: &str) -> Result<Option<RunEnd>, Error> {
    let folder = context.runs.open(id)?;
    // A damaged record is `runs verify`'s to report.
    let Some(last) = folder.last_record().unwrap_or_default() else { return Ok(None) };
    if let Some(end) = last.event.run_finished() {
        return Ok(Some(end.clone()));
    }
    // Recovery may have had something to add.
    let sessions = [Kind::RunStarted, Kind::RunResumed, Kind::RunFinished, Kind::RunSuspended, Kind::RunInterrupted];
    let ends = folder.records_of(&sessions).unwrap_or_default();
    let last = ends.iter().rfind(|record| record.event.kind().is_some_and(|kind| sessions.contains(&kind)));
    Ok(last.and_then(|last| last.event.run_finished()).cloned())
}

impl Sums {
    /// Adds a run. Its record may hold any number, so sums stop at the largest one.
    fn add(&mut self, end: &RunEnd, is_undone: bool) {
        let changes = end.changes.unwrap_or_default();
        self.modifications = self.modifications.saturating_add(changes.modifications);
        self.small = self.small.saturating_add(changes.small);
        self.lines = self.lines.saturating_add(changes.added).saturating_add(changes.removed);
        if changes.committed > 0 {
            self.committed = self.committed.saturating_add(changes.committed);
            self.calls = self.calls.saturating_add(end.calls.unwrap_or_default());
        }
        let attempts = end.attempts.unwrap_or_default();
        self.attempts.0 = self.attempts.0.saturating_add(attempts.kept);
        self.attempts.1 = self.attempts.1.saturating_add(attempts.undone);
        let tests = end.evaluations.iter().flatten().find(|one| one.evaluator == TESTS_PASS);
        if let Some(passed) = tests.and_then(|tests| tests.passed) {
            self.tested += 1;
            self.tests_passed += u64::from(passed);
        }
        let rework = if is_undone { 1.0 } else { ratio(changes.reworked, changes.added) };
        if changes.added > 0 {
            self.rework.push(rework);
        }
        self.add_violations(end, rework);
        for (name, value) in &end.metrics {
            // An integer that JSON does not hold exactly stands as a text.
            let number = value.0.as_f64().or_else(|| value.0.as_str()?.parse().ok());
            self.metrics.entry(name.clone()).or_default().extend(number.filter(|number| number.is_finite()));
        }
    }

    fn add_violations(&mut self, end: &RunEnd, rework: f64) {
        let mut here: BTreeMap<(String, String), u64> = BTreeMap::new();
        for violation in end.violations.iter().filter_map(Shown::exact) {
            for rule in &violation.triggered_rules {
                *here.entry((rule.clone(), violation.gate_name.clone())).or_default() += 1;
            }
        }
        for (rule, count) in here {
            let sum = self.broken.entry(rule).or_default();
            sum.0 += count;
            sum.1.push(rework);
        }
    }

    fn into_stats(self, stats: Stats) -> Stats {
        let share = |part: u64, whole: u64| (whole > 0).then(|| ratio(part, whole));
        let changes = Rates {
            lines_per_modification: share(self.lines, self.modifications),
            small_share: share(self.small, self.modifications),
            build_success: share(self.tests_passed, self.tested),
            calls_per_change: share(self.calls, self.committed),
            rollback_frequency: share(stats.rolled_back, stats.changed),
            rework: (!self.rework.is_empty()).then(|| mean(&self.rework)),
        };
        let (kept, undone) = self.attempts;
        let count = kept.saturating_add(undone);
        let attempts = Tries { count, kept, undone, kept_share: share(kept, count) };
        let broken = |((rule, gate), (count, rework)): ((String, String), (u64, Vec<f64>))| {
            let (runs, rework) = (rework.len() as u64, mean(&rework));
            Broken { rule, gate, count, runs, rework, score: rounded(count as f64 * rework) }
        };
        let mut violations: Vec<Broken> = self.broken.into_iter().map(broken).collect();
        violations.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.count.cmp(&a.count)));
        let metrics = self.metrics.into_iter().filter_map(|(name, values)| Some((name, spread(&values)?)));
        Stats { violations, changes, attempts, metrics: metrics.collect(), ..stats }
    }
}

/// Six decimals; of a number too large for them, all that it has.
fn rounded(value: f64) -> f64 {
    let shifted = value * 1e6;
    if shifted.is_finite() { shifted.round() / 1e6 } else { value }
}

fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    match () {
        () if values.is_empty() => 0.0,
        () if sum.is_finite() => rounded(sum / count),
        // The sum of large numbers may be none.
        () => values.iter().map(|value| value / count).sum(),
    }
}

fn spread(values: &[f64]) -> Option<Spread> {
    let min = values.iter().copied().min_by(f64::total_cmp)?;
    let max = values.iter().copied().max_by(f64::total_cmp)?;
    Some(Spread { runs: values.len() as u64, min, mean: mean(values), max })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use base::hash::Sha256;

    fn read(end: Value) -> RunEnd {
        serde_json::from_value(end).unwrap()
    }

    fn end(added: u64, reworked: u64, rules: &[&str]) -> RunEnd {
        let hash = Sha256::of(b"");
        let violation = |rule: &&str| {
            json!({
                "gate_name": "g", "triggered_rules": [rule], "decision": "block", "reason": "", "remediation": null,
                "config_sha256": hash, "input_sha256": hash,
            })
        };
        let violations: Vec<Value> = rules.iter().map(violation).collect();
        let changes =
            json!({"committed": 1, "modifications": 2, "small": 1, "added": added, "removed": 0, "reworked": reworked});
        let metrics = json!({"score": added});
        read(json!({"state": "done", "calls": 3, "changes": changes, "violations": violations, "metrics": metrics}))
    }

    #[test]
    fn violations_are_ranked_by_frequency_and_rework() {
        let mut sums = Sums::default();
        // Often, and nothing had to be done again.
        sums.add(&end(10, 0, &["often", "often", "often"]), false);
        // Seldom and dear.
        sums.add(&end(10, 5, &["dear"]), false);
        sums.add(&end(10, 0, &["dear"]), true);
        let stats = sums.into_stats(Stats { runs: 3, changed: 3, rolled_back: 1, ..Stats::default() });
        let row = |broken: &Broken| (broken.rule.clone(), broken.count, broken.runs, broken.rework, broken.score);
        let rows: Vec<_> = stats.violations.iter().map(row).collect();
        assert_eq!(rows, [("dear".to_owned(), 2, 2, 0.75, 1.5), ("often".to_owned(), 3, 1, 0.0, 0.0)]);
        let rates = Rates {
            lines_per_modification: Some(5.0),
            small_share: Some(0.5),
            build_success: None,
            calls_per_change: Some(3.0),
            rollback_frequency: Some(0.333_333),
            rework: Some(0.5),
        };
        assert_eq!(stats.changes, rates);
        assert_eq!(stats.metrics["score"], Spread { runs: 3, min: 10.0, mean: 10.0, max: 10.0 });
    }

    #[test]
    fn a_large_metric_counts_too() {
        let mut sums = Sums::default();
        let metrics = json!({"size": "9007199254740994", "other": "none"});
        sums.add(&read(json!({"state": "done", "metrics": metrics})), false);
        let stats = sums.into_stats(Stats::default());
        let max = 9_007_199_254_740_994.0;
        assert_eq!(stats.metrics, BTreeMap::from([("size".to_owned(), Spread { runs: 1, min: max, mean: max, max })]));
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let most = u64::MAX;
        let changes = json!({
            "committed": most, "modifications": most, "small": most, "added": most, "removed": most, "reworked": most,
        });
        let attempts = json!({"kept": most, "undone": most});
        let end = read(json!({"state": "done", "calls": most, "changes": changes, "attempts": attempts}));
        let mut sums = Sums::default();
        sums.add(&end, false);
        sums.add(&end, false);
        let stats = sums.into_stats(Stats::default());
        assert_eq!(stats.attempts, Tries { count: most, kept: most, undone: most, kept_share: Some(1.0) });
        assert_eq!((stats.changes.lines_per_modification, stats.changes.calls_per_change), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn without_runs_there_are_no_rates() {
        assert_eq!(Sums::default().into_stats(Stats::default()), Stats::default());
    }
}
