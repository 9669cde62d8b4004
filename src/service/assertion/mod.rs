//! Assertions: the proofs of commitments. Parsed strictly when a commitment is made, measured by a separate process.
//!
//! They read only the tree, and change nothing. A command is only parsed here; the host runs it.

pub mod check;
mod measure;
mod parse;

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Serialize};

use base::{
    change::Stamp,
    error::Error,
    path::{RepoPath, protected},
};
use system::{
    policy::Hidden,
    workspace::{Globs, Listing, View},
};

pub use measure::{baseline, measure};
pub use parse::{KINDS, parse};

/// An assertion.
#[derive(Clone, Debug)]
pub enum Assertion {
    /// A regular file exists.
    FileExists(RepoPath),
    /// The number of a pattern's matches is within bounds.
    Count(Count),
    /// Every file is valid JSON, and at least one exists.
    JsonValid(Globs),
    /// The files are the same as at the start of the run, without additions.
    TreeUnchanged(Globs),
    /// A command ends with a status.
    Command(Command),
}

/// The bounds of the number of a pattern's matches in files.
#[derive(Clone, Debug)]
pub struct Count {
    /// The pattern; it takes linear time.
    pub pattern: Regex,
    /// The files.
    pub globs: Globs,
    /// The lower bound.
    pub at_least: u64,
    /// The upper bound.
    pub at_most: u64,
}

/// A command, and the required exit status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Its name, or a path.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The folder of the workspace to run it in; if none, the root.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables beside those that the policy passes on.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The status.
    #[serde(default)]
    pub status: i32,
}

/// The former state of files, with which `tree_unchanged` compares.
pub type Baseline = BTreeMap<RepoPath, Print>;

/// The former state of a file, or of a link, whose bytes are its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Print {
    /// The hash of its bytes.
    pub sha256: base::hash::Sha256,
    /// Its permission bits, or [`LINK`](base::change::LINK).
    pub mode: u32,
}

impl From<Stamp> for Print {
    fn from(stamp: Stamp) -> Self {
        Print { sha256: stamp.sha256, mode: stamp.mode }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// True if the assertion holds.
    pub ok: bool,
    /// A sentence without final period.
    pub reason: String,
}

impl Verdict {
    /// The assertion holds.
    pub fn holds(reason: impl Into<String>) -> Self {
        Verdict { ok: true, reason: reason.into() }
    }

    /// The assertion fails, or is undecidable.
    pub fn fails(reason: impl Into<String>) -> Self {
        Verdict { ok: false, reason: reason.into() }
    }
}

/// The tree, and its visible part.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The tree, in a dry run with its proposals.
    pub view: View<'a>,
    /// The files to ignore as if they did not exist; if none, nothing is ignored.
    pub hidden: Option<&'a Hidden>,
    /// Threads for reading; results don't depend on it.
    pub threads: usize,
}

impl Sight<'_> {
    /// True if a file is visible.
    pub fn sees(&self, path: &RepoPath) -> bool {
        self.hidden.is_none_or(|hidden| protected::read_refusal(path).is_none() && !hidden.covers(path))
    }

    /// The visible files that match.
    fn list(&self, globs: &Globs) -> Result<Listing, Error> {
        Ok(self.seen(self.view.list(globs, self.threads)?))
    }

    /// The same with the links.
    fn list_entries(&self, globs: &Globs) -> Result<Listing, Error> {
        Ok(self.seen(self.view.list_entries(globs, self.threads)?))
    }

    fn seen(&self, mut listing: Listing) -> Listing {
        listing.paths.retain(|path| self.sees(path));
        listing
    }
}
