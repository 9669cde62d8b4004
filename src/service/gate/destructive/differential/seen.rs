//! The marked programs that a parser sees in a line: ours, brush's and tree-sitter's.

use std::{collections::BTreeSet, io::Cursor, panic::catch_unwind};

use brush_parser::{ParserOptions, word};
use serde_json::Value;
use tree_sitter::Node;

use super::super::shell::{Body, Direction, Operator, Part, Script, Simple, Word, parse};

/// The marks that a line runs as programs.
pub(super) type Seen = BTreeSet<String>;

/// The deepest substitution that is followed.
const DEPTH: u32 = 12;

/// Keeps a program if it is `mk` and a number.
fn keep(program: &str, seen: &mut Seen) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if program.strip_prefix("mk").is_some_and(is_number) {
        seen.insert(program.to_owned());
    }
}

/// The commands that our parser sees, or the reason that it sees none.
pub(super) fn ours(line: &str) -> Result<Seen, &'static str> {
    let mut seen = Seen::new();
    script(&parse(line)?, &mut seen);
    Ok(seen)
}

fn script(one: &Script, seen: &mut Seen) {
    for stage in one.pipelines.iter().flat_map(|pipeline| &pipeline.stages) {
        for redirect in &stage.redirects {
            words([&redirect.target], seen);
            if let Direction::Here(text) = &redirect.kind {
                words(text.get(), seen);
            }
        }
        match &stage.body {
            Body::Simple(simple) => command(simple, seen),
            Body::Group(inner) | Body::Subshell(inner) => script(inner, seen),
            Body::Loop { words: values, body, .. } => {
                words(values, seen);
                script(body, seen);
            }
            Body::Function { body, .. } => script(body, seen),
        }
    }
}

fn command(simple: &Simple, seen: &mut Seen) {
    for assignment in &simple.assignments {
        words(assignment.values.iter().chain([&assignment.index]), seen);
    }
    words(&simple.words, seen);
    if let Some([Part::Text { text, .. }]) = simple.words.first().map(|word| word.parts.as_slice()) {
        keep(text, seen);
    }
}

fn words<'w>(all: impl IntoIterator<Item = &'w Word>, seen: &mut Seen) {
    for part in all.into_iter().flat_map(|word| &word.parts) {
        match part {
            Part::Text { .. } => {}
            Part::Variable { operator, .. } => match operator {
                Operator::Plain => {}
                Operator::Default(word) | Operator::Alternative(word) | Operator::Other(word) => words([word], seen),
            },
            Part::Command { script: inner, .. } | Part::Process { script: inner, .. } => script(inner, seen),
            Part::Arithmetic(word) => words([word], seen),
        }
    }
}

/// The commands that brush sees; none if it refuses the line, or may never end.
pub(super) fn brush(line: &str) -> Option<Seen> {
    // It takes all memory for some here-documents.
    if line.replace("<<<", "").contains("<<") {
        return None;
    }
    let seen = || {
        let mut seen = Seen::new();
        brush_program(line, DEPTH, &mut seen).then_some(seen)
    };
    // It panics where a backslash is the last character.
    catch_unwind(seen).ok().flatten()
}

fn brush_program(line: &str, depth: u32, seen: &mut Seen) -> bool {
    let mut parser = brush_parser::Parser::new(Cursor::new(line), &ParserOptions::default());
    let program = parser.parse_program().ok().and_then(|program| serde_json::to_value(program).ok());
    depth > 0 && program.is_some_and(|program| brush_tree(&program, depth, seen))
}

/// The tree of a program: commands and words are known by their fields.
fn brush_tree(tree: &Value, depth: u32, seen: &mut Seen) -> bool {
    let Value::Object(fields) = tree else {
        return tree.as_array().is_none_or(|items| items.iter().all(|item| brush_tree(item, depth, seen)));
    };
    if let Some(program) = fields.get("word_or_name").and_then(|word| word.get("value")?.as_str()) {
        keep(program, seen);
    }
    if let Some(word) = fields.get("value").and_then(Value::as_str) {
        return brush_word(word, false, depth, seen);
    }
    if let Some(doc) = fields.get("here_end").and(fields.get("doc")) {
        let expands = fields.get("requires_expansion") == Some(&Value::Bool(true));
        let body = doc.get("value").and_then(Value::as_str).unwrap_or_default();
        return !expands || brush_word(body, true, depth, seen);
    }
    if let Some(Value::String(place)) = fields.get("ArrayElementName").and_then(|both| both.get(1)) {
        brush_word(place, false, depth, seen);
    }
    fields.values().all(|value| brush_tree(value, depth, seen))
}

fn brush_word(text: &str, is_here: bool, depth: u32, seen: &mut Seen) -> bool {
    if depth == 0 || !text.contains(['$', '`', '(']) {
        return depth > 0;
    }
    let options = ParserOptions::default();
    let pieces = if is_here { word::parse_heredoc(text, &options) } else { word::parse(text, &options) };
    let pieces = pieces.ok().and_then(|pieces| serde_json::to_value(pieces).ok());
    pieces.is_some_and(|pieces| brush_pieces(&pieces, depth - 1, seen))
}

fn brush_pieces(tree: &Value, depth: u32, seen: &mut Seen) -> bool {
    match tree {
        Value::Array(items) => items.iter().all(|item| brush_pieces(item, depth, seen)),
        Value::Object(fields) => fields.iter().all(|(name, value)| match (name.as_str(), value.as_str()) {
            ("Text" | "SingleQuotedText" | "AnsiCQuotedText" | "EscapeSequence", _) => true,
            ("CommandSubstitution" | "BackquotedCommandSubstitution", Some(line)) => brush_program(line, depth, seen),
            (_, Some(text)) => brush_word(text, false, depth, seen),
            (_, None) => brush_pieces(value, depth, seen),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The commands that tree-sitter sees; none if it meets an error.
pub(super) fn tree(parser: &mut tree_sitter::Parser, line: &str) -> Option<Seen> {
    let tree = parser.parse(line, None)?;
    let mut seen = Seen::new();
    if tree.root_node().has_error() {
        return None;
    }
    tree_node(tree.root_node(), line, &mut seen);
    Some(seen)
}

fn tree_node(node: Node<'_>, line: &str, seen: &mut Seen) {
    if let Some(program) = node.child_by_field_name("name").filter(|_| node.kind() == "command") {
        keep(&line[program.byte_range()], seen);
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).for_each(|child| tree_node(child, line, seen));
}
