//! Strings, numbers, truths and dates of TOML.

use serde_json::{Number, Value};

/// Reads the string that a text begins with: its value and its length.
pub(super) fn string(text: &str) -> Result<(String, usize), String> {
    for (quotes, is_basic, is_long) in
        [("\"\"\"", true, true), ("'''", false, true), ("\"", true, false), ("'", false, false)]
    {
        if let Some(inside) = text.strip_prefix(quotes) {
            let mut reader = Inside { rest: inside, value: String::new(), quotes, is_basic, is_long };
            reader.read()?;
            return Ok((reader.value, text.len() - reader.rest.len()));
        }
    }
    Err("a string has no quotes".to_owned())
}

/// The text of a string behind its quotes.
struct Inside<'t> {
    rest: &'t str,
    value: String,
    quotes: &'static str,
    is_basic: bool,
    is_long: bool,
}

impl Inside<'_> {
    fn read(&mut self) -> Result<(), String> {
        if self.is_long {
            self.newline();
        }
        loop {
            if let Some(rest) = self.rest.strip_prefix(self.quotes) {
                self.rest = rest;
                self.last_quotes();
                return Ok(());
            }
            if self.is_long && self.newline() {
                self.value.push('\n');
                continue;
            }
            let next = self.rest.chars().next().ok_or("a string has no end")?;
            self.rest = &self.rest[next.len_utf8()..];
            match next {
                '\\' if self.is_basic => self.escape()?,
                '\n' | '\r' if !self.is_long => return Err("a string has no end on its line".to_owned()),
                c if c != '\t' && c.is_ascii_control() => {
                    return Err(format!("a string has the control character `{}`", c.escape_debug()));
                }
                c => self.value.push(c),
            }
        }
    }

    fn newline(&mut self) -> bool {
        let rest = self.rest.strip_prefix('\n').or_else(|| self.rest.strip_prefix("\r\n"));
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Up to two quotes may stand before the closing ones.
    fn last_quotes(&mut self) {
        for _ in 0..if self.is_long { 2 } else { 0 } {
            if let Some(rest) = self.rest.strip_prefix(&self.quotes[..1]) {
                self.value.push_str(&self.quotes[..1]);
                self.rest = rest;
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let wrong = || "an escape in a string is malformed".to_owned();
        let code = self.rest.chars().next().ok_or_else(wrong)?;
        let behind = self.rest.trim_start_matches([' ', '\t']);
        if self.is_long && (behind.starts_with('\n') || behind.starts_with("\r\n")) {
            self.rest = behind;
            while self.newline() {
                self.rest = self.rest.trim_start_matches([' ', '\t']);
            }
            return Ok(());
        }
        self.rest = &self.rest[code.len_utf8()..];
        let digits = match code {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => {
                let pairs = [
                    ('b', '\u{8}'),
                    ('t', '\t'),
                    ('n', '\n'),
                    ('f', '\u{c}'),
                    ('r', '\r'),
                    ('e', '\u{1b}'),
                    ('"', '"'),
                    ('\\', '\\'),
                ];
                let (_, plain) = pairs.into_iter().find(|(name, _)| *name == code).ok_or_else(wrong)?;
                self.value.push(plain);
                return Ok(());
            }
        };
        let digits = self.rest.get(..digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let digits = digits.ok_or_else(wrong)?;
        let letter = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or_else(wrong)?;
        self.rest = &self.rest[digits.len()..];
        self.value.push(letter);
        Ok(())
    }
}

/// Reads the number, truth or date that a text begins with: its value and its length.
pub(super) fn read(text: &str) -> Result<(Value, usize), String> {
    let ends = |text: &str| text.find([' ', '\t', '\r', '\n', ',', ']', '}', '#', '=']).unwrap_or(text.len());
    let mut length = ends(text);
    // A space may stand between a date and a time.
    let is_date = |text: &str| text.len() == 10 && date(text).is_some();
    let is_hour = |text: &str| {
        text.bytes().take(3).enumerate().all(|(n, byte)| if n < 2 { byte.is_ascii_digit() } else { byte == b':' })
    };
    if let Some(time) =
        text[length..].strip_prefix(' ').filter(|time| is_date(&text[..length]) && time.len() > 3 && is_hour(time))
    {
        length += 1 + ends(time);
    }
    let word = &text[..length];
    let wrong = || match word {
        "" => "a value is missing".to_owned(),
        _ => format!("`{word}` is not a value"),
    };
    let value = match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "inf" | "+inf" | "-inf" | "nan" | "+nan" | "-nan" => {
            return Err("it has a number that JSON does not have".to_owned());
        }
        _ => number(word)?.map(Value::Number).or_else(|| moment(word).map(Value::String)).ok_or_else(wrong)?,
    };
    Ok((value, length))
}

/// Digits, with single `_` between them.
fn is_digits(text: &str, is_digit: impl Fn(u8) -> bool) -> bool {
    text.split('_').all(|part| !part.is_empty() && part.bytes().all(&is_digit))
}

/// A number; none if the word is not a number, and an error if the number can't be represented.
fn number(word: &str) -> Result<Option<Number>, String> {
    let beyond = || format!("`{word}` is a number that can't be represented");
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = word.strip_prefix(prefix) {
            if !is_digits(digits, |byte| char::from(byte).is_digit(radix)) {
                return Ok(None);
            }
            let number = i64::from_str_radix(&digits.replace('_', ""), radix).map_err(|_| beyond())?;
            return Ok(Some(number.into()));
        }
    }
    let decimal = |text: &str| is_digits(text, |byte| byte.is_ascii_digit());
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let is_whole = |text: &str| decimal(text) && (text == "0" || !text.starts_with('0'));
    let plain = word.replace('_', "");
    if is_whole(unsigned) {
        return plain.parse::<i64>().map(|number| Some(number.into())).map_err(|_| beyond());
    }
    let (mantissa, power) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(mantissa, power)| (mantissa, Some(power)));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(whole, part)| (whole, Some(part)));
    let is_float = is_whole(whole)
        && fraction.is_none_or(decimal)
        && power.is_none_or(|power| decimal(power.strip_prefix(['+', '-']).unwrap_or(power)));
    match is_float {
        true => plain.parse().ok().and_then(Number::from_f64).map(Some).ok_or_else(beyond),
        false => Ok(None),
    }
}

/// A date, a time, or both, as RFC 3339 writes them.
fn moment(word: &str) -> Option<String> {
    let Some(day) = word.get(..10).and_then(date) else { return time(word) };
    let Some(rest) = word.get(10..).filter(|rest| !rest.is_empty()) else { return Some(day.to_owned()) };
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, offset) = match rest.find(['Z', 'z', '+', '-']) {
        Some(at) => (&rest[..at], self::offset(&rest[at..])?),
        None => (rest, String::new()),
    };
    Some(format!("{day}T{}{offset}", time(clock)?))
}

/// The number that some digits are.
fn digits(text: &str, length: usize) -> Option<u32> {
    let is_right = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    is_right.then(|| text.parse().ok()).flatten()
}

fn date(text: &str) -> Option<&str> {
    let mut parts = text.split('-');
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (parts.next().is_none() && (1..=days).contains(&day)).then_some(text)
}

/// A time, with its fraction to nine digits and without a zero at its end.
fn time(text: &str) -> Option<String> {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = parts.next();
    let is_right = hour <= 23
        && minute <= 59
        && second.is_none_or(|second| digits(second, 2).is_some_and(|second| second <= 60))
        && (fraction.is_none() || second.is_some())
        && parts.next().is_none();
    let Some(fraction) = fraction else { return is_right.then(|| clock.to_owned()) };
    let is_right = is_right && !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = fraction.get(..fraction.len().min(9))?.trim_end_matches('0');
    is_right.then(|| format!("{clock}.{}", if fraction.is_empty() { "0" } else { fraction }))
}

fn offset(text: &str) -> Option<String> {
    if matches!(text, "Z" | "z") {
        return Some("Z".to_owned());
    }
    let (hour, minute) = text.get(1..)?.split_once(':')?;
    let is_right = digits(hour, 2)? <= 23 && digits(minute, 2)? <= 59;
    let sign = if hour == "00" && minute == "00" { "+" } else { text.get(..1)? };
    is_right.then(|| format!("{sign}{hour}:{minute}"))
}
