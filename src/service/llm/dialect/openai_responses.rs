//! OpenAI responses.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::{is_error, of_event},
        event::Usage,
        message::{Message, Role, ToolChoice},
        request::LlmRequest,
    },
    Ask, Dialect, Draft, Frame,
    calls::CallPiece,
    draft::unknown,
    parts, put,
};
use base::error::Error;

/// The dialect.
pub(super) struct OpenAiResponses;

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai_responses"
    }

    fn doc(&self) -> &'static str {
        "OpenAI responses: OpenAI's API, and llama.cpp's server; the base URL ends with `/v1`."
    }

    fn path(&self) -> &'static str {
        "/responses"
    }

    fn ignored(&self) -> &'static [&'static str] {
        &["seed", "stop"]
    }

    fn body(&self, request: &LlmRequest, stream: bool) -> Result<Value, Error> {
        let sampling = request.sampling();
        let input: Vec<Value> = request.messages().iter().flat_map(items).collect();
        // Nothing is to be kept by the server.
        let mut body = json!({"model": request.model(), "input": input, "stream": stream, "store": false});
        put(&mut body, "max_output_tokens", sampling.max_tokens);
        put(&mut body, "temperature", sampling.temperature);
        let format = request.wire_schema().map(
            |schema| json!({"format": {"type": "json_schema", "name": "reply", "strict": true, "schema": schema}}),
        );
        put(&mut body, "text", format);
        if !request.tools().is_empty() {
            let tools: Vec<Value> = request
                .tools()
                .iter()
                .map(|tool| {
                    json!({"type": "function", "name": tool.name, "description": tool.description,
                           "parameters": tool.parameters, "strict": false})
                })
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
        let mut whole = Draft::default();
        body["output"].as_array().into_iter().flatten().try_for_each(|item| output(item, &mut whole))?;
        // A stream has told its pieces already.
        draft.complete(whole)?;
        draft.model(body.get("model"));
        let usage = &body["usage"];
        draft.usage(Usage {
            input_tokens: usage["input_tokens"].as_u64(),
            cached_tokens: usage["input_tokens_details"]["cached_tokens"].as_u64(),
            output_tokens: usage["output_tokens"].as_u64(),
        });
        match (body["status"].as_str(), &body["incomplete_details"]["reason"]) {
            (Some("incomplete"), Value::Null) => draft.finish(&body["status"])?,
            (Some("incomplete"), reason) => draft.finish(reason)?,
            _ => draft.finish(&body["status"])?,
        }
        draft.end();
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let Some(body) = frame.body(draft)? else { return Ok(()) };
        match body["type"].as_str().or(frame.event.as_deref()) {
            Some("response.created" | "response.in_progress") => draft.model(body["response"].get("model")),
            Some("response.output_text.delta") => parts::text(&body["delta"], draft)?,
            // Its pieces may not have come.
            Some("response.output_text.done") => part(&body["text"], parts::text, draft)?,
            Some("response.refusal.done") => part(&body["refusal"], parts::refusal, draft)?,
            Some("response.refusal.delta") => parts::refusal(&body["delta"], draft)?,
            Some("response.reasoning_text.delta" | "response.reasoning_summary_text.delta") => {
                draft.reasoning(&parts::words(&body["delta"]))?;
            }
            Some("response.output_item.added") if body["item"]["type"] == "function_call" => draft.announce_call(),
            Some("response.output_item.done") => done(&body["item"], draft)?,
            Some("response.completed" | "response.incomplete") => self.whole(&body["response"], draft)?,
            Some("response.failed") => return Err(of_event(&body["response"])),
            // The others repeat these, or tell what is not needed.
            _ => {}
        }
        Ok(())
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::openai(ask)
    }
}

/// Takes a whole part of a message, whose pieces may have come before.
fn part(value: &Value, take: fn(&Value, &mut Draft) -> Result<(), Error>, draft: &mut Draft) -> Result<(), Error> {
    match draft.said_of_item() {
        "" => take(value, draft),
        said if value.as_str().is_none_or(|text| said.ends_with(text)) => Ok(()),
        said => Err(unknown("a text that is not that of its pieces", said)),
    }
}

/// Takes a whole item of a stream. Pieces of its text may have come before.
fn done(item: &Value, draft: &mut Draft) -> Result<(), Error> {
    let mut whole = Draft::default();
    output(item, &mut whole)?;
    match draft.said_of_item() {
        said if said.is_empty() || item["type"] != "message" => output(item, draft)?,
        said if said == whole.text_at(0).1 => {}
        said => return Err(unknown("an item whose text is not that of its pieces", said)),
    }
    // Items of other kinds may end before the text does.
    if item["type"] == "message" {
        draft.end_item();
    }
    Ok(())
}

/// Takes an item of the output.
fn output(item: &Value, draft: &mut Draft) -> Result<(), Error> {
    match item["type"].as_str() {
        Some("function_call") => draft.whole_call(CallPiece::new(None, &item["call_id"], item)),
        Some("message") => parts::content(&item["content"], draft),
        Some("reasoning") => draft.whole_reasoning(&parts::words(item)),
        Some(kind) => Err(unknown("an item of output", kind)),
        None => Err(unknown("an item of output", item)),
    }
}

fn items(message: &Message) -> Vec<Value> {
    if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id) {
        return vec![json!({"type": "function_call_output", "call_id": id, "output": message.content})];
    }
    let is_said = !message.content.is_empty() || message.tool_calls.is_empty();
    let said = is_said.then(|| json!({"role": message.role.as_str(), "content": message.content}));
    let calls = message.tool_calls.iter().map(|call| {
        json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments.to_string()})
    });
    said.into_iter().chain(calls).collect()
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
    }
}
