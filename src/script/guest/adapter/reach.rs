//! The functions of a source that others reach, found in the syntax tree.
//!
//! Every way in which the language can name a function counts: a call, a method, a closure, a string for `Fn`. More may be
//! found than is ever called, never less; a name that is computed at run time finds no function of another side.

use std::collections::{BTreeMap, BTreeSet};

use rhai::{AST, ASTNode, Dynamic, Expr, FnPtr, Stmt};

use crate::guest::lint::each;

/// The functions that these reach, themselves included.
pub(super) fn reached(ast: &AST, from: &[&str]) -> BTreeSet<String> {
    let named = mentions(ast);
    let mut reached = BTreeSet::new();
    let mut next: Vec<String> = from.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = next.pop() {
        if let Some(others) = named.get(&name)
            && reached.insert(name)
        {
            next.extend(others.iter().cloned());
        }
    }
    reached
}

/// For each function the names of functions that it mentions.
fn mentions(ast: &AST) -> BTreeMap<String, BTreeSet<String>> {
    let names: BTreeSet<String> = ast.iter_fn_def().map(|function| function.name.to_string()).collect();
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for function in ast.iter_fn_def() {
        let mentioned = all.entry(function.name.to_string()).or_default();
        // The engine gives no other way to the statements of a function.
        let mut alone = ast.clone_functions_only();
        alone.retain_functions(|_, _, name, params| name == function.name && params == function.params.len());
        each(&alone, &mut |nodes| {
            if let Some(node) = nodes.last() {
                mention(node, &mut |name| {
                    if names.contains(name) {
                        mentioned.insert(name.to_owned());
                    }
                });
            }
        });
    }
    all
}

fn mention(node: &ASTNode<'_>, found: &mut dyn FnMut(&str)) {
    match node {
        ASTNode::Stmt(Stmt::FnCall(call, _)) | ASTNode::Expr(Expr::FnCall(call, _) | Expr::MethodCall(call, _)) => {
            found(&call.name);
            call.args.iter().for_each(|argument| constant(argument, found));
        }
        ASTNode::Expr(expression) => constant(expression, found),
        _ => {}
    }
}

fn constant(expression: &Expr, found: &mut dyn FnMut(&str)) {
    match expression {
        Expr::StringConstant(text, _) => found(text),
        Expr::Variable(variable, ..) => found(&variable.1),
        Expr::DynamicConstant(value, _) => pointer(value, found),
        _ => {}
    }
}

/// A function in a constant value, also within an array or a map.
fn pointer(value: &Dynamic, found: &mut dyn FnMut(&str)) {
    if let Some(pointer) = value.clone().try_cast::<FnPtr>() {
        found(pointer.fn_name());
        pointer.curry().iter().for_each(|value| pointer_in(value, found));
    } else {
        pointer_in(value, found);
    }
}

fn pointer_in(value: &Dynamic, found: &mut dyn FnMut(&str)) {
    if let Ok(text) = value.as_immutable_string_ref() {
        found(&text);
    } else if let Ok(items) = value.as_array_ref() {
        items.iter().for_each(|item| pointer(item, found));
    } else if let Ok(map) = value.as_map_ref() {
        map.values().for_each(|item| pointer(item, found));
    }
}
