//! The verifier's judgement of values. `boon` says if one is valid. `jsonschema` counts violations, as the record does.
//!
//! A value is valid if both accept it: no doubt of either is passed over.
//!
//! The files of a schema are found here by another way than the proposer's: compilation names the one that is missing.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use jsonschema::{PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;
use url::Url;

use super::{
    super::params::{Draft, Params, Source},
    cuts::pointer,
    decimal,
};
use crate::Context;
use base::{
    error::{Code, Error},
    json,
    path::RepoPath,
    regular,
};

/// The URL of a schema without a file.
const INLINE: &str = "file:///?inline";

/// The largest number of files of a schema.
const MOST_FILES: usize = 1_000;

/// A schema that both validators hold.
pub(super) struct Judge {
    schemas: Schemas,
    index: SchemaIndex,
    counter: Validator,
    /// The files of the schema.
    pub(super) files: Vec<Value>,
}

/// A violation as the verifier reports it.
pub(super) struct Violation {
    /// The JSON Pointer.
    pub(super) pointer: String,
    /// The reason.
    pub(super) reason: String,
}

impl Judge {
    /// Reads and compiles a schema.
    pub(super) fn load(ctx: &Context<'_>, source: &Source, params: &Params) -> Result<Self, Error> {
        let (url, root, home) = match source {
            Source::Path(path) => {
                let path = RepoPath::parse(path)?;
                let mut url = Url::parse("file:///").map_err(|error| refuse(&error.to_string()))?;
                url.set_path(path.as_str());
                (url.to_string(), content(ctx, &path)?, Some(path))
            }
            Source::Inline(schema) => (INLINE.to_owned(), schema.clone(), None),
        };
        let mut files = BTreeMap::from([(url.clone(), root)]);
        let mut homes: Vec<(String, RepoPath)> = Vec::new();
        if let Some(home) = home {
            homes.extend(own_url(&files[&url]).map(|own| (own, home)));
        }
        loop {
            match compiled(&url, &files, params) {
                Ok((schemas, index)) => {
                    let counter = counter(&url, &files, params)?;
                    return Ok(Judge { schemas, index, counter, files: files.into_values().collect() });
                }
                Err(Missing::File(missing)) if files.len() < MOST_FILES && !files.contains_key(&missing) => {
                    let path = local(&missing, params, &homes)?;
                    let file = content(ctx, &path)?;
                    homes.extend(own_url(&file).map(|own| (own, path)));
                    files.insert(missing, file);
                }
                Err(Missing::File(missing)) => return Err(refuse(&format!("it refers to `{missing}`"))),
                Err(Missing::Sense(reason)) => return Err(refuse(&reason)),
            }
        }
    }

    /// True if both validators accept a value.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.counts(value)
            && self.schemas.validate(value, self.index).map_or_else(|error| is_rounded(&error), |()| true)
    }

    /// True if the validator of the record accepts a value.
    pub(super) fn counts(&self, value: &Value) -> bool {
        self.counter.is_valid(value)
    }

    /// The first violation that `boon` finds, or else `jsonschema`.
    pub(super) fn violation(&self, value: &Value) -> Option<Violation> {
        if let Some(error) = self.schemas.validate(value, self.index).err().filter(|error| !is_rounded(error)) {
            let mut leaf = &error;
            while let Some(cause) = leaf.causes.iter().find(|cause| !is_rounded(cause)) {
                leaf = cause;
            }
            let doubt = if self.counts(value) { ", though another validator accepts it" } else { "" };
            let (pointer, reason) = (leaf.instance_location.to_string(), &leaf.kind);
            return Some(Violation { pointer, reason: format!("{reason}{doubt}") });
        }
        let error = self.counter.iter_errors(value).next()?;
        let (pointer, reason) = (error.instance_path().as_str().to_owned(), error.masked_with("the value"));
        Some(Violation { pointer, reason: format!("{reason}, though another validator accepts it") })
    }

    /// The places of violations that do not depend on a choice between alternatives.
    pub(super) fn violated(&self, value: &Value) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        let error = self.schemas.validate(value, self.index).err();
        let mut open: Vec<&ValidationError<'_, '_>> = error.iter().collect();
        while let Some(error) = open.pop() {
            let at = error.instance_location.to_string();
            let names: Vec<&str> = match &error.kind {
                ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } | ErrorKind::AllOf => {
                    open.extend(&error.causes);
                    continue;
                }
                ErrorKind::Required { want } => want.clone(),
                ErrorKind::AdditionalProperties { got } => got.iter().map(AsRef::as_ref).collect(),
                _ => Vec::new(),
            };
            places.extend(names.iter().map(|name| format!("{at}{}", pointer(&[(*name).to_owned()]))));
            places.insert(at);
        }
        places
    }

    /// True if a schema that is `false` rejects the value at a place, outside of alternatives.
    pub(super) fn forbids(&self, value: &Value, place: &[String]) -> bool {
        let (error, place) = (self.schemas.validate(value, self.index).err(), pointer(place));
        let mut open: Vec<&ValidationError<'_, '_>> = error.iter().collect();
        while let Some(error) = open.pop() {
            match &error.kind {
                ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } | ErrorKind::AllOf => {
                    open.extend(&error.causes);
                }
                ErrorKind::FalseSchema if error.instance_location.to_string() == place => return true,
                _ => {}
            }
        }
        false
    }

    /// The numbers of violations by keyword, each place of each keyword once; none if `jsonschema` accepts the value.
    pub(super) fn count(&self, value: &Value) -> BTreeMap<String, u64> {
        let mut found: Vec<(String, String)> = self
            .counter
            .iter_errors(value)
            .map(|error| (error.kind().keyword().to_owned(), error.instance_path().as_str().to_owned()))
            .collect();
        found.sort();
        found.dedup();
        let mut counts = BTreeMap::new();
        found.into_iter().for_each(|(keyword, _)| *counts.entry(keyword).or_default() += 1);
        counts
    }
}

/// The reason that a schema can't be compiled yet, or at all.
enum Missing {
    File(String),
    Sense(String),
}

/// The files that are known, for `boon`; it notes the first one that is missing.
struct Known {
    files: BTreeMap<String, Value>,
    missing: Rc<RefCell<Option<String>>>,
}

impl UrlLoader for Known {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        if let Some(file) = self.files.get(url) {
            return Ok(file.clone());
        }
        self.missing.borrow_mut().get_or_insert_with(|| url.to_owned());
        Err("it is not in the tree".into())
    }
}

fn compiled(url: &str, files: &BTreeMap<String, Value>, params: &Params) -> Result<(Schemas, SchemaIndex), Missing> {
    let missing = Rc::new(RefCell::new(None));
    let mut compiler = Compiler::new();
    compiler.set_default_draft(match params.draft {
        Draft::Four => boon::Draft::V4,
        Draft::Six => boon::Draft::V6,
        Draft::Seven => boon::Draft::V7,
        Draft::Of2019 => boon::Draft::V2019_09,
        Draft::Of2020 => boon::Draft::V2020_12,
    });
    if params.check_formats {
        compiler.enable_format_assertions();
    } else {
        silence_formats(&mut compiler);
    }
    compiler.use_loader(Box::new(Known { files: files.clone(), missing: Rc::clone(&missing) }));
    let mut schemas = Schemas::new();
    let result = compiler.compile(url, &mut schemas);
    let wanted = missing.borrow_mut().take();
    match (result, wanted) {
        (Ok(index), _) => Ok((schemas, index)),
        (Err(CompileError::LoadUrlError { .. }), Some(wanted)) => Err(Missing::File(wanted)),
        (Err(error), _) => Err(Missing::Sense(error.to_string())),
    }
}

/// Makes every format an annotation in all drafts.
fn silence_formats(compiler: &mut Compiler) {
    const FORMATS: &[&str] = &[
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "idn-email",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "iri",
        "iri-reference",
        "json-pointer",
        "period",
        "relative-json-pointer",
        "semver",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
        "uuid",
    ];
    for name in FORMATS {
        compiler.register_format(boon::Format { name, func: |_| Ok(()) });
    }
}

struct Local(BTreeMap<String, Value>);

impl Retrieve for Local {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        self.0.get(uri.as_str()).cloned().ok_or_else(|| "it is not in the tree".into())
    }
}

fn counter(url: &str, files: &BTreeMap<String, Value>, params: &Params) -> Result<Validator, Error> {
    let options = jsonschema::options()
        .with_retriever(Local(files.clone()))
        .with_base_uri(url)
        .should_validate_formats(params.check_formats)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json")
        .with_pattern_options(PatternOptions::regex().size_limit(regular::program_in(&files[url])));
    let draft = match params.draft {
        _ if files[url].get("$schema").is_some() => None,
        Draft::Four => Some(jsonschema::Draft::Draft4),
        Draft::Six => Some(jsonschema::Draft::Draft6),
        Draft::Seven => Some(jsonschema::Draft::Draft7),
        Draft::Of2019 => Some(jsonschema::Draft::Draft201909),
        Draft::Of2020 => Some(jsonschema::Draft::Draft202012),
    };
    let options = draft.map_or_else(|| options.clone(), |draft| options.clone().with_draft(draft));
    options.build(&files[url]).map_err(|error| refuse(&error.to_string()))
}

/// True if an error of `boon` is one of its rounding: it divides floats, so that 4.02 is no multiple of 0.01.
fn is_rounded(error: &ValidationError<'_, '_>) -> bool {
    match &error.kind {
        ErrorKind::MultipleOf { got, want } => decimal::is_multiple(got, want),
        ErrorKind::AnyOf => error.causes.iter().any(is_rounded),
        ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } | ErrorKind::AllOf => {
            !error.causes.is_empty() && error.causes.iter().all(is_rounded)
        }
        _ => false,
    }
}

fn refuse(reason: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the schema can't be read a second time: {reason}"))
}

fn own_url(schema: &Value) -> Option<String> {
    let own = schema.get("$id").or_else(|| schema.get("id"))?.as_str()?;
    Some(own.split('#').next().unwrap_or_default().to_owned()).filter(|own| !own.is_empty())
}

/// The file in place of a URL: one of the parameters, one beneath the root, or a neighbour.
fn local(url: &str, params: &Params, homes: &[(String, RepoPath)]) -> Result<RepoPath, Error> {
    if let Some(path) = params.refs.get(url) {
        return RepoPath::parse(path);
    }
    let decoded = |text: &str| -> String {
        let form = text.replace('+', "%2B");
        url::form_urlencoded::parse(form.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
    };
    if let Some(path) = url.strip_prefix("file:///") {
        return RepoPath::parse(&decoded(path));
    }
    for (own, home) in homes {
        let folder = own.rfind('/').map_or("", |end| &own[..=end]);
        if let Some(rest) = url.strip_prefix(folder).filter(|rest| !rest.is_empty() && !folder.is_empty()) {
            let beside = home.as_str().rfind('/').map_or("", |end| &home.as_str()[..=end]);
            return RepoPath::parse(&format!("{beside}{}", decoded(rest)));
        }
    }
    Err(refuse(&format!("it refers to `{url}`, which is not in the tree")))
}

fn content(ctx: &Context<'_>, path: &RepoPath) -> Result<Value, Error> {
    let bytes = ctx.view.read(path)?.into_bytes();
    let text = String::from_utf8(bytes).map_err(|_| refuse(&format!("`{path}` is not UTF-8")))?;
    json::parse_distinct(text.trim_start_matches('\u{feff}'))
        .map_err(|error| refuse(&format!("`{path}` is not JSON: {error}")))
}
