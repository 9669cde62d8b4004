//! A document that was read: its text, its tree and its value.

use std::ops::Range;

use serde_json::Value;

use super::{
    json,
    syntax::{Malformed, Syntax},
    toml::{self, layout::Layout},
    tree::Tree,
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
        let value = tree.value_of(tree.root);
        Ok(Source { syntax, text: text.to_owned(), tree, layout, value })
    }

    /// The parts of the text that values consist of.
    pub(super) fn extents(&self, nodes: &[usize]) -> Vec<Range<usize>> {
        match &self.layout {
            Some(layout) => layout.extents(&self.tree, nodes),
            None => nodes.iter().map(|node| self.tree.node(*node).span.clone()).collect(),
        }
    }
}
