//! Anthropic messages.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::of_event,
        event::Usage,
        message::{Message, Role, ToolChoice},
        request::{LlmRequest, wrong},
    },
    Ask, Dialect, Draft, Frame, put,
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
        if body["type"] == "error" {
            return Err(of_event(body));
        }
        draft.model(body.get("model"));
        for block in body["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") => draft.text(block.get("text"))?,
                Some("tool_use") => draft.whole_call(block.get("id"), block.get("name"), &block["input"])?,
                // Thoughts are no part of the reply.
                _ => {}
            }
        }
        usage(&body["usage"], draft);
        if let Some(word) = body["stop_reason"].as_str() {
            draft.finish(word)?;
        }
        draft.end();
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let body = frame.json()?;
        let index = body["index"].as_u64().unwrap_or_default();
        match body["type"].as_str() {
            Some("message_start") => {
                draft.model(body["message"].get("model"));
                usage(&body["message"]["usage"], draft);
            }
            Some("content_block_start") => {
                let block = &body["content_block"];
                match block["type"].as_str() {
                    Some("text") => draft.text(block.get("text"))?,
                    Some("tool_use") => draft.call(index, block.get("id"), block.get("name"), "")?,
                    _ => {}
                }
            }
            Some("content_block_delta") => match body["delta"]["type"].as_str() {
                Some("text_delta") => draft.text(body["delta"].get("text"))?,
                Some("input_json_delta") => {
                    let more = body["delta"]["partial_json"].as_str().unwrap_or_default();
                    draft.call(index, None, None, more)?;
                }
                _ => {}
            },
            Some("message_delta") => {
                if let Some(word) = body["delta"]["stop_reason"].as_str() {
                    draft.finish(word)?;
                }
                usage(&body["usage"], draft);
            }
            Some("message_stop") => draft.end(),
            Some("error") => return Err(of_event(&body)),
            // There may be new ones at any time, which are to be passed over.
            _ => {}
        }
        Ok(())
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::anthropic(ask)
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
