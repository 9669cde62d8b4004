//! Strings, names and numbers that JSON5 adds to JSON.

use serde_json::{Number, Value};

/// Reads an identifier at the start of a text: the name and its length.
pub(super) fn identifier(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (letter, length) = if next == '\\' {
            let code = rest.get(2..6).filter(|_| rest.as_bytes().get(1) == Some(&b'u'))?;
            (char::from_u32(hexadecimal(code)?)?, 6)
        } else {
            (next, next.len_utf8())
        };
        let fits = letter == '$'
            || letter == '_'
            || letter.is_alphabetic()
            || (!name.is_empty() && (letter.is_alphanumeric() || matches!(letter, '\u{200c}' | '\u{200d}')));
        if !fits {
            break;
        }
        name.push(letter);
        rest = &rest[length..];
    }
    (!name.is_empty()).then(|| (name, text.len() - rest.len()))
}

/// Reads a string with its quotes.
pub(super) fn string(raw: &str) -> Result<String, String> {
    let inside = &raw[1..raw.len() - 1];
    let mut value = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(next) = rest.next() {
        match next {
            '\n' | '\r' => return Err("a string holds a line end".to_owned()),
            '\\' => escape(&mut rest, &mut value)?,
            _ => value.push(next),
        }
    }
    Ok(value)
}

fn escape(rest: &mut std::str::Chars<'_>, value: &mut String) -> Result<(), String> {
    let malformed = || "an escape in a string is malformed".to_owned();
    match rest.next().ok_or_else(malformed)? {
        'b' => value.push('\u{8}'),
        'f' => value.push('\u{c}'),
        'n' => value.push('\n'),
        'r' => value.push('\r'),
        't' => value.push('\t'),
        'v' => value.push('\u{b}'),
        '0' if !rest.as_str().starts_with(|next: char| next.is_ascii_digit()) => value.push('\0'),
        '0'..='9' => return Err(malformed()),
        'x' => value.push(unit(rest, 2).and_then(char::from_u32).ok_or_else(malformed)?),
        'u' => {
            let first = unit(rest, 4).ok_or_else(malformed)?;
            let code = if (0xd800..0xdc00).contains(&first) && rest.as_str().starts_with("\\u") {
                rest.nth(1);
                let second = unit(rest, 4).filter(|second| (0xdc00..0xe000).contains(second)).ok_or_else(malformed)?;
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            } else {
                first
            };
            value.push(char::from_u32(code).ok_or_else(malformed)?);
        }
        '\r' => {
            if rest.as_str().starts_with('\n') {
                rest.next();
            }
        }
        '\n' | '\u{2028}' | '\u{2029}' => {}
        other => value.push(other),
    }
    Ok(())
}

fn unit(rest: &mut std::str::Chars<'_>, length: usize) -> Option<u32> {
    let code = rest.as_str().get(..length).and_then(hexadecimal)?;
    rest.nth(length - 1);
    Some(code)
}

fn hexadecimal(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// Reads `true`, `false`, `null` or a number.
pub(super) fn word(word: &str) -> Result<Value, String> {
    match word {
        "true" => return Ok(Value::Bool(true)),
        "false" => return Ok(Value::Bool(false)),
        "null" => return Ok(Value::Null),
        _ => {}
    }
    let (sign, digits) = match word.strip_prefix(['+', '-']) {
        Some(digits) => (if word.starts_with('-') { "-" } else { "" }, digits),
        None => ("", word),
    };
    if matches!(digits, "Infinity" | "NaN") {
        return Err(format!("`{word}` is no JSON value"));
    }
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return hexadecimal_number(sign, hex).ok_or_else(|| format!("`{word}` is no 64-bit integer"));
    }
    // JSON has neither `.5` nor `5.`, and reads the rest alike.
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => digits.split_at(at),
        None => (digits, ""),
    };
    let mut plain = sign.to_owned();
    match mantissa.split_once('.') {
        Some(("", "")) => return Err(format!("`{word}` is no value of JSON5")),
        Some(("", fraction)) => plain.extend(["0.", fraction]),
        Some((whole, "")) => plain.extend([whole, ".0"]),
        Some(_) | None => plain.push_str(mantissa),
    }
    plain.push_str(exponent);
    serde_json::from_str(&plain).map_err(|_| format!("`{word}` is no value of JSON5"))
}

fn hexadecimal_number(sign: &str, digits: &str) -> Option<Value> {
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let magnitude = is_digits.then(|| u64::from_str_radix(digits, 16).ok()).flatten()?;
    if sign.is_empty() {
        return Some(Value::Number(magnitude.into()));
    }
    Some(Value::Number(Number::from(0_i64.checked_sub_unsigned(magnitude)?)))
}
