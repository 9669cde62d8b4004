//! The parameters on the wire, as plain types.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::survey::OnSkip;
use base::{
    error::{Code, Error},
    language::Language,
};

/// `params` of an invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// A pattern of code.
    #[serde(default)]
    pub(crate) pattern: Option<String>,
    /// The kind of the node within the pattern.
    #[serde(default)]
    pub(crate) selector: Option<String>,
    /// The name of a strictness.
    #[serde(default)]
    pub(crate) strictness: Option<String>,
    /// A rule object.
    #[serde(default)]
    pub(crate) rule: Option<Value>,
    /// The new text of a match.
    #[serde(default)]
    pub(crate) fix: Option<String>,
    /// The name of the language.
    #[serde(default)]
    lang: Option<String>,
    /// Files or folders of rules.
    #[serde(default)]
    pub(crate) rules: Paths,
    /// Files or folders of utility rules.
    #[serde(default)]
    pub(crate) utils: Paths,
    /// Files or folders of tests of the rules.
    #[serde(default)]
    pub(crate) tests: Paths,
    /// True if files with syntax errors are rewritten too.
    #[serde(default)]
    pub(crate) allow_errors: bool,
    /// True if a match stays that has the form of its fix.
    #[serde(default)]
    pub(crate) once: bool,
    /// The treatment of a file that is left alone.
    #[serde(default)]
    pub(crate) on_skip: OnSkip,
}

/// One path, or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in super::super) enum Paths {
    /// A single path.
    One(String),
    /// A list of them.
    Many(Vec<String>),
}

impl Default for Paths {
    fn default() -> Self {
        Paths::Many(Vec::new())
    }
}

impl Paths {
    /// The paths.
    pub(crate) fn list(&self) -> &[String] {
        match self {
            Paths::One(path) => std::slice::from_ref(path),
            Paths::Many(paths) => paths,
        }
    }
}

impl Params {
    /// Takes the parameters from an invocation.
    pub(crate) fn parse(params: &Value) -> Result<Self, Error> {
        serde_json::from_value(params.clone())
            .map_err(|error| Error::new(Code::InvalidInput, format!("the params can't be used: {error}")))
    }

    /// True if there is one rule that may rewrite each match once. Of several rules, one may rewrite what another one has written.
    pub(crate) fn is_one_rule_once(&self) -> bool {
        self.once && self.rules.list().is_empty()
    }

    /// The language that they name.
    pub(crate) fn language(&self) -> Result<Option<Language>, Error> {
        self.lang.as_deref().map(Language::parse).transpose()
    }
}

/// The globs of the files that may match: those of one language, or of all.
pub(crate) fn globs(params: &Value) -> Vec<&'static str> {
    let only = Params::parse(params).and_then(|params| params.language()).unwrap_or_default();
    // Code of one language may stand within files of another.
    let holds = |language: &Language, only: Language| *language == only || language.embedded().contains(&only);
    let languages = Language::all().filter(|language| only.is_none_or(|only| holds(language, only)));
    languages.flat_map(Language::globs).copied().collect()
}
