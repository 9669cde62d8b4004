//! The parts of subjects that gates judge: texts, edits, commands.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::destructive;
use base::hash::Sha256;

/// A text before and after. The hash of a subject covers only hashes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Text<'a> {
    /// The file or the parameter that it belongs to; none for a command.
    pub place: Option<Cow<'a, str>>,
    /// True if `place` is a file.
    pub is_file: bool,
    /// The text before.
    #[serde(serialize_with = "hash")]
    pub before: Cow<'a, [u8]>,
    /// The text after.
    #[serde(serialize_with = "hash")]
    pub after: Cow<'a, [u8]>,
}

/// An edit of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit<'a> {
    /// The file, relative to the workspace.
    pub path: Cow<'a, str>,
    /// The text before; empty for a new file.
    #[serde(serialize_with = "hash")]
    pub before: Cow<'a, [u8]>,
    /// The text after.
    #[serde(serialize_with = "hash")]
    pub after: Cow<'a, [u8]>,
    /// Lines added and removed.
    pub diff_lines: u64,
}

impl<'a> From<Edit<'a>> for Text<'a> {
    fn from(edit: Edit<'a>) -> Self {
        Text { place: Some(edit.path), is_file: true, before: edit.before, after: edit.after }
    }
}

/// A command, owned if a tool's params do not hold it in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words<'a> {
    Argv(Cow<'a, [String]>),
    Line(Cow<'a, str>),
    /// An unknown command.
    Untold,
}

impl Words<'_> {
    pub(super) fn command(&self) -> Option<destructive::Command<'_>> {
        match self {
            Words::Argv(argv) => Some(destructive::Command::Argv(argv)),
            Words::Line(line) => Some(destructive::Command::Line(line)),
            Words::Untold => None,
        }
    }
}

fn hash<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    Sha256::of(bytes).serialize(serializer)
}
