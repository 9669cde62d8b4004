//! Redacts outgoing texts: records, logs, errors, output.

use std::borrow::Cow;

use serde_json::Value;

use super::{Found, Rules, assignment::Style, file::File, find, generic, locate::prefix};

/// The number of passes over a text; a redaction can split its surroundings.
const ROUNDS: usize = 4;

/// The text with `[redacted RULE 1a2b3c4d]` in place of each secret; the rest is unchanged.
///
/// The result holds no secret: redacting it again changes nothing.
pub fn redact<'a>(text: &'a str, rules: &Rules) -> Cow<'a, str> {
    let Some(mut redacted) = once(text, rules) else { return Cow::Borrowed(text) };
    for _ in 0..ROUNDS {
        match once(&redacted, rules) {
            Some(again) => redacted = again,
            None => return Cow::Owned(redacted),
        }
    }
    // A text that keeps showing new secrets was made for that; nothing of it is worth keeping.
    Cow::Owned(mark_of("text", text.as_bytes()))
}

/// Redacts every string of a value. Keys stay, and name the strings beneath them.
pub fn redact_json(value: &mut Value, rules: &Rules) {
    named(value, "", rules);
}

/// True if a value must be redacted before it leaves.
pub fn shows_secret(value: &Value, rules: &Rules) -> bool {
    let mut redacted = value.clone();
    redact_json(&mut redacted, rules);
    redacted != *value
}

fn named(value: &mut Value, name: &str, rules: &Rules) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redact(text, rules) {
                *text = redacted;
            } else if let Some(rule) = generic::judge_value(name.as_bytes(), text.as_bytes(), Style::Quoted, false)
                && !is_hash(text)
            {
                *text = mark_of(rule, text.as_bytes());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| named(item, name, rules)),
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| named(value, key, rules)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The hashes of records are not secrets, whatever their key.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn mark_of(rule: &str, secret: &[u8]) -> String {
    mark_with(rule, &prefix(secret))
}

/// The replacement of a secret.
pub fn mark(found: &Found) -> String {
    mark_with(&found.rule, &found.sha256_prefix)
}

fn mark_with(rule: &str, sha256_prefix: &str) -> String {
    format!("[redacted {rule} {sha256_prefix}]")
}

/// One pass; none if there is nothing to redact.
fn once(text: &str, rules: &Rules) -> Option<String> {
    let spans = find::spans(text.as_bytes(), File::Other, rules);
    if spans.is_empty() {
        return None;
    }
    let mut redacted = String::with_capacity(text.len());
    let mut kept = 0;
    for span in spans {
        let (from, reach) = (floor(text, span.from), ceil(text, span.reach));
        redacted.push_str(&text[kept..from.max(kept)]);
        redacted.push_str(&mark_of(span.rule, &text.as_bytes()[span.start..span.end]));
        kept = reach;
    }
    redacted.push_str(&text[kept..]);
    Some(redacted)
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
