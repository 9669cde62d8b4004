//! Language models over real connections: requests, streams and cassettes; faults and real servers are in submodules.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod faults;
mod live;
mod llama;
mod llmock;
mod run;
mod traps;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
};

use nrv::{
    Code, Error,
    face::toolkit,
    llm::{
        self, Capabilities, Cassettes, Finish, Heuristic, Http, Kind, LlmClient, LlmClientConfig, LlmRequest,
        LlmRequestBuilder, LlmStreamEvent, Mode, Model, Orchestrator, Reply, Retry, Wire, WireOptions, dialect,
    },
    service::apply::ApplyStrategy,
    system::net::{Cancel, Secret, Sender},
};
use serde_json::json;

use crate::support::model::{
    form,
    server::{Answer, ModelServer, STREAM, chunk},
};

const KEY: &str = "sk-canary-0123456789";

fn wire(server: &ModelServer, dialect: &str) -> Wire {
    wire_to(server.base_url(dialect), dialect, capabilities())
}

fn wire_to(base_url: String, dialect: &str, models: Capabilities) -> Wire {
    let options = WireOptions { dialect: dialect::named(dialect).unwrap(), base_url, models, stream: true };
    Wire::new(options, Http::new(Sender::default(), Some(Secret::new(KEY))))
}

/// A client of a server that speaks as most do.
fn chat(server: &ModelServer) -> LlmClient {
    client(wire(server, "openai_chat"))
}

fn client(orchestrator: impl Orchestrator + 'static) -> LlmClient {
    llm::client(LlmClientConfig::new(orchestrator)).unwrap()
}

fn capabilities() -> Capabilities {
    Capabilities::new([("m".to_owned(), Model::default())])
}

fn asking() -> LlmRequestBuilder {
    LlmRequest::builder(capabilities()).model("m").prompt("hi").max_tokens(64)
}

fn request() -> LlmRequest {
    asking().build().unwrap()
}

fn token(text: &str) -> String {
    form::token("openai_chat", text)
}

/// A whole stream of these pieces.
fn streamed(pieces: &[&str]) -> Answer {
    Answer::stream(&form::events("openai_chat", pieces, Finish::Stop))
}

#[test]
fn every_request_has_a_connection_of_its_own() {
    let body = json!({"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]});
    // The server would keep the connection, and closes it just when it is used again.
    let server = ModelServer::answering(Answer::json("200 OK", "keep-alive: timeout=5\r\n", &body));
    let client = chat(&server);
    for _ in 0..3 {
        assert_eq!(client.complete(request()).unwrap().text, "ab");
    }
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn the_first_token_is_there_before_the_second_is_sent() {
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let server = ModelServer::start(move |stream| {
        stream.write_all(&[STREAM.as_bytes(), &chunk(token("first").as_bytes())].concat()).unwrap();
        gone.lock().unwrap().recv().unwrap();
        let rest = form::events("openai_chat", &["second"], Finish::Stop).concat();
        stream.write_all(&chunk(rest.as_bytes())).unwrap();
    });
    let client = chat(&server);
    let handle = client.enqueue(request()).unwrap();
    let mut stream = client.stream(&handle).unwrap();
    let first = stream.find(|event| matches!(event, Ok(LlmStreamEvent::Token { .. }))).unwrap().unwrap();
    assert_eq!(first, LlmStreamEvent::Token { text: "first".to_owned() });
    go.send(()).unwrap();
    let rest: Vec<_> = stream.collect::<Result<_, _>>().unwrap();
    assert!(matches!(rest.last(), Some(LlmStreamEvent::Completed { reply }) if reply.text == "firstsecond"));
}

#[test]
fn cancelling_closes_the_connection() {
    let (closed, is_closed) = mpsc::channel();
    let closed = Mutex::new(closed);
    let server = ModelServer::start(move |stream| {
        stream.write_all(&[STREAM.as_bytes(), &chunk(token("ab").as_bytes())].concat()).unwrap();
        // Nothing more is sent: only a closed connection ends this.
        let end = stream.read(&mut [0; 1]);
        closed.lock().unwrap().send(matches!(end, Ok(0) | Err(_))).unwrap();
    });
    let client = chat(&server);
    let handle = client.enqueue(request()).unwrap();
    let mut stream = client.stream(&handle).unwrap();
    stream.find(|event| matches!(event, Ok(LlmStreamEvent::Token { .. }))).unwrap().unwrap();
    client.cancel(&handle);
    assert_eq!(stream.next().unwrap().unwrap_err().code(), Code::Cancelled);
    assert!(is_closed.recv().unwrap());
    // So does a client that stops reading.
    let handle = client.enqueue(request()).unwrap();
    for event in client.stream(&handle).unwrap() {
        if matches!(event, Ok(LlmStreamEvent::Token { .. })) {
            break;
        }
    }
    assert!(is_closed.recv().unwrap());
}

#[test]
fn retries_are_made_as_the_caller_says_and_told() {
    let busy = form::error("openai_chat", "rate_limit_error", "No.");
    let busy = Answer::json("429 Slow", "retry-after-ms: 5\r\n", &busy);
    let server = ModelServer::serving("openai_chat", [busy.clone(), busy, streamed(&["ab"])]);
    let retry = Retry { on: BTreeSet::from([Kind::RateLimit]), max: 2, wait_ms: 1 };
    let client = chat(&server);
    let handle = client.enqueue(asking().retry(retry).build().unwrap()).unwrap();
    let events: Vec<_> = client.stream(&handle).unwrap().collect::<Result<_, _>>().unwrap();
    let attempts: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            LlmStreamEvent::Started { attempt, .. } => Some(*attempt),
            _ => None,
        })
        .collect();
    assert_eq!((attempts, server.asked().len()), (vec![1, 2, 3], 3));
}

#[test]
fn many_tokens_reach_a_slow_reader_in_order() {
    const ALL: usize = 20_000;
    let server = ModelServer::start(|stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        for from in (0..ALL).step_by(100) {
            let events: String = (from..from + 100).map(|number| token(&format!("{number:0100} "))).collect();
            stream.write_all(&chunk(events.as_bytes())).unwrap();
        }
        let end = form::events("openai_chat", &[], Finish::Stop).concat();
        stream.write_all(&[chunk(end.as_bytes()), b"0\r\n\r\n".to_vec()].concat()).unwrap();
    });
    let client = chat(&server);
    let handle = client.enqueue(request()).unwrap();
    let mut stream = client.stream(&handle).unwrap();
    let (mut next, mut completed) = (0, 0);
    while let Some(batch) = stream.next_batch() {
        for event in batch {
            match event {
                LlmStreamEvent::Token { text } => {
                    assert_eq!(text.trim().parse::<usize>().unwrap(), next);
                    next += 1;
                }
                LlmStreamEvent::Completed { reply } => completed = reply.text.len(),
                _ => {}
            }
        }
    }
    assert_eq!((next, completed), (ALL, ALL * 101));
}

#[test]
fn what_was_recorded_over_the_wire_is_replayed_without_it() {
    let server = ModelServer::answering(streamed(&["a", "b"]));
    let orchestrator = Arc::new(
        Cassettes::new(Mode::Record, &BTreeMap::new(), Box::new(str::to_owned))
            .unwrap()
            .before(wire(&server, "openai_chat")),
    );
    let mut live = Vec::new();
    orchestrator.answer(&request(), &Cancel::default(), &mut |piece| live.push(piece.to_owned())).unwrap();
    let files = orchestrator.recorded().unwrap();
    assert!(!files.values().any(|text| text.contains("canary") || text.contains(&server.address())));
    let replay = client(Cassettes::new(Mode::Replay, &files, Box::new(str::to_owned)).unwrap());
    let handle = replay.enqueue(request()).unwrap();
    let events: Vec<_> = replay.stream(&handle).unwrap().collect::<Result<_, _>>().unwrap();
    let pieces: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            LlmStreamEvent::Token { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!((live, server.asked().len()), (pieces.iter().map(|piece| (*piece).to_owned()).collect(), 1));
}

#[test]
fn a_server_is_asked_what_it_can_do() {
    let models = json!({"data": [{"id": "tiny", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}]});
    let props = json!({"default_generation_settings": {"n_ctx": 2048}, "chat_template_caps": {"supports_tools": true}});
    let answers = [models, props].map(|body| Answer::json("200 OK", "", &body));
    let server = ModelServer::in_turn(answers);
    let capabilities = chat(&server).capabilities().unwrap();
    let tiny = capabilities.model("tiny").unwrap();
    assert_eq!((tiny.context_tokens, tiny.tools), (Some(2048), Some(true)));
    assert!(capabilities.model("m").is_some(), "what is configured stays");
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(asked, ["/v1/models", "/props"]);
}

#[test]
fn a_proxy_is_used_if_it_is_named() {
    let proxy = ModelServer::answering(Answer::text("502 Bad", "", ""));
    let server = ModelServer::answering(streamed(&["ab"]));
    let sender = Sender::default().with_proxy(&format!("http://user:canary@{}", proxy.address())).unwrap();
    assert!(!format!("{sender:?}").contains("canary"));
    let options = WireOptions {
        dialect: dialect::named("openai_chat").unwrap(),
        base_url: server.base_url("openai_chat"),
        models: capabilities(),
        stream: true,
    };
    let error = client(Wire::new(options, Http::new(sender, None))).complete(request()).unwrap_err();
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    assert_eq!((proxy.asked().len(), server.asked().len()), (1, 0));
}

#[test]
fn without_a_model_links_are_moved_and_the_rest_is_refused() {
    let client = client(Heuristic::new(["link_updater".to_owned()]).unwrap());
    let ask = |text: &str| {
        let caps = client.capabilities().unwrap();
        client.complete(LlmRequest::builder(caps).model("heuristic").prompt(text).build().unwrap())
    };
    let plan = llm::parse(&ask("replace old.example with new.example").unwrap().text, None, llm::Fence::Refused);
    assert_eq!(plan.unwrap()["tool_requests"][0]["tool"], "link_updater");
    assert_eq!(llm::kind(&ask("write a poem").unwrap_err()), Some(Kind::Refusal));
}

/// An orchestrator of a program.
struct Mine;

impl Orchestrator for Mine {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        let model = Model { context_tokens: Some(8192), ..Model::default() };
        Ok(Capabilities::new([("meta-llama/llama-3-70b".to_owned(), model)]))
    }

    fn answer(&self, request: &LlmRequest, _: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        on_token("{}");
        Ok(Reply::of_text(request.model(), "{}"))
    }
}

#[test]
fn a_program_brings_its_own_orchestrator() -> Result<(), Error> {
    let my_orchestrator = Mine;
    let client = llm::client(llm::LlmClientConfig::new(my_orchestrator))?;
    let caps = client.capabilities()?;
    let req = llm::LlmRequest::builder(caps).model("meta-llama/llama-3-70b").max_tokens(1024).build()?;
    let handle = client.enqueue(req)?;
    let events: Vec<llm::LlmStreamEvent> = client.stream(&handle)?.collect::<Result<_, _>>()?;
    assert_eq!(events.len(), 4);
    let plan = toolkit::ApplyPlan {
        diffs: vec![toolkit::ScaffoldDiff { path: PathBuf::from("src/main.rs"), checksum: None, diff: "...".into() }],
    };
    let strategy = ApplyStrategy::WriteBackup { backup_suffix: ".bak" };
    assert!(!plan.diffs.is_empty() && format!("{strategy:?}").contains("bak"));
    Ok(())
}
