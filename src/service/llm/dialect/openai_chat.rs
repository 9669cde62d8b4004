//! OpenAI chat completions, and everything that speaks it.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::{is_error, of_event},
        event::Usage,
        message::{Message, ToolChoice},
        request::LlmRequest,
    },
    Ask, Dialect, Draft, Frame,
    draft::unknown,
    parts::{self, has_words, holds},
    put,
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
        if is_error(body) {
            return Err(of_event(body));
        }
        take(body, draft)?;
        draft.end();
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        frame.body(draft)?.map_or(Ok(()), |body| take(&body, draft))
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::openai(ask)
    }
}

/// Fields of a choice that are read, or say nothing.
const KNOWN: [&str; 9] = [
    "delta",
    "message",
    "text",
    "finish_reason",
    "native_finish_reason",
    "stop_reason",
    "logprobs",
    "content_filter_results",
    "usage",
];

/// Fields of a message that must not stand beside it.
const STRAY: [&str; 4] = ["content", "function_call", "refusal", "tool_calls"];

/// Fields with which other protocols write replies.
const OTHERS: [&str; 10] = [
    "candidates",
    "content",
    "delta",
    "detail",
    "generated_text",
    "message",
    "output",
    "response",
    "text",
    "tool_calls",
];

/// Takes what a chunk, or a whole reply, has.
fn take(body: &Value, draft: &mut Draft) -> Result<(), Error> {
    draft.model(body.get("model"));
    usage(&body["usage"], draft);
    match &body["choices"] {
        Value::Array(_) if has_words(&body["tool_calls"]) => Err(unknown("`tool_calls` beside its `choices`", body)),
        Value::Array(choices) if choices.len() > 1 => Err(unknown("several `choices`", choices.len())),
        Value::Array(choices) => choices.iter().try_for_each(|choice| choose(choice, draft)),
        other if holds(other) => Err(unknown("`choices`", other)),
        // An event that says nothing, such as the cost, or one of another protocol.
        _ if body.is_object() || body.is_null() => match OTHERS.iter().find(|field| holds(&body[**field])) {
            Some(field) => Err(unknown(&format!("no `choices`, but a `{field}`"), body)),
            None => Ok(()),
        },
        _ => Err(unknown("an event", body)),
    }
}

/// Takes the only choice.
fn choose(choice: &Value, draft: &mut Draft) -> Result<(), Error> {
    if is_error(choice) {
        return Err(of_event(choice));
    }
    if let Some(field) = STRAY.iter().find(|field| has_words(&choice[**field])) {
        return Err(unknown(&format!("a `{field}` beside its message"), choice));
    }
    choice["index"].as_u64().map_or(Ok(()), |index| draft.choose(index))?;
    let before = draft.sizes();
    piece(&choice["delta"], draft)?;
    draft.has_deltas |= draft.sizes() != before;
    let mut is_said = draft.has_deltas;
    // Some servers send these in place of `delta`, and others repeat there what they have said.
    for field in ["message", "text"] {
        let from = draft.sizes();
        match is_said {
            true => repeated(&choice[field], before.0, draft)?,
            false => piece(&choice[field], draft)?,
        }
        let (old, new) = draft.text_at(from.0);
        if field == "message" && !old.is_empty() && new.starts_with(old) {
            return Err(unknown("a `message` that may repeat the text, or continue it", new));
        }
        is_said |= draft.sizes() != from;
    }
    usage(&choice["usage"], draft);
    parts::unread(choice, &[&KNOWN], draft);
    draft.finish(&choice["finish_reason"])
}

fn piece(message: &Value, draft: &mut Draft) -> Result<(), Error> {
    let calls = parts::message(message, draft)?;
    draft.calls(calls)
}

/// Takes a message that has to repeat the reply so far, or its text from a position on.
fn repeated(message: &Value, from: usize, draft: &mut Draft) -> Result<(), Error> {
    let mut whole = Draft::default();
    piece(message, &mut whole)?;
    if whole.text_at(0).1 == draft.text_at(from).1 {
        whole.forget_text();
    }
    draft.complete(whole)
}

/// `prompt_tokens` are all of the request's, cached or not.
fn usage(usage: &Value, draft: &mut Draft) {
    draft.usage(Usage {
        input_tokens: usage["prompt_tokens"].as_u64(),
        cached_tokens: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
        output_tokens: usage["completion_tokens"].as_u64(),
    });
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
