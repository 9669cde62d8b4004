//! Ollama's own API. Its `/v1` passes over the size of the context and cuts prompts without a word.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::{is_error, of_event},
        event::Usage,
        message::Message,
        request::LlmRequest,
    },
    Ask, Dialect, Draft, Frame, Framing,
    draft::unknown,
    parts::{self, holds},
    put,
};
use base::error::Error;

/// The dialect.
pub(super) struct Ollama;

impl Dialect for Ollama {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn doc(&self) -> &'static str {
        "Ollama's own API; the base URL has no path."
    }

    fn path(&self) -> &'static str {
        "/api/chat"
    }

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn ignored(&self) -> &'static [&'static str] {
        &["tool_choice"]
    }

    fn body(&self, request: &LlmRequest, stream: bool) -> Result<Value, Error> {
        let sampling = request.sampling();
        let messages: Vec<Value> =
            request.messages().iter().map(|message| written(message, request.messages())).collect();
        let mut body = json!({"model": request.model(), "messages": messages, "stream": stream});
        let mut options = json!({});
        put(&mut options, "num_predict", sampling.max_tokens);
        put(&mut options, "temperature", sampling.temperature);
        put(&mut options, "seed", sampling.seed);
        put(&mut options, "stop", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)));
        // Without it the server takes a small context and cuts what is longer.
        put(&mut options, "num_ctx", request.known().context_tokens);
        put(&mut body, "options", options.as_object().filter(|options| !options.is_empty()).cloned());
        put(&mut body, "format", request.wire_schema().cloned());
        if !request.tools().is_empty() {
            let tools: Vec<Value> =
                request.tools().iter().map(|tool| json!({"type": "function", "function": tool})).collect();
            put(&mut body, "tools", Some(tools));
        }
        Ok(body)
    }

    fn whole(&self, body: &Value, draft: &mut Draft) -> Result<(), Error> {
        if is_error(body) {
            return Err(of_event(body));
        }
        draft.model(body.get("model"));
        // The forms of other places of the same server.
        if let Some(field) = ["response", "choices", "tool_calls"].iter().find(|field| holds(&body[**field])) {
            return Err(unknown(&format!("no `message`, but a `{field}`"), body));
        }
        parts::message(&body["message"], draft)?.into_iter().try_for_each(|call| draft.whole_call(call))?;
        if body["done"] == true {
            draft.usage(Usage {
                input_tokens: body["prompt_eval_count"].as_u64(),
                cached_tokens: None,
                output_tokens: body["eval_count"].as_u64(),
            });
            draft.finish(&body["done_reason"])?;
            // Old versions omit the reason.
            if !holds(&body["done_reason"]) {
                draft.finish(&json!("stop"))?;
            }
            draft.end();
        }
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        self.whole(&frame.json()?, draft)
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::ollama(ask)
    }
}

fn written(message: &Message, all: &[Message]) -> Value {
    let mut value = json!({"role": message.role.as_str(), "content": message.content});
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!({"function": {"name": call.name, "arguments": call.arguments}}))
        .collect();
    put(&mut value, "tool_calls", (!calls.is_empty()).then_some(calls));
    // A result refers to its tool by name.
    let called = all.iter().flat_map(|message| &message.tool_calls);
    let mut names = called.filter(|call| Some(&call.id) == message.tool_call_id.as_ref()).map(|call| call.name.clone());
    put(&mut value, "tool_name", names.next_back());
    value
}
