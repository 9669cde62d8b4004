//! llmock, which has faults of its own.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use nrv::{
    llm::{self, Kind, LlmRequest, Timeouts},
    system::net::{Cancel, Exchange, Method, Sender},
};
use serde_json::{Value, json};

use super::{asking, capabilities, client, wire_to};
use crate::support::{
    model::llama::{installed, start},
    site::Running,
};

/// The dialects that it speaks, with their base URLs.
const SPOKEN: [(&str, &str); 2] = [("anthropic", "/anthropic"), ("openai_chat", "/v1")];

struct Llmock {
    url: String,
    _process: Running,
}

impl Llmock {
    fn start() -> Option<Self> {
        let folder = installed("llmock")?;
        let (process, url) = start(&folder.join("llmock/bin/python"), &["tests/llm/serve_mock.py"]);
        Some(Llmock { url, _process: process })
    }

    /// Sets the fault of the next request.
    fn breaks(&self, behavior: &Value) {
        let url = format!("{}/_llmock/scenario", self.url);
        let body = json!({"behaviors": [behavior]}).to_string();
        let headers = [("content-type", "application/json".to_owned())];
        let exchange = Exchange {
            method: Method::POST,
            url: &url,
            headers: &headers,
            secret: None,
            body: body.as_bytes(),
            read_ms: 10_000,
            total_ms: 10_000,
        };
        let status = Sender::default().send(&exchange, &Cancel::default()).unwrap().status;
        assert!((200..300).contains(&status), "{status}: {behavior}");
    }
}

fn request(read_ms: u64) -> LlmRequest {
    asking().timeouts(Timeouts { read_ms, total_ms: 60_000 }).build().unwrap()
}

#[test]
fn what_it_breaks_is_told_apart() {
    let Some(server) = Llmock::start() else { return };
    let fails = |status: u16| json!({"type": "fail", "status": status, "retry_after": 2});
    let breaks = |kind: &str| json!({"type": "stream_fault", "kind": kind, "after_chunks": 2});
    for (behavior, kind) in [
        (fails(401), Kind::Authentication),
        (fails(429), Kind::RateLimit),
        (fails(500), Kind::Server),
        (fails(503), Kind::Overloaded),
        (fails(529), Kind::Overloaded),
        (breaks("disconnect"), Kind::Truncated),
        (breaks("malformed"), Kind::MalformedJson),
        (breaks("stall"), Kind::Timeout),
        (breaks("truncate"), Kind::Truncated),
    ] {
        for (dialect, path) in SPOKEN {
            server.breaks(&behavior);
            let client = client(wire_to(format!("{}{path}", server.url), dialect, capabilities()));
            let read_ms = if kind == Kind::Timeout { 500 } else { 60_000 };
            let error = client.complete(request(read_ms)).expect_err(&behavior.to_string());
            assert_eq!(llm::kind(&error), Some(kind), "{dialect}, {behavior}: {error:?}");
            let reply = client.complete(request(60_000)).unwrap();
            assert!(!reply.text.is_empty(), "{dialect}: the next request is answered");
        }
    }
}
