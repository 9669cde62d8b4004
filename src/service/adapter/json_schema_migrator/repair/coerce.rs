//! The table of coercions of ajv: a value of one type in place of the same one of another.
//!
//! Three rules differ from the table. A number beyond the exact range of this program, and one without end, stay. A number
//! becomes the text that it is written as: a version `1.10` is not `1.1`.

use serde_json::{Number, Value};

/// The value as the first of `types` that it can become; none if it can become none of them. `spelling` is that of the number
/// in it, where it has one of its own.
pub(super) fn coerce(value: &Value, types: &[&str], arrays: bool, spelling: Option<&str>) -> Option<Value> {
    let scalar = |value: &Value, kind: &str| match (kind, value, spelling) {
        ("string", Value::Number(_), Some(spelling)) if is_decimal(spelling) => Some(Value::from(spelling)),
        _ => scalar(value, kind),
    };
    if arrays
        && let Value::Array(items) = value
        && let [only] = items.as_slice()
    {
        if types.iter().any(|kind| is(only, kind)) {
            return Some(only.clone());
        }
        return types.iter().find_map(|kind| scalar(only, kind));
    }
    types.iter().find_map(|kind| match *kind {
        "array" if arrays && !matches!(value, Value::Object(_) | Value::Array(_)) => {
            Some(Value::Array(vec![value.clone()]))
        }
        kind => scalar(value, kind),
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

fn scalar(value: &Value, kind: &str) -> Option<Value> {
    match (kind, value) {
        ("string", Value::Number(number)) => Some(Value::String(number_text(number))),
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

/// True for digits with at most a sign, a fraction and a power of ten, as every format writes them.
fn is_decimal(text: &str) -> bool {
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text| str::strip_prefix(text, ['-', '+']).unwrap_or(text);
    digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(fraction) && digits(unsigned(power))
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
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some(whole_or_float(number))
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

/// A number as JavaScript prints it.
fn number_text(number: &Number) -> String {
    if !number.is_f64() {
        return number.to_string();
    }
    let number = number.as_f64().unwrap_or_default();
    let shortest = format!("{number:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    match exponent {
        -6..21 if number == 0.0 => "0".to_owned(),
        -6..21 => format!("{number}"),
        21.. => format!("{mantissa}e+{exponent}"),
        _ => format!("{mantissa}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn becomes(kind: &str, value: Value, expected: Option<Value>) {
        assert_eq!(coerce(&value, &[kind], false, None), expected, "{value} as {kind}");
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
    fn numbers_are_texts_as_in_javascript() {
        for (number, text) in [
            (json!(1), "1"),
            (json!(1.0), "1"),
            (json!(-1.5), "-1.5"),
            (json!(2e100), "2e+100"),
            (json!(1e21), "1e+21"),
            (json!(1e20), "100000000000000000000"),
            (json!(0.000_001), "0.000001"),
            (json!(1.5e-7), "1.5e-7"),
            (json!(-0.0), "0"),
        ] {
            becomes("string", number, Some(json!(text)));
        }
    }

    #[test]
    fn a_number_becomes_the_text_that_it_is_written_as() {
        for (number, spelling, text) in [
            (json!(1.1), "1.10", "1.10"),
            (json!(100_000.0), "1e5", "1e5"),
            (json!(755), "0755", "0755"),
            (json!(1000), "1_000", "1000"),
            (json!(31), "0x1F", "31"),
            (json!(0.5), ".5", "0.5"),
            (json!(1.234_567_890_123_456_8e22), "12345678901234567890123", "12345678901234567890123"),
        ] {
            assert_eq!(coerce(&number, &["string"], false, Some(spelling)), Some(json!(text)));
        }
        assert_eq!(coerce(&json!([1.1]), &["string"], true, Some("1.10")), Some(json!("1.10")));
        assert_eq!(coerce(&json!(1.0), &["boolean"], false, Some("1.0")), Some(json!(true)));
    }

    #[test]
    fn arrays_of_one_are_exchanged_on_request() {
        assert_eq!(coerce(&json!(["1"]), &["number"], true, None), Some(json!(1)));
        assert_eq!(coerce(&json!([1]), &["number"], true, None), Some(json!(1)));
        assert_eq!(coerce(&json!([1, 2]), &["number"], true, None), None);
        assert_eq!(coerce(&json!(null), &["array"], true, None), Some(json!([null])));
        assert_eq!(coerce(&json!({}), &["array"], true, None), None);
        assert_eq!(coerce(&json!("1"), &["array"], false, None), None);
    }
}
