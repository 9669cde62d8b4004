//! The statements of a TOML text: headers and pairs, in their order.

use std::{collections::BTreeSet, ops::Range};

/// The statements of a text.
#[derive(Debug, Default)]
pub(in super::super) struct Layout {
    pub(super) statements: Vec<Statement>,
    /// The container of every node; the root's own number for the root.
    pub(super) parents: Vec<usize>,
}

/// A header, or a key with its value.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
    /// The keys as written, each with the node of the member that it names.
    pub(super) keys: Vec<(Range<usize>, usize)>,
    /// The table of a header, or the value of a pair.
    pub(super) target: usize,
    /// The table in whose section a pair stands.
    pub(super) section: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    ArrayTable,
    Pair,
}

impl Layout {
    /// The first of a node and its containers that a set holds.
    pub(super) fn container_in(&self, node: usize, set: &BTreeSet<usize>) -> Option<usize> {
        let mut at = node;
        loop {
            if set.contains(&at) {
                return Some(at);
            }
            if self.parents[at] == at {
                return None;
            }
            at = self.parents[at];
        }
    }

    /// The statements of tables, with the text between those that follow each other.
    pub(in super::super) fn extents(&self, tables: &BTreeSet<usize>) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut open = None;
        for statement in &self.statements {
            let table = self.container_in(statement.target, tables);
            match ranges.last_mut() {
                Some(last) if table.is_some() && table == open => last.end = statement.span.end,
                _ if table.is_some() => ranges.push(statement.span.clone()),
                _ => {}
            }
            open = table;
        }
        ranges
    }
}
