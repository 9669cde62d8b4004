//! Checks of the syntax tree for errors that the engine would find late or never: nothing runs.
//!
//! [`calls`] checks a source's calls of the host, wherever it is parsed. [`whole`] adds the checks that need the whole source, such as
//! those of undefined functions. It runs only when a source is inspected: a line of a session is no whole source.

mod chain;
mod flow;
mod foreign;
mod function;
mod known;
mod literal;
mod name;
mod permission;
mod string;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rhai::{AST, ASTNode, Expr, FnCallExpr, FnPtr, Position, Stmt};

use self::known::Known;
use crate::guest::place;
use base::{
    error::{Code, Error},
    frame::{Function, ModuleCall, Use},
};

/// The findings in a source.
#[derive(Default)]
pub(super) struct Findings {
    /// The errors.
    pub(super) errors: Vec<Error>,
    /// The warnings: code that likely does not do what its author meant.
    pub(super) warnings: Vec<Error>,
    /// Calls that need a permission.
    pub(super) uses: Vec<Use>,
    /// Functions that the source defines.
    pub(super) functions: Vec<Function>,
    /// Calls of functions of imported modules.
    pub(super) module_calls: Vec<ModuleCall>,
}

/// Checks the uses of the host's names and calls in a source.
pub(super) fn calls(ast: &AST, path: &str, text: &str) -> Findings {
    Lint::of(ast, path, text, false).found
}

/// [`calls`], and the checks of a source as a whole. `is_module` is true if it only defines functions for others.
pub(super) fn whole(ast: &AST, path: &str, text: &str, is_module: bool) -> Findings {
    let mut lint = Lint::of(ast, path, text, true);
    function::look(&mut lint, ast);
    flow::look(&mut lint, ast, is_module);
    string::look(&mut lint, ast);
    lint.found
}

/// Methods that change the fields of a map.
const GROWS: &[&str] = &["fill_with", "mixin", "set"];

struct Lint<'a> {
    path: &'a str,
    text: &'a str,
    /// True if the source is checked as a whole, before it runs: literal arguments are checked as well, which the host checks again.
    whole: bool,
    found: Findings,
    /// The number of a closure's parameters that are captured variables; they come first.
    captured: BTreeMap<String, usize>,
    /// The closures that are given to an attempt, which calls them without arguments.
    tried: BTreeMap<String, Position>,
    /// The knowledge of variables, by name; a name that may stand for several things is not known.
    variables: BTreeMap<String, Known>,
    /// Calls of methods that are known to be the host's.
    met: BTreeSet<Position>,
    /// The starts and ends of the functions.
    bodies: Vec<(String, Position, Position)>,
}

impl<'a> Lint<'a> {
    /// Checks the uses of the host in a source.
    fn of(ast: &AST, path: &'a str, text: &'a str, whole: bool) -> Self {
        let mut lint = Lint {
            path,
            text,
            whole,
            found: Findings::default(),
            captured: BTreeMap::new(),
            tried: BTreeMap::new(),
            variables: BTreeMap::new(),
            met: BTreeSet::new(),
            bodies: Vec::new(),
        };
        lint.learn(ast);
        each(ast, &mut |nodes| match nodes.last() {
            Some(ASTNode::Stmt(statement)) => lint.statement(statement),
            Some(ASTNode::Expr(expression)) => lint.expression(expression, nodes),
            _ => {}
        });
        lint.functions(ast);
        lint
    }

    /// Adds an error with the rule that it breaks.
    fn error(&mut self, rule: &str, position: Position, message: String, hint: Option<String>) {
        let error = self.finding(rule, position, message, hint);
        self.found.errors.push(error);
    }

    /// Adds a warning with its rule.
    fn warn(&mut self, rule: &str, position: Position, message: String, hint: &str) {
        let warning = self.finding(rule, position, message, Some(hint.to_owned()));
        self.found.warnings.push(warning);
    }

    fn finding(&self, rule: &str, position: Position, message: String, hint: Option<String>) -> Error {
        let error = place::at(Error::new(Code::ScriptSyntax, message).detail("rule", rule), self.path, position);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// Notes the values of variables and the captures of closures.
    fn learn(&mut self, ast: &AST) {
        each(ast, &mut |nodes| match nodes.last() {
            Some(ASTNode::Stmt(Stmt::FnCall(call, _)) | ASTNode::Expr(Expr::FnCall(call, _))) => self.closure(call),
            Some(ASTNode::Stmt(statement)) => self.binding(statement),
            Some(ASTNode::Expr(Expr::Dot(parts, ..))) => {
                if let (Expr::Variable(variable, ..), Expr::MethodCall(call, _)) = (&parts.lhs, &parts.rhs)
                    && GROWS.contains(&call.name.as_str())
                {
                    self.bind(&variable.1, Known::Nothing);
                }
            }
            _ => {}
        });
        for function in ast.iter_fn_def() {
            if !is_closure(&function.name) {
                let (start, end) = (function.body.start_position(), function.body.end_position());
                self.bodies.push((function.name.to_string(), start, end));
            }
            let captured = self.captures(&function.name);
            for parameter in function.params.iter().skip(captured) {
                self.bind(parameter, Known::Nothing);
            }
        }
    }

    fn binding(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Var(definition, ..) => self.bind(&definition.0.name, self.known(&definition.1)),
            Stmt::For(header, _) => {
                self.bind(&header.0.name, Known::Nothing);
                if let Some(counter) = &header.1 {
                    self.bind(&counter.name, Known::Nothing);
                }
            }
            Stmt::TryCatch(parts, _) => {
                if let Expr::Variable(variable, ..) = &parts.expr {
                    self.bind(&variable.1, Known::Nothing);
                }
            }
            Stmt::Assignment(assignment) => {
                if let Expr::Variable(variable, ..) = chain::root(&assignment.1.lhs) {
                    self.bind(&variable.1, Known::Nothing);
                }
            }
            _ => {}
        }
    }

    fn bind(&mut self, name: &str, known: Known) {
        let known = if self.variables.contains_key(name) { Known::Nothing } else { known };
        self.variables.insert(name.to_owned(), known);
    }

    /// Notes the number of variables that a closure captures: the engine writes `curry(closure, variable, …)`.
    fn closure(&mut self, call: &FnCallExpr) {
        if let Some(Expr::DynamicConstant(value, _)) = call.args.first()
            && call.name == "curry"
            && let Some(closure) = value.clone().try_cast::<FnPtr>()
        {
            self.captured.insert(closure.fn_name().to_owned(), call.args.len() - 1);
        }
    }

    /// The function that a place is in; a closure is part of the function around it.
    fn within(&self, position: Position) -> Option<String> {
        let mut around = self.bodies.iter().filter(|(_, start, end)| (start..=end).contains(&&position));
        around.next().map(|(name, ..)| name.clone())
    }

    /// The number of a function's parameters that are variables captured by a closure.
    fn captures(&self, function: &str) -> usize {
        self.captured.get(function).copied().unwrap_or(0)
    }
}

/// True for the names that the engine gives to closures.
fn is_closure(name: &str) -> bool {
    name.starts_with("anon$")
}

/// Visits every statement and expression, each with those around it; also those that the engine's own walk leaves out.
pub(super) fn each(ast: &AST, visit: &mut dyn FnMut(&[ASTNode<'_>])) {
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        with_value(nodes, visit);
        true
    });
}

/// Visits a node, and the value of a `break`.
fn with_value(nodes: &[ASTNode<'_>], visit: &mut dyn FnMut(&[ASTNode<'_>])) {
    visit(nodes);
    if let Some(ASTNode::Stmt(Stmt::BreakLoop(Some(value), ..))) = nodes.last() {
        value.walk(&mut Vec::new(), &mut |nodes: &[ASTNode<'_>]| {
            with_value(nodes, visit);
            true
        });
    }
}
