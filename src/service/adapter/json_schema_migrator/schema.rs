//! A compiled schema: it judges values, whole and by subschema, with the `jsonschema` crate.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::{PatternOptions, Retrieve, Uri, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};

use super::{
    library::{Library, Place, Read},
    params::{Draft, Params, Source},
};
use crate::{
    base::error::{Code, Error},
    system::schema::explain,
};

/// A violation that is left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Problem {
    /// The JSON Pointer.
    pub(super) pointer: String,
    /// The keyword of the schema.
    pub(super) keyword: String,
    /// The reason, as a phrase.
    pub(super) reason: String,
}

/// A schema that is ready to judge.
pub(super) struct Schema {
    /// Its files.
    pub(super) library: Library,
    validator: Validator,
    resources: Arc<BTreeMap<String, Value>>,
    check_formats: bool,
    parts: Mutex<BTreeMap<String, Option<Arc<Validator>>>>,
}

struct Local(Arc<BTreeMap<String, Value>>);

impl Retrieve for Local {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        self.0.get(uri.as_str()).cloned().ok_or_else(|| "it is not in the tree".into())
    }
}

impl Schema {
    /// Reads and compiles a schema.
    pub(super) fn load(source: &Source, params: &Params, read: Read<'_>) -> Result<Self, Error> {
        let library = Library::load(source, params, read)?;
        let resources = Arc::new(library.resources.clone());
        let root = &resources[&library.root];
        let draft = library.draft(&library.root);
        let validator = build(root, &library.root, draft, &resources, params.check_formats)
            .map_err(|error| refusal(source, &error))?;
        let check_formats = params.check_formats;
        Ok(Schema { library, validator, resources, check_formats, parts: Mutex::default() })
    }

    /// True if a value fits the whole schema.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// True if a value fits a subschema.
    pub(super) fn accepts_at(&self, place: &Place<'_>, value: &Value) -> bool {
        if let Value::Bool(accepts) = place.node {
            return *accepts;
        }
        let location = place.location();
        self.part(&location, place, || json!({"$ref": location}), value)
    }

    /// The patterns of `patternProperties` that match a name.
    pub(super) fn patterns<'s>(&self, place: &Place<'s>, name: &str) -> Vec<&'s str> {
        let patterns = place.node.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        let name = Value::from(name);
        let matches = |pattern: &&'s String| {
            self.part(&format!("pattern {pattern}"), place, || json!({"pattern": pattern}), &name)
        };
        patterns.map(|(pattern, _)| pattern).filter(matches).map(String::as_str).collect()
    }

    fn part(&self, key: &str, place: &Place<'_>, schema: impl FnOnce() -> Value, value: &Value) -> bool {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let part = parts.entry(key.to_owned()).or_insert_with(|| {
            let draft = self.library.draft_at(place);
            build(&schema(), "file:///?part", draft, &self.resources, self.check_formats).ok().map(Arc::new)
        });
        let part = part.clone();
        drop(parts);
        part.is_some_and(|part| part.is_valid(value))
    }

    /// The violations of a value: one for each place and keyword, sorted.
    pub(super) fn problems(&self, value: &Value) -> Vec<Problem> {
        let schema = &self.resources[&self.library.root];
        let mut problems: Vec<Problem> = self
            .validator
            .iter_errors(value)
            .map(|error| {
                let violation = explain(&error, schema);
                Problem { pointer: violation.pointer, keyword: violation.keyword, reason: violation.message }
            })
            .collect();
        problems.sort();
        problems.dedup_by(|a, b| (&a.pointer, &a.keyword) == (&b.pointer, &b.keyword));
        problems
    }

    /// The members that `unevaluatedProperties` forbids, with the pointers of their objects.
    pub(super) fn unevaluated(&self, value: &Value) -> Vec<(String, Vec<String>)> {
        let errors = self.validator.iter_errors(value);
        let unexpected = errors.filter_map(|error| match error.kind() {
            ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                Some((error.instance_path().as_str().to_owned(), unexpected.clone()))
            }
            _ => None,
        });
        unexpected.collect()
    }
}

fn build(
    schema: &Value,
    url: &str,
    draft: Draft,
    resources: &Arc<BTreeMap<String, Value>>,
    check_formats: bool,
) -> Result<Validator, ValidationError<'static>> {
    let mut options = jsonschema::options()
        .with_retriever(Local(Arc::clone(resources)))
        .with_base_uri(url)
        .should_validate_formats(check_formats)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json")
        .with_pattern_options(PatternOptions::regex());
    if schema.get("$schema").is_none() {
        options = options.with_draft(match draft {
            Draft::Four => jsonschema::Draft::Draft4,
            Draft::Six => jsonschema::Draft::Draft6,
            Draft::Seven => jsonschema::Draft::Draft7,
            Draft::Of2019 => jsonschema::Draft::Draft201909,
            Draft::Of2020 => jsonschema::Draft::Draft202012,
        });
    }
    options.build(schema)
}

/// The reason that a schema can't be used.
fn refusal(source: &Source, error: &ValidationError<'_>) -> Error {
    let name = match source {
        Source::Path(path) => format!("the schema `{path}`"),
        Source::Inline(_) => "the schema".to_owned(),
    };
    let what = match error.kind() {
        ValidationErrorKind::Referencing(error) => format!("has a reference that can't be followed: {error}"),
        ValidationErrorKind::Format { format } if format == "regex" => format!(
            "has the pattern {} at `{}`, which can't be matched in linear time",
            error.instance(),
            error.instance_path()
        ),
        _ => match error.instance_path().as_str() {
            "" => format!("is not a JSON Schema: {}", error.masked_with("it")),
            at => format!("is not a JSON Schema: `{at}`: {}", error.masked_with("it")),
        },
    };
    Error::new(Code::InvalidInput, format!("{name} {what}"))
}
