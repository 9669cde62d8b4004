//! Reads JSON, JSON with comments and JSON5 as a tree with byte ranges.
//!
//! JSON is read as RFC 8259 says, with two differences: duplicate names are errors, and a byte order mark is kept. A number
//! that a 64-bit float can't hold is an error.

use std::{collections::BTreeSet, ops::Range};

use serde_json::Value;

use super::{
    json5,
    syntax::{Malformed, Syntax},
    tree::{Form, MAX_DEPTH, Member, Node, Shape, Tree},
};

/// Reads a text.
pub(super) fn read(syntax: Syntax, text: &str) -> Result<Tree, Malformed> {
    let mut reader = Reader { syntax, text, at: 0, nodes: Vec::new(), comments: Vec::new(), depth: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.trivia()?;
    let root = reader.value()?;
    reader.trivia()?;
    if reader.at < text.len() {
        return Err(reader.unexpected("after the value"));
    }
    Ok(Tree { nodes: reader.nodes, root, comments: reader.comments })
}

/// The end of a `//` or `/*` comment that begins at a byte.
fn comment_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    match rest.get(1) {
        Some(b'/') => {
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            Some(at + end)
        }
        Some(b'*') => memchr::memmem::find(&rest[2..], b"*/").map(|end| at + 2 + end + 2),
        _ => None,
    }
}

fn is_space(syntax: Syntax, space: char) -> bool {
    match space {
        ' ' | '\t' | '\n' | '\r' => true,
        '\u{b}' | '\u{c}' | '\u{a0}' | '\u{feff}' | '\u{2028}' | '\u{2029}' => syntax == Syntax::Json5,
        _ => syntax == Syntax::Json5 && !space.is_ascii() && space.is_whitespace() && space != '\u{85}',
    }
}

struct Reader<'t> {
    syntax: Syntax,
    text: &'t str,
    at: usize,
    nodes: Vec<Node>,
    comments: Vec<Range<usize>>,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail(&self, at: usize, reason: impl Into<String>) -> Malformed {
        Malformed::at(self.text, at, reason)
    }

    fn unexpected(&self, place: &str) -> Malformed {
        match self.text[self.at..].chars().next() {
            Some(found) => self.fail(self.at, format!("`{}` is not expected {place}", found.escape_debug())),
            None => match place.strip_prefix("as ") {
                Some(missing) => self.fail(self.at, format!("the text ends where {missing} has to stand")),
                None => self.fail(self.at, format!("the text ends {place}")),
            },
        }
    }

    /// Skips white space, and comments where the syntax has them.
    fn trivia(&mut self) -> Result<(), Malformed> {
        while let Some(next) = self.text[self.at..].chars().next() {
            if is_space(self.syntax, next) {
                self.at += next.len_utf8();
            } else if next == '/' && self.syntax != Syntax::Json {
                let end = comment_end(self.text, self.at).ok_or_else(|| self.fail(self.at, "a comment has no end"))?;
                self.comments.push(self.at..end);
                self.at = end;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn value(&mut self) -> Result<usize, Malformed> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            _ => self.scalar(),
        }
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Result<Shape, Malformed>) -> Result<usize, Malformed> {
        if self.depth == MAX_DEPTH {
            return Err(self.fail(self.at, format!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let start = self.at;
        let id = self.push(Node::new(start..start, Shape::Scalar(Value::Null), Form::Flow));
        self.at += 1;
        let shape = read(self)?;
        self.depth -= 1;
        self.at += 1;
        self.nodes[id].span = start..self.at;
        self.nodes[id].shape = shape;
        Ok(id)
    }

    fn array(&mut self) -> Result<Shape, Malformed> {
        let mut items = Vec::new();
        self.trivia()?;
        while self.peek() != Some(b']') {
            items.push(self.value()?);
            if !self.comma(b']', "in an array")? {
                break;
            }
        }
        Ok(Shape::Array(items))
    }

    fn object(&mut self) -> Result<Shape, Malformed> {
        let mut members = Vec::new();
        let mut names = BTreeSet::new();
        self.trivia()?;
        while self.peek() != Some(b'}') {
            let start = self.at;
            let name = self.key()?;
            let key = start..self.at;
            if !names.insert(name.clone()) {
                return Err(self.fail(start, format!("the name `{name}` stands twice in an object")));
            }
            self.trivia()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after a name"));
            }
            self.at += 1;
            self.trivia()?;
            let value = self.value()?;
            members.push(Member { name, key, value });
            if !self.comma(b'}', "in an object")? {
                break;
            }
        }
        Ok(Shape::Object(members))
    }

    /// Skips a comma. False at the closing bracket.
    fn comma(&mut self, close: u8, place: &str) -> Result<bool, Malformed> {
        self.trivia()?;
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.trivia()?;
                if self.peek() == Some(close) && self.syntax == Syntax::Json {
                    return Err(self.fail(comma, "JSON has no trailing commas"));
                }
                Ok(true)
            }
            Some(byte) if byte == close => Ok(false),
            _ => Err(self.unexpected(place)),
        }
    }

    fn key(&mut self) -> Result<String, Malformed> {
        match self.peek() {
            Some(b'"') => {}
            Some(b'\'') if self.syntax == Syntax::Json5 => {}
            _ if self.syntax == Syntax::Json5 => {
                let (name, length) =
                    json5::identifier(&self.text[self.at..]).ok_or_else(|| self.unexpected("as a name"))?;
                self.at += length;
                return Ok(name);
            }
            _ => return Err(self.unexpected("as a name")),
        }
        self.string()
    }

    /// Reads a string in quotes.
    fn string(&mut self) -> Result<String, Malformed> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let quote = bytes[start];
        let mut end = start + 1;
        loop {
            end +=
                memchr::memchr2(quote, b'\\', &bytes[end..]).ok_or_else(|| self.fail(start, "a string has no end"))?;
            if bytes[end] == quote {
                break;
            }
            end += 2;
            if end > bytes.len() {
                return Err(self.fail(start, "a string has no end"));
            }
        }
        end += 1;
        let raw = &self.text[start..end];
        self.at = end;
        if self.syntax == Syntax::Json5 {
            return json5::string(raw).map_err(|reason| self.fail(start, reason));
        }
        let inside = &raw[1..raw.len() - 1];
        if inside.bytes().all(|byte| byte >= b' ' && byte != b'\\') {
            return Ok(inside.to_owned());
        }
        serde_json::from_str(raw)
            .map_err(|error| self.fail(start + error.column().saturating_sub(1), "a string is malformed"))
    }

    fn scalar(&mut self) -> Result<usize, Malformed> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'"') => Value::String(self.string()?),
            Some(b'\'') if self.syntax == Syntax::Json5 => Value::String(self.string()?),
            _ => {
                let rest = &self.text.as_bytes()[start..];
                let is_word =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_' | b'$');
                let length = rest.iter().take_while(|byte| is_word(byte)).count();
                if length == 0 {
                    return Err(self.unexpected("as a value"));
                }
                self.at += length;
                self.word(start, &self.text[start..start + length])?
            }
        };
        Ok(self.push(Node::new(start..self.at, Shape::Scalar(value), Form::Scalar)))
    }

    fn word(&self, start: usize, word: &str) -> Result<Value, Malformed> {
        let read = if self.syntax == Syntax::Json5 { json5::word(word) } else { self::word(word) };
        read.map_err(|reason| self.fail(start, reason))
    }
}

/// Reads `true`, `false`, `null` or a number of JSON.
pub(super) fn word(word: &str) -> Result<Value, String> {
    serde_json::from_str(word).map_err(|error| {
        if error.to_string().starts_with("number out of range") {
            format!("the number `{word}` is too large for a 64-bit float")
        } else {
            format!("`{word}` is no value of JSON")
        }
    })
}
