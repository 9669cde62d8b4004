//! A page of MDX without its programs, and the code in it.

use std::{collections::BTreeSet, ops::Range};

use super::script::Tag;

/// A page of MDX without its programs.
#[derive(Debug, Default)]
pub struct Masked {
    /// The text, line by line.
    pub text: String,
    /// The lines on which text stands around programs, from 1.
    pub mixed: BTreeSet<usize>,
    /// True if the page may have headings or anchors that its source does not spell out.
    pub may_have_more: bool,
    /// The reason to leave it alone, if any.
    pub doubt: Option<&'static str>,
    /// Places in the text with those in the source.
    pub(super) runs: Vec<(usize, usize)>,
    /// Modules and expressions.
    pub(super) programs: Vec<Range<usize>>,
    pub(super) tags: Vec<Tag>,
}

impl Masked {
    /// The place in the source of one in the text.
    pub fn place(&self, at: usize) -> usize {
        let before = self.runs.partition_point(|(text, _)| *text <= at);
        before.checked_sub(1).map_or(at, |run| self.runs[run].1 + at - self.runs[run].0)
    }
}

/// The code in a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The lines on which fenced code begins.
    pub(super) fences: Vec<usize>,
    /// Code in running text, without white space and marks.
    pub(super) spans: Vec<String>,
}

/// Code without the signs that containers may put into it.
pub(super) fn bare(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && !matches!(c, '>' | '|' | '\\')).collect()
}
