//! Sections of the page: calls to the outside, models, the timeline, the record, and the next commands.

use maud::{Markup, html};

use super::{lines, output, word};
use crate::face::report::{
    Report,
    format::{count, duration, moment, time},
    model::{Command, Row, RowKind},
};
use base::text::{escape, shortened};

/// How much of a time and a position is shown where they may not be broken; both are short unless somebody made them up.
const PLACE: usize = 20;

pub(super) fn outside(report: &Report) -> Markup {
    html! {
        table.list {
            caption.hidden { "Calls to the outside" }
            thead { tr { th scope="col" { "Call" } th scope="col" { "With" } th scope="col" { "Outcome" } } }
            tbody {
                @for call in &report.outside {
                    tr {
                        th scope="row" { (escape(&call.call)) small.block { "call " (escape(&call.position)) } }
                        td { code { (escape(&call.args)) } }
                        td {
                            @match &call.error {
                                Some(code) => span.tag.bad { span aria-hidden="true" { "✕" } " " (word(code)) },
                                None => span.tag.good { span aria-hidden="true" { "✓" } " done" },
                            }
                            @if let Some(ms) = call.duration_ms { small.block { (duration(ms)) } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn models(report: &Report) -> Markup {
    html! {
        table.list {
            caption.hidden { "Language models that were asked" }
            thead { tr { th scope="col" { "Model" } th scope="col" { "Replied by" } th scope="col" { "Took" } } }
            tbody {
                @for one in &report.models {
                    tr {
                        th scope="row" { (escape(&one.model)) small.block { "of " (escape(&one.provider)) } }
                        td { (escape(&one.source())) small.block { (one.counted()) } }
                        td { (one.took()) }
                    }
                }
            }
        }
    }
}

pub(super) fn timeline(report: &Report) -> Markup {
    html! {
        @if report.timeline.is_empty() { p.quiet { "The record has no events." } }
        @else {
            table.timeline {
                caption.hidden { "Events in their order" }
                thead { tr { th scope="col" { "Time" } th scope="col" { "Call" } th scope="col" { "What" } th scope="col" { "Took" } } }
                tbody { @for row in &report.timeline { (self::row(row)) } }
            }
        }
    }
}

fn row(row: &Row) -> Markup {
    let class = match row.kind {
        RowKind::Session => Some("session"),
        RowKind::Event => Some("event"),
        RowKind::Calls | RowKind::More => Some("many"),
        RowKind::Call => None,
    };
    html! {
        tr class=[class] {
            td.time { (shortened(&escape(&time(&row.at)), PLACE)) }
            td.position { (shortened(&escape(&row.position), PLACE)) }
            td {
                @if row.failed { span.tag.bad { span aria-hidden="true" { "✕" } " failed" } " " }
                @if matches!(row.kind, RowKind::Session) { strong { (escape(&row.what)) } } @else { span.what { (escape(&row.what)) } }
                @if let Some(detail) = &row.detail { (gap(row.kind)) span.detail { (lines(detail)) } }
                (output(row.output.as_ref()))
                @if let Some(cost) = &row.cost { small.block { (escape(cost)) } }
            }
            td.took { @if let Some(ms) = row.duration_ms.filter(|ms| *ms > 0) { (duration(ms)) } }
        }
    }
}

/// The separator before the detail of a row: a space after the name of a call, a dot after a sentence.
fn gap(kind: RowKind) -> &'static str {
    if kind == RowKind::Call { " " } else { " · " }
}

pub(super) fn record(report: &Report) -> Markup {
    html! {
        @if report.state == "running" {
            p { "The run is going on, so that its record has no end yet." }
        } @else if report.sound {
            p {
                span.tag.good { span aria-hidden="true" { "✓" } " intact" }
                " The record is intact: " (count(report.records as u64, "event")) ", each holding the hash of the one before."
            }
        } @else {
            p {
                span.tag.bad { span aria-hidden="true" { "✕" } " not intact" }
                " The record is NOT intact, or its end is not known."
            }
            ul { @for finding in report.findings.iter().take(50) { li { (escape(finding)) } } }
        }
        @if report.sessions.len() > 1 {
            table.list {
                caption.hidden { "Sessions of the run" }
                thead { tr { th scope="col" { "Session" } th scope="col" { "From" } th scope="col" { "To" } } }
                tbody {
                    @for (at, session) in report.sessions.iter().enumerate() {
                        tr {
                            th scope="row" {
                                (at + 1)
                                @for remark in &session.remarks { small.block { (escape(remark)) } }
                            }
                            td { (moment(&escape(&session.from))) }
                            td {
                                @match &session.to { Some(to) => (moment(&escape(to))), None => "no end is recorded" }
                                @if let Some(state) = &session.state { small.block { (escape(&state.replace('_', " "))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn next(report: &Report) -> Markup {
    html! { @for command in &report.next { (self::command(command)) } }
}

/// A command to be copied. It may be broken between its words, not behind their hyphens.
pub(super) fn command(command: &Command) -> Markup {
    let words = command.command.split(' ').enumerate();
    html! {
        div.command {
            p { (escape(&command.what)) }
            pre { code { @for (at, word) in words { @if at > 0 { " " } span { (escape(word)) } } } }
        }
    }
}
