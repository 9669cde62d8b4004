//! Faults of servers in every dialect: the right error, and nothing that looks like a reply.

use nrv::llm::{self, Finish, Kind, LlmClient, LlmRequest, LlmStreamEvent, Timeouts};
use serde_json::json;

use super::{KEY, asking, client, request, wire};
use crate::support::{
    long,
    model::{
        fault::{EMPTY_PLAN, FAULTS, RETRY_AFTER_MS},
        form,
        server::{Answer, ModelServer},
    },
};

fn planning(timeouts: Timeouts) -> LlmRequest {
    asking().schema(llm::plan_schema()).timeouts(timeouts).build().unwrap()
}

fn client_of(server: &ModelServer, dialect: &'static str) -> LlmClient {
    client(wire(server, dialect))
}

#[test]
fn every_fault_is_an_error_of_its_kind_in_every_dialect() {
    for fault in FAULTS {
        for dialect in form::dialects() {
            let Some(answer) = (fault.answer)(dialect) else { continue };
            let server = ModelServer::serving(dialect, [answer]);
            let read_ms = if fault.stalls() { 300 } else { 60_000 };
            let request = planning(Timeouts { read_ms, total_ms: 60_000 });
            let error = client_of(&server, dialect).complete(request).expect_err(fault.name);
            let told = (llm::kind(&error), error.code(), error.details()["retriable"] == true);
            assert_eq!(told, (Some(fault.kind), fault.code(), fault.retriable), "{}, {dialect}: {error:?}", fault.name);
            assert!(error.hint_text().is_some() && !format!("{error:?}").contains("canary"), "{error:?}");
            assert_eq!(server.requests().len(), 1, "{}, {dialect}: nobody asked for another try", fault.name);
            let waits = error.details().get("retry_after_ms");
            assert!(waits.is_none_or(|ms| *ms == RETRY_AFTER_MS && fault.retriable), "{error:?}");
        }
    }
}

#[test]
fn the_time_to_wait_is_told() {
    let told = FAULTS.iter().filter(|fault| fault.name.starts_with("a rate limit")).map(|fault| {
        let server = ModelServer::answering((fault.answer)("openai_chat").unwrap());
        client_of(&server, "openai_chat").complete(request()).unwrap_err().details()["retry_after_ms"].clone()
    });
    assert_eq!(told.collect::<Vec<_>>(), [RETRY_AFTER_MS]);
}

#[test]
fn a_request_that_takes_too_long_in_all_is_given_up() {
    let server = ModelServer::answering(Answer::begun(&[form::token("openai_chat", "ab")]).then_hold());
    let error =
        client_of(&server, "openai_chat").complete(planning(Timeouts { read_ms: 60_000, total_ms: 300 })).unwrap_err();
    assert_eq!(llm::kind(&error), Some(Kind::Timeout), "{error:?}");
}

#[test]
fn characters_that_are_cut_at_every_byte_come_whole() {
    let text = "żółć \u{1F600} é";
    for dialect in form::dialects() {
        let server =
            ModelServer::serving(dialect, [Answer::drop_by_drop(&form::events(dialect, &[text], Finish::Stop))]);
        let reply = client_of(&server, dialect).complete(request()).unwrap();
        assert_eq!((reply.text.as_str(), reply.model.as_deref()), (text, Some("served")), "{dialect}");
        assert!(reply.is_of_another_model());
    }
}

#[test]
fn comments_and_empty_lines_that_keep_a_stream_alive_are_no_text() {
    for dialect in form::dialects() {
        let alive =
            if dialect == "ollama" { "\n" } else { ":\n\n: keep-alive\r\n\r\nevent: ping\n\nretry: 10\nid: 7\n\n" };
        let events = form::events(dialect, &["a", "b"], Finish::Stop);
        let events: Vec<&str> = events.iter().flat_map(|event| [alive, event.as_str(), alive]).collect();
        let server = ModelServer::serving(dialect, [Answer::stream(&events)]);
        assert_eq!(client_of(&server, dialect).complete(request()).unwrap().text, "ab", "{dialect}");
    }
}

#[test]
fn a_stream_may_end_with_its_connection_if_the_reason_is_there() {
    for dialect in form::dialects() {
        let events = form::events(dialect, &["a", "b"], Finish::Stop);
        // Not every server sends the last event: the reason that the model stopped is enough.
        if ["anthropic", "openai_chat"].contains(&dialect) {
            let server = ModelServer::serving(dialect, [Answer::stream(&events[..events.len() - 1])]);
            assert_eq!(client_of(&server, dialect).complete(request()).unwrap().text, "ab", "{dialect}");
        }
        let plain = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{}", events.concat());
        // The last line end is forgotten, too.
        let short = Answer::bytes(plain.trim_end());
        for answer in [Answer::bytes(plain.as_str()), short, Answer::begun(&events).then_half_close()] {
            let server = ModelServer::serving(dialect, [answer]);
            assert_eq!(client_of(&server, dialect).complete(request()).unwrap().text, "ab", "{dialect}");
        }
    }
}

#[test]
fn megabytes_of_tokens_come_whole() {
    let (piece, megabytes) = (format!("{:01023} ", 7), long::pick(1, 10));
    for dialect in form::dialects() {
        let events = form::events(dialect, &vec![piece.as_str(); megabytes << 10], Finish::Stop);
        let server = ModelServer::serving(dialect, [Answer::stream(&[events.concat()])]);
        let client = client_of(&server, dialect);
        let handle = client.enqueue(request()).unwrap();
        let (mut length, mut replied) = (0, 0);
        for event in client.stream(&handle).unwrap() {
            match event.unwrap() {
                LlmStreamEvent::Token { text } => length += text.len(),
                LlmStreamEvent::Completed { reply } => replied = reply.text.len(),
                _ => {}
            }
        }
        assert_eq!((length, replied), (megabytes << 20, megabytes << 20), "{dialect}");
    }
}

#[test]
fn a_redirect_to_another_host_is_refused() {
    for dialect in form::dialects() {
        let other = ModelServer::serving(dialect, [Answer::stream(&form::events(dialect, &["ab"], Finish::Stop))]);
        for status in ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"] {
            let location = format!("location: {}\r\n", other.base_url(dialect));
            let server = ModelServer::answering(Answer::text(status, &location, ""));
            let error = client_of(&server, dialect).complete(request()).unwrap_err();
            assert!(error.message().contains("redirects"), "{error}");
        }
        assert!(other.asked().is_empty(), "the key would have gone with it");
    }
}

#[test]
fn the_key_is_in_its_header_and_nowhere_else() {
    let echo = format!("Incorrect key: {KEY}");
    for dialect in form::dialects() {
        let [header, other] = match dialect {
            "anthropic" => [format!("x-api-key: {KEY}"), "authorization".to_owned()],
            _ => [format!("authorization: bearer {KEY}"), "x-api-key".to_owned()],
        };
        let events = [form::token(dialect, "a"), form::error_event(dialect, "authentication_error", &echo)];
        for answer in [
            Answer::json("401 No", "", &form::error(dialect, "authentication_error", &echo)),
            Answer::text("500 Oh", "", &echo),
            Answer::text("307 To", &format!("location: http://127.0.0.1:1/?key={KEY}\r\n"), ""),
            Answer::text("200 OK", "content-type: application/json\r\n", &echo),
            Answer::stream(&events),
            Answer::stream(&[format!("data: {{\"{KEY}\n\n")]),
        ] {
            let server = ModelServer::serving(dialect, [answer]);
            let error = client_of(&server, dialect).complete(request()).unwrap_err();
            assert!(!format!("{error:?}").contains("canary"), "{dialect}: {error:?}");
            let asked = server.requests().remove(0);
            assert!(asked.head.contains(&header) && !asked.head.contains(&other), "{}", asked.head);
            assert!(!asked.body.contains("canary") && !asked.path.contains("canary"));
        }
    }
}

#[test]
fn a_server_that_does_not_stream_is_read_all_the_same() {
    for dialect in form::dialects() {
        let server = ModelServer::serving(
            dialect,
            [Answer::json("200 OK", "", &form::whole(dialect, EMPTY_PLAN, Finish::Stop))],
        );
        let reply = client_of(&server, dialect).complete(planning(Timeouts::default())).unwrap();
        assert_eq!(reply.value, Some(json!({"diffs": []})), "{dialect}");
    }
}

#[test]
fn a_head_without_an_end_is_no_answer() {
    let line = format!("x-{}: y\r\n", "x".repeat(1000));
    let server = ModelServer::answering(Answer::bytes(format!("HTTP/1.1 200 OK\r\n{}", line.repeat(1000))));
    let error = client_of(&server, "openai_chat").complete(request()).unwrap_err();
    assert_eq!(llm::kind(&error), Some(Kind::Server), "{error:?}");
}
