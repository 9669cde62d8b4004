//! `nrv.prompt`: prompts for language models, made of their parts.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde_json::Value;

use crate::guest::bindings::{
    Field, Namespace, fields,
    host::{Host, Nrv},
    registry,
};
use base::{
    call::{Call, Parts},
    error::{Code, Error},
};
use system::schema;

/// The form of the parts, for hints.
const FORM: &str = "its form is `#{role, goal, constraints, directives, context, prior, schema, provider, model, max_tokens}`; only \
                    `goal` must be there";

const PARTS: &[Field] = fields! {
    goal: "string", role: "string | ()?", constraints: "array | ()?", directives: "array | ()?",
    context: "array | ()?" = fields! { path: "string?", name: "string?", text: "string?", value: "any?" },
    prior: "array | ()?" = fields! { reply: "string?", errors: "array?" }, schema: "map | string | bool | ()?",
    provider: "string | ()?", model: "string | ()?", max_tokens: "int | ()?",
};

const COMPOSED: &[Field] = fields! {
    text: "string", sha256: "string", parts: "array" = fields! { name: "string", sha256: "string", bytes: "int" },
    tokens: "int",
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.prompt",
    doc: "Prompts for language models. A prompt is made of its parts alone, by code: the same parts and files give the same text.",
    calls: registry! {
        "nrv.prompt";
        /// Composes a prompt: `#{text, sha256, parts: [#{name, sha256, bytes}], tokens}`.
        ///
        /// Its parts are `#{role, goal, constraints, directives, context, prior, schema}`. Only `goal` is required, and `()` stands for a
        /// missing part. An item of `context` is a path, `#{name, text}` or `#{name, value}`; one of `prior` is `#{reply, errors}` of a former
        /// round. In `directives`, `"dta"` asks for changes through the approved adapters, and `"plan"` asks for a plan of diffs. Files stand in
        /// the text byte for byte, with their hashes; one that is not UTF-8 is `unreadable`. `tokens` is an estimate. With `provider` or
        /// `model`, the prompt and `max_tokens` for the reply have to fit the model's context, else the error is `invalid_input`. Nothing is
        /// ever cut off.
        ///
        /// ```rhai
        /// let prompt = nrv.prompt.compose(#{ goal: "Give every page a heading.", constraints: ["Change nothing else."],
        ///     directives: ["dta"], context: ["site/index.html", #{ name: "hosts", value: ["new.example.com"] }] });
        /// print(prompt.sha256);
        /// ```
        compose(parts: "map" = PARTS) -> "map" = COMPOSED;
    },
    register,
};

#[derive(Clone)]
struct Prompt(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Prompt>("nrv.prompt");
    engine.register_get("prompt", |nrv: &mut Nrv| Prompt(nrv.0.clone()));
    engine.register_fn("compose", |ctx: NativeCallContext<'_>, this: &mut Prompt, parts: Dynamic| {
        let parts = this.0.json(&ctx, &parts)?;
        let parts = read(parts).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, Call::PromptCompose(Box::new(parts)))
    });
}

fn read(mut parts: Value) -> Result<Parts, Error> {
    if let Some(map) = parts.as_object_mut() {
        map.retain(|_, value| !value.is_null());
        if let Some(schema) = map.get_mut("schema") {
            *schema = schema::of_text(schema.take())?;
        }
    }
    // An array would be read as the values of the fields in their order.
    let parts = Value::Object(serde_json::from_value(parts).map_err(|error| wrong(&error.to_string()))?);
    serde_path_to_error::deserialize(parts).map_err(|error| {
        let (field, why) = (error.path().to_string(), error.inner().to_string());
        match field.as_str() {
            "." => wrong(&why),
            field => wrong(&format!("`{field}`: {why}")).detail("field", field),
        }
    })
}

fn wrong(why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the prompt can't be made: {why}")).hint(FORM)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_part_names_it() {
        for (parts, field) in [
            (json!({"goal": "a", "constraints": "b"}), "constraints"),
            (json!({"goal": "a", "directives": ["dta", 3]}), "directives[1]"),
            (json!({"goal": "a", "max_tokens": -1}), "max_tokens"),
        ] {
            assert_eq!(read(parts).unwrap_err().details()["field"], field);
        }
        for parts in [json!([]), json!({}), json!("a")] {
            assert_eq!(read(parts).unwrap_err().code(), Code::InvalidInput);
        }
        assert_eq!(read(json!({"goal": "a", "role": null})).unwrap().goal, "a");
    }
}
