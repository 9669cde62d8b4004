//! `nrv.code`: structural search and rewriting of code.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde_json::{Map, Value, json};

use crate::guest::bindings::{
    Field, Namespace,
    dta::{OUTPUT, PROPOSAL},
    fields,
    host::{Host, Nrv},
    registry,
};
use base::{
    call::{Call, Search},
    error::{Code, Error},
};

/// The adapter that rewrites.
const REWRITER: &str = "code_rewrite";

const SEARCH: &[Field] = fields! {
    glob: "string | array", pattern: "string | ()?", selector: "string | ()?", strictness: "string | ()?", rule: "map | ()?",
    lang: "string | ()?", allow_errors: "bool | ()?",
};

const HIT: &[Field] = fields! {
    path: "string", line: "int", column: "int", end_line: "int", end_column: "int", start: "int", end: "int", text: "string",
    variables: "map",
};

const REWRITE: &[Field] = fields! {
    glob: "string | array", pattern: "string | ()?", selector: "string | ()?", strictness: "string | ()?", rule: "map | ()?",
    fix: "string | ()?", lang: "string | ()?", rules: "string | array | ()?", utils: "string | array | ()?",
    tests: "string | array | ()?", allow_errors: "bool | ()?", once: "bool | ()?", on_skip: "string | ()?",
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.code",
    doc: "Code by its syntax, in 18 languages: patterns and rules of ast-grep.",
    calls: registry! {
        "nrv.code";
        /// Applies a proposal of `rewrite`, and verifies it; returns the output of the adapter `code_rewrite`.
        ///
        /// ```rhai
        /// let proposal = nrv.code.rewrite(#{ pattern: "log($A)", fix: "trace($A)", glob: "web/**/*.js" });
        /// nrv.code.apply(proposal).applied_changes
        /// ```
        apply(proposal: "map") -> "map" = OUTPUT;
        /// Nodes that match a pattern or a rule object of ast-grep, sorted by path and place; nested ones too.
        ///
        /// In a pattern `$NAME` is any node and `$$$NAME` any number of nodes; `variables` has each by its name as
        /// `#{line, column, end_line, end_column, start, end, text}`, and `$$$NAME` as an array of them. Lines and columns count from 1,
        /// bytes (`start`, `end`) from 0. Without `lang`, the ending of each file decides on its language. A file with a syntax error that
        /// may match is `unreadable`, unless `allow_errors` is true. Files without the words of the pattern are not parsed. Scripts and style
        /// sheets in HTML are code of their languages.
        ///
        /// ```rhai
        /// for hit in nrv.code.find(#{ pattern: "log($A)", glob: "web/**/*.js" }) {
        ///     print(`${hit.path}:${hit.line}: ${hit.variables.A.text}`);
        /// }
        /// ```
        find(search: "map" = SEARCH) -> "array" = HIT;
        /// Proposes to rewrite the matches of a pattern, a rule object, or files of rules; returns a proposal of `code_rewrite`.
        ///
        /// With `once` a match that has the form of its fix already stays, so that `log($A)` can become `log(wrap($A))`.
        ///
        /// ```rhai
        /// nrv.code.rewrite(#{ pattern: "log($A)", fix: "trace($A)", glob: "web/**/*.js" }).files
        /// ```
        rewrite(query: "map" = REWRITE) -> "map" = PROPOSAL;
    },
    register,
};

#[derive(Clone)]
struct CodeHandle(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<CodeHandle>("nrv.code");
    engine.register_get("code", |nrv: &mut Nrv| CodeHandle(nrv.0.clone()));
    engine.register_fn("find", |ctx: NativeCallContext<'_>, this: &mut CodeHandle, search: Dynamic| {
        let search = this.0.json(&ctx, &search)?;
        let search = read_search(search).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, Call::CodeFind(Box::new(search)))
    });
    engine.register_fn("rewrite", |ctx: NativeCallContext<'_>, this: &mut CodeHandle, query: Dynamic| {
        let query = this.0.json(&ctx, &query)?;
        let input = invocation(query).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, Call::DtaPropose { tool: REWRITER.to_owned(), input })
    });
    engine.register_fn("apply", |ctx: NativeCallContext<'_>, this: &mut CodeHandle, proposal: Dynamic| {
        let proposal = this.0.json(&ctx, &proposal)?;
        this.0.call(&ctx, Call::DtaApply { tool: REWRITER.to_owned(), proposal })
    });
}

/// The fields that are there, without those that are `()`.
fn given(query: Value) -> Result<Map<String, Value>, Error> {
    match query {
        Value::Object(map) => Ok(map.into_iter().filter(|(_, value)| !value.is_null()).collect()),
        _ => Err(wrong("it is no map")),
    }
}

fn read_search(search: Value) -> Result<Search, Error> {
    let mut map = given(search)?;
    if let Some(glob) = map.get_mut("glob").filter(|glob| glob.is_string()) {
        *glob = json!([glob.take()]);
    }
    serde_path_to_error::deserialize(Value::Object(map)).map_err(|error| wrong(&error.to_string()))
}

/// The invocation of the adapter: the globs are its target, everything else its parameters.
fn invocation(query: Value) -> Result<Value, Error> {
    let mut params = given(query)?;
    let glob = params.remove("glob").ok_or_else(|| wrong("it has no `glob`"))?;
    Ok(json!({"target": {"glob": glob}, "params": params}))
}

fn wrong(why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the query can't be used: {why}"))
        .hint("its form is `#{ pattern: \"foo($A)\", glob: \"src/**/*.js\" }`, and `fix` to rewrite")
}
