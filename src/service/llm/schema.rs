//! The schema of a reply, in two forms: the author's, which every reply is checked against, and the wire form derived from it.
//!
//! Servers enforce only parts of JSON Schema, and differ in these parts. In the wire form all fields are required, optional
//! ones may be null, no others are allowed, and limits of length are omitted. The resulting nulls are removed before a reply is
//! checked.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value, json};

use base::{error::Error, hash::Sha256, json};
use system::schema::{
    Schema,
    reply::{self, Fence},
};

/// Keywords without an equivalent on the wire: limits that only cut, and keywords unrelated to the form.
const LEFT_OUT: &[&str] = &[
    "$id",
    "$schema",
    "default",
    "examples",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "uniqueItems",
];

/// The number of references that are followed without progress.
const DEEPEST: usize = 8;

/// A schema for replies.
#[derive(Clone)]
pub struct ReplySchema {
    compiled: Arc<Schema>,
    wire: Value,
    wire_sha256: Sha256,
}

impl ReplySchema {
    /// Takes the author's schema; `invalid_input` if it is not a schema.
    pub fn new(author: &Value) -> Result<Self, Error> {
        let compiled = Arc::new(Schema::compile(author)?);
        let wire = derived(author, true);
        let wire_sha256 = json::sha256(&wire)?;
        Ok(ReplySchema { compiled, wire, wire_sha256 })
    }

    /// The schema as it was given.
    pub fn author(&self) -> &Value {
        self.compiled.document()
    }

    /// The schema in its wire form.
    pub fn wire(&self) -> &Value {
        &self.wire
    }

    /// The hash of the wire form.
    pub fn wire_sha256(&self) -> &Sha256 {
        &self.wire_sha256
    }

    /// The text of a reply as a value, without the nulls of optional fields; an error if it does not fit.
    pub(super) fn parse(&self, text: &str) -> Result<Value, Error> {
        let value = self.without_nulls(reply::parse(text, None, Fence::Refused)?);
        reply::check(&value, &self.compiled)?;
        Ok(value)
    }

    fn without_nulls(&self, mut value: Value) -> Value {
        Author { root: self.author() }.take_nulls(self.author(), &mut value, 0);
        value
    }
}

impl fmt::Debug for ReplySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReplySchema").field(self.author()).finish()
    }
}

/// The wire form. `closed`: objects allow no other fields; where several schemas hold at once, none may forbid them.
fn derived(schema: &Value, closed: bool) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let closed = closed && !map.contains_key("allOf");
    let mut wire = Map::new();
    for (keyword, value) in map.iter().filter(|(keyword, _)| !LEFT_OUT.contains(&keyword.as_str())) {
        let value = match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(parts)) => {
                parts.iter().map(|(name, part)| (name.clone(), derived(part, true))).collect()
            }
            ("anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(parts)) => {
                parts.iter().map(|part| derived(part, closed)).collect()
            }
            ("allOf", Value::Array(parts)) => parts.iter().map(|part| derived(part, false)).collect(),
            ("items" | "additionalProperties", Value::Object(_)) => derived(value, true),
            _ => value.clone(),
        };
        wire.insert(keyword.clone(), value);
    }
    if closed {
        close(&mut wire, map.get("required"));
    }
    Value::Object(wire)
}

/// Requires every field of an object and allows no others; optional ones may be null.
fn close(wire: &mut Map<String, Value>, required: Option<&Value>) {
    let Some(Value::Object(properties)) = wire.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !has(required, name)) {
        *property = nullable(property.take());
    }
    let names = properties.keys().map(|name| json!(name)).collect();
    wire.insert("required".to_owned(), names);
    wire.insert("additionalProperties".to_owned(), json!(false));
}

fn has(list: Option<&Value>, name: &str) -> bool {
    list.and_then(Value::as_array).is_some_and(|list| list.iter().any(|one| one == name))
}

fn nullable(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return schema };
    let listed = match map.get("type") {
        Some(Value::String(name)) => vec![json!(name)],
        Some(Value::Array(names)) => names.clone(),
        _ => return json!({"anyOf": [map, {"type": "null"}]}),
    };
    if map.contains_key("const") {
        return json!({"anyOf": [map, {"type": "null"}]});
    }
    if !listed.contains(&json!("null")) {
        map.insert("type".to_owned(), listed.into_iter().chain([json!("null")]).collect());
    }
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    Value::Object(map)
}

/// The author's schema, for following its references.
struct Author<'a> {
    root: &'a Value,
}

impl Author<'_> {
    fn take_nulls(&self, schema: &Value, value: &mut Value, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        for part in self.parts(schema) {
            self.take_nulls(part, value, depth + 1);
        }
        match value {
            Value::Object(fields) => {
                let Some(Value::Object(properties)) = schema.get("properties") else { return };
                for (name, property) in properties {
                    let stands_for_none = fields.get(name).is_some_and(Value::is_null)
                        && !has(schema.get("required"), name)
                        && !self.admits_null(property, 0);
                    if stands_for_none {
                        fields.remove(name);
                    } else if let Some(field) = fields.get_mut(name) {
                        self.take_nulls(property, field, 0);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(one @ Value::Object(_)) = schema.get("items") {
                    items.iter_mut().for_each(|item| self.take_nulls(one, item, 0));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The schemas that hold beside this one, or in place of it.
    fn parts<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let mut parts = Vec::new();
        for keyword in ["allOf", "anyOf", "oneOf"] {
            parts.extend(schema.get(keyword).and_then(Value::as_array).into_iter().flatten());
        }
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        parts.extend(reference.and_then(|pointer| self.root.pointer(pointer)));
        parts
    }

    fn admits_null(&self, schema: &Value, depth: usize) -> bool {
        let Value::Object(map) = schema else { return schema == &Value::Bool(true) };
        let by_type = map.get("type").map(|types| types == "null" || has(Some(types), "null"));
        let by_enum = map.get("enum").and_then(Value::as_array).map(|values| values.contains(&Value::Null));
        let by_const = map.get("const").map(Value::is_null);
        match [by_type, by_enum, by_const].into_iter().flatten().reduce(|one, other| one && other) {
            Some(admits) => admits,
            None => {
                let parts = self.parts(schema);
                parts.is_empty() || depth < DEEPEST && parts.iter().any(|part| self.admits_null(part, depth + 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> ReplySchema {
        ReplySchema::new(&json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["diffs"],
            "properties": {
                "diffs": {"type": "array", "maxItems": 4, "items": {"$ref": "#/$defs/diff"}},
                "level": {"enum": ["low", "high"], "type": "string"},
                "note": {"$ref": "#/$defs/note"},
                "free": {},
            },
            "$defs": {
                "diff": {
                    "type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string", "maxLength": 60}, "mode": {"type": ["integer", "null"]},
                                   "checksum": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
                },
                "note": {"type": "string", "maxLength": 9},
            },
        }))
        .unwrap()
    }

    #[test]
    fn what_is_sent_requires_all_allows_no_more_and_limits_no_length() {
        let wire = plan().wire().clone();
        assert_eq!(
            wire,
            json!({
                "type": "object", "required": ["diffs", "free", "level", "note"], "additionalProperties": false,
                "properties": {
                    "diffs": {"type": "array", "items": {"$ref": "#/$defs/diff"}},
                    "level": {"enum": ["low", "high", null], "type": ["string", "null"]},
                    "note": {"anyOf": [{"$ref": "#/$defs/note"}, {"type": "null"}]},
                    "free": {"anyOf": [{}, {"type": "null"}]},
                },
                "$defs": {
                    "diff": {
                        "type": "object", "required": ["checksum", "mode", "path"], "additionalProperties": false,
                        "properties": {"path": {"type": "string"}, "mode": {"type": ["integer", "null"]},
                                       "checksum": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}},
                    },
                    "note": {"type": "string"},
                },
            }),
        );
        Schema::compile(&wire).unwrap();
        assert_eq!(*plan().wire_sha256(), json::sha256(&wire).unwrap());
    }

    #[test]
    fn nulls_of_optional_fields_are_taken_out_and_others_stay() {
        let schema = plan();
        let reply = json!({
            "diffs": [{"path": "a", "mode": null, "checksum": null}], "level": null, "note": null, "free": null,
        });
        let value = schema.without_nulls(reply);
        assert_eq!(value, json!({"diffs": [{"path": "a", "mode": null}], "free": null}));
        schema.compiled.check(&value).unwrap();
    }

    #[test]
    fn schemas_that_hold_at_once_are_not_closed() {
        let author = json!({"allOf": [{"properties": {"a": {"type": "string", "minLength": 1}}}, {"required": ["a"]}]});
        let schema = ReplySchema::new(&author).unwrap();
        assert_eq!(*schema.wire(), json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        for author in
            [json!({"$ref": "#"}), json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"$ref": "#"}}})]
        {
            let Ok(schema) = ReplySchema::new(&author) else { continue };
            assert!(schema.without_nulls(json!({"a": {"a": null}})).is_object());
        }
    }
}
