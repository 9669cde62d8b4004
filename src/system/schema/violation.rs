//! A violation at one place of a value: the place, the expectation and the nearest valid name, in words.
//!
//! Messages never hold the value itself: it may be large, or secret.

use std::fmt;

use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::{Value, json};

use base::error;

/// The number of known names in a message.
const KNOWN_LISTED: usize = 12;

/// A violation of a schema by a part of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) to the offending part; empty for the whole value.
    pub pointer: String,
    /// The keyword of the schema that it violates, such as `required`.
    pub keyword: String,
    /// A phrase without final period.
    pub message: String,
}

impl Violation {
    pub(super) fn to_json(&self) -> Value {
        json!({"pointer": self.pointer, "keyword": self.keyword, "message": self.message})
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "`{pointer}`: {}", self.message),
        }
    }
}

/// The violation that an error of the validator means. `schema` is searched for names that are near to an unknown one.
pub fn explain(error: &ValidationError<'_>, schema: &Value) -> Violation {
    Violation {
        pointer: error.instance_path().as_str().to_owned(),
        keyword: error.kind().keyword().to_owned(),
        message: describe(error, schema),
    }
}

/// The phrase for one error; `schema` is searched for names that are near to an unknown one.
pub(super) fn describe(error: &ValidationError<'_>, schema: &Value) -> String {
    // Not every kind is matched: the library's own phrase suits most, and new ones must not break the build.
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unknown_fields(unexpected, &known_fields(error, schema))
        }
        ValidationErrorKind::Required { property } => {
            format!("the field `{}` is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Type { kind } => {
            format!("must be {}, not {}", types(kind), article(type_of(error.instance())))
        }
        ValidationErrorKind::FalseSchema => "must not be given".to_owned(),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            nearest_form(context, schema)
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "fits more than one of the forms that exclude each other".to_owned()
        }
        _ => error.masked_with("the value").to_string(),
    }
}

fn unknown_fields(unexpected: &[String], known: &[&str]) -> String {
    let mut unexpected: Vec<&str> = unexpected.iter().map(String::as_str).collect();
    unexpected.sort_unstable();
    if let [one] = unexpected[..]
        && let Some(near) = error::nearest(one, known.iter().copied())
    {
        return format!("the field `{one}` is unknown, did you mean `{near}`?");
    }
    let list = quoted(&unexpected);
    let what = if unexpected.len() == 1 { format!("the field {list} is") } else { format!("the fields {list} are") };
    match known.len() {
        0 => format!("{what} unknown"),
        1..=KNOWN_LISTED => format!("{what} unknown; known are {}", quoted(known)),
        _ => format!("{what} unknown; known are {} and more", quoted(&known[..KNOWN_LISTED])),
    }
}

/// The fields of the schema object in which the error arose.
fn known_fields<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Vec<&'a str> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = schema.pointer(parent).and_then(|object| object.get("properties")).and_then(Value::as_object);
    properties.map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The violations of the form that was probably meant: its `const` and `enum` members fit, and it has the fewest others.
fn nearest_form(forms: &[Vec<ValidationError<'static>>], schema: &Value) -> String {
    let distance = |form: &Vec<ValidationError<'_>>| {
        let wrong_kind = form.iter().any(|error| {
            matches!(error.kind(), ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. })
        });
        (wrong_kind, form.len())
    };
    let nearest = forms.iter().filter(|form| !form.is_empty()).min_by_key(|form| distance(form));
    let what = format!("fits none of the {} allowed forms", forms.len());
    match nearest.and_then(|form| form.iter().map(|error| explain(error, schema)).min()) {
        Some(violation) => format!("{what}; the nearest fails: {violation}"),
        None => what,
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => article(one.as_str()),
        TypeKind::Multiple(set) => {
            set.iter().map(|one: JsonType| article(one.as_str())).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
