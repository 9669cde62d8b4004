//! One event of each kind, with every member: the schema and the page on formats are held against them.
#![expect(clippy::disallowed_methods, reason = "the schema in the repository is read and written")]

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Map, Value, json};

use super::*;
use crate::{FileRef, packed_form};
use base::{
    change::{Entry, Stamp},
    error::{Code, Error, Location},
    frame::Isolation,
    hash::Sha256,
    json::as_recorded,
    output::{self, Phase, Verdict},
    path::RepoPath,
    verdict::{Decision, GateResult},
};
use system::process::sandbox::Bound;

fn hash() -> Sha256 {
    Sha256::of(b"x")
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn value() -> Stored {
    Stored::of(json!({"a": [1, null]}))
}

fn result() -> Shown<GateResult> {
    Shown::Exact(GateResult {
        decision: Decision::Warn,
        gate_name: text("paths"),
        reason: text("why"),
        triggered_rules: vec![text("protected")],
        remediation: Some(text("what to do")),
        config_sha256: hash(),
        input_sha256: hash(),
    })
}

fn error() -> Error {
    let place = Location { path: text("a.rhai"), line: 1, column: 2 };
    Error::new(Code::Io, "it failed").detail("n", 1).hint("try again").at(place)
}

fn file() -> FileRef {
    FileRef { path: text("artifacts/a.patch"), sha256: hash() }
}

fn path() -> RepoPath {
    RepoPath::parse("a/b.txt").unwrap()
}

fn transaction() -> Box<Transaction> {
    let stamp = Stamp { sha256: hash(), mode: 0o644, length: 1 };
    let entries = vec![Entry { path: path(), before: None, after: Some(stamp) }];
    Box::new(Transaction { transaction: text("t1"), entries, foreign: Some(vec![path()]) })
}

fn confirmation() -> Box<Confirmation> {
    Box::new(Confirmation {
        id: text("c1"),
        label: text("go on"),
        kind: text("gate.confirm"),
        subject: text("s"),
        patch_sha256: Some(hash().into()),
        policy_sha256: Some(hash().into()),
        by: Some(text("alice")),
        all: true,
        reason: Some(text("why")),
        reply: Some(Stored::of(Value::Null)),
        proof: Some(text("signature")),
        fingerprint: Some(text("SHA256:x")),
    })
}

fn place() -> Place {
    Place { git_head: Some(None), place: Some([1, u64::MAX]) }
}

fn end(state: State) -> Box<RunEnd> {
    let evaluation = Evaluation {
        evaluator: text("tests-pass"),
        passed: Some(true),
        value: 1.5,
        limit: Some(2.0),
        details: Map::from_iter([(text("run"), json!(1))]),
    };
    Box::new(RunEnd {
        state,
        exit_code: Some(0),
        error: Some(error()),
        result: value(),
        files_changed: 1,
        diff_lines: 2,
        undone: 3,
        would_ask: vec![Question { label: text("l"), subject: text("s"), refused: true }],
        tools: [text("link_updater")].into(),
        calls: Some(4),
        metrics: [(text("pages"), Free(json!(1)))].into(),
        violations: vec![result()],
        set_aside: 1,
        attempts: Some(AttemptCounts { kept: 1, undone: 2 }),
        changes: Some(Changes { committed: 1, modifications: 2, small: 3, added: 4, removed: 5, reworked: 6 }),
        evaluations: Some(vec![evaluation]),
        volatile: Duration { duration_ms: Some(5) },
    })
}

fn call() -> Box<Call> {
    let cost = Cost { files: 1, diff_lines: 2, bytes: 3, exec_ms: 4, tokens: 5, cost: 6, mcp: 7 };
    let by = AnsweredBy {
        provider: Some(text("p")),
        model: Some(text("m")),
        from: LlmSent::source(true),
        label: Some(text("l")),
    };
    let volatile = CallTimes {
        duration_ms: Some(1),
        cost: Some(ExecTime { exec_ms: 1 }),
        reply: Some(Free(json!({"duration_ms": 1}))),
    };
    Box::new(Call {
        call: text("llm.complete"),
        args: packed_form(&hash(), 7),
        decision: Decision::Allow,
        results: vec![result()],
        cost: Some(cost),
        prompt: Some(Prompted { sha256: hash().to_string(), tokens: 1 }),
        answered_by: Some(by),
        ended: Some(Code::Cancelled),
        reply: Some(Stored::of(Value::Null)),
        error: Some(error()),
        error_exact: Some(value()),
        volatile,
    })
}

fn of_run() -> Vec<Event> {
    let ruling = || Some(Ruling { id: text("c1"), by: Some(text("alice")), reason: None });
    let stale = StaleRead { what: text("a.txt"), position: text("1") };
    let sources = BTreeMap::from([(text("a.rhai"), hash().into())]);
    let started = RunStarted {
        asked: Asked::Script { path: text("a.rhai"), sources, args: Free(json!({})) },
        seed: 7,
        flags: Flags { dry_run: true, ..Flags::default() },
        mode: text("dry-run"),
        policy_sha256: hash().into(),
        version: text("1"),
        volatile: place(),
    };
    let resumed = RunResumed {
        policy_sha256: Some(hash().into()),
        policy_changed: true,
        accepted_stale_reads: StaleReads::Reads(vec![stale.into()]),
        rules: 1,
        policy_source: Some(value()),
        approved: ruling(),
        rejected: ruling(),
        volatile: Place { git_head: None, ..place() },
    };
    let isolation = Isolation { landlock: true, seccomp: true, missing: vec![text("m")] };
    vec![
        Event::RunStarted(started.into()),
        Event::RunResumed(resumed.into()),
        Event::WorkerStarted(WorkerStarted { isolation }.into()),
        Event::Input(InputGiven { name: text("input-1"), text: text("1") }.into()),
        Event::InputFailed(InputFailed { error: error() }.into()),
        Event::RunFinished(end(State::Done)),
        Event::RunSuspended(end(State::Suspended)),
        Event::RunInterrupted(RunInterrupted { state: State::Interrupted, without_lease: true }.into()),
    ]
}

fn of_calls() -> Vec<Event> {
    let judged = Judged {
        adapter: None,
        files: value(),
        patch: JudgedPatch::File(file()),
        run_lines_so_far: 1,
        decision: Decision::Block,
        results: vec![result()],
    };
    vec![
        Event::Call(call()),
        Event::Intent(Intent { call: text("exec.run"), args: Some(value()) }.into()),
        Event::Prepared(Prepared { transaction: text("t1"), reply: value() }.into()),
        Event::Checked(Checked { transaction: text("t1"), files: 1 }.into()),
        Event::Settled(Settled { how: How::TakenAsDone }.into()),
        Event::Judged(judged.into()),
        Event::ConfirmationPending(confirmation()),
        Event::ConfirmationGranted(confirmation()),
        Event::ConfirmationRefused(confirmation()),
        Event::ConfirmationUsed(confirmation()),
    ]
}

fn of_adapters() -> Vec<Event> {
    let counts = BTreeMap::from([(text("files"), 1)]);
    let failure = output::Failure { check: text("c"), path: Some(text("a")), reason: text("r") };
    let verifier = Verdict {
        passed: false,
        checks: vec![text("c")],
        sample_size: 1,
        failures: vec![failure],
        remarks: vec![text("r")],
    };
    let output = output::Output {
        tool: text("t"),
        ok: false,
        phase: Phase::Verify,
        baseline: counts.clone(),
        proposed_changes: counts.clone(),
        applied_changes: counts.clone(),
        undone: true,
        run: Some(text("r")),
        artifacts: vec![text("a")],
        verifier,
    };
    let proposed = DtaProposed {
        tool: text("t"),
        proposal: text("p"),
        proposed_changes: counts.clone(),
        no_match: true,
        left: 1,
        patch_sha256: hash().into(),
        files: value(),
    };
    let applied = DtaApplied {
        tool: text("t"),
        proposal: text("p"),
        applied_changes: counts.clone(),
        transaction: Some(text("t1")),
        baseline: file(),
        manifest: file(),
    };
    vec![
        Event::DtaStarted(
            DtaStarted {
                tool: text("t"),
                input: Free(json!({"mode": "apply"})),
                source: Some(SourceFile { path: text("dta/t.rhai"), sha256: hash() }),
            }
            .into(),
        ),
        Event::DtaProposed(proposed.into()),
        Event::DtaApplied(applied.into()),
        Event::DtaVerified(DtaVerified { tool: text("t"), output, after: counts }.into()),
        Event::DtaFailed(DtaFailed { tool: text("t"), code: Code::Io, reason: text("r") }.into()),
    ]
}

fn of_commands_and_models() -> Vec<Event> {
    let program = || Program { path: PathBuf::from("/bin/sh"), sha256: hash() };
    let written = || command::Output { length: 1, sha256: Some(hash()), stored: 1 };
    let ended = ExecEnded {
        status: Some(1),
        signal: None,
        timed_out: true,
        cancelled: false,
        changed: 1,
        set_id_cleared: vec![text("a")],
        set_id_left: vec![text("b")],
        exceeded: Some(Bound::Memory),
        volatile: ExecTimes {
            duration_ms: 1,
            cpu_ms: 2,
            peak_bytes: 3,
            stdout: written(),
            stderr: written(),
            confinement: Confinement::default(),
            output: Some(text("said")),
        },
    };
    let confined = Confined { program: Some(program()), confinement: Confinement::default() };
    let sent = LlmSent {
        provider: text("p"),
        model: text("m"),
        request: text("k"),
        reserved: Reserved { tokens: 1, cost: 2 },
        wire_schema_sha256: Some(hash().into()),
        from: LlmSent::source(true),
    };
    let ran = Ran {
        program: program(),
        confinement: Confinement::default(),
        set_id_cleared: vec![text("a")],
        set_id_left: vec![text("b")],
    };
    let made = CommitmentMade {
        agent: Some(text("a1")),
        id: text("k1"),
        source: Maker::Script,
        description: text("d"),
        assertion: value(),
        timeout_ms: Some(1),
        baseline: Some(value()),
    };
    let seen = SeenTimes { duration_ms: Some(1), output: Some(text("said")), ran: Some(ran) };
    vec![
        Event::ExecStarted(ExecStarted { repeatable: true, volatile: confined }.into()),
        Event::ExecEnded(ended.into()),
        Event::LlmCassettes(LlmCassettes { mode: text("auto"), folder: text("tapes"), files: 1 }.into()),
        Event::LlmSent(sent.into()),
        Event::LlmTried(LlmTried { attempt: 1, after: Some(error()) }.into()),
        Event::LlmSeen(LlmSeen { events: value() }.into()),
        Event::CommitmentMade(made.into()),
        Event::CommitmentVerified(
            CommitmentVerified { id: text("k1"), ok: true, reason: text("r"), volatile: seen }.into(),
        ),
    ]
}

fn of_changes() -> Vec<Event> {
    let (transaction_name, of, attempt) = (text("t2"), vec![text("t1")], text("3"));
    let undoing = Undoing { transaction: transaction_name.clone(), of: of.clone(), attempt: Some(attempt.clone()) };
    let aside = AttemptSetAside { transaction: transaction_name.clone(), of: of.clone(), attempt: attempt.clone() };
    let put_back = AttemptPutBack { transaction: transaction_name, of, attempt, aside: text("t1") };
    let moved = transaction();
    let revoked = Revoked { transaction: text("t1"), entries: Some(moved.entries.clone()), foreign: vec![path()] };
    vec![
        Event::Committed(moved.clone()),
        Event::Undone(moved.clone()),
        Event::UndoneAfterCrash(moved),
        Event::Undoing(undoing.into()),
        Event::AttemptSetAside(aside.into()),
        Event::AttemptPutBack(put_back.into()),
        Event::Revoked(revoked.into()),
    ]
}

/// An event of each kind.
fn all() -> Vec<Event> {
    [of_run(), of_calls(), of_adapters(), of_commands_and_models(), of_changes()].concat()
}

/// The names of the members that the data, or what is volatile of it, has.
fn members(value: &Value, is_exact: bool) -> Vec<String> {
    let mut names: Vec<String> = value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.extend(is_exact.then(|| text("exact")));
    names.sort();
    names
}

#[test]
fn there_is_a_sample_of_every_kind() {
    let mut kinds: Vec<Kind> = all().iter().filter_map(Event::kind).collect();
    kinds.sort();
    let mut known = Kind::ALL.to_vec();
    known.sort();
    assert_eq!(kinds, known);
}

#[test]
fn what_is_written_is_read_again() {
    for event in all() {
        let data = event.data().unwrap().to_string();
        let volatile = Some(event.volatile().unwrap()).filter(|volatile| !volatile.is_null());
        let volatile = volatile.map(|volatile| volatile.to_string());
        assert_eq!(Event::read(event.name(), &data, volatile.as_deref()), event);
    }
}

/// The JSON Pointers of all numbers in a value.
fn numbers(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Number(_) => vec![at.to_owned()],
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(n, item)| numbers(item, &format!("{at}/{n}"))).collect()
        }
        Value::Object(map) => map.iter().flat_map(|(name, item)| numbers(item, &format!("{at}/{name}"))).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_number_that_stands_as_a_text_is_read_as_the_number() {
    let mut tried = 0;
    for event in all() {
        let (data, volatile) = (event.data().unwrap(), event.volatile().unwrap());
        let read = |data: &Value, volatile: &Value| {
            let volatile = Some(volatile.to_string()).filter(|volatile| volatile != "null");
            Event::read(event.name(), &data.to_string(), volatile.as_deref())
        };
        let whole = json!({"data": data, "volatile": volatile});
        for place in numbers(&whole, "") {
            for large in [json!(u64::MAX), json!(9_007_199_254_740_993_u64), json!(1e300)] {
                let mut changed = whole.clone();
                *changed.pointer_mut(&place).unwrap() = large;
                let expected = read(&changed["data"], &changed["volatile"]);
                // Some numbers have a smaller type, and some values are free.
                if expected.kind().is_some() && expected != event {
                    let recorded = as_recorded(changed.clone());
                    let found = read(&recorded["data"], &recorded["volatile"]);
                    assert!(
                        found == expected || as_recorded(found.data().unwrap()) == recorded["data"],
                        "{place} of {event:?}"
                    );
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn an_event_of_a_later_release_or_without_sense_is_another() {
    let read = |kind: &str, data: &str| Event::read(kind, data, None);
    let Event::Other(later) = read("asked_again", "{\"n\":1}") else { panic!("it is known") };
    assert_eq!((later.kind.as_str(), later.unreadable), ("asked_again", None));
    let Event::Other(damaged) = read("committed", "{\"transaction\":\"t1\"}") else { panic!("it has no files") };
    assert!(damaged.unreadable.unwrap().contains("entries"));
    // A later release may add members.
    assert!(read("checked", "{\"transaction\":\"t1\",\"files\":1,\"more\":true}").checked().is_some());
}

/// With `NRV_BLESS` the schema is written anew.
#[test]
fn the_schema_names_the_members_of_every_kind() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/record.schema.json");
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let names = |value: &Value, is_exact: bool| json!({"propertyNames": {"enum": members(value, is_exact)}});
    let kind = |event: &Event| {
        let mut members = Map::from_iter([(text("data"), names(&event.data().unwrap(), event.is_exact()))]);
        let volatile = event.volatile().unwrap();
        members.extend((!volatile.is_null()).then(|| (text("volatile"), names(&volatile, false))));
        json!({"if": {"properties": {"kind": {"const": event.name()}}}, "then": {"properties": members}})
    };
    let mut events = all();
    events.sort_by_key(Event::kind);
    let kinds: Vec<Value> = events.iter().map(kind).collect();
    let all_kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    if std::env::var_os("NRV_BLESS").is_some() {
        schema["properties"]["kind"]["enum"] = json!(all_kinds);
        schema["allOf"] = json!(kinds);
        std::fs::write(path, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
    }
    assert_eq!(schema["properties"]["kind"]["enum"], json!(all_kinds), "`NRV_BLESS=1` writes the schema anew");
    assert_eq!(schema["allOf"], json!(kinds), "`NRV_BLESS=1` writes the schema anew");
}

#[test]
fn the_page_on_formats_has_a_row_for_every_kind_with_every_member() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md")).unwrap();
    for event in all() {
        let name = event.name();
        let row = page.lines().find(|line| {
            let names = line.strip_prefix("| ").and_then(|line| line.split(" |").next()).unwrap_or_default();
            let short = name.strip_prefix("confirmation").unwrap_or(name);
            names.contains(&format!("`{name}`"))
                || names.contains("`confirmation_pending`") && names.contains(&format!("`{short}`"))
        });
        let row = row.unwrap_or_else(|| panic!("docs/formats.md has no row for `{name}`"));
        for member in members(&event.data().unwrap(), false) {
            assert!(
                row.contains(&format!("`{member}`")),
                "docs/formats.md does not name `{member}` of `{name}`: {row}"
            );
        }
    }
}
