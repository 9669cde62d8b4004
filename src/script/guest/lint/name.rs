//! The host's names: no other thing may have them, and no function may be called in place of a host's method.

use rhai::{AST, Expr, Position, Stmt};

use super::{Lint, chain::root, is_closure};
use crate::guest::{
    bindings::{self, ATTEMPT},
    language::{ARGS, HOST},
    place::before,
};

impl Lint<'_> {
    /// Refuses one of the host's names for anything else.
    fn name(&mut self, name: &str, position: Position) {
        if name == HOST || name == ARGS {
            let hint = "choose another name: a reader must be able to rely on it".to_owned();
            let message = format!("`{name}` is the host's name and can't be redefined");
            self.error("host_name", position, message, Some(hint));
        }
    }

    pub(super) fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Var(definition, ..) => self.name(&definition.0.name, definition.0.pos),
            Stmt::For(header, _) => {
                self.name(&header.0.name, header.0.pos);
                if let Some(counter) = &header.1 {
                    self.name(&counter.name, counter.pos);
                }
            }
            Stmt::TryCatch(parts, _) => {
                if let Expr::Variable(variable, _, position) = &parts.expr {
                    self.name(&variable.1, *position);
                }
            }
            Stmt::Import(import, _) => self.name(&import.1.name, import.1.pos),
            Stmt::Export(export, _) if !export.1.name.is_empty() => self.name(&export.1.name, export.1.pos),
            Stmt::Assignment(assignment) => {
                if let Expr::Variable(variable, _, position) = root(&assignment.1.lhs) {
                    self.name(&variable.1, *position);
                }
            }
            _ => {}
        }
    }

    /// Refuses functions that would be called in place of a host's method, and parameters that hide the host.
    pub(super) fn functions(&mut self, ast: &AST) {
        for function in ast.iter_fn_def() {
            let body = function.body.start_position();
            let captured = if is_closure(&function.name) { self.captures(&function.name) } else { 0 };
            if let Some(position) = self.tried.get(function.name.as_str()).copied()
                && function.params.len() > captured
            {
                let hint = Some(format!("write `{ATTEMPT}(|| {{ … }})`"));
                let message = format!("the closure of `{ATTEMPT}` takes no parameters");
                self.error("attempt_closure", position, message, hint);
            }
            // Looking for a place takes time.
            let own = |name: &&rhai::ImmutableString| *name == HOST || *name == ARGS;
            for parameter in function.params.iter().skip(captured).filter(own) {
                self.name(parameter, before(self.text, body, parameter));
            }
            let arity = function.params.len();
            let hidden = bindings::calls().find(|one| one.name == function.name && one.takes(arity));
            if let Some(call) = hidden {
                let message = format!("the function `{}` would be called in place of `{}`", function.name, call.path());
                let hint = Some("choose another name, or another number of parameters".to_owned());
                self.error("hides_call", before(self.text, body, &function.name), message, hint);
            }
        }
    }
}
