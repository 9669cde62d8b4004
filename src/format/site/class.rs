//! The strings of an expression that are lists of classes.

use std::ops::Range;

use super::Spelling;
use crate::code::tree::SyntaxNode;

/// The functions whose string arguments are classes.
const FUNCTIONS: &[&str] = &["classNames", "classnames", "clsx", "cn", "cx", "twJoin", "twMerge"];

/// True for the call of a function that joins classes.
pub(super) fn joins(node: &SyntaxNode<'_>) -> bool {
    let function = node.field("function").filter(|_| node.kind() == "call_expression");
    function.is_some_and(|function| {
        function.kind() == "identifier" && FUNCTIONS.contains(&&*function.text())
            || function.kind() == "member_expression"
                && function.field("property").is_some_and(|property| FUNCTIONS.contains(&&*property.text()))
    })
}

/// The strings of an expression whose value is a list of classes, and the parts that a program computes.
pub(super) fn strings(expression: &SyntaxNode<'_>) -> Vec<(Range<usize>, Spelling)> {
    let (mut found, mut rest) = (Vec::new(), vec![expression.clone()]);
    while let Some(node) = rest.pop() {
        let field = |name: &str| node.field(name).into_iter();
        match &*node.kind() {
            "string" | "template_string" => found.extend(string(&node)),
            "parenthesized_expression"
            | "array"
            | "arguments"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression" => rest.extend(node.children().filter(SyntaxNode::is_named)),
            // A condition is no class.
            "ternary_expression" => rest.extend(field("consequence").chain(field("alternative"))),
            "binary_expression" => {
                let operator = node.field("operator").map(|operator| operator.text().into_owned()).unwrap_or_default();
                match operator.as_str() {
                    "&&" => rest.extend(field("right")),
                    "||" | "??" => rest.extend(field("left").chain(field("right"))),
                    _ => {}
                }
            }
            // `{active: isActive}` has its classes as keys.
            "object" => {
                let pairs = node.children().filter(|pair| pair.kind() == "pair");
                rest.extend(pairs.filter_map(|pair| pair.field("key")).filter(|key| key.kind() == "string"));
            }
            "call_expression" if joins(&node) => rest.extend(field("arguments")),
            _ => {}
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// The inside of a string or template; none if it has no end.
pub(super) fn string(node: &SyntaxNode<'_>) -> Option<(Range<usize>, Spelling)> {
    let (range, text) = (node.range(), node.text());
    let quote = text.chars().next()?;
    if text.len() < 2 || !text.ends_with(quote) {
        return None;
    }
    let spelling = match quote {
        '"' | '\'' => Spelling::Text(quote),
        '`' if node.children().any(|child| child.kind() == "template_substitution") => Spelling::Computed,
        '`' => Spelling::Template,
        _ => return None,
    };
    Some((range.start + 1..range.end - 1, spelling))
}
