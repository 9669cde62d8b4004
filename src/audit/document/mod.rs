//! JSON, YAML and TOML with the places of their keys and scalars in the text, and the comparison of two texts outside of them.
//!
//! Values are those of JSON. A date of TOML is its text. Infinity and not-a-number are refused, and so are duplicate keys.

mod attached;
mod cut;
mod json;
mod outside;
mod remark;
mod toml;
mod yaml;

use std::ops::Range;

use serde_json::Value;

pub use self::{
    cut::{Cut, Departure, Side},
    outside::outside,
};

/// The depth of values that is read.
const DEEPEST: usize = 128;

/// The syntax of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// RFC 8259.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// JSON5.
    Json5,
    /// YAML 1.2, one document.
    Yaml,
    /// TOML.
    Toml,
}

/// A key or a scalar in the text. Containers have none of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// The pointer of the value or member.
    pub pointer: String,
    /// True for the key of the member, false for the value.
    pub is_key: bool,
    /// The place in the text.
    pub range: Range<usize>,
    /// For a key on the way to a member, as in a header of TOML: the member, with which it goes.
    pub(crate) owner: Option<String>,
}

/// A document that was read.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The value.
    pub value: Value,
    /// Its keys and scalars, in the order of the text.
    pub atoms: Vec<Atom>,
    /// The objects and arrays in brackets or braces, with their places in the text.
    pub(crate) brackets: Vec<(String, Range<usize>)>,
    /// The anchors of YAML with the values behind them.
    pub(crate) anchors: Vec<(String, Range<usize>)>,
}

/// Reads a text; the error is the reason that it is not of its syntax.
pub fn read(syntax: Syntax, text: &str) -> Result<Document, String> {
    let mut document = match syntax {
        Syntax::Json | Syntax::Jsonc | Syntax::Json5 => json::read(syntax, text)?,
        Syntax::Yaml => yaml::read(text)?,
        Syntax::Toml => toml::read(text)?,
    };
    document.atoms.sort_by_key(|atom| (atom.range.start, atom.range.end));
    Ok(document)
}

/// Reads a text in YAML with any number of documents, such as a file of rules.
pub(crate) fn read_stream(text: &str) -> Result<Vec<Document>, String> {
    yaml::read_all(text)
}

/// The line of a byte, from 1.
pub fn line(text: &str, at: usize) -> u64 {
    let newlines = text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
    newlines as u64 + 1
}

/// The pointer to a member or item of the value at `pointer`.
fn join(pointer: &str, token: &str) -> String {
    let mut joined = pointer.to_owned();
    joined.push('/');
    for c in token.chars() {
        match c {
            '~' => joined.push_str("~0"),
            '/' => joined.push_str("~1"),
            c => joined.push(c),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The text of each key and scalar.
    #[track_caller]
    fn atoms(syntax: Syntax, text: &str) -> Vec<&str> {
        let document = read(syntax, text).expect("it is well-formed");
        document.atoms.iter().map(|atom| &text[atom.range.clone()]).collect()
    }

    #[test]
    fn places_are_bytes_in_every_script_and_with_every_line_end() {
        let text = "\u{feff}# é\r\né: \"ü\"\r\nb: |\r\n  1\u{1f600}\r\n  2\r\nc: 3";
        assert_eq!(atoms(Syntax::Yaml, text), ["é", "\"ü\"", "b", "|\r\n  1\u{1f600}\r\n  2", "c", "3"]);
        let value = read(Syntax::Yaml, text).expect("it is well-formed").value;
        assert_eq!(value["b"], "1\u{1f600}\n2\n");
        assert_eq!(atoms(Syntax::Yaml, "a: |-\n  x"), ["a", "|-\n  x"]);
        assert_eq!(atoms(Syntax::Json5, "\u{a0}{\u{3000}v:'\u{a0}'\u{feff}}"), ["v", "'\u{a0}'"]);
    }

    #[test]
    fn a_stream_has_any_number_of_documents() {
        let values =
            |text| read_stream(text).map(|all| all.into_iter().map(|document| document.value).collect::<Vec<_>>());
        assert_eq!(values(""), Ok(Vec::new()));
        assert_eq!(values("a: 1\n---\n- 2\n---\n"), Ok(vec![json!({"a": 1}), json!([2]), Value::Null]));
        assert!(values("a: &x 1\n---\nb: *x\n").is_err());
        assert!(read(Syntax::Yaml, "a: 1\n---\nb: 2\n").is_err());
    }

    #[test]
    fn keys_of_headers_and_dotted_keys_are_found() {
        let text = "a.'b.c'.d = 1\n[x . \"y\"] # z\nq = { r.s = 2 }\n[[l]]\n[l.m]\n";
        assert_eq!(
            atoms(Syntax::Toml, text),
            ["a", "'b.c'", "d", "1", "x", "\"y\"", "q", "r", "s", "2", "l", "l", "m"]
        );
    }
}
