//! A report as one HTML file without a script: opens from disk, fetches nothing, readable on a phone, in the dark and on paper.
//!
//! Every text of the record is escaped twice over: controls and bidirectional characters become visible, and no markup survives.
//! Anchors are numbers, never names of the record.

mod changes;
mod story;
mod summary;

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    format::{count, duration, moment, number},
    model::Report,
};
use base::{
    hash::Sha256,
    text::{escape, shortened},
};

/// How the page looks. The only style that its content policy lets in, by its hash.
const STYLE: &str = include_str!("style.css");

/// A part of the page: its anchor, its heading, and what is in it.
struct Section {
    id: &'static str,
    heading: &'static str,
    body: Markup,
}

/// A report as an HTML page.
pub fn page(report: &Report) -> String {
    let sections = sections(report);
    let title = format!("{} · {} · nrv", escape(&report.subject), words(report));
    let body = html! {
        a.skip href="#main" { "Skip to the report" }
        (header(report))
        div.columns {
            nav aria-label="Sections" {
                ul {
                    @for section in &sections {
                        li { a href={ "#" (section.id) } { (section.heading) } }
                    }
                }
            }
            main #main tabindex="-1" {
                @for section in &sections {
                    section aria-labelledby=(section.id) {
                        h2 id=(section.id) { (section.heading) }
                        (section.body)
                    }
                }
            }
        }
        footer {
            p { "Made by nrv from the record of run " code { (escape(&report.run)) } ". It holds no script and fetches nothing." }
        }
    };
    framed(&title, &body)
}

/// A page of this title in the style of reports, which holds no script and fetches nothing.
pub fn framed(title: &str, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(content_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    markup.into_string()
}

/// Forbids scripts, connections and every style but the page's own.
fn content_policy() -> String {
    let hash = STANDARD.encode(Sha256::of(STYLE.as_bytes()).as_bytes());
    format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'")
}

/// The sections that have something to say.
fn sections(report: &Report) -> Vec<Section> {
    let section = |id, heading, body| Section { id, heading, body };
    let mut sections = vec![
        section("asked", "Request", summary::asked(report)),
        section("decisions", "Decisions", summary::decisions(report)),
    ];
    if !report.verifications.is_empty() {
        sections.push(section("counts", "Counts and checks", summary::verifications(report)));
    }
    if !report.unread.is_empty() {
        sections.push(section("unread", "Unread files", summary::unread(report)));
    }
    if !report.commitments.is_empty() {
        sections.push(section("commitments", "Commitments", summary::commitments(report)));
    }
    if !report.agents.is_empty() {
        sections.push(section("agents", "Agents", summary::agents(report)));
    }
    if !report.evaluations.is_empty() || !report.metrics.is_empty() {
        sections.push(section("evaluations", "Evaluations", summary::evaluations(report)));
    }
    sections.push(section("changes", "Changes", changes::changes(report)));
    if !report.outside.is_empty() {
        sections.push(section("outside", "Calls to the outside", story::outside(report)));
    }
    if !report.models.is_empty() {
        sections.push(section("models", "Models", story::models(report)));
    }
    if !report.budget.is_empty() {
        sections.push(section("budget", "Budget", summary::budget(report)));
    }
    sections.push(section("timeline", "Timeline", story::timeline(report)));
    sections.push(section("record", "Record", story::record(report)));
    if !report.next.is_empty() {
        sections.push(section("next", "Next steps", story::next(report)));
    }
    sections
}

fn header(report: &Report) -> Markup {
    html! {
        header {
            div.inner {
                p.brand { b { "nrv" } " run report" }
                h1 { (escape(&report.subject)) }
                p.when {
                    (moment(&escape(&report.started))) " · " (escape(&report.mode)) " · run "
                    code { (escape(&report.run)) }
                }
                (verdict(report))
                (figures(report))
            }
        }
    }
}

/// How it ended, in words and a sign: colour says it only once more.
fn verdict(report: &Report) -> Markup {
    let (tone, sign) = tone(report);
    html! {
        div class={ "verdict " (tone) } {
            p.sentence {
                span.badge { span aria-hidden="true" { (sign) } " " (words(report)) }
                " " (escape(&report.sentence))
            }
            @if let Some(waiting) = &report.waits_for {
                p {
                    "It waits for the confirmation " code { (escape(&waiting.id)) } ": " (escape(&waiting.label))
                    @if let Some(at) = &waiting.expires_at { " (until " (moment(&escape(at))) ")" }
                }
                @for command in report.ways_on() { (story::command(command)) }
            }
            @if let Some(error) = &report.error {
                @if report.waits_for.is_none() {
                    p.error { code { (escape(&error.code)) } " " (lines(&error.message)) }
                    @if let Some(place) = &error.place { p.place { "at " code { (escape(place)) } } }
                    @if let Some(hint) = &error.hint { p.hint { (lines(hint)) } }
                    (output(error.output.as_ref()))
                }
            }
            @if !report.sound && report.state != "running" {
                p.error { "The record is NOT intact, or its end is not known. See " a href="#record" { "Record" } "." }
            }
            @for missing in &report.missing { p.hint { (escape(missing)) } }
        }
    }
}

/// The numbers that one looks for first.
fn figures(report: &Report) -> Markup {
    let files: std::collections::BTreeSet<&str> =
        report.changes.files.iter().map(|change| change.path.as_str()).collect();
    let calls = report.budget.iter().find(|spent| spent.name == "calls").map(|spent| spent.used as u64);
    let checks: usize = report.verifications.iter().map(|one| one.checks.len()).sum();
    let failures: usize = report.verifications.iter().map(|one| one.failures.len()).sum();
    html! {
        dl.figures {
            div { dt { "Files" } dd { (number(files.len() as u64)) } }
            @if let Some(lines) = line_counts(report.changes.added, report.changes.removed) { div { dt { "Lines" } dd { (lines) } } }
            @if checks > 0 {
                div { dt { "Checks" } dd { (number(checks as u64)) @if failures > 0 { " " small { (count(failures as u64, "failure")) } } } }
            }
            @if let Some(calls) = calls { div { dt { "Calls" } dd { (number(calls)) } } }
            @if let Some(ms) = report.duration_ms { div { dt { "Time" } dd { (duration(ms)) } } }
            @if let Some(code) = report.exit_code { div { dt { "Exit code" } dd { (code) } } }
        }
    }
}

/// Lines added and removed; none if there are neither.
fn line_counts(added: u64, removed: u64) -> Option<Markup> {
    (added + removed > 0).then(|| html! { span.plus { "+" (number(added)) } " " span.minus { "−" (number(removed)) } })
}

fn tone(report: &Report) -> (&'static str, &'static str) {
    match report.state.as_str() {
        "done" => ("good", "✓"),
        "suspended" | "running" => ("waiting", "…"),
        _ => ("bad", "✕"),
    }
}

fn words(report: &Report) -> String {
    let state = match (report.state.as_str(), report.mode.as_str()) {
        ("done", "dry-run") => "dry run done".to_owned(),
        (state, _) => state.replace('_', " "),
    };
    escape(&state)
}

/// A word of a closed list, which may not be broken; a record that somebody made up could have anything there.
fn word(text: &str) -> String {
    shortened(&escape(&text.replace(['-', '_'], " ")), 24)
}

/// The end of what a command said.
fn output(said: Option<&String>) -> Markup {
    html! {
        @if let Some(said) = said {
            pre.output { (said.lines().map(escape).collect::<Vec<_>>().join("\n")) }
        }
    }
}

/// A text of several lines.
fn lines(text: &str) -> Markup {
    html! {
        @for (at, line) in text.lines().enumerate() {
            @if at > 0 { br; }
            (escape(line))
        }
    }
}
