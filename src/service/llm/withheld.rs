//! Removes the key of a provider from everything that comes back: errors, replies, and the pieces of their texts.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::event::Reply;
use base::error::Error;
use system::net::{Secret, Sieve};

/// The text without the key.
pub(super) fn from_text(text: &str, key: Option<&Secret>) -> String {
    key.map_or_else(|| text.to_owned(), |key| key.taken_out_of(text))
}

/// The error without the key, which a server may repeat.
pub(super) fn from_error(error: Error, key: Option<&Secret>) -> Error {
    match key {
        Some(key) => without(error, key),
        None => error,
    }
}

/// The answer without the key, in its pieces and as a whole.
pub(super) fn from_answer(
    key: Option<&Secret>,
    on_token: &mut dyn FnMut(&str),
    answer: impl FnOnce(&mut dyn FnMut(&str)) -> Result<Reply, Error>,
) -> Result<Reply, Error> {
    let mut sieve = Sieve::of(key);
    let mut pass = |text: String| {
        if !text.is_empty() {
            on_token(&text);
        }
    };
    let reply = answer(&mut |piece| pass(sieve.pass(piece))).map_err(|error| from_error(error, key))?;
    pass(sieve.rest());
    Ok(match key.filter(|key| !key.is_stand_in()) {
        Some(key) => without(reply, key),
        None => reply,
    })
}

fn without<T: Serialize + DeserializeOwned>(said: T, key: &Secret) -> T {
    let Ok(mut value) = serde_json::to_value(&said) else { return said };
    clean(&mut value, key);
    serde_json::from_value(value).unwrap_or(said)
}

fn clean(value: &mut Value, key: &Secret) {
    match value {
        Value::String(text) => *text = key.taken_out_of(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, key)),
        Value::Object(map) => {
            // The model chooses names, too.
            for (name, mut value) in std::mem::take(map) {
                clean(&mut value, key);
                map.insert(key.taken_out_of(&name), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
