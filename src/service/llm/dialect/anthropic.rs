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
use crate::base::error::Error;

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

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::{
                error::{Kind, kind},
                event::Finish,
            },
            fixture::{Case, request, tool},
        },
        *,
    };

    fn case() -> Case {
        Case::of(&Anthropic)
    }

    /// As llama.cpp's server streams it.
    const STREAM: &str = concat!(
        "event: message_start\n",
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"x\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"tiny\",\"stop_reason\":null,\"usage\":{\"cache_read_input_tokens\":32,\"input_tokens\":1,\"output_tokens\":0}}}\n\n",
        "event: content_block_start\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "event: content_block_delta\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"V\"}}\n\n",
        "event: content_block_delta\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"é\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: message_delta\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":6}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );

    #[test]
    fn a_stream_is_read_to_its_end() {
        let (pieces, reply) = case().stream(STREAM).unwrap();
        assert_eq!((pieces.as_slice(), reply.finish), (&["V".to_owned(), "é".to_owned()][..], Finish::Length));
        case().cut_anywhere(STREAM);
    }

    #[test]
    fn cached_tokens_are_part_of_the_request() {
        let expected = Usage { input_tokens: Some(33), cached_tokens: Some(32), output_tokens: Some(6) };
        assert_eq!(case().stream(STREAM).unwrap().1.usage, expected);
        let repeated =
            STREAM.replace("\"usage\":{\"output_tokens\":6}", "\"usage\":{\"input_tokens\":1,\"output_tokens\":6}");
        assert_eq!(case().stream(&repeated).unwrap().1.usage, expected);
        let body = json!({
            "type": "message", "content": [{"type": "text", "text": "VV"}], "model": "tiny", "stop_reason": "end_turn",
            "usage": {"cache_read_input_tokens": 32, "cache_creation_input_tokens": 7, "input_tokens": 1, "output_tokens": 16},
        });
        let usage = case().whole(&body).unwrap().usage;
        assert_eq!(usage, Usage { input_tokens: Some(40), cached_tokens: Some(32), output_tokens: Some(16) });
    }

    #[test]
    fn an_error_inside_a_stream_is_an_error() {
        let head = &STREAM[..STREAM.find("event: ping").unwrap()];
        let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
        assert_eq!(kind(&case().stream(&format!("{head}{error}")).unwrap_err()), Some(Kind::Overloaded));
    }

    #[test]
    fn calls_come_in_pieces_between_thoughts() {
        let stream = concat!(
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
            "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"weather\",\"input\":{}}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"city\\\":\"}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"Bern\\\"}\"}}\n\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n",
        );
        let reply = case().stream(stream).unwrap().1;
        assert_eq!((reply.text.as_str(), reply.finish), ("", Finish::ToolCalls));
        assert_eq!((reply.tool_calls[0].id.as_str(), &reply.tool_calls[0].arguments), ("t1", &json!({"city": "Bern"})));
        let body = json!({"content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {"x": 1}}], "stop_reason": "tool_use"});
        assert_eq!(case().whole(&body).unwrap().tool_calls[0].arguments, json!({"x": 1}));
    }

    #[test]
    fn what_it_has_no_word_for_is_told() {
        assert_eq!(case().stream(STREAM).unwrap().1.ignored, ["seed"]);
    }

    #[test]
    fn a_request_is_written() {
        let body = Anthropic.body(&request(), true).unwrap();
        let tool = tool();
        assert_eq!(
            body,
            json!({
                "model": "m", "stream": true, "max_tokens": 64, "temperature": 0.0, "stop_sequences": ["END"],
                "system": "be brief",
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
                    {"role": "assistant", "content": [
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
                ],
                "output_config": {"format": {"type": "json_schema", "schema": {
                    "type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"]}},
                    "additionalProperties": false}}},
                "tools": [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters}],
                "tool_choice": {"type": "any"},
            }),
        );
    }
}
