//! Chains that begin with the host, such as `nrv.files.read(path)`, followed as far as its names go.

use rhai::{ASTNode, Expr, FnCallExpr, Position, Stmt};

use super::{
    Lint,
    known::Known,
    literal::{accepts, word_of},
};
use crate::guest::{
    bindings::{self, ATTEMPT, Call, Field},
    language::HOST,
};
use base::{error::nearest, text::counted};

impl Lint<'_> {
    /// The knowledge of an expression's value.
    pub(super) fn known(&self, expression: &Expr) -> Known {
        match expression {
            Expr::Variable(variable, ..) if !variable.2.is_empty() => Known::Nothing,
            Expr::Variable(variable, ..) if variable.1 == HOST => Known::Part(HOST),
            Expr::Variable(variable, ..) => self.variables.get(variable.1.as_str()).copied().unwrap_or(Known::Nothing),
            Expr::Dot(parts, ..) => follow(self.known(&parts.lhs), &parts.rhs, &mut |_, _| {}),
            other => word_of(other).map_or(Known::Nothing, |word| Known::Value(word, &[])),
        }
    }

    pub(super) fn expression(&mut self, expression: &Expr, nodes: &[ASTNode<'_>]) {
        match expression {
            Expr::Dot(parts, ..) => {
                let is_target = is_target(expression, nodes);
                let mut steps = Vec::new();
                follow(self.known(&parts.lhs), &parts.rhs, &mut |from, step| steps.push((from, step)));
                for (from, step) in steps {
                    match (from, step) {
                        (Known::Part(receiver), Expr::Property(property, position)) => {
                            self.property(receiver, &property.2, *position);
                        }
                        (Known::Part(receiver), Expr::MethodCall(call, position)) => {
                            self.method(receiver, call, *position);
                        }
                        (Known::Value("map", fields), Expr::Property(property, position)) if !is_target => {
                            self.field_of_result(fields, &property.2, *position);
                        }
                        _ => {}
                    }
                }
            }
            Expr::MethodCall(call, position) if !self.met.contains(position) => self.possible_use(call, *position),
            _ => {}
        }
    }

    fn property(&mut self, receiver: &'static str, name: &str, position: Position) {
        if namespace(receiver, name).is_some() {
            return;
        }
        match find(receiver, name) {
            Some(call) if !call.property => {
                let hint = Some(format!("write `{}`", call.signature()));
                let message = format!("`{receiver}.{name}` is a function and has to be called");
                self.error("not_called", position, message, hint);
            }
            Some(_) => {}
            None => self.unknown(receiver, name, position),
        }
    }

    fn method(&mut self, receiver: &'static str, call: &FnCallExpr, position: Position) {
        let (name, given) = (call.name.as_str(), call.args.len());
        self.met.insert(position);
        match find(receiver, name) {
            Some(found) if !found.takes(given) => {
                let message = format!("`{receiver}.{name}` does not take {}", counted(given, "argument"));
                self.error("arity", position, message, Some(format!("its form is `{}`", found.signature())));
            }
            Some(found) if found.path() == ATTEMPT => self.attempt(&call.args[0], position),
            Some(found) => {
                self.arguments(found, &call.args, position);
                self.uses(found, &call.args, position);
            }
            None => self.unknown(receiver, name, position),
        }
    }

    /// Refuses an argument that can't be an attempt's closure. Its parameters are checked when all functions are known.
    fn attempt(&mut self, argument: &Expr, position: Position) {
        if let Some(closure) = closure(argument) {
            self.tried.insert(closure, position);
        } else if matches!(self.known(argument), Known::Value(kind, _) if !accepts(kind, "function")) {
            let hint = Some(format!("write `{ATTEMPT}(|| {{ … }})`"));
            self.error("attempt_closure", position, format!("`{ATTEMPT}` takes a closure"), hint);
        }
    }

    fn unknown(&mut self, receiver: &str, name: &str, position: Position) {
        let known: Vec<&str> = bindings::members(receiver).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`{receiver}` has {}", known.join(", ")),
        };
        self.error("unknown_call", position, format!("`{receiver}.{name}` does not exist"), Some(hint));
    }

    /// Reports a field that a map of the host does not have.
    fn field_of_result(&mut self, fields: &[Field], name: &str, position: Position) {
        if fields.is_empty() || fields.iter().any(|field| field.name == name) {
            return;
        }
        let hint = match nearest(name, fields.iter().map(|field| field.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it has {}", fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")),
        };
        self.warn("unknown_result", position, format!("the result of this call has no field `{name}`"), &hint);
    }
}

/// Follows `.b(…).c` from the value before it: reports each step with its subject, and returns the knowledge of the last one.
fn follow<'e>(mut from: Known, mut rest: &'e Expr, tell: &mut dyn FnMut(Known, &'e Expr)) -> Known {
    loop {
        let (step, next, is_item) = match rest {
            Expr::Dot(parts, ..) => (&parts.lhs, Some(&parts.rhs), false),
            Expr::Index(parts, ..) => (&parts.lhs, None, true),
            other => (other, None, false),
        };
        tell(from, step);
        let known = after(from, step);
        match (next, known) {
            _ if is_item => return Known::Nothing,
            (_, Known::Nothing) | (None, _) => return known,
            (Some(next), _) => (from, rest) = (known, next),
        }
    }
}

fn after(from: Known, step: &Expr) -> Known {
    match (from, step) {
        (Known::Part(receiver), Expr::Property(property, _)) => {
            let call = || find(receiver, &property.2).filter(|call| call.property);
            match namespace(receiver, &property.2) {
                Some(inner) => Known::Part(inner),
                None => call().map_or(Known::Nothing, |call| Known::Value(call.returns, call.gives)),
            }
        }
        (Known::Part(receiver), Expr::MethodCall(call, _)) => {
            match find(receiver, &call.name).filter(|found| found.takes(call.args.len())) {
                Some(found) => found.handle().map_or(Known::Value(found.returns, found.gives), Known::Part),
                None => Known::Nothing,
            }
        }
        (Known::Value("map", fields), Expr::Property(property, _)) => {
            let field = fields.iter().find(|field| field.name == property.2);
            field.map_or(Known::Nothing, |field| Known::Value(field.kind, field.fields))
        }
        _ => Known::Nothing,
    }
}

/// The receiver of a namespace within another one.
fn namespace(receiver: &str, name: &str) -> Option<&'static str> {
    let is_it = |known: &str| known.strip_prefix(receiver).and_then(|rest| rest.strip_prefix('.')) == Some(name);
    bindings::NAMESPACES.iter().map(|one| one.receiver).find(|known| is_it(known))
}

fn find(receiver: &str, name: &str) -> Option<&'static Call> {
    bindings::calls().find(|call| call.receiver == receiver && call.name == name)
}

/// True if it is the target of an assignment, which may create a field.
fn is_target(expression: &Expr, nodes: &[ASTNode<'_>]) -> bool {
    match nodes.len().checked_sub(2).and_then(|at| nodes.get(at)) {
        Some(ASTNode::Stmt(Stmt::Assignment(assignment))) => std::ptr::eq(&raw const assignment.1.lhs, expression),
        _ => false,
    }
}

/// The name of a closure that is written in place, with or without captured variables.
fn closure(expression: &Expr) -> Option<String> {
    match expression {
        Expr::DynamicConstant(value, _) => Some(value.clone().try_cast::<rhai::FnPtr>()?.fn_name().to_owned()),
        Expr::FnCall(call, _) if call.name == "curry" => closure(call.args.first()?),
        Expr::Stmt(block) => match block.iter().last()? {
            Stmt::FnCall(call, _) if call.name == "curry" => closure(call.args.first()?),
            Stmt::Expr(inner) => closure(inner),
            _ => None,
        },
        _ => None,
    }
}

/// The variable at the head of `a.b[c].d`.
pub(super) fn root(expression: &Expr) -> &Expr {
    match expression {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => root(&parts.lhs),
        other => other,
    }
}
