//! A request of a call as the room of models takes it, checked against what is known of the model.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::llm::provider::Provider;
use base::{
    call::Ask,
    error::{self, Code, Error},
    json::Keyed,
};
use llm::{Capabilities, Kind, LlmRequest, Message, Model, Retry, Timeouts, Tool, ToolChoice, Workload};

/// Milliseconds to wait before another try, where neither the caller nor the server says how many.
const WAIT_MS: u64 = 1000;

/// The field `retry`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Again {
    on: BTreeSet<Kind>,
    max: u32,
    #[serde(default)]
    wait_ms: Option<u64>,
}

/// Returns the error for a field of a request.
fn wrong(field: &str, message: impl Into<String>) -> Error {
    Error::new(Code::InvalidInput, message).detail("field", field)
}

/// The request, ready to be sent.
pub(super) fn request(
    ask: &Ask,
    provider: &Provider,
    known: &Capabilities,
    is_played: bool,
) -> Result<LlmRequest, Error> {
    if is_played && ask.model.is_none() && provider.settings.model.is_none() && known.models().is_empty() {
        return Err(Error::new(Code::NotFound, "recorded replies alone may answer, and there are none")
            .hint("record them with `nrv llm record SCRIPT`, where `CI` is not set, and commit the files"));
    }
    let model = provider.model(ask.model.as_deref(), known)?;
    let mut known = known.clone();
    if is_played {
        // Whether the record has a reply of it is seen when it is looked for, and then in words that help.
        known = known.or(Capabilities::new([(model.clone(), Model::default())]));
    }
    let Some(max_tokens) = ask.max_tokens else {
        return Err(wrong("max_tokens", "the request does not say how many tokens its reply may have")
            .hint("give `max_tokens`: that many are reserved of the budget"));
    };
    let settings = &provider.settings;
    let total_ms = ask.timeout_ms.unwrap_or(settings.timeouts.total_ms);
    let timeouts = Timeouts { read_ms: settings.timeouts.read_ms.min(total_ms), total_ms };
    let mut builder = LlmRequest::builder(known).model(model).max_tokens(max_tokens).timeouts(timeouts);
    builder = builder.retry(retry(ask)?).workload(workload(ask)?);
    for message in messages(ask)? {
        builder = builder.message(message);
    }
    if let Some(schema) = &ask.schema {
        builder = builder.schema(schema.clone());
    }
    for (at, tool) in ask.tools.iter().enumerate() {
        builder = builder.tool(field::<Tool>(&format!("tools/{at}"), tool, "`#{name, description, parameters}`")?);
    }
    if let Some(choice) = &ask.tool_choice {
        let form = "`\"auto\"`, `\"none\"`, `\"required\"` or `#{named: \"a_tool\"}`";
        let choice = ToolChoice::deserialize(choice)
            .map_err(|error| wrong("tool_choice", format!("`tool_choice` is wrong: {error}")).hint(form))?;
        builder = builder.tool_choice(choice);
    }
    if let Some(temperature) = ask.temperature {
        builder = builder.temperature(temperature);
    }
    if let Some(seed) = ask.seed {
        builder = builder.seed(seed);
    }
    for stop in &ask.stop {
        builder = builder.stop(stop);
    }
    builder.build()
}

fn field<T: for<'de> Deserialize<'de>>(name: &str, value: &Value, form: &str) -> Result<T, Error> {
    let read: Result<Keyed<T>, _> = serde_json::from_value(value.clone());
    read.map(|Keyed(read)| read)
        .map_err(|error| wrong(name, format!("`{name}` is wrong: {error}")).hint(format!("its form is {form}")))
}

fn messages(ask: &Ask) -> Result<Vec<Message>, Error> {
    let form = "`#{role, content}`, with the role `system`, `user`, `assistant` or `tool`";
    let own = ask.messages.iter().enumerate();
    let messages = own.map(|(at, message)| field::<Message>(&format!("messages/{at}"), message, form));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    match (&ask.prompt, messages.is_empty()) {
        (Some(_), false) => {
            Err(wrong("prompt", "the request has a prompt and messages").hint("put the prompt into the messages"))
        }
        (Some(prompt), true) => Ok(vec![Message::new(llm::Role::User, prompt)]),
        (None, true) => Err(wrong("messages", "the request says nothing").hint("give a `prompt`, or `messages`")),
        (None, false) => Ok(messages),
    }
}

fn workload(ask: &Ask) -> Result<Workload, Error> {
    let Some(name) = &ask.workload else { return Ok(Workload::default()) };
    Workload::deserialize(json!(name)).map_err(|_| {
        let error = wrong("workload", format!("there is no workload `{}`", name.escape_debug()));
        match error::nearest(name, ["chat", "embedding"]) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("known are `chat`, `embedding`"),
        }
    })
}

fn retry(ask: &Ask) -> Result<Retry, Error> {
    let Some(retry) = &ask.retry else { return Ok(Retry::default()) };
    let Again { on, max, wait_ms } = field("retry", retry, "`#{on: [\"rate_limit\"], max: 3, wait_ms: 1000}`")?;
    Ok(Retry { on, max, wait_ms: wait_ms.unwrap_or(WAIT_MS) })
}

/// Everything that a request says, for whoever counts its tokens.
pub(super) fn said(request: &LlmRequest) -> impl Iterator<Item = String> {
    let messages = request.messages().iter().map(|message| message.content.clone());
    let calls = request.messages().iter().flat_map(|message| &message.tool_calls).map(|call| json!(call).to_string());
    let tools = request.tools().iter().map(|tool| json!(tool).to_string());
    messages.chain(calls).chain(tools).chain(request.schema().map(|schema| schema.author().to_string()))
}
