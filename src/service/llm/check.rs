//! Checks a reply against its request, from any source: a server's status 200 proves nothing.

use super::{
    error::{Kind, lasting, quoted},
    event::{Finish, Reply},
    message::ToolChoice,
    request::LlmRequest,
};
use base::error::Error;
use system::schema::Schema;

/// The number of characters of a refused reply that are reported.
const MOST_TOLD: usize = 1 << 16;

/// The reply with its value, if it fulfils the request.
pub(super) fn checked(request: &LlmRequest, mut reply: Reply) -> Result<Reply, Error> {
    let told = |error: Error, reply: &Reply| match reply.text.is_empty() {
        true => error,
        // A retry may need to quote its error.
        false => error.detail("reply", reply.text.chars().take(MOST_TOLD).collect::<String>()),
    };
    let value = tools(request, &reply).and_then(|()| value(request, &reply)).map_err(|error| told(error, &reply))?;
    reply.value = value;
    Ok(reply)
}

fn tools(request: &LlmRequest, reply: &Reply) -> Result<(), Error> {
    let calls = &reply.tool_calls;
    if reply.finish == Finish::Refusal {
        return Err(lasting(Kind::Refusal, "the model refused to answer"));
    }
    if calls.is_empty() && reply.finish == Finish::Length && needs_tools(request) {
        return Err(cut(request));
    }
    for call in calls {
        let known = request.tools().iter().find(|tool| tool.name == call.name);
        let Some(tool) = known.filter(|_| *request.tool_choice() != ToolChoice::None) else {
            let message = format!("the model calls `{}`, which it may not", quoted(&call.name));
            return Err(lasting(Kind::ToolChoice, message));
        };
        let fits = Schema::compile(&tool.parameters)?.check(&call.arguments);
        fits.map_err(|error| {
            let message = format!("the arguments of `{}` don't fit: {}", tool.name, error.message());
            let violations = error.details().get("violations").cloned().unwrap_or_default();
            lasting(Kind::Schema, message).detail("violations", violations)
        })?;
    }
    match request.tool_choice() {
        ToolChoice::Required if calls.is_empty() => {
            Err(lasting(Kind::ToolChoice, "the model had to call a tool, and called none"))
        }
        ToolChoice::Named(name) if calls.is_empty() || calls.iter().any(|call| call.name != *name) => {
            Err(lasting(Kind::ToolChoice, format!("the model had to call `{name}`, and did not, or others")))
        }
        ToolChoice::Required | ToolChoice::Named(_) | ToolChoice::Auto | ToolChoice::None => Ok(()),
    }
}

fn needs_tools(request: &LlmRequest) -> bool {
    matches!(request.tool_choice(), ToolChoice::Required | ToolChoice::Named(_))
}

fn value(request: &LlmRequest, reply: &Reply) -> Result<Option<serde_json::Value>, Error> {
    let Some(schema) = request.schema().filter(|_| reply.tool_calls.is_empty()) else { return Ok(None) };
    if reply.finish == Finish::Length {
        return Err(cut(request));
    }
    let parsed = schema.parse(&reply.text);
    // Some servers report a normal end after a cut-off.
    let spent = request.sampling().max_tokens.is_some_and(|max| reply.usage.output_tokens >= Some(max));
    match parsed {
        Err(error) if spent && super::error::kind(&error) == Some(Kind::MalformedJson) => Err(cut(request)),
        other => other.map(Some),
    }
}

fn cut(request: &LlmRequest) -> Error {
    let error = lasting(Kind::Truncated, "the reply was cut off, since its tokens were spent");
    match request.sampling().max_tokens {
        Some(tokens) => error.detail("max_tokens", tokens),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{
        super::{
            capabilities::{Capabilities, Model},
            error::kind,
            event::Usage,
            message::{Tool, ToolCall},
        },
        *,
    };

    fn request(choice: Option<ToolChoice>, schema: Option<Value>) -> LlmRequest {
        let caps = Capabilities::new([("m".to_owned(), Model::default())]);
        let mut builder = LlmRequest::builder(caps).model("m").prompt("hi").max_tokens(300);
        if let Some(choice) = choice {
            let parameters = json!({"type": "object", "required": ["city"]});
            let tool =
                |name: &str| Tool { name: name.to_owned(), description: String::new(), parameters: parameters.clone() };
            builder = builder.tool(tool("weather")).tool(tool("time")).tool_choice(choice);
        }
        if let Some(schema) = schema {
            builder = builder.schema(schema);
        }
        builder.build().unwrap()
    }

    fn calling(name: &str, arguments: Value) -> Reply {
        let call = ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments };
        Reply { tool_calls: vec![call], finish: Finish::ToolCalls, ..Reply::of_text("m", "") }
    }

    #[track_caller]
    fn refused(request: &LlmRequest, reply: Reply, expected: Kind) {
        assert_eq!(kind(&checked(request, reply).unwrap_err()), Some(expected));
    }

    #[test]
    fn a_200_is_no_proof_that_the_schema_was_enforced() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
        let request = request(None, Some(schema));
        refused(&request, Reply::of_text("m", "VVVVVVVV"), Kind::MalformedJson);
        refused(&request, Reply::of_text("m", "{\"a\": 1}"), Kind::Schema);
        let reply = checked(&request, Reply::of_text("m", "{\"a\": \"x\"}")).unwrap();
        assert_eq!(reply.value, Some(json!({"a": "x"})));
    }

    #[test]
    fn limits_of_length_are_enforced_here() {
        let request = request(None, Some(json!({"type": "string", "maxLength": 3})));
        assert_eq!(*request.wire_schema().unwrap(), json!({"type": "string"}));
        refused(&request, Reply::of_text("m", "\"four\""), Kind::Schema);
    }

    #[test]
    fn tools_that_had_to_be_called_and_were_not_are_noticed() {
        let city = || json!({"city": "Bern"});
        let required = request(Some(ToolChoice::Required), None);
        refused(&required, Reply::of_text("m", "<tool_call><tool_call>"), Kind::ToolChoice);
        checked(&required, calling("weather", city())).unwrap();
        refused(&required, calling("weather", json!({})), Kind::Schema);
        refused(&required, calling("launch", city()), Kind::ToolChoice);
        let named = request(Some(ToolChoice::Named("time".to_owned())), None);
        refused(&named, calling("weather", city()), Kind::ToolChoice);
        refused(&request(Some(ToolChoice::None), None), calling("time", city()), Kind::ToolChoice);
        checked(&request(Some(ToolChoice::Auto), None), Reply::of_text("m", "no need")).unwrap();
    }

    #[test]
    fn a_reply_that_was_cut_off_is_no_bad_json() {
        let request = request(None, Some(json!({"type": "object"})));
        let cut = |finish| Reply { finish, ..Reply::of_text("m", "{\"diffs\":[{\"path\":\"R") };
        refused(&request, cut(Finish::Length), Kind::Truncated);
        refused(&request, cut(Finish::Stop), Kind::MalformedJson);
        // A server that reports `completed` when its tokens were spent.
        let usage = Usage { output_tokens: Some(300), ..Usage::default() };
        refused(&request, Reply { usage, ..cut(Finish::Stop) }, Kind::Truncated);
        let plain = super::tests::request(None, None);
        assert_eq!(checked(&plain, cut(Finish::Length)).unwrap().finish, Finish::Length);
    }

    #[test]
    fn a_refusal_is_an_error() {
        let reply = Reply { finish: Finish::Refusal, ..Reply::of_text("m", "I can't") };
        refused(&request(None, None), reply, Kind::Refusal);
    }
}
