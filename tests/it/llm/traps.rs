//! Unexpected behaviour of model servers, each as it was observed.

use nrv::llm::{self, Finish, Kind, Tool, ToolChoice};
use serde_json::{Value, json};

use super::{asking, client, request, wire};
use crate::support::model::{
    form,
    server::{Answer, ModelServer},
};

fn replying(dialect: &'static str, text: &str, finish: Finish) -> ModelServer {
    ModelServer::serving(dialect, [Answer::json("200 OK", "", &form::whole(dialect, text, finish))])
}

#[test]
fn a_schema_that_a_server_passes_over_is_noticed() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}});
    for dialect in form::dialects() {
        let asked = |text: &str, finish| {
            let server = replying(dialect, text, finish);
            client(wire(&server, dialect)).complete(asking().schema(schema.clone()).build().unwrap())
        };
        assert_eq!(llm::kind(&asked("VVVVVVVV", Finish::Stop).unwrap_err()), Some(Kind::MalformedJson), "{dialect}");
        let error = asked("{\"a\": \"x\"}", Finish::Stop).unwrap_err();
        assert_eq!(
            (llm::kind(&error), &error.details()["violations"][0]["pointer"]),
            (Some(Kind::Schema), &json!("/a"))
        );
        assert_eq!(llm::kind(&asked("{\"a\":", Finish::Length).unwrap_err()), Some(Kind::Truncated), "{dialect}");
        assert_eq!(asked("{\"a\": 1}", Finish::Stop).unwrap().value, Some(json!({"a": 1})));
    }
}

#[test]
fn tools_that_had_to_be_called_and_were_not_are_an_error() {
    let parameters = json!({"type": "object"});
    let tool = Tool { name: "weather".to_owned(), description: "Tells it.".to_owned(), parameters };
    let asked = asking().tool(tool).tool_choice(ToolChoice::Required).build().unwrap();
    for dialect in form::dialects() {
        let server = replying(dialect, "<tool_call><tool_call>", Finish::Stop);
        let error = client(wire(&server, dialect)).complete(asked.clone()).unwrap_err();
        assert_eq!(llm::kind(&error), Some(Kind::ToolChoice), "{dialect}: {error:?}");
        let server = replying(dialect, "<tool_call><tool_call>", Finish::Length);
        let error = client(wire(&server, dialect)).complete(asked.clone()).unwrap_err();
        assert_eq!(llm::kind(&error), Some(Kind::Truncated), "{dialect}: {error:?}");
    }
}

#[test]
fn another_model_than_the_one_asked_for_is_told() {
    for dialect in form::dialects() {
        let server = replying(dialect, "ab", Finish::Stop);
        let reply = client(wire(&server, dialect)).complete(request()).unwrap();
        assert_eq!((reply.model_requested.as_str(), reply.model.as_deref()), ("m", Some("served")), "{dialect}");
    }
}

#[test]
fn tokens_are_counted_alike() {
    for dialect in form::dialects() {
        let streamed = Answer::stream(&form::events(dialect, &["ab"], Finish::Stop));
        let whole = Answer::json("200 OK", "", &form::whole(dialect, "ab", Finish::Stop));
        for answer in [streamed, whole] {
            let server = ModelServer::serving(dialect, [answer]);
            let usage = client(wire(&server, dialect)).complete(request()).unwrap().usage;
            // Ollama reports no cache.
            let cached = (dialect != "ollama").then_some(8);
            assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (Some(10), cached, Some(5)));
        }
    }
}

#[test]
fn no_connection_is_used_twice() {
    for dialect in form::dialects() {
        let body = form::whole(dialect, "ab", Finish::Stop);
        // The server would keep the connection.
        let answer = Answer::json("200 OK", "connection: keep-alive\r\nkeep-alive: timeout=5\r\n", &body);
        let server = ModelServer::serving(dialect, [answer]);
        let client = client(wire(&server, dialect));
        for _ in 0..3 {
            assert_eq!(client.complete(request()).unwrap().text, "ab");
        }
        // Every connection of this server answers once.
        assert_eq!(server.requests().len(), 3, "{dialect}");
    }
}

#[test]
fn limits_of_length_are_not_sent_but_hold() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {
        "a": {"type": "string", "maxLength": 3}, "b": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}});
    for dialect in form::dialects() {
        let server = replying(dialect, "{\"a\": \"four\", \"b\": null}", Finish::Stop);
        let asked = asking().schema(schema.clone()).build().unwrap();
        let error = client(wire(&server, dialect)).complete(asked).unwrap_err();
        assert_eq!(llm::kind(&error), Some(Kind::Schema), "{dialect}");
        let body: Value = serde_json::from_str(&server.requests()[0].body).unwrap();
        let sent = body.to_string();
        assert!(!sent.contains("maxLength") && sent.contains("\"required\":[\"a\",\"b\"]"), "{dialect}: {sent}");
        assert!(!sent.contains("guided_json"), "{dialect}: a removed name that is passed over without a word");
    }
}

#[test]
fn a_plan_is_asked_for_without_what_the_host_knows_better() {
    for dialect in form::dialects() {
        let server = replying(dialect, "{\"diffs\":[]}", Finish::Stop);
        client(wire(&server, dialect)).complete(asking().schema(llm::plan_schema()).build().unwrap()).unwrap();
        assert!(!server.requests()[0].body.contains("checksum"), "{dialect}: a weak model makes one up");
    }
}

#[test]
fn the_size_of_the_context_is_sent_to_ollama() {
    let server = replying("ollama", "ab", Finish::Stop);
    let client = client(wire(&server, "ollama"));
    let caps = client.capabilities().unwrap();
    let asked = llm::LlmRequest::builder(caps).model("m").prompt("hi").max_tokens(64).build().unwrap();
    client.complete(asked).unwrap();
    let request = server.requests().remove(0);
    assert_eq!(request.path, "/api/chat", "its `/v1` has no word for the context");
    assert!(request.body.contains("\"num_ctx\":8192"), "{}", request.body);
}
