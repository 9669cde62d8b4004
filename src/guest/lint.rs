//! What the engine would find out too late or never: names that hide the host, calls that do not exist.

use std::collections::BTreeMap;

use rhai::{AST, ASTNode, Expr, FnCallExpr, FnPtr, Position, Stmt};

use crate::{
    error::{Code, Error, nearest},
    guest::{
        bindings::{self, ATTEMPT, Call, HANDLE},
        engine::{ARGS, HOST},
        source,
    },
};

/// Everything wrong with a source that parses.
pub(super) fn check(ast: &AST, path: &str, text: &str) -> Vec<Error> {
    let mut lint = Lint { path, text, errors: Vec::new(), captured: BTreeMap::new(), tried: BTreeMap::new() };
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        match nodes.last() {
            Some(ASTNode::Stmt(statement)) => lint.statement(statement),
            Some(ASTNode::Expr(expression)) => lint.expression(expression),
            _ => {}
        }
        true
    });
    lint.functions(ast);
    lint.errors
}

struct Lint<'a> {
    path: &'a str,
    text: &'a str,
    errors: Vec<Error>,
    /// How many of a closure's parameters are captured variables; they come first.
    captured: BTreeMap<String, usize>,
    /// The closures that are given to an attempt, which calls them without arguments.
    tried: BTreeMap<String, Position>,
}

impl Lint<'_> {
    fn report(&mut self, position: Position, message: String, hint: Option<String>) {
        let error = source::at(Error::new(Code::ScriptSyntax, message), self.path, position);
        self.errors.push(match hint {
            Some(hint) => error.hint(hint),
            None => error,
        });
    }

    /// Refuses to give the host's names to something else.
    fn name(&mut self, name: &str, position: Position) {
        if name == HOST || name == ARGS {
            let hint = "choose another name: a reader must be able to rely on it".to_owned();
            self.report(position, format!("`{name}` is the host's name and can't be redefined"), Some(hint));
        }
    }

    fn statement(&mut self, statement: &Stmt) {
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
            Stmt::FnCall(call, _) => self.closure(call),
            _ => {}
        }
    }

    fn expression(&mut self, expression: &Expr) {
        match expression {
            Expr::FnCall(call, _) => self.closure(call),
            Expr::Dot(parts, ..) => {
                if let Expr::Variable(variable, ..) = &parts.lhs
                    && variable.1 == HOST
                {
                    self.chain(&parts.rhs);
                }
            }
            _ => {}
        }
    }

    /// Notes how many variables a closure captures: the engine writes `curry(closure, variable, …)`.
    fn closure(&mut self, call: &FnCallExpr) {
        if let Some(Expr::DynamicConstant(value, _)) = call.args.first()
            && call.name == "curry"
            && let Some(closure) = value.clone().try_cast::<FnPtr>()
        {
            self.captured.insert(closure.fn_name().to_owned(), call.args.len() - 1);
        }
    }

    /// Follows `nrv.a.b(…)` as far as the host's names go.
    fn chain(&mut self, mut rest: &Expr) {
        let mut receiver = HOST;
        loop {
            let (step, next) = match rest {
                Expr::Dot(parts, ..) => (&parts.lhs, Some(&parts.rhs)),
                Expr::Index(parts, ..) => (&parts.lhs, None),
                other => (other, None),
            };
            let found = match step {
                Expr::Property(property, position) => self.property(receiver, &property.2, *position),
                Expr::MethodCall(call, position) => self.method(receiver, call, *position),
                _ => None,
            };
            match (found, next) {
                (Some(found), Some(next)) => (receiver, rest) = (found, next),
                _ => return,
            }
        }
    }

    fn property(&mut self, receiver: &str, name: &str, position: Position) -> Option<&'static str> {
        let namespace = bindings::NAMESPACES.iter().find(|one| one.receiver == format!("{receiver}.{name}"));
        if let Some(namespace) = namespace {
            return Some(namespace.receiver);
        }
        match find(receiver, name) {
            Some(call) if !call.property => {
                let hint = Some(format!("write `{}`", call.signature()));
                self.report(position, format!("`{receiver}.{name}` is a function and has to be called"), hint);
            }
            Some(_) => {}
            None => self.unknown(receiver, name, position),
        }
        None
    }

    fn method(&mut self, receiver: &str, call: &FnCallExpr, position: Position) -> Option<&'static str> {
        let (name, given) = (call.name.as_str(), call.args.len());
        match find(receiver, name) {
            Some(found) if !found.takes(given) => {
                let plural = if given == 1 { "" } else { "s" };
                let message = format!("`{receiver}.{name}` does not take {given} argument{plural}");
                self.report(position, message, Some(format!("its form is `{}`", found.signature())));
                None
            }
            Some(found) => {
                if found.path() == ATTEMPT {
                    self.attempt(&call.args[0], position);
                }
                found.gives_handle().then_some(HANDLE)
            }
            None => {
                self.unknown(receiver, name, position);
                None
            }
        }
    }

    /// Refuses what can't be an attempt's closure; whether one takes parameters is found out when all functions are known.
    fn attempt(&mut self, argument: &Expr, position: Position) {
        if let Some(closure) = closure(argument) {
            self.tried.insert(closure, position);
        } else if argument.is_constant() {
            let hint = Some(format!("write `{ATTEMPT}(|| {{ … }})`"));
            self.report(position, format!("`{ATTEMPT}` takes a closure"), hint);
        }
    }

    fn unknown(&mut self, receiver: &str, name: &str, position: Position) {
        let known: Vec<&str> = bindings::members(receiver).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`{receiver}` has {}", known.join(", ")),
        };
        self.report(position, format!("`{receiver}.{name}` does not exist"), Some(hint));
    }

    /// Functions that would be called in place of a host's method, and parameters that hide the host.
    fn functions(&mut self, ast: &AST) {
        for function in ast.iter_fn_def() {
            let body = function.body.start_position();
            let closure = function.name.starts_with("anon$");
            let captured = if closure { self.captured.get(function.name.as_str()).copied().unwrap_or(0) } else { 0 };
            if let Some(position) = self.tried.get(function.name.as_str()).copied()
                && function.params.len() > captured
            {
                let hint = Some(format!("write `{ATTEMPT}(|| {{ … }})`"));
                self.report(position, format!("the closure of `{ATTEMPT}` takes no parameters"), hint);
            }
            for parameter in function.params.iter().skip(captured) {
                self.name(parameter, before(self.text, body, parameter));
            }
            let arity = function.params.len();
            let hidden = bindings::calls().find(|one| one.name == function.name && one.takes(arity));
            if let Some(call) = hidden {
                let message = format!("the function `{}` would be called in place of `{}`", function.name, call.path());
                let hint = Some("choose another name, or another number of parameters".to_owned());
                self.report(before(self.text, body, &function.name), message, hint);
            }
        }
    }
}

fn find(receiver: &str, name: &str) -> Option<&'static Call> {
    bindings::calls().find(|call| call.receiver == receiver && call.name == name)
}

/// The name of a closure that stands there as it is written, with or without captured variables.
fn closure(expression: &Expr) -> Option<String> {
    match expression {
        Expr::DynamicConstant(value, _) => Some(value.clone().try_cast::<FnPtr>()?.fn_name().to_owned()),
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
fn root(expression: &Expr) -> &Expr {
    match expression {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => root(&parts.lhs),
        other => other,
    }
}

/// The last place of a word before a position: functions and parameters come without a place of their own.
fn before(text: &str, position: Position, word: &str) -> Position {
    let (Some(line), Some(column)) = (position.line(), position.position()) else { return position };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let upper = line.saturating_sub(8);
    for (number, content) in text.lines().enumerate().take(line).skip(upper).collect::<Vec<_>>().into_iter().rev() {
        let end = if number + 1 == line { column.saturating_sub(1) } else { usize::MAX };
        let cut: String = content.chars().take(end).collect();
        let mut hits = cut
            .rmatch_indices(word)
            .filter(|(at, _)| !cut[..*at].ends_with(is_word) && !cut[at + word.len()..].starts_with(is_word));
        if let Some((at, _)) = hits.next() {
            let (line, column) = (u16::try_from(number + 1), u16::try_from(cut[..at].chars().count() + 1));
            if let (Ok(line), Ok(column)) = (line, column) {
                return Position::new(line, column);
            }
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use crate::guest::inspect::inspect;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = inspect("a.rhai", text, true)
            .errors
            .iter()
            .map(|error| {
                let place = error.location().map_or((0, 0), |place| (place.line, place.column));
                format!("{}:{} {error} ({})", place.0, place.1, error.hint_text().unwrap_or_default())
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn calls_of_the_host_are_known() {
        check("nrv.files.read(\"a\").len; let d = nrv.dta(\"x\").describe(); nrv.run.seed + nrv.dtas()[0].x.y", &[]);
        check("fn f(x) { nrv.files.glob(x)[0].sub_string(1) } [1].map(|x| nrv.files.exists(`${x}`) && args.y)", &[]);
    }

    #[test]
    fn unknown_calls_name_the_nearest() {
        check(
            "let e = \"é\"; nrv.files.raed(\"x\");",
            &["1:24 `nrv.files.raed` does not exist (did you mean `read`?)"],
        );
        check("fn f() {\n  nrv.file.read(\"x\")\n}", &["2:7 `nrv.file` does not exist (did you mean `files`?)"]);
        check("nrv.dta(\"x\").propse(#{});", &["1:14 `nrv.dta(name).propse` does not exist (did you mean `propose`?)"]);
        check(
            "nrv.gate.zzzzzzzz();",
            &[
                "1:10 `nrv.gate.zzzzzzzz` does not exist (`nrv.gate` has confirm, evaluate_command, evaluate_edit, evaluate_tool_use, require)",
            ],
        );
    }

    #[test]
    fn wrong_arity_shows_the_form() {
        check(
            "nrv.files.read();",
            &["1:11 `nrv.files.read` does not take 0 arguments (its form is `nrv.files.read(path)`)"],
        );
        check(
            "nrv.files.read;",
            &["1:11 `nrv.files.read` is a function and has to be called (write `nrv.files.read(path)`)"],
        );
        check(
            "nrv.llm.capabilities(); nrv.llm.capabilities(\"a\"); for e in nrv.llm.stream(#{}) {} nrv.llm.stream(#{}, |e| e);",
            &[],
        );
        check(
            "for e in nrv.llm.stream() {}",
            &["1:18 `nrv.llm.stream` does not take 0 arguments (its form is `nrv.llm.stream(request, callback?)`)"],
        );
        check("nrv.run.id();", &["1:9 `nrv.run.id` does not take 0 arguments (its form is `nrv.run.id`)"]);
    }

    #[test]
    fn an_attempt_takes_a_closure_without_parameters() {
        let hint = "(write `nrv.attempt(|| { … })`)";
        let wrong = format!("1:5 the closure of `nrv.attempt` takes no parameters {hint}");
        check("nrv.attempt(|x| x);", &[&wrong]);
        check("nrv.attempt(|x| { let y = args.y; x + y });", &[&wrong]);
        let captures = format!("1:16 the closure of `nrv.attempt` takes no parameters {hint}");
        check("let n = 1; nrv.attempt(|x| n + x);", &[&captures]);
        let literal = format!("1:5 `nrv.attempt` takes a closure {hint}");
        check("nrv.attempt(\"x\");", &[&literal]);
        check("nrv.attempt(#{});", &[&literal]);
        check(
            "let n = 1; nrv.attempt(|| n); nrv.attempt(|| 1).kept; fn f() { 1 } nrv.attempt(Fn(\"f\")); let g = || 2; nrv.attempt(g);",
            &[],
        );
    }

    #[test]
    fn a_function_may_not_take_the_place_of_a_host_call() {
        let hint = "(choose another name, or another number of parameters)";
        check(
            "fn read(path) { path }\nfn read(a, b) { a }",
            &[&format!("1:4 the function `read` would be called in place of `nrv.files.read` {hint}")],
        );
        check(
            "1;\nfn propose (\n  input,\n) {\n  1 }",
            &[&format!("2:4 the function `propose` would be called in place of `nrv.dta(name).propose` {hint}")],
        );
    }

    #[test]
    fn the_hosts_names_stay_its_own() {
        let hint = "(choose another name: a reader must be able to rely on it)";
        for (text, place, name) in [
            ("let nrv = 1;", "1:5", "nrv"),
            ("const args = 1;", "1:7", "args"),
            ("for args in [1] {}", "1:5", "args"),
            ("for (x, nrv) in [1] {}", "1:9", "nrv"),
            ("try { 1; } catch (nrv) {}", "1:19", "nrv"),
            ("import \"x\" as nrv;", "1:15", "nrv"),
            ("fn f(a, nrv) { 1 }", "1:9", "nrv"),
            ("let f = |a, args| a;", "1:13", "args"),
            ("let f = || { nrv = 1 };", "1:14", "nrv"),
            ("args.x = 1;", "1:1", "args"),
            ("args[\"x\"].y += 1;", "1:1", "args"),
        ] {
            check(text, &[&format!("{place} `{name}` is the host's name and can't be redefined {hint}")]);
        }
        check("let f = |a| args[a] + nrv.run.seed; let g = || { let n = 1; || n + args.x };", &[]);
    }
}
