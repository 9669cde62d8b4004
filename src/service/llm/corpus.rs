//! Replies as servers write them: recordings of many servers, and variations of our own. No text and no call may be lost.
#![expect(clippy::disallowed_methods, reason = "corpora are files of the repository")]

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    capabilities::{Capabilities, Model},
    cassette::{Cassettes, Mode},
    client::Orchestrator,
    dialect,
    error::is_retriable,
    event::Reply,
    request::LlmRequest,
    transport::{Outgoing, Received, Transport},
    wire::{Wire, WireOptions},
};
use base::error::Error;
use system::net::Cancel;

/// A body of a reply, and its meaning.
#[derive(Clone, Debug, Deserialize)]
struct Case {
    name: String,
    dialect: String,
    /// True if it came as a whole and not as a stream.
    whole: bool,
    body: String,
    expected: Value,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/corpora/model-replies").join(name)
}

/// Recordings of servers.
fn recorded() -> Vec<Case> {
    let mut text = String::new();
    GzDecoder::new(File::open(path("servers.jsonl.gz")).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Variations of our own, in the notation that the README of the corpora describes.
fn own() -> Vec<Case> {
    let text = fs::read_to_string(path("own.txt")).unwrap();
    text.split("=== ").skip(1).map(of_notation).collect()
}

fn of_notation(text: &str) -> Case {
    let (name, lines) = text.split_once('\n').unwrap();
    let mut case = Case {
        name: name.to_owned(),
        dialect: "openai_chat".to_owned(),
        whole: false,
        body: String::new(),
        expected: Value::Null,
    };
    // A stream of OpenAI's protocol ends with its mark, unless the last line says how it ends.
    let mut is_open = true;
    let event = |data: &str| format!("data: {data}\n\n");
    let chunk = |choice: &str| event(&format!("{{\"choices\": [{choice}]}}"));
    for line in lines.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        case.whole |= matches!(kind, "j" | "w");
        if kind != "=>" {
            is_open = !matches!(kind, "r" | "-");
        }
        match kind {
            "@" => rest.clone_into(&mut case.dialect),
            "c" => case.body += &chunk(rest),
            "d" => case.body += &chunk(&format!("{{\"index\": 0, \"delta\": {rest}}}")),
            "e" => case.body += &event(rest),
            "f" => case.body += &chunk(&format!("{{\"index\": 0, \"delta\": {{}}, \"finish_reason\": \"{rest}\"}}")),
            "j" => rest.clone_into(&mut case.body),
            "w" => {
                case.body =
                    format!("{{\"choices\": [{{\"index\": 0, \"message\": {rest}, \"finish_reason\": \"stop\"}}]}}");
            }
            "r" => {
                let escapes = [("\\r", "\r"), ("\\n", "\n"), ("\\u{feff}", "\u{feff}")];
                case.body += &escapes.iter().fold(rest.to_owned(), |text, (from, to)| text.replace(from, to));
            }
            "-" => {}
            "=>" => case.expected = expectation(rest),
            _ => panic!("{name}: {line}"),
        }
    }
    if is_open && !case.whole && case.dialect == "openai_chat" {
        case.body += &event("[DONE]");
    }
    case
}

/// `KIND: WORDS` or `KIND, retriable: WORDS` is an error.
fn expectation(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let (kind, words) = text.split_once(": ").unwrap();
        let (kind, retriable) = kind.strip_suffix(", retriable").map_or((kind, false), |kind| (kind, true));
        json!({"error": kind, "retriable": retriable, "says": words})
    })
}

/// A server that sends these bytes in pieces of this size.
struct Bytes {
    case: Case,
    size: usize,
    /// True if it calls a stream JSON, and JSON a stream.
    is_mislabelled: bool,
}

impl Transport for Bytes {
    fn send(&self, _: &Outgoing<'_>, _: &Cancel) -> Result<Received, Error> {
        let form = if self.case.whole != self.is_mislabelled { "application/json" } else { "text/event-stream" };
        let headers = BTreeMap::from([("content-type".to_owned(), form.to_owned())]);
        let body = Pieces { bytes: self.case.body.clone().into_bytes(), at: 0, size: self.size };
        Ok(Received { status: 200, headers, body: Box::new(body) })
    }
}

struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    size: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.size.min(buffer.len()).min(self.bytes.len() - self.at);
        buffer[..length].copy_from_slice(&self.bytes[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

fn wire(case: &Case, size: usize) -> Wire {
    over(Bytes { case: case.clone(), size, is_mislabelled: false })
}

fn over(bytes: Bytes) -> Wire {
    let options = WireOptions {
        dialect: dialect::named(&bytes.case.dialect).unwrap(),
        base_url: "http://server/v1".to_owned(),
        models: Capabilities::new([("m".to_owned(), Model::default())]),
        stream: true,
    };
    Wire::new(options, bytes)
}

fn request() -> LlmRequest {
    let models = Capabilities::new([("m".to_owned(), Model::default())]);
    LlmRequest::builder(models).model("m").prompt("hi").max_tokens(100_000).build().unwrap()
}

type Answer = Result<(Vec<String>, Reply), Error>;

fn ask(who: &dyn Orchestrator) -> Answer {
    let mut pieces = Vec::new();
    let reply = who.answer(&request(), &Cancel::default(), &mut |piece| pieces.push(piece.to_owned()))?;
    Ok((pieces, reply))
}

/// An answer in the form of the expectations.
fn told(answer: &Answer, expected: &Value) -> Value {
    match answer {
        Err(error) => {
            let words = expected["says"].as_str().filter(|words| error.message().contains(words));
            let words = words.map_or_else(|| error.message().to_owned(), str::to_owned);
            json!({"error": error.details()["kind"], "retriable": is_retriable(error), "says": words})
        }
        Ok((_, reply)) => {
            let calls: Vec<Value> =
                reply.tool_calls.iter().map(|call| json!([call.id, call.name, call.arguments])).collect();
            json!({"text": reply.text, "reasoning": reply.reasoning, "calls": calls, "finish": reply.finish, "usage": reply.usage})
        }
    }
}

/// An expectation with the fields that it leaves out.
fn filled(case: &Case, told: &Value) -> Value {
    let mut expected = case.expected.clone();
    let calls = expected.get("calls").is_some();
    let rest = match expected.get("error").is_some() {
        true => json!({"retriable": false}),
        false => {
            json!({"reasoning": "", "calls": [], "finish": if calls { "tool_calls" } else { "stop" }, "usage": told["usage"]})
        }
    };
    let map = expected.as_object_mut().unwrap();
    for (field, value) in rest.as_object().unwrap() {
        map.entry(field.clone()).or_insert_with(|| value.clone());
    }
    expected
}

/// Compares all answers before it fails.
#[track_caller]
fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let answer = ask(&wire(case, usize::MAX));
        let told = told(&answer, &case.expected);
        if told != filled(case, &told) {
            wrong.push(format!("{}: {told}\n    expected {}", case.name, case.expected));
        }
        if let Ok((pieces, reply)) = &answer {
            assert_eq!(pieces.concat(), reply.text, "{}", case.name);
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn no_text_and_no_call_of_a_recorded_reply_is_lost() {
    let cases = recorded();
    assert!(cases.len() > 100);
    check(&cases);
}

#[test]
fn no_text_and_no_call_of_a_variation_is_lost() {
    let cases = own();
    assert!(cases.len() > 200);
    check(&cases);
}

fn all() -> Vec<Case> {
    recorded().into_iter().chain(own()).collect()
}

#[test]
fn the_size_of_the_pieces_changes_nothing() {
    for case in all() {
        for size in [1, 7] {
            let (whole, split) = (ask(&wire(&case, usize::MAX)), ask(&wire(&case, size)));
            assert_eq!(told(&whole, &case.expected), told(&split, &case.expected), "{} by {size}", case.name);
        }
    }
}

#[test]
fn the_name_of_a_form_does_not_matter() {
    for case in all().into_iter().filter(|case| case.dialect != "ollama" && case.body.contains('{')) {
        let mislabelled = over(Bytes { case: case.clone(), size: usize::MAX, is_mislabelled: true });
        let (right, wrong) = (ask(&wire(&case, usize::MAX)), ask(&mislabelled));
        assert_eq!(told(&right, &case.expected), told(&wrong, &case.expected), "{}", case.name);
    }
}

/// A recorded stream that is cut at a byte is whole, or an error that may pass: what was cut off is never a reply.
fn is_cut_well(case: &Case, at: usize) {
    let whole = ask(&wire(case, usize::MAX));
    let at = (0..=at).rev().find(|at| case.body.is_char_boundary(*at)).unwrap();
    let cut = Case { body: case.body[..at].to_owned(), ..case.clone() };
    match (ask(&wire(&cut, usize::MAX)), whole) {
        (Ok((_, cut)), Ok((_, whole))) => {
            // The cost may come after the end of the reply.
            assert_eq!(
                (cut.text, cut.tool_calls, cut.finish),
                (whole.text, whole.tool_calls, whole.finish),
                "{} at {at}",
                case.name
            );
        }
        (Ok((_, cut)), Err(_)) => panic!("{} at {at}: {cut:?}", case.name),
        (Err(error), Ok(_)) => assert!(is_retriable(&error), "{} at {at}: {error}", case.name),
        (Err(_), Err(_)) => {}
    }
}

proptest! {
    #[test]
    fn a_recorded_stream_that_is_cut_is_no_reply(number in 0_usize..1000, part in 0.0..1.0_f64) {
        // Servers that send two reasons, or an error after the first, end twice.
        let ends_twice = ["openrouter", "snowflake"];
        let streams: Vec<Case> = recorded().into_iter().filter(|case| !case.whole && !ends_twice.iter().any(|name| case.name.contains(name))).collect();
        let case = &streams[number % streams.len()];
        // The length of a text is exact here.
        is_cut_well(case, (case.body.len() as f64 * part) as usize);
    }
}

#[test]
fn a_recorded_reply_is_replayed_as_it_was() {
    for case in all() {
        let cassettes =
            |mode, files: &BTreeMap<String, String>| Cassettes::new(mode, files, Box::new(str::to_owned)).unwrap();
        let recording = cassettes(Mode::Record, &BTreeMap::new()).before(wire(&case, usize::MAX));
        let Ok((_, said)) = ask(&recording) else { continue };
        let (_, first) = ask(&wire(&case, usize::MAX)).unwrap();
        assert_eq!(said, first, "{}", case.name);
        let files = recording.recorded().unwrap();
        let (pieces, replayed) = ask(&cassettes(Mode::Replay, &files)).unwrap();
        assert_eq!((&replayed, pieces.concat()), (&said, said.text.clone()), "{}", case.name);
    }
}
