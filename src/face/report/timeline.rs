//! The timeline of a run: sessions, calls, and actions of the host. Several dull calls in a row are counted, not listed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    format::{self, count, short, text},
    material::Material,
    model::{Outside, Row, RowKind, Session},
    model_usage,
};
use base::text::shortened;
use gate::Decision;
use record::{
    Record,
    event::{Call, Confinement, Event, ExecEnded, Ruling, RunEnd, RunResumed, Status, Transaction},
};

/// So many dull calls in a row are one row.
const DULL: usize = 4;

/// How many rows there are at most.
const MOST_ROWS: usize = 300;

/// How many of them are the last ones, if there are more.
const LAST_ROWS: usize = 60;

/// How many calls to the outside are listed.
const MOST_OUTSIDE: usize = 200;

/// The processes that the run had.
pub(super) fn sessions(material: &Material<'_>) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    for record in &material.records {
        let (state, remarks) = match &record.event {
            Event::RunStarted(_) => (None, Vec::new()),
            Event::RunResumed(data) => (None, resumed(data)),
            Event::RunFinished(end) | Event::RunSuspended(end) => (Some(end.state), Vec::new()),
            Event::RunInterrupted(died) => (Some(died.state), Vec::new()),
            _ => continue,
        };
        match (state, sessions.last_mut()) {
            (None, _) => sessions.push(Session { from: record.at.clone(), to: None, state: None, remarks }),
            (Some(state), Some(session)) => {
                session.to = Some(record.at.clone());
                session.state = Some(state.as_str().to_owned());
            }
            (Some(_), None) => {}
        }
    }
    sessions
}

/// Remarks on the start of a session that resumes a run: answers, a changed policy, accepted files.
fn resumed(data: &RunResumed) -> Vec<String> {
    let mut remarks = Vec::new();
    for (answer, words) in [(&data.approved, "approved"), (&data.rejected, "rejected")] {
        if let Some(Ruling { id, by, reason }) = answer {
            let by = by.iter().filter(|by| !by.is_empty()).map(|by| format!(" by {by}")).collect::<String>();
            let reason = reason.iter().filter(|reason| !reason.is_empty()).map(|reason| format!(": {reason}"));
            remarks.push(format!("{id} {words}{by}{}", reason.collect::<String>()));
        }
    }
    if data.policy_changed {
        remarks.push("the policy had changed; the stricter of both was in force".to_owned());
    }
    let n = data.accepted_stale_reads.count();
    if n > 0 {
        remarks.push(format!("{} that had changed were accepted", count(n, "file")));
    }
    remarks
}

/// Calls whose effects lie outside of the workspace.
pub(super) fn outside(material: &Material<'_>) -> Vec<Outside> {
    let calls = material.of(Event::call).filter(|(_, call)| is_outside(call));
    let outside = |(record, call): (&Record, &Call)| {
        let args = call.args.form();
        let (name, args) = match args["name"].as_str() {
            Some(name) if call.call == "custom" => (name.to_owned(), &args["params"]),
            _ => (call.call.clone(), args),
        };
        Outside {
            position: record.position.clone(),
            call: name,
            args: format::value(args),
            error: call.error.as_ref().map(|error| error.code().as_str().to_owned()),
            duration_ms: call.volatile.duration_ms,
        }
    };
    calls.take(MOST_OUTSIDE).map(outside).collect()
}

fn is_outside(call: &Call) -> bool {
    call.call == "custom" || call.call.starts_with("exec.")
}

/// The rows of the timeline. If there are too many, the middle ones are left out.
pub(super) fn rows(material: &Material<'_>) -> Vec<Row> {
    let records: Vec<&Record> = material.records.iter().filter(|record| matters(record)).collect();
    let listed = fold(&records, is_dull);
    // Where even that is too much, all that went well is counted.
    let mut rows = if listed.len() > MOST_ROWS { fold(&records, went_well) } else { listed };
    if rows.len() > MOST_ROWS {
        let from = MOST_ROWS - LAST_ROWS;
        let to = rows.len() - LAST_ROWS;
        let left_out = to - from;
        let more = Row {
            kind: RowKind::More,
            at: rows[from].at.clone(),
            what: format!("{} left out", count(left_out as u64, "row")),
            ..event(&RowKind::More, None)
        };
        rows.splice(from..to, [more]);
    }
    rows
}

fn matters(record: &Record) -> bool {
    // That a confirmation is used stands among the decisions, and here the call that used it.
    !matches!(
        record.event,
        Event::WorkerStarted(_)
            | Event::Input(_)
            | Event::InputFailed(_)
            | Event::Intent(_)
            | Event::Prepared(_)
            | Event::Checked(_)
            | Event::ExecStarted(_)
            | Event::LlmTried(_)
            | Event::LlmSeen(_)
            | Event::Judged(_)
            | Event::DtaStarted(_)
            | Event::DtaProposed(_)
            | Event::DtaApplied(_)
            | Event::ConfirmationUsed(_)
            | Event::CommitmentMade(_)
            | Event::Undoing(_)
            | Event::Other(_)
    )
}

/// True for a call of which there is nothing to say but that it was made.
fn is_dull(record: &Record) -> bool {
    let Event::Call(call) = &record.event else { return false };
    let works = ["apply.", "attempt.", "dta."].iter().any(|name| call.call.starts_with(name));
    went_well(record) && !works && !is_outside(call) && call.cost.is_none()
}

/// True for a call or change that nothing was wrong with.
fn went_well(record: &Record) -> bool {
    match &record.event {
        Event::Call(call) => call.error.is_none() && call.decision == Decision::Allow,
        Event::Committed(_) => true,
        _ => false,
    }
}

/// One row for each record, but one for several in a row that may be folded.
fn fold(records: &[&Record], may: fn(&Record) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut rest = records;
    while let Some(first) = rest.first() {
        let n = rest.iter().take_while(|record| may(record)).count();
        if n >= DULL {
            rows.push(folded(&rest[..n]));
            rest = &rest[n..];
        } else {
            rows.push(row(first));
            rest = &rest[1..];
        }
    }
    rows
}

/// Several calls as one row.
fn folded(records: &[&Record]) -> Row {
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    let mut costs: BTreeMap<&str, u64> = BTreeMap::new();
    let mut positions = Vec::new();
    let mut n = 0;
    let mut duration_ms = 0;
    for (record, call) in records.iter().filter_map(|record| Some((record, record.event.call()?))) {
        n += 1;
        positions.push(record.position.as_str());
        duration_ms += call.volatile.duration_ms.unwrap_or_default();
        *names.entry(call.call.clone()).or_default() += 1;
        for (name, amount) in call.whole_cost().amounts() {
            *costs.entry(name).or_default() += amount;
        }
    }
    let position = match (positions.first(), positions.last()) {
        (Some(first), Some(last)) if first != last => format!("{first}–{last}"),
        (Some(only), _) => (*only).to_owned(),
        (None, _) => String::new(),
    };
    let names: Vec<String> = names.iter().map(|(name, n)| format!("{} {name}", format::number(*n))).collect();
    Row {
        kind: RowKind::Calls,
        at: records.first().map(|record| record.at.clone()).unwrap_or_default(),
        position,
        what: count(n, "call"),
        detail: Some(names.join(", ")),
        output: None,
        cost: cost(&costs),
        duration_ms: Some(duration_ms),
        failed: false,
    }
}

/// The cost of calls in words, such as `2 files, 30 diff lines`; none if they cost nothing.
fn cost(costs: &BTreeMap<&str, u64>) -> Option<String> {
    let rank =
        |name: &str| ["files", "diff_lines", "bytes"].iter().position(|known| *known == name).unwrap_or(usize::MAX);
    let mut costs: Vec<(&str, u64)> = costs.iter().map(|(name, cost)| (*name, *cost)).collect();
    costs.sort_by_key(|(name, _)| rank(name));
    let words = costs.iter().map(|(name, cost)| {
        if *name == "cost" {
            return format!("cost {}", format::millionths(*cost));
        }
        let noun = format::words(name);
        if *cost == 1 {
            format!("1 {}", noun.trim_end_matches('s'))
        } else {
            format!("{} {noun}", format::number(*cost))
        }
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

/// A row without anything particular.
fn event(kind: &RowKind, record: Option<&Record>) -> Row {
    Row {
        kind: *kind,
        at: record.map(|record| record.at.clone()).unwrap_or_default(),
        position: record.map(|record| record.position.clone()).unwrap_or_default(),
        what: String::new(),
        detail: None,
        output: None,
        cost: None,
        duration_ms: None,
        failed: false,
    }
}

/// One record as a row.
fn row(record: &Record) -> Row {
    let event = |what: String, detail: Option<String>, failed: bool| Row {
        what,
        detail: detail.filter(|text| !text.is_empty()),
        failed,
        ..event(&RowKind::Event, Some(record))
    };
    let files = |moved: &Transaction| count(moved.entries.len() as u64, "file");
    let begun_at = |attempt: &str| Some(format!("begun at {attempt}")).filter(|_| !attempt.is_empty());
    match &record.event {
        Event::Call(data) => call(record, data),
        Event::Committed(data) => event(format!("{} written", files(data)), Some(data.transaction.clone()), false),
        Event::Undone(data) => event(format!("{} brought back", files(data)), Some(data.transaction.clone()), false),
        Event::UndoneAfterCrash(data) => {
            event(format!("{} brought back after a crash", files(data)), Some(data.transaction.clone()), false)
        }
        Event::Revoked(data) => {
            let what = "a change was taken back: it could not be recorded";
            event(what.to_owned(), Some(data.transaction.clone()), true)
        }
        Event::AttemptSetAside(data) => {
            event("an attempt is set aside until the run goes on".to_owned(), begun_at(&data.attempt), false)
        }
        Event::AttemptPutBack(data) => event("an attempt is put back".to_owned(), begun_at(&data.attempt), false),
        Event::DtaVerified(data) => {
            let passed = data.output.verifier.passed;
            let what = if passed { "verifier passed" } else { "verifier failed" };
            event(what.to_owned(), Some(data.tool.clone()), !passed)
        }
        Event::DtaFailed(data) => event(format!("{} failed", data.tool), Some(data.reason.clone()), true),
        Event::ExecEnded(data) => {
            let (what, failed) = exec_ended(data);
            let told = [confinement(&data.volatile.confinement), set_id(data)];
            let detail = told.into_iter().flatten().collect::<Vec<_>>().join("; ");
            let output = data.volatile.output.clone().filter(|output| !output.is_empty());
            Row { output, ..event(what, Some(detail), failed) }
        }
        Event::LlmCassettes(used) => {
            event(format!("recorded replies of `{}`: {}", used.folder, used.mode), None, false)
        }
        Event::LlmSent(sent) => event(format!("asked `{}` of `{}`", sent.model, sent.provider), None, false),
        Event::CommitmentVerified(data) => {
            let seen = if data.ok { "holds" } else { "does not hold" };
            event(format!("commitment {} {seen}", data.id), Some(data.reason.clone()), !data.ok)
        }
        Event::Settled(data) => {
            event(format!("settled after a crash: {}", format::words(data.how.as_str())), None, false)
        }
        other => match other.confirmation() {
            Some((status, asked)) => {
                let by = asked.by.iter().filter(|by| !by.is_empty()).map(|by| format!(" by {by}")).collect::<String>();
                let label = if asked.label.is_empty() { short(&asked.subject) } else { asked.label.clone() };
                event(format!("confirmation {}{by}", status.as_str()), Some(label), status == Status::Refused)
            }
            None => session(record),
        },
    }
}

/// How a session began or ended, as a row.
fn session(record: &Record) -> Row {
    let row = |what: &str, detail: Option<String>| Row {
        what: what.to_owned(),
        detail: detail.filter(|text| !text.is_empty()),
        ..event(&RowKind::Session, Some(record))
    };
    let error = |end: &RunEnd| end.error.as_ref().map(|error| error.message().to_owned());
    match &record.event {
        Event::RunStarted(_) => row("run started", None),
        Event::RunResumed(data) => row("run resumed", Some(resumed(data).join("; "))),
        Event::RunSuspended(end) => row("run suspended", error(end)),
        Event::RunFinished(end) => row(&format!("run ended: {}", end.state.as_str()), error(end)),
        Event::RunInterrupted(died) => {
            let remark = died.without_lease.then(|| "its lease was gone: nothing but the record said so".to_owned());
            row("the process had died; what it left was recovered", remark)
        }
        other => row(&other.name().replace('_', " "), None),
    }
}

/// A call as a row.
fn call(record: &Record, data: &Call) -> Row {
    let code = data.error.as_ref().map(|error| error.code().as_str().to_owned());
    let decision = Some(data.decision).filter(|decision| *decision != Decision::Allow);
    let decision = decision.map(|decision| decision.as_str().to_owned());
    let costs = data.whole_cost().amounts().collect();
    let broken = data.ended.map(|code| code.as_str().to_owned());
    let said = [subject(data.args.form()), ended(data), replied(data), decision, code.clone(), broken];
    Row {
        what: data.call.clone(),
        detail: Some(said.into_iter().flatten().collect::<Vec<_>>().join(" · ")).filter(|text| !text.is_empty()),
        cost: cost(&costs),
        duration_ms: data.volatile.duration_ms,
        failed: code.is_some(),
        ..event(&RowKind::Call, Some(record))
    }
}

/// That a model's reply was recorded, and what it is marked as.
fn replied(data: &Call) -> Option<String> {
    let by = data.answered_by.as_ref().filter(|by| by.is_recorded())?;
    Some(model_usage::told(true, by.label.as_deref()))
}

/// How a command ended, and whether that is no good end.
fn exec_ended(data: &ExecEnded) -> (String, bool) {
    let changed = Some(data.changed).filter(|n| *n > 0).map(|n| format!(", {} changed", count(n, "file")));
    let is_good = data.status == Some(0) && data.exceeded.is_none();
    let exceeded = data.exceeded.map(|bound| text(&json!(bound)));
    let how = match (data.status, data.signal) {
        _ if exceeded.is_some() => {
            format!("the command took more than `exec.{}` and was ended", exceeded.unwrap_or_default())
        }
        _ if data.timed_out => "the command took too long and was ended".to_owned(),
        _ if data.cancelled => "the command was ended, since the run was cancelled".to_owned(),
        (Some(status), _) => format!("the command ended with status {status}"),
        (None, Some(signal)) => format!("the command was ended by signal {signal}"),
        (None, None) => "the command did not end".to_owned(),
    };
    (how + changed.as_deref().unwrap_or_default(), !is_good)
}

/// The state of the sandbox that confined a command, and its missing parts.
fn confinement(confinement: &Confinement) -> Option<String> {
    let state = text(&json!(confinement.state));
    let missing = confinement.missing.join("; ");
    Some(if missing.is_empty() { format!("sandbox {state}") } else { format!("sandbox {state}: {missing}") })
}

/// The set-id files that a command left in scratch.
fn set_id(data: &ExecEnded) -> Option<String> {
    let named = |paths: &[String], what: &str| {
        let quoted: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        (!quoted.is_empty()).then(|| format!("{what} of {}", shortened(&quoted.join(", "), 200)))
    };
    let cleared = named(&data.set_id_cleared, "set-id bits cleared");
    let left = named(&data.set_id_left, "set-id bits can't be cleared");
    Some([cleared, left].into_iter().flatten().collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

/// The outcome of an attempt, if the call ended one: kept or undone, and the number of files.
fn ended(data: &Call) -> Option<String> {
    let reply = data.reply.as_ref().filter(|_| data.call == "attempt.end")?.form();
    let how = if reply["kept"] == true { "kept" } else { "undone" };
    Some(format!("{how}, {}", count(reply["files"].as_u64().unwrap_or(0), "file")))
}

/// The argument or command line that tells a call from others of its name, shortened.
fn subject(args: &Value) -> Option<String> {
    if let Some(program) = args["program"].as_str() {
        let words = args["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let argv: Vec<&str> = std::iter::once(program).chain(words).collect();
        return Some(shortened(&argv.join(" "), 100));
    }
    let telling = ["description", "path", "from", "label", "tool", "name", "message", "patterns", "regex", "command"];
    let value = telling.iter().map(|key| &args[*key]).find(|value| value.is_string() || value.is_array())?;
    Some(shortened(&format::value(value), 100)).filter(|text| !text.is_empty())
}
