//! The parts of an adapter's source and the rules for them, checked in the syntax tree: nothing runs.

use std::collections::BTreeSet;

use rhai::{AST, ASTFlags, ASTNode, Expr, Position, Scope, Stmt};

use super::reach::reached;
use crate::guest::{language, place, places, value};
use base::{
    error::{Code, Error},
    frame::Inspection,
};

/// The constant that makes a source an adapter.
pub const HEADER: &str = language::ADAPTER;

/// The object with the pure parts of the host's interface.
pub(super) const NRV: &str = language::HOST;

/// The object with the readers of formats.
pub(super) const FORMAT: &str = "format";

/// The functions of the proposing side.
pub(super) const PROPOSING: &[&str] = &["discover", "propose"];

/// The functions of the verifying side.
pub(super) const VERIFYING: &[&str] = &["measure", "expect"];

/// The forms of the functions.
const FORMS: &[(&str, &[&str])] = &[
    ("discover", &["input", "files"]),
    ("propose", &["input", "path", "text"]),
    ("measure", &["input", "path", "text"]),
    ("expect", &["baseline", "after"]),
];

/// The parts of `nrv` that an adapter has.
const PURE: &[&str] = &["diff", "json"];

/// The names that an adapter's source begins with, without their values.
pub fn names() -> Scope<'static> {
    let mut scope = Scope::new();
    scope.push_constant(NRV, ()).push_constant(FORMAT, ());
    scope
}

/// Finds the header of an adapter and checks its parts.
pub fn parts(ast: &AST, found: &mut Inspection) {
    let mut rules = Rules { path: found.path.clone(), errors: Vec::new() };
    let mut header = None;
    for statement in ast.statements() {
        match statement {
            // Imports have an error of their own, wherever they stand.
            Stmt::Noop(_) | Stmt::Import(..) => {}
            Stmt::Var(definition, flags, position) => {
                let literal = definition.1.get_literal_value(None).filter(|_| flags.contains(ASTFlags::CONSTANT));
                match literal {
                    Some(literal) if definition.0.name == HEADER => header = Some((literal, &definition.1, *position)),
                    Some(_) => {}
                    None => rules.top_level(&definition.0.name, *position),
                }
            }
            other => rules.top_level("", other.position()),
        }
    }
    if let Some((literal, expression, position)) = header {
        match value::to_json(&literal) {
            Ok(json) if json.is_object() => {
                found.adapter = Some(json);
                places::note(expression, "", found);
            }
            Ok(_) => {
                rules.add(position, "header", format!("`{HEADER}` must be a map"), "write `const ADAPTER = #{ … };`")
            }
            Err(error) => rules.add(position, "header", format!("in `{HEADER}`, {error}"), "write plain values"),
        }
        rules.functions(ast, position);
    }
    for import in &found.imports {
        let error = Error::new(Code::ScriptSyntax, "an adapter imports nothing").detail("rule", "import");
        let hint = "copy the functions that it needs: all of it stands in one file, which is pinned by its hash";
        rules.errors.push(error.hint(hint).at(import.at.clone()));
    }
    rules.shared(ast);
    rules.host(ast);
    found.errors.extend(rules.errors);
}

struct Rules {
    path: String,
    errors: Vec<Error>,
}

impl Rules {
    fn add(&mut self, position: Position, rule: &str, message: String, hint: &str) {
        let error = Error::new(Code::ScriptSyntax, message).detail("rule", rule).hint(hint);
        self.errors.push(place::at(error, &self.path, position));
    }

    fn top_level(&mut self, name: &str, position: Position) {
        let hint = "write `const NAME = …;` with the value itself; the rest belongs into functions";
        let message = match name {
            HEADER => format!("`{HEADER}` must be a constant with a literal: it is read before anything runs"),
            _ => "an adapter has only literal constants and functions at its top level".to_owned(),
        };
        self.add(position, "top_level", message, hint);
    }

    /// The functions that an adapter must have.
    fn functions(&mut self, ast: &AST, header: Position) {
        for (name, params) in FORMS {
            let form = format!("`fn {name}({})`", params.join(", "));
            let own: Vec<_> = ast.iter_fn_def().filter(|function| function.name == *name).collect();
            if own.is_empty() {
                self.add(
                    header,
                    "missing_function",
                    format!("the adapter has no {form}"),
                    "every adapter has all four: discover, propose, measure, expect",
                );
            } else if let Some(other) = own.iter().find(|function| function.params.len() != params.len()) {
                self.add(
                    other.body.start_position(),
                    "arity",
                    format!("`{name}` takes {} parameters, not {}", params.len(), other.params.len()),
                    &format!("its form is {form}"),
                );
            }
        }
    }

    /// The functions that both sides reach.
    fn shared(&mut self, ast: &AST) {
        let verifying = reached(ast, VERIFYING);
        let proposing = reached(ast, PROPOSING);
        let both: BTreeSet<&String> = proposing.intersection(&verifying).collect();
        for function in ast.iter_fn_def().filter(|function| both.contains(&function.name.to_string())) {
            if function.name.starts_with("anon$") {
                continue;
            }
            let message = format!("`{}` is reached from the proposing side and from the verifying side", function.name);
            let hint = "`measure` and `expect` may share no function with `discover` and `propose`: they would share its mistakes";
            self.add(function.body.start_position(), "shared_function", message, hint);
        }
    }

    /// The uses of `nrv` that an adapter does not have.
    fn host(&mut self, ast: &AST) {
        let mut wrong = Vec::new();
        ast.walk(&mut |nodes: &[ASTNode<'_>]| {
            if let Some(ASTNode::Expr(Expr::Dot(parts, ..))) = nodes.last()
                && matches!(&parts.lhs, Expr::Variable(variable, ..) if variable.1 == NRV)
            {
                let (name, position) = match first(&parts.rhs) {
                    Expr::Property(property, position) => (property.2.to_string(), *position),
                    Expr::MethodCall(call, position) => (call.name.to_string(), *position),
                    _ => return true,
                };
                if !PURE.contains(&name.as_str()) {
                    wrong.push((name, position));
                }
            }
            true
        });
        for (name, position) in wrong {
            let hint = "its functions get the texts of files as arguments; of `nrv` it has `nrv.diff`, `nrv.json` and `nrv.text`";
            self.add(position, "adapter_call", format!("an adapter has no `nrv.{name}`"), hint);
        }
    }
}

/// The first step of a chain.
fn first(expression: &Expr) -> &Expr {
    match expression {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => first(&parts.lhs),
        other => other,
    }
}
