//! The declarations of a style object, such as `{ color: "red", fontSize: 16 }`.

use std::ops::Range;

use super::{Spelling, class::string};
use crate::code::tree::SyntaxNode;

/// A property of a style object: its name in CSS, its value, and the way in which that is spelt.
pub(super) type Declaration = (String, Range<usize>, Spelling);

/// The properties of a style object and of the objects in it.
pub(super) fn declarations(value: &SyntaxNode<'_>) -> Vec<Declaration> {
    let (mut found, mut rest) = (Vec::new(), vec![value.clone()]);
    while let Some(node) = rest.pop() {
        match &*node.kind() {
            "object" => {
                for pair in node.children().filter(|pair| pair.kind() == "pair") {
                    let (Some(key), Some(value)) = (pair.field("key"), pair.field("value")) else { continue };
                    let Some(name) = name(&key) else { continue };
                    match literal(&value) {
                        Some((range, spelling)) => found.push((name, range, spelling)),
                        None if holds_objects(&value) => rest.push(value),
                        None => found.push((name, value.range(), Spelling::Computed)),
                    }
                }
            }
            "parenthesized_expression" | "array" | "as_expression" | "satisfies_expression" | "arguments" => {
                rest.extend(node.children().filter(SyntaxNode::is_named));
            }
            "ternary_expression" => {
                rest.extend(["consequence", "alternative"].into_iter().filter_map(|name| node.field(name)))
            }
            "binary_expression" => rest.extend(node.field("right")),
            "call_expression" => rest.extend(node.field("arguments")),
            _ => {}
        }
    }
    found.sort_by_key(|(_, range, _)| range.start);
    found
}

/// True for an object, or one in brackets or with a type.
fn holds_objects(value: &SyntaxNode<'_>) -> bool {
    matches!(&*value.kind(), "object" | "as_expression" | "satisfies_expression" | "parenthesized_expression")
}

/// A literal as a site: the inside of a string, or all of a number and the like.
pub(super) fn literal(value: &SyntaxNode<'_>) -> Option<(Range<usize>, Spelling)> {
    match &*value.kind() {
        "string" | "template_string" => string(value),
        "number" | "true" | "false" | "null" => Some((value.range(), Spelling::Literal)),
        "unary_expression" => {
            let number = value.field("argument").filter(|argument| argument.kind() == "number")?;
            let sign = value.field("operator").map(|operator| operator.text().into_owned());
            (sign.as_deref() == Some("-") && number.range().start == value.range().start + 1)
                .then(|| (value.range(), Spelling::Literal))
        }
        _ => None,
    }
}

/// The name of a property in CSS; custom properties keep theirs.
fn name(key: &SyntaxNode<'_>) -> Option<String> {
    let text = match &*key.kind() {
        "property_identifier" => key.text().into_owned(),
        "string" => {
            let text = key.text();
            text.get(1..text.len().checked_sub(1)?)?.to_owned()
        }
        _ => return None,
    };
    Some(css_name(&text))
}

/// The name in CSS of a property in camel case.
pub fn css_name(name: &str) -> String {
    if name.starts_with("--") {
        return name.to_owned();
    }
    // `COLOR` is no camel case.
    if name.contains('-') || !name.contains(|c: char| c.is_ascii_lowercase()) {
        return name.to_ascii_lowercase();
    }
    let mut css = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            css.push('-');
        }
        css.push(c.to_ascii_lowercase());
    }
    if css.starts_with("ms-") { format!("-{css}") } else { css }
}
