//! OpenAI chat completions, and everything that speaks it.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::of_event,
        event::Usage,
        message::{Message, ToolChoice},
        request::LlmRequest,
    },
    Ask, Dialect, Draft, Frame, put,
};
use crate::base::error::Error;

/// The dialect.
pub(super) struct OpenAiChat;

impl Dialect for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai_chat"
    }

    fn doc(&self) -> &'static str {
        "OpenAI chat completions: llama.cpp's server, vLLM, LM Studio and many others; the base URL ends with `/v1`."
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn body(&self, request: &LlmRequest, stream: bool) -> Result<Value, Error> {
        let sampling = request.sampling();
        let mut body = json!({
            "model": request.model(),
            "messages": request.messages().iter().map(message).collect::<Vec<_>>(),
            "stream": stream,
        });
        put(&mut body, "stream_options", stream.then(|| json!({"include_usage": true})));
        put(&mut body, "max_tokens", sampling.max_tokens);
        put(&mut body, "temperature", sampling.temperature);
        put(&mut body, "seed", sampling.seed);
        put(&mut body, "stop", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)));
        let format = request.wire_schema().map(
            |schema| json!({"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": schema}}),
        );
        put(&mut body, "response_format", format);
        if !request.tools().is_empty() {
            let tools: Vec<Value> =
                request.tools().iter().map(|tool| json!({"type": "function", "function": tool})).collect();
            put(&mut body, "tools", Some(tools));
            put(&mut body, "tool_choice", Some(choice(request.tool_choice())));
        }
        Ok(body)
    }

    fn whole(&self, body: &Value, draft: &mut Draft) -> Result<(), Error> {
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(of_event(body));
        }
        let choice = &body["choices"][0];
        self.piece(body, &choice["message"], draft)?;
        finish(choice, draft)?;
        draft.end();
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        if frame.data.trim() == "[DONE]" {
            draft.end();
            return Ok(());
        }
        let body = frame.json()?;
        if body.get("error").is_some_and(|error| !error.is_null()) || frame.event.as_deref() == Some("error") {
            return Err(of_event(&body));
        }
        let choice = &body["choices"][0];
        self.piece(&body, &choice["delta"], draft)?;
        finish(choice, draft)
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::openai(ask)
    }
}

impl OpenAiChat {
    /// Takes what a chunk, or a whole reply, has.
    fn piece(&self, body: &Value, part: &Value, draft: &mut Draft) -> Result<(), Error> {
        draft.model(body.get("model"));
        draft.text(part.get("content"))?;
        draft.text(part.get("refusal"))?;
        for (position, call) in part["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let index = call["index"].as_u64().unwrap_or(position as u64);
            let function = &call["function"];
            let more = match &function["arguments"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                value => value.to_string(),
            };
            draft.call(index, call.get("id"), function.get("name"), &more)?;
        }
        if part.get("refusal").and_then(Value::as_str).is_some_and(|refusal| !refusal.is_empty()) {
            draft.refused();
        }
        // `prompt_tokens` are all of the request's, cached or not.
        draft.usage(Usage {
            input_tokens: body["usage"]["prompt_tokens"].as_u64(),
            cached_tokens: body["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64(),
            output_tokens: body["usage"]["completion_tokens"].as_u64(),
        });
        Ok(())
    }
}

/// Takes why the model stopped; a refusal that was told already stays one.
fn finish(choice: &Value, draft: &mut Draft) -> Result<(), Error> {
    match choice["finish_reason"].as_str() {
        Some("stop") if draft.is_refused() => Ok(()),
        Some(word) => draft.finish(word),
        None => Ok(()),
    }
}

fn message(message: &Message) -> Value {
    let mut value = json!({"role": message.role.as_str(), "content": message.content});
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
            json!({"id": call.id, "type": "function", "function": function})
        })
        .collect();
    put(&mut value, "tool_calls", (!calls.is_empty()).then_some(calls));
    put(&mut value, "tool_call_id", message.tool_call_id.clone());
    value
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
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
        Case::of(&OpenAiChat)
    }

    /// As llama.cpp's server streams it, with the comments by which it keeps a connection alive.
    const STREAM: &str = concat!(
        ":\n\n:\n\n",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\"model\":\"tiny\"}\n\n",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\"{\\\"dif\"}}],\"model\":\"tiny\"}\n\n",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\"fs\\\":[]}\"}}],\"model\":\"tiny\"}\n\n",
        "data: {\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}],\"model\":\"tiny\"}\n\n",
        "data: {\"choices\":[],\"model\":\"tiny\",\"usage\":{\"completion_tokens\":82,\"prompt_tokens\":33,\"total_tokens\":115,\"prompt_tokens_details\":{\"cached_tokens\":1}}}\n\n",
        "data: [DONE]\n\n",
    );

    #[test]
    fn a_stream_is_read_to_its_end() {
        let (pieces, reply) = case().stream(STREAM).unwrap();
        assert_eq!(pieces, ["{\"dif", "fs\":[]}"]);
        assert_eq!((reply.text.as_str(), reply.finish), ("{\"diffs\":[]}", Finish::Stop));
        let usage = Usage { input_tokens: Some(33), cached_tokens: Some(1), output_tokens: Some(82) };
        assert_eq!(reply.usage, usage);
    }

    #[test]
    fn a_whole_reply_is_read() {
        let body = json!({
            "choices": [{"finish_reason": "length", "index": 0, "message": {"role": "assistant", "content": "VV"}}],
            "model": "tiny", "object": "chat.completion",
            "usage": {"completion_tokens": 2, "prompt_tokens": 33, "prompt_tokens_details": {"cached_tokens": 32}},
        });
        let reply = case().whole(&body).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("VV", Finish::Length));
        // A wrong name is served by whatever is loaded.
        assert_eq!((reply.model_requested.as_str(), reply.model.as_deref()), ("m", Some("tiny")));
        assert!(reply.is_of_another_model());
    }

    #[test]
    fn calls_come_in_pieces() {
        let stream = concat!(
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"a\",\"arguments\":\"\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"x\\\":\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
            "data: [DONE]\n\n",
        );
        let reply = case().stream(stream).unwrap().1;
        let calls: Vec<_> = reply.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
        assert_eq!(calls, [("c1", "a"), ("c2", "b")]);
        assert_eq!((&reply.tool_calls[0].arguments, reply.finish), (&json!({"x": 1}), Finish::ToolCalls));
    }

    #[test]
    fn a_stream_that_is_not_whole_is_an_error() {
        case().cut_anywhere(STREAM);
        let without_end = STREAM.strip_suffix("data: [DONE]\n\n").unwrap();
        assert_eq!(kind(&case().stream(without_end).unwrap_err()), Some(Kind::Truncated));
        let corrupted = STREAM.replace("\"fs", "\"f\u{0}\" s");
        assert_eq!(kind(&case().stream(&corrupted).unwrap_err()), Some(Kind::MalformedJson));
    }

    #[test]
    fn an_error_inside_a_stream_is_an_error() {
        let stream = "data: {\"error\":{\"code\":500,\"message\":\"slot unavailable\",\"type\":\"server_error\"}}\n\n";
        assert_eq!(kind(&case().stream(stream).unwrap_err()), Some(Kind::Server));
    }

    #[test]
    fn a_refusal_is_told() {
        let message = json!({"content": null, "refusal": "I can't."});
        let body = json!({"choices": [{"finish_reason": "stop", "message": message}]});
        assert_eq!(case().whole(&body).unwrap().finish, Finish::Refusal);
    }

    #[test]
    fn a_reason_that_nobody_knows_is_an_error() {
        let body = json!({"choices": [{"finish_reason": "abort", "message": {"content": "x"}}]});
        assert_eq!(kind(&case().whole(&body).unwrap_err()), Some(Kind::Server));
    }

    #[test]
    fn a_request_is_written() {
        let body = OpenAiChat.body(&request(), true).unwrap();
        assert_eq!(
            body,
            json!({
                "model": "m", "stream": true, "stream_options": {"include_usage": true},
                "messages": [
                    {"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"},
                    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
                     "function": {"name": "weather", "arguments": "{\"city\":\"Bern\"}"}}]},
                    {"role": "tool", "content": "sunny", "tool_call_id": "c1"},
                ],
                "max_tokens": 64, "temperature": 0.0, "seed": 7, "stop": ["END"],
                "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "strict": true, "schema": {
                    "type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"]}},
                    "additionalProperties": false}}},
                "tools": [{"type": "function", "function": tool()}], "tool_choice": "required",
            }),
        );
        assert!(OpenAiChat.body(&request(), false).unwrap().get("stream_options").is_none());
    }
}
