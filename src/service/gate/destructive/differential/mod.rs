//! Compares our parser with two public ones, brush and tree-sitter, on lines that a grammar makes and damages.
//!
//! A command that they see and we do not is a miss; one that we alone see is a false alarm. Only `mk1`, `mk2`, … count, which
//! a line holds at commands and in data. `bash -n` has to accept the line. `NRV_FUZZ_SECONDS` sets the duration, and `NRV_FUZZ_SEED`
//! the seed.
#![expect(clippy::disallowed_methods, reason = "the judge is a program, and the clock ends a long run")]

mod lines;
#[path = "../../../../../tests/it/support/need.rs"]
mod need;
mod runs;
mod seen;

use std::{
    collections::BTreeMap,
    env,
    process::{Command, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

use regex::Regex;

use self::{
    lines::{Random, grammatical, line},
    seen::{brush, ours, tree},
};

/// Differences in which the others are known to be wrong, each by a pattern for the line.
const THEIRS: &[(&str, &str)] = &[
    (r"'\$\(|'`", "quotes in double quotes"),
    (r"\{\w+\}[<>]", "a variable before a redirection"),
    (r"\[1\s*\+ 2", "blanks in brackets"),
    (r"[^\s;&|(){}<>][<>]\(", "a process in a word"),
    (r"(\||time|-p)&?\s*time", "the program time"),
    (r#"["']mk\d+["']|mk\d+\\\n"#, "quotes around a program"),
    (r"coproc", "a coprocess in a substitution"),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    THEIRS.iter().map(|(pattern, reason)| (Regex::new(pattern).expect("a pattern"), *reason)).collect()
});

fn bash_accepts(line: &str) -> bool {
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-n", "-c", line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = bash.output().expect("bash is installed");
    // It mends a here-document without end, and says so.
    output.status.success() && output.stderr.is_empty()
}

/// The verdict on a line, or the difference.
fn judge(parser: &mut tree_sitter::Parser, line: &str) -> Result<&'static str, String> {
    let (brush, tree) = (brush(line), tree(parser, line));
    let ours = match ours(line) {
        Ok(ours) => ours,
        Err(_) if brush.is_none() && tree.is_none() => return Ok("all refuse"),
        Err(_) => return Ok("we alone refuse"),
    };
    // Where both see a line, both have to see a command in it, and each has its own mistakes.
    let (both, all) = match (&brush, &tree) {
        (Some(one), Some(other)) => (one & other, one | other),
        (Some(one), None) | (None, Some(one)) => (one.clone(), &ours | one),
        (None, None) => return Ok("they refuse"),
    };
    let (missed, extra) = (&both - &ours, &ours - &all);
    if missed.is_empty() && extra.is_empty() {
        return Ok(if (&all - &ours).is_empty() { "the same commands" } else { "they disagree" });
    }
    if !bash_accepts(line) {
        return Ok("bash refuses");
    }
    match PATTERNS.iter().find(|(pattern, _)| pattern.is_match(line)) {
        Some((_, reason)) => Ok(reason),
        None => Err(format!("missed {missed:?}, extra {extra:?}\nbrush {brush:?}\ntree {tree:?}\nours {ours:?}")),
    }
}

/// The counts of verdicts, and the lines that none explains.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, u64>,
    unexplained: Vec<String>,
}

impl Tally {
    fn add(&mut self, line: &str, verdict: Result<&'static str, String>) {
        let verdict = verdict.unwrap_or_else(|what| {
            self.unexplained.push(format!("{line}\n{line:?}\n{what}"));
            "not explained"
        });
        *self.counts.entry(verdict).or_insert(0) += 1;
    }

    fn all(&self) -> u64 {
        self.counts.values().sum()
    }

    #[expect(clippy::print_stderr, reason = "a long run says what it has seen")]
    fn ends(&self, good: &str, percent: u64) {
        if number("NRV_FUZZ_SECONDS").is_some() {
            eprintln!("seed {}: {} lines", seed(), self.all());
            self.counts.iter().for_each(|(verdict, count)| eprintln!("{count:9} {verdict}"));
        }
        let shown = &self.unexplained[..self.unexplained.len().min(500)];
        assert!(shown.is_empty(), "{} lines\n{}", self.unexplained.len(), shown.join("\n\n"));
        let share = 100 * self.counts.get(good).copied().unwrap_or_default() / self.all().max(1);
        assert!(share >= percent, "too few lines are any good: {:?}", self.counts);
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

fn seed() -> u64 {
    number("NRV_FUZZ_SEED").unwrap_or(1)
}

/// True until the time is over, or without one until the count is reached.
fn goes_on(start: Instant, done: u64, count: u64) -> bool {
    number("NRV_FUZZ_SECONDS").map_or(done < count, |seconds| start.elapsed() < Duration::from_secs(seconds))
}

#[test]
fn we_see_the_commands_that_other_parsers_see() {
    let (mut random, mut parser, mut tally) = (Random::new(seed()), tree_sitter::Parser::new(), Tally::default());
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    let start = Instant::now();
    while goes_on(start, tally.all(), 1000) {
        let line = line(&mut random);
        tally.add(&line, judge(&mut parser, &line));
    }
    tally.ends("the same commands", 25);
}

#[test]
fn the_gate_objects_to_what_bash_runs() {
    if !runs::is_possible() {
        return need::skip("namespaces");
    }
    let (mut random, mut tally) = (Random::new(seed()), Tally::default());
    let start = Instant::now();
    while goes_on(start, tally.all(), 100) {
        let lines: Vec<String> = (0..100).map(|_| runs::armed(&grammatical(&mut random))).collect();
        let Some(all) = runs::run(&lines) else {
            tally.add("", Ok("bash died"));
            continue;
        };
        for (line, ran) in lines.iter().zip(all) {
            tally.add(line, compare(line, &ran));
        }
    }
    tally.ends("objects to all", 20);
}

fn compare(line: &str, ran: &runs::Ran) -> Result<&'static str, String> {
    let Some(objected) = runs::objected(line) else {
        return Ok(if ran.is_empty() { "bash runs none, we ask" } else { "we ask" });
    };
    match ran.difference(&objected).next() {
        _ if ran.is_empty() => Ok("bash runs none"),
        None => Ok("objects to all"),
        // It goes on with the next line.
        Some(_) if !bash_accepts(line) => Ok("bash refuses"),
        Some(one) => Err(format!("bash removes {one}, the gate objects to {objected:?}")),
    }
}
