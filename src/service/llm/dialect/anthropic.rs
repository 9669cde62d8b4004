//! Anthropic messages.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::{is_error, of_event},
        event::Usage,
        message::{Message, Role, ToolChoice},
        request::{LlmRequest, wrong},
    },
    Ask, Dialect, Draft, Frame,
    calls::CallPiece,
    draft::unknown,
    parts::{self, holds},
    put,
};
use base::error::Error;

/// The dialect.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn doc(&self) -> &'static str {
        "Anthropic messages: Anthropic's API, and llama.cpp's server; the base URL has no `/v1`."
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn auth(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn ignored(&self) -> &'static [&'static str] {
        &["seed"]
    }

    fn body(&self, request: &LlmRequest, stream: bool) -> Result<Value, Error> {
        let sampling = request.sampling();
        let max_tokens = sampling.max_tokens.or(request.known().max_output_tokens).ok_or_else(|| {
            wrong("max_tokens", "this dialect needs `max_tokens`").hint("say how long the reply may be")
        })?;
        let of_system = |message: &&Message| message.role == Role::System;
        let system: Vec<&str> =
            request.messages().iter().filter(of_system).map(|message| message.content.as_str()).collect();
        let messages: Vec<Value> =
            request.messages().iter().filter(|message| !of_system(message)).map(message).collect();
        let mut body =
            json!({"model": request.model(), "max_tokens": max_tokens, "messages": messages, "stream": stream});
        put(&mut body, "system", (!system.is_empty()).then(|| system.join("\n\n")));
        put(&mut body, "temperature", sampling.temperature);
        put(&mut body, "stop_sequences", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)));
        let format = request.wire_schema().map(|schema| json!({"format": {"type": "json_schema", "schema": schema}}));
        put(&mut body, "output_config", format);
        if !request.tools().is_empty() {
            let tools: Vec<Value> = request
                .tools()
                .iter()
                .map(
                    |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}),
                )
                .collect();
            put(&mut body, "tools", Some(tools));
            put(&mut body, "tool_choice", Some(choice(request.tool_choice())));
        }
        Ok(body)
    }

    fn whole(&self, body: &Value, draft: &mut Draft) -> Result<(), Error> {
        if is_error(body) {
            return Err(of_event(body));
        }
        begin(body, draft)?;
        draft.finish(&body["stop_reason"])?;
        draft.end();
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let Some(body) = frame.body(draft)? else { return Ok(()) };
        let index = body["index"].as_u64().unwrap_or_default();
        match body["type"].as_str().or(frame.event.as_deref()) {
            Some("message_start") if !draft.is_empty() => return Err(unknown("a second beginning", &body["message"])),
            Some("message_start") => begin(&body["message"], draft)?,
            Some("content_block_start") => block(index, &body["content_block"], draft)?,
            Some("content_block_delta") => delta(index, &body["delta"], draft)?,
            Some("message_delta") => {
                draft.finish(&body["delta"]["stop_reason"])?;
                usage(&body["usage"], draft);
            }
            Some("message_stop") => draft.end(),
            // There may be new ones at any time, which are to be passed over.
            _ => {}
        }
        Ok(())
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::anthropic(ask)
    }
}

/// Takes a message, or the beginning of one.
fn begin(message: &Value, draft: &mut Draft) -> Result<(), Error> {
    draft.model(message.get("model"));
    usage(&message["usage"], draft);
    match &message["content"] {
        Value::Array(blocks) => blocks.iter().zip(0..).try_for_each(|(content, index)| block(index, content, draft)),
        other => parts::text(other, draft),
    }
}

/// Takes a block of the content, or the beginning of one.
fn block(index: u64, block: &Value, draft: &mut Draft) -> Result<(), Error> {
    match block["type"].as_str() {
        Some("text") => parts::text(&block["text"], draft),
        Some("thinking") => draft.reasoning(&parts::words(block)),
        Some("tool_use") => {
            // A stream has an empty input here, and pieces of the real one later.
            let input = if holds(&block["input"]) { &block["input"] } else { &Value::Null };
            let function = json!({"name": block["name"], "arguments": input});
            draft.calls(vec![CallPiece::new(Some(index), &block["id"], &function)])
        }
        // Thoughts that only the server can read, and a note that another model answers.
        Some("redacted_thinking" | "fallback") => Ok(()),
        Some(kind) => Err(unknown("a block", kind)),
        None => Err(unknown("a block", block)),
    }
}

/// Takes a piece of a block.
fn delta(index: u64, delta: &Value, draft: &mut Draft) -> Result<(), Error> {
    match delta["type"].as_str() {
        Some("text_delta") => parts::text(&delta["text"], draft),
        Some("thinking_delta") => draft.reasoning(&parts::words(delta)),
        Some("input_json_delta") => {
            let more = delta["partial_json"].as_str().unwrap_or_default();
            draft.calls(vec![CallPiece::more(index, more)])
        }
        // Where a text comes from, and a proof of thoughts.
        Some("citations_delta" | "signature_delta") => Ok(()),
        Some(kind) => Err(unknown("a piece of a block", kind)),
        None => Err(unknown("a piece of a block", delta)),
    }
}

/// `input_tokens` leaves out what was in a cache or went into it; here it is part of the request.
fn usage(usage: &Value, draft: &mut Draft) {
    let read = usage["cache_read_input_tokens"].as_u64();
    let written = usage["cache_creation_input_tokens"].as_u64();
    let input = usage["input_tokens"].as_u64();
    // The last event may repeat `input_tokens` without the others.
    let cached = read.or(draft.used().cached_tokens.filter(|_| input.is_some()));
    let sum =
        input.map(|input| input.saturating_add(cached.unwrap_or_default()).saturating_add(written.unwrap_or_default()));
    let known = draft.used().input_tokens;
    draft.usage(Usage {
        input_tokens: sum.max(known),
        cached_tokens: read,
        output_tokens: usage["output_tokens"].as_u64(),
    });
}

fn message(message: &Message) -> Value {
    let text = || json!({"type": "text", "text": message.content});
    let (role, content) = match (message.role, &message.tool_call_id) {
        (Role::Tool, id) => {
            ("user", vec![json!({"type": "tool_result", "tool_use_id": id, "content": message.content})])
        }
        (Role::Assistant, _) => {
            let calls = message
                .tool_calls
                .iter()
                .map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}));
            let texts = (!message.content.is_empty()).then(text);
            ("assistant", texts.into_iter().chain(calls).collect())
        }
        (Role::User | Role::System, _) => ("user", vec![text()]),
    };
    json!({"role": role, "content": content})
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
    }
}
