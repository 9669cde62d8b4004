//! The comments of a member or item: those on its line, those on the lines directly above, and in YAML deeper ones below.
//!
//! A comment behind a blank line is nobody's. So is the first comment of a file above its first member: it may be the heading
//! of the file.

use std::ops::Range;

use super::syntax::Syntax;

/// The comments of a text, in order.
#[derive(Clone, Copy)]
pub(super) struct Comments<'t> {
    pub(super) syntax: Syntax,
    pub(super) text: &'t str,
    pub(super) all: &'t [Range<usize>],
}

impl<'t> Comments<'t> {
    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[..at];
        before.rfind('\n').map_or(at - before.trim_start_matches('\u{feff}').len(), |end| end + 1)
    }

    /// The number of characters before a byte on its line.
    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    /// True if nothing but other comments stands before a comment on its line.
    fn has_own_line(&self, index: usize) -> bool {
        let mut at = self.all[index].start;
        for comment in self.all[..index].iter().rev() {
            match self.text.get(comment.end..at) {
                Some(gap) if gap.trim_matches([' ', '\t']).is_empty() => at = comment.start,
                _ => break,
            }
        }
        self.text[self.line_start(at)..at].trim().is_empty()
    }

    /// The comments directly above a child that begins at a byte, and before it on its line.
    pub(super) fn above(&self, child: usize, is_first: bool) -> &'t [Range<usize>] {
        let last = self.all.partition_point(|comment| comment.end <= child);
        let (mut first, mut beside, mut start) = (last, last, child);
        while let Some(comment) = first.checked_sub(1).map(|index| &self.all[index]) {
            let gap = &self.text[comment.end..start];
            let is_deeper = self.syntax == Syntax::Yaml && self.column(comment.start) > self.column(child);
            let is_beside = !self.text[comment.start..start].contains('\n');
            let is_apart = !gap.trim().is_empty() || gap.matches('\n').count() > 1;
            if is_apart || !is_beside && (!self.has_own_line(first - 1) || is_deeper) {
                break;
            }
            (first, start) = (first - 1, comment.start);
            if is_beside && beside == first + 1 {
                beside = first;
            }
        }
        &self.all[if is_first && first == 0 { beside } else { first }..last]
    }

    /// The start of a child with the comments above it.
    pub(super) fn start(&self, child: usize, is_first: bool) -> usize {
        self.above(child, is_first).first().map_or(child, |comment| comment.start)
    }

    /// The comments behind a value on its line; behind a comma they are those of the next child, if one follows on the line.
    pub(super) fn behind(&self, end: usize) -> &'t [Range<usize>] {
        let first = self.all.partition_point(|comment| comment.start < end);
        let (mut at, mut count, mut before_comma) = (end, 0, None);
        for comment in &self.all[first..] {
            let gap = self.text[at..comment.start].trim_matches([' ', '\t']);
            if !matches!(gap, "" | ",") || self.text[comment.clone()].contains('\n') {
                break;
            }
            if gap == "," && before_comma.replace(count).is_some() {
                break;
            }
            (at, count) = (comment.end, count + 1);
        }
        let rest = self.text[at..].trim_start_matches([' ', '\t', '\r']);
        let ends_line = rest.is_empty() || rest.starts_with(['\n', '}', ']']);
        &self.all[first..first + before_comma.filter(|_| !ends_line).unwrap_or(count)]
    }

    /// The end of a member of a YAML block whose key begins at a byte, with the deeper comments on the lines below.
    pub(super) fn below(&self, begin: usize, end: usize, is_block: bool) -> usize {
        let column = self.column(begin);
        let mut at = end;
        for comment in &self.all[self.all.partition_point(|comment| comment.start < end)..] {
            let gap = &self.text[at..comment.start];
            let newlines = gap.matches('\n').count();
            let is_apart = newlines > 1 && !is_block;
            if !gap.trim().is_empty() || is_apart || newlines > 0 && self.column(comment.start) <= column {
                break;
            }
            at = comment.end;
        }
        at
    }

    /// The end of the comments directly below a line of TOML, which belong to its table unless a statement follows them directly.
    pub(super) fn below_statement(&self, line_end: usize) -> usize {
        let mut at = line_end;
        for comment in &self.all[self.all.partition_point(|comment| comment.start < line_end)..] {
            let gap = &self.text[at..comment.start];
            if !gap.trim().is_empty() || gap.matches('\n').count() > 1 {
                break;
            }
            at = comment.end;
        }
        let next = self.text[at..].split('\n').nth(1).unwrap_or_default();
        if next.trim().is_empty() { at } else { line_end }
    }
}
