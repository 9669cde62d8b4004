//! The table of coercions of ajv: a value of one type in place of the same one of another.
//!
//! One rule is stricter than the table: the digits of a number stay. A number becomes the text that the file has for it, if
//! every format writes numbers so, and a text becomes a number only if the number is written with the same digits.

use serde_json::{Number, Value};

/// A value of another type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Coerced {
    /// Another value.
    Value(Value),
    /// An array of the value.
    Array,
}

/// Gives the text of a scalar below the value, as the file spells it.
type Text<'t> = &'t dyn Fn(&str) -> Option<&'t str>;

/// The value as the first of `types` that it can become; none if it can become none of them.
pub(super) fn coerce(value: &Value, types: &[&str], arrays: bool, text: Text<'_>) -> Option<Coerced> {
    if arrays
        && let Value::Array(items) = value
        && let [only] = items.as_slice()
        && !only.is_array()
        && !only.is_object()
    {
        let stays = types.iter().any(|kind| is(only, kind)) && keeps_digits(only, text("/0"));
        let only = || types.iter().find_map(|kind| scalar(only, kind, text("/0")));
        return if stays { Some(items[0].clone()) } else { only() }.map(Coerced::Value);
    }
    types.iter().find_map(|kind| match *kind {
        "array" if arrays && !matches!(value, Value::Object(_) | Value::Array(_)) => Some(Coerced::Array),
        kind => scalar(value, kind, text("")).map(Coerced::Value),
    })
}

/// True if the value has the type.
pub(super) fn is(value: &Value, kind: &str) -> bool {
    match (kind, value) {
        ("integer", Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        (_, _) => false,
    }
}

fn scalar(value: &Value, kind: &str, text: Option<&str>) -> Option<Value> {
    match (kind, value) {
        ("string", Value::Number(number)) => number_text(number, text).map(Value::String),
        ("string", Value::Bool(truth)) => Some(Value::String(truth.to_string())),
        ("string", Value::Null) => Some(Value::String(String::new())),
        ("number", Value::String(text)) => number(text),
        ("integer", Value::String(text)) => number(text).filter(|number| is(number, "integer")),
        ("number" | "integer", Value::Bool(truth)) => Some(Value::from(u8::from(*truth))),
        ("number" | "integer", Value::Null) => Some(Value::from(0)),
        ("boolean", Value::String(text)) => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("boolean", Value::Number(number)) => match number.as_f64() {
            Some(0.0) => Some(Value::Bool(false)),
            Some(1.0) => Some(Value::Bool(true)),
            _ => None,
        },
        ("boolean", Value::Null) => Some(Value::Bool(false)),
        ("null", Value::String(text)) => text.is_empty().then_some(Value::Null),
        ("null", Value::Number(number)) => (number.as_f64() == Some(0.0)).then_some(Value::Null),
        ("null", Value::Bool(false)) => Some(Value::Null),
        (_, _) => None,
    }
}

/// A text as JavaScript reads it as a number.
fn number(text: &str) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return Some(Value::from(0));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        let digits = text.get(..2).filter(|head| head.eq_ignore_ascii_case(prefix)).and(text.get(2..));
        if let Some(digits) = digits {
            let plain = digits.chars().all(|c| c.is_digit(radix));
            return u64::from_str_radix(digits, radix).ok().filter(|_| plain).map(Value::from);
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    if power.is_empty() || !digits(power) {
        return None;
    }
    if fraction.is_empty() && !unsigned.contains(['e', 'E', '.']) {
        let text = text.strip_prefix('+').unwrap_or(text);
        if let Ok(number) = text.parse::<u64>() {
            return Some(Value::from(number));
        }
        // Larger integers would lose digits.
        return text.parse::<i64>().ok().map(Value::from);
    }
    let value = whole_or_float(text.parse::<f64>().ok().filter(|number| number.is_finite())?);
    (decimal(text) == decimal(&value.to_string())).then_some(value)
}

/// A decimal number as its sign, its digits without zeros at the ends, and the power of ten of the last one.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (sign, unsigned) = text.split_at(text.len() - text.trim_start_matches(['+', '-']).len());
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (trimmed, places) = (digits.trim_end_matches('0'), i64::try_from(fraction.len()).ok()?);
    let end = i64::try_from(digits.len() - trimmed.len()).ok()?;
    let significant = trimmed.trim_start_matches('0').to_owned();
    match significant.is_empty() {
        true => Some((false, significant, 0)),
        false => Some((sign == "-", significant, exponent.parse::<i64>().ok()?.checked_sub(places)?.checked_add(end)?)),
    }
}

/// True if a scalar that is written anew has the digits that it has in the file.
fn keeps_digits(value: &Value, text: Option<&str>) -> bool {
    !value.is_number() || text.is_none_or(|text| decimal(text) == decimal(&value.to_string()))
}

/// A float, or the integer that JavaScript prints for it.
fn whole_or_float(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
        let whole = number as i64;
        return Value::from(whole);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// The text that a number is in the file, or in the parameters, if every format writes numbers so.
fn number_text(number: &Number, text: Option<&str>) -> Option<String> {
    let text = text.map_or_else(|| number.to_string(), str::to_owned);
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(fraction);
    let is_decimal = is_plain && digits(power.strip_prefix(['-', '+']).unwrap_or(power));
    (is_decimal && text.parse().ok() == number.as_f64()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn becomes(kind: &str, value: Value, expected: Option<Value>) {
        let coerced = coerce(&value, &[kind], false, &|_| None);
        assert_eq!(coerced, expected.map(Coerced::Value), "{value} as {kind}");
    }

    #[test]
    fn texts_are_numbers_as_in_javascript() {
        for (text, expected) in [
            ("1", Some(json!(1))),
            ("1.50", Some(json!(1.5))),
            ("-0.5", Some(json!(-0.5))),
            ("1e3", Some(json!(1000))),
            ("+5", Some(json!(5))),
            (".5", Some(json!(0.5))),
            ("5.", Some(json!(5))),
            ("007", Some(json!(7))),
            (" 7\n", Some(json!(7))),
            ("0x1F", Some(json!(31))),
            ("0b11", Some(json!(3))),
            (" ", Some(json!(0))),
            ("9007199254740993", Some(json!(9_007_199_254_740_993_u64))),
            ("123456789012345678901234", None),
            ("9007199254740993.0", None),
            ("9007199254740993e0", None),
            ("12345678901234567890.5", None),
            ("0.1234567890123456789012", None),
            ("0.12345678901234566", Some(json!(0.123_456_789_012_345_66))),
            ("1e-400", None),
            ("1e400", None),
            ("Infinity", None),
            ("NaN", None),
            ("1a", None),
            ("0x", None),
            ("0x+1", None),
            ("--1", None),
            ("1e", None),
            (".", None),
            ("", None),
            ("1_000", None),
        ] {
            becomes("number", json!(text), expected);
        }
        becomes("integer", json!("1.5"), None);
        becomes("integer", json!("1.0"), Some(json!(1)));
    }

    #[test]
    fn numbers_are_the_texts_of_the_file() {
        for (number, text, expected) in [
            (json!(1), "1", Some("1")),
            (json!(1.0), "1.0", Some("1.0")),
            (json!(1.1), "1.10", Some("1.10")),
            (json!(10), "010", Some("010")),
            (json!(12_345_678_901_234_567_890_123.0), "12345678901234567890123", Some("12345678901234567890123")),
            (json!(-1.5), "-1.5", Some("-1.5")),
            (json!(1000.0), "1e3", Some("1e3")),
            (json!(2e100), "2e+100", Some("2e+100")),
            (json!(1.5e-7), "1.5e-7", Some("1.5e-7")),
            (json!(31), "0x1F", None),
            (json!(1000), "1_000", None),
            (json!(0.5), ".5", None),
        ] {
            let coerced = coerce(&number, &["string"], false, &|_| Some(text));
            assert_eq!(coerced, expected.map(|text| Coerced::Value(json!(text))), "{text}");
        }
        becomes("string", json!(5), Some(json!("5")));
    }

    #[test]
    fn arrays_of_one_are_exchanged_on_request() {
        let coerced = |value: Value, types: &[&str]| coerce(&value, types, true, &|_| None);
        assert_eq!(coerced(json!(["1"]), &["number"]), Some(Coerced::Value(json!(1))));
        assert_eq!(coerced(json!([1]), &["number"]), Some(Coerced::Value(json!(1))));
        assert_eq!(coerced(json!([1, 2]), &["number"]), None);
        assert_eq!(coerced(json!(null), &["array"]), Some(Coerced::Array));
        assert_eq!(coerced(json!({}), &["array"]), None);
        assert_eq!(coerced(json!([{}]), &["object"]), None);
        assert_eq!(coerce(&json!("1"), &["array"], false, &|_| None), None);
        let large = json!([12_345_678_901_234_567_890_123.0]);
        assert_eq!(coerce(&large, &["number"], true, &|_| Some("12345678901234567890123")), None);
    }
}
