//! Requests to a model, checked against its capabilities before anything is sent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    canonical::{self, Key},
    capabilities::{Capabilities, Model, Workload},
    error::Kind,
    message::{Message, Role, Tool, ToolChoice},
    schema::ReplySchema,
};
use base::{
    error::{self, Code, Error},
    hash::Sha256,
};
use system::schema::Schema;

/// A valid request.
#[derive(Clone, Debug)]
pub struct LlmRequest {
    parts: Parts,
    known: Model,
    canonical: Value,
    sha256: Sha256,
}

/// Makes a request, step by step; [`LlmRequestBuilder::build`] checks all of them.
#[derive(Clone, Debug)]
pub struct LlmRequestBuilder {
    capabilities: Capabilities,
    parts: Parts,
    schema: Option<Value>,
}

#[derive(Clone, Debug, Default)]
struct Parts {
    model: String,
    workload: Workload,
    messages: Vec<Message>,
    schema: Option<ReplySchema>,
    tools: Vec<Tool>,
    tool_choice: ToolChoice,
    sampling: Sampling,
    timeouts: Timeouts,
    retry: Retry,
}

/// The sampling of a model; each none is left to the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Tokens of the reply at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// 0 for the most probable words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The seed for repeatable replies, as far as a server supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Texts at which the reply ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

/// The time limits of one try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Milliseconds without data.
    pub read_ms: u64,
    /// Milliseconds in total.
    pub total_ms: u64,
}

/// The retries of a request. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// The kinds of errors that are retried, if they may pass.
    pub on: BTreeSet<Kind>,
    /// The largest number of retries.
    pub max: u32,
    /// Milliseconds to wait if the server names no pause.
    pub wait_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { read_ms: 120_000, total_ms: 600_000 }
    }
}

impl LlmRequest {
    /// Begins a request to a provider with these capabilities.
    pub fn builder(capabilities: Capabilities) -> LlmRequestBuilder {
        LlmRequestBuilder { capabilities, parts: Parts::default(), schema: None }
    }

    /// The requested model.
    pub fn model(&self) -> &str {
        &self.parts.model
    }

    /// The workload.
    pub fn workload(&self) -> Workload {
        self.parts.workload
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.parts.messages
    }

    /// The schema of the reply.
    pub fn schema(&self) -> Option<&ReplySchema> {
        self.parts.schema.as_ref()
    }

    /// The schema that is sent: none if the model's server is known to enforce none.
    pub(super) fn wire_schema(&self) -> Option<&Value> {
        let schema = self.parts.schema.as_ref()?;
        (self.known.structured_output != Some(false)).then(|| schema.wire())
    }

    /// The tools that it may call.
    pub fn tools(&self) -> &[Tool] {
        &self.parts.tools
    }

    /// The obligation to call tools.
    pub fn tool_choice(&self) -> &ToolChoice {
        &self.parts.tool_choice
    }

    /// The sampling.
    pub fn sampling(&self) -> &Sampling {
        &self.parts.sampling
    }

    /// The time limits.
    pub fn timeouts(&self) -> Timeouts {
        self.parts.timeouts
    }

    /// The retries.
    pub fn retry(&self) -> &Retry {
        &self.parts.retry
    }

    /// The known facts of the model.
    pub fn known(&self) -> &Model {
        &self.known
    }

    /// The canonical value of the request, the same for every dialect.
    pub fn canonical(&self) -> &Value {
        &self.canonical
    }

    /// The record's key for the given occurrence of this request, from 1.
    pub fn key(&self, occurrence: u64) -> Key {
        Key { request: self.sha256, occurrence }
    }
}

impl LlmRequestBuilder {
    /// The requested model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.parts.model = model.into();
        self
    }

    /// The workload; a chat by default.
    #[must_use]
    pub fn workload(mut self, workload: Workload) -> Self {
        self.parts.workload = workload;
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.parts.messages.push(message);
        self
    }

    /// Adds a message of the user.
    #[must_use]
    pub fn prompt(self, text: impl Into<String>) -> Self {
        self.message(Message::new(Role::User, text))
    }

    /// The JSON Schema of the reply.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.parts.tools.push(tool);
        self
    }

    /// The obligation to call tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.parts.tool_choice = choice;
        self
    }

    /// Tokens of the reply at most.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.parts.sampling.max_tokens = Some(tokens);
        self
    }

    /// 0 for the most probable words.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.parts.sampling.temperature = Some(temperature);
        self
    }

    /// The seed for repeatable replies.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.parts.sampling.seed = Some(seed);
        self
    }

    /// Adds a text at which the reply ends.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.parts.sampling.stop.push(text.into());
        self
    }

    /// The time limits of one try.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.parts.timeouts = timeouts;
        self
    }

    /// The retries.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.parts.retry = retry;
        self
    }

    /// Checks the request; `invalid_input` with `details.field` describes a defect.
    pub fn build(self) -> Result<LlmRequest, Error> {
        let known = self.known()?;
        let LlmRequestBuilder { mut parts, schema, .. } = self;
        check_limits(&parts, &known)?;
        check_sampling(&parts.sampling)?;
        check_tools(&parts, &known)?;
        let schema = schema.as_ref().map(ReplySchema::new).transpose();
        parts.schema = schema.map_err(|error| error.detail("field", "schema"))?;
        let unhashed = Sha256::of(b"");
        let request = LlmRequest { parts, known, canonical: Value::Null, sha256: unhashed };
        let canonical = canonical_value(&request);
        let sha256 = canonical::hash(&canonical)?;
        Ok(LlmRequest { canonical, sha256, ..request })
    }

    /// The facts of the requested model, if it exists and supports the workload.
    fn known(&self) -> Result<Model, Error> {
        let (name, known) = (self.parts.model.as_str(), self.capabilities.models());
        let names = || known.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if name.is_empty() {
            let hint = if known.is_empty() { "configure a model".to_owned() } else { format!("known are {}", names()) };
            return Err(wrong("model", "the request names no model").hint(hint));
        }
        let Some(model) = self.capabilities.model(name) else {
            let error = wrong("model", format!("the provider has no model `{}`", name.escape_debug()));
            return Err(match error::nearest(name, known.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if known.is_empty() => error.hint("no model is known: start the server, or configure one"),
                None => error.hint(format!("known are {}", names())),
            });
        };
        match self.parts.workload {
            workload if !model.does(workload) => {
                let message = format!("the model `{name}` does no `{}`", workload.as_str());
                Err(wrong("workload", message).hint("take another model"))
            }
            Workload::Embedding => {
                Err(wrong("workload", "embeddings can't be asked for").hint("only `chat` is supported"))
            }
            Workload::Chat => Ok(model.clone()),
        }
    }
}

/// The error about a defective field of a request.
pub(crate) fn wrong(field: &str, message: impl Into<String>) -> Error {
    Error::new(Code::InvalidInput, message).detail("field", field)
}

fn check_limits(parts: &Parts, known: &Model) -> Result<(), Error> {
    let Some(tokens) = parts.sampling.max_tokens else { return Ok(()) };
    let limits = [("reply", known.max_output_tokens), ("context", known.context_tokens)];
    let limit = limits.into_iter().filter_map(|(what, limit)| limit.map(|limit| (what, limit)));
    match limit.min_by_key(|(_, limit)| *limit) {
        _ if tokens == 0 => Err(wrong("max_tokens", "`max_tokens` is 0").hint("give at least 1")),
        Some((what, limit)) if tokens > limit => {
            let message =
                format!("`max_tokens` is {tokens}, and the {what} of `{}` has {limit} tokens at most", parts.model);
            Err(wrong("max_tokens", message).detail("limit", limit).hint(format!("give at most {limit}")))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_sampling(sampling: &Sampling) -> Result<(), Error> {
    if sampling.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        return Err(wrong("temperature", "`temperature` is not between 0 and 2").hint("give 0 for the least chance"));
    }
    if sampling.stop.iter().any(String::is_empty) {
        return Err(wrong("stop", "a text of `stop` is empty").hint("leave it out"));
    }
    Ok(())
}

fn check_tools(parts: &Parts, known: &Model) -> Result<(), Error> {
    let is_name = |name: &str| {
        (1..=64).contains(&name.len()) && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
    };
    let mut names = BTreeSet::new();
    for tool in &parts.tools {
        let name = tool.name.as_str();
        if !is_name(name) || !names.insert(name) {
            let message = format!("a tool can't be called `{}`", name.escape_debug());
            return Err(wrong("tools", message).hint("give each its own name of letters, digits, `_` and `-`"));
        }
        Schema::compile(&tool.parameters)
            .map_err(|error| error.within(format!("`{name}`")).detail("field", "tools"))?;
    }
    if !names.is_empty() && known.tools == Some(false) {
        let message = format!("the model `{}` calls no tools", parts.model);
        return Err(wrong("tools", message).hint("take another model, or ask for the call with a schema"));
    }
    match &parts.tool_choice {
        ToolChoice::Named(name) if !names.contains(name.as_str()) => {
            let message = format!("`tool_choice` names `{}`, which is none of the tools", name.escape_debug());
            Err(wrong("tool_choice", message).hint("add it to the tools"))
        }
        ToolChoice::Required if names.is_empty() => {
            Err(wrong("tool_choice", "a tool has to be called, and there is none").hint("add one"))
        }
        ToolChoice::Named(_) | ToolChoice::Required | ToolChoice::Auto | ToolChoice::None => Ok(()),
    }
}

/// The canonical value of a request, the same for every dialect and server. The destination, streaming, time limits and
/// retries are not part of it.
fn canonical_value(request: &LlmRequest) -> Value {
    let mut value = Map::new();
    value.insert("version".to_owned(), json!(1));
    value.insert("model".to_owned(), json!(request.model()));
    value.insert("workload".to_owned(), json!(request.workload()));
    value.insert("messages".to_owned(), json!(request.messages()));
    value.insert("sampling".to_owned(), json!(request.sampling()));
    if let Some(schema) = request.schema() {
        value.insert("schema".to_owned(), schema.author().clone());
    }
    if !request.tools().is_empty() {
        value.insert("tools".to_owned(), json!(request.tools()));
        value.insert("tool_choice".to_owned(), json!(request.tool_choice()));
    }
    Value::Object(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn capabilities() -> Capabilities {
        let tiny =
            Model { context_tokens: Some(2048), max_output_tokens: Some(512), tools: Some(false), ..Model::default() };
        let embed = Model { workloads: Some(BTreeSet::from([Workload::Embedding])), ..Model::default() };
        let free = Model::default();
        Capabilities::new([("tiny".to_owned(), tiny), ("embed".to_owned(), embed), ("free".to_owned(), free)])
    }

    fn request() -> LlmRequestBuilder {
        LlmRequest::builder(capabilities()).model("free").prompt("hi")
    }

    fn tool(name: &str) -> Tool {
        Tool { name: name.to_owned(), description: String::new(), parameters: json!({"type": "object"}) }
    }

    #[track_caller]
    fn refused(builder: LlmRequestBuilder, field: &str, words: &str) {
        let error = builder.build().unwrap_err();
        assert_eq!((error.code(), &error.details()["field"]), (Code::InvalidInput, &json!(field)), "{error}");
        assert!(error.message().contains(words), "{error}");
    }

    #[test]
    fn what_a_model_can_not_do_is_refused_before_anything_is_sent() {
        let new = || LlmRequest::builder(capabilities());
        refused(new(), "model", "names no model");
        refused(new().model("tny"), "model", "no model `tny`");
        assert_eq!(new().model("tny").build().unwrap_err().hint_text(), Some("did you mean `tiny`?"));
        refused(LlmRequest::builder(Capabilities::default()).model("a"), "model", "no model `a`");
        refused(new().model("embed"), "workload", "does no `chat`");
        refused(new().model("embed").workload(Workload::Embedding), "workload", "can't be asked for");
        refused(new().model("tiny").max_tokens(513), "max_tokens", "the reply of `tiny` has 512 tokens");
        refused(new().model("tiny").tool(tool("a")), "tools", "calls no tools");
        refused(request().max_tokens(0), "max_tokens", "is 0");
        refused(request().temperature(f64::NAN), "temperature", "between 0 and 2");
        refused(request().stop(""), "stop", "empty");
        refused(request().tool(tool("a b")), "tools", "`a b`");
        refused(request().tool(tool("a")).tool(tool("a")), "tools", "`a`");
        refused(request().tool_choice(ToolChoice::Required), "tool_choice", "there is none");
        refused(request().tool_choice(ToolChoice::Named("x".to_owned())), "tool_choice", "`x`");
        refused(request().schema(json!({"type": "strng"})), "schema", "not a JSON Schema");
    }

    #[test]
    fn the_key_is_of_what_decides_the_reply_and_of_nothing_else() {
        let key = |builder: LlmRequestBuilder| builder.build().unwrap().key(1);
        let base = key(request());
        let slow = Timeouts { read_ms: 1, total_ms: 2 };
        let patient = Retry { on: BTreeSet::from([Kind::Overloaded]), max: 3, wait_ms: 5 };
        assert_eq!(key(request().timeouts(slow).retry(patient)), base);
        let others = [
            request().prompt("there"),
            request().model("tiny"),
            request().seed(1),
            request().temperature(0.0),
            request().max_tokens(5),
            request().stop("x"),
            request().schema(json!({"type": "object"})),
            request().tool(tool("a")),
        ];
        let keys: BTreeSet<_> = others.into_iter().map(key).chain([base]).collect();
        assert_eq!(keys.len(), 9);
    }

    #[test]
    fn the_canonical_form_is_written_down() {
        let request = request().seed(7).temperature(0.5).build().unwrap();
        let expected = json!({
            "version": 1, "model": "free", "workload": "chat", "messages": [{"role": "user", "content": "hi"}],
            "sampling": {"seed": 7, "temperature": 0.5},
        });
        assert_eq!(*request.canonical(), expected);
        assert_eq!(
            request.key(2).to_string(),
            format!("{}-2", base::json::sha256(&expected).unwrap()),
            "keys are the same on every machine"
        );
    }

    #[test]
    fn a_server_that_enforces_no_schema_is_sent_none() {
        let plain = Model { structured_output: Some(false), ..Model::default() };
        let caps = Capabilities::new([("a".to_owned(), plain)]);
        let request = LlmRequest::builder(caps).model("a").schema(json!({"type": "object"})).build().unwrap();
        assert!(request.wire_schema().is_none() && request.schema().is_some());
    }
}
