//! The places where two texts may differ, and those where they do.

use super::Document;

/// A place that may differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// A member or item with its name and all that it holds.
    Member(String),
    /// A member that went elsewhere: the comments in it went along.
    Moved(String),
    /// A value with all that it holds.
    Value(String),
    /// A scalar in place of another one: all around it stays.
    Scalar(String),
    /// An object that became the item of an array: its keys, scalars and comments stay, the space between them may differ.
    Wrapped(String),
    /// The name of a member.
    Name(String),
}

/// A text with the places in it that may differ.
#[derive(Clone, Copy)]
pub struct Side<'t> {
    /// The text.
    pub text: &'t str,
    /// The text as it was read.
    pub document: &'t Document,
    /// The places.
    pub cuts: &'t [Cut],
}

/// A place where two texts differ though they should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The byte in the new text.
    pub at: usize,
    /// The difference, as a phrase.
    pub reason: &'static str,
}

/// The places of the values around a value, from the outside, and its own.
pub(super) fn above(place: &str) -> impl Iterator<Item = &str> {
    place.match_indices('/').map(|(end, _)| &place[..end]).chain([place])
}
