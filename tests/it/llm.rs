//! Language models over real connections: a server on the loopback interface that sends exact bytes, right and wrong ones.
#![expect(clippy::disallowed_methods, reason = "tests listen")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
};

use nrv::{
    Code, Error,
    apply::ApplyStrategy,
    llm::{
        self, Capabilities, Cassettes, Heuristic, Http, Kind, LlmClient, LlmClientConfig, LlmRequest,
        LlmRequestBuilder, LlmStreamEvent, Mode, Model, Orchestrator, Reply, Retry, Timeouts, Wire, WireOptions,
        dialect,
    },
    net::{Cancel, Secret, Sender},
    toolkit,
};
use serde_json::{Value, json};

const KEY: &str = "sk-canary-0123456789";

/// Answers every connection with a script, and remembers what was asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    /// The script gets the number of the connection, from 0.
    fn start(script: impl Fn(usize, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let (heard, script) = (Arc::clone(&asked), Arc::new(script));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (heard, script) = (Arc::clone(&heard), Arc::clone(&script));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    heard.lock().unwrap().push(read_request(&stream));
                    script(number, &mut stream);
                });
            }
        });
        Server { address, asked }
    }

    /// Always answers this.
    fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Server::start(move |_, stream| drop(stream.write_all(&bytes)))
    }

    fn wire(&self, dialect: &str) -> Wire {
        let (base_url, models) = (format!("http://{}/v1", self.address), capabilities());
        let options = WireOptions { dialect: dialect::named(dialect).unwrap(), base_url, models, stream: true };
        Wire::new(options, Http::new(Sender::default(), Some(Secret::new(KEY))))
    }

    fn client(&self) -> LlmClient {
        client(self.wire("openai_chat"))
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|n| n > 0) {}
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
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

fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn json_response(status: &str, headers: &str, body: &Value) -> String {
    response(status, &format!("content-type: application/json\r\n{headers}"), &body.to_string())
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn token(text: &str) -> String {
    format!("data: {}\n\n", json!({"model": "served", "choices": [{"delta": {"content": text}}]}))
}

const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A stream of events, each in its chunk, which ends as HTTP wants it.
fn streamed(events: &[&str]) -> Vec<u8> {
    let chunks = events.iter().flat_map(|event| chunk(event.as_bytes()));
    STREAM.bytes().chain(chunks).chain(*b"0\r\n\r\n").collect()
}

#[track_caller]
fn fails(server: &Server, expected: Kind, retriable: bool) -> Error {
    let error = server.client().complete(request()).unwrap_err();
    assert_eq!((llm::kind(&error), &error.details()["retriable"]), (Some(expected), &json!(retriable)), "{error:?}");
    let code = if retriable { (Code::ModelUnavailable, 75) } else { (Code::ModelFailed, 1) };
    assert_eq!((error.code(), error.code().exit_code()), code);
    assert!(error.hint_text().is_some() && !format!("{error:?}").contains("canary"), "{error:?}");
    error
}

#[test]
fn statuses_are_errors_with_their_kinds() {
    let told = |kind: &str| json!({"error": {"type": kind, "message": "No."}});
    for (status, headers, body, expected) in [
        ("429 Too Many Requests", "retry-after: 2\r\n", told("rate_limit_error"), (Kind::RateLimit, true)),
        ("429 Too Many Requests", "", told("rate_limit_error"), (Kind::RateLimit, false)),
        ("500 Oh", "", told("server_error"), (Kind::Server, true)),
        ("529 ", "", told("overloaded_error"), (Kind::Overloaded, true)),
        ("400 Bad", "", told("exceed_context_size_error"), (Kind::ContextOverflow, false)),
    ] {
        let error = fails(&Server::answering(json_response(status, headers, &body)), expected.0, expected.1);
        let waits = headers.contains('2').then(|| json!(2000));
        assert_eq!(error.details().get("retry_after_ms"), waits.as_ref(), "{status}");
    }
}

#[test]
fn the_key_is_in_its_header_and_nowhere_else() {
    let echo = json!({"error": {"type": "authentication_error", "message": format!("Incorrect key: {KEY}")}});
    let server = Server::answering(json_response("401 No", "", &echo));
    let error = fails(&server, Kind::Authentication, false);
    assert!(error.message().contains("[key]"), "{error}");
    client(server.wire("anthropic")).complete(request()).unwrap_err();
    let asked = server.asked();
    assert!(asked[0].0.contains(&format!("authorization: bearer {KEY}")), "{}", asked[0].0);
    assert!(asked[1].0.contains(&format!("x-api-key: {KEY}")) && asked[1].0.contains("anthropic-version: 2023-06-01"));
    assert!(asked.iter().all(|(_, body)| !body.contains("canary")));
    assert!(!format!("{:?}", Http::new(Sender::default(), Some(Secret::new(KEY)))).contains("canary"));
}

#[test]
fn streams_that_break_are_never_replies() {
    let half = token("ab");
    let (head, tail) = half.split_at(half.len() / 2);
    let cut = |bytes: &[u8]| Server::answering([STREAM.as_bytes(), &chunk(half.as_bytes()), bytes].concat());
    fails(&Server::answering(streamed(&[&half])), Kind::Truncated, true);
    fails(&Server::answering(streamed(&[&half, STOP])), Kind::Truncated, true);
    fails(&cut(b""), Kind::Truncated, true);
    fails(&cut(&chunk(head.as_bytes())), Kind::Truncated, true);
    fails(&cut(b"zz\r\nno chunk\r\n"), Kind::Server, true);
    fails(&Server::answering(streamed(&[&half, "data: {\"choices\":[{\n\n", STOP, DONE])), Kind::MalformedJson, true);
    fails(&Server::answering(streamed(&[head, "\n\n", tail, DONE])), Kind::MalformedJson, true);
    let error = "data: {\"error\":{\"type\":\"server_error\",\"message\":\"slot lost\"}}\n\n";
    fails(&Server::answering(streamed(&[&half, error, DONE])), Kind::Server, true);
    fails(&Server::answering("SSH-2.0-OpenSSH\r\n\r\n"), Kind::Server, true);
}

#[test]
fn a_stalled_stream_is_given_up() {
    let (sender, held) = (Mutex::new(Vec::new()), token("ab"));
    let server = Server::start(move |_, stream| {
        stream.write_all(&[STREAM.as_bytes(), &chunk(held.as_bytes())].concat()).unwrap();
        sender.lock().unwrap().push(stream.try_clone().unwrap());
    });
    let slow = asking().timeouts(Timeouts { read_ms: 200, total_ms: 60_000 }).build().unwrap();
    let error = server.client().complete(slow).unwrap_err();
    assert_eq!((llm::kind(&error), error.code()), (Some(Kind::Timeout), Code::ModelUnavailable), "{error:?}");
    let hurried = asking().timeouts(Timeouts { read_ms: 60_000, total_ms: 200 }).build().unwrap();
    assert_eq!(llm::kind(&server.client().complete(hurried).unwrap_err()), Some(Kind::Timeout));
}

#[test]
fn characters_that_are_split_come_whole() {
    let text = "żółć \u{1F600} é";
    let events = [":keep-alive\r\n\r\n", &token(text).replace("\n\n", "\r\n\r\n"), STOP, DONE].concat();
    let bytes = events.into_bytes();
    let server = Server::start(move |_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        for byte in &bytes {
            stream.write_all(&chunk(&[*byte])).unwrap();
            stream.flush().unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let reply = server.client().complete(request()).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_deref()), (text, Some("served")));
    assert!(reply.is_of_another_model());
}

#[test]
fn a_reply_that_is_not_what_was_asked_for_is_an_error() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}});
    let asked = |text: &str, word: &str| {
        let end = format!("data: {}\n\n", json!({"choices": [{"delta": {}, "finish_reason": word}]}));
        let server = Server::answering(streamed(&[&token(text), &end, DONE]));
        server.client().complete(asking().schema(schema.clone()).build().unwrap())
    };
    let kind = |text: &str, word: &str| llm::kind(&asked(text, word).unwrap_err());
    assert_eq!(kind("Here you are", "stop"), Some(Kind::MalformedJson));
    assert_eq!(kind("{\"a\": \"x\"}", "stop"), Some(Kind::Schema));
    assert_eq!(kind("{\"a\":", "length"), Some(Kind::Truncated));
    assert_eq!(kind("", "content_filter"), Some(Kind::Refusal));
    assert_eq!(asked("{\"a\": 1}", "stop").unwrap().value, Some(json!({"a": 1})));
}

#[test]
fn a_redirect_to_another_host_is_refused() {
    let other = Server::answering(streamed(&[&token("ab"), STOP, DONE]));
    let location = format!("location: http://{}/v1/chat/completions\r\n", other.address);
    for status in ["301 Moved", "307 Temporary", "308 Permanent"] {
        let error = fails(&Server::answering(response(status, &location, "")), Kind::Server, false);
        assert!(error.message().contains("redirects"), "{error}");
    }
    assert!(other.asked().is_empty(), "the key would have gone with it");
}

#[test]
fn every_request_has_a_connection_of_its_own() {
    let body = json!({"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]});
    // The server would keep the connection, and closes it just when it is used again.
    let server = Server::answering(json_response("200 OK", "keep-alive: timeout=5\r\n", &body));
    let client = server.client();
    for _ in 0..3 {
        assert_eq!(client.complete(request()).unwrap().text, "ab");
    }
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn the_first_token_is_there_before_the_second_is_sent() {
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let server = Server::start(move |_, stream| {
        stream.write_all(&[STREAM.as_bytes(), &chunk(token("first").as_bytes())].concat()).unwrap();
        gone.lock().unwrap().recv().unwrap();
        stream
            .write_all(&[chunk(token("second").as_bytes()), chunk((STOP.to_owned() + DONE).as_bytes())].concat())
            .unwrap();
    });
    let client = server.client();
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
    let server = Server::start(move |_, stream| {
        stream.write_all(&[STREAM.as_bytes(), &chunk(token("ab").as_bytes())].concat()).unwrap();
        // Nothing more is sent: only a closed connection ends this.
        let end = stream.read(&mut [0; 1]);
        closed.lock().unwrap().send(matches!(end, Ok(0) | Err(_))).unwrap();
    });
    let client = server.client();
    let handle = client.enqueue(request()).unwrap();
    let mut stream = client.stream(&handle).unwrap();
    stream.find(|event| matches!(event, Ok(LlmStreamEvent::Token { .. }))).unwrap().unwrap();
    client.cancel(&handle);
    assert_eq!(stream.next().unwrap().unwrap_err().code(), Code::Cancelled);
    assert!(is_closed.recv().unwrap());
    // So does whoever stops reading.
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
    let busy = json_response("429 Slow", "retry-after-ms: 5\r\n", &json!({"error": {"type": "rate_limit_error"}}));
    let good = streamed(&[&token("ab"), STOP, DONE]);
    let server = Server::start(move |number, stream| {
        stream.write_all(if number < 2 { busy.as_bytes() } else { &good }).unwrap();
    });
    let retry = Retry { on: BTreeSet::from([Kind::RateLimit]), max: 2, wait_ms: 1 };
    let client = server.client();
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
    let server = Server::start(|_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        for from in (0..ALL).step_by(100) {
            let events: String = (from..from + 100).map(|number| token(&format!("{number:0100} "))).collect();
            stream.write_all(&chunk(events.as_bytes())).unwrap();
        }
        stream.write_all(&[chunk((STOP.to_owned() + DONE).as_bytes()), b"0\r\n\r\n".to_vec()].concat()).unwrap();
    });
    let client = server.client();
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
    let server = Server::answering(streamed(&[&token("a"), &token("b"), STOP, DONE]));
    let orchestrator = Arc::new(
        Cassettes::new(Mode::Record, &BTreeMap::new(), Box::new(str::to_owned))
            .unwrap()
            .before(server.wire("openai_chat")),
    );
    let mut live = Vec::new();
    orchestrator.answer(&request(), &Cancel::default(), &mut |piece| live.push(piece.to_owned())).unwrap();
    let files = orchestrator.recorded().unwrap();
    assert!(!files.values().any(|text| text.contains("canary") || text.contains(&server.address)));
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
    let server = Server::start(move |number, stream| {
        let body = if number == 0 { &models } else { &props };
        stream.write_all(json_response("200 OK", "", body).as_bytes()).unwrap();
    });
    let capabilities = server.client().capabilities().unwrap();
    let tiny = capabilities.model("tiny").unwrap();
    assert_eq!((tiny.context_tokens, tiny.tools), (Some(2048), Some(true)));
    assert!(capabilities.model("m").is_some(), "what is configured stays");
    let asked: Vec<String> = server.asked().iter().map(|(head, _)| head.lines().next().unwrap().to_owned()).collect();
    assert_eq!(asked, ["get /v1/models http/1.1", "get /props http/1.1"]);
}

#[test]
fn a_proxy_is_used_if_it_is_named() {
    let proxy = Server::answering("HTTP/1.1 502 Bad\r\ncontent-length: 0\r\n\r\n");
    let server = Server::answering(streamed(&[&token("ab"), STOP, DONE]));
    let sender = Sender::default().with_proxy(&format!("http://user:canary@{}", proxy.address)).unwrap();
    assert!(!format!("{sender:?}").contains("canary"));
    let options = WireOptions {
        dialect: dialect::named("openai_chat").unwrap(),
        base_url: format!("http://{}/v1", server.address),
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
