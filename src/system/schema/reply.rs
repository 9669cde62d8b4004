//! Parses the text of a reply into a value: JSON and nothing else.
//!
//! An error holds the place and the offending value. Values are cut; callers redact secrets before they display them.

use serde_json::{Map, Value, json};

use crate::schema::Schema;
use base::{
    error::{
        Error,
        model::{Kind, lasting},
    },
    json,
    text::quoted,
};

/// The number of characters of an offending value that are shown.
const SHOWN: usize = 200;

/// The permission to put the JSON into a fenced block of Markdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fence {
    /// No fence.
    #[default]
    Refused,
    /// A single fenced block without other text.
    Allowed,
}

/// Parses a reply and checks it.
///
/// Malformed JSON and duplicate keys are `malformed_json`. A value that does not fit is `schema`, with `details.violations`:
/// pointer, keyword, message and the offending value of each.
pub fn parse(text: &str, schema: Option<&Schema>, fence: Fence) -> Result<Value, Error> {
    let json = unfenced(text.trim(), fence)?;
    let value = json::parse_distinct(json).map_err(|error| malformed(json, &error))?;
    if let Some(schema) = schema {
        check(&value, schema)?;
    }
    Ok(value)
}

/// Parses a reply that is a plan of diffs, in the form that `apply.plan` takes. A null field counts as absent: servers that
/// enforce a schema write all of them.
pub fn parse_plan(text: &str, fence: Fence) -> Result<Value, Error> {
    let mut value = parse(text, None, fence)?;
    drop_nulls(&mut value);
    check(&value, &Schema::compile(&plan(true))?)?;
    Ok(value)
}

/// Removes null fields, none of which has a meaning in a plan.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, field| !field.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The schema of a plan for a model. It has no checksums: models make them up, and the host has them.
pub fn plan_schema() -> Value {
    plan(false)
}

/// The schema of a plan of diffs.
fn plan(has_checksums: bool) -> Value {
    let text = json!({"type": "string"});
    let command = json!({
        "type": "object", "required": ["program"], "additionalProperties": false,
        "properties": {
            "program": text, "args": {"type": "array", "items": text},
            "timeout_ms": {"type": ["integer", "null"], "minimum": 0},
        },
    });
    let mut properties = json!({"path": text, "unified_diff": text});
    if has_checksums {
        properties["checksum"] = json!({"type": ["string", "null"]});
    }
    let diff = json!({
        "type": "object", "required": ["path", "unified_diff"], "additionalProperties": false, "properties": properties,
    });
    let post = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"commands": {"type": "array", "items": command}},
    });
    json!({
        "type": "object", "required": ["diffs"], "additionalProperties": false,
        "properties": {"diffs": {"type": "array", "items": diff}, "post": post},
    })
}

fn unfenced(text: &str, fence: Fence) -> Result<&str, Error> {
    let Some(rest) = text.strip_prefix("```") else { return Ok(text) };
    if fence == Fence::Refused {
        return Err(lasting(Kind::MalformedJson, "the reply is a fenced block, not JSON")
            .hint("ask for JSON alone, or allow a fenced block"));
    }
    let body = rest.split_once('\n').filter(|(word, _)| matches!(word.trim(), "" | "json")).map(|(_, body)| body);
    let inner = body.and_then(|body| body.trim_end().strip_suffix("```"));
    // A second fence means that there is more than the block.
    inner.filter(|inner| !inner.lines().any(|line| line.trim_start().starts_with("```"))).ok_or_else(|| {
        lasting(Kind::MalformedJson, "the reply is more than one fenced block of JSON").hint("ask for JSON alone")
    })
}

fn malformed(text: &str, error: &serde_json::Error) -> Error {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let what =
        if text.is_empty() { "the reply is empty".to_owned() } else { format!("the reply is not JSON: {error}") };
    lasting(Kind::MalformedJson, what)
        .detail("line", error.line())
        .detail("column", error.column())
        .detail("excerpt", quoted(line))
}

/// Checks a parsed reply, as [`parse`] does.
pub fn check(value: &Value, schema: &Schema) -> Result<(), Error> {
    let Err(error) = schema.check(value) else { return Ok(()) };
    let told = error.details().get("violations").and_then(Value::as_array).cloned().unwrap_or_default();
    let violations: Vec<Value> = told.into_iter().map(|violation| with_value(violation, value)).collect();
    Err(lasting(Kind::Schema, format!("the reply does not fit its schema: {}", error.message()))
        .detail("violations", violations))
}

fn with_value(violation: Value, value: &Value) -> Value {
    let part = violation.get("pointer").and_then(Value::as_str).and_then(|pointer| value.pointer(pointer));
    let mut map: Map<String, Value> = match violation {
        Value::Object(map) => map,
        other => return other,
    };
    if let Some(part) = part {
        let text = part.to_string();
        let shown = match text.chars().nth(SHOWN) {
            None => part.clone(),
            Some(_) => json!(text.chars().take(SHOWN).chain(['…']).collect::<String>()),
        };
        map.insert("value".to_owned(), shown);
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::model::kind;

    #[track_caller]
    fn malformed(text: &str, fence: Fence, words: &str) -> Error {
        let error = parse(text, None, fence).unwrap_err();
        assert_eq!(kind(&error), Some(Kind::MalformedJson));
        assert!(error.message().contains(words), "{error}");
        error
    }

    #[test]
    fn only_json_is_json() {
        assert_eq!(parse(" {\"a\": 1}\n", None, Fence::Refused).unwrap(), json!({"a": 1}));
        malformed("", Fence::Refused, "empty");
        malformed("Here you are: {}", Fence::Refused, "not JSON");
        malformed("{} and more", Fence::Refused, "trailing characters");
        malformed("{\"a\": {\"b\": 1, \"b\": 2}}", Fence::Refused, "the key `b` stands twice");
        let error = malformed("{\n \"a\": x\n}", Fence::Refused, "line 2");
        assert_eq!((&error.details()["line"], &error.details()["excerpt"]), (&json!(2), &json!("\"a\": x")));
    }

    #[test]
    fn a_fenced_block_has_to_be_allowed_and_alone() {
        let fenced = "```json\n{\"a\": 1}\n```\n";
        malformed(fenced, Fence::Refused, "a fenced block");
        assert_eq!(parse(fenced, None, Fence::Allowed).unwrap(), json!({"a": 1}));
        malformed("```json\n{}\n```\n```json\n{}\n```", Fence::Allowed, "more than one");
        malformed("```json\n{}\n``` done", Fence::Allowed, "more than one");
        malformed("```rust\n{}\n```", Fence::Allowed, "more than one");
    }

    #[test]
    fn violations_have_a_pointer_and_the_offending_value() {
        let schema = Schema::compile(&json!({"properties": {"a": {"items": {"type": "integer"}}}})).unwrap();
        let text = json!({"a": [1, "two", "x".repeat(1000)]}).to_string();
        let error = parse(&text, Some(&schema), Fence::Refused).unwrap_err();
        assert_eq!(kind(&error), Some(Kind::Schema));
        let violations = &error.details()["violations"];
        assert_eq!((&violations[0]["pointer"], &violations[0]["value"]), (&json!("/a/1"), &json!("two")));
        assert!(violations[1]["value"].as_str().unwrap().len() < 210);
    }

    #[test]
    fn a_plan_is_what_apply_takes() {
        let plan = json!({"diffs": [{"path": "a", "unified_diff": "--- a\n"}],
                          "post": {"commands": [{"program": "cargo", "args": ["fmt"], "timeout_ms": 1}]}});
        assert_eq!(parse_plan(&plan.to_string(), Fence::Refused).unwrap(), plan);
        let full =
            json!({"diffs": [{"path": "a", "checksum": null, "unified_diff": "--- a\n"}], "post": {"commands": null}});
        let plain = json!({"diffs": [{"path": "a", "unified_diff": "--- a\n"}], "post": {}});
        assert_eq!(parse_plan(&full.to_string(), Fence::Refused).unwrap(), plain);
        assert!(!plan_schema().to_string().contains("checksum"), "a weak model fills it with noise");
        for wrong in
            [json!({}), json!({"diffs": null}), json!({"diffs": [{"path": "a"}]}), json!({"diffs": [], "more": 1})]
        {
            assert_eq!(kind(&parse_plan(&wrong.to_string(), Fence::Refused).unwrap_err()), Some(Kind::Schema));
        }
    }
}
