//! JSON Schema: compiles a schema once, checks values against it, and describes violations.
//!
//! Nothing is ever fetched: compilation refuses a reference that leads out of the schema. Patterns run in linear time, formats
//! are asserted. Drafts 4 to 2020-12 are supported (2020-12 without `$schema`).

pub mod reply;
mod violation;

use std::fmt;

use jsonschema::{PatternOptions, ReferencingError, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::Value;

pub use self::violation::{Violation, explain};
use base::{
    error::{Code, Error},
    json, regular,
};

/// A schema that may be JSON text; other values stay as they are. `invalid_input` if the text is not JSON.
pub fn of_text(schema: Value) -> Result<Value, Error> {
    let Value::String(text) = schema else { return Ok(schema) };
    json::parse_distinct(&text)
        .map_err(|error| Error::new(Code::InvalidInput, format!("the schema is a text that is not JSON: {error}")))
}

/// The number of violations in the message of an error; `details.violations` has more.
const IN_MESSAGE: usize = 5;

/// The largest number of violations that an error carries.
const IN_DETAILS: usize = 100;

/// A compiled JSON Schema.
pub struct Schema {
    validator: Validator,
    document: Value,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// A schema that violates its own draft, has a pattern that is not linear, or refers to something outside itself is
    /// `invalid_input`.
    pub fn compile(schema: &Value) -> Result<Self, Error> {
        let validator = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex().size_limit(regular::program_in(schema)))
            .build(schema)
            .map_err(|error| refusal(&error))?;
        Ok(Schema { validator, document: schema.clone() })
    }

    /// All violations of a value, by place, keyword and message; empty if it fits.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let explain = |error: ValidationError<'_>| violation::explain(&error, &self.document);
        let mut violations: Vec<_> = self.validator.iter_errors(value).take(IN_DETAILS).map(explain).collect();
        violations.sort();
        violations.dedup();
        violations
    }

    /// Checks that a value fits; otherwise `invalid_input` with `details.violations`.
    pub fn check(&self, value: &Value) -> Result<(), Error> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let violations = self.violations(value);
        let mut message = violations.iter().take(IN_MESSAGE).map(Violation::to_string).collect::<Vec<_>>().join("; ");
        if let more @ 1.. = violations.len().saturating_sub(IN_MESSAGE) {
            message.push_str(&format!("; and {more} more"));
        }
        let list = Value::Array(violations.iter().map(Violation::to_json).collect());
        Err(Error::new(Code::InvalidInput, message).detail("violations", list))
    }

    /// True if a value fits.
    pub fn accepts(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// The schema as it was given.
    pub fn document(&self) -> &Value {
        &self.document
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.document).finish()
    }
}

/// The reason that a schema can't be used.
fn refusal(error: &ValidationError<'_>) -> Error {
    let refuse = |message: String| Error::new(Code::InvalidInput, message);
    if let ValidationErrorKind::Referencing(error) = error.kind() {
        return match error {
            ReferencingError::Unretrievable { uri, .. } => {
                let shown = uri.strip_prefix("json-schema:///").unwrap_or(uri);
                refuse(format!("the schema refers to `{shown}`, which is not part of it; nothing is ever fetched"))
                    .hint("copy what is needed into `$defs` and refer to it as `#/$defs/NAME`")
            }
            ReferencingError::PointerToNowhere { pointer } => {
                refuse(format!("the schema refers to `#{pointer}`, which does not exist in it"))
            }
            ReferencingError::UnknownSpecification { specification } => {
                refuse(format!("the schema's `$schema` is `{specification}`, which is not a draft from 4 to 2020-12"))
            }
            ReferencingError::InvalidPercentEncoding { .. }
            | ReferencingError::InvalidArrayIndex { .. }
            | ReferencingError::NoSuchAnchor { .. }
            | ReferencingError::InvalidAnchor { .. }
            | ReferencingError::InvalidUri(_)
            | ReferencingError::CircularMetaschema { .. } => {
                refuse(format!("a reference in the schema can't be followed: {error}"))
            }
        };
    }
    let place = error.instance_path().as_str();
    let what = violation::describe(error, &Value::Null);
    match place {
        "" => refuse(format!("the schema is not a JSON Schema: {what}")),
        _ => refuse(format!("the schema is not a JSON Schema: `{place}`: {what}")).detail("pointer", place),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(schema: &Value, value: &Value, expected: &[(&str, &str)]) -> String {
        let error = Schema::compile(schema).unwrap().check(value).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        let found: Vec<(String, String)> = error.details()["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["pointer"].as_str().unwrap().to_owned(), one["keyword"].as_str().unwrap().to_owned()))
            .collect();
        let found: Vec<_> = found.iter().map(|(pointer, keyword)| (pointer.as_str(), keyword.as_str())).collect();
        assert_eq!(found, expected);
        error.message().to_owned()
    }

    #[track_caller]
    fn no_schema(schema: &Value, words: &str) {
        let error = Schema::compile(schema).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(error.message().contains(words), "{error}");
    }

    #[test]
    fn a_value_that_fits_is_accepted() {
        let schema = Schema::compile(&json!({"type": "object", "required": ["a"]})).unwrap();
        schema.check(&json!({"a": 1})).unwrap();
        assert!(schema.accepts(&json!({"a": 1})) && !schema.accepts(&json!({})));
    }

    #[test]
    fn violations_come_with_pointers_in_a_fixed_order() {
        let schema = json!({
            "properties": {"b": {"type": "array", "items": {"type": "integer"}}, "a/x": {"enum": ["1", "2"]}},
            "required": ["c"],
        });
        let message = refused(
            &schema,
            &json!({"b": [1, "two", true], "a/x": 3}),
            &[("", "required"), ("/a~1x", "enum"), ("/b/1", "type"), ("/b/2", "type")],
        );
        assert_eq!(
            message,
            "the field `c` is missing; `/a~1x`: the value is not one of \"1\" or \"2\"; \
             `/b/1`: must be an integer, not a string; `/b/2`: must be an integer, not a boolean"
        );
    }

    #[test]
    fn an_unknown_field_names_the_nearest_known_one() {
        let schema = json!({
            "properties": {"in": {"$ref": "#/$defs/input"}},
            "$defs": {"input": {"properties": {"max_files": {}, "glob": {}}, "additionalProperties": false}},
        });
        let message = refused(&schema, &json!({"in": {"max_file": 1}}), &[("/in", "additionalProperties")]);
        assert_eq!(message, "`/in`: the field `max_file` is unknown, did you mean `max_files`?");
        let message = refused(&schema, &json!({"in": {"zzz": 1, "y": 2}}), &[("/in", "additionalProperties")]);
        assert_eq!(message, "`/in`: the fields `y`, `zzz` are unknown; known are `glob`, `max_files`");
    }

    #[test]
    fn an_alternative_says_what_the_nearest_form_lacks() {
        let schema = json!({"oneOf": [
            {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            {"properties": {"kind": {"const": "b"}, "size": {"type": "integer"}}, "required": ["kind", "size"]},
        ]});
        let message = refused(&schema, &json!({"kind": "b", "size": "x"}), &[("", "oneOf")]);
        assert_eq!(
            message,
            "fits none of the 2 allowed forms; the nearest fails: `/size`: must be an integer, not a string"
        );
    }

    #[test]
    fn formats_are_asserted_and_patterns_are_linear() {
        refused(&json!({"format": "date"}), &json!("21 May"), &[("", "format")]);
        refused(&json!({"pattern": "^a+$"}), &json!("b"), &[("", "pattern")]);
        no_schema(&json!({"pattern": "(a)\\1"}), "pattern");
    }

    #[test]
    fn nothing_is_fetched() {
        for uri in ["http://example.com/a.json", "https://example.com/a.json", "file:///etc/hostname", "other.json"] {
            no_schema(&json!({"$ref": uri}), "nothing is ever fetched");
            no_schema(&json!({"$ref": uri}), uri);
        }
        no_schema(&json!({"$ref": "#/$defs/none"}), "does not exist in it");
        no_schema(&json!({"$schema": "http://example.com/draft-99"}), "draft from 4");
    }

    #[test]
    fn drafts_differ() {
        let schema = |draft: &str| json!({"$schema": draft, "items": [{"type": "integer"}]});
        let old = Schema::compile(&schema("http://json-schema.org/draft-07/schema#")).unwrap();
        assert!(!old.accepts(&json!(["x"])));
        let four =
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": true});
        assert!(!Schema::compile(&four).unwrap().accepts(&json!(3)));
        let newest = json!({"prefixItems": [{"type": "integer"}]});
        assert!(!Schema::compile(&newest).unwrap().accepts(&json!(["x"])));
        no_schema(&schema("https://json-schema.org/draft/2020-12/schema"), "`/items`");
    }

    #[test]
    fn a_schema_that_is_none_says_where() {
        no_schema(&json!({"properties": {"a": {"type": "strng"}}}), "`/properties/a/type`");
        no_schema(&json!(3), "not a JSON Schema");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let tree = json!({"properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
        refused(&tree, &json!({"next": {"next": {"nxt": 1}}}), &[("/next/next", "additionalProperties")]);
        let circles = [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"not": {"anyOf": [{"$ref": "#"}]}}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        ];
        for circle in circles {
            // Either result is good; only a hang would be wrong.
            let _ = Schema::compile(&circle).map(|schema| schema.check(&json!({"a": 1})));
        }
    }

    #[test]
    fn a_long_list_is_cut_in_the_message_only() {
        let schema = Schema::compile(&json!({"items": {"type": "string"}})).unwrap();
        let error = schema.check(&json!([1, 2, 3, 4, 5, 6, 7, 8])).unwrap_err();
        assert!(error.message().ends_with("; and 3 more"), "{error}");
        assert_eq!(error.details()["violations"].as_array().unwrap().len(), 8);
    }
}
