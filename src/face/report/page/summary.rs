//! Sections of the page: the request, decisions, verifications, commitments, agents, evaluations, and budgets.

use maud::{Markup, html};

use super::{lines, output, word};
use crate::face::report::{
    Report,
    format::{moment, number, short, words},
    model::{Confirmation, Decision, Fact, Spent, Verification},
};
use base::text::escape;

pub(super) fn asked(report: &Report) -> Markup {
    // What identifies the circumstances is looked up, not read.
    let fine = |fact: &&Fact| ["source", "seed", "started", "commit", "policy", "nrv"].contains(&fact.name.as_str());
    html! {
        dl.facts { @for fact in report.facts.iter().filter(|fact| !fine(fact)) { (self::fact(fact)) } }
        dl.facts.fine { @for fact in report.facts.iter().filter(fine) { (self::fact(fact)) } }
    }
}

fn fact(fact: &Fact) -> Markup {
    html! { div { dt { (escape(&fact.name)) } dd { (lines(&fact.value)) } } }
}

pub(super) fn decisions(report: &Report) -> Markup {
    let quiet = report.decisions.is_empty() && report.confirmations.is_empty() && report.would_ask.is_empty();
    html! {
        @if quiet { p.quiet { "Every gate allowed everything, and nothing had to be confirmed." } }
        @if !report.decisions.is_empty() { (gates(&report.decisions)) }
        @for confirmation in &report.confirmations { (self::confirmation(confirmation)) }
        @if !report.would_ask.is_empty() {
            p { "If it were not a dry run, it would ask:" }
            ul { @for label in &report.would_ask { li { (escape(label)) } } }
        }
    }
}

fn gates(decisions: &[Decision]) -> Markup {
    html! {
        table.list {
            caption.hidden { "Decisions of gates" }
            thead { tr { th scope="col" { "Gate" } th scope="col" { "Decision" } th scope="col" { "Why" } } }
            tbody {
                @for decision in decisions {
                    tr {
                        th scope="row" {
                            (escape(&decision.gate))
                            @if !decision.position.is_empty() { small.block { "call " (escape(&decision.position)) } }
                        }
                        td { span class={ "tag " (tone(&decision.decision)) } { (word(&decision.decision)) } }
                        td {
                            (lines(&decision.reason))
                            @if let Some(hint) = &decision.remediation { small.block { (lines(hint)) } }
                        }
                    }
                }
            }
        }
    }
}

fn tone(decision: &str) -> &'static str {
    match decision {
        "block" => "bad",
        "require-confirmation" | "warn" => "waiting",
        _ => "",
    }
}

fn confirmation(confirmation: &Confirmation) -> Markup {
    let (tone, status) = match confirmation.status.as_str() {
        "used" => ("good", "granted, used"),
        "granted" => ("good", "granted"),
        "refused" => ("bad", "refused"),
        status => ("waiting", status),
    };
    html! {
        article.card {
            h3 {
                @if confirmation.label.is_empty() { "confirmation" } @else { (escape(&confirmation.label)) }
                " " span class={ "tag " (tone) } { (word(status)) }
            }
            p {
                @if let Some(by) = &confirmation.by {
                    @if confirmation.status == "refused" { "Refused by " } @else { "Granted by " }
                    strong { (escape(by)) }
                    @if let Some(shown) = &confirmation.shown_by { " (" (escape(shown)) ")" }
                } @else { "Nobody has answered yet" }
                " · " (moment(&escape(&confirmation.at)))
                @if !confirmation.position.is_empty() { " · call " (escape(&confirmation.position)) }
            }
            @if let Some(reason) = &confirmation.reason { blockquote { (lines(reason)) } }
            p.bound {
                "Bound to change " code title=(escape(&confirmation.subject)) { (escape(&short(&confirmation.subject))) }
                @if confirmation.files > 0 { " of " (crate::face::report::format::count(confirmation.files as u64, "file")) }
                @if !confirmation.policy_sha256.is_empty() {
                    " under policy " code title=(escape(&confirmation.policy_sha256)) { (escape(&short(&confirmation.policy_sha256))) }
                }
                @if let Some(at) = &confirmation.expires_at { ", until " (moment(&escape(at))) }
            }
        }
    }
}

pub(super) fn verifications(report: &Report) -> Markup {
    html! { @for one in &report.verifications { (verification(one)) } }
}

fn verification(one: &Verification) -> Markup {
    let verdict = if one.passed { ("good", "✓", "passed") } else { ("bad", "✕", "failed") };
    let cell = |n: Option<u64>| n.map(number).unwrap_or_default();
    html! {
        article.card {
            h3 {
                (escape(&one.tool)) " "
                span class={ "tag " (verdict.0) } { span aria-hidden="true" { (verdict.1) } " " (verdict.2) }
            }
            table.counts {
                caption.hidden { "Counts of " (escape(&one.tool)) }
                thead {
                    tr {
                        th scope="col" { "Count" }
                        th scope="col" { "Before" }
                        th scope="col" { @if one.dry { "Would be" } @else { "After" } }
                    }
                }
                tbody {
                    @for row in &one.counts {
                        tr class=[(row.before != row.after).then_some("moved")] {
                            th scope="row" { (escape(&row.name)) }
                            td { (cell(row.before)) }
                            td { (cell(row.after)) }
                        }
                    }
                }
            }
            ul.checks {
                @for check in &one.checks {
                    li class=[(!check.passed).then_some("failed")] {
                        span aria-hidden="true" { @if check.passed { "✓" } @else { "✕" } }
                        " " (escape(&words(&check.name)))
                        @if !check.passed { span.hidden { " failed" } }
                    }
                }
            }
            @if !one.failures.is_empty() {
                ul.failures {
                    @for failure in one.failures.iter().take(100) {
                        li {
                            strong { (escape(&words(&failure.check))) } " "
                            @if let Some(path) = &failure.path { code { (escape(path)) } " " }
                            (lines(&failure.reason))
                        }
                    }
                    @if one.failures.len() > 100 { li { "and " (number(one.failures.len() as u64 - 100)) " more" } }
                }
            }
            @for remark in &one.remarks { p.hint { (lines(remark)) } }
        }
    }
}

pub(super) fn unread(report: &Report) -> Markup {
    html! {
        table.list {
            caption.hidden { "Files that no proposal read" }
            thead { tr { th scope="col" { "File" } th scope="col" { "Reason" } } }
            tbody {
                @for file in &report.unread {
                    tr { th scope="row" { (escape(&file.path)) } td { (lines(&file.reason)) } }
                }
            }
        }
    }
}

pub(super) fn commitments(report: &Report) -> Markup {
    html! {
        table.list {
            caption.hidden { "Commitments of the run" }
            thead { tr { th scope="col" { "Commitment" } th scope="col" { "Result" } th scope="col" { "Observation" } } }
            tbody {
                @for one in &report.commitments {
                    tr {
                        th scope="row" {
                            (lines(&one.description))
                            small.block { (escape(&one.id)) " of the " (word(&one.source)) }
                        }
                        td {
                            @match one.ok {
                                Some(true) => span.tag.good { span aria-hidden="true" { "✓" } " holds" },
                                Some(false) => span.tag.bad { span aria-hidden="true" { "✕" } " does not hold" },
                                None => span.tag { "not looked at" },
                            }
                        }
                        td { @if let Some(reason) = &one.reason { (lines(reason)) } (output(one.output.as_ref())) }
                    }
                }
            }
        }
    }
}

pub(super) fn agents(report: &Report) -> Markup {
    html! {
        table.list {
            caption.hidden { "Agents of the run" }
            thead {
                tr { th scope="col" { "Agent" } th scope="col" { "State" } th scope="col" { "Commitments" } th scope="col" { "Calls" } }
            }
            tbody {
                @for one in &report.agents {
                    tr {
                        th scope="row" {
                            (lines(&one.name))
                            @if let Some(parent) = &one.parent { small.block { "of " (escape(parent)) } }
                            @if let Some(work) = &one.assignment { small.block { (lines(work)) } }
                        }
                        td {
                            @match one.state.as_str() {
                                "done" => span.tag.good { span aria-hidden="true" { "✓" } " done" },
                                "failed" => span.tag.bad { span aria-hidden="true" { "✕" } " failed" },
                                state => span.tag { (word(state)) },
                            }
                        }
                        td { (number(one.commitments as u64)) }
                        td { (number(one.calls)) }
                    }
                }
            }
        }
    }
}

pub(super) fn evaluations(report: &Report) -> Markup {
    html! {
        @if !report.evaluations.is_empty() {
            table.list {
                caption.hidden { "Evaluations of the run" }
                thead {
                    tr { th scope="col" { "Evaluator" } th scope="col" { "Result" } th scope="col" { "Value" } th scope="col" { "Limit" } }
                }
                tbody {
                    @for one in &report.evaluations {
                        tr {
                            th scope="row" {
                                (escape(&one.evaluator))
                                @if !one.details.is_empty() { small.block { (escape(&one.details)) } }
                            }
                            td {
                                @match one.passed {
                                    Some(true) => span.tag.good { span aria-hidden="true" { "✓" } " passed" },
                                    Some(false) => span.tag.bad { span aria-hidden="true" { "✕" } " failed" },
                                    None => span.tag { "measured" },
                                }
                            }
                            td { (escape(&one.value)) }
                            td { (escape(&one.limit)) }
                        }
                    }
                }
            }
        }
        @if !report.metrics.is_empty() {
            dl.facts {
                @for (name, value) in &report.metrics {
                    div { dt { (escape(&words(name))) } dd { (escape(&crate::face::report::format::value(value))) } }
                }
            }
        }
    }
}

pub(super) fn budget(report: &Report) -> Markup {
    html! { ul.budget { @for spent in &report.budget { (bar(spent)) } } }
}

/// A budget as a bar; the words beside it say the same.
fn bar(spent: &Spent) -> Markup {
    // As an attribute of a drawing, since no style of an element is let in. What was used at all can be seen.
    let width = if spent.used > 0.0 { (spent.share() * 1000.0).round().max(6.0) } else { 0.0 };
    let full = spent.share() >= 1.0;
    html! {
        li class=[full.then_some("full")] {
            span.name { (escape(spent.label())) }
            svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
                rect.track width="1000" height="10" {}
                rect.used width=(width) height="10" {}
            }
            span.amount {
                strong { (spent.told(spent.used)) } " of " (spent.told(spent.limit))
                @if full { " · spent" }
            }
        }
    }
}
