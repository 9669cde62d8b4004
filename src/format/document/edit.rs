//! Edits of documents, their results and refusals.

use std::{fmt, ops::Range};

use serde_json::Value;

/// An edit that can't be made, and with it the list it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The pointer of the edit; empty where no single edit is to blame.
    pub pointer: String,
    /// A phrase without a final period.
    pub reason: String,
}

impl Refused {
    pub(super) fn new(pointer: &str, reason: impl Into<String>) -> Refused {
        Refused { pointer: pointer.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}`: {}", self.pointer, self.reason)
    }
}

/// One change of a document. Each edit of a list sees the result of those before it.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Replaces a value that exists.
    Set {
        /// The value.
        pointer: String,
        /// The new value.
        value: Value,
    },
    /// Adds a member at the end of its object, or an item before the item at an index, or at the end for `-`.
    Insert {
        /// The member, which is absent, or the item.
        pointer: String,
        /// Its value.
        value: Value,
    },
    /// Removes a member or an item.
    Remove {
        /// The member or item.
        pointer: String,
    },
    /// Gives a member another name. Its place and its value stay.
    Rename {
        /// The member.
        pointer: String,
        /// Its new name, which is free.
        key: String,
    },
    /// Removes a value and adds it elsewhere, spelled as before.
    Move {
        /// The value.
        from: String,
        /// The place, as in [`Edit::Insert`], after the removal.
        to: String,
    },
    /// Replaces a value by an array of that value.
    WrapArray {
        /// The value.
        pointer: String,
    },
}

impl Edit {
    /// The pointer that a refusal names.
    pub(crate) fn pointer(&self) -> &str {
        match self {
            Edit::Set { pointer, .. }
            | Edit::Insert { pointer, .. }
            | Edit::Remove { pointer }
            | Edit::Rename { pointer, .. }
            | Edit::Move { from: pointer, .. }
            | Edit::WrapArray { pointer } => pointer,
        }
    }
}

/// An edited text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole new text.
    pub text: String,
    /// The places that differ, in order. All bytes between them are those of the old text.
    pub(crate) regions: Vec<Region>,
}

/// Bytes of the old text and those that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The range in the old text.
    pub(crate) before: Range<usize>,
    /// The range in the new text.
    pub(crate) after: Range<usize>,
}
