//! Runs a script from its sources to its result.

use rhai::Engine;
use serde_json::Value;

use crate::guest::{
    bindings::Host,
    engine, fault, language,
    link::Link,
    source,
    value::{self, MAX_DEPTH},
};
use base::{
    error::{Code, Error},
    frame::{Limits, RunRequest},
};

/// Runs a request; returns the value of the last expression or an error with its place. The caller drops the engine.
pub(super) fn run(request: &RunRequest, limits: &Limits, link: Box<dyn Link>) -> (Result<Value, Error>, Engine) {
    let host = Host::new(request, limits, link);
    let (engine, _) = engine::build(request, limits, &host);
    (evaluate(request, limits, &host, &engine), engine)
}

fn evaluate(request: &RunRequest, limits: &Limits, host: &Host, engine: &Engine) -> Result<Value, Error> {
    let mut scope = language::names();
    let text = request.sources.get(&request.main).map(String::as_str);
    let text = text.ok_or_else(|| Error::new(Code::Internal, "the script is not among its sources"))?;
    let (ast, errors) = source::parse(engine, &scope, &request.main, text);
    let ast = match (ast, errors.into_iter().next()) {
        (Some(ast), None) => ast,
        (_, Some(error)) => return Err(error),
        (None, None) => return Err(Error::new(Code::Internal, "a script has neither a syntax tree nor an error")),
    };
    let outcome = engine.eval_ast_with_scope::<rhai::Dynamic>(&mut scope, &ast);
    // Values of the script are not dropped, and streams among them would stay open.
    host.close_all();
    let result = match outcome {
        // A native function may have swallowed the error that ended the script.
        Ok(_) if host.has_ended() => Err(host.ending().unwrap_or_else(|| Error::new(Code::Internal, "ended"))),
        Ok(value) => {
            let json = value::to_json(&value).map_err(|error| in_result(&error));
            // Taking a deeply nested value apart may overflow the stack.
            std::mem::forget(value);
            json
        }
        Err(error) => Err(fault::explain(*error, &fault::Context { host, engine, ast: Some(&ast), limits })),
    };
    std::mem::forget(scope);
    result
}

fn in_result(error: &Error) -> Error {
    Error::new(Code::ScriptFailed, format!("the script's result can't be returned: {error}"))
        .hint(format!("end with `()` or with a value that JSON can hold, nested {MAX_DEPTH} levels at most"))
}
