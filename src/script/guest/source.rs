//! Makes a checked syntax tree from a text: the only place that parses.

use rhai::{AST, Engine, Scope};

use crate::guest::{lint, syntax};
use base::error::Error;

/// Parses a source; nothing runs.
///
/// The scope holds `nrv` and `args`; a name that neither it nor the source defines is an error, also in a function that is
/// never called.
pub(super) fn compile(engine: &Engine, scope: &Scope<'_>, path: &str, text: &str) -> Result<AST, Error> {
    match engine.compile_with_scope(scope, text) {
        Ok(mut ast) => {
            ast.set_source(path);
            Ok(ast)
        }
        Err(error) => Err(syntax::explain(error.err_type(), error.position(), path, text)),
    }
}

/// Parses a source and checks its calls of the host; nothing runs. A tree comes even with errors, unless the text can't be parsed.
pub(super) fn parse(engine: &Engine, scope: &Scope<'_>, path: &str, text: &str) -> (Option<AST>, Vec<Error>) {
    match compile(engine, scope, path, text) {
        Ok(ast) => {
            let errors = lint::calls(&ast, path, text).errors;
            (Some(ast), errors)
        }
        Err(error) => (None, vec![error]),
    }
}
