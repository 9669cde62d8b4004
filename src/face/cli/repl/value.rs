//! Values in the form of literals of a script, with colours; a terminal gets long ones cut.

use std::fmt::Write;

use owo_colors::OwoColorize;
use serde_json::Value;

use base::text::counted;

/// The most characters of a value on one line.
const WIDTH: usize = 100;

/// The number of items that are shown of a cut array or map.
const ITEMS: usize = 50;

/// The number of characters that are shown of a cut string.
const CHARACTERS: usize = 2000;

/// The shown length of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// A length that a person can read.
    Cut,
    /// The whole value.
    Whole,
}

/// A value as a literal of the language, over several lines if it is long.
pub(super) fn literal(value: &Value, length: Length) -> String {
    let mut text = String::new();
    write(&mut text, value, length, 0);
    text
}

fn write(text: &mut String, value: &Value, length: Length, depth: usize) {
    let (open, close, many) = match value {
        Value::Array(items) if !items.is_empty() => ("[", "]", items.len()),
        Value::Object(fields) if !fields.is_empty() => ("#{", "}", fields.len()),
        simple => return text.push_str(&scalar(simple, length)),
    };
    let shown = if length == Length::Cut { many.min(ITEMS) } else { many };
    let mut parts: Vec<String> = match value {
        Value::Object(fields) => {
            fields.iter().take(shown).map(|(key, value)| field(key, value, length, depth)).collect()
        }
        value => value.as_array().into_iter().flatten().take(shown).map(|item| part(item, length, depth)).collect(),
    };
    if shown < many {
        parts.push(format!("{}", format!("… {} more", many - shown).dimmed()));
    }
    let width: usize =
        parts.iter().map(|part| anstream::adapter::strip_str(part).to_string().chars().count() + 2).sum();
    let is_short = width + 2 * depth < WIDTH && !parts.iter().any(|part| part.contains('\n'));
    if is_short {
        let pad = if open == "[" { "" } else { " " };
        let _ = write!(text, "{open}{pad}{}{pad}{close}", parts.join(", "));
        return;
    }
    let indent = "    ".repeat(depth);
    let _ = writeln!(text, "{open}");
    for part in parts {
        let _ = writeln!(text, "{indent}    {part},");
    }
    let _ = write!(text, "{indent}{close}");
}

fn part(value: &Value, length: Length, depth: usize) -> String {
    let mut text = String::new();
    write(&mut text, value, length, depth + 1);
    text
}

fn field(key: &str, value: &Value, length: Length, depth: usize) -> String {
    let is_name = |key: &str| {
        let mut chars = key.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let key = if is_name(key) { key.to_owned() } else { quoted(key) };
    format!("{}: {}", key.cyan(), part(value, length, depth))
}

fn scalar(value: &Value, length: Length) -> String {
    match value {
        Value::Null => "()".dimmed().to_string(),
        Value::Bool(truth) => truth.magenta().to_string(),
        Value::Number(number) => number.yellow().to_string(),
        Value::String(text) => match text.char_indices().nth(CHARACTERS).filter(|_| length == Length::Cut) {
            Some((end, _)) => {
                let more = text[end..].chars().count();
                format!(
                    "{} {}",
                    quoted(&text[..end]).green(),
                    format!("… {}", counted(more, "more character")).dimmed()
                )
            }
            None => quoted(text).green().to_string(),
        },
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "#{}".to_owned(),
    }
}

/// A string with escapes for characters that would end it, move the cursor or deceive a reader.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' => quoted.write_str("\\\""),
            '\\' => quoted.write_str("\\\\"),
            '\n' => quoted.write_str("\\n"),
            '\r' => quoted.write_str("\\r"),
            '\t' => quoted.write_str("\\t"),
            c if base::text::escape(c.encode_utf8(&mut [0; 4])).starts_with('\\') => {
                write!(quoted, "\\u{:04x}", u32::from(c))
            }
            c => quoted.write_char(c),
        };
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expected: &str) {
        let text = literal(value, Length::Whole);
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), expected);
    }

    #[test]
    fn values_are_shown_as_they_would_be_written() {
        check(&json!(null), "()");
        check(
            &json!([1, -2.5, true, "a\"\\\n\u{1b}\u{202e}é", [], {}]),
            r#"[1, -2.5, true, "a\"\\\n\u001b\u202eé", [], #{}]"#,
        );
        check(&json!({"a": 1, "b c": {"d": []}}), "#{ a: 1, \"b c\": #{ d: [] } }");
    }

    #[test]
    fn what_is_long_takes_a_line_for_each_part() {
        let long = "x".repeat(60);
        check(
            &json!({"a": {"x": [long, long]}}),
            &format!(
                "#{{\n    a: #{{\n        x: [\n            \"{long}\",\n            \"{long}\",\n        ],\n    }},\n}}"
            ),
        );
    }

    #[test]
    fn what_nobody_can_take_in_is_cut() {
        let many: Vec<usize> = (0..1000).collect();
        let text = literal(&json!(many), Length::Cut);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.contains("49") && text.contains("… 950 more") && !text.contains("51"), "{text}");
        let text = literal(&json!("é".repeat(2001)), Length::Cut);
        assert!(anstream::adapter::strip_str(&text).to_string().ends_with("é\" … 1 more character"), "{text}");
    }
}
