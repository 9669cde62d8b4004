//! The files that changed: an index, and for each a diff that opens on demand.

use maud::{Markup, html};

use super::line_counts;
use crate::face::report::{
    Report,
    format::{count, number},
    model::{Change, Fate, Hunk, Kind, Line},
};
use base::text::escape;

/// So few lines are shown at once; of more, each file opens on demand.
const OPEN: usize = 250;

/// More files than this get an index above their diffs, ...
const INDEX: usize = 25;

/// ... fewer if the diffs are open. Closed ones are an index themselves.
const INDEX_OF_OPEN: usize = 3;

pub(super) fn changes(report: &Report) -> Markup {
    let files = &report.changes.files;
    let lines = files.iter().flat_map(|change| &change.hunks).map(|hunk| hunk.lines.len()).sum::<usize>();
    html! {
        @if files.is_empty() { p.quiet { "No file was changed, and none was to be." } }
        @else {
            p {
                (count(files.len() as u64, "file")) ", "
                @if let Some(lines) = line_counts(report.changes.added, report.changes.removed) { (lines) " lines, " }
                (fates(files))
            }
            @if files.len() > (if lines <= OPEN { INDEX_OF_OPEN } else { INDEX }) { (index(files)) }
            div.diffs {
                @for (at, change) in files.iter().enumerate() { (file(at + 1, change, lines <= OPEN)) }
            }
        }
    }
}

/// The outcomes of the files in words, with counts if they differ.
fn fates(files: &[Change]) -> String {
    let all = [Fate::Changed, Fate::WouldChange, Fate::Proposed, Fate::SetAside, Fate::Undone, Fate::BroughtBack];
    let n = |fate: Fate| files.iter().filter(|change| change.fate == fate).count();
    let told: Vec<String> = all
        .into_iter()
        .filter(|fate| n(*fate) > 0)
        .map(
            |fate| {
                if n(fate) == files.len() { fate.words().to_owned() } else { format!("{} {}", n(fate), fate.words()) }
            },
        )
        .collect();
    told.join(", ")
}

fn index(files: &[Change]) -> Markup {
    html! {
        div.index role="region" aria-label="Index of files" tabindex="0" {
            table {
                thead { tr { th scope="col" { "File" } th scope="col" { "Added" } th scope="col" { "Removed" } } }
                tbody {
                    @for (at, change) in files.iter().enumerate() {
                        tr {
                            th scope="row" { a href={ "#f" (at + 1) } { (path(&change.path)) } }
                            td.plus { "+" (number(change.added)) }
                            td.minus { "−" (number(change.removed)) }
                        }
                    }
                }
            }
        }
    }
}

/// A path that may be broken behind its folders.
fn path(path: &str) -> Markup {
    html! {
        @for part in path.split_inclusive('/') { (escape(part)) wbr; }
    }
}

fn file(number: usize, change: &Change, open: bool) -> Markup {
    let tone = match change.fate {
        Fate::Changed | Fate::WouldChange | Fate::BroughtBack => "",
        Fate::Proposed | Fate::SetAside => "waiting",
        Fate::Undone => "bad",
    };
    html! {
        details.file open[open] {
            summary {
                span.path { (path(&change.path)) }
                span.about {
                    @if !matches!(change.fate, Fate::Changed | Fate::WouldChange) { span class={ "tag " (tone) } { (change.fate.words()) } " " }
                    @if let Some(remark) = &change.remark { span.tag { (escape(remark)) } " " }
                    @if let Some(lines) = line_counts(change.added, change.removed) { (lines) }
                }
            }
            div.body id={ "f" (number) } {
                @if let Some(note) = &change.note { p.quiet { (escape(note)) } }
                @if !change.hunks.is_empty() { (diff(change)) }
                @else if change.note.is_none() { p.quiet { "No line differs." } }
                @if change.left_out > 0 {
                    p.quiet { (count(change.left_out, "more line")) " of this diff are not shown here" (whole(change)) }
                }
            }
        }
    }
}

/// Where all of a diff is.
fn whole(change: &Change) -> String {
    match &change.transaction {
        Some(transaction) => format!("; `packs/{}/patch` in the run's folder has all of it.", escape(transaction)),
        None => "; the patch in the run's folder has all of it.".to_owned(),
    }
}

fn diff(change: &Change) -> Markup {
    html! {
        table.diff {
            caption.hidden { "Diff of " (escape(&change.path)) }
            thead.hidden { tr { th scope="col" { "Old line" } th scope="col" { "New line" } th scope="col" { "Change" } th scope="col" { "Text" } } }
            @for hunk in &change.hunks { (self::hunk(hunk)) }
        }
    }
}

fn hunk(hunk: &Hunk) -> Markup {
    html! {
        tbody {
            tr.h { th colspan="4" scope="rowgroup" { (escape(&hunk.header)) } }
            @for line in &hunk.lines { (self::line(line)) }
        }
    }
}

fn line(line: &Line) -> Markup {
    let (class, sign) = match line.kind {
        Kind::Same => (None, ""),
        Kind::Added => (Some("a"), "+"),
        Kind::Removed => (Some("d"), "−"),
        Kind::Remark => (Some("r"), ""),
    };
    html! {
        tr class=[class] {
            td { @if let Some(number) = line.old { (number) } }
            td { @if let Some(number) = line.new { (number) } }
            td { (sign) }
            td {
                (text(line))
                @if line.cut > 0 { i { " … " (count(line.cut as u64, "more character")) } }
            }
        }
    }
}

/// The text with what differs marked, and the end of a DOS line as a sign.
fn text(line: &Line) -> Markup {
    let mut at = 0;
    let visible = |text: &str| match text.strip_suffix('\r') {
        Some(rest) => escape(rest) + "␍",
        None => escape(text),
    };
    html! {
        @for mark in &line.marks {
            (visible(&line.text[at..mark.start]))
            mark { (visible(&line.text[mark.clone()])) }
            ({ at = mark.end; "" })
        }
        (visible(&line.text[at..]))
    }
}
