//! The parameters: plain types. Both sides of the adapter read them, and each interprets them itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::survey::OnSkip;
use base::error::{Code, Error};

/// The parameters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// The old name.
    pub(super) from: String,
    /// The new name.
    pub(super) to: String,
    /// The kind that the thing has to be.
    pub(super) kind: Option<String>,
    /// The things that are renamed.
    #[serde(default)]
    pub(super) scope: Scope,
    /// True if words within strings are renamed too.
    #[serde(default)]
    pub(super) strings: bool,
    /// The comments in which words are renamed too.
    #[serde(default)]
    pub(super) comments: Comments,
    /// True if the file of the declaration is renamed too.
    #[serde(default)]
    pub(super) files: bool,
    /// The way of telling places of one thing from those of another.
    #[serde(default)]
    pub(super) engine: Engine,
    /// The treatment of files that no engine parses and that name the symbol with its module.
    #[serde(default)]
    pub(super) mentions: Mentions,
    /// The treatment of files that can't be read.
    #[serde(default)]
    pub(super) on_skip: OnSkip,
}

/// The things that are renamed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Scope {
    /// The only one at the files of a word, `glob`.
    Glob(Everything),
    /// The only one of a file.
    File {
        /// The file.
        file: String,
    },
    /// The one at a place.
    Symbol {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// The column, from 1, in characters.
        column: u64,
    },
}

impl Default for Scope {
    fn default() -> Self {
        Scope::Glob(Everything::Glob)
    }
}

/// The word for all files of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Everything {
    /// All files of the target.
    Glob,
}

/// The comments in which words are renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Comments {
    /// All of them, or none.
    All(bool),
    /// Those directly above a declaration.
    Above(Above),
}

impl Default for Comments {
    fn default() -> Self {
        Comments::All(false)
    }
}

/// The word for the comments above a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Above {
    /// The comments above a declaration.
    Documentation,
}

/// The treatment of files that no engine parses and that name the symbol with its module, as `lib.load` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mentions {
    /// Refuse the rename.
    #[default]
    Refuse,
    /// List them, with the files that mention the name.
    List,
}

/// The way of telling places of one thing from those of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Engine {
    /// The first that is certain.
    #[default]
    Auto,
    /// By tokens alone.
    Lexical,
    /// By a language server of the policy.
    Lsp,
    /// By the bindings of the language.
    Scope,
}

impl Engine {
    /// True if a language server may be asked.
    pub(super) fn may_ask_servers(self) -> bool {
        matches!(self, Engine::Auto | Engine::Lsp)
    }
}

impl Params {
    /// Takes the parameters from an invocation. `invalid_input` if the names are the same.
    pub(super) fn parse(params: &Value) -> Result<Self, Error> {
        let params: Params = serde_json::from_value(params.clone())
            .map_err(|error| Error::new(Code::InvalidInput, format!("the params can't be used: {error}")))?;
        if params.from == params.to {
            return Err(Error::new(Code::InvalidInput, format!("`{}` is the old and the new name", params.from))
                .hint("give another `params.to`"));
        }
        Ok(params)
    }
}
