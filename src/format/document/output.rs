//! A text under construction that knows which of its bytes are those of the source.

use std::ops::Range;

use super::edit::{Edited, Region};

/// Copies of the source, in its order, with new text between them.
#[derive(Debug)]
pub(super) struct Output<'s> {
    source: &'s str,
    text: String,
    /// Copies, merged where they touch: the range in the source, and the start in the text.
    kept: Vec<(Range<usize>, usize)>,
}

impl<'s> Output<'s> {
    pub(super) fn new(source: &'s str) -> Output<'s> {
        Output { source, text: String::new(), kept: Vec::new() }
    }

    /// Copies a range of the source.
    pub(super) fn keep(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(&self.source[range.clone()]);
        match self.kept.last_mut() {
            Some((last, at)) if last.end == range.start && *at + last.len() == start => last.end = range.end,
            _ => self.kept.push((range, start)),
        }
    }

    /// Writes new text.
    pub(super) fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The text, with the gaps between copies. Refuses copies out of order.
    pub(super) fn finish(self) -> Result<Edited, String> {
        let mut regions = Vec::new();
        let (mut source, mut text) = (0, 0);
        let end = (self.source.len()..self.source.len(), self.text.len());
        for (range, start) in self.kept.into_iter().chain([end]) {
            if range.start < source || start < text {
                return Err("the edit would reorder the text".to_owned());
            }
            if range.start > source || start > text {
                regions.push(Region { before: source..range.start, after: text..start });
            }
            text = start + range.len();
            source = range.end;
        }
        Ok(Edited { text: self.text, regions })
    }
}
