//! The forms in which servers write text, reasoning and tool calls: as text, as a list of parts, or as one part.
//!
//! A part that is not known is an error, which names it: to pass over it could lose what the model said.

use serde_json::Value;

use super::{
    Draft,
    calls::{CallPiece, LEGACY},
    draft::unknown,
};
use base::error::Error;

/// Fields with reasoning. If a server sends several of them, they repeat each other.
const REASONING: [&str; 6] =
    ["reasoning_content", "reasoning", "thinking", "thinking_blocks", "reasoning_details", "summary"];

/// Fields of a message with what is neither text nor a call.
const MEDIA: [&str; 3] = ["audio", "images", "image_url"];

/// Fields of a message that are read, or say nothing.
const KNOWN: [&str; 9] = ["content", "text", "refusal", "tool_calls", "function_call", "role", "type", "id", "object"];

/// Takes a message, or a piece of one, except its tool calls, which it returns.
pub(super) fn message(message: &Value, draft: &mut Draft) -> Result<Vec<CallPiece>, Error> {
    let Value::Object(map) = message else { return content(message, draft).map(|()| Vec::new()) };
    let (said, again) = (&message["content"], &message["text"]);
    content(if holds(said) { said } else { again }, draft)?;
    if holds(said) && holds(again) && said != again {
        return Err(unknown("`content` and `text`", message));
    }
    refusal(&message["refusal"], draft)?;
    let mut told: Vec<String> = Vec::new();
    for words in REASONING.iter().filter_map(|field| map.get(*field)).map(words) {
        if !told.contains(&words) {
            draft.reasoning(&words)?;
            told.push(words);
        }
    }
    if let Some(field) = MEDIA.iter().find(|field| has_words(&message[**field])) {
        return Err(unknown("a field", field));
    }
    unread(message, &[&KNOWN, &REASONING, &MEDIA], draft);
    calls(message)
}

/// Takes what stands where a text is expected.
pub(super) fn content(value: &Value, draft: &mut Draft) -> Result<(), Error> {
    match value {
        Value::Array(parts) => parts.iter().try_for_each(|one| part(one, draft)),
        Value::Object(_) => part(value, draft),
        _ => text(value, draft),
    }
}

fn part(part: &Value, draft: &mut Draft) -> Result<(), Error> {
    match part["type"].as_str() {
        Some("text" | "output_text") => text(&part["text"], draft),
        Some("refusal") => refusal(&part["refusal"], draft),
        Some("thinking" | "reasoning" | "reasoning_text" | "summary_text") => draft.reasoning(&words(part)),
        // Nobody but its server can read it.
        Some("redacted_thinking") => Ok(()),
        Some(kind) => Err(unknown("a part", kind)),
        None if part.as_object().is_some_and(|map| map.keys().eq(["text"])) => text(&part["text"], draft),
        None if part.is_string() => text(part, draft),
        None => Err(unknown("a part", part)),
    }
}

/// Takes a text that may be missing.
pub(super) fn text(value: &Value, draft: &mut Draft) -> Result<(), Error> {
    match value {
        Value::Null => Ok(()),
        Value::String(text) => draft.text(text),
        other => Err(unknown("a text", other)),
    }
}

/// Takes a refusal that may be missing.
pub(super) fn refusal(value: &Value, draft: &mut Draft) -> Result<(), Error> {
    text(value, draft)?;
    if holds(value) {
        draft.refused();
    }
    Ok(())
}

/// The words of reasoning in any form. Encrypted reasoning has none.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Array(items) => items.iter().map(words).collect(),
        Value::Object(map) => {
            let fields = ["text", "content"].into_iter().chain(REASONING);
            fields.filter_map(|field| map.get(field)).map(words).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn calls(message: &Value) -> Result<Vec<CallPiece>, Error> {
    let mut pieces = match &message["tool_calls"] {
        Value::Array(entries) => entries.iter().map(call).collect::<Result<Vec<_>, _>>()?,
        other if holds(other) => return Err(unknown("`tool_calls`", other)),
        _ => Vec::new(),
    };
    // The form from before there were several calls.
    match &message["function_call"] {
        function @ Value::Object(_) => pieces.push(CallPiece::new(Some(LEGACY), &Value::Null, function)),
        other if holds(other) => return Err(unknown("a `function_call`", other)),
        _ => {}
    }
    Ok(pieces)
}

fn call(entry: &Value) -> Result<CallPiece, Error> {
    let function = match &entry["function"] {
        Value::Null => entry,
        function => function,
    };
    let is_function = matches!(entry["type"].as_str(), None | Some("" | "function"));
    if !function.is_object() || !is_function {
        return Err(unknown("a tool call", entry));
    }
    Ok(CallPiece::new(entry["index"].as_u64(), &entry["id"], function))
}

/// Notes the fields of an object that are not known and have words.
pub(super) fn unread(object: &Value, known: &[&[&str]], draft: &mut Draft) {
    for (name, value) in object.as_object().into_iter().flatten() {
        if !known.iter().any(|names| names.contains(&name.as_str())) && has_words(value) {
            draft.unread(name);
        }
    }
}

/// True if there is a text in a value: some servers send every field, and those that are not used are empty.
pub(super) fn has_words(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(has_words),
        Value::Object(map) => map.values().any(has_words),
    }
}

/// True if a value is there, and not empty.
pub(super) fn holds(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
