//! The annotations of a report: sentences about lines of files, which code hosts and editors show beside these lines.
//!
//! No text of a file is part of them.

use serde::Serialize;

use super::model::{Change, Fate, Kind, Line, Report};

/// How much an annotation matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A line was changed, or would be; or a file was not read.
    Notice,
    /// The run, or what it did, failed.
    Error,
}

/// A sentence about lines of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// The file; none if it is about the run as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The first line, from 1.
    pub line: u64,
    /// The last line.
    pub end_line: u64,
    /// How much it matters.
    pub level: Level,
    /// The rule: `change`, `unread`, `verification`, or an error's code.
    pub rule: String,
    /// The sentence, without a final period.
    pub message: String,
}

/// Annotations of a run: why it failed first, the files that it did not read, then what it changed or would, in the order of the report.
///
/// Lines of a change that stands are those of the new file, all others those of the file as it was.
pub fn annotations(report: &Report) -> Vec<Annotation> {
    let mut all: Vec<Annotation> = report.error.as_ref().map(|_| error(report)).into_iter().collect();
    for failure in report.verifications.iter().flat_map(|one| &one.failures) {
        all.push(Annotation {
            path: failure.path.clone(),
            line: 1,
            end_line: 1,
            level: Level::Error,
            rule: "verification".to_owned(),
            message: format!("{}: {}", failure.check, failure.reason),
        });
    }
    for file in &report.unread {
        all.push(Annotation {
            path: Some(file.path.clone()),
            line: 1,
            end_line: 1,
            level: Level::Notice,
            rule: "unread".to_owned(),
            message: format!("not read: {}", file.reason),
        });
    }
    for change in report.changes.files.iter().filter(|change| counts(change.fate)) {
        all.extend(changed(report, change));
    }
    all
}

/// True if a change stands, or would.
fn counts(fate: Fate) -> bool {
    matches!(fate, Fate::Changed | Fate::WouldChange | Fate::Proposed | Fate::BroughtBack)
}

/// Why the run did not end well, where the script says so.
fn error(report: &Report) -> Annotation {
    let trouble = report.error.as_ref();
    let place = trouble.and_then(|trouble| trouble.place.as_deref()).and_then(|place| {
        let mut parts = place.rsplitn(3, ':').skip(1);
        let line = parts.next()?.parse().ok()?;
        // A module that is part of the program is no file of the workspace.
        parts.next().filter(|path| !path.starts_with("nrv:")).map(|path| (path.to_owned(), line))
    });
    let (path, line) = place.map_or((None, 1), |(path, line)| (Some(path), line));
    let message = trouble.map_or_else(String::new, |trouble| match &trouble.hint {
        Some(hint) => format!("{}; {hint}", trouble.message),
        None => trouble.message.clone(),
    });
    let rule = trouble.map_or_else(String::new, |trouble| trouble.code.clone());
    Annotation { path, line, end_line: line, level: Level::Error, rule, message }
}

/// One annotation for each piece of a file that changed; one for all of it where the diff is not at hand.
fn changed(report: &Report, change: &Change) -> Vec<Annotation> {
    let (stands, what) = match change.fate {
        Fate::Changed | Fate::Undone | Fate::SetAside => (true, "changed"),
        Fate::BroughtBack => (true, "brought back"),
        Fate::WouldChange => (false, "would be changed"),
        Fate::Proposed => (false, "proposed to be changed"),
    };
    let mut blocks = Vec::new();
    for hunk in &change.hunks {
        let mut last = 0;
        for piece in hunk.lines.chunk_by(|one, next| is_same(one) == is_same(next)) {
            let side = |line: &Line| if stands { line.new } else { line.old };
            if !is_same(&piece[0]) {
                let first = piece.iter().find_map(side).unwrap_or(last).max(1);
                let end = piece.iter().rev().find_map(side).unwrap_or(first).max(first);
                blocks.push((first, end, count(piece, Kind::Added), count(piece, Kind::Removed)));
            }
            last = piece.iter().rev().find_map(side).unwrap_or(last);
        }
    }
    if blocks.is_empty() || change.left_out > 0 {
        blocks = vec![(1, 1, change.added, change.removed)];
    }
    let note = |(line, end_line, added, removed)| Annotation {
        path: Some(change.path.clone()),
        line,
        end_line,
        level: Level::Notice,
        rule: "change".to_owned(),
        message: format!("{what} by {} in run {}: {added} added, {removed} removed", report.subject, report.run,),
    };
    blocks.into_iter().map(note).collect()
}

/// True if a line is on both sides. A remark belongs to the line before.
fn is_same(line: &Line) -> bool {
    line.kind == Kind::Same
}

fn count(piece: &[Line], kind: Kind) -> u64 {
    piece.iter().filter(|line| line.kind == kind).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::report::{model::Changes, patch};

    fn change(fate: Fate, part: &str) -> Change {
        let shown = patch::read(part, &mut 100);
        Change {
            path: "a.txt".to_owned(),
            position: "1".to_owned(),
            transaction: None,
            fate,
            remark: shown.remark,
            added: shown.added,
            removed: shown.removed,
            hunks: shown.hunks,
            left_out: shown.left_out,
            note: None,
        }
    }

    fn report(changes: Vec<Change>) -> Report {
        let changes = Changes { files: changes, ..Changes::default() };
        Report { run: "r1".to_owned(), subject: "s.rhai".to_owned(), changes, ..Report::default() }
    }

    #[track_caller]
    fn lines(fate: Fate, part: &str, expected: &[(u64, u64)]) {
        let found: Vec<_> =
            annotations(&report(vec![change(fate, part)])).iter().map(|one| (one.line, one.end_line)).collect();
        assert_eq!(found, expected, "{part}");
    }

    const TWO: &str = "@@ -1,5 +1,6 @@\n-a\n+A\n+B\n c\n d\n-e\n f\n";

    #[test]
    fn lines_are_those_of_the_side_that_is_there() {
        lines(Fate::Changed, TWO, &[(1, 2), (4, 4)]);
        lines(Fate::WouldChange, TWO, &[(1, 1), (4, 4)]);
        lines(Fate::Changed, "@@ -1,2 +0,0 @@\n-a\n-b\n", &[(1, 1)]);
        lines(Fate::WouldChange, "@@ -0,0 +1,2 @@\n+a\n+b\n", &[(1, 1)]);
        lines(Fate::WouldChange, "@@ -3,2 +3,3 @@\n a\n+b\n c\n", &[(3, 3)]);
        lines(Fate::Undone, TWO, &[]);
        lines(Fate::Changed, "new file mode 100644\n", &[(1, 1)]);
    }

    #[test]
    fn a_sentence_says_who_changed_how_much() {
        let all = annotations(&report(vec![change(Fate::Changed, TWO)]));
        assert_eq!(all[0].message, "changed by s.rhai in run r1: 2 added, 1 removed");
    }
}
