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
use base::error::Error;

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
