//! `nrv.llm`: requests to language models, their streams, and the parsers of a reply.
//!
//! A model's reply is text. Nothing here executes it.

use rhai::{Dynamic, Engine, EvalAltResult, FnPtr, Map, NativeCallContext};
use serde_json::{Value, json};

use crate::guest::{
    bindings::{
        Field, Namespace,
        apply::PLAN,
        fields,
        host::{Host, Nrv, Reply},
        registry,
        stream::{self, EventStream},
    },
    value,
};
use base::{
    call::{Ask, Call},
    error::{Code, Error},
    json,
};
use system::schema::{
    self, Schema,
    reply::{self, Fence},
};

/// The form of a request, for hints.
const FORM: &str = "its form is `#{prompt | messages, max_tokens, provider, model, workload, schema, tools, tool_choice, \
                    temperature, seed, stop, timeout_ms, retry}`";

const REQUEST: &[Field] = fields! {
    prompt: "string | ()?", messages: "array | ()?" = MESSAGE, max_tokens: "int | ()?", provider: "string | ()?",
    model: "string | ()?", workload: "string | ()?", schema: "map | string | ()?", tools: "array | ()?" = TOOL,
    tool_choice: "string | map | ()?" = fields! { named: "string" }, temperature: "int | float | ()?", seed: "int | ()?",
    stop: "array | ()?", timeout_ms: "int | ()?", retry: "map | ()?" = RETRY,
};

const MESSAGE: &[Field] =
    fields! { role: "string", content: "string", tool_calls: "array?" = TOOL_CALL, tool_call_id: "string?" };

const TOOL: &[Field] = fields! { name: "string", description: "string", parameters: "map?", input_schema: "map?" };

const TOOL_CALL: &[Field] = fields! { id: "string", name: "string", arguments: "any" };

const RETRY: &[Field] = fields! { on: "array", max: "int", wait_ms: "int?" };

const OPTIONS: &[Field] = fields! { allow_fence: "bool?" };

const ANSWER: &[Field] = fields! {
    text: "string", reasoning: "string?", value: "any?", tool_calls: "array" = TOOL_CALL, finish: "string", usage: "map" = USAGE,
    provider: "string", model_requested: "string", model: "string?", request: "string", ignored: "array?",
    cost_millionths: "int?", from: "string?", label: "string?",
};

/// The fields of a streamed reply; one that the script cancelled lacks some.
const STREAMED: &[Field] = fields! {
    text: "string", reasoning: "string?", value: "any?", tool_calls: "array" = TOOL_CALL, finish: "string", usage: "map?" = USAGE,
    provider: "string?", model_requested: "string", model: "string?", request: "string?", ignored: "array?",
    cost_millionths: "int?", from: "string?", label: "string?",
};

const USAGE: &[Field] =
    fields! { input_tokens: "int?", cached_tokens: "int?", output_tokens: "int?", estimated: "bool?" };

const CAPABILITIES: &[Field] = fields! { provider: "string", dialect: "string", model: "string | ()", models: "map" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.llm",
    doc: "Language models. A request is `#{prompt | messages, max_tokens, provider, model, workload, schema, tools, tool_choice, temperature, seed, stop, timeout_ms, retry}`; `prompt` or `messages`, and `max_tokens`, are required, and `()` stands for a missing field. The header has to permit the provider by `permissions: #{ llm: [\"local\"] }`, or `\"*\"`. Nothing is added to a request, and it is retried only if it says so: `retry: #{on: [\"overloaded\"], max: 3, wait_ms: 500}`. A message is `#{role, content, tool_calls, tool_call_id}` with the role `system`, `user`, `assistant` or `tool`; a tool is `#{name, description, parameters}`, or `input_schema` for `parameters`. A reply can only ask for a tool call; nothing runs it. A failure of a model is `model_unavailable` if it may pass and `model_failed` if not, with `details.kind`.",
    calls: registry! {
        "nrv.llm";
        /// The capabilities of a provider: `#{provider, dialect, model, models: #{NAME: #{context_tokens, max_output_tokens, tools, structured_output, workloads, aliases}}}`.
        ///
        /// Without a name it is the default provider. Unknown fields of a model are left out.
        ///
        /// ```rhai
        /// for name in nrv.llm.capabilities().models.keys() { print(name); }
        /// ```
        capabilities(provider: "string?") -> "map" = CAPABILITIES;
        /// Asks a model and waits for its reply, which is checked: `#{text, value, tool_calls, finish, usage, provider, model_requested, model, request, …}`.
        ///
        /// `value` is there if the request has a `schema`, and fits it. `finish` is `stop`, `length`, `tool_calls` or `refusal`. `usage` has
        /// `input_tokens`, `cached_tokens` and `output_tokens`; `cost_millionths` is there if the policy has prices. A tool call is
        /// `#{id, name, arguments}`. `ignored` names the fields that the provider does not support. `from` is `"cassette"` if the reply was
        /// recorded, and `label` is `"authored"` if a person wrote it. `reasoning` is there if the server sends it apart from the text.
        ///
        /// ```rhai
        /// let reply = nrv.llm.complete(#{ prompt: "Name two colours.", max_tokens: 100,
        ///     schema: #{ type: "array", items: #{ type: "string" } } });
        /// for colour in reply.value { print(colour); }
        /// ```
        complete(request: "map" = REQUEST) -> "map" = ANSWER;
        /// Parses a reply that is JSON and nothing else; it has to fit the schema, or is any JSON if that is `()`.
        ///
        /// Pure. Text that is not JSON is `model_failed` with `details.kind == "malformed_json"`. A value that does not fit the schema has the
        /// kind `schema` and `details.violations`, each with a `pointer`, a `message` and the `value`. With `#{allow_fence: true}` one fenced
        /// block of Markdown may stand around the JSON.
        ///
        /// ```rhai
        /// nrv.llm.parse("```json\n[1, 2]\n```", #{ type: "array" }, #{ allow_fence: true })[1] == 2
        /// ```
        parse(text: "string", schema: "map | string | ()", options: "map?" = OPTIONS) -> "any";
        /// Parses a reply as a plan for `nrv.apply.plan`: `#{diffs: [#{path, checksum, unified_diff}], post}`. Errors and options are those of `parse`.
        ///
        /// ```rhai
        /// let plan = nrv.llm.parse_plan(`{"diffs": [{"path": "new.txt", "unified_diff": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"}]}`);
        /// nrv.apply.plan(plan, "dry-run");
        /// ```
        parse_plan(text: "string", options: "map?" = OPTIONS) -> "map" = PLAN;
        /// Asks a model and passes the events of its reply, as they come, to a function or to a loop.
        ///
        /// Events are `#{type: "started", model, attempt, after}`, `#{type: "token", text}`, `#{type: "tool_call", call}`,
        /// `#{type: "metrics", usage, first_token_ms, total_ms}`, and one end: `#{type: "completed", reply}`, with a reply as that of
        /// `complete`, or `#{type: "error", error}`. With a function the result is the reply, and an error is thrown after its event. If the
        /// function returns `true` the request is cancelled, and the result is the reply so far: `#{text, tool_calls, finish: "cancelled", …}`.
        /// A loop only sees events, also that of an error; leaving it cancels the request. Each event comes once.
        ///
        /// ```rhai
        /// let request = #{ prompt: "Tell a story.", max_tokens: 1000 };
        /// let reply = nrv.llm.stream(request, |event| if event.type == "token" { print(event.text); });
        /// for event in nrv.llm.stream(request) {
        ///     if event.type == "token" { break; }
        /// }
        /// ```
        stream(request: "map" = REQUEST, callback: "function?") -> "map | stream" = STREAMED;
    },
    register,
};

#[derive(Clone)]
struct Llm(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Llm>("nrv.llm");
    engine.register_type_with_name::<EventStream>("EventStream");
    engine.register_iterator_result::<EventStream, Dynamic>();
    engine.register_get("llm", |nrv: &mut Nrv| Llm(nrv.0.clone()));
    engine.register_fn("capabilities", |ctx: NativeCallContext<'_>, this: &mut Llm| {
        this.0.call(&ctx, Call::LlmCapabilities { provider: None })
    });
    engine.register_fn("capabilities", |ctx: NativeCallContext<'_>, this: &mut Llm, provider: &str| {
        this.0.call(&ctx, Call::LlmCapabilities { provider: Some(provider.to_owned()) })
    });
    engine.register_fn("complete", |ctx: NativeCallContext<'_>, this: &mut Llm, request: Map| {
        let ask = this.ask(&ctx, request)?;
        this.0.call(&ctx, Call::LlmComplete(ask))
    });
    engine.register_fn("stream", |ctx: NativeCallContext<'_>, this: &mut Llm, request: Map| {
        let ask = this.ask(&ctx, request)?;
        EventStream::begin(&ctx, &this.0, Call::LlmStream(ask))
    });
    engine.register_fn(
        "stream",
        |ctx: NativeCallContext<'_>, this: &mut Llm, request: Map, callback: FnPtr| -> Reply {
            let ask = this.ask(&ctx, request)?;
            stream::each(&ctx, &this.0, Call::LlmStream(ask), &callback)
        },
    );
    engine.register_fn("parse", |ctx: NativeCallContext<'_>, this: &mut Llm, text: &str, schema: Dynamic| {
        this.parse(&ctx, text, &schema, Map::new())
    });
    engine.register_fn(
        "parse",
        |ctx: NativeCallContext<'_>, this: &mut Llm, text: &str, schema: Dynamic, options: Map| {
            this.parse(&ctx, text, &schema, options)
        },
    );
    engine.register_fn("parse_plan", |ctx: NativeCallContext<'_>, this: &mut Llm, text: &str| {
        this.give(&ctx, reply::parse_plan(text, Fence::Refused))
    });
    engine.register_fn("parse_plan", |ctx: NativeCallContext<'_>, this: &mut Llm, text: &str, options: Map| {
        this.give(&ctx, fence(options).and_then(|fence| reply::parse_plan(text, fence)))
    });
}

impl Llm {
    /// A request as the host takes it.
    fn ask(&self, ctx: &NativeCallContext<'_>, mut request: Map) -> Result<Box<Ask>, Box<EvalAltResult>> {
        // A script may hand on an argument that it was not given.
        request.retain(|_, value| !value.is_unit());
        let request = self.0.json(ctx, &request.into())?;
        with_schema(request).and_then(read).map(Box::new).map_err(|error| self.0.raise(ctx, error))
    }

    fn parse(&self, ctx: &NativeCallContext<'_>, text: &str, schema: &Dynamic, options: Map) -> Reply {
        let parsed = || {
            let schema = match schema::of_text(value::to_json(schema)?)? {
                Value::Null => None,
                schema => Some(Schema::compile(&schema)?),
            };
            reply::parse(text, schema.as_ref(), fence(options)?)
        };
        self.give(ctx, parsed())
    }

    fn give(&self, ctx: &NativeCallContext<'_>, parsed: Result<Value, Error>) -> Reply {
        parsed.map(value::from_json).map_err(|error| self.0.raise(ctx, error))
    }
}

/// Reads a request. An error names the field, and for an unknown field the nearest name.
fn read(request: Value) -> Result<Ask, Error> {
    let wrong = |what: &str| Error::new(Code::InvalidInput, format!("the request can't be made: {what}")).hint(FORM);
    Schema::compile(&form())?.check(&request).map_err(|error| {
        let violations = error.details().get("violations").cloned().unwrap_or_default();
        wrong(error.message()).detail("violations", violations)
    })?;
    serde_json::from_value(whole_numbers(request)).map_err(|error| wrong(&error.to_string()))
}

/// A request whose schema may have been given as JSON text.
fn with_schema(mut request: Value) -> Result<Value, Error> {
    if let Some(schema) = request.get_mut("schema") {
        *schema = schema::of_text(schema.take())?;
    }
    Ok(request)
}

/// Makes a number such as `5.0` an integer, which it is in JSON Schema.
fn whole_numbers(mut request: Value) -> Value {
    let fields = request.as_object_mut().into_iter().flatten();
    for (_, value) in fields.filter(|(_, value)| value.is_f64()) {
        *value = json::as_recorded(value.take());
    }
    request
}

/// The JSON Schema of a request, checked before it leaves the script: names and types. The host judges their meaning.
fn form() -> Value {
    let (text, count) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 0}));
    let list = |items: &Value| json!({"type": "array", "items": items});
    let closed = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties});
    let call = closed(&["id", "name", "arguments"], json!({"id": text, "name": text, "arguments": true}));
    let roles = ["system", "user", "assistant", "tool"];
    let message = closed(
        &["role", "content"],
        json!({"role": {"enum": roles}, "content": text, "tool_calls": list(&call), "tool_call_id": text}),
    );
    let mut tool = closed(
        &["name", "description"],
        json!({
            "name": text, "description": text, "parameters": {"type": "object"}, "input_schema": {"type": "object"},
        }),
    );
    tool["oneOf"] = json!([{"required": ["parameters"]}, {"required": ["input_schema"]}]);
    let named = closed(&["named"], json!({"named": text}));
    let tries = json!({"type": "integer", "minimum": 0, "maximum": u32::MAX});
    let retry = closed(&["on", "max"], json!({"on": list(&text), "max": tries, "wait_ms": count}));
    closed(
        &[],
        json!({
            "provider": text, "model": text, "workload": text, "prompt": text, "messages": list(&message),
            "schema": {"type": "object"}, "tools": list(&tool),
            "tool_choice": {"anyOf": [{"enum": ["auto", "none", "required"]}, named]},
            "max_tokens": count, "temperature": {"type": "number"}, "seed": count, "stop": list(&text),
            "timeout_ms": {"type": "integer", "minimum": 1}, "retry": retry,
        }),
    )
}

/// The fence that the options of `parse` allow.
fn fence(options: Map) -> Result<Fence, Error> {
    let wrong = |what: &str| {
        Error::new(Code::InvalidInput, format!("the options of `parse` are wrong: {what}"))
            .hint("they are `#{allow_fence: true}`, or nothing")
    };
    let mut allowed = Fence::Refused;
    for (name, value) in options {
        match (name.as_str(), value.as_bool()) {
            ("allow_fence", Ok(true)) => allowed = Fence::Allowed,
            ("allow_fence", Ok(false)) => {}
            ("allow_fence", Err(_)) => return Err(wrong(&format!("`allow_fence` is {}", value::type_word(&value)))),
            (other, _) => return Err(wrong(&format!("there is no `{}`", other.escape_debug()))),
        }
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_whole_is_an_integer_and_others_are_told_with_their_field() {
        let ask = |field: &str, number: Value| read(json!({"prompt": "x", field: number}));
        let most = ask("max_tokens", json!(5.0)).unwrap().max_tokens;
        assert_eq!((most, ask("temperature", json!(1.0)).unwrap().temperature), (Some(5), Some(1.0)));
        for (field, number) in [("max_tokens", json!(5.5)), ("timeout_ms", json!(0)), ("seed", json!(-1))] {
            let error = ask(field, number).unwrap_err();
            assert!(error.message().contains(&format!("`/{field}`")), "{error}");
        }
        let retry = json!({"on": ["rate_limit"], "max": 99_999_999_999_u64});
        assert!(ask("retry", retry).unwrap_err().message().contains("`/retry/max`"));
    }

    #[test]
    fn the_form_has_every_field_of_a_request() {
        let (text, list) = (|| Some("x".to_owned()), || vec![json!({})]);
        let full = Ask {
            provider: text(),
            model: text(),
            workload: text(),
            prompt: text(),
            messages: list(),
            schema: Some(json!({})),
            tools: list(),
            tool_choice: Some(json!("auto")),
            max_tokens: Some(1),
            temperature: Some(0.5),
            seed: Some(1),
            stop: vec!["x".to_owned()],
            timeout_ms: Some(1),
            retry: Some(json!({})),
        };
        let full = serde_json::to_value(full).unwrap();
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&form()["properties"]), names(&full));
        assert!(names(&full).iter().all(|name| FORM.contains(name) && NAMESPACE.doc.contains(name)), "{full}");
    }
}
