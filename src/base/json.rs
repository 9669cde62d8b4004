//! Canonical JSON (RFC 8785) and its hash: every hash of a value is a hash of this form.

mod distinct;
pub mod scan;

use std::{borrow::Cow, io};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Number, Value};

pub use self::distinct::parse_distinct;
use crate::{
    error::{Code, Error},
    hash::Sha256,
};

/// The largest integer that RFC 8785 writes exactly; larger ones travel as strings.
const MAX_EXACT: u64 = 1 << 53;
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Bytes that a value is taken to need beside its text.
pub const LEAST: u64 = 32;

/// A struct that is read from a map, and never from the list of its fields, which serde accepts too.
#[derive(Debug, Default)]
pub struct Keyed<T>(pub T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let map = Map::<String, Value>::deserialize(source)?;
        T::deserialize(Value::Object(map)).map(Keyed).map_err(D::Error::custom)
    }
}

/// Reads a struct that may be missing, or null, and is a map otherwise.
pub(crate) fn keyed<'de, D: Deserializer<'de>, T: DeserializeOwned>(source: D) -> Result<Option<T>, D::Error> {
    Option::<Keyed<T>>::deserialize(source).map(|read| read.map(|Keyed(value)| value))
}

/// Writes a value as canonical JSON: sorted keys, no white space, shortest numbers.
///
/// Refuses integers beyond ±2⁵³ with `invalid_input`, since canonical JSON would round them.
pub fn canonical(value: &impl Serialize) -> Result<String, Error> {
    canonical_value(&serde_json::to_value(value).map_err(|error| unwritable(&error))?)
}

/// [`canonical`] of a JSON value.
pub fn canonical_value(value: &Value) -> Result<String, Error> {
    check_integers(value)?;
    // Many recorded values are large and simple, and this is several times as fast.
    if is_simple(value) {
        return serde_json::to_string(value).map_err(|error| unwritable(&error));
    }
    serde_json_canonicalizer::to_string(value).map_err(|error| unwritable(&error))
}

/// Writes [`canonical_value`] of a value piece by piece, for values too large to be held twice.
///
/// `invalid_input` if it can't be written as such; the inner error is the writer's.
pub fn canonical_into(value: &Value, mut out: impl io::Write) -> Result<io::Result<()>, Error> {
    check_integers(value)?;
    let written = match is_simple(value) {
        true => serde_json::to_writer(&mut out, value),
        false => serde_json_canonicalizer::to_writer(value, &mut out),
    };
    match written.map_err(|error| (error.is_io(), error)) {
        Ok(()) => Ok(Ok(())),
        Err((true, error)) => Ok(Err(error.into())),
        Err((false, error)) => Err(unwritable(&error)),
    }
}

/// The approximate memory of a value: its texts and keys, and [`LEAST`] for every value in it.
pub fn weight(value: &Value) -> u64 {
    LEAST
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len() as u64,
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(map) => map.iter().map(|(key, value)| LEAST + key.len() as u64 + weight(value)).sum(),
        }
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::new(Code::InvalidInput, format!("a value can't be written as JSON: {error}"))
}

/// True if every program writes a value alike: no fractions, and keys that sort alike in UTF-8 and UTF-16.
fn is_simple(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_simple),
        Value::Object(map) => map.iter().all(|(key, value)| key.is_ascii() && is_simple(value)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// The hash of a value's canonical JSON.
pub fn sha256(value: &impl Serialize) -> Result<Sha256, Error> {
    Ok(Sha256::of(canonical(value)?.as_bytes()))
}

fn check_integers(value: &Value) -> Result<(), Error> {
    match value {
        Value::Number(number) => {
            if is_rounded(number) {
                let message = format!("the integer {number} is too large to be hashed exactly");
                return Err(Error::new(Code::InvalidInput, message).hint("write it as a string"));
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(check_integers),
        Value::Object(map) => map.values().try_for_each(check_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// The value with those integers as strings that canonical JSON would round, and so the floats that it would write as such
/// integers.
pub fn exact(value: &Value) -> Cow<'_, Value> {
    if is_exact(value) { Cow::Borrowed(value) } else { Cow::Owned(made_exact(value)) }
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !is_rounded(number) && !looks_rounded(number),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(map) => map.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn made_exact(value: &Value) -> Value {
    match value {
        Value::Number(number) if is_rounded(number) || looks_rounded(number) => Value::String(number.to_string()),
        Value::Array(items) => items.iter().map(made_exact).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), made_exact(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The value as a record returns it: numbers have their canonical form.
///
/// Scripts receive this form, so that they can't tell a run from its replay: `1.0` is the integer 1 in both.
pub fn as_recorded(mut value: Value) -> Value {
    take_down(&mut value);
    value
}

fn take_down(value: &mut Value) {
    match value {
        Value::Number(number) if is_rounded(number) || looks_rounded(number) => {
            *value = Value::String(number.to_string());
        }
        Value::Number(number) => {
            if let Some(integer) = whole(number) {
                *number = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(take_down),
        Value::Object(map) => map.values_mut().for_each(take_down),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The integer that a float without a fraction is written as.
fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = float.fract() == 0.0 && float.abs() <= MAX_EXACT_FLOAT;
    is_whole.then(|| format!("{float:.0}").parse().ok()).flatten()
}

fn is_rounded(number: &Number) -> bool {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    magnitude.is_some_and(|magnitude| magnitude > MAX_EXACT)
}

/// True for a float without a fraction that canonical JSON writes without an exponent, as if it were an integer.
fn looks_rounded(number: &Number) -> bool {
    let magnitude = number.as_f64().unwrap_or(0.0).abs();
    number.is_f64() && magnitude > MAX_EXACT_FLOAT && magnitude < 1e21
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_numbers_are_shortest() {
        let value = json!({"b": 1.0, "a": [1e2, -0.0, "\u{20ac}\u{1}"], "é": null});
        assert_eq!(canonical(&value).unwrap(), "{\"a\":[100,0,\"€\\u0001\"],\"b\":1,\"é\":null}");
    }

    #[test]
    fn an_integer_that_would_be_rounded_is_refused() {
        let error = canonical(&json!({"n": [9_007_199_254_740_993_u64]})).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
    }

    #[test]
    fn large_integers_are_kept_exactly() {
        assert_eq!(*exact(&json!([9_223_372_036_854_775_807_u64, 1])), json!(["9223372036854775807", 1]));
        assert!(matches!(exact(&json!({"a": [1, 0.5, "x", null]})), Cow::Borrowed(_)));
        for number in [json!(1e17), json!(-1e20), json!(1e21), json!(0.5), json!(9e15)] {
            let text = canonical(&exact(&number)).unwrap();
            let again: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(canonical(&again).unwrap(), text, "what was written once is read and written alike");
        }
    }

    #[test]
    fn a_value_is_the_same_before_it_is_recorded_and_after() {
        let numbers = json!([
            1.0, -0.0, 0.0, -3.0, 0.5, 1e15, 9_007_199_254_740_992.0, -9_007_199_254_740_992.0, 1e17, -1e20, 1e21,
            9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64, i64::MIN, u64::MAX, {"deep": [2.0, {"n": 4e3}]},
        ]);
        let told = as_recorded(numbers.clone());
        let text = canonical(&exact(&numbers)).unwrap();
        assert_eq!(told, serde_json::from_str::<Value>(&text).unwrap());
        assert_eq!((&told[0], &told[1], &told[3]), (&json!(1), &json!(0), &json!(-3)));
        assert_eq!(as_recorded(told.clone()), told);
    }

    pub(super) fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(1_i64 << 53)..=1 << 53).prop_map(Value::from),
            (-1e6..1e6_f64).prop_map(Value::from),
            "\\PC{0,8}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let key = prop_oneof!["[ -~]{0,4}", any::<String>()];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..6).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_short_way_writes_the_same_bytes(value in values()) {
            let simple: Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(canonical_value(&simple).unwrap(), serde_json_canonicalizer::to_string(&simple).unwrap());
        }
    }

    /// A dependency that turns on `serde_json/preserve_order` would change every hash.
    #[test]
    fn objects_keep_sorted_keys() {
        assert_eq!(serde_json::from_str::<Value>(r#"{"b":1,"a":2}"#).unwrap().to_string(), r#"{"a":2,"b":1}"#);
    }
}
