//! What the params of a tool ask for: commands, edits and texts, whatever the tool calls them.
//!
//! Tools of different programs name the same things differently. Names are compared without regard to case and punctuation, at
//! any depth. What is not recognised as a command or an edit is still searched for secrets.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    patch_text,
    subject::{Edit, Text, Words},
};
use crate::diff;

/// A string that is judged as a command, a list as its words.
const COMMANDS: &[&str] = &["bash", "cmd", "command", "commandline", "program", "script", "shellcommand"];

/// A list of strings of which each is judged as a command.
const MANY_COMMANDS: &[&str] = &["cmds", "commands", "scripts"];

/// The words that follow a command.
const ARGUMENTS: &[&str] = &["arguments", "args", "argv"];

/// The file that is edited.
const PATHS: &[&str] = &["absolutepath", "file", "filename", "filepath", "notebookpath", "path", "targetfile"];

/// What is written.
const AFTER: &[&str] = &[
    "codeedit",
    "content",
    "contents",
    "filetext",
    "inserttext",
    "newcontent",
    "newsource",
    "newstr",
    "newstring",
    "newtext",
    "text",
];

/// What that replaces.
const BEFORE: &[&str] = &["oldcontent", "oldsource", "oldstr", "oldstring", "oldtext"];

/// Several such pieces.
const EDITS: &[&str] = &["edits"];

/// Words in the name of a tool that changes files without giving contents, and what it may call them.
const MOVES: &[&str] = &["delete", "move", "remove", "rename"];
const MOVED: &[&str] = &["destination", "from", "newpath", "oldpath", "source", "to"];

/// The commands in some params.
pub(super) fn commands(params: &Value) -> Vec<Words<'_>> {
    let mut found = Vec::new();
    each_object(params, &mut |map| {
        let arguments: Vec<String> = values(map, ARGUMENTS).flat_map(strings).map(str::to_owned).collect();
        for value in values(map, COMMANDS) {
            match value {
                Value::String(text) if patch_text::is_patch(text) => {}
                Value::String(text) => {
                    if !arguments.is_empty() {
                        found.push(Words::Argv(Cow::Owned([vec![text.clone()], arguments.clone()].concat())));
                    }
                    found.push(Words::Line(text));
                }
                Value::Array(_) => {
                    let argv: Vec<String> = strings(value).map(str::to_owned).collect();
                    if !argv.iter().any(|word| patch_text::is_patch(word)) {
                        found.push(Words::Argv(Cow::Owned(argv)));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
            }
        }
        found.extend(values(map, MANY_COMMANDS).flat_map(strings).map(Words::Line));
    });
    found
}

/// The edits in some params of a tool.
pub(super) fn edits<'a>(tool: &str, params: &'a Value) -> Vec<Edit<'a>> {
    let mut found = Vec::new();
    let tool = plain(tool);
    let moves = MOVES.iter().any(|word| tool.contains(word));
    each_object(params, &mut |map| {
        let mut paths: Vec<&str> = values(map, PATHS).filter_map(Value::as_str).collect();
        if moves {
            paths.extend(values(map, MOVED).filter_map(Value::as_str));
        }
        let pieces = pieces(map);
        if !pieces.is_empty() || moves {
            found.extend(paths.iter().map(|path| edit(path, &pieces)));
        }
    });
    each_string(params, &mut |text| found.extend(patch_text::edits(text)));
    found
}

/// What is replaced and by what, in the object itself and in its list of edits.
fn pieces(map: &Map<String, Value>) -> Vec<(&str, &str)> {
    let texts = |map, names| values(map, names).filter_map(Value::as_str).next();
    let piece = |map| match (texts(map, BEFORE), texts(map, AFTER)) {
        (None, None) => None,
        (before, after) => Some((before.unwrap_or_default(), after.unwrap_or_default())),
    };
    let inner = values(map, EDITS).flat_map(|value| value.as_array().into_iter().flatten());
    piece(map).into_iter().chain(inner.filter_map(Value::as_object).filter_map(piece)).collect()
}

fn edit<'a>(path: &'a str, pieces: &[(&'a str, &'a str)]) -> Edit<'a> {
    let diff_lines =
        pieces.iter().map(|(before, after)| diff::count(before.as_bytes(), after.as_bytes()).total()).sum();
    let joined = |texts: Vec<&'a str>| match texts[..] {
        [one] => Cow::Borrowed(one.as_bytes()),
        _ => Cow::Owned(texts.join("\n").into_bytes()),
    };
    let before = joined(pieces.iter().map(|(before, _)| *before).collect());
    let after = joined(pieces.iter().map(|(_, after)| *after).collect());
    Edit { path: Cow::Borrowed(path), before, after, diff_lines }
}

/// The texts in some params of a tool: contents of files, and all other strings, each with the name under which it stands.
pub(super) fn texts<'a>(tool: &str, params: &'a Value) -> Vec<Text<'a>> {
    let mut found: Vec<Text<'a>> = edits(tool, params).into_iter().map(Text::from).collect();
    others(params, None, false, &mut found);
    found
}

/// The strings that are no contents of a file.
fn others<'a>(value: &'a Value, name: Option<&'a str>, in_edit: bool, found: &mut Vec<Text<'a>>) {
    match value {
        Value::String(text) if patch_text::is_patch(text) => {}
        Value::String(text) => {
            let (place, after) = (name.map(Cow::Borrowed), Cow::Borrowed(text.as_bytes()));
            found.push(Text { place, after, ..Text::default() });
            found.extend(inner(text));
        }
        Value::Array(items) => items.iter().for_each(|item| others(item, name, in_edit, found)),
        Value::Object(map) => {
            let is_edit = in_edit || values(map, PATHS).any(Value::is_string) && !pieces(map).is_empty();
            for (name, value) in map {
                let is_content = value.is_string() && (is(name, AFTER) || is(name, BEFORE));
                found.push(Text { after: Cow::Borrowed(name.as_bytes()), ..Text::default() });
                if !(is_edit && is_content) {
                    others(value, Some(name), is_edit && is(name, EDITS), found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The strings in a text that is JSON itself, behind whose quoting they would not be found.
fn inner(text: &str) -> Vec<Text<'static>> {
    let Some(value) = text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten()
    else {
        return Vec::new();
    };
    let owned = |text: Text<'_>| Text {
        place: text.place.map(|place| Cow::Owned(place.into_owned())),
        is_file: text.is_file,
        before: Cow::Owned(text.before.into_owned()),
        after: Cow::Owned(text.after.into_owned()),
    };
    let value: Value = value;
    texts("", &value).into_iter().map(owned).collect()
}

/// Writes every path that is edited anew.
pub(super) fn relocate(tool: &str, params: &mut Value, place: &dyn Fn(&str) -> String) {
    let moves = MOVES.iter().any(|word| plain(tool).contains(word));
    match params {
        Value::String(text) if patch_text::is_patch(text) => *text = patch_text::relocated(text, place),
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(path) if is(name, PATHS) || moves && is(name, MOVED) => *path = place(path),
                    value => relocate(tool, value, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(tool, item, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Calls a function for every object, from the outside in.
fn each_object<'a>(value: &'a Value, visit: &mut impl FnMut(&'a Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            visit(map);
            map.values().for_each(|value| each_object(value, visit));
        }
        Value::Array(items) => items.iter().for_each(|value| each_object(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Calls a function for every string.
fn each_string<'a>(value: &'a Value, visit: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|value| each_string(value, visit)),
        Value::Object(map) => map.values().for_each(|value| each_string(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn values<'a>(map: &'a Map<String, Value>, names: &'a [&'a str]) -> impl Iterator<Item = &'a Value> {
    map.iter().filter(|(name, _)| is(name, names)).map(|(_, value)| value)
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn is(name: &str, known: &[&str]) -> bool {
    known.contains(&plain(name).as_str())
}

/// A name in lower case without punctuation: `filePath` and `file_path` are the same.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_are_found_whatever_they_are_called() {
        let argv = |words: &[&str]| Words::Argv(Cow::Owned(words.iter().map(|word| (*word).to_owned()).collect()));
        let found = |params: Value, expected: &[Words<'_>]| assert_eq!(commands(&params), expected, "{params}");
        found(json!({"command": "ls", "description": "rm"}), &[Words::Line("ls")]);
        found(json!({"input": [{"shell_command": "ls"}]}), &[Words::Line("ls")]);
        found(json!({"command": ["rm", "-r", "x"]}), &[argv(&["rm", "-r", "x"])]);
        found(json!({"program": "rm", "args": ["-r"]}), &[argv(&["rm", "-r"]), Words::Line("rm")]);
        found(json!({"commands": ["a", "b"]}), &[Words::Line("a"), Words::Line("b")]);
        found(json!({"command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}), &[]);
    }

    #[test]
    fn edits_are_found_whatever_they_are_called() {
        let found = |tool: &str, params: Value| {
            let edits = edits(tool, &params);
            edits
                .iter()
                .map(|edit| format!("{} {} {:?}", edit.path, edit.diff_lines, edit.after.len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found("Write", json!({"file_path": "a", "content": "x\ny\n"})), ["a 2 4"]);
        assert_eq!(found("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})), ["a 2 1"]);
        let edits = json!([{"old_string": "x", "new_string": "y"}, {"old_string": "", "new_string": "z"}]);
        assert_eq!(found("MultiEdit", json!({"file_path": "a", "edits": edits})), ["a 3 3"]);
        assert_eq!(found("NotebookEdit", json!({"notebook_path": "n", "new_source": "x"})), ["n 1 1"]);
        assert_eq!(found("move_file", json!({"source": "a", "destination": "b"})), ["b 0 0", "a 0 0"]);
        assert_eq!(found("Read", json!({"file_path": "a"})), Vec::<String>::new());
    }

    #[test]
    fn what_is_replaced_is_known_beside_what_replaces_it() {
        let params = json!({"file_path": "f", "edits": [{"old_string": "a", "new_string": "b"}], "note": "c"});
        let texts = texts("Edit", &params);
        let file = texts.iter().find(|text| text.is_file).unwrap();
        assert_eq!((file.place.as_deref(), &file.before[..], &file.after[..]), (Some("f"), &b"a"[..], &b"b"[..]));
        assert!(texts.iter().all(|text| text.is_file || *text.after != *b"b"));
        assert!(texts.iter().any(|text| text.place.as_deref() == Some("note")));
    }
}
