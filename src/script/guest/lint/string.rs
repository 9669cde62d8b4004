//! Escapes between backticks, which are no escapes there.

use rhai::{AST, ASTNode, Expr, FnCallExpr, Position};

use super::{Lint, each};
use crate::guest::{bindings, place::character};

/// The names of parameters and fields that take a regular expression, in which an escape has its meaning.
const REGULAR: &[&str] = &["pattern", "regex"];

/// Warns of a text between backticks that holds an escape for a line feed or a tab.
pub(super) fn look(lint: &mut Lint<'_>, ast: &AST) {
    let mut found: Vec<(Position, char)> = Vec::new();
    each(ast, &mut |nodes| {
        let Some(ASTNode::Expr(Expr::StringConstant(text, position))) = nodes.last() else { return };
        let around: Vec<&Expr> = nodes.iter().rev().skip(1).filter_map(expression).collect();
        let interpolated = around.iter().find_map(|expr| match expr {
            Expr::InterpolatedString(_, position) => Some(*position),
            _ => None,
        });
        let start = interpolated.unwrap_or(*position);
        if character(lint.text, start) != Some('`') || around.iter().any(|expr| is_regular(expr, *position)) {
            return;
        }
        if let Some(escape) = escape(text)
            && found.last().is_none_or(|(last, _)| *last != start)
        {
            found.push((start, escape));
        }
    });
    for (position, escape) in found {
        let hint = match escape {
            'n' => "break the line between the backticks, or write the text between double quotes",
            _ => "write the text between double quotes",
        };
        let message = format!("`\\{escape}` between backticks is a backslash and a letter");
        lint.warn("raw_escape", position, message, hint);
    }
}

fn expression<'n>(node: &'n ASTNode<'n>) -> Option<&'n Expr> {
    match node {
        ASTNode::Expr(expr) => Some(expr),
        _ => None,
    }
}

/// The first escape of a text whose escapes are all for line feeds, carriage returns and tabs; others make a regular expression likely.
fn escape(text: &str) -> Option<char> {
    let mut escapes = text.split('\\').skip(1).map(|rest| rest.chars().next());
    let first = escapes.next()??;
    let is_plain = |escape: Option<char>| matches!(escape, Some('n' | 'r' | 't'));
    (is_plain(Some(first)) && escapes.all(is_plain)).then_some(first)
}

/// True if an expression takes the text at that place as a regular expression.
fn is_regular(around: &Expr, at: Position) -> bool {
    match around {
        Expr::MethodCall(call, _) | Expr::FnCall(call, _) => takes_regular(call, at),
        Expr::Map(entries, _) => {
            entries.0.iter().any(|(name, value)| REGULAR.contains(&name.name.as_str()) && value.start_position() == at)
        }
        _ => false,
    }
}

fn takes_regular(call: &FnCallExpr, at: Position) -> bool {
    let place = call.args.iter().position(|argument| argument.start_position() == at);
    let takes = |one: &bindings::Call, place: usize| {
        one.name == call.name && one.params.get(place).is_some_and(|param| REGULAR.contains(&param.name))
    };
    place.is_some_and(|place| bindings::calls().any(|one| takes(one, place)))
}
