//! OpenAI responses.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::Capabilities,
        discovery,
        error::of_event,
        event::Usage,
        message::{Message, Role, ToolChoice},
        request::LlmRequest,
    },
    Ask, Dialect, Draft, Frame, put,
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
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(of_event(body));
        }
        // A stream has told its pieces already.
        if draft.is_empty() {
            body["output"].as_array().into_iter().flatten().try_for_each(|item| output(item, draft))?;
        }
        draft.model(body.get("model"));
        let usage = &body["usage"];
        draft.usage(Usage {
            input_tokens: usage["input_tokens"].as_u64(),
            cached_tokens: usage["input_tokens_details"]["cached_tokens"].as_u64(),
            output_tokens: usage["output_tokens"].as_u64(),
        });
        match body["status"].as_str() {
            Some("incomplete") => {
                draft.finish(body["incomplete_details"]["reason"].as_str().unwrap_or("incomplete"))?;
            }
            Some(_) if draft.is_refused() => {}
            Some(word) => draft.finish(word)?,
            None => {}
        }
        draft.end();
        Ok(())
    }

    fn event(&self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        if frame.data.trim() == "[DONE]" {
            return Ok(());
        }
        let body = frame.json()?;
        match body["type"].as_str().or(frame.event.as_deref()) {
            Some("response.created" | "response.in_progress") => draft.model(body["response"].get("model")),
            Some("response.output_text.delta") => draft.text(body.get("delta"))?,
            Some("response.refusal.delta") => {
                draft.text(body.get("delta"))?;
                draft.refused();
            }
            Some("response.output_item.done") if body["item"]["type"] == "function_call" => {
                output(&body["item"], draft)?;
            }
            Some("response.completed" | "response.incomplete") => self.whole(&body["response"], draft)?,
            Some("response.failed") => return Err(of_event(&body["response"])),
            Some("error") => return Err(of_event(&body)),
            // The others repeat these, or tell what is not needed.
            _ => {}
        }
        Ok(())
    }

    fn discover(&self, ask: &Ask<'_>) -> Result<Capabilities, Error> {
        discovery::openai(ask)
    }
}

/// Takes an item of the output.
fn output(item: &Value, draft: &mut Draft) -> Result<(), Error> {
    match item["type"].as_str() {
        Some("function_call") => draft.whole_call(item.get("call_id"), item.get("name"), &item["arguments"]),
        Some("message") => item["content"].as_array().into_iter().flatten().try_for_each(|part| {
            if part["type"] == "refusal" {
                draft.refused();
                return draft.text(part.get("refusal"));
            }
            draft.text(part.get("text"))
        }),
        // Thoughts, and what other tools of the server did.
        _ => Ok(()),
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
