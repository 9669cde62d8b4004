//! Strings in double quotes.

use serde_json::Value;

/// A string as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
