//! The description of a user's adapter, from its header.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Value, json};

use super::{counts, expectation::Relation};
use adapter::{contract::Counted, envelope};
use base::error::{Code, Error, nearest};
use system::{schema::Schema, workspace::Globs};

/// The description of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) summary: String,
    /// The globs of its files.
    pub(super) globs: Vec<String>,
    /// The JSON Schema of `params`.
    pub(super) params: Value,
    /// The most files that it takes at once.
    pub(super) max_files: Option<u64>,
    /// Sentences about its counts.
    pub(super) counts: BTreeMap<String, String>,
    /// The count that is above zero if there is work to do.
    pub(super) work: Option<String>,
    /// The relations of counts that a program expects.
    pub(super) expect: Vec<Relation>,
    /// Globs of the files that the policy lets nobody read.
    pub(super) hidden: Vec<String>,
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "version", "glob"],
        "properties": {
            "name": {"type": "string"},
            "version": {"type": "string", "minLength": 1, "maxLength": 64},
            "summary": {"type": "string"},
            "glob": {"anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
            ]},
            "params": {"type": "object"},
            "max_files": {"type": "integer", "minimum": 1},
            "counts": {
                "type": "object", "additionalProperties": {"type": "string"}, "maxProperties": counts::MOST,
                "propertyNames": {"pattern": "^[a-z][a-z0-9_]*$"},
            },
            "work": {"type": "string"},
            "expect": {"type": "array", "items": {"type": "string"}},
        },
    })
});

impl Description {
    /// Reads a header; `name` is the one that its file has.
    pub(super) fn parse(header: &Value, name: &str) -> Result<Self, Error> {
        Schema::compile(&SCHEMA)?.check(header).map_err(|error| wrong(header, &error))?;
        let text = |key: &str| header.get(key).and_then(Value::as_str).map(str::to_owned);
        let found = text("name").unwrap_or_default();
        if found != name {
            return Err(refuse(
                "name",
                format!("its name is `{}`, and its file is called `{name}`", found.escape_debug()),
            )
            .hint("an adapter has the name of its file"));
        }
        let globs: Vec<String> = match &header["glob"] {
            Value::Array(globs) => globs.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            one => one.as_str().map(str::to_owned).into_iter().collect(),
        };
        Globs::parse(&globs).map_err(|error| refuse("glob", format!("its glob can't be used: {error}")))?;
        let params =
            header.get("params").cloned().unwrap_or_else(|| json!({"type": "object", "additionalProperties": false}));
        if params.get("type") != Some(&json!("object")) {
            return Err(refuse("params", "its `params` do not describe an object".to_owned())
                .hint("write `params: #{ type: \"object\", properties: #{ … } }`"));
        }
        Schema::compile(&params)
            .map_err(|error| refuse("params", format!("its `params` are no JSON Schema: {error}")))?;
        check_counts(header)?;
        let relations = header.get("expect").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let relations = relations.map(Relation::parse).collect::<Result<_, _>>();
        let counts = header.get("counts").and_then(Value::as_object).into_iter().flatten();
        Ok(Description {
            name: found,
            version: text("version").unwrap_or_default(),
            summary: text("summary").unwrap_or_else(|| "an adapter of this workspace".to_owned()),
            globs,
            params,
            max_files: header.get("max_files").and_then(Value::as_u64),
            work: text("work"),
            expect: relations.map_err(|why| refuse("expect", why))?,
            hidden: Vec::new(),
            counts: counts.filter_map(|(name, doc)| Some((name.clone(), doc.as_str()?.to_owned()))).collect(),
        })
    }
}

impl Description {
    /// The counts in the output.
    pub(super) fn counted(&self) -> Counted<'_> {
        let own = self.counts.iter().map(|(name, doc)| (name.as_str(), doc.as_str()));
        let baseline = envelope::SURVEYED.into_iter().chain(own).chain([("*", "Another count of the adapter.")]);
        Counted { baseline: baseline.collect(), changes: vec![envelope::FILES], work: self.work.as_deref() }
    }
}

/// True if a name can be part of file names and of `nrv.toml`.
pub fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name.len() <= 64
        && !["approved", "strict_tools"].contains(&name)
}

/// Refuses the header of a source in Rhai that has the expectation of a program.
pub(super) fn check_rhai(header: &Value) -> Result<(), Error> {
    match header.get("expect") {
        Some(_) => Err(refuse("expect", "`expect` is a function of an adapter in Rhai, not a key".to_owned())),
        None => Ok(()),
    }
}

/// The names of its counts are its own, and that of the work is one of them.
fn check_counts(header: &Value) -> Result<(), Error> {
    let Some(counts) = header.get("counts").and_then(Value::as_object) else { return Ok(()) };
    if let Some(name) = counts.keys().find(|name| counts::is_taken(name)) {
        return Err(refuse("counts", format!("the host gives the count `{name}` itself")).hint("give it another name"));
    }
    match header.get("work").and_then(Value::as_str) {
        Some(work) if !counts.contains_key(work) => {
            let error = refuse("work", format!("`work` names `{}`, which `counts` does not have", work.escape_debug()));
            Err(match nearest(work, counts.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("name one of its counts"),
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn refuse(key: &str, message: String) -> Error {
    Error::new(Code::ScriptSyntax, format!("`ADAPTER` is wrong: {message}")).detail("rule", "header").detail("key", key)
}

fn wrong(header: &Value, error: &Error) -> Error {
    let wrong =
        Error::new(Code::ScriptSyntax, format!("`ADAPTER` is wrong: {}", error.message())).detail("rule", "header");
    let wrong = error.details().iter().fold(wrong, |wrong, (key, value)| wrong.detail(key, value.clone()));
    let known = || SCHEMA["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    let unknown = header.as_object().and_then(|map| map.keys().find(|key| !known().any(|name| name == *key)));
    let keys = "it has `name`, `version`, `glob`, and may have `summary`, `params`, `max_files`, `counts`, `work`";
    let is_whole = ["name", "version", "glob"].iter().all(|key| header.get(key).is_some());
    match unknown {
        Some(key) => match nearest(key, known()) {
            Some(near) => wrong.detail("key", key.as_str()).hint(format!("did you mean `{near}`?")),
            None => wrong.detail("key", key.as_str()).hint(keys),
        },
        None if is_whole => wrong,
        None => wrong.hint(keys),
    }
}
