//! Calls of undefined functions, or with a wrong number of arguments.
//!
//! A method may also be a closure in a map: one whose name is a key somewhere in the source is left alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use rhai::{AST, ASTNode, Expr, FnAccess, FnCallExpr, Position, Stmt};

use super::{Lint, each, foreign, is_closure};
use crate::guest::{
    adapter, bindings, language,
    place::{before, location},
};
use base::{
    error::nearest,
    frame::{Function, ModuleCall},
    text::counted,
};

/// Names that the engine itself handles, with any number of arguments.
const KEYWORDS: &[&str] =
    &["Fn", "call", "curry", "debug", "eval", "is_def_fn", "is_def_var", "is_shared", "print", "type_of"];

/// The receiver of the calls on texts.
const TEXT: &str = "nrv.text";

/// The constants of a script, as functions see them.
const GLOBAL: &str = "global";

/// Names with the numbers of arguments that they take.
pub(super) type Arities = BTreeMap<String, BTreeSet<usize>>;

struct Names {
    /// The script's own.
    own: Arities,
    /// Keys of maps, whose values may be called as methods.
    keys: BTreeSet<String>,
    /// Alias to the imported literal; none if it stands for several.
    imports: BTreeMap<String, Option<String>>,
}

/// Checks every call of a function.
pub(super) fn look(lint: &mut Lint<'_>, ast: &AST) {
    let names = Names::of(ast);
    lint.found.functions = defined(lint, ast);
    let mut called = BTreeSet::new();
    each(ast, &mut |nodes| match nodes.last() {
        Some(ASTNode::Stmt(Stmt::FnCall(call, position)) | ASTNode::Expr(Expr::FnCall(call, position))) => {
            match call.namespace.path.as_slice() {
                [] => {
                    called.extend(lint.within(*position).map(|within| (within, call.name.to_string())));
                    names.function(lint, call, *position);
                }
                [alias] => names.of_module(lint, call, alias.as_str(), *position),
                _ => {}
            }
        }
        // Calls of the host were checked before.
        Some(ASTNode::Expr(Expr::MethodCall(call, position))) if !lint.met.contains(position) => {
            called.extend(lint.within(*position).map(|within| (within, call.name.to_string())));
            names.method(lint, call, *position);
        }
        _ => {}
    });
    for function in &mut lint.found.functions {
        let own = called.iter().filter(|(within, name)| *within == function.name && names.own.contains_key(name));
        function.calls = own.map(|(_, name)| name.clone()).collect();
    }
}

/// The functions that a source defines.
fn defined(lint: &Lint<'_>, ast: &AST) -> Vec<Function> {
    let named = ast.iter_fn_def().filter(|function| !is_closure(&function.name));
    let mut functions: Vec<Function> = named
        .filter_map(|function| {
            let position = before(lint.text, function.body.start_position(), &function.name);
            Some(Function {
                name: function.name.to_string(),
                params: function.params.iter().map(ToString::to_string).collect(),
                is_private: function.access == FnAccess::Private,
                calls: Vec::new(),
                at: location(lint.path, position)?,
            })
        })
        .collect();
    functions.sort_by(|one, other| (&one.name, one.params.len()).cmp(&(&other.name, other.params.len())));
    functions
}

impl Names {
    fn of(ast: &AST) -> Self {
        let mut names = Names { own: Arities::new(), keys: BTreeSet::new(), imports: BTreeMap::new() };
        for function in ast.iter_fn_def() {
            names.own.entry(function.name.to_string()).or_default().insert(function.params.len());
        }
        each(ast, &mut |nodes| match nodes.last() {
            Some(ASTNode::Expr(Expr::Map(entries, _))) => {
                names.keys.extend(entries.0.iter().map(|(name, _)| name.name.to_string()));
            }
            Some(ASTNode::Expr(Expr::Property(property, _))) => {
                names.keys.insert(property.2.to_string());
            }
            // Keys may be computed, or given to `set`.
            Some(ASTNode::Expr(Expr::StringConstant(text, _))) => {
                names.keys.insert(text.to_string());
            }
            Some(ASTNode::Stmt(Stmt::Import(import, _))) => {
                let literal = match &import.0 {
                    Expr::StringConstant(literal, _) => Some(literal.to_string()),
                    _ => None,
                };
                let alias = import.1.name.to_string();
                let same = names.imports.get(&alias).is_none_or(|known| *known == literal);
                names.imports.insert(alias, literal.filter(|_| same));
            }
            _ => {}
        });
        names
    }

    fn function(&self, lint: &mut Lint<'_>, call: &FnCallExpr, position: Position) {
        let name = call.name.as_str();
        if call.op_token.is_some() || !is_word(name) || KEYWORDS.contains(&name) {
            return;
        }
        let given = call.args.len();
        let own = self.own.get(name);
        let shipped = shipped().get(name);
        if own.is_none() && shipped.is_none() {
            let hint = self.remedy(name).unwrap_or_else(|| format!("define it: `fn {name}(…) {{ … }}`"));
            lint.error("unknown_function", position, format!("the function `{name}` does not exist"), Some(hint));
        } else if !own.is_some_and(|takes| takes.contains(&given))
            && !shipped.is_some_and(|takes| takes.contains(&given))
        {
            let takes: BTreeSet<usize> = own.into_iter().chain(shipped).flatten().copied().collect();
            let forms = forms(lint, name).unwrap_or_else(|| counts(&takes));
            lint.error("arity", position, wrong_count(name, given), Some(forms));
        }
    }

    fn method(&self, lint: &mut Lint<'_>, call: &FnCallExpr, position: Position) {
        let name = call.name.as_str();
        // A handle of the host may be what it is called on, but nobody keeps one of texts.
        let is_host = bindings::calls().any(|one| one.name == name && one.receiver != TEXT) || adapter::is_reader(name);
        if !is_word(name) || KEYWORDS.contains(&name) || self.keys.contains(name) || is_host {
            return;
        }
        let given = call.args.len();
        // A function of the script gets the value before the dot as `this`, one of the language as its first parameter.
        let (own, shipped) = (self.own.get(name), shipped().get(name));
        if own.is_none() && shipped.is_none() {
            let message = format!("the method `{name}` does not exist");
            let hint = self.remedy(name).unwrap_or_else(|| {
                format!("define it: `fn {name}(…) {{ … }}`, in which `this` is what it is called on")
            });
            // A module may give a map with a closure of that name.
            match self.imports.is_empty() {
                true => lint.error("unknown_method", position, message, Some(hint)),
                false => lint.warn("unknown_method", position, message, &hint),
            }
        } else if !own.is_some_and(|takes| takes.contains(&given))
            && !shipped.is_some_and(|takes| takes.contains(&(given + 1)))
        {
            let takes: BTreeSet<usize> = own.into_iter().flatten().copied().collect();
            let more = shipped.into_iter().flatten().filter_map(|count| count.checked_sub(1));
            let takes: BTreeSet<usize> = takes.into_iter().chain(more).collect();
            lint.error("arity", position, wrong_count(name, given), Some(counts(&takes)));
        }
    }

    /// Notes a call that can be checked when the module is known.
    fn of_module(&self, lint: &mut Lint<'_>, call: &FnCallExpr, alias: &str, position: Position) {
        if alias == GLOBAL {
            return;
        }
        if let (Some(Some(import)), Some(at)) = (self.imports.get(alias), location(lint.path, position)) {
            lint.found.module_calls.push(ModuleCall {
                import: import.clone(),
                alias: alias.to_owned(),
                name: call.name.to_string(),
                given: call.args.len(),
                within: lint.within(position),
                at,
            });
        }
    }

    /// The remedy of a name that does not exist: the host's call of that name, the form of another language's function, or the nearest name.
    fn remedy(&self, name: &str) -> Option<String> {
        let host = host_call(name).map(|form| format!("the host has it: write `{form}`"));
        let foreign = || foreign::form(name).map(str::to_owned);
        let near = || nearest(name, self.known()).map(|near| format!("did you mean `{near}`?"));
        host.or_else(foreign).or_else(near)
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        let own = self.own.keys().filter(|name| !is_closure(name));
        own.chain(shipped().keys()).map(String::as_str)
    }
}

/// The functions of the language, by name.
pub(super) fn shipped() -> &'static Arities {
    static SHIPPED: OnceLock<Arities> = OnceLock::new();
    SHIPPED.get_or_init(|| {
        let mut all = Arities::new();
        for signature in language::bare().gen_fn_signatures(true) {
            let Some((name, rest)) = signature.split_once('(') else { continue };
            let params = rest.split_once(") ->").map_or(rest.trim_end_matches(')'), |(params, _)| params);
            if is_word(name) {
                let count = if params.is_empty() { 0 } else { params.split(", ").count() };
                all.entry(name.to_owned()).or_default().insert(count);
            }
        }
        all
    })
}

fn is_word(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic() || first == '_') && !name.contains('$')
}

/// The right form of a host's call that is called as a function.
fn host_call(name: &str) -> Option<String> {
    bindings::calls().find(|call| call.name == name).map(bindings::Call::signature)
}

fn wrong_count(name: &str, given: usize) -> String {
    format!("`{name}` does not take {}", counted(given, "argument"))
}

/// The forms of the source's own functions of that name.
fn forms(lint: &Lint<'_>, name: &str) -> Option<String> {
    let own = lint.found.functions.iter().filter(|function| function.name == name);
    let forms: Vec<String> = own.map(|function| format!("`{name}({})`", function.params.join(", "))).collect();
    (!forms.is_empty()).then(|| format!("its form is {}", forms.join(" or ")))
}

fn counts(takes: &BTreeSet<usize>) -> String {
    let words: Vec<String> = takes.iter().map(ToString::to_string).collect();
    format!("it takes {}", words.join(" or "))
}
