//! Lines of secrets that span several, such as keys in PEM: a line by itself looks like no secret.

use std::collections::BTreeSet;

use serde_json::Value;

use base::{error::Error, path::RepoPath};
use gate::secrets;
use host::Context;

/// The most files that are looked at for one answer. Beyond them nothing is told.
const FILES: usize = 200;

/// The shortest line that is replaced, in bytes: shorter ones occur anywhere.
const SHORTEST: usize = 8;

/// The mark in place of a line.
const MARK: &str = "[redacted line of a secret]";

/// Takes the lines of secrets out of a reply that quotes lines of the files that it names.
pub(super) fn conceal(context: &Context, reply: &mut Value) {
    let mut paths = BTreeSet::new();
    named(reply, &mut paths);
    if paths.len() > FILES {
        let skipped = paths.split_off(&paths.iter().nth(FILES).cloned().unwrap_or_default());
        without(reply, &skipped);
    }
    let lines: BTreeSet<String> = paths.iter().flat_map(|path| lines_of(context, path)).collect();
    if !lines.is_empty() {
        replace(reply, &lines);
    }
}

/// An error without the lines of secrets of the file that it is about.
pub(super) fn concealed(context: &Context, error: Error) -> Error {
    if !error.details().contains_key("path") {
        return error;
    }
    let Ok(mut value) = serde_json::to_value(&error) else { return error };
    let lines: BTreeSet<String> = error
        .details()
        .get("path")
        .and_then(Value::as_str)
        .into_iter()
        .flat_map(|path| lines_of(context, path))
        .collect();
    if lines.is_empty() {
        return error;
    }
    replace(&mut value, &lines);
    serde_json::from_value(value).unwrap_or(error)
}

/// The paths that a value names.
fn named(value: &Value, paths: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| named(item, paths)),
        Value::Object(members) => {
            paths.extend(members.get("path").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|item| named(item, paths));
        }
        _ => {}
    }
}

/// Drops the rows that name one of these paths.
fn without(value: &mut Value, paths: &BTreeSet<String>) {
    if let Value::Array(items) = value {
        items.retain(|item| item["path"].as_str().is_none_or(|path| !paths.contains(path)));
    }
}

/// The lines of the secrets of a file that span several.
fn lines_of(context: &Context, path: &str) -> Vec<String> {
    let Some(content) = RepoPath::parse(path).ok().and_then(|path| context.workspace.read(&path).ok()) else {
        return Vec::new();
    };
    let found = secrets::scan(&content.bytes, Some(path), context.rules.secrets());
    let texts = found.iter().filter_map(|found| content.bytes.get(found.start..found.end));
    let texts =
        texts.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).filter(|text| text.trim().contains('\n'));
    texts
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>())
        .filter(|line| line.len() >= SHORTEST)
        .collect()
}

fn replace(value: &mut Value, lines: &BTreeSet<String>) {
    match value {
        Value::String(text) => {
            for line in lines.iter().filter(|line| text.contains(line.as_str())).collect::<Vec<_>>() {
                *text = text.replace(line.as_str(), MARK);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, lines)),
        Value::Object(members) => members.values_mut().for_each(|item| replace(item, lines)),
        _ => {}
    }
}
