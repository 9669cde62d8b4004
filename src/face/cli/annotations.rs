//! Notes on lines in the formats of code hosts: GitHub's workflow commands, GitLab's code quality, SARIF.

use std::collections::BTreeSet;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::sarif::{self, Hit};
use crate::face::report::{Annotation, Level, Report, annotations};
use base::hash::Sha256;

/// The format of the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Workflow commands of GitHub Actions, one a line
    Github,
    /// A code quality report of GitLab, as JSON
    Gitlab,
    /// SARIF 2.1.0, as JSON
    Sarif,
}

/// The notes of a run.
pub(super) fn rendered(report: &Report, form: Form) -> String {
    let notes = annotations(report);
    let document = match form {
        Form::Github => return notes.iter().map(github).collect(),
        Form::Gitlab => gitlab(&notes),
        Form::Sarif => sarif_log(&notes),
    };
    format!("{document:#}\n")
}

/// `::notice file=a,line=1,endLine=2,title=nrv::message`
fn github(note: &Annotation) -> String {
    let command = match note.level {
        Level::Notice => "notice",
        Level::Error => "error",
    };
    let place = note
        .path
        .as_ref()
        .map(|path| format!("file={},line={},endLine={},", escaped(path, true), note.line, note.end_line));
    let title = escaped(&format!("nrv {}", note.rule), true);
    format!("::{command} {}title={title}::{}\n", place.unwrap_or_default(), escaped(&note.message, false))
}

/// Escapes the characters that a workflow command may not contain.
fn escaped(text: &str, property: bool) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if property { text.replace(':', "%3A").replace(',', "%2C") } else { text }
}

/// Leaves out notes without a file, which the format can't hold. Equal notes of two runs have the same fingerprint.
fn gitlab(notes: &[Annotation]) -> Value {
    let mut seen = BTreeSet::new();
    let entry = |note: &Annotation| {
        let path = note.path.as_ref()?;
        let print =
            Sha256::of(format!("{}\n{path}\n{}\n{}", note.rule, note.line, note.end_line).as_bytes()).to_string();
        let severity = match note.level {
            Level::Notice => "info",
            Level::Error => "major",
        };
        seen.insert(print.clone()).then(|| {
            json!({
                "description": note.message,
                "check_name": format!("nrv/{}", note.rule),
                "fingerprint": print,
                "severity": severity,
                "location": {"path": path, "lines": {"begin": note.line, "end": note.end_line}},
            })
        })
    };
    notes.iter().filter_map(entry).collect()
}

fn sarif_log(notes: &[Annotation]) -> Value {
    sarif::document(notes.iter().map(|note| Hit {
        path: note.path.as_deref(),
        rule: format!("run/{}", note.rule),
        doc: "The changes, proposed changes and failures of a run.".to_owned(),
        help: "`nrv runs report` tells all of the run.".to_owned(),
        message: &note.message,
        level: match note.level {
            Level::Notice => "note",
            Level::Error => "error",
        },
        place: note.path.is_some().then_some((note.line, 1)),
        end_line: Some(note.end_line),
        suppressed: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_command_can_not_be_ended_from_within() {
        let note = Annotation {
            path: Some("a,b:c%.txt".to_owned()),
            line: 2,
            end_line: 3,
            level: Level::Error,
            rule: "x".to_owned(),
            message: "one\n::warning::two".to_owned(),
        };
        let line = "::error file=a%2Cb%3Ac%25.txt,line=2,endLine=3,title=nrv x::one%0A::warning::two\n";
        assert_eq!(github(&note), line);
        let whole = Annotation { path: None, ..note };
        assert_eq!(github(&whole), "::error title=nrv x::one%0A::warning::two\n");
        assert_eq!(gitlab(&[whole]), json!([]));
    }
}
