//! One page over all tasks of a fleet: counts, groups of failures, and a row a task that leads to its report and its patch.

use maud::{DOCTYPE, Markup, html};

use super::{
    collect::{Collected, Row},
    outcome::Kind,
};
use crate::base::text::escape;

/// The page of a collected fleet. Links lead to the files beside it.
pub fn page(fleet: &str, collected: &Collected) -> String {
    let count = |kind: Kind| collected.rows.iter().filter(|row| row.outcome.kind == kind).count();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (format!("{} · nrv", escape(fleet))) }
            }
            body {
                h1 { (escape(fleet)) }
                p {
                    @for kind in [Kind::Changed, Kind::Nothing, Kind::Waits, Kind::Failed] {
                        (count(kind)) " " (kind.words()) ", "
                    }
                    (collected.missing.len()) " not done. Patches " code { (collected.patches) } "."
                }
                (groups(collected))
                h2 { "Tasks" }
                table {
                    thead { tr { th { "task" } th { "outcome" } th { "files" } th { "lines" } th { "patch" } th { "commit" } th { "repository" } } }
                    tbody {
                        @for one in &collected.rows { (row(one)) }
                        @for name in &collected.missing {
                            tr { td { (escape(name)) } td { "not done" } td {} td {} td {} td {} td {} }
                        }
                    }
                }
            }
        }
    };
    markup.into_string()
}

fn groups(collected: &Collected) -> Markup {
    html! {
        @if !collected.groups.is_empty() {
            h2 { "Failures" }
            ul {
                @for group in &collected.groups {
                    li {
                        (group.tasks.len()) " × " code { (escape(&group.code)) }
                        @if let Some(at) = &group.at { " at " code { (escape(at)) } }
                        ": " (escape(&group.message))
                        details {
                            summary { "tasks" }
                            @for name in &group.tasks { a href={ "#" (name) } { (escape(name)) } " " }
                        }
                    }
                }
            }
        }
    }
}

fn row(row: &Row) -> Markup {
    let outcome = &row.outcome;
    let name = escape(&row.name);
    html! {
        tr id=(row.name) {
            td {
                @if outcome.volatile.report.is_some() { a href={ "reports/" (row.name) ".html" } { (name) } } @else { (name) }
            }
            td {
                (outcome.kind.words())
                @if let Some(error) = &outcome.error { ": " code { (escape(&error.code)) } " " (escape(&error.message)) }
            }
            td { (outcome.files_changed) }
            td { (outcome.diff_lines) }
            td { @if outcome.patch.is_some() { a href={ "patches/" (row.name) ".patch" } { "patch" } } }
            td { code { (row.commit.get(..12).unwrap_or_default()) } }
            td { (escape(&row.url)) }
        }
    }
}
