//! Warnings of unreachable code, unread variables and strings that look interpolated: all of it can run.

use std::collections::{BTreeMap, BTreeSet};

use rhai::{AST, ASTFlags, ASTNode, Expr, Position, Stmt};

use super::{Lint, each, is_closure};
use crate::guest::{inspect::HEADER, language, place::character};

/// The function that looks for variables by their names.
const BY_NAME: &str = "is_def_var";

/// Checks a source as a whole.
pub(super) fn look(lint: &mut Lint<'_>, ast: &AST, is_module: bool) {
    unreachable(lint, ast);
    let meant = not_interpolated(lint, ast);
    unused(lint, ast, is_module, meant);
}

fn unreachable(lint: &mut Lint<'_>, ast: &AST) {
    block(lint, ast.statements().iter());
    for function in ast.iter_fn_def() {
        // Its body can't be named, but a tree of it alone begins with its statements.
        // The engine's own filter while cloning keeps all of them.
        let mut alone = ast.clone_functions_only();
        alone.retain_functions(|_, _, name, params| name == function.name && params == function.params.len());
        let mut outer = Vec::new();
        alone.walk(&mut |nodes: &[ASTNode<'_>]| {
            if let [ASTNode::Stmt(statement)] = nodes {
                outer.push((*statement).clone());
            }
            true
        });
        block(lint, outer.iter());
    }
    each(ast, &mut |nodes| match nodes.last() {
        Some(ASTNode::Stmt(Stmt::If(parts, _) | Stmt::TryCatch(parts, _))) => {
            block(lint, parts.body.iter());
            block(lint, parts.branch.iter());
        }
        Some(ASTNode::Stmt(Stmt::While(parts, _) | Stmt::Do(parts, ..))) => block(lint, parts.body.iter()),
        Some(ASTNode::Stmt(Stmt::For(parts, _))) => block(lint, parts.2.body.iter()),
        Some(ASTNode::Stmt(Stmt::Block(statements)) | ASTNode::Expr(Expr::Stmt(statements))) => {
            block(lint, statements.iter());
        }
        _ => {}
    });
}

/// Warns of the first statement after one that ends the block.
fn block<'s>(lint: &mut Lint<'_>, statements: impl Iterator<Item = &'s Stmt>) {
    let mut ended = None;
    for statement in statements.filter(|statement| !statement.is_noop()) {
        if let Some(word) = ended {
            let hint = format!("the {word} before it ends this block");
            lint.warn("unreachable", statement.position(), "this is never reached".to_owned(), &hint);
            return;
        }
        ended = ends(statement);
    }
}

/// The part of a statement that keeps the next one from being reached.
fn ends(statement: &Stmt) -> Option<&'static str> {
    match statement {
        Stmt::Return(_, flags, _) if flags.contains(ASTFlags::BREAK) => Some("`throw`"),
        Stmt::Return(..) => Some("`return`"),
        Stmt::BreakLoop(_, flags, _) if flags.contains(ASTFlags::BREAK) => Some("`break`"),
        Stmt::BreakLoop(..) => Some("`continue`"),
        Stmt::Block(inner) => inner.iter().find_map(ends),
        Stmt::If(parts, _) => {
            parts.branch.iter().find_map(ends)?;
            parts.body.iter().find_map(ends).map(|_| "`if`, which leaves it on both ways,")
        }
        Stmt::While(parts, _) if matches!(parts.expr, Expr::Unit(_)) && !breaks(statement) => {
            Some("`loop` without a `break`")
        }
        _ => None,
    }
}

/// True if there is a `break` somewhere in it.
fn breaks(statement: &Stmt) -> bool {
    !statement.walk(&mut Vec::new(), &mut |nodes: &[ASTNode<'_>]| {
        !matches!(nodes.last(), Some(ASTNode::Stmt(Stmt::BreakLoop(_, flags, _))) if flags.contains(ASTFlags::BREAK))
    })
}

/// Warns of variables and imports whose name is never used again.
fn unused(lint: &mut Lint<'_>, ast: &AST, is_module: bool, mut read: BTreeSet<String>) {
    let mut aliases = BTreeSet::new();
    let (mut variables, mut imports) = (BTreeMap::new(), BTreeMap::new());
    each(ast, &mut |nodes| match nodes.last() {
        Some(ASTNode::Stmt(Stmt::Var(definition, flags, _))) if !flags.contains(ASTFlags::EXPORTED) => {
            variables.entry(definition.0.name.to_string()).or_insert(definition.0.pos);
        }
        Some(ASTNode::Stmt(Stmt::Import(import, _))) if !import.1.name.is_empty() => {
            imports.entry(import.1.name.to_string()).or_insert(import.1.pos);
        }
        Some(ASTNode::Stmt(Stmt::Export(export, _))) => {
            read.insert(export.0.name.to_string());
        }
        Some(ASTNode::Stmt(Stmt::Share(shared))) => read.extend(shared.iter().map(|(name, _)| name.name.to_string())),
        Some(ASTNode::Expr(Expr::Variable(variable, ..))) => {
            aliases.extend(variable.2.path.first().map(|alias| alias.name.to_string()));
            read.insert(variable.1.to_string());
        }
        Some(ASTNode::Stmt(Stmt::FnCall(call, _)) | ASTNode::Expr(Expr::FnCall(call, _))) => {
            aliases.extend(call.namespace.path.first().map(|alias| alias.name.to_string()));
        }
        _ => {}
    });
    if !lint.text.contains(BY_NAME) {
        variables.retain(|name, _| !read.contains(name) && !name.starts_with('_'));
        variables.retain(|name, _| ![HEADER, language::ADAPTER].contains(&name.as_str()));
        warn_all(lint, "unused_variable", &variables, |name| {
            (format!("`{name}` is never read"), format!("remove it, or call it `_{name}` if that is meant so"))
        });
    }
    if !is_module {
        imports.retain(|name, _| !aliases.contains(name));
        warn_all(lint, "unused_import", &imports, |name| {
            (format!("nothing of `{name}` is used"), "remove the import".to_owned())
        });
    }
}

fn warn_all(lint: &mut Lint<'_>, rule: &str, all: &BTreeMap<String, Position>, say: impl Fn(&str) -> (String, String)) {
    for (name, position) in all {
        let (message, hint) = say(name);
        lint.warn(rule, *position, message, &hint);
    }
}

/// Warns of `"${name}"`, since only backticks interpolate; returns the names.
fn not_interpolated(lint: &mut Lint<'_>, ast: &AST) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for function in ast.iter_fn_def().filter(|function| !is_closure(&function.name)) {
        names.extend(function.params.iter().map(ToString::to_string));
    }
    let mut strings = Vec::new();
    each(ast, &mut |nodes| match nodes.last() {
        Some(ASTNode::Stmt(Stmt::Var(definition, ..))) => {
            names.insert(definition.0.name.to_string());
        }
        Some(ASTNode::Stmt(Stmt::For(header, _))) => {
            names.insert(header.0.name.to_string());
        }
        Some(ASTNode::Expr(Expr::StringConstant(text, position))) if text.contains("${") => {
            strings.push((text.clone(), *position));
        }
        _ => {}
    });
    let mut meant = BTreeSet::new();
    for (text, position) in strings {
        let named = text.split("${").skip(1).find_map(|rest| {
            let end = rest.find('}')?;
            let name = rest[..end].split('.').next()?;
            names.contains(name).then(|| name.to_owned())
        });
        if let Some(name) = named
            && character(lint.text, position) == Some('"')
        {
            let message = format!("`${{{name}}}` stays as it is between double quotes");
            lint.warn("not_interpolated", position, message, "write the text between backticks to put the value in");
            meant.insert(name);
        }
    }
    meant
}
