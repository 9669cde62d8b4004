//! `rename_refactor`: gives a thing of the code another name at every place that means it, and changes no other byte.
//!
//! `page` reads a file, `world` knows all of them, `manifest` the names of packages, and `link` follows imports. For Rust, `crates`
//! does so, and `items` compares what names mean before and after; for Go, `package` knows what files share. `thing` tells what a place means; `scope`, `lexical` and `lsp`
//! choose the places of one thing. `argument` knows the calls that name a parameter, `lookup` the strings that may name a thing,
//! `family` and `member` the declarations that belong together, and `affected` the files whose errors a change may alter. `rest`
//! asks for evidence that other places mean another thing, `foreign` knows the files that nobody parses, and `script` what scripts mean without its name. `rewrite` writes the
//! places, and `absent` says that there are none. Whatever can't be decided is refused with the places that are in doubt (`refusal`)
//! and the ways out (`remedy`).
//!
//! `verify` and its modules share nothing with the proposing side but `params`, the wire types.

mod absent;
mod affected;
mod argument;
mod crates;
mod family;
mod foreign;
mod forms;
mod items;
mod lexical;
mod link;
mod lookup;
mod lsp;
mod manifest;
mod member;
mod package;
mod page;
mod params;
mod places;
mod propose;
mod reflect;
mod refusal;
mod remedy;
mod rest;
mod rewrite;
mod scope;
mod script;
mod thing;
mod verify;
mod world;

#[cfg(test)]
mod tests;

use crate::{
    Adapter, Context,
    contract::{Counted, Invocation, Proposal},
    envelope,
    evidence::{Evidence, Measured},
};
use base::error::Error;

/// The files that it reads: those of programming languages.
const FILES: &[&str] = &[
    "**/*.bash",
    "**/*.c",
    "**/*.cc",
    "**/*.cjs",
    "**/*.cpp",
    "**/*.cs",
    "**/*.cts",
    "**/*.cxx",
    "**/*.go",
    "**/*.h",
    "**/*.hh",
    "**/*.hpp",
    "**/*.java",
    "**/*.js",
    "**/*.jsx",
    "**/*.kt",
    "**/*.kts",
    "**/*.mjs",
    "**/*.mts",
    "**/*.php",
    "**/*.py",
    "**/*.pyi",
    "**/*.rb",
    "**/*.rs",
    "**/*.sh",
    "**/*.ts",
    "**/*.tsx",
];

/// Counts before a change.
const FOUND: &[(&str, &str)] = &[
    ("occurrences_total", "Places of the old name as a whole word."),
    ("occurrences_code", "Those in code."),
    ("occurrences_strings", "Those in strings and in the text of markup."),
    ("occurrences_comments", "Those in comments."),
    ("occurrences_to_rename", "Places that the proposal renames, with names of files."),
    ("occurrences_to_rename_code", "Those in code."),
    ("occurrences_to_rename_strings", "Those in strings."),
    ("occurrences_to_rename_comments", "Those in comments."),
    ("occurrences_to_rename_files", "Files that get another name."),
];

/// Counts of a change.
const CHANGED: &[(&str, &str)] = &[
    ("renames", "Renamed places, with names of files."),
    ("renames_code", "Those in code."),
    ("renames_strings", "Those in strings."),
    ("renames_comments", "Those in comments."),
    ("renames_files", "Files with another name."),
    ("rest_code", "Places of the old name in code that mean something else, or that keep it beside the new one."),
    ("rest_strings", "Places of the old name that are left in strings."),
    ("rest_comments", "Places of the old name that are left in comments."),
];

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct RenameRefactor;

impl Adapter for RenameRefactor {
    fn name(&self) -> &str {
        "rename_refactor"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "rename a symbol of the code at every place that means it"
    }

    fn params_schema(&self) -> &str {
        include_str!("params.schema.json")
    }

    fn counts(&self) -> Counted<'_> {
        let changes = [&[envelope::FILES], CHANGED].concat();
        Counted { baseline: [&envelope::SURVEYED[..], FOUND].concat(), changes, work: Some("occurrences_to_rename") }
    }

    /// It owns no files: code belongs to every tool.
    fn domain(&self) -> Vec<&str> {
        Vec::new()
    }

    fn looks_at(&self, _input: &Invocation) -> Vec<&str> {
        FILES.to_vec()
    }

    fn asks_servers(&self, input: &Invocation) -> bool {
        params::Params::parse(&input.params).is_ok_and(|params| params.engine.may_ask_servers())
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        propose::propose(ctx, input, &self.looks_at(input))
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        verify::measure(ctx, input, evidence)
    }
}
