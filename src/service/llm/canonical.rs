//! The canonical value of a request, the same for every dialect and server, and its key in records.
//!
//! The destination, streaming, time limits and retries are not part of it.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value, json};

use super::request::LlmRequest;
use crate::base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};

/// The key of a request: its hash, and the number of its occurrence: `HASH`, `HASH-2`, `HASH-3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The hash of the canonical request.
    pub request: Sha256,
    /// The number of this occurrence among identical requests, from 1.
    pub occurrence: u64,
}

/// The canonical value of a request.
pub(super) fn of(request: &LlmRequest) -> Value {
    let mut value = Map::new();
    value.insert("version".to_owned(), json!(1));
    value.insert("model".to_owned(), json!(request.model()));
    value.insert("workload".to_owned(), json!(request.workload()));
    value.insert("messages".to_owned(), json!(request.messages()));
    value.insert("sampling".to_owned(), json!(request.sampling()));
    if let Some(schema) = request.schema() {
        value.insert("schema".to_owned(), schema.author().clone());
    }
    if !request.tools().is_empty() {
        value.insert("tools".to_owned(), json!(request.tools()));
        value.insert("tool_choice".to_owned(), json!(request.tool_choice()));
    }
    Value::Object(value)
}

/// The hash of a canonical value; `invalid_input` if it has an integer that can't be hashed exactly.
pub(super) fn hash(value: &Value) -> Result<Sha256, Error> {
    json::sha256(value)
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.occurrence {
            1 => write!(f, "{}", self.request),
            more => write!(f, "{}-{more}", self.request),
        }
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (hash, occurrence) = text.split_once('-').unwrap_or((text, "1"));
        let occurrence = occurrence.parse().ok().filter(|occurrence| *occurrence > 0);
        let refuse = || Error::new(Code::InvalidInput, format!("`{}` is no key of a request", text.escape_debug()));
        Ok(Key { request: hash.parse().map_err(|_| refuse())?, occurrence: occurrence.ok_or_else(refuse)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_as_text() {
        let request = Sha256::of(b"a");
        for occurrence in [1, 2, 30] {
            let key = Key { request, occurrence };
            assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
        }
        for odd in ["", "abc", &format!("{request}-0"), &format!("{request}-x")] {
            odd.parse::<Key>().unwrap_err();
        }
    }
}
