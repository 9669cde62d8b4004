//! Replies, errors and lists of models as a server of each dialect writes them.

use nrv::llm::{Finish, dialect};
use serde_json::{Value, json};

/// The names of all dialects.
pub(crate) fn dialects() -> impl Iterator<Item = &'static str> {
    dialect::PROVIDERS.iter().map(|dialect| dialect.name())
}

/// True for the paths of requests for a reply.
pub(crate) fn is_request(path: &str) -> bool {
    dialect::PROVIDERS.iter().any(|dialect| path.ends_with(dialect.path()))
}

fn sse(name: Option<&str>, data: &Value) -> String {
    let name = name.map_or(String::new(), |name| format!("event: {name}\n"));
    format!("{name}data: {data}\n\n")
}

/// Anthropic's events repeat their type as their name.
fn typed(data: &Value) -> String {
    sse(data["type"].as_str(), data)
}

/// The events of a streamed reply in these pieces, as they are sent. The last one marks the end; without it the stream is
/// incomplete.
pub(crate) fn events(dialect: &str, pieces: &[&str], finish: Finish) -> Vec<String> {
    let tokens = pieces.iter().map(|piece| token(dialect, piece));
    let text = pieces.concat();
    let (begin, end) = match dialect {
        "anthropic" => (
            vec![
                typed(&json!({"type": "message_start", "message": {"type": "message", "model": "served",
                              "usage": {"cache_read_input_tokens": 8, "input_tokens": 2, "output_tokens": 0}}})),
                typed(
                    &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                ),
            ],
            vec![
                typed(&json!({"type": "content_block_stop", "index": 0})),
                typed(&json!({"type": "message_delta", "delta": {"stop_reason": word(dialect, finish)},
                              "usage": {"output_tokens": 5}})),
                typed(&json!({"type": "message_stop"})),
            ],
        ),
        "ollama" => (Vec::new(), vec![format!("{}\n", whole(dialect, "", finish))]),
        "openai_chat" => (
            Vec::new(),
            vec![
                sse(None, &json!({"choices": [{"delta": {}, "finish_reason": word(dialect, finish)}]})),
                sse(None, &json!({"choices": [], "usage": usage(dialect)})),
                "data: [DONE]\n\n".to_owned(),
            ],
        ),
        "openai_responses" => {
            let response = whole(dialect, &text, finish);
            let kind = if response["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
            let created = json!({"type": "response.created", "response": {"status": "in_progress"}});
            (vec![typed(&created)], vec![typed(&json!({"type": kind, "response": response}))])
        }
        _ => unreachable!("`{dialect}` is no dialect"),
    };
    begin.into_iter().chain(tokens).chain(end).collect()
}

/// The events of a streamed reply that calls one tool and says nothing.
pub(crate) fn calling(dialect: &str, tool: &str, arguments: &Value) -> Vec<String> {
    let text = arguments.to_string();
    let mut events = events(dialect, &[], Finish::ToolCalls);
    let call = match dialect {
        "anthropic" => {
            let block = json!({"type": "tool_use", "id": "c1", "name": tool, "input": {}});
            let delta = json!({"type": "input_json_delta", "partial_json": text});
            [
                typed(&json!({"type": "content_block_start", "index": 1, "content_block": block})),
                typed(&json!({"type": "content_block_delta", "index": 1, "delta": delta})),
                typed(&json!({"type": "content_block_stop", "index": 1})),
            ]
            .concat()
        }
        "ollama" => {
            let call = json!({"function": {"name": tool, "arguments": arguments}});
            let message = json!({"role": "assistant", "content": "", "tool_calls": [call]});
            format!("{}\n", json!({"model": "served", "message": message, "done": false}))
        }
        "openai_chat" => {
            let call =
                json!({"index": 0, "id": "c1", "type": "function", "function": {"name": tool, "arguments": text}});
            sse(None, &json!({"model": "served", "choices": [{"delta": {"tool_calls": [call]}}]}))
        }
        "openai_responses" => {
            let item = json!({"type": "function_call", "call_id": "c1", "name": tool, "arguments": text});
            let response = json!({"status": "completed", "model": "served", "output": [item], "usage": usage(dialect)});
            events.pop();
            events.push(typed(&json!({"type": "response.completed", "response": response})));
            typed(&json!({"type": "response.output_item.done", "item": item}))
        }
        _ => unreachable!("`{dialect}` is no dialect"),
    };
    // Before the events that end the reply.
    let at = if dialect == "anthropic" { 3 } else { usize::from(dialect == "openai_responses") };
    events.insert(at.min(events.len()), call);
    events
}

/// One piece of a streamed text.
pub(crate) fn token(dialect: &str, text: &str) -> String {
    match dialect {
        "anthropic" => {
            typed(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}))
        }
        "ollama" => {
            format!(
                "{}\n",
                json!({"model": "served", "message": {"role": "assistant", "content": text}, "done": false})
            )
        }
        "openai_chat" => sse(None, &json!({"model": "served", "choices": [{"delta": {"content": text}}]})),
        "openai_responses" => typed(&json!({"type": "response.output_text.delta", "delta": text})),
        _ => unreachable!("`{dialect}` is no dialect"),
    }
}

/// A reply that is not streamed.
pub(crate) fn whole(dialect: &str, text: &str, finish: Finish) -> Value {
    match dialect {
        "anthropic" => json!({
            "type": "message", "model": "served", "content": [{"type": "text", "text": text}],
            "stop_reason": word(dialect, finish), "usage": usage(dialect),
        }),
        "ollama" => json!({
            "model": "served", "message": {"role": "assistant", "content": text}, "done": true,
            "done_reason": word(dialect, finish), "prompt_eval_count": 10, "eval_count": 5,
        }),
        "openai_chat" => json!({
            "model": "served", "usage": usage(dialect),
            "choices": [{"message": {"content": text}, "finish_reason": word(dialect, finish)}],
        }),
        "openai_responses" => {
            let status = if finish == Finish::Stop { "completed" } else { "incomplete" };
            json!({
                "status": status, "incomplete_details": {"reason": word(dialect, finish)}, "model": "served",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
                "usage": usage(dialect),
            })
        }
        _ => unreachable!("`{dialect}` is no dialect"),
    }
}

/// Ten tokens of the request, eight of them from a cache, and five of the reply: each counts in its own way.
fn usage(dialect: &str) -> Value {
    match dialect {
        "anthropic" => json!({"cache_read_input_tokens": 8, "input_tokens": 2, "output_tokens": 5}),
        "openai_chat" => {
            json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}})
        }
        _ => json!({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 8}}),
    }
}

/// The word for a model's reason to stop. Ollama has none for a refusal.
fn word(dialect: &str, finish: Finish) -> &'static str {
    match (dialect, finish) {
        ("anthropic", Finish::Length) => "max_tokens",
        ("anthropic", Finish::Refusal) => "refusal",
        ("anthropic", Finish::ToolCalls) => "tool_use",
        ("anthropic", Finish::Stop) => "end_turn",
        ("openai_responses", Finish::Length) => "max_output_tokens",
        (_, Finish::Length) => "length",
        (_, Finish::Refusal) => "content_filter",
        (_, Finish::ToolCalls) => "tool_calls",
        (_, Finish::Stop) => "stop",
    }
}

/// The body of an answer that is an error.
pub(crate) fn error(dialect: &str, kind: &str, message: &str) -> Value {
    match dialect {
        "anthropic" => json!({"type": "error", "error": {"type": kind, "message": message}}),
        "ollama" => json!({"error": message}),
        _ => json!({"error": {"type": kind, "message": message}}),
    }
}

/// An error as an event in the middle of a stream.
pub(crate) fn error_event(dialect: &str, kind: &str, message: &str) -> String {
    match dialect {
        "anthropic" => sse(Some("error"), &error(dialect, kind, message)),
        "ollama" => format!("{}\n", error(dialect, kind, message)),
        "openai_chat" => sse(None, &error(dialect, kind, message)),
        _ => typed(&json!({"type": "error", "code": kind, "message": message})),
    }
}

/// The capabilities of a server with the model `m`, by the path of the request.
pub(crate) fn discovery(dialect: &str, path: &str) -> Value {
    match (dialect, path) {
        ("ollama", "/api/tags") => json!({"models": [{"name": "m"}]}),
        ("ollama", _) => json!({"capabilities": ["completion", "tools"], "model_info": {"llama.context_length": 8192}}),
        _ => json!({"data": [{"id": "m", "max_model_len": 8192}]}),
    }
}
