//! Reads commands, edits, reads and texts from the params of a tool, whatever their names.
//!
//! Tools of different programs use different names. Names are compared without regard to case and punctuation, at any depth. A
//! text that is neither a command nor an edit is still searched for secrets.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    param_names::{
        AFTER, ARGUMENTS, BEFORE, COMMANDS, EDITS, FOLDERS, MANY_COMMANDS, PATHS, QUERIES, SOURCES, STATEMENTS,
        TARGETS, is, is_content,
    },
    parts::{Edit, Text, Words},
    patch_text,
    tool_name::Deeds,
    whole_file,
};
use base::diff;

/// The largest number of folders in the params of one tool.
const MOST_FOLDERS: usize = 8;

/// The commands in some params of a tool.
pub(super) fn commands<'a>(tool: &str, params: &'a Value) -> Vec<Words<'a>> {
    let deeds = Deeds::of(tool);
    let mut found = Vec::new();
    if deeds.starts_commands {
        found.extend(words(params));
    }
    each_object(params, &mut |map| {
        for value in values(map, COMMANDS) {
            let name = value.as_str().filter(|text| !patch_text::is_patch(text));
            found.extend(name.and_then(|name| with_arguments(name, map)));
            found.extend(words(value));
        }
        found.extend(values(map, MANY_COMMANDS).flat_map(strings).map(|line| Words::Line(line.into())));
        let queries = if deeds.asks_databases { QUERIES } else { &[] };
        let statements = values(map, STATEMENTS).chain(values(map, queries));
        let client = |sql: &str| Words::Argv(Cow::Owned(["psql", "-c", sql].map(str::to_owned).into()));
        found.extend(statements.flat_map(strings).map(client));
    });
    let mut is_patch = false;
    each_patch(params, false, &mut |_| is_patch = true);
    if deeds.starts_commands && found.is_empty() && !is_patch {
        found.push(Words::Untold);
    }
    found
}

/// The folders in which commands start, as some params name them, each once.
pub(super) fn folders(params: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    each_object(params, &mut |map| {
        for folder in values(map, FOLDERS).filter_map(Value::as_str) {
            if found.len() < MOST_FOLDERS && !found.contains(&folder) {
                found.push(folder);
            }
        }
    });
    found
}

/// A command in one string, or in a list of its words; none if it is a patch.
fn words(value: &Value) -> Option<Words<'_>> {
    match value {
        Value::String(text) => (!patch_text::is_patch(text)).then_some(Words::Line(text.into())),
        Value::Array(items) => {
            let argv: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let is_patch = argv.iter().any(|word| patch_text::is_patch(word));
            (!argv.is_empty() && !is_patch).then_some(Words::Argv(Cow::Owned(argv)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// A program with the arguments beside it: a list of words, or the rest of the line.
fn with_arguments<'a>(name: &str, map: &Map<String, Value>) -> Option<Words<'a>> {
    let arguments = values(map, ARGUMENTS).find(|value| value.is_string() || value.is_array())?;
    match arguments.as_str() {
        Some(rest) => Some(Words::Line(format!("{name} {rest}").into())),
        None => {
            let arguments = strings(arguments).map(str::to_owned);
            let argv: Vec<String> = std::iter::once(name.to_owned()).chain(arguments).collect();
            (argv.len() > 1).then_some(Words::Argv(argv.into()))
        }
    }
}

/// The edits in some params of a tool.
pub(super) fn edits<'a>(tool: &str, params: &'a Value) -> Vec<Edit<'a>> {
    let mut found = Vec::new();
    let deeds = Deeds::of(tool);
    each_object(params, &mut |map| {
        let pieces = pieces(map);
        found.extend(edited(map, &pieces, deeds).iter().map(|path| edit(path, &pieces)));
    });
    each_patch(params, false, &mut |text| found.extend(patch_text::edits(text)));
    found
}

/// The paths in some params that are read or listed, but not edited.
pub(super) fn reads<'a>(tool: &str, params: &'a Value) -> Vec<&'a str> {
    let mut found = Vec::new();
    let deeds = Deeds::of(tool);
    each_object(params, &mut |map| {
        if edited(map, &pieces(map), deeds).is_empty() {
            found.extend(values(map, PATHS).flat_map(strings));
        }
    });
    found
}

/// The files that an object edits: it holds a new text, or the tool's name tells that it writes.
fn edited<'a>(map: &'a Map<String, Value>, pieces: &[(&str, &str)], deeds: Deeds) -> Vec<&'a str> {
    // Editors that take a command beside the path only show the file for this one.
    let only_shows = map.get("command").and_then(Value::as_str) == Some("view");
    let mut paths: Vec<&str> = Vec::new();
    if !pieces.is_empty() || deeds.writes && !only_shows {
        paths.extend(values(map, PATHS).flat_map(strings));
    }
    if deeds.moves || deeds.copies {
        paths.extend(values(map, TARGETS).filter_map(Value::as_str));
    }
    if deeds.moves {
        paths.extend(values(map, SOURCES).filter_map(Value::as_str));
    }
    paths
}

/// The pairs of replaced and new text, in the object itself and in its list of edits.
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

/// The texts in some params of a tool: contents of files, and all other strings, each with its name.
pub(super) fn texts<'a>(tool: &str, params: &'a Value) -> Vec<Text<'a>> {
    let mut found: Vec<Text<'a>> = edits(tool, params).into_iter().map(Text::from).collect();
    others(params, None, false, &mut found);
    found
}

/// The strings that are not contents of a file.
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
            let is_edit = in_edit || values(map, PATHS).flat_map(strings).next().is_some() && !pieces(map).is_empty();
            for (name, value) in map {
                let is_content = value.is_string() && is_content(name);
                found.push(Text { after: Cow::Borrowed(name.as_bytes()), ..Text::default() });
                if !(is_edit && is_content) {
                    others(value, Some(name), is_edit && is(name, EDITS), found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The strings inside a text that is JSON itself, whose quoting would hide them.
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

/// Rewrites every path, and replaces pieces by whole files where `read` knows the file.
pub(super) fn locate(
    tool: &str,
    params: &mut Value,
    place: &dyn Fn(&str) -> String,
    read: &dyn Fn(&str) -> Option<String>,
) {
    let deeds = Deeds::of(tool);
    let moves = deeds.moves || deeds.copies;
    match params {
        Value::String(text) if patch_text::is_patch(text) => *text = patch_text::relocated(text, place),
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                locate(tool, value, place, read);
                if is(name, COMMANDS) || is(name, MANY_COMMANDS) {
                    each_string_of_mut(value, &mut |text| {
                        if !patch_text::is_patch(text) && patch_text::holds_patch(text) {
                            *text = patch_text::relocated(text, place);
                        }
                    });
                }
                if is(name, PATHS) || is(name, FOLDERS) || moves && (is(name, TARGETS) || is(name, SOURCES)) {
                    each_string_of_mut(value, &mut |path| *path = place(path));
                }
            }
            let paths: Vec<&str> = values(map, PATHS).flat_map(strings).collect();
            if let [path] = paths[..]
                && !pieces(map).is_empty()
                && let Some(before) = read(path)
            {
                whole_file::complete(tool, map, &before);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| locate(tool, item, place, read)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn each_string_of_mut(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| {
            if let Value::String(text) = item {
                change(text);
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
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

/// Calls a function for every patch: a string, or a part of a command.
fn each_patch<'a>(value: &'a Value, in_command: bool, visit: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) if is_patch(text, in_command) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_patch(item, in_command, visit)),
        Value::Object(map) => {
            map.iter()
                .for_each(|(name, value)| each_patch(value, is(name, COMMANDS) || is(name, MANY_COMMANDS), visit));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_patch(text: &str, in_command: bool) -> bool {
    patch_text::is_patch(text) || in_command && patch_text::holds_patch(text)
}

fn values<'a>(map: &'a Map<String, Value>, names: &'a [&'a str]) -> impl Iterator<Item = &'a Value> {
    map.iter().filter(|(name, _)| is(name, names)).map(|(_, value)| value)
}

/// A string, or the strings of a list.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let listed = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    value.as_str().into_iter().chain(listed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_are_found_whatever_they_are_called() {
        let argv = |words: &[&str]| Words::Argv(Cow::Owned(words.iter().map(|word| (*word).to_owned()).collect()));
        let found = |params: Value, expected: &[Words<'_>]| assert_eq!(commands("x", &params), expected, "{params}");
        found(json!({"command": "ls", "description": "rm"}), &[Words::Line("ls".into())]);
        found(json!({"input": [{"shell_command": "ls"}]}), &[Words::Line("ls".into())]);
        found(json!({"command": ["rm", "-r", "x"]}), &[argv(&["rm", "-r", "x"])]);
        found(json!({"program": "rm", "args": ["-r"]}), &[argv(&["rm", "-r"]), Words::Line("rm".into())]);
        found(json!({"program": "rm", "args": "-r x"}), &[Words::Line("rm -r x".into()), Words::Line("rm".into())]);
        found(json!({"sql": "drop table x"}), &[argv(&["psql", "-c", "drop table x"])]);
        found(json!({"query": "drop table x"}), &[]);
        found(json!({"commands": ["a", "b"]}), &[Words::Line("a".into()), Words::Line("b".into())]);
        found(json!({"command": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}), &[]);
    }

    #[test]
    fn a_tool_that_starts_commands_says_which_or_nobody_can_tell() {
        let found = |params: Value, expected: &[Words<'_>]| assert_eq!(commands("Bash", &params), expected, "{params}");
        found(json!("ls"), &[Words::Line("ls".into())]);
        found(json!(["ls"]), &[Words::Argv(vec!["ls".to_owned()].into())]);
        found(json!({"order": "ls"}), &[Words::Untold]);
        found(json!({"command": {"line": "ls"}}), &[Words::Untold]);
        found(json!({"command": ""}), &[Words::Line("".into())]);
        let query = json!({"query": "drop table x"});
        assert!(!commands("mcp__sqlite__read_query", &query).is_empty() && commands("search", &query).is_empty());
    }

    #[test]
    fn what_is_read_is_not_edited() {
        let found = |tool: &str, params: Value| (reads(tool, &params).len(), edits(tool, &params).len());
        assert_eq!(found("Read", json!({"file_path": "a"})), (1, 0));
        assert_eq!(found("read_many_files", json!({"paths": ["a", "b"]})), (2, 0));
        assert_eq!(found("Write", json!({"file_path": "a", "content": "x"})), (0, 1));
        assert_eq!(found("str_replace_editor", json!({"command": "view", "path": "a"})), (1, 0));
        assert_eq!(found("copy_file", json!({"path": "a", "destination": "b"})), (0, 1));
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
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF";
        assert_eq!(found("Bash", json!({"command": ["bash", "-lc", patch]})), ["a 1 2"]);
        assert_eq!(found("Write", json!({"file_path": "b", "content": patch})), ["b 6 72"]);
        assert_eq!(found("Read", json!({"file_path": "a"})), Vec::<String>::new());
        assert_eq!(found("Write", json!({"file_path": "a"})), ["a 0 0"], "what is written may be called otherwise");
        assert_eq!(found("editFiles", json!({"files": ["a", "b"]})), ["a 0 0", "b 0 0"]);
        assert_eq!(found("NotebookEdit", json!({"notebook_path": "n", "edit_mode": "delete"})), ["n 0 0"]);
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
