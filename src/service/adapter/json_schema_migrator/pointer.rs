//! JSON Pointers (RFC 6901), and patterns of them in which `*` is any one member or item.

use serde_json::Value;

use super::params::tokens;

/// The index that a token is; `01` and `+1` are none.
pub(super) fn index(token: &str) -> Option<usize> {
    token.parse().ok().filter(|index: &usize| index.to_string() == token)
}

/// The pointer to a member or item of the value at `pointer`.
pub(super) fn join(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}

/// The pointer to the parent and the last token; none for the whole value.
pub(super) fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, last) = pointer.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// A pointer in which tokens may be `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<String>);

/// A place that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The place.
    pub(super) pointer: String,
    /// The tokens in the places of `*`.
    captured: Vec<String>,
}

impl Pattern {
    /// Reads a pattern.
    pub(super) fn parse(text: &str) -> Self {
        Pattern(tokens(text))
    }

    /// The number of tokens.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }

    /// The places in a value. `may_lack` also gives members that are missing in an object that exists.
    pub(super) fn find(&self, value: &Value, may_lack: bool) -> Vec<Found> {
        let mut found = vec![(Found { pointer: String::new(), captured: Vec::new() }, value)];
        for (n, token) in self.0.iter().enumerate() {
            let mut next = Vec::new();
            for (at, value) in found {
                let children: Vec<(String, &Value)> = match (value, token.as_str()) {
                    (Value::Object(map), "*") => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
                    (Value::Array(items), "*") => items.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
                    (Value::Object(map), key) => match map.get(key) {
                        Some(child) => vec![(key.to_owned(), child)],
                        None if may_lack && n + 1 == self.0.len() => vec![(key.to_owned(), &Value::Null)],
                        None => Vec::new(),
                    },
                    (Value::Array(items), n) => {
                        let item = index(n).and_then(|index| items.get(index));
                        item.map(|item| vec![(n.to_owned(), item)]).unwrap_or_default()
                    }
                    (_, _) => Vec::new(),
                };
                for (key, child) in children {
                    let mut captured = at.captured.clone();
                    if token == "*" {
                        captured.push(key.clone());
                    }
                    next.push((Found { pointer: join(&at.pointer, &key), captured }, child));
                }
            }
            found = next;
        }
        found.into_iter().map(|(found, _)| found).collect()
    }

    /// The pointer of this pattern with the tokens of `found` for its `*`.
    pub(super) fn fill(&self, found: &Found) -> String {
        let mut captured = found.captured.iter();
        let token = |token: &String| match token.as_str() {
            "*" => captured.next().cloned().unwrap_or_else(|| token.clone()),
            _ => token.clone(),
        };
        self.0.iter().map(token).fold(String::new(), |pointer, token| join(&pointer, &token))
    }
}
