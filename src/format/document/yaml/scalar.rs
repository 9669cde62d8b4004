//! Scalars of YAML: the core schema of 1.2, and texts that every version reads alike.

use serde_json::{Number, Value};

use super::super::quote::quoted;

/// The value of a plain scalar.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text)? {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    })
}

/// The number that a plain scalar is.
fn number(text: &str) -> Result<Option<Number>, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!("`{text}` is no JSON value"));
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(rest) = text.strip_prefix(prefix)
            && !rest.is_empty()
            && rest.chars().all(|digit| digit.is_digit(radix))
        {
            let number = u64::from_str_radix(rest, radix).map_err(|_| format!("`{text}` is no 64-bit integer"))?;
            return Ok(Some(number.into()));
        }
    }
    if !is_float(digits) {
        return Ok(None);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let plain = text.strip_prefix('+').unwrap_or(text);
        if let Ok(number) = plain.parse::<u64>() {
            return Ok(Some(number.into()));
        }
        if let Ok(number) = plain.parse::<i64>()
            && number != 0
        {
            return Ok(Some(number.into()));
        }
    }
    let float = text.parse::<f64>().ok().and_then(Number::from_f64);
    float.map(Some).ok_or_else(|| format!("the number `{text}` is too large for a 64-bit float"))
}

/// True for the floats and decimal integers of the core schema, without their sign.
fn is_float(digits: &str) -> bool {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (digits, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    is_digits(whole)
        && is_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && is_digits(exponent))
}

/// The text of a name.
pub(in super::super) fn key(name: &str, like: Option<&str>, quote: char) -> String {
    string(name, like, quote)
}

/// The text of a scalar, with the quotes of another text, or with `quote` if it needs any.
pub(in super::super) fn text(value: &Value, like: Option<&str>, quote: char) -> String {
    match value {
        Value::String(text) => string(text, like, quote),
        _ => value.to_string(),
    }
}

fn string(text: &str, like: Option<&str>, quote: char) -> String {
    let is_printable = text.chars().all(|next| next >= ' ' && !needs_escape(next));
    match like.and_then(|like| like.chars().next()) {
        Some('\'') if is_printable => single(text),
        Some('"') => escaped(text),
        _ if is_plain(text) => text.to_owned(),
        _ if is_printable && quote == '\'' => single(text),
        _ => escaped(text),
    }
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn escaped(text: &str) -> String {
    let quoted = quoted(text);
    if !text.chars().any(needs_escape) {
        return quoted;
    }
    let mut escaped = String::with_capacity(quoted.len());
    for next in quoted.chars() {
        if needs_escape(next) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(next)));
        } else {
            escaped.push(next);
        }
    }
    escaped
}

/// True for characters that YAML doesn't print, or reads as line ends in some version.
fn needs_escape(next: char) -> bool {
    matches!(next, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// True for strings that need no quotes in blocks and flows, in any version of YAML.
fn is_plain(text: &str) -> bool {
    let is_word = |next: char| {
        next.is_alphanumeric() || matches!(next, '_' | '/' | '.' | '$' | '^' | '~' | '(' | ')' | ';' | '+' | '-')
    };
    let starts =
        text.chars().next().is_some_and(|next| next.is_alphabetic() || matches!(next, '_' | '/' | '$' | '.' | '^'));
    // A digit may begin a version or a date: only words that hold a letter or two dots are safe.
    let starts = starts || text.starts_with(|next: char| next.is_ascii_digit()) && is_version(text);
    starts
        && !text.ends_with(' ')
        && !text.contains("  ")
        && text.chars().all(|next| {
            is_word(next)
                || matches!(next, ' ' | '@' | '=' | '*' | '&' | '!' | '|' | '<' | '>' | '%' | '\'' | '"' | '?')
        })
        && !is_read_otherwise(text)
}

fn is_version(text: &str) -> bool {
    text.split('.').count() > 2 && text.chars().all(|next| next.is_ascii_digit() || next == '.') && !text.contains("..")
}

/// True for words that some version of YAML reads as something else than a string.
fn is_read_otherwise(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "~" | "=" | "<<" | "..."
    ) || lower.starts_with(".inf")
        || lower.starts_with(".nan")
        || text.trim_start_matches('.').parse::<f64>().is_ok()
        || (text.starts_with('.') && text[1..].starts_with(|next: char| next.is_ascii_digit()))
}
