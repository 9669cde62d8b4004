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
            json5_string(name, is_single(like, style))
        }
        Syntax::Yaml => yaml::scalar::key(name, like, style.quote),
        Syntax::Toml => toml::scalar::key(name, like),
    }
}

/// The text of a scalar, with the quotes of another if there is one.
pub(super) fn text(syntax: Syntax, value: &Value, like: Option<&str>, style: &Style) -> Result<String, String> {
    match (syntax, value) {
        (Syntax::Yaml, _) => Ok(yaml::scalar::text(value, like, style.quote)),
        (Syntax::Toml, _) => toml::scalar::text(value, like),
        (Syntax::Json5, Value::String(text)) => Ok(json5_string(text, is_single(like, style))),
        (_, Value::String(text)) => Ok(quoted(text)),
        _ => Ok(value.to_string()),
    }
}

/// True for single quotes: those of another text, or of most in the document.
fn is_single(like: Option<&str>, style: &Style) -> bool {
    let like = like.and_then(|like| like.chars().next()).filter(|quote| matches!(quote, '"' | '\''));
    like.unwrap_or(style.quote) == '\''
}

fn json5_string(text: &str, is_single: bool) -> String {
    let quoted = quoted(text).replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    if !is_single || text.contains('\'') {
        return quoted;
    }
    format!("'{}'", quoted[1..quoted.len() - 1].replace("\\\"", "\""))
}
