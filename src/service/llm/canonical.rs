//! The hash of a canonical request, and its key in records.

use std::{fmt, str::FromStr};

use serde_json::Value;

use base::{
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

/// The hash of a canonical value; `invalid_input` if it has an integer that can't be hashed exactly.
pub(crate) fn hash(value: &Value) -> Result<Sha256, Error> {
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
