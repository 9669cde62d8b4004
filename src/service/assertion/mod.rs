//! Assertions: how it is seen that a commitment holds. Parsed strictly when they are made, measured by a process of their own.
//!
//! What they look at is the tree alone, and they change nothing. A command is only read here; the host runs it.

pub mod check;
mod measure;
mod parse;

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::{
    base::{
        change::Stamp,
        error::Error,
        path::{RepoPath, protected},
    },
    system::{
        policy::Hidden,
        workspace::{Globs, Listing, View},
    },
};

pub use measure::{baseline, measure};
pub use parse::{KINDS, parse};

/// What is to be seen.
#[derive(Clone, Debug)]
pub enum Assertion {
    /// There is a regular file.
    FileExists(RepoPath),
    /// A pattern occurs so often.
    Count(Count),
    /// Every file is JSON, and there is one.
    JsonValid(Globs),
    /// The files are what they were when the run started, and no other.
    TreeUnchanged(Globs),
    /// A command ends with a status.
    Command(Command),
}

/// How often a pattern occurs in files.
#[derive(Clone, Debug)]
pub struct Count {
    /// The pattern; it takes linear time.
    pub pattern: Regex,
    /// The files.
    pub globs: Globs,
    /// At least so often.
    pub at_least: u64,
    /// At most so often.
    pub at_most: u64,
}

/// A command, and the status with which it has to end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Its name, or a path.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The folder of the workspace to run it in; none: the root.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables beside those that the policy passes on.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The status.
    #[serde(default)]
    pub status: i32,
}

/// Files as they were: what `tree_unchanged` compares with.
pub type Baseline = BTreeMap<RepoPath, Print>;

/// What a file was, or a link, whose bytes are where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Print {
    /// The hash of its bytes.
    pub sha256: crate::base::hash::Sha256,
    /// Its permission bits, or [`LINK`](crate::base::change::LINK).
    pub mode: u32,
}

impl From<Stamp> for Print {
    fn from(stamp: Stamp) -> Self {
        Print { sha256: stamp.sha256, mode: stamp.mode }
    }
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// True if it is as it has to be.
    pub ok: bool,
    /// A sentence without final period.
    pub reason: String,
}

impl Verdict {
    /// It is as it has to be.
    pub fn holds(reason: impl Into<String>) -> Self {
        Verdict { ok: true, reason: reason.into() }
    }

    /// It is not, or can't be told.
    pub fn fails(reason: impl Into<String>) -> Self {
        Verdict { ok: false, reason: reason.into() }
    }
}

/// The tree, and what of it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The tree, in a dry run with what it proposes.
    pub view: View<'a>,
    /// The files that are passed over as if they were not there; none: nothing is.
    pub hidden: Option<&'a Hidden>,
    /// Threads for reading; results don't depend on it.
    pub threads: usize,
}

impl Sight<'_> {
    /// True if a file is looked at.
    pub fn sees(&self, path: &RepoPath) -> bool {
        self.hidden.is_none_or(|hidden| protected::read_refusal(path).is_none() && !hidden.covers(path))
    }

    /// The files that match and that are looked at.
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
