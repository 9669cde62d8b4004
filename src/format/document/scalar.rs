//! Writes names and scalars in the syntax of a text.

use serde_json::Value;

use super::{json5, quote::quoted, style::Style, syntax::Syntax, toml, yaml};

/// The text of a name, with the quotes of another if there is one.
pub(super) fn key(syntax: Syntax, name: &str, like: Option<&str>, style: &Style) -> String {
    match syntax {
        Syntax::Json | Syntax::Jsonc => quoted(name),
        Syntax::Json5 => {
            let is_bare = like.map_or(style.has_bare_names, |like| !like.starts_with(['"', '\'']));
            if is_bare
                && json5::identifier(name).is_some_and(|(_, length)| length == name.len() && !name.contains('\\'))
            {
                return name.to_owned();
            }
            let is_single = like.map_or(style.quote == '\'', |like| like.starts_with('\''));
            json5_string(name, is_single)
        }
        Syntax::Yaml => yaml::scalar::key(name, like),
        Syntax::Toml => toml::scalar::key(name, like),
    }
}

/// The text of a scalar, with the quotes of another if there is one.
pub(super) fn text(syntax: Syntax, value: &Value, like: Option<&str>, style: &Style) -> Result<String, String> {
    match (syntax, value) {
        (Syntax::Yaml, _) => Ok(yaml::scalar::text(value, like)),
        (Syntax::Toml, _) => toml::scalar::text(value, like),
        (Syntax::Json5, Value::String(text)) => {
            let is_single = like.map_or(style.quote == '\'', |like| like.starts_with('\''));
            Ok(json5_string(text, is_single))
        }
        (_, Value::String(text)) => Ok(quoted(text)),
        _ => Ok(value.to_string()),
    }
}

fn json5_string(text: &str, is_single: bool) -> String {
    let quoted = quoted(text).replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    if !is_single || text.contains('\'') {
        return quoted;
    }
    format!("'{}'", quoted[1..quoted.len() - 1].replace("\\\"", "\""))
}
