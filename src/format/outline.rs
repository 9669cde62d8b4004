//! The links and anchors of a document, each with its place or its text.

use std::{borrow::Cow, ops::Range};

use super::value::Value;

/// The reason to leave a page alone whose links begin elsewhere.
pub(super) const BASE: &str = "it has a `<base href>`, so that its links begin elsewhere";

/// The links of a document, and the things in it that links may name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Every value with links, in the order of the file, none inside another.
    pub values: Vec<Value>,
    /// The headings, in the order of the file.
    pub headings: Vec<Heading>,
    /// Explicit ids and names.
    pub names: Vec<String>,
    /// The reason to leave the file alone; none if it can be edited.
    pub skipped: Option<Cow<'static, str>>,
    /// Programs of MDX and its tags: parts that are neither text nor links.
    pub programs: Vec<Range<usize>>,
    /// The reason that there may be further anchors.
    pub doubt: Option<&'static str>,
}

/// A heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// Its text.
    pub pieces: Vec<Piece>,
    /// Its place in the document, without the marks of quotes and lists around it.
    pub range: Range<usize>,
}

/// A piece of a heading's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub part: Part,
    pub text: String,
    /// The number of marks around it, such as those of emphasis.
    pub depth: usize,
    /// True if nothing precedes it within the marks around it.
    pub leads: bool,
}

/// A part of a heading's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Running text.
    Text,
    /// Code.
    Code,
    /// The alternative text of an image.
    Alt,
    /// The text of a link that is its URL, as in angle brackets.
    Url,
    /// The end of a line.
    Break,
    /// A tag or a comment, which is not text.
    Html,
    /// A tag or an expression of MDX, whose text is unknown.
    Program,
}
