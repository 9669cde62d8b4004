//! JSON, JSONC and JSON5, by the parser of `jsonc-parser`.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectPropName, Value as Node},
    common::Ranged,
    parse_to_ast,
};
use serde_json::{Map, Number, Value};

use super::{Atom, DEEPEST, Document, Syntax, join};

/// Reads a text.
pub(super) fn read(syntax: Syntax, text: &str) -> Result<Document, String> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let offset = text.len() - body.len();
    if syntax == Syntax::Json {
        serde_json::from_str::<serde::de::IgnoredAny>(body).map_err(|error| error.to_string())?;
    }
    let (comments, json5) = (syntax != Syntax::Json, syntax == Syntax::Json5);
    let options = ParseOptions {
        allow_comments: comments,
        allow_trailing_commas: comments,
        allow_loose_object_property_names: json5,
        allow_missing_commas: false,
        allow_single_quoted_strings: json5,
        allow_hexadecimal_numbers: json5,
        allow_unary_plus_numbers: json5,
        allow_bare_decimal_point_numbers: json5,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: json5,
    };
    let plain = if json5 { plain_spaces(body) } else { body.to_owned() };
    let parsed = parse_to_ast(&plain, &CollectOptions::default(), &options).map_err(|error| error.to_string())?;
    let root = parsed.value.ok_or("it is empty")?;
    let mut reader = Reader { offset, atoms: Vec::new(), brackets: Vec::new() };
    let value = reader.value(&root, String::new(), 0)?;
    Ok(Document { value, atoms: reader.atoms, brackets: reader.brackets, anchors: Vec::new() })
}

/// A text of JSON5 with blanks for the other white space between its parts, byte for byte.
fn plain_spaces(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let is_wide = !c.is_ascii() && (c.is_whitespace() || c == '\u{feff}') && c != '\u{85}';
        let is_space = is_wide || matches!(c, '\u{b}' | '\u{c}');
        let length = match c {
            '"' | '\'' => string_length(rest, c),
            '/' if rest.starts_with("//") => rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => c.len_utf8(),
        };
        let (part, tail) = rest.split_at(length);
        match is_space {
            true => plain.push_str(&" ".repeat(length)),
            false => plain.push_str(part),
        }
        rest = tail;
    }
    plain
}

/// The length of the string that a text begins with.
fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

struct Reader {
    offset: usize,
    atoms: Vec<Atom>,
    brackets: Vec<(String, Range<usize>)>,
}

impl Reader {
    fn atom(&mut self, pointer: &str, is_key: bool, node: &impl Ranged) {
        let Range { start, end } = node.start()..node.end();
        let range = start + self.offset..end + self.offset;
        self.atoms.push(Atom { pointer: pointer.to_owned(), is_key, range, owner: None });
    }

    fn value(&mut self, node: &Node<'_>, at: String, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        if matches!(node, Node::Object(_) | Node::Array(_)) {
            self.brackets.push((at.clone(), node.start() + self.offset..node.end() + self.offset));
        }
        match node {
            Node::Object(object) => {
                let mut map = Map::new();
                for member in &object.properties {
                    let name = match &member.name {
                        ObjectPropName::String(name) => name.value.as_ref(),
                        ObjectPropName::Word(name) => name.value,
                    };
                    let pointer = join(&at, name);
                    self.atom(&pointer, true, &member.name);
                    let value = self.value(&member.value, pointer, depth + 1)?;
                    if map.insert(name.to_owned(), value).is_some() {
                        return Err(format!("the member `{name}` stands twice"));
                    }
                }
                return Ok(Value::Object(map));
            }
            Node::Array(array) => {
                let items = array.elements.iter().enumerate();
                let items = items.map(|(n, item)| self.value(item, join(&at, &n.to_string()), depth + 1));
                return items.collect::<Result<Vec<_>, _>>().map(Value::Array);
            }
            _ => self.atom(&at, false, node),
        }
        match node {
            Node::StringLit(text) => Ok(Value::String(text.value.to_string())),
            Node::NumberLit(number) => decoded(number.value).map(Value::Number),
            Node::BooleanLit(truth) => Ok(Value::Bool(truth.value)),
            Node::NullKeyword(_) | Node::Object(_) | Node::Array(_) => Ok(Value::Null),
        }
    }
}

/// A number as JSON or JSON5 writes it.
fn decoded(text: &str) -> Result<Number, String> {
    if let Ok(number) = serde_json::from_str(text) {
        return Ok(number);
    }
    let wrong = || format!("`{text}` is no number that can be represented");
    let (sign, body) = text.strip_prefix('-').map_or((1.0, text.trim_start_matches('+')), |body| (-1.0, body));
    let hexadecimal = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        let number = i128::from_str_radix(digits, 16).map_err(|_| wrong())? * if sign < 0.0 { -1 } else { 1 };
        return Number::from_i128(number).ok_or_else(wrong);
    }
    if body.bytes().all(|byte| byte.is_ascii_digit()) {
        return serde_json::from_str(text.trim_start_matches('+')).map_err(|_| wrong());
    }
    body.parse::<f64>().ok().and_then(|number| Number::from_f64(sign * number)).ok_or_else(wrong)
}
