//! What happened in its order: sessions, calls, and what the host did. Of many calls the dull ones are counted, not listed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    format::{self, count, short, some_text, text},
    material::{ENDS, Material},
    model::{Outside, Row, RowKind, Session},
    models,
};
use crate::{base::text::shortened, record::Record};

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
        let kind = record.kind.as_str();
        if matches!(kind, "run_started" | "run_resumed") {
            let remarks = if kind == "run_resumed" { resumed(&record.data) } else { Vec::new() };
            sessions.push(Session { from: record.at.clone(), to: None, state: None, remarks });
        } else if (ENDS.contains(&kind) || kind == "run_interrupted")
            && let Some(session) = sessions.last_mut()
        {
            session.to = Some(record.at.clone());
            session.state = some_text(&record.data["state"]);
        }
    }
    sessions
}

/// What a session began with that goes on with a run.
fn resumed(data: &Value) -> Vec<String> {
    let mut remarks = Vec::new();
    for (key, words) in [("approved", "approved"), ("rejected", "rejected")] {
        let answer = &data[key];
        if answer.is_object() {
            let by = some_text(&answer["by"]).map(|by| format!(" by {by}")).unwrap_or_default();
            let reason = some_text(&answer["reason"]).map(|reason| format!(": {reason}")).unwrap_or_default();
            remarks.push(format!("{} {words}{by}{reason}", text(&answer["id"])));
        }
    }
    if data["policy_changed"] == true {
        remarks.push("the policy had changed; the stricter of both was in force".to_owned());
    }
    let stale = &data["accepted_stale_reads"];
    let n = stale.as_array().map_or(u64::from(*stale == true), |paths| paths.len() as u64);
    if n > 0 {
        remarks.push(format!("{} that had changed were accepted", count(n, "file")));
    }
    remarks
}

/// Calls whose effects lie outside of the workspace.
pub(super) fn outside(material: &Material<'_>) -> Vec<Outside> {
    let calls = material.of("call").filter(|record| is_outside(&record.data));
    let outside = |record: &Record| {
        let args = &record.data["args"];
        let (call, args) = match args["name"].as_str() {
            Some(name) if record.data["call"] == "custom" => (name.to_owned(), &args["params"]),
            _ => (text(&record.data["call"]), args),
        };
        Outside {
            position: record.position.clone(),
            call,
            args: format::value(args),
            error: some_text(&record.data["error"]["code"]),
            duration_ms: record.volatile["duration_ms"].as_u64(),
        }
    };
    calls.take(MOST_OUTSIDE).map(outside).collect()
}

fn is_outside(data: &Value) -> bool {
    data["call"].as_str().is_some_and(|call| call == "custom" || call.starts_with("exec."))
}

/// What happened, in not too many rows.
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
    let kind = record.kind.as_str();
    let listed = [
        "call",
        "committed",
        "undone",
        "undone_after_crash",
        "revoked",
        "attempt_set_aside",
        "attempt_put_back",
        "dta_verified",
        "dta_failed",
        "exec_ended",
        "llm_cassettes",
        "llm_sent",
        "settled",
        "commitment_verified",
    ];
    // That a confirmation is used stands among the decisions, and here the call that used it.
    let asks = kind.starts_with("confirmation_") && kind != "confirmation_used";
    asks || kind.starts_with("run_") || listed.contains(&kind)
}

/// True for a call of which there is nothing to say but that it was made.
fn is_dull(record: &Record) -> bool {
    let data = &record.data;
    let telling = ["apply.", "attempt.", "dta."];
    let works = data["call"].as_str().is_some_and(|call| telling.iter().any(|name| call.starts_with(name)));
    went_well(record) && record.kind == "call" && !works && !is_outside(data) && !data["cost"].is_object()
}

/// True for a call or change that nothing was wrong with.
fn went_well(record: &Record) -> bool {
    let data = &record.data;
    match record.kind.as_str() {
        "call" => data["error"].is_null() && matches!(data["decision"].as_str(), Some("allow") | None),
        "committed" => true,
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
    let mut costs: BTreeMap<String, f64> = BTreeMap::new();
    let mut positions = Vec::new();
    let mut n = 0;
    for record in records.iter().filter(|record| record.kind == "call") {
        n += 1;
        positions.push(record.position.as_str());
        *names.entry(text(&record.data["call"])).or_default() += 1;
        let parts = [&record.data, &record.volatile].into_iter();
        for (name, cost) in parts.filter_map(|part| part["cost"].as_object()).flatten() {
            *costs.entry(name.clone()).or_default() += cost.as_f64().unwrap_or(0.0);
        }
    }
    let position = match (positions.first(), positions.last()) {
        (Some(first), Some(last)) if first != last => format!("{first}–{last}"),
        (Some(only), _) => (*only).to_owned(),
        (None, _) => String::new(),
    };
    let names: Vec<String> = names.iter().map(|(name, n)| format!("{} {name}", format::number(*n))).collect();
    let durations = records.iter().filter_map(|record| record.volatile["duration_ms"].as_u64());
    Row {
        kind: RowKind::Calls,
        at: records.first().map(|record| record.at.clone()).unwrap_or_default(),
        position,
        what: count(n, "call"),
        detail: Some(names.join(", ")),
        output: None,
        cost: cost(&costs),
        duration_ms: Some(durations.sum()),
        failed: false,
    }
}

/// What calls cost, as `2 files, 30 diff lines`.
fn cost(costs: &BTreeMap<String, f64>) -> Option<String> {
    let rank =
        |name: &str| ["files", "diff_lines", "bytes"].iter().position(|known| *known == name).unwrap_or(usize::MAX);
    let mut costs: Vec<(&String, u64)> =
        costs.iter().map(|(name, cost)| (name, *cost as u64)).filter(|one| one.1 > 0).collect();
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

/// What is to be told of a run that was recovered without a lease.
fn without_lease(data: &Value) -> Option<String> {
    (data["without_lease"] == true).then(|| "its lease was gone: nothing but the record said so".to_owned())
}

/// One record as a row.
fn row(record: &Record) -> Row {
    let data = &record.data;
    let files = count(data["entries"].as_array().map_or(0, Vec::len) as u64, "file");
    let transaction = || some_text(&data["transaction"]);
    let event = |what: String, detail: Option<String>, failed: bool| Row {
        what,
        detail: detail.filter(|text| !text.is_empty()),
        failed,
        ..event(&RowKind::Event, Some(record))
    };
    let session =
        |what: &str, detail: Option<String>| Row { kind: RowKind::Session, ..event(what.to_owned(), detail, false) };
    match record.kind.as_str() {
        "call" => call(record),
        "committed" => event(format!("{files} written"), transaction(), false),
        "undone" => event(format!("{files} brought back"), transaction(), false),
        "undone_after_crash" => event(format!("{files} brought back after a crash"), transaction(), false),
        "revoked" => event("a change was taken back: it could not be recorded".to_owned(), transaction(), true),
        "attempt_set_aside" => event("an attempt is set aside until the run goes on".to_owned(), attempt(data), false),
        "attempt_put_back" => event("an attempt is put back".to_owned(), attempt(data), false),
        "dta_verified" => {
            let passed = data["output"]["verifier"]["passed"] == true;
            let what = if passed { "verifier passed" } else { "verifier failed" };
            event(what.to_owned(), some_text(&data["tool"]), !passed)
        }
        "dta_failed" => event(format!("{} failed", text(&data["tool"])), some_text(&data["reason"]), true),
        "exec_ended" => {
            let (what, failed) = exec_ended(data);
            let told = [confinement(&record.volatile["confinement"]), set_id(data)];
            let detail = Some(told.into_iter().flatten().collect::<Vec<_>>().join("; "));
            let output = some_text(&record.volatile["output"]);
            Row { output, ..event(what, detail.filter(|detail| !detail.is_empty()), failed) }
        }
        "input" => event(format!("text `{}`", text(&data["name"])), some_text(&data["text"]), false),
        "llm_cassettes" | "llm_sent" => event(model(record), None, false),
        "commitment_verified" => {
            let ok = data["ok"] == true;
            let seen = if ok { "holds" } else { "does not hold" };
            event(format!("commitment {} {seen}", text(&data["id"])), some_text(&data["reason"]), !ok)
        }
        "settled" => event(format!("settled after a crash: {}", format::words(&text(&data["how"]))), None, false),
        "run_started" => session("run started", None),
        "run_resumed" => session("run resumed", Some(resumed(data).join("; "))),
        "run_suspended" => session("run suspended", some_text(&data["error"]["message"])),
        "run_interrupted" => session("the process had died; what it left was recovered", without_lease(data)),
        "run_finished" => {
            session(&format!("run ended: {}", text(&data["state"])), some_text(&data["error"]["message"]))
        }
        kind => match kind.strip_prefix("confirmation_") {
            Some(status) => {
                let by = some_text(&data["by"]).map(|by| format!(" by {by}")).unwrap_or_default();
                let label = some_text(&data["label"]).unwrap_or_else(|| short(&text(&data["subject"])));
                event(format!("confirmation {status}{by}"), Some(label), status == "refused")
            }
            None => event(kind.replace('_', " "), some_text(&data["error"]["message"]), data["error"].is_object()),
        },
    }
}

/// A call as a row.
fn call(record: &Record) -> Row {
    let data = &record.data;
    let code = some_text(&data["error"]["code"]);
    let decision = some_text(&data["decision"]).filter(|decision| decision != "allow");
    let costs = [data, &record.volatile].into_iter().filter_map(|part| part["cost"].as_object()).flatten();
    let costs = costs.map(|(name, cost)| (name.clone(), cost.as_f64().unwrap_or(0.0))).collect();
    let broken = some_text(&data["ended"]);
    let said = [subject(&data["args"]), ended(data), replied(data), decision, code.clone(), broken];
    Row {
        what: text(&data["call"]),
        detail: Some(said.into_iter().flatten().collect::<Vec<_>>().join(" · ")).filter(|text| !text.is_empty()),
        cost: cost(&costs),
        duration_ms: record.volatile["duration_ms"].as_u64(),
        failed: code.is_some(),
        ..event(&RowKind::Call, Some(record))
    }
}

/// What was asked of a model, or which recorded replies stand before models.
fn model(record: &Record) -> String {
    let data = &record.data;
    if record.kind == "llm_cassettes" {
        return format!("recorded replies of `{}`: {}", text(&data["folder"]), text(&data["mode"]));
    }
    format!("asked `{}` of `{}`", text(&data["model"]), text(&data["provider"]))
}

/// That a model's reply was recorded, and what it is marked as.
fn replied(data: &Value) -> Option<String> {
    let by = &data["answered_by"];
    (by["from"] == "cassette").then(|| models::told(true, by["label"].as_str()))
}

/// How a command ended, and whether that is no good end.
fn exec_ended(data: &Value) -> (String, bool) {
    let changed = data["changed"].as_u64().filter(|n| *n > 0).map(|n| format!(", {} changed", count(n, "file")));
    let exceeded =
        data["exceeded"].as_str().map(|bound| format!("the command took more than `exec.{bound}` and was ended"));
    let is_good = data["status"] == 0 && exceeded.is_none();
    let how = match (data["status"].as_i64(), data["signal"].as_i64()) {
        _ if exceeded.is_some() => exceeded.unwrap_or_default(),
        _ if data["timed_out"] == true => "the command took too long and was ended".to_owned(),
        _ if data["cancelled"] == true => "the command was ended, since the run was cancelled".to_owned(),
        (Some(status), _) => format!("the command ended with status {status}"),
        (None, Some(signal)) => format!("the command was ended by signal {signal}"),
        (None, None) => "the command did not end".to_owned(),
    };
    (how + changed.as_deref().unwrap_or_default(), !is_good)
}

/// What confined a command, and what is missing.
fn confinement(confinement: &Value) -> Option<String> {
    let state = confinement["state"].as_str()?;
    let missing = confinement["missing"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = missing.collect::<Vec<_>>().join("; ");
    Some(if missing.is_empty() { format!("sandbox {state}") } else { format!("sandbox {state}: {missing}") })
}

/// The set-id files that a command left in scratch.
fn set_id(data: &Value) -> Option<String> {
    let named = |key: &str| {
        let paths = data[key].as_array()?.iter().filter_map(Value::as_str).map(|path| format!("`{path}`"));
        Some(shortened(&paths.collect::<Vec<_>>().join(", "), 200))
    };
    let cleared = named("set_id_cleared").map(|paths| format!("set-id bits cleared of {paths}"));
    let left = named("set_id_left").map(|paths| format!("set-id bits can't be cleared of {paths}"));
    Some([cleared, left].into_iter().flatten().collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

/// Where the attempt was begun that a record is about.
fn attempt(data: &Value) -> Option<String> {
    some_text(&data["attempt"]).map(|at| format!("begun at {at}"))
}

/// What became of an attempt, if that is the call by which it ended.
fn ended(data: &Value) -> Option<String> {
    let reply = data.get("reply").filter(|_| data["call"] == "attempt.end")?;
    let how = if reply["kept"] == true { "kept" } else { "undone" };
    Some(format!("{how}, {}", count(reply["files"].as_u64().unwrap_or(0), "file")))
}

/// What of its arguments tells a call from others of its name.
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
