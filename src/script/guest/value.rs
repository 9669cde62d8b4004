//! Values of the language as JSON and back, without silent loss.
//!
//! A value without a JSON form is an error that names it: functions, host objects, blobs, ranges, numbers that are not finite.
//! Integers that a script can't hold become strings.

use rhai::{Array, Dynamic, Map};
use serde_json::{Number, Value};

use base::error::{Code, Error};

/// The deepest nesting of a value. Both ends of the pipe refuse 128 levels, and a frame has some of its own.
pub(super) const MAX_DEPTH: usize = 96;

/// A script's value as JSON.
pub(super) fn to_json(value: &Dynamic) -> Result<Value, Error> {
    convert(value, 0)
}

/// JSON as a script's value.
pub(super) fn from_json(value: Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(flag) => flag.into(),
        Value::Number(number) => from_number(&number),
        Value::String(text) => text.into(),
        Value::Array(items) => items.into_iter().map(from_json).collect::<Array>().into(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key.into(), from_json(value))).collect::<Map>().into()
        }
    }
}

/// The name of a value's type in messages.
pub(super) fn type_word(value: &Dynamic) -> &'static str {
    if value.is_fnptr() {
        return "a function";
    }
    type_name_word(value.type_name())
}

fn convert(value: &Dynamic, depth: usize) -> Result<Value, Error> {
    if depth > MAX_DEPTH {
        let message = format!("a value is nested more than {MAX_DEPTH} levels deep");
        return Err(Error::new(Code::InvalidInput, message).hint("flatten it before it is handed over"));
    }
    if value.is_unit() {
        Ok(Value::Null)
    } else if let Ok(text) = value.as_immutable_string_ref() {
        Ok(Value::String(text.to_string()))
    } else if let Ok(map) = value.as_map_ref() {
        let entry = |(key, item): (&rhai::Identifier, &Dynamic)| Ok((key.to_string(), convert(item, depth + 1)?));
        map.iter().map(entry).collect::<Result<serde_json::Map<_, _>, _>>().map(Value::Object)
    } else if let Ok(items) = value.as_array_ref() {
        items.iter().map(|item| convert(item, depth + 1)).collect::<Result<_, _>>().map(Value::Array)
    } else if let Ok(number) = value.as_int() {
        Ok(Value::from(number))
    } else if let Ok(flag) = value.as_bool() {
        Ok(Value::Bool(flag))
    } else if let Ok(number) = value.as_float() {
        let message = || Error::new(Code::InvalidInput, format!("the number {number} can't be written as JSON"));
        Number::from_f64(number).map(Value::Number).ok_or_else(message)
    } else if let Ok(one) = value.as_char() {
        Ok(Value::String(one.to_string()))
    } else {
        Err(Error::new(Code::InvalidInput, format!("{} can't be written as JSON", type_word(value)))
            .hint("only `()`, booleans, numbers, strings, arrays and maps leave a script"))
    }
}

fn from_number(number: &Number) -> Dynamic {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(integer), _, _) => integer.into(),
        (None, Some(large), _) => large.to_string().into(),
        (None, None, Some(float)) => float.into(),
        (None, None, None) => number.to_string().into(),
    }
}

/// The plain name of a type that the engine's messages name.
pub(super) fn type_name_word(name: &str) -> &'static str {
    const WORDS: &[(&str, &str)] = &[
        ("&str | ImmutableString | String", "a string"),
        ("()", "`()`"),
        ("Adapter", "an adapter handle"),
        ("CharsStream", "the characters of a string"),
        ("EventStream", "a stream of events"),
        ("Fn", "a function"),
        ("FnPtr", "a function"),
        ("ImmutableString", "a string"),
        ("Map", "a map"),
        ("McpServer", "a handle of an MCP server"),
        ("Vec<u8>", "a blob"),
        ("alloc::vec::Vec<rhai::types::dynamic::Dynamic>", "an array"),
        ("alloc::vec::Vec<u8>", "a blob"),
        ("array", "an array"),
        ("blob", "a blob"),
        ("bool", "a boolean"),
        ("char", "a character"),
        ("f64", "a number"),
        ("i64", "an integer"),
        ("map", "a map"),
        ("range", "a range"),
        ("range=", "a range"),
        ("string", "a string"),
    ];
    let short = if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) };
    let short = if short.starts_with("core::ops::range::Range") { "range" } else { short };
    let known = WORDS.iter().find(|(known, _)| *known == short || *known == name);
    known.map_or("a host object", |(_, word)| word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let value = json!({"a": [1, -2, 1.5, "x", true, null, {}], "default": {"é": []}});
        assert_eq!(to_json(&from_json(value.clone())).unwrap(), value);
    }

    #[test]
    fn integers_beyond_the_languages_become_strings() {
        let value = from_json(json!([u64::MAX, i64::MIN]));
        assert_eq!(to_json(&value).unwrap(), json!(["18446744073709551615", i64::MIN]));
    }

    #[test]
    fn what_json_can_not_say_is_an_error_that_names_it() {
        let blob = Dynamic::from_blob(vec![1]);
        let function = Dynamic::from(rhai::FnPtr::new("f").unwrap());
        for (value, word) in [
            (f64::NAN.into(), "NaN"),
            (blob, "a blob"),
            (function, "a function"),
            (Dynamic::from(0..3_i64), "a range"),
            (Dynamic::from(std::sync::Arc::new(1)), "a host object"),
        ] {
            let error = to_json(&value).unwrap_err();
            assert!(error.code() == Code::InvalidInput && error.message().contains(word), "{error}");
        }
    }

    #[test]
    fn a_value_may_not_nest_without_end() {
        let nested = |depth| (0..depth).fold(Dynamic::UNIT, |inner, _| vec![inner].into());
        assert!(to_json(&nested(MAX_DEPTH)).is_ok());
        let error = to_json(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert!(error.message().contains("96 levels"), "{error}");
    }
}
