//! The one error type: a closed code, a sentence, details for machines and a hint for people.
//!
//! The snake_case name of a [`Code`] is the contract on the wire, in scripts and in reports, and it fixes the exit code.
//! Nothing matches on message text.

pub mod model;

use std::{collections::BTreeMap, fmt, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

macro_rules! codes {
    ($(#[doc = $doc:literal] $variant:ident = $wire:literal, exit $exit:literal;)*) => {
        /// The kind of a failure, from a closed list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code { $(#[doc = $doc] #[serde(rename = $wire)] $variant,)* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The name on the wire, in scripts and in reports.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $wire),* }
            }

            /// Its meaning, in a sentence.
            pub fn doc(self) -> &'static str {
                match self { $(Code::$variant => $doc.trim_ascii()),* }
            }

            /// The exit code of a command that ends with this error.
            pub fn exit_code(self) -> u8 {
                match self { $(Code::$variant => $exit),* }
            }
        }
    };
}

codes! {
    /// The command line names something unknown or omits something required.
    Usage = "usage", exit 2;
    /// A value has the wrong shape.
    InvalidInput = "invalid_input", exit 1;
    /// A path leaves the workspace, is absolute, or has a form that is never accepted.
    InvalidPath = "invalid_path", exit 1;
    /// `nrv.toml` can't be used.
    InvalidPolicy = "invalid_policy", exit 1;
    /// A file, run, adapter or call of that name does not exist.
    NotFound = "not_found", exit 1;
    /// Nothing in the files is what was to be changed.
    NoMatch = "no_match", exit 1;
    /// A file has an unexpected form: not UTF-8, binary, too large, a link.
    Unreadable = "unreadable", exit 1;
    /// The operating system refused.
    Io = "io", exit 1;
    /// The script does not compile, or its header is wrong.
    ScriptSyntax = "script_syntax", exit 1;
    /// The script threw, or called something the wrong way.
    ScriptFailed = "script_failed", exit 1;
    /// The script spent one of its limits.
    ScriptLimit = "script_limit", exit 1;
    /// The script's process died.
    ScriptCrashed = "script_crashed", exit 1;
    /// A file can't be replaced without losing something: read-only, hard-linked, not a regular file.
    Unwritable = "unwritable", exit 1;
    /// A gate blocked it.
    Blocked = "blocked", exit 3;
    /// Neither policy nor the script's header permits it.
    PermissionDenied = "permission_denied", exit 3;
    /// The path is protected: no run writes it, unless the policy permits exactly that path.
    ProtectedPath = "protected_path", exit 3;
    /// The adapter or script is not on the approved list.
    NotApproved = "not_approved", exit 3;
    /// A command that had to succeed failed.
    CommandFailed = "command_failed", exit 1;
    /// The record can't be written; nothing goes on without it.
    RecordUnwritable = "record_unwritable", exit 1;
    /// The result differs from the proposal.
    VerificationFailed = "verification_failed", exit 4;
    /// A record on disk has changed since it was written.
    RecordDamaged = "record_damaged", exit 4;
    /// A diff does not fit its file.
    PatchRejected = "patch_rejected", exit 1;
    /// A repeated execution differs from the record.
    Diverged = "diverged", exit 4;
    /// A file has changed since the change was proposed.
    StalePreimage = "stale_preimage", exit 5;
    /// Uncommitted changes are where the run may write, the state is unknown, or a dead run is not recovered.
    DirtyTree = "dirty_tree", exit 5;
    /// Undoing would lose later work.
    UndoRefused = "undo_refused", exit 5;
    /// A budget of the run is spent.
    BudgetExhausted = "budget_exhausted", exit 6;
    /// The run waits for a confirmation.
    Suspended = "suspended", exit 7;
    /// The run died during a call, and the call's effect is unknown.
    Uncertain = "uncertain", exit 7;
    /// A model did not answer, or its reply is invalid.
    ModelFailed = "model_failed", exit 1;
    /// A model can't answer now; later it may.
    ModelUnavailable = "model_unavailable", exit 75;
    /// A defect of nrv.
    Internal = "internal", exit 70;
    /// A lock was held past its wait.
    LockTimeout = "lock_timeout", exit 75;
    /// A repository or a store can't be reached now; later it may.
    Temporary = "temporary", exit 75;
    /// The run was cancelled.
    Cancelled = "cancelled", exit 130;
}

/// The detail of an error that ends its run.
const ENDS_RUN: &str = "ends_run";

impl Code {
    /// True if a script may not catch an error of this code.
    pub fn is_final(self) -> bool {
        let is_refusal =
            matches!(self, Code::Blocked | Code::PermissionDenied | Code::ProtectedPath | Code::NotApproved);
        is_refusal || self.stops() || matches!(self, Code::Suspended | Code::Uncertain)
    }

    /// True if a run does nothing more after an error of this code.
    pub fn stops(self) -> bool {
        matches!(
            self,
            Code::BudgetExhausted
                | Code::Cancelled
                | Code::Diverged
                | Code::Internal
                | Code::RecordUnwritable
                | Code::ScriptLimit
        )
    }

    /// True if a run waits after an error of this code: the call is not answered, and is made again when the run goes on.
    pub fn waits(self) -> bool {
        matches!(self, Code::LockTimeout | Code::ModelUnavailable | Code::Suspended | Code::Uncertain)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place in a script: a 1-based line and column, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// The script or module, relative to the workspace.
    pub path: String,
    /// 1-based line.
    pub line: usize,
    /// 1-based column in characters.
    pub column: usize,
}

/// An error with everything that a person or a program needs to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Error {
    code: Code,
    message: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    details: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "script")]
    location: Option<Box<Location>>,
}

impl Error {
    /// An error with a sentence that has no final period and names the thing in backticks.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), details: BTreeMap::new(), hint: None, location: None }
    }

    /// The error with its message cut to a length that people read.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        const LONGEST: usize = 16 << 10;
        if self.message.len() > LONGEST {
            let length = self.message.len();
            self.message.truncate(self.message.floor_char_boundary(LONGEST));
            self.message.push_str(&format!("… ({length} bytes)"));
        }
        self
    }

    /// An I/O error on the thing that the first argument names.
    pub fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        Error::new(Code::Io, format!("{what}: {error}"))
    }

    /// Adds a value for machines.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds the next step for the reader.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says where in a script it happened, unless a more exact place is known already.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location.get_or_insert_with(|| Box::new(location));
        self
    }

    /// Marks an error that ends its run, though scripts may catch others of its code.
    #[must_use]
    pub fn ending_run(self) -> Self {
        self.detail(ENDS_RUN, true)
    }

    /// True if a script may not catch this error.
    pub fn is_final(&self) -> bool {
        self.code.is_final() || self.details.get(ENDS_RUN) == Some(&Value::Bool(true))
    }

    /// Forgets the place, where it is one that nobody sees.
    #[must_use]
    pub fn without_place(mut self) -> Self {
        self.location = None;
        self
    }

    /// Replaces the place in a script where it happened.
    #[must_use]
    pub fn moved(mut self, location: Location) -> Self {
        self.location = Some(Box::new(location));
        self
    }

    /// Puts the place that it belongs to in front of the sentence, and into the details.
    #[must_use]
    pub fn within(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self.detail("within", what.to_string())
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Values for machines.
    pub fn details(&self) -> &BTreeMap<String, Value> {
        &self.details
    }

    /// The next step for the reader.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Where in a script it happened.
    pub fn location(&self) -> Option<&Location> {
        self.location.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The known name nearest to `unknown`, if one is near enough to be meant: a third of the letters may differ.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, name)| match unknown.chars().count().max(name.chars().count()) {
            // Names of one letter never resemble each other; names of two letters do only if the letters are swapped.
            0..=2 => name.chars().rev().eq(unknown.chars()),
            longer => *distance <= longer / 3,
        })
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_survive_json() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn nearest_takes_typos_and_leaves_strangers() {
        assert_eq!(nearest("propse", ["apply", "propose"]), Some("propose"));
        assert_eq!(nearest("raed", ["apply", "read"]), Some("read"));
        assert_eq!(nearest("link_updatr", ["link_updater"]), Some("link_updater"));
        assert_eq!(nearest("fi", ["in", "if"]), Some("if"));
        assert_eq!(nearest("xyz", ["apply", "propose"]), None);
        assert_eq!(nearest("g", ["E", "PI"]), None);
        assert_eq!(nearest("abcd", ["axyd"]), None);
    }
}
