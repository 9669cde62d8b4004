//! Failures of a script as errors of the host: code, sentence, place, hint.
//!
//! An error of the host keeps its code. A script can't make up a code that the host has not used in this run.

use rhai::{AST, Dynamic, Engine, EvalAltResult};
use serde_json::Value;

use crate::guest::{
    bindings::{self, Host},
    limit::{limit_error, limit_name},
    place,
    syntax::{self, sentence},
    value::{self, type_name_word},
};
use base::{
    error::{self, Code, Error, Location},
    frame::Limits,
};

/// The hint for a value that is `()` where another one was meant.
const NOTHING: &str =
    "some methods, such as `trim`, change the value and give nothing: call them in a statement of their own";

/// The sources of an explanation.
pub(super) struct Context<'a> {
    /// The host's side.
    pub(super) host: &'a Host,
    /// The engine that ran the script.
    pub(super) engine: &'a Engine,
    /// The script, once it has come to its end.
    pub(super) ast: Option<&'a AST>,
    /// Its limits.
    pub(super) limits: &'a Limits,
}

/// The error of a script that ended without a result.
pub(super) fn explain(error: EvalAltResult, ctx: &Context<'_>) -> Error {
    let main = ctx.ast.and_then(AST::source).unwrap_or_default().to_owned();
    let (inner, path) = innermost(error, main);
    explain_at(inner, &path, ctx)
}

/// The parts of an error that a script may catch: the value if one was thrown, and the explanation.
///
/// An error that it may not catch is returned as it is.
pub(super) fn catch(
    error: EvalAltResult,
    main: &str,
    ctx: &Context<'_>,
) -> Result<(Option<Dynamic>, Error), Box<EvalAltResult>> {
    let (inner, path) = innermost(error, main.to_owned());
    if !inner.is_catchable() {
        return Err(inner.into());
    }
    let value = match &inner {
        EvalAltResult::ErrorRuntime(value, _) => Some(value.clone()),
        _ => None,
    };
    Ok((value, explain_at(inner, &path, ctx)))
}

fn explain_at(inner: EvalAltResult, path: &str, ctx: &Context<'_>) -> Error {
    let place = place::location(path, inner.position());
    let error = match ctx.host.ending() {
        Some(ending) => ending,
        None => explain_inner(inner, path, ctx),
    };
    match place {
        Some(place) => error.at(place),
        None => error,
    }
}

/// Unwraps the calls around an error; returns it with the source that it happened in.
fn innermost(mut error: EvalAltResult, mut path: String) -> (EvalAltResult, String) {
    loop {
        let (source, inner) = match error {
            EvalAltResult::ErrorInFunctionCall(_, source, inner, _)
            | EvalAltResult::ErrorInModule(source, inner, _) => (source, inner),
            other => return (other, path),
        };
        if !source.is_empty() {
            path = source;
        }
        error = *inner;
    }
}

fn explain_inner(mut error: EvalAltResult, path: &str, ctx: &Context<'_>) -> Error {
    let limits = ctx.limits;
    match error {
        EvalAltResult::ErrorRuntime(value, _) => uncaught(&value, ctx.host),
        EvalAltResult::ErrorFunctionNotFound(signature, _) => unknown_function(&signature, ctx),
        EvalAltResult::ErrorModuleNotFound(name, _) => {
            Error::new(Code::ScriptFailed, format!("the module `{name}` is not part of this run"))
        }
        EvalAltResult::ErrorParsing(kind, position) => syntax::explain(&kind, position, path, ""),
        EvalAltResult::ErrorStackOverflow(_) => {
            limit_error("call_depth", format!("functions call each other more than {} levels deep", limits.call_depth))
        }
        EvalAltResult::ErrorDataTooLarge(what, _) => {
            let name = limit_name(&what);
            let most = match name {
                "string" => limits.string,
                "map" => limits.map,
                _ => limits.array,
            };
            limit_error(name, format!("a value grew beyond the limit of {} for a {name}", most.unwrap_or_default()))
        }
        EvalAltResult::ErrorMismatchDataType(wanted, found, _)
        | EvalAltResult::ErrorMismatchOutputType(wanted, found, _) => Error::new(
            Code::ScriptFailed,
            format!("{} is needed here, not {}", type_name_word(&wanted), type_name_word(&found)),
        ),
        EvalAltResult::ErrorPropertyNotFound(name, _) => {
            Error::new(Code::ScriptFailed, format!("the map has no field `{}`", name.escape_debug()))
                .hint(format!("a field that may be missing is read by `get({name:?})`, which gives `()` then"))
        }
        EvalAltResult::ErrorDataRace(..) => {
            Error::new(Code::ScriptFailed, "a closure uses the value whose method is calling it")
                .hint("copy what it needs before: `let size = list.len(); list.map(|one| one + size)`")
        }
        EvalAltResult::ErrorDotExpr(text, _) => no_property(&text),
        ref mut other => {
            let _ = other.take_position();
            Error::new(Code::ScriptFailed, sentence(&other.to_string()))
        }
    }
}

/// A property that a value does not have: `Unknown property 'len' - a getter is not registered for type '()'`.
fn no_property(text: &str) -> Error {
    let named = text.strip_prefix("Unknown property '").and_then(|rest| rest.split_once("' - a getter "));
    let typed = named.and_then(|(name, rest)| Some((name, rest.split_once("type '")?.1.trim_end_matches('\''))));
    match typed {
        Some((name, "()")) => {
            Error::new(Code::ScriptFailed, format!("the value before `.{name}` is `()`, which is nothing"))
                .hint(NOTHING)
        }
        Some((name, kind)) => {
            Error::new(Code::ScriptFailed, format!("{} has no property `{name}`", type_name_word(kind)))
        }
        None => Error::new(Code::ScriptFailed, sentence(text)),
    }
}

/// The error of a thrown value that the script did not catch.
fn uncaught(value: &Dynamic, host: &Host) -> Error {
    if let Ok(text) = value.as_immutable_string_ref() {
        return Error::new(Code::ScriptFailed, text.as_str());
    }
    let json = match value::to_json(value) {
        Ok(Value::Object(map)) if map.get("message").is_some_and(Value::is_string) => map,
        Ok(json) => return Error::new(Code::ScriptFailed, format!("the script threw `{json}`")),
        Err(_) => return Error::new(Code::ScriptFailed, format!("the script threw {}", value::type_word(value))),
    };
    let text = |key: &str| json.get(key).and_then(Value::as_str);
    let named = Code::ALL.iter().copied().find(|code| Some(code.as_str()) == text("code"));
    let code = named.filter(|code| !code.is_final() && host.has_said(*code)).unwrap_or(Code::ScriptFailed);
    let mut error = Error::new(code, text("message").unwrap_or_default());
    if let Some(Value::Object(details)) = json.get("details") {
        error = details.iter().fold(error, |error, (key, value)| error.detail(key, value.clone()));
    }
    if let Some(hint) = text("hint") {
        error = error.hint(hint);
    }
    match json.get("script").map(|place| serde_json::from_value::<Location>(place.clone())) {
        Some(Ok(place)) => error.at(place),
        Some(Err(_)) | None => error,
    }
}

/// `name (type, type)`, as the engine writes it: an unknown name, or a known one with other types.
fn unknown_function(signature: &str, ctx: &Context<'_>) -> Error {
    let (name, types) = signature.split_once('(').unwrap_or((signature, ""));
    if types.is_empty() && name.trim().contains(' ') {
        // The engine has no signature then, but a sentence: the items to sort can't be compared.
        return Error::new(Code::ScriptFailed, sentence(signature))
            .hint("say which comes first: `list.sort(|a, b| …)`, or give all elements one type before");
    }
    // One parenthesis only: the last type may be `()`.
    let types = types.strip_suffix(')').unwrap_or(types);
    let name = name.trim();
    let name = name.rsplit("::").next().unwrap_or(name);
    let given: Vec<_> = types.split(", ").filter(|one| !one.is_empty()).map(type_name_word).collect();
    let receiver = types.split(", ").next().unwrap_or_default();
    let named = || bindings::calls().filter(|call| call.name == name);
    // The first type is that of the value before the dot. Text has methods of its own by the names of some calls.
    let of_other = || named().next().filter(|_| given.first() != Some(&"a string"));
    if let Some(call) = named().find(|call| call.receiver == receiver).or_else(of_other) {
        let given = list(given.get(1..).unwrap_or_default());
        return Error::new(Code::ScriptFailed, format!("`{}` can't be called with {given}", call.path()))
            .hint(format!("its form is `{}`", call.form()));
    }
    let own = ctx.ast.into_iter().flat_map(AST::iter_functions);
    let mut known: Vec<String> = own.map(|function| function.name.to_owned()).collect();
    known.extend(ctx.engine.gen_fn_signatures(true).iter().filter_map(|one| one.split('(').next().map(str::to_owned)));
    known.retain(|name| name.starts_with(|first: char| first.is_alphabetic()) && !name.starts_with("anon$"));
    if known.iter().any(|one| one == name) {
        let error = Error::new(Code::ScriptFailed, format!("`{name}` can't be called with {}", list(&given)));
        return if receiver == "()" { error.hint(NOTHING) } else { error };
    }
    if !name.starts_with(|first: char| first.is_alphanumeric() || first == '_') {
        return Error::new(Code::ScriptFailed, format!("`{name}` is not defined between {}", list(&given)));
    }
    let error = Error::new(Code::ScriptFailed, format!("the function `{name}` does not exist"));
    match error::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

fn list(words: &[&str]) -> String {
    match words {
        [] => "no arguments".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
