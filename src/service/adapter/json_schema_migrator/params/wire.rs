//! The parameters on the wire, as plain types.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::survey::OnSkip;

/// `params` of an invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The schema: the path of a file beneath the root, or the schema itself.
    pub(crate) schema: Source,
    /// The draft of schemas without `$schema`.
    #[serde(default)]
    pub(crate) draft: Draft,
    /// Local files in place of URLs that a schema refers to.
    #[serde(default)]
    pub(crate) refs: BTreeMap<String, String>,
    /// True if `format` is an assertion.
    #[serde(default = "yes")]
    pub(in super::super) check_formats: bool,
    /// The formats of the files that are read.
    #[serde(default = "json_only")]
    pub(crate) formats: BTreeSet<Format>,
    /// The permitted fixes.
    #[serde(default)]
    pub(crate) fixes: Fixes,
    /// Globs of the files that may stay invalid.
    #[serde(default)]
    pub(crate) allow_invalid: Vec<String>,
    /// The treatment of a file that can't be read at all.
    #[serde(default)]
    pub(crate) on_skip: OnSkip,
}

/// The origin of a schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Source {
    /// A path beneath the root.
    Path(String),
    /// The schema itself.
    Inline(Value),
}

/// A draft of JSON Schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Draft {
    /// Draft 4.
    #[serde(rename = "4")]
    Four,
    /// Draft 6.
    #[serde(rename = "6")]
    Six,
    /// Draft 7.
    #[serde(rename = "7")]
    Seven,
    /// Draft 2019-09.
    #[serde(rename = "2019-09")]
    Of2019,
    /// Draft 2020-12.
    #[default]
    #[serde(rename = "2020-12")]
    Of2020,
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// JSON as in RFC 8259.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// JSON5.
    Json5,
    /// YAML 1.2, one document.
    Yaml,
    /// TOML 1.0.
    Toml,
}

/// Globs of the files named `.json` that are read as JSONC whatever the parameters say. Each has at most one `*` in its last name.
pub(in super::super) const JSONC_FILES: &[&str] = &[
    "**/.devcontainer.json",
    "**/.eslintrc.json",
    "**/.vscode/*.json",
    "**/api-extractor.json",
    "**/devcontainer.json",
    "**/jsconfig.*.json",
    "**/jsconfig.json",
    "**/language-configuration.json",
    "**/tsconfig.*.json",
    "**/tsconfig.json",
    "**/tslint.json",
];

/// The permitted fixes. An empty list of fixes only validates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixes {
    /// Members that get the `default` of their schema.
    #[serde(default)]
    pub(crate) defaults: Option<Defaults>,
    /// Scalars that change their type.
    #[serde(default)]
    pub(in super::super) coerce: Option<Coerce>,
    /// Members that are removed.
    #[serde(default)]
    pub(in super::super) remove_unknown: Option<Remove>,
    /// Members that are removed, by pointer.
    #[serde(default)]
    pub(in super::super) remove: Vec<String>,
    /// New names of members, by pointer.
    #[serde(default)]
    pub(crate) rename: BTreeMap<String, String>,
    /// New places of values, by pointer.
    #[serde(default, rename = "move")]
    pub(crate) moves: BTreeMap<String, String>,
    /// Values that are set, by pointer.
    #[serde(default)]
    pub(crate) set: BTreeMap<String, Value>,
    /// Values that become an array of one item: everywhere, or by pointer.
    #[serde(default)]
    pub(in super::super) wrap_array: Option<Wrap>,
    /// New values of old ones, by pointer, or by place in the schema (`#/…`).
    #[serde(default, rename = "enum")]
    pub(crate) values: BTreeMap<String, BTreeMap<String, Value>>,
    /// A chain of versions.
    #[serde(default)]
    pub(crate) steps: Option<Steps>,
}

/// The members that get a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in super::super) enum Defaults {
    /// True means `required`, false none.
    Switch(bool),
    /// Some.
    Mode(DefaultMode),
}

/// The members that get a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DefaultMode {
    /// Members that are required.
    Required,
    /// Every member with a default, as `useDefaults` of ajv.
    All,
    /// The same, also in place of `null` and the empty string.
    Empty,
}

/// The changes of type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in super::super) enum Coerce {
    /// Between scalars.
    Switch(bool),
    /// Also between a scalar and an array of it.
    Mode(CoerceMode),
}

/// The word of the larger table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum CoerceMode {
    /// Also between a scalar and an array of it.
    Array,
}

/// The members that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in super::super) enum Remove {
    /// Members that `additionalProperties: false` forbids.
    Switch(bool),
    /// Others too.
    Mode(RemoveMode),
}

/// The members that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RemoveMode {
    /// Every member that the schema does not name.
    All,
    /// Unnamed members that `additionalProperties` does not accept.
    Failing,
}

/// The values that become an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Wrap {
    /// Wherever the schema wants an array.
    Switch(bool),
    /// At these pointers.
    At(Vec<String>),
}

/// A chain of versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Steps {
    /// The pointer to the version of a file.
    pub(in super::super) version_member: String,
    /// The steps, in their order.
    pub(crate) chain: Vec<Step>,
}

/// One step from a version to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The version before; null if the member is missing.
    pub(crate) from: Value,
    /// The version after.
    pub(crate) to: Value,
    /// The schema of the version after. Only the last step may lack it for fixes by the schema: it has that of the parameters.
    #[serde(default)]
    pub(crate) schema: Option<Source>,
    /// The fixes of this step; they have no steps of their own.
    #[serde(default)]
    pub(crate) fixes: Box<Fixes>,
}

fn yes() -> bool {
    true
}

fn json_only() -> BTreeSet<Format> {
    BTreeSet::from([Format::Json])
}

impl Fixes {
    /// The members that get a default; none if no fix inserts any.
    pub(in super::super) fn default_mode(&self) -> Option<DefaultMode> {
        match self.defaults? {
            Defaults::Switch(on) => on.then_some(DefaultMode::Required),
            Defaults::Mode(mode) => Some(mode),
        }
    }

    /// True if values change their type.
    pub(in super::super) fn coerces(&self) -> bool {
        matches!(self.coerce, Some(Coerce::Switch(true) | Coerce::Mode(CoerceMode::Array)))
    }

    /// True if a scalar and an array of it are exchanged too.
    pub(in super::super) fn coerces_arrays(&self) -> bool {
        self.coerce == Some(Coerce::Mode(CoerceMode::Array))
    }

    /// True if unknown members are removed.
    pub(in super::super) fn removes(&self) -> bool {
        !matches!(self.remove_unknown, None | Some(Remove::Switch(false)))
    }

    /// True if every member that the schema does not name is removed.
    pub(in super::super) fn removes_all(&self) -> bool {
        self.remove_mode() == Some(RemoveMode::All)
    }

    /// The larger set of members that are removed.
    pub(in super::super) fn remove_mode(&self) -> Option<RemoveMode> {
        match self.remove_unknown? {
            Remove::Switch(_) => None,
            Remove::Mode(mode) => Some(mode),
        }
    }

    /// True if a schema guides some of the fixes.
    pub(in super::super) fn need_schema(&self) -> bool {
        let has_places = self.values.keys().any(|at| at.starts_with('#'));
        has_places || self.coerces() || self.removes() || self.default_mode().is_some() || self.wraps_anywhere()
    }

    /// True if values become an array wherever the schema wants one.
    pub(in super::super) fn wraps_anywhere(&self) -> bool {
        self.wrap_array == Some(Wrap::Switch(true))
    }
}
