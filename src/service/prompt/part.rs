//! The context and the former rounds of a request, as texts with titles.

use serde_json::{Map, Value};

use base::{
    error::{Code, Error},
    json,
};

/// A text that the prompt includes between fences.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The name among the parts.
    pub(super) name: String,
    /// One line.
    pub(super) title: String,
    /// The text itself.
    pub(super) text: String,
}

/// An item of the context.
pub(super) fn context(
    index: usize,
    value: &Value,
    read: &mut dyn FnMut(&str) -> Result<String, Error>,
) -> Result<Item, Error> {
    let field = || format!("context[{index}]");
    let form = || {
        wrong(field(), format!("item {} of the context can't be read", index + 1))
            .hint("an item is a path, `#{path}`, `#{name, text}` or `#{name, value}`")
    };
    if let Value::String(path) = value {
        return file(path, read);
    }
    let map = value.as_object().ok_or_else(form)?;
    let text = |key: &str| map.get(key).and_then(Value::as_str).ok_or_else(form);
    match keys(map).as_slice() {
        ["path"] => file(text("path")?, read),
        ["name", "text"] => Ok(named("Text", "text", text("name")?, text("text")?.to_owned())),
        ["name", "value"] => {
            let value = as_told(&map["value"]).map_err(|error| error.detail("field", field()))?;
            Ok(named("Value", "value", text("name")?, value))
        }
        _ => Err(form()),
    }
}

/// The items of a former round: its reply, if there was one, and the errors.
pub(super) fn prior(index: usize, value: &Value) -> Result<Vec<Item>, Error> {
    let field = || format!("prior[{index}]");
    let round = index + 1;
    let form = || {
        wrong(field(), format!("item {round} of the former replies can't be read"))
            .hint("its form is `#{reply, errors}`: a text, and a list of texts or values; one of both may be left out")
    };
    let map = value.as_object().ok_or_else(form)?;
    if !matches!(keys(map).as_slice(), ["errors"] | ["reply"] | ["errors", "reply"]) {
        return Err(form());
    }
    let mut items = Vec::new();
    if let Some(reply) = map.get("reply") {
        let text = reply.as_str().ok_or_else(form)?.to_owned();
        items.push(Item { name: format!("reply:{round}"), title: format!("Reply {round}"), text });
    }
    let errors = match map.get("errors") {
        Some(errors) => errors.as_array().ok_or_else(form)?.as_slice(),
        None => &[],
    };
    for (at, error) in errors.iter().enumerate() {
        let text = match error {
            Value::String(text) => text.clone(),
            other => as_told(other).map_err(|error| error.detail("field", field()))?,
        };
        let number = format!("{round}.{}", at + 1);
        items.push(Item { name: format!("error:{number}"), title: format!("Error {number} of this reply"), text });
    }
    Ok(items)
}

fn file(path: &str, read: &mut dyn FnMut(&str) -> Result<String, Error>) -> Result<Item, Error> {
    read(path).map(|text| named("File", "file", path, text))
}

/// The title has the name as a JSON string, which keeps it on one line.
fn named(title: &str, kind: &str, name: &str, text: String) -> Item {
    Item { name: format!("{kind}:{name}"), title: format!("{title} {}", Value::from(name)), text }
}

fn keys(map: &Map<String, Value>) -> Vec<&str> {
    let mut keys: Vec<&str> = map.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// A value in the form of a prompt and of a record, so that both give the same prompt.
pub(super) fn as_told(value: &Value) -> Result<String, Error> {
    json::canonical_value(&json::exact(value))
}

/// The error about a part.
pub(super) fn wrong(field: impl Into<String>, message: impl Into<String>) -> Error {
    Error::new(Code::InvalidInput, message).detail("field", field.into())
}
