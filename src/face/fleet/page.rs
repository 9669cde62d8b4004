//! One page over all tasks of a fleet: counts, groups of failures, and a row a task that leads to its report and its patch.

use maud::{Markup, html};

use super::{
    collect::{Collected, Row},
    outcome::Kind,
};
use crate::face::report;
use base::text::escape;

/// The page of a collected fleet. Links lead to the files beside it.
pub fn page(fleet: &str, collected: &Collected) -> String {
    let body = html! {
        (header(fleet, collected))
        div.inner {
            (groups(collected))
            section aria-labelledby="tasks" {
                h2 #tasks { "Tasks" }
                table.list {
                    thead {
                        tr {
                            @for name in ["task", "outcome", "files", "lines", "patch", "commit", "repository"] {
                                th scope="col" { (name) }
                            }
                        }
                    }
                    tbody {
                        @for one in &collected.rows { (row(one)) }
                        @for name in &collected.missing {
                            tr { th { (escape(name)) } td { span.tag.waiting { "not done" } } td {} td {} td {} td {} td {} }
                        }
                    }
                }
            }
        }
        footer { p { "Made by nrv from verified records. It holds no script and fetches nothing." } }
    };
    report::framed(&format!("{} · fleet · nrv", escape(fleet)), &body)
}

fn header(fleet: &str, collected: &Collected) -> Markup {
    let count = |kind: Kind| collected.rows.iter().filter(|row| row.outcome.kind == kind).count();
    let kinds = [Kind::Changed, Kind::Nothing, Kind::Waits, Kind::Failed];
    html! {
        header {
            div.inner {
                p.brand { b { "nrv" } " fleet" }
                h1 { (escape(fleet)) }
                dl.figures {
                    @for kind in kinds { div { dt { (kind.words()) } dd { (count(kind)) } } }
                    div { dt { "not done" } dd { (collected.missing.len()) } }
                }
                p.when { "Patches " code { (collected.patches) } }
            }
        }
    }
}

fn groups(collected: &Collected) -> Markup {
    html! {
        @if !collected.groups.is_empty() {
            section aria-labelledby="failures" {
                h2 #failures { "Failures" }
                @for group in &collected.groups {
                    div.card {
                        p.error {
                            (group.tasks.len()) " × " code { (escape(&group.code)) }
                            @if let Some(at) = &group.at { " at " code { (escape(at)) } }
                            ": " (escape(&group.message))
                        }
                        p.bound { @for name in &group.tasks { a href={ "#task-" (name) } { (escape(name)) } " " } }
                    }
                }
            }
        }
    }
}

fn row(row: &Row) -> Markup {
    let outcome = &row.outcome;
    let name = escape(&row.name);
    let tone = match outcome.kind {
        Kind::Changed => "tag good",
        Kind::Nothing => "tag",
        Kind::Waits => "tag waiting",
        Kind::Failed => "tag bad",
    };
    html! {
        tr id={ "task-" (row.name) } {
            th {
                @if outcome.volatile.report.is_some() { a href={ "reports/" (row.name) ".html" } { (name) } } @else { (name) }
            }
            td {
                span class=(tone) { (outcome.kind.words()) }
                @if let Some(error) = &outcome.error { " " code { (escape(&error.code)) } " " (escape(&error.message)) }
            }
            td { (outcome.files_changed) }
            td { (outcome.diff_lines) }
            td { @if outcome.patch.is_some() { a.tag href={ "patches/" (row.name) ".patch" } { "patch" } } }
            td { code { (row.commit.get(..12).unwrap_or_default()) } }
            td { (escape(&row.url)) }
        }
    }
}
