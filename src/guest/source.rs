//! From text to a syntax tree that was checked: the only place that parses.

use rhai::{AST, Engine, ParseErrorType, Position, Scope};

use crate::{
    error::{Code, Error, Location},
    guest::{engine::limit_error, lint},
};

/// A place in a source.
pub(super) fn location(path: &str, position: Position) -> Option<Location> {
    Some(Location { path: path.to_owned(), line: position.line()?, column: position.position().unwrap_or(1).max(1) })
}

/// Parses a source and checks it; nothing runs.
///
/// The scope holds `nrv` and `args`; a name that neither it nor the source defines is an error, also in a function that is
/// never called. The tree comes even if it has errors, unless it can't be parsed.
pub(super) fn parse(engine: &Engine, scope: &Scope<'_>, path: &str, text: &str) -> (Option<AST>, Vec<Error>) {
    match engine.compile_with_scope(scope, text) {
        Ok(mut ast) => {
            ast.set_source(path);
            let errors = lint::check(&ast, path, text);
            (Some(ast), errors)
        }
        Err(error) => (None, vec![explain(error.err_type(), error.position(), path)]),
    }
}

/// The error of a source that can't be parsed.
pub(super) fn explain(kind: &ParseErrorType, position: Position, path: &str) -> Error {
    let error = match kind {
        ParseErrorType::VariableUndefined(name) => {
            Error::new(Code::ScriptSyntax, format!("the variable `{name}` is not defined"))
        }
        ParseErrorType::Reserved(word) => Error::new(Code::ScriptSyntax, format!("`{word}` is a reserved word"))
            .hint("choose another name; as a map's key write it in quotes"),
        ParseErrorType::LiteralTooLarge(what, most) => {
            let name = limit_name(what);
            limit_error(name, format!("a literal is larger than `script.limits.{name}` allows, which is {most}"))
        }
        other => Error::new(Code::ScriptSyntax, super::fault::sentence(&other.to_string())),
    };
    at(error, path, position)
}

/// The limit that the engine means when it says that something is too large.
pub(super) fn limit_name(what: &str) -> &'static str {
    match what {
        "Length of string" => "string",
        "Size of object map" | "Number of properties in object map literal" => "map",
        _ => "array",
    }
}

/// The error with its place, if that is known.
pub(super) fn at(error: Error, path: &str, position: Position) -> Error {
    match location(path, position) {
        Some(place) => error.at(place),
        None => error,
    }
}
