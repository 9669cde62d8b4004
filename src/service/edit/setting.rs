//! One setting of a configuration file of another program: set or added, and every other byte kept.

use serde_json::{Map, Value};

use base::error::{Code, Error};
use format::document::{Document, edit::Edit, syntax::Syntax};

/// The syntax of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON, with comments and trailing commas where there are any.
    Json,
    /// TOML.
    Toml,
}

/// The text with a value at these keys, from the outermost on; tables that are missing are made. `None` if it has that value already.
///
/// An empty text is a file without settings. `invalid_input` if the text can't be read, or something else than a table is in the way.
pub fn set(text: &str, form: Form, keys: &[&str], value: &Value) -> Result<Option<String>, Error> {
    let text = match form {
        Form::Json if text.trim().is_empty() => "{}\n",
        _ => text,
    };
    let document = read(text, form)?;
    let pointer = |keys: &[&str]| {
        let steps = keys.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1")));
        steps.collect::<String>()
    };
    if document.value().pointer(&pointer(keys)) == Some(value) {
        return Ok(None);
    }
    // What is there already, and the first key that is not.
    let there = (0..=keys.len()).rev().find(|n| document.value().pointer(&pointer(&keys[..*n])).is_some());
    let there = there.unwrap_or_default();
    let edit = if there == keys.len() {
        Edit::Set { pointer: pointer(keys), value: value.clone() }
    } else {
        let inner = keys[there + 1..].iter().rev();
        let whole = inner.fold(value.clone(), |value, key| Value::Object(Map::from_iter([((*key).to_owned(), value)])));
        Edit::Insert { pointer: pointer(&keys[..=there]), value: whole }
    };
    let edited = document.apply(&[edit]).map_err(|refused| invalid(refused.to_string()))?;
    Ok(Some(edited.text))
}

fn read(text: &str, form: Form) -> Result<Document, Error> {
    let read = match form {
        // A plain file stays plain: comments are taken only where it has them.
        Form::Json => Document::parse(Syntax::Json, text).or_else(|_| Document::parse(Syntax::Jsonc, text)),
        Form::Toml => Document::parse(Syntax::Toml, text),
    };
    read.map_err(|malformed| invalid(malformed.to_string()))
}

fn invalid(why: String) -> Error {
    Error::new(Code::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(form: Form, before: &str, expected: &str) {
        let value = json!({"command": "nrv", "args": ["mcp"]});
        let set = set(before, form, &["mcpServers", "nrv"], &value).unwrap();
        assert_eq!(set.as_deref(), Some(expected));
        assert_eq!(super::set(expected, form, &["mcpServers", "nrv"], &value).unwrap(), None);
    }

    #[test]
    fn a_setting_is_added_or_set_and_nothing_else_changes() {
        let text = super::set("", Form::Json, &["a", "b"], &json!(1)).unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"a": {"b": 1}}));
        check(
            Form::Json,
            "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // kept\n  },\n}\n",
            "{\n  // mine\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // kept\n    \"nrv\": {\n      \"args\": [\n        \"mcp\"\n      ],\n      \"command\": \"nrv\"\n    },\n  },\n}\n",
        );
    }

    #[test]
    fn what_is_no_table_and_what_can_not_be_read_is_refused() {
        for text in ["[]", "{\"mcpServers\": 7}", "{", "{\"a\": 1, \"a\": 2}"] {
            assert_eq!(
                set(text, Form::Json, &["mcpServers", "nrv"], &json!({})).unwrap_err().code(),
                Code::InvalidInput
            );
        }
        assert!(set("a = ", Form::Toml, &["b"], &json!({})).is_err());
    }
}
