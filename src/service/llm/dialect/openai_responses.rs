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
use crate::base::error::Error;

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

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::{
                error::{Kind, kind},
                event::Finish,
            },
            fixture::{Case, request},
        },
        *,
    };

    fn case() -> Case {
        Case::of(&OpenAiResponses)
    }

    /// As llama.cpp's server streams it.
    const STREAM: &str = concat!(
        "event: response.created\n",
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"in_progress\"}}\n\n",
        "event: response.output_item.added\n",
        "data: {\"type\":\"response.output_item.added\",\"item\":{\"content\":[],\"role\":\"assistant\",\"type\":\"message\"}}\n\n",
        "event: response.output_text.delta\n",
        "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"V\"}\n\n",
        "event: response.output_text.delta\n",
        "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"é\"}\n\n",
        "event: response.output_text.done\n",
        "data: {\"type\":\"response.output_text.done\",\"item_id\":\"m\",\"text\":\"Vé\"}\n\n",
        "event: response.output_item.done\n",
        "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Vé\"}]}}\n\n",
        "event: response.completed\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"model\":\"tiny\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Vé\"}]}],\"usage\":{\"input_tokens\":33,\"output_tokens\":4,\"input_tokens_details\":{\"cached_tokens\":32}}}}\n\n",
    );

    #[test]
    fn a_stream_is_read_to_its_end() {
        let (pieces, reply) = case().stream(STREAM).unwrap();
        assert_eq!((pieces.concat(), reply.text.as_str(), reply.finish), ("Vé".to_owned(), "Vé", Finish::Stop));
        let usage = Usage { input_tokens: Some(33), cached_tokens: Some(32), output_tokens: Some(4) };
        assert_eq!((reply.usage, reply.model.as_deref()), (usage, Some("tiny")));
        assert_eq!(reply.ignored, ["seed", "stop"]);
        case().cut_anywhere(STREAM);
    }

    #[test]
    fn what_is_incomplete_says_why() {
        let body =
            |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []});
        assert_eq!(case().whole(&body("max_output_tokens")).unwrap().finish, Finish::Length);
        assert_eq!(case().whole(&body("content_filter")).unwrap().finish, Finish::Refusal);
        let refusal = json!({"status": "completed", "output": [
            {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]});
        assert_eq!(case().whole(&refusal).unwrap().finish, Finish::Refusal);
    }

    #[test]
    fn a_call_is_read_whole() {
        let item =
            json!({"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{\"city\":\"Bern\"}"});
        let stream = format!(
            "data: {}\n\ndata: {}\n\n",
            json!({"type": "response.output_item.done", "item": item}),
            json!({"type": "response.completed", "response": {"status": "completed", "output": [item]}}),
        );
        let reply = case().stream(&stream).unwrap().1;
        assert_eq!((reply.tool_calls.len(), reply.finish), (1, Finish::ToolCalls));
        assert_eq!(reply.tool_calls[0].arguments, json!({"city": "Bern"}));
    }

    #[test]
    fn errors_inside_a_stream_are_errors() {
        let failed =
            json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oh"}}});
        assert_eq!(kind(&case().stream(&format!("data: {failed}\n\n")).unwrap_err()), Some(Kind::Server));
        let error = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"});
        assert_eq!(kind(&case().stream(&format!("data: {error}\n\n")).unwrap_err()), Some(Kind::RateLimit));
    }

    #[test]
    fn a_request_is_written() {
        let body = OpenAiResponses.body(&request(), false).unwrap();
        assert_eq!(
            body["input"],
            json!([
                {"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"},
                {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Bern\"}"},
                {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            ]),
        );
        assert_eq!((&body["max_output_tokens"], &body["store"]), (&json!(64), &json!(false)));
        assert_eq!(body["text"]["format"]["schema"]["required"], json!(["a"]));
        assert_eq!((&body["tools"][0]["name"], &body["tool_choice"]), (&json!("weather"), &json!("required")));
        assert!(body.get("seed").is_none() && body.get("stop").is_none());
    }
}
