//! The output of cases for a person or a program: a line for each that holds, and all findings of the others.

use std::collections::BTreeMap;

use owo_colors::OwoColorize;
use serde_json::json;

use crate::face::cli::{
    output::{Mode, Output},
    redact, table,
};
use base::{
    error::{Code, Error},
    path::RepoPath,
    text::{counted, escape, escape_lines},
};
use script::{
    cases::{Check, Report},
    diagnostic,
};
use system::clock::Stopwatch;

/// The most lines of a diff, and of a script's output, that a person sees.
const SHOWN: usize = 200;

/// Counts cases and keeps them for a document.
pub(super) struct Told {
    reports: Vec<Report>,
    watch: Stopwatch,
}

impl Told {
    pub(super) fn start() -> Self {
        Told { reports: Vec::new(), watch: Stopwatch::start() }
    }

    /// Reports a script that can't be loaded, with all of its cases.
    pub(super) fn broken(&mut self, script: &RepoPath, cases: &[String], errors: &[Error], out: &mut Output) {
        errors.iter().for_each(|error| out.explain(error));
        let none = || Error::new(Code::Internal, "a script was rejected without a reason");
        let first = errors.first().cloned().unwrap_or_else(none);
        for case in cases {
            let report = Report::broken(script, case, first.clone());
            if out.mode() == Mode::Text {
                out.styled(&format!("{} {}: the script can't be loaded\n", mark(&report), escape(&report.folder())));
            }
            self.reports.push(report);
        }
    }

    /// Reports a case that was run.
    pub(super) fn report(&mut self, report: Report, sources: &BTreeMap<String, String>, out: &mut Output) {
        if out.mode() == Mode::Text {
            out.styled(&text(&report, sources));
        }
        self.reports.push(report);
    }

    /// Reports the number of cases that hold; returns the exit code.
    pub(super) fn end(self, out: &mut Output) -> u8 {
        let count = |is: fn(&&Report) -> bool| self.reports.iter().filter(is).count();
        let broken = count(|report| report.error.is_some());
        let failed = count(|report| !report.ok && report.error.is_none());
        let passed = count(|report| report.ok);
        let updated = count(|report| !report.updated.is_empty());
        let duration_ms = self.watch.elapsed_ms();
        let document = json!({
            "ok": passed == self.reports.len(), "passed": passed, "failed": failed, "broken": broken,
            "duration_ms": duration_ms, "cases": self.reports,
        });
        match out.mode() {
            Mode::Text => {}
            Mode::Document => out.document(&document),
            Mode::Lines => out.json_line(&document),
        }
        out.say(&sentence(&[(passed, "held"), (failed, "failed"), (broken, "could not be run"), (updated, "updated")]));
        match (broken, failed) {
            (0, 0) => 0,
            (0, _) => code_of_failure(),
            (_, _) => Code::ScriptFailed.exit_code(),
        }
    }
}

fn sentence(counts: &[(usize, &str)]) -> String {
    let named: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    format!("Cases: {}.", named.join(", "))
}

fn mark(report: &Report) -> String {
    match report.ok {
        true if report.updated.is_empty() => "ok     ".green().to_string(),
        true => "updated".yellow().to_string(),
        false => "FAILED ".red().bold().to_string(),
    }
}

/// A case for people.
fn text(report: &Report, sources: &BTreeMap<String, String>) -> String {
    let mut text = format!("{} {} ({} ms)\n", mark(report), escape(&report.folder()), report.duration_ms);
    for check in &report.checks {
        text.push_str(&check_text(check, sources));
    }
    if let Some(error) = &report.error {
        text.push_str(&indented(&diagnostic::render(error, sources, redact::text, true)));
    }
    for path in &report.updated.removed {
        text.push_str(&indented(&format!("removed {}", escape(path))));
    }
    for (path, _) in &report.updated.written {
        text.push_str(&indented(&format!("wrote {}", escape(path))));
    }
    if !report.ok && !report.printed.is_empty() {
        let lines: Vec<String> = report.printed.iter().flat_map(|text| text.split('\n')).map(escape).collect();
        text.push_str(&indented(&format!("it printed:\n{}", cut(&lines.join("\n")))));
    }
    text
}

fn check_text(check: &Check, sources: &BTreeMap<String, String>) -> String {
    if check.ok {
        let note = if check.detail.is_empty() { String::new() } else { indented(&escape_lines(&check.detail)) };
        return note;
    }
    let mut text = indented(&format!("{}: {}", check.name.replace('_', " ").bold(), escape_lines(&check.detail)));
    if let Some(error) = &check.error {
        text.push_str(&indented(&diagnostic::render(error, sources, redact::text, true)));
    }
    if !check.diff.is_empty() {
        text.push_str(&indented(&format!(
            "{} expected, {} found:\n{}",
            "-".red(),
            "+".green(),
            table::patch(cut(&check.diff).as_bytes())
        )));
    }
    text
}

fn cut(text: &str) -> String {
    let n = text.lines().count();
    if n <= SHOWN {
        return text.to_owned();
    }
    let first: Vec<&str> = text.lines().take(SHOWN).collect();
    format!("{}\n… {}; `--json` has all of them", first.join("\n"), counted(n - SHOWN, "more line"))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

/// The exit code of cases that do not hold.
fn code_of_failure() -> u8 {
    Code::VerificationFailed.exit_code()
}
