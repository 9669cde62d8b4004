//! A real server: llama.cpp's. These tests record its deviations from requests.

use nrv::{
    Code,
    llm::{
        self, Capabilities, Fence, Kind, LlmClient, LlmRequest, LlmRequestBuilder, LlmStreamEvent, Model, Tool,
        ToolChoice,
    },
};
use serde_json::json;

use super::{client, wire_to};
use crate::support::model::llama::Llama;

/// The dialects that it speaks.
const SPOKEN: [&str; 3] = ["anthropic", "openai_chat", "openai_responses"];

fn client_of(server: &Llama, dialect: &str) -> LlmClient {
    client(wire_to(server.base_url(dialect), dialect, known("tiny")))
}

/// Capabilities with nothing but a name.
fn known(model: &str) -> Capabilities {
    Capabilities::new([(model.to_owned(), Model::default())])
}

fn asking(text: &str) -> LlmRequestBuilder {
    LlmRequest::builder(known("tiny")).model("tiny").prompt(text).max_tokens(16).temperature(0.0).seed(1)
}

#[test]
fn a_server_says_what_its_model_can_do() {
    let Some(server) = Llama::shared() else { return };
    let client = client(wire_to(server.base_url("openai_chat"), "openai_chat", Capabilities::default()));
    let capabilities = client.capabilities().unwrap();
    let tiny = capabilities.model("tiny").unwrap();
    assert_eq!((tiny.context_tokens, tiny.structured_output), (Some(2048), Some(true)), "{tiny:?}");
    // So a request that can't be served is not sent.
    let unknown = LlmRequest::builder(capabilities.clone()).model("large").prompt("hi").max_tokens(4).build();
    assert_eq!(
        (unknown.as_ref().unwrap_err().code(), &unknown.unwrap_err().details()["field"]),
        (Code::InvalidInput, &json!("model"))
    );
    let long = LlmRequest::builder(capabilities).model("tiny").prompt("hi").max_tokens(4096).build().unwrap_err();
    assert_eq!(long.details()["field"], "max_tokens");
}

#[test]
fn text_comes_in_pieces_in_every_dialect() {
    let Some(server) = Llama::shared() else { return };
    for dialect in SPOKEN {
        let client = client_of(server, dialect);
        let handle = client.enqueue(asking("say something").build().unwrap()).unwrap();
        let events: Vec<LlmStreamEvent> = client.stream(&handle).unwrap().map(Result::unwrap).collect();
        let pieces: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                LlmStreamEvent::Token { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let Some(LlmStreamEvent::Completed { reply }) = events.last() else { panic!("{dialect}: {events:?}") };
        assert!(pieces.len() > 4 && !reply.text.is_empty(), "{dialect}: {pieces:?}");
        assert_eq!((pieces.concat(), reply.model.as_deref()), (reply.text.clone(), Some("tiny")), "{dialect}");
        assert_eq!(reply.usage.output_tokens, Some(16), "{dialect}: {reply:?}");
    }
}

#[test]
fn tokens_are_counted_alike_whatever_the_cache_holds() {
    let Some(server) = Llama::shared() else { return };
    let counted = SPOKEN.map(|dialect| {
        let ask = || client_of(server, dialect).complete(asking("how long is this?").build().unwrap()).unwrap().usage;
        let (first, second) = (ask(), ask());
        assert!(second.cached_tokens > Some(0) && second.cached_tokens < second.input_tokens, "{dialect}: {second:?}");
        assert_eq!(first.input_tokens, second.input_tokens, "{dialect}");
        second.input_tokens
    });
    assert!(counted.iter().all(|count| *count == counted[0]), "{counted:?}");
}

#[test]
fn a_plan_that_a_schema_asks_for_is_one() {
    let Some(server) = Llama::shared() else { return };
    let mut plans = 0;
    for seed in 1..=8 {
        let request = asking("plan").schema(llm::plan_schema()).temperature(1.0).seed(seed).max_tokens(1500).build();
        // Its text in a plan is noise, and may need more than the permitted tokens.
        match client_of(server, "openai_chat").complete(request.unwrap()) {
            Err(error) => assert_eq!(llm::kind(&error), Some(Kind::Truncated), "{error:?}"),
            Ok(reply) => {
                let plan = llm::parse_plan(&reply.text, Fence::Refused).unwrap();
                assert_eq!(Some(&plan["diffs"]), reply.value.as_ref().map(|value| &value["diffs"]), "{}", reply.text);
                plans += 1;
            }
        }
    }
    assert!(plans > 2, "{plans} plans");
}

#[test]
fn a_schema_that_is_passed_over_is_found_here() {
    let Some(server) = Llama::shared() else { return };
    for (dialect, kind) in [("anthropic", Kind::Truncated), ("openai_responses", Kind::Truncated)] {
        let request = asking("plan").schema(llm::plan_schema()).max_tokens(100).build().unwrap();
        let error = client_of(server, dialect).complete(request).unwrap_err();
        assert_eq!((llm::kind(&error), error.code()), (Some(kind), Code::ModelFailed), "{dialect}: {error:?}");
        assert!(!error.details()["reply"].as_str().unwrap().starts_with('{'), "{error:?}");
    }
}

#[test]
fn a_wrong_name_is_served_by_what_is_loaded_and_told() {
    let Some(server) = Llama::shared() else { return };
    for dialect in SPOKEN {
        let client = client(wire_to(server.base_url(dialect), dialect, known("large")));
        let request = LlmRequest::builder(known("large")).model("large").prompt("hi").max_tokens(4).build().unwrap();
        let reply = client.complete(request).unwrap();
        let names = (reply.model_requested.as_str(), reply.model.as_deref());
        assert_eq!((names, reply.is_of_another_model()), (("large", Some("tiny")), true), "{dialect}");
    }
}

#[test]
fn a_prompt_that_is_too_long_is_told_apart() {
    let Some(server) = Llama::shared() else { return };
    for dialect in SPOKEN {
        let error = client_of(server, dialect).complete(asking(&"0 ".repeat(4000)).build().unwrap()).unwrap_err();
        assert_eq!(llm::kind(&error), Some(Kind::ContextOverflow), "{dialect}: {error:?}");
    }
}

#[test]
fn a_tool_that_had_to_be_called_and_was_not_is_an_error() {
    let Some(server) = Llama::shared() else { return };
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = Tool { name: "weather".to_owned(), description: "Tells it.".to_owned(), parameters };
    let asked = asking("weather?").tool(tool).tool_choice(ToolChoice::Required);
    // It always gives the same text, and a stop word in it makes that a complete reply.
    for (request, kind) in [(asked.clone().stop("VVV"), Kind::ToolChoice), (asked, Kind::Truncated)] {
        let error = client_of(server, "openai_chat").complete(request.build().unwrap()).unwrap_err();
        assert_eq!((llm::kind(&error), error.code()), (Some(kind), Code::ModelFailed), "{error:?}");
    }
}

#[test]
fn a_dialect_that_it_does_not_speak_is_an_error() {
    let Some(server) = Llama::shared() else { return };
    let error = client_of(server, "ollama").complete(asking("hi").build().unwrap()).unwrap_err();
    assert_eq!((llm::kind(&error), &error.details()["status"]), (Some(Kind::Server), &json!(404)), "{error:?}");
}

#[test]
fn a_server_that_was_stopped_can_not_be_reached() {
    let Some(server) = Llama::start() else { return };
    let client = client_of(&server, "openai_chat");
    client.complete(asking("hi").build().unwrap()).unwrap();
    drop(server);
    let error = client.complete(asking("hi").build().unwrap()).unwrap_err();
    assert_eq!(llm::kind(&error), Some(Kind::Unreachable), "{error:?}");
}

#[test]
fn a_model_that_has_learnt_something_answers_in_words_and_keeps_to_a_schema() {
    let Some(server) = Llama::start_large() else { return };
    let client = client(wire_to(server.base_url("openai_chat"), "openai_chat", Capabilities::default()));
    let asking = |text: &str| {
        let capabilities = client.capabilities().unwrap();
        LlmRequest::builder(capabilities).model("smollm2").prompt(text).max_tokens(64).temperature(0.0).seed(1)
    };
    let reply = client.complete(asking("What is the capital of France?").build().unwrap()).unwrap();
    // Words, if not the right ones.
    let words = reply.text.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).count();
    assert!(words > 4 && reply.usage.output_tokens.is_some_and(|tokens| tokens > 4), "{reply:?}");
    let schema = json!({"type": "object", "required": ["city"], "additionalProperties": false,
                        "properties": {"city": {"enum": ["Berlin", "Paris", "Rome"]}}});
    let request = asking("What is the capital of France?").schema(schema).build().unwrap();
    let value = client.complete(request).unwrap().value.unwrap();
    assert!(["Berlin", "Paris", "Rome"].contains(&value["city"].as_str().unwrap()), "{value}");
}
