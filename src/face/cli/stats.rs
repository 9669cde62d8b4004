//! `nrv runs stats`: statistics of many runs, two workflows beside each other, and the policy that violations suggest.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use serde::Serialize;
use serde_json::Value;

use super::{
    Here,
    arguments::StatsOf,
    columns::{plain, right_align, trimmed},
    output::Output,
    table as tables,
};
use base::{
    error::{Code, Error},
    text::escape,
};
use host::{Spread, Stats, Tries};

/// The statistics of two workflows or runs, and numbers of others that they are held against.
#[derive(Serialize)]
struct Comparison<'a> {
    compared: Vec<Compared<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<BTreeMap<String, Value>>,
}

#[derive(Serialize)]
struct Compared<'a> {
    of: &'a str,
    stats: Stats,
}

pub(super) fn stats(here: &Here, arguments: &StatsOf, out: &mut Output) -> Result<u8, Error> {
    let StatsOf { since, suggest, compare, baseline } = arguments;
    if *suggest {
        return self::suggest(here, *since, out);
    }
    if !compare.is_empty() {
        return self::compare(here, (compare, baseline.as_deref()), *since, out);
    }
    let stats = host::stats(&here.context, *since)?;
    if out.is_json() {
        out.document(&stats);
    } else {
        out.data(&table(&stats));
    }
    Ok(0)
}

fn compare(
    here: &Here,
    (names, baseline): (&[String], Option<&Path>),
    since: Option<u64>,
    out: &mut Output,
) -> Result<u8, Error> {
    let baseline = baseline.map(|path| given(here, path)).transpose()?;
    let mut compared = Vec::new();
    for of in names {
        compared.push(Compared { of, stats: host::stats_of(&here.context, of, since)? });
    }
    let comparison = Comparison { compared, baseline };
    if out.is_json() {
        out.document(&comparison);
    } else {
        out.data(&side_by_side(&comparison));
    }
    Ok(0)
}

/// The numbers of a baseline, as a file has them.
fn given(here: &Here, path: &Path) -> Result<BTreeMap<String, Value>, Error> {
    let shown = path.display();
    let numbers: BTreeMap<String, Value> = serde_json::from_slice(&here.read_bytes(path)?).map_err(|error| {
        Error::new(Code::InvalidInput, format!("the baseline `{shown}` can't be read: {error}"))
            .hint("it is a JSON object: each name has a number, or a text such as \"25 to 139\"")
    })?;
    match numbers.iter().find(|(_, value)| !value.is_number() && !value.is_string()) {
        None => Ok(numbers),
        Some((name, _)) => {
            let name = name.escape_debug();
            Err(Error::new(
                Code::InvalidInput,
                format!("`{name}` of the baseline `{shown}` is neither a number nor a text"),
            ))
        }
    }
}

fn side_by_side(comparison: &Comparison<'_>) -> String {
    let measures: Vec<Vec<(String, Option<f64>)>> =
        comparison.compared.iter().map(|one| one.stats.measures()).collect();
    let baseline = comparison.baseline.as_ref();
    // In the order of the first, then what only others have.
    let mut names: Vec<&String> = Vec::new();
    for name in measures.iter().flatten().map(|(name, _)| name).chain(baseline.into_iter().flat_map(BTreeMap::keys)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let columns: Vec<BTreeMap<&String, Option<f64>>> =
        measures.iter().map(|all| all.iter().map(|(name, value)| (name, *value)).collect()).collect();
    let mut table = plain();
    let heads = comparison.compared.iter().map(|one| escape(one.of).to_string());
    let last = baseline.map(|_| "baseline".to_owned());
    table.set_header([String::new()].into_iter().chain(heads).chain(last));
    for name in names {
        let values = columns.iter().map(|column| shown(column.get(name).copied().flatten()));
        let last = baseline.map(|numbers| match numbers.get(name) {
            Some(Value::String(text)) => escape(text).to_string(),
            value => shown(value.and_then(Value::as_f64)),
        });
        table.add_row([escape(name).to_string()].into_iter().chain(values).chain(last));
    }
    right_align(&mut table, &[1, 2, 3]);
    trimmed(&table) + "\n"
}

fn shown(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn suggest(here: &Here, since: Option<u64>, out: &mut Output) -> Result<u8, Error> {
    let suggested = host::suggest(&here.context, since)?;
    if out.is_json() {
        out.document(&suggested);
    } else {
        match out.is_terminal() {
            true => out.styled(&tables::patch(suggested.patch.as_bytes())),
            false => out.bytes(suggested.patch.as_bytes()),
        }
    }
    match suggested.suggestions.len() {
        0 => out.say("There is nothing to suggest."),
        1 => out.say("1 change of `nrv.toml`; `git apply` takes it."),
        n => out.say(&format!("{n} changes of `nrv.toml`; `git apply` takes them.")),
    }
    Ok(0)
}

/// The statistics of many runs.
fn table(stats: &Stats) -> String {
    let mut table = plain();
    let rates = &stats.changes;
    table.add_row(["runs".to_owned(), stats.runs.to_string()]);
    table.add_row(["that changed something".to_owned(), stats.changed.to_string()]);
    table.add_row(["rolled back or undone".to_owned(), stats.rolled_back.to_string()]);
    if stats.attempts.count > 0 {
        let Tries { count, kept, undone, .. } = stats.attempts;
        table.add_row(["attempts".to_owned(), count.to_string()]);
        table.add_row(["kept".to_owned(), kept.to_string()]);
        table.add_row(["undone".to_owned(), undone.to_string()]);
    }
    for (name, value) in [
        ("rollback frequency", rates.rollback_frequency),
        ("lines per modification", rates.lines_per_modification),
        ("share of at most 5 lines", rates.small_share),
        ("build success", rates.build_success),
        ("calls per change", rates.calls_per_change),
        ("rework", rates.rework),
        ("share of attempts kept", stats.attempts.kept_share),
    ] {
        table.add_row([name.to_owned(), shown(value)]);
    }
    right_align(&mut table, &[1]);
    let mut text = trimmed(&table) + "\n";
    if !stats.violations.is_empty() {
        let mut table = plain();
        table.set_header(["rule", "gate", "count", "runs", "rework", "score"]);
        for broken in &stats.violations {
            let (count, runs) = (broken.count.to_string(), broken.runs.to_string());
            let (rework, score) = (shown(Some(broken.rework)), shown(Some(broken.score)));
            table.add_row([escape(&broken.rule), escape(&broken.gate), count, runs, rework, score]);
        }
        right_align(&mut table, &[2, 3, 4, 5]);
        let _ = write!(text, "\n{}\n", trimmed(&table));
    }
    if !stats.metrics.is_empty() {
        let mut table = plain();
        table.set_header(["metric", "runs", "min", "mean", "max"]);
        for (name, spread) in &stats.metrics {
            let Spread { runs, min, mean, max } = spread;
            table.add_row([escape(name), runs.to_string(), shown(Some(*min)), shown(Some(*mean)), shown(Some(*max))]);
        }
        right_align(&mut table, &[1, 2, 3, 4]);
        let _ = write!(text, "\n{}\n", trimmed(&table));
    }
    text
}
