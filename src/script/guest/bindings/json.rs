//! `nrv.json`: JSON as text, canonical form, schemas and hashes; pure, without a call to the host.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde_json::Value;

use crate::guest::{
    bindings::{
        Namespace,
        host::{Host, Nrv, Reply},
        registry,
    },
    value,
};
use base::{
    error::{Code, Error},
    json,
};
use system::schema::{self, Schema};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.json",
    doc: "JSON: text, canonical form, schemas, hashes. Integers beyond 64 bits become strings.",
    calls: registry! {
        "nrv.json";
        /// A value as canonical JSON (RFC 8785): the form that is hashed.
        ///
        /// ```rhai
        /// nrv.json.canonical(#{ b: 1.0, a: [] }) == `{"a":[],"b":1}`
        /// ```
        canonical(value: "any") -> "string";
        /// JSON text as a value; anything else is `invalid_input`.
        ///
        /// ```rhai
        /// nrv.json.parse(`{"a": [1, 2]}`).a[1] == 2
        /// ```
        parse(text: "string") -> "any";
        /// The SHA-256 hash of a value's canonical JSON, 64 hex digits.
        ///
        /// ```rhai
        /// nrv.json.sha256(#{ a: 1 }).len == 64
        /// ```
        sha256(value: "any") -> "string";
        /// A value as JSON text, keys sorted, indented by two blanks.
        ///
        /// ```rhai
        /// nrv.json.stringify(#{ a: 1 }) == "{\n  \"a\": 1\n}"
        /// ```
        stringify(value: "any") -> "string";
        /// Gives the value back if it fits a JSON Schema; otherwise `invalid_input` with `details.violations`. The schema may be JSON text.
        ///
        /// ```rhai
        /// nrv.json.validate(3, #{ type: "integer" }) == 3
        /// ```
        validate(value: "any", schema: "map | string") -> "any";
    },
    register,
};

#[derive(Clone)]
struct Json(Host);

impl Json {
    fn give<T: Into<Dynamic>>(&self, ctx: &NativeCallContext<'_>, result: Result<T, Error>) -> Reply {
        result.map(Into::into).map_err(|error| self.0.raise(ctx, error))
    }
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Json>("nrv.json");
    engine.register_get("json", |nrv: &mut Nrv| Json(nrv.0.clone()));
    engine.register_fn("canonical", |ctx: NativeCallContext<'_>, this: &mut Json, value: Dynamic| {
        this.give(&ctx, value::to_json(&value).and_then(|value| json::canonical(&value)))
    });
    engine.register_fn("parse", |ctx: NativeCallContext<'_>, this: &mut Json, text: &str| this.give(&ctx, parse(text)));
    engine.register_fn("sha256", |ctx: NativeCallContext<'_>, this: &mut Json, value: Dynamic| {
        this.give(&ctx, value::to_json(&value).and_then(|value| json::sha256(&value)).map(|hash| hash.to_string()))
    });
    engine.register_fn("stringify", |ctx: NativeCallContext<'_>, this: &mut Json, value: Dynamic| {
        this.give(&ctx, value::to_json(&value).map(|value| format!("{value:#}")))
    });
    engine.register_fn("validate", |ctx: NativeCallContext<'_>, this: &mut Json, value: Dynamic, schema: Dynamic| {
        this.give(&ctx, validate(&value, &schema).map(|()| value))
    });
}

fn parse(text: &str) -> Result<Dynamic, Error> {
    let wrong = |error: serde_json::Error| Error::new(Code::InvalidInput, format!("the text is not JSON: {error}"));
    serde_json::from_str::<Value>(text).map(value::from_json).map_err(wrong)
}

fn validate(value: &Dynamic, schema: &Dynamic) -> Result<(), Error> {
    Schema::compile(&schema::of_text(value::to_json(schema)?)?)?.check(&value::to_json(value)?)
}
