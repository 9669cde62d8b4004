//! How a run ended, and what can be done now.

use serde_json::Value;

use super::{
    Report,
    format::some_text,
    material::Material,
    model::{Command, Trouble, Waiting},
};
use base::error::Error;
use host::{Finished, Overview, State, outcome_of, verified_by};
use record::event::{Asked, RunEnd};

/// How a run ended.
pub(super) struct End {
    pub(super) sentence: String,
    pub(super) exit_code: Option<u64>,
    pub(super) error: Option<Trouble>,
    pub(super) waits_for: Option<Waiting>,
    pub(super) duration_ms: Option<u64>,
}

/// How the run ended.
pub(super) fn of(material: &Material<'_>, overview: &Overview) -> End {
    let has_stopped = !matches!(overview.state.as_str(), "running" | "interrupted");
    let end = material.ended().filter(|_| has_stopped);
    End {
        sentence: sentence(material, overview),
        exit_code: end.and_then(|end| end.exit_code),
        error: end.and_then(|end| end.error.as_ref()).map(trouble),
        waits_for: material.waiting(),
        duration_ms: material.duration_ms(),
    }
}

fn trouble(error: &Error) -> Trouble {
    let place = error.location().filter(|place| !place.path.is_empty());
    Trouble {
        code: error.code().as_str().to_owned(),
        message: error.message().to_owned(),
        hint: error.hint_text().filter(|hint| !hint.is_empty()).map(str::to_owned),
        place: place.map(|place| format!("{}:{}:{}", place.path, place.line, place.column)),
        output: error.details().get("output").and_then(some_text),
    }
}

/// The sentence about the end of the run, made from the record.
fn sentence(material: &Material<'_>, overview: &Overview) -> String {
    const STATES: [State; 6] =
        [State::Done, State::Failed, State::Cancelled, State::Suspended, State::UndoRefused, State::Interrupted];
    let end = material.ended();
    let number = |count: fn(&RunEnd) -> u64| end.map(count).unwrap_or_default();
    let known = STATES.into_iter().find(|state| state.as_str() == overview.state);
    let Some(state) = known else { return "The run is going on.".to_owned() };
    if state == State::Interrupted {
        return "The run's process died before the run came to its end.".to_owned();
    }
    let error = end.and_then(|end| end.error.clone());
    let files_changed = usize::try_from(overview.files_changed).unwrap_or(usize::MAX);
    let finished = Finished {
        run: overview.run.clone(),
        state,
        result: Value::Null,
        error,
        mode: overview.mode.clone(),
        files_changed,
        diff_lines: number(|end| end.diff_lines),
        verified_by: verified_by(&material.records),
        outcome: outcome_of(state, files_changed, &material.records),
        left: material.left(),
        undone: usize::try_from(number(|end| end.undone)).unwrap_or(usize::MAX),
        set_aside: usize::try_from(number(|end| end.set_aside)).unwrap_or(usize::MAX),
        patch: None,
        patch_redacted: false,
        withheld: Vec::new(),
        would_ask: Vec::new(),
        commitments: Vec::new(),
        evaluations: Vec::new(),
        duration_ms: 0,
        cassettes: None,
        preview: None,
    };
    if overview.is_rollback && state == State::Done {
        let n = finished.undone.max(finished.files_changed) as u64;
        return format!("{} brought back.", super::format::count(n, "file"));
    }
    finished.sentence()
}

/// The commands for the next step, by the state of the run.
pub(super) fn next(report: &Report, material: &Material<'_>) -> Vec<Command> {
    let run = &report.run;
    let mut next = Vec::new();
    let mut add = |what: &str, command: String| next.push(Command { what: what.to_owned(), command });
    let is_script = material.started().is_some_and(|started| matches!(started.asked, Asked::Script { .. }));
    match (report.state.as_str(), &report.waits_for) {
        // An id is put into a command only if no shell reads more in it.
        ("suspended", Some(Waiting { id, .. })) if id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            add("Approve and go on", format!("nrv resume {run} --approve {id}"));
            add("Reject, which undoes the run", format!("nrv resume {run} --reject {id}"));
        }
        ("suspended", _) => add("Go on", format!("nrv resume {run}")),
        ("interrupted", _) => {
            add("Finish or undo what the crash left", "nrv recover".to_owned());
            if is_script {
                add("Go on where it died", format!("nrv resume {run}"));
            }
        }
        ("undo_refused", _) => {
            add("Bring back what nobody changed since", format!("nrv rollback {run} --keep-later"));
        }
        _ => {}
    }
    let stands =
        report.changes.files.iter().any(|change| change.transaction.is_some() && change.fate == super::Fate::Changed);
    let has_stopped = matches!(report.state.as_str(), "done" | "failed" | "cancelled");
    if stands && has_stopped && !material.lacks_contents {
        add("Roll it back", format!("nrv rollback {run}"));
    }
    if report.state == "running" {
        return next;
    }
    if is_script && report.state != "interrupted" {
        add("Run the script against the record", format!("nrv replay {run}"));
    }
    let is_verified = !report.commitments.is_empty() || report.verifications.iter().any(|one| one.tool != "apply");
    if stands && is_verified {
        add("Look again whether all holds", format!("nrv verify {run}"));
    }
    add("Check the record", format!("nrv runs verify {run}"));
    add("See every event", format!("nrv runs show {run}"));
    next
}
