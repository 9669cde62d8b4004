//! The pairs of a container in brackets, and their fates. A key with dots in an inline table of TOML names several nodes.

use std::collections::BTreeMap;

use super::{
    draft::{Body, Cell, Entry},
    pen::Pen,
    tree::{Form, Node, Pair},
};

/// A pair or item of the result.
#[derive(Debug)]
pub(super) struct Part {
    /// Its number in the source, where it stays in its place.
    pub(super) place: Option<usize>,
    /// Its value; none if it stays as it is, and for a new table without members.
    pub(super) cell: Option<usize>,
    /// The new names of nodes in its key.
    pub(super) names: Vec<(usize, String)>,
    /// The key of a new pair.
    pub(super) key: Option<String>,
}

/// The pairs or items of a container, in order. Items have no keys.
pub(super) fn pairs(node: &Node) -> Vec<Pair> {
    let single = |index: usize| {
        let key = node.member(index).map(|member| (member.key.clone(), member.value));
        Pair { keys: key.into_iter().collect(), value: node.child(index) }
    };
    if node.pairs.is_empty() { (0..node.n_children()).map(single).collect() } else { node.pairs.clone() }
}

/// The pairs or items of the result, in order.
pub(super) fn parts(pen: &Pen<'_>, cell: &Cell, node: &Node, pairs: &[Pair]) -> Vec<Part> {
    if node.pairs.is_empty() {
        return cell.body.entries().into_iter().map(|entry| plain(pen, node, entry)).collect();
    }
    let mut fates = Fates { pen, pairs, kept: BTreeMap::new(), behind: BTreeMap::new() };
    fates.table(cell, node, &Way::default());
    let mut parts = Vec::new();
    for index in 0..=pairs.len() {
        parts.extend(fates.kept.remove(&index));
        parts.extend(fates.behind.remove(&index).unwrap_or_default());
    }
    parts
}

/// An item, or a pair whose key has no dots.
fn plain(pen: &Pen<'_>, node: &Node, entry: &Entry) -> Part {
    let renamed = entry.place.and_then(|place| node.member(place)).filter(|_| entry.is_renamed);
    let names = renamed.zip(entry.name.clone()).map(|(member, name)| (member.value, name)).into_iter().collect();
    let key = entry.name.as_deref().filter(|_| entry.place.is_none()).map(|name| pen.key(name, None));
    Part { place: entry.place, cell: Some(entry.cell), names, key }
}

/// The keys on the way to a table.
#[derive(Clone, Default)]
struct Way {
    /// The table, unless it is that of the braces.
    table: Option<usize>,
    names: Vec<(usize, String)>,
    /// The text of the keys, with a dot behind each.
    prefix: String,
}

/// The pairs of the result by the number of their pair in the source.
struct Fates<'f> {
    pen: &'f Pen<'f>,
    pairs: &'f [Pair],
    kept: BTreeMap<usize, Part>,
    /// New pairs behind a pair, or behind all.
    behind: BTreeMap<usize, Vec<Part>>,
}

impl Fates<'_> {
    /// Notes the fates of the pairs of a table.
    fn table(&mut self, cell: &Cell, node: &Node, way: &Way) {
        let (pen, tree) = (self.pen, self.pen.draft.tree);
        for entry in cell.body.entries() {
            let name = entry.name.as_deref().unwrap_or_default();
            let Some(member) = entry.place.and_then(|place| node.member(place)) else {
                let last = way.table.and_then(|table| self.last(table));
                self.add(Some(entry.cell), format!("{}{}", way.prefix, pen.key(name, None)), last);
                continue;
            };
            let mut inner_way = way.clone();
            inner_way.names.extend(entry.is_renamed.then(|| (member.value, name.to_owned())));
            let key = if entry.is_renamed { pen.key(name, None) } else { pen.text[member.key.clone()].to_owned() };
            let (inner, child) = (&pen.draft.cells[entry.cell], tree.node(member.value));
            if child.form != Form::Block {
                self.keep(member.value, Some(entry.cell), &inner_way);
            } else if inner.source != Some(member.value) {
                self.add(Some(entry.cell), format!("{}{key}", way.prefix), self.last(member.value));
            } else if matches!(inner.body, Body::Kept) {
                self.keep(member.value, None, &inner_way);
            } else if inner.body.entries().is_empty() {
                self.add(None, format!("{}{key}", way.prefix), self.last(member.value));
            } else {
                inner_way.table = Some(member.value);
                inner_way.prefix.extend([&key, "."]);
                self.table(inner, child, &inner_way);
            }
        }
    }

    /// Keeps the pairs of a node in their places.
    fn keep(&mut self, node: usize, cell: Option<usize>, way: &Way) {
        let own = self.pairs.iter().enumerate().filter(|(_, pair)| names(pair, node));
        let part = |place| Part { place: Some(place), cell, names: way.names.clone(), key: None };
        self.kept.extend(own.map(|(place, _)| (place, part(place))));
    }

    fn add(&mut self, cell: Option<usize>, key: String, behind: Option<usize>) {
        let part = Part { place: None, cell, names: Vec::new(), key: Some(key) };
        self.behind.entry(behind.unwrap_or(self.pairs.len())).or_default().push(part);
    }

    /// The last pair of a node.
    fn last(&self, node: usize) -> Option<usize> {
        self.pairs.iter().rposition(|pair| names(pair, node))
    }
}

fn names(pair: &Pair, node: usize) -> bool {
    pair.keys.iter().any(|(_, named)| *named == node)
}
