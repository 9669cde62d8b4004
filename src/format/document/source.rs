//! A document that was read: its text, its tree and its value.

use std::ops::Range;

use serde_json::Value;

use super::{
    comments::Comments,
    draft::Detached,
    json,
    syntax::{Malformed, Syntax},
    toml::{self, layout::Layout},
    tree::{Form, Tree},
    yaml,
};

/// A document that was read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) syntax: Syntax,
    pub(super) text: String,
    pub(super) tree: Tree,
    /// The statements of TOML.
    pub(super) layout: Option<Layout>,
    pub(super) value: Value,
}

impl Source {
    /// Reads a text.
    pub(super) fn read(syntax: Syntax, text: &str) -> Result<Source, Malformed> {
        let (mut tree, layout) = match syntax {
            Syntax::Json | Syntax::Jsonc | Syntax::Json5 => (json::read(syntax, text)?, None),
            Syntax::Yaml => (yaml::build::read(text)?, None),
            Syntax::Toml => toml::build::read(text).map(|(tree, layout)| (tree, Some(layout)))?,
        };
        tree.spread_locks();
        tree.spread_begins();
        let value = tree.value_of(tree.root);
        Ok(Source { syntax, text: text.to_owned(), tree, layout, value })
    }

    /// The parts of the text that detached values consist of: with their keys, if they left for good.
    pub(super) fn extents(&self, detached: &[Detached]) -> Vec<Range<usize>> {
        let (tables, values): (Vec<&Detached>, Vec<&Detached>) = detached
            .iter()
            .partition(|detached| self.layout.is_some() && self.tree.node(detached.node).form == Form::Block);
        let mut ranges: Vec<Range<usize>> = values.into_iter().map(|detached| self.extent(detached)).collect();
        if let Some(layout) = &self.layout {
            let extents = layout.extents(&tables.iter().map(|detached| detached.node).collect());
            ranges.extend(extents.into_iter().map(|range| {
                let line_end = self.text[range.end..].find('\n').map_or(self.text.len(), |length| range.end + length);
                self.comments().start(range.start, false)..self.comments().below_statement(line_end)
            }));
        }
        ranges
    }

    fn comments(&self) -> Comments<'_> {
        Comments { syntax: self.syntax, text: &self.text, all: &self.tree.comments }
    }

    fn extent(&self, detached: &Detached) -> Range<usize> {
        let node = self.tree.node(detached.node);
        let is_block = node.form == Form::Block;
        let start = match detached.is_replaced {
            true if !is_block => node.span.start,
            true => self.comments().start(node.span.start, false),
            false => self.comments().start(node.begin, false),
        };
        let end = match self.syntax {
            Syntax::Yaml => self.comments().below(node.begin, node.span.end, is_block),
            _ => node.span.end,
        };
        start..end.max(start)
    }
}
