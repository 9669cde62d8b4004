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
use base::{
    error::{Code, Error},
    regular,
};
use system::schema::explain;

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
    /// True if a file has `unevaluatedProperties`.
    pub(super) has_unevaluated: bool,
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
            .map_err(|error| refusal(source, root, &error))?;
        let check_formats = params.check_formats;
        let has_unevaluated = resources.values().any(|file| file.to_string().contains("\"unevaluatedProperties\""));
        Ok(Schema { library, has_unevaluated, validator, resources, check_formats, parts: Mutex::default() })
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

    /// True if a subschema accepts nothing: `false`, its spelling in draft 4, or a reference to one of them.
    pub(super) fn is_never(&self, place: &Place<'_>) -> bool {
        let accepts_all =
            |schema: &Value| schema == &Value::Bool(true) || schema.as_object().is_some_and(|map| map.is_empty());
        place.node == &Value::Bool(false)
            || place.node.get("not").is_some_and(accepts_all)
            || self.library.references(place).iter().any(|target| self.is_never(target))
    }

    /// The subschemas in `properties` and `patternProperties` for a name.
    pub(super) fn named<'s>(&self, place: &Place<'s>, name: &str) -> Vec<Place<'s>> {
        let patterns = place.node.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        let text = Value::from(name);
        let matches = |pattern: &&'s String| {
            self.part(&format!("pattern {pattern}"), place, || json!({"pattern": pattern}), &text)
        };
        let patterns = patterns.map(|(pattern, _)| pattern).filter(matches);
        let by_pattern = patterns.filter_map(|pattern| place.child(&["patternProperties", pattern]));
        place.child(&["properties", name]).into_iter().chain(by_pattern).collect()
    }

    /// `invalid_input` if a place of `fixes.enum` is none of the schema.
    pub(super) fn check_places<'a>(&self, mut places: impl Iterator<Item = &'a String>) -> Result<(), Error> {
        let missing = places.find(|place| !self.library.has(place));
        missing.map_or(Ok(()), |place| {
            Err(Error::new(Code::InvalidInput, format!("`fixes.enum` has `{place}`, which is not in the schema"))
                .hint("name a place in the file of the schema itself, as in `#/properties/color`"))
        })
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
        .with_pattern_options(PatternOptions::regex().size_limit(regular::program_in(schema)));
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

/// The metaschemas of the drafts, without their schemes.
const METASCHEMAS: &[&str] = &[
    "//json-schema.org/draft-04/schema",
    "//json-schema.org/draft-06/schema",
    "//json-schema.org/draft-07/schema",
    "//json-schema.org/draft/2019-09/schema",
    "//json-schema.org/draft/2020-12/schema",
];

/// The reason that a schema can't be used.
fn refusal(source: &Source, root: &Value, error: &ValidationError<'_>) -> Error {
    let name = match source {
        Source::Path(path) => format!("the schema `{path}`"),
        Source::Inline(_) => "the schema".to_owned(),
    };
    let draft = root.get("$schema").and_then(Value::as_str);
    let is_unknown = |draft: &str| !METASCHEMAS.iter().any(|known| draft.trim_end_matches('#').ends_with(known));
    let (what, hint) = match error.kind() {
        _ if draft.is_some_and(is_unknown) => (
            format!("has the `$schema` `{}`, which is no known draft", draft.unwrap_or_default()),
            "drafts 4, 6, 7, 2019-09 and 2020-12 are known; leave `$schema` out to use `params.draft`",
        ),
        ValidationErrorKind::Referencing(error) => (
            format!("has a reference that can't be followed: {error}"),
            "mend the `$ref`, or name its file in `params.refs`",
        ),
        ValidationErrorKind::Format { format } if format == "regex" => {
            let (wrong, hint) = pattern_fault(error.instance().as_str().unwrap_or_default());
            (format!("has the pattern {} at `{}`, which {wrong}", error.instance(), error.instance_path()), hint)
        }
        _ => {
            let place = match error.instance_path().as_str() {
                "" => String::new(),
                at => format!("`{at}`: "),
            };
            let reason = format!("is not a JSON Schema: {place}{}", error.masked_with("it"));
            (reason, "mend it, or name its draft in `params.draft`")
        }
    };
    Error::new(Code::InvalidInput, format!("{name} {what}")).hint(hint)
}

/// The reason that a pattern can't be used, and the next step.
fn pattern_fault(pattern: &str) -> (&'static str, &'static str) {
    let reason = regular::compile(pattern).err().map(|error| error.to_string()).unwrap_or_default();
    match () {
        () if reason.contains("look-around") || reason.contains("backreference") => {
            ("can't be matched in linear time", "write it without look-around and back-references")
        }
        () if reason.contains("size limit") || reason.contains("bytes, and may have") => {
            ("is too large", "write it with smaller repetitions")
        }
        () => ("is not a regular expression", "mend the pattern"),
    }
}
