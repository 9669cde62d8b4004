//! Tests of the document editors.

mod json;
mod random;
mod toml;
mod yaml;

use serde_json::Value;

use super::{Document, edit::Edit, syntax::Syntax};

/// Reads edits from a short notation: `[["set", "/a", 1], ["remove", "/b"]]`.
fn edits(notation: &Value) -> Vec<Edit> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let edit = |edit: &Value| {
        let pointer = text(&edit[1]);
        match edit[0].as_str() {
            Some("set") => Edit::Set { pointer, value: edit[2].clone() },
            Some("insert") => Edit::Insert { pointer, value: edit[2].clone() },
            Some("remove") => Edit::Remove { pointer },
            Some("rename") => Edit::Rename { pointer, key: text(&edit[2]) },
            Some("move") => Edit::Move { from: pointer, to: text(&edit[2]) },
            Some("wrap") => Edit::WrapArray { pointer },
            _ => panic!("no edit: {edit}"),
        }
    };
    notation.as_array().expect("a list").iter().map(edit).collect()
}

#[track_caller]
fn check(syntax: Syntax, text: &str, notation: Value, expected: &str) {
    let document = Document::parse(syntax, text).expect("well-formed");
    let edited = document.apply(&edits(&notation)).unwrap_or_else(|refused| panic!("{refused}\n{text}"));
    assert_eq!(edited.text, expected, "\n--- got\n{}\n--- expected\n{expected}", edited.text);
}

#[track_caller]
fn refuses(syntax: Syntax, text: &str, notation: Value, reason: &str) {
    let document = Document::parse(syntax, text).expect("well-formed");
    let refused = document.apply(&edits(&notation)).expect_err("refused");
    assert!(refused.reason.contains(reason), "{refused}");
}

#[track_caller]
fn malformed(syntax: Syntax, text: &str, place: (u32, u32), reason: &str) {
    let malformed = Document::parse(syntax, text).expect_err("malformed");
    assert!(malformed.reason.contains(reason), "{malformed}");
    assert_eq!((malformed.line, malformed.column), place, "{malformed}");
}
