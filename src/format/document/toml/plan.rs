//! The fate of every table and value that edits of a TOML text concern.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    draft::{Body, Entry},
    pen::{Pen, Step},
    tree::Form,
};
use super::layout::{Kind, Layout};

/// The edits of a text, by the nodes of the source.
#[derive(Default)]
pub(super) struct Plan<'p> {
    /// Members and items that left their place.
    pub(super) gone: BTreeSet<usize>,
    /// New names of members, by their value.
    pub(super) names: BTreeMap<usize, &'p str>,
    /// The cells of values in the place of a node.
    pub(super) cells: BTreeMap<usize, usize>,
    /// New members and items by their table or array, without those inside values.
    pub(super) added: BTreeMap<usize, Vec<&'p Entry>>,
    /// New values in the place of tables and arrays of tables.
    pub(super) instead: BTreeMap<usize, &'p Entry>,
    /// Tables that become the only item of an array.
    pub(super) wrapped: BTreeSet<usize>,
    /// Tables and arrays that lost all that made them.
    pub(super) emptied: Vec<usize>,
}

impl<'p> Plan<'p> {
    /// Collects the edits.
    pub(super) fn of(pen: &'p Pen<'p>) -> Step<Plan<'p>> {
        let mut plan = Plan::default();
        let tree = pen.draft.tree;
        if pen.draft.cells[pen.draft.root].source != Some(tree.root) {
            return Err("the root of a TOML text can't be replaced".to_owned());
        }
        let mut open = vec![pen.draft.root];
        while let Some(cell) = open.pop() {
            let cell = &pen.draft.cells[cell];
            let (Some(id), true) = (cell.source, matches!(cell.body, Body::Array(_) | Body::Object(_))) else {
                continue;
            };
            let node = tree.node(id);
            let mut gone: BTreeSet<usize> = (0..node.n_children()).map(|index| node.child(index)).collect();
            for entry in cell.body.entries() {
                let Some(child) = entry.place.map(|place| node.child(place)) else {
                    plan.added.entry(id).or_default().push(entry);
                    continue;
                };
                let is_same = pen.draft.cells[entry.cell].source == Some(child);
                if !is_same && tree.node(child).form == Form::Block {
                    let Some(inner) = wrapped(pen, entry, child) else {
                        plan.instead.insert(child, entry);
                        continue;
                    };
                    plan.wrapped.insert(child);
                    open.push(inner);
                }
                gone.remove(&child);
                if entry.is_renamed {
                    plan.names.extend(entry.name.as_deref().map(|name| (child, name)));
                }
                plan.cells.insert(child, entry.cell);
                if tree.node(child).form == Form::Block {
                    open.push(entry.cell);
                }
            }
            if node.n_children() > 0 && cell.body.entries().is_empty() {
                plan.emptied.push(id);
            }
            plan.gone.extend(gone);
        }
        Ok(plan)
    }
}

/// The cell of a table around which an array was made.
fn wrapped(pen: &Pen<'_>, entry: &Entry, child: usize) -> Option<usize> {
    let Body::Wrapped(inner) = &pen.draft.cells[entry.cell].body else { return None };
    (pen.draft.cells[inner.cell].source == Some(child)).then_some(inner.cell)
}

/// The places where new statements may stand.
#[derive(Default)]
pub(super) struct Ends {
    /// The statement behind which a new pair of a table stands, with the number of its keys that lead to the table.
    pub(super) pairs: BTreeMap<usize, (usize, usize)>,
    /// The first statement of every table and array, with all beneath it.
    pub(super) first: BTreeMap<usize, usize>,
    /// The last statement of every table and array, with all beneath it.
    pub(super) all: BTreeMap<usize, usize>,
    /// Tables and arrays that a header names.
    pub(super) headed: BTreeSet<usize>,
}

impl Ends {
    /// Finds them among the statements that stay.
    pub(super) fn of(layout: &Layout, plan: &Plan<'_>, root: usize) -> Ends {
        let mut ends = Ends::default();
        for (index, statement) in layout.statements.iter().enumerate() {
            let is_gone = layout.container_in(statement.target, &plan.gone).is_some();
            if statement.kind == Kind::Pair {
                // A pair that leaves still marks the place.
                ends.pairs.insert(statement.section, (index, 0));
                let tables = statement.keys.iter().enumerate().rev().skip(1);
                for (nth, (_, table)) in tables.filter(|_| !is_gone) {
                    ends.pairs.insert(*table, (index, nth + 1));
                }
            } else {
                ends.pairs.insert(statement.target, (index, 0));
                ends.headed.extend(statement.keys.iter().map(|(_, node)| *node));
            }
            let mut at = statement.target;
            loop {
                ends.first.entry(at).or_insert(index);
                ends.all.insert(at, index);
                if at == root {
                    break;
                }
                at = layout.parents[at];
            }
        }
        ends
    }
}
