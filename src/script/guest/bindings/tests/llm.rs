//! Requests and streams against a host that remembers its calls and their order.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::{generous, limits, request};
use crate::guest::{link::Link, run};
use base::{
    call::Call,
    error::{Code, Error, Location},
    frame::Limits,
};

type Log = Arc<Mutex<Vec<String>>>;

/// Gives every stream the same batches, then nothing; remembers calls.
struct Server {
    log: Log,
    batches: fn(usize) -> Result<Vec<Value>, Error>,
    given: BTreeMap<u64, usize>,
    close: Result<(), Error>,
}

impl Link for Server {
    fn open(&mut self, at: Option<Location>, call: Call) -> Result<u64, Error> {
        let number = self.given.len() as u64 + 1;
        self.given.insert(number, 0);
        let at = at.map(|at| format!(" {}:{}", at.line, at.column)).unwrap_or_default();
        self.log.lock().unwrap().push(format!("{} {number}{at}", call.name()));
        Ok(number)
    }

    fn next(&mut self, stream: u64) -> Result<Vec<Value>, Error> {
        self.log.lock().unwrap().push(format!("next {stream}"));
        let given = self.given.get_mut(&stream).unwrap();
        *given += 1;
        (self.batches)(*given)
    }

    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error> {
        self.log.lock().unwrap().push(format!("close {stream} {taken}"));
        self.close.clone()
    }

    fn call(&mut self, _: Option<Location>, call: Call) -> Result<Value, Error> {
        self.log.lock().unwrap().push(match &call {
            Call::AttemptEnd { keep } => format!("{} {keep}", call.name()),
            Call::UiStep { label } => label.clone(),
            _ => call.name().to_owned(),
        });
        match call {
            Call::FilesRead { .. } => Err(Error::new(Code::Blocked, "no")),
            other => generous(&other),
        }
    }

    fn print(&mut self, text: &str) {
        self.log.lock().unwrap().push(format!("print {text}"));
    }

    fn interrupted(&mut self) -> Option<Error> {
        None
    }
}

fn started() -> Value {
    json!({"type": "started", "model": "tiny", "attempt": 1})
}

fn token(text: &str) -> Value {
    json!({"type": "token", "text": text})
}

fn completed() -> Value {
    json!({"type": "completed", "reply": {"text": "abc", "finish": "stop"}})
}

/// `started a b | c metrics completed`.
fn good(nth: usize) -> Result<Vec<Value>, Error> {
    let metrics = json!({"type": "metrics", "usage": {"output_tokens": 3}, "total_ms": 7});
    Ok(match nth {
        1 => vec![started(), token("a"), token("b")],
        2 => vec![token("c"), metrics, completed()],
        _ => Vec::new(),
    })
}

/// `started a error`.
fn bad(nth: usize) -> Result<Vec<Value>, Error> {
    let error = Error::new(Code::ModelUnavailable, "it is busy").detail("kind", "overloaded").hint("wait");
    Ok(match nth {
        1 => vec![started(), token("a"), json!({"type": "error", "error": error})],
        _ => Vec::new(),
    })
}

fn ran(batches: fn(usize) -> Result<Vec<Value>, Error>, text: &str) -> (Result<Value, Error>, Vec<String>) {
    with(batches, Ok(()), &limits(), text)
}

fn with(
    batches: fn(usize) -> Result<Vec<Value>, Error>,
    close: Result<(), Error>,
    limits: &Limits,
    text: &str,
) -> (Result<Value, Error>, Vec<String>) {
    let log = Log::default();
    let text = format!("let r = #{{ prompt: \"x\", max_tokens: 9 }};\n{text}");
    let server = Server { log: log.clone(), batches, given: BTreeMap::new(), close };
    let result = run::run(&request(&[("main.rhai", &text)]), limits, Box::new(server)).0;
    let log = log.lock().unwrap().clone();
    (result, log)
}

#[track_caller]
fn gives(batches: fn(usize) -> Result<Vec<Value>, Error>, text: &str, value: &Value, log: &[&str]) {
    let (result, found) = ran(batches, text);
    assert_eq!(result.as_ref(), Ok(value), "{text}");
    assert_eq!(found, log, "{text}");
}

#[test]
fn a_callback_sees_every_event_in_order_and_the_reply_is_the_result() {
    let text = "let seen = []; let reply = nrv.llm.stream(r, |e| { seen.push(e.type); () }); nrv.ui.step(\"on\"); [seen, reply]";
    let seen = json!(["started", "token", "token", "token", "metrics", "completed"]);
    gives(
        good,
        text,
        &json!([seen, {"text": "abc", "finish": "stop"}]),
        &["llm.stream 1 2:36", "next 1", "next 1", "close 1 6", "on"],
    );
}

#[test]
fn a_callback_that_gives_true_stops_and_what_had_come_is_the_result() {
    let cut = |text: &str| json!({"text": text, "tool_calls": [], "finish": "cancelled", "model_requested": "tiny"});
    let log = ["llm.stream 1 2:9", "next 1", "close 1 3"];
    gives(good, "nrv.llm.stream(r, |e| e.type == \"token\" && e.text == \"b\")", &cut("ab"), &log);
    let log = ["llm.stream 1 2:9", "next 1", "close 1 1"];
    gives(good, "nrv.llm.stream(r, |e| true)", &cut(""), &log);
    let (result, _) = ran(good, "nrv.llm.stream(r, |e| e.type == \"metrics\")");
    assert_eq!(result.unwrap()["usage"], json!({"output_tokens": 3}));
    // At the end there is nothing left to stop.
    let (result, _) = ran(good, "nrv.llm.stream(r, |e| e.type == \"completed\").finish");
    assert_eq!(result, Ok(json!("stop")));
}

#[test]
fn an_error_is_an_event_in_a_loop_and_thrown_after_a_callback() {
    let text = "let seen = []; for e in nrv.llm.stream(r) { seen.push(e.type); if e.type == \"error\" { seen.push(e.error.code); } } seen";
    let seen = json!(["started", "token", "error", "model_unavailable"]);
    gives(bad, text, &seen, &["llm.stream 1 2:33", "next 1", "close 1 3"]);
    let text = "let seen = []; try { nrv.llm.stream(r, |e| { seen.push(e.type); e.type == \"error\" }); } catch (e) { seen += [e.code, e.details.kind, e.hint]; } seen";
    let (result, log) = ran(bad, text);
    assert_eq!(result, Ok(json!(["started", "token", "error", "model_unavailable", "overloaded", "wait"])));
    assert_eq!(log.last().unwrap(), "close 1 3");
    let error = ran(bad, "nrv.llm.stream(r, |e| ())").0.unwrap_err();
    assert_eq!((error.code(), error.location().unwrap().line), (Code::ModelUnavailable, 2));
}

#[test]
fn leaving_a_loop_closes_the_stream_with_what_was_seen() {
    let left = ["llm.stream 1 2:18", "next 1", "close 1 2", "on"];
    let body = |how: &str| format!("for e in nrv.llm.stream(r) {{ if e.type == \"token\" {{ {how} }} }}");
    let on = "nrv.ui.step(\"on\"); 1";
    gives(good, &format!("{} {on}", body("break;")), &json!(1), &left);
    let text = format!("fn f(r) {{ {} }} f(r); {on}", body("return 5;"));
    assert_eq!(ran(good, &text).1[1..], left[1..]);
    let text = format!("try {{ {} }} catch {{}} {on}", body("throw 5;"));
    assert_eq!(ran(good, &text).1[1..], left[1..]);
    let text = format!("nrv.attempt(|| {{ {} }}); {on}", body("throw 5;"));
    let (_, log) = ran(good, &text);
    assert_eq!(log[2..], ["next 1", "close 1 2", "attempt.end false", "on"]);
    // A loop with an empty body reads to the end.
    gives(good, "for e in nrv.llm.stream(r) {} 1", &json!(1), &["llm.stream 1 2:18", "next 1", "next 1", "close 1 6"]);
}

#[test]
fn an_exception_in_a_callback_closes_the_stream_and_goes_on() {
    let text = "try { nrv.llm.stream(r, |e| throw e.type); } catch (e) { nrv.ui.step(\"on\"); return e; }";
    gives(good, text, &json!("started"), &["llm.stream 1 2:15", "next 1", "close 1 1", "on"]);
    let text = "nrv.attempt(|| nrv.llm.stream(r, |e| throw e.type)).error";
    let log = ["attempt.begin", "llm.stream 1 2:24", "next 1", "close 1 1", "attempt.end false"];
    gives(good, text, &json!("started"), &log);
}

#[test]
fn streams_that_nobody_reads_are_closed() {
    // The engine lets go of a statement's value when the next statement has one.
    gives(good, "nrv.llm.stream(r); nrv.ui.step(\"on\"); 1", &json!(1), &["llm.stream 1 2:9", "on", "close 1 0"]);
    let text = "{ let s = nrv.llm.stream(r); nrv.ui.step(\"in\"); } nrv.ui.step(\"on\"); 1";
    gives(good, text, &json!(1), &["llm.stream 1 2:19", "in", "close 1 0", "on"]);
    for text in [
        "let s = nrv.llm.stream(r); let t = [nrv.llm.stream(r)]; let f = || s; 1",
        "let s = nrv.llm.stream(r); let t = nrv.llm.stream(r); throw 1",
        "let s = nrv.llm.stream(r); let t = nrv.llm.stream(r); [s, t]",
    ] {
        let (_, log) = ran(good, text);
        assert_eq!(log[2..], ["close 1 0", "close 2 0"], "{text}");
    }
}

#[test]
fn an_event_comes_once_whoever_reads() {
    let text = "let s = nrv.llm.stream(r); let seen = []; for e in s { seen.push(e.type); } for e in s { seen.push(7); } seen.len";
    gives(good, text, &json!(6), &["llm.stream 1 2:17", "next 1", "next 1", "close 1 6"]);
    // The first loop that ends, ends the stream.
    let text = "let s = nrv.llm.stream(r); let n = 0; for e in s { n += 1; for f in s { n += 10; break; } } n";
    gives(good, text, &json!(11), &["llm.stream 1 2:17", "next 1", "close 1 2"]);
}

#[test]
fn streams_nest_and_other_calls_are_made_meanwhile() {
    let text = "let n = 0; for e in nrv.llm.stream(r) { if e.type == \"started\" { nrv.llm.stream(r, |e| { nrv.llm.complete(r); n += 1; e.type == \"token\" }); } n += 100; } n";
    let log = [
        "llm.stream 1 2:29",
        "next 1",
        "llm.stream 2 2:74",
        "next 2",
        "llm.complete",
        "llm.complete",
        "close 2 2",
        "next 1",
        "close 1 6",
    ];
    gives(good, text, &json!(602), &log);
}

#[test]
fn what_ends_a_script_ends_it_at_a_stream_too() {
    fn cancelled(nth: usize) -> Result<Vec<Value>, Error> {
        if nth == 1 { good(1) } else { Err(Error::new(Code::Cancelled, "the run was cancelled")) }
    }
    fn spent(_: usize) -> Result<Vec<Value>, Error> {
        Ok(vec![json!({"type": "error", "error": Error::new(Code::BudgetExhausted, "no tokens")})])
    }
    type Batches = fn(usize) -> Result<Vec<Value>, Error>;
    for (batches, code, last) in
        [(cancelled as Batches, Code::Cancelled, "next 1"), (spent, Code::BudgetExhausted, "close 1 1")]
    {
        for read in ["nrv.llm.stream(r, |e| ());", "for e in nrv.llm.stream(r) { 1 }", "for e in nrv.llm.stream(r) {}"]
        {
            for text in [format!("try {{ {read} }} catch {{}}"), format!("nrv.attempt(|| {{ {read} }});")] {
                let (result, log) = ran(batches, &format!("{text} nrv.ui.step(\"on\");"));
                assert_eq!(result.unwrap_err().code(), code, "{text}");
                assert_eq!(log.last().unwrap(), last, "{text}: nothing is said to a host that has ended the script");
            }
        }
    }
    for read in
        ["nrv.llm.stream(r, |e| nrv.files.read(\"a\"));", "for e in nrv.llm.stream(r) { nrv.files.read(\"a\"); }"]
    {
        let (result, log) = ran(good, &format!("try {{ {read} }} catch {{}} nrv.ui.step(\"on\");"));
        assert_eq!((result.unwrap_err().code(), log.last().unwrap().as_str()), (Code::Blocked, "files.read"), "{read}");
    }
    let few = Limits { operations: 1000, ..limits() };
    let (result, _) = with(good, Ok(()), &few, "try { nrv.llm.stream(r, |e| { loop {} }); } catch {}");
    assert_eq!(result.unwrap_err().code(), Code::ScriptLimit);
}

#[test]
fn a_stream_that_can_not_be_read_or_closed_is_an_error() {
    fn broken(_: usize) -> Result<Vec<Value>, Error> {
        Err(Error::new(Code::ModelFailed, "oh"))
    }
    fn endless(_: usize) -> Result<Vec<Value>, Error> {
        Ok(Vec::new())
    }
    let (result, log) = ran(broken, "try { for e in nrv.llm.stream(r) { 1 } } catch (e) { return e.code; }");
    assert_eq!((result, log.last().unwrap().as_str()), (Ok(json!("model_failed")), "close 1 0"));
    let error = ran(endless, "nrv.llm.stream(r, |e| ())").0.unwrap_err();
    assert_eq!(error.code(), Code::Internal, "{error}");
    let unwritable = || Err(Error::new(Code::RecordUnwritable, "the disk is full"));
    for text in [
        "nrv.llm.stream(r, |e| ())",
        "nrv.llm.stream(r, |e| true)",
        "for e in nrv.llm.stream(r) { break; }",
        "let s = nrv.llm.stream(r);",
    ] {
        let (result, log) =
            with(good, unwritable(), &limits(), &format!("try {{ {text} }} catch {{}} nrv.ui.step(\"on\"); 1"));
        assert_eq!(result.unwrap_err().code(), Code::RecordUnwritable, "{text}");
        assert!(!log.contains(&"on".to_owned()), "{text}: {log:?}");
    }
}

/// 100,000 events of a model that has much to say.
fn long(nth: usize) -> Result<Vec<Value>, Error> {
    Ok(match nth {
        1..=390 => vec![token(" word"); 256],
        391 => [vec![token(" word"); 160], vec![completed()]].concat(),
        _ => Vec::new(),
    })
}

#[test]
fn events_cross_in_batches() {
    let limits = Limits { operations: 50_000_000, ..limits() };
    for read in [
        "nrv.llm.stream(r, |e| if e.type == \"token\" { n += 1; });",
        "for e in nrv.llm.stream(r) { if e.type == \"token\" { n += 1; } }",
    ] {
        let (result, log) = with(long, Ok(()), &limits, &format!("let n = 0; {read} n"));
        assert_eq!((result, log.len()), (Ok(json!(100_000)), 1 + 391 + 1), "{read}");
    }
}

#[track_caller]
fn refused(request: &str, words: &str) {
    let error = ran(good, &format!("nrv.llm.complete({request})")).0.unwrap_err();
    assert_eq!(error.code(), Code::InvalidInput, "{error}");
    assert_eq!(error.location().map(|at| (at.line, at.column)), Some((2, 9)), "{error}");
    assert_eq!(error.to_string(), format!("the request can't be made: {words}"), "{request}");
    assert!(error.hint_text().unwrap().starts_with("its form is `#{prompt | messages, max_tokens"), "{error:?}");
}

#[test]
fn a_request_that_is_wrong_names_the_field_and_the_nearest() {
    refused("#{ promt: \"x\" }", "the field `promt` is unknown, did you mean `prompt`?");
    refused("#{ max_token: 5 }", "the field `max_token` is unknown, did you mean `max_tokens`?");
    refused("#{ max_tokens: \"5\" }", "`/max_tokens`: must be an integer, not a string");
    refused("#{ max_tokens: -5 }", "`/max_tokens`: the value is less than the minimum of 0");
    refused("#{ stop: \"x\" }", "`/stop`: must be an array, not a string");
    refused("#{ messages: [#{ role: \"user\" }] }", "`/messages/0`: the field `content` is missing");
    refused(
        "#{ retry: #{ on: [], max: 1, wait: 5 } }",
        "`/retry`: the field `wait` is unknown; known are `max`, `on`, `wait_ms`",
    );
    let error = ran(good, "nrv.llm.stream(#{ prompt: 5 })").0.unwrap_err();
    assert_eq!(error.message(), "the request can't be made: `/prompt`: must be a string, not a number");
    let error = ran(good, "nrv.llm.stream(r, 5)").0.unwrap_err();
    assert_eq!(error.message(), "`nrv.llm.stream` can't be called with a map and an integer");
    assert_eq!(error.hint_text(), Some("its form is `nrv.llm.stream(request: map, callback: function?)`"));
}

#[test]
fn a_request_travels_as_it_is_written_without_what_is_nothing() {
    let asked = |text: &str| {
        let (result, asked) = super::script(text);
        result.unwrap();
        serde_json::to_value(&asked[0].1).unwrap()
    };
    let call = asked(
        "nrv.llm.complete(#{ prompt: \"x\", max_tokens: 5, model: (), stop: (), temperature: 0, tool_choice: #{ named: \"t\" } })",
    );
    let args = json!({"prompt": "x", "max_tokens": 5, "temperature": 0.0, "tool_choice": {"named": "t"}});
    assert_eq!(call, json!({"name": "llm.complete", "args": args}));
    let messages = "[#{ role: \"system\", content: \"a\" }, #{ role: \"tool\", content: \"b\", tool_call_id: \"c\" }]";
    let call = asked(&format!("nrv.llm.stream(#{{ messages: {messages} }}, |e| ())"));
    assert_eq!(call["args"]["messages"][1], json!({"role": "tool", "content": "b", "tool_call_id": "c"}));
    assert_eq!(asked("nrv.llm.capabilities()"), json!({"name": "llm.capabilities", "args": {}}));
    assert_eq!(asked("nrv.llm.capabilities(\"p\")")["args"], json!({"provider": "p"}));
}

#[test]
fn replies_are_read_without_the_host() {
    let caught = |text: &str| {
        let (result, asked) = super::script(&format!("try {{ return {text}; }} catch (e) {{ return e; }}"));
        assert!(asked.is_empty(), "{text}");
        result.unwrap()
    };
    assert_eq!(caught("nrv.llm.parse(` {\"a\": [1]} `, ())"), json!({"a": [1]}));
    assert_eq!(caught("nrv.llm.parse(\"```\\n1\\n```\", (), #{ allow_fence: true })"), json!(1));
    let fenced = caught("nrv.llm.parse(\"```\\n1\\n```\", ())");
    assert_eq!((&fenced["code"], &fenced["details"]["kind"]), (&json!("model_failed"), &json!("malformed_json")));
    let wrong =
        caught("nrv.llm.parse(`{\"a\": [1, \"x\"]}`, #{ properties: #{ a: #{ items: #{ type: \"integer\" } } } })");
    let violation = &wrong["details"]["violations"][0];
    assert_eq!((&violation["pointer"], &violation["value"]), (&json!("/a/1"), &json!("x")));
    assert_eq!(caught("nrv.llm.parse(\"1\", #{ type: 5 })")["code"], "invalid_input");
    for (options, words) in
        [("#{ fence: true }", "there is no `fence`"), ("#{ allow_fence: 1 }", "`allow_fence` is an integer")]
    {
        let error = caught(&format!("nrv.llm.parse(\"1\", (), {options})"));
        assert!(error["message"].as_str().unwrap().ends_with(words), "{error}");
    }
    assert_eq!(
        caught("nrv.llm.parse_plan(\"```\\n{\\\"diffs\\\": []}\\n```\", #{ allow_fence: true })"),
        json!({"diffs": []})
    );
    assert_eq!(caught("nrv.llm.parse_plan(`{\"diffs\": [{}]}`)")["details"]["kind"], "schema");
}
