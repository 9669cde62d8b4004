//! The tree of a document: every value with its place in the text.
//!
//! Nodes hold byte ranges, not text. Nothing here edits.

use std::ops::Range;

use serde_json::{Map, Value};

/// The deepest nesting that is read: the limit of `serde_json`.
pub(super) const MAX_DEPTH: usize = 127;

/// A parsed document.
#[derive(Debug)]
pub(super) struct Tree {
    /// Parents stand before their children.
    pub(super) nodes: Vec<Node>,
    pub(super) root: usize,
    /// Every comment with its sign, without the line end, in order.
    pub(super) comments: Vec<Range<usize>>,
}

/// One value of a document.
#[derive(Debug)]
pub(super) struct Node {
    /// The bytes of the value. In YAML they exclude a tag and an anchor.
    pub(super) span: Range<usize>,
    /// The start of the key or dash before the value, or its own.
    pub(super) begin: usize,
    pub(super) shape: Shape,
    pub(super) form: Form,
    /// The reason for which the value can't be edited.
    pub(super) lock: Option<&'static str>,
    /// The value of a YAML object with a merge key.
    pub(super) merged: Option<Value>,
    /// The dashes of a YAML block sequence.
    pub(super) dashes: Vec<usize>,
    /// The first lock of the value or of a value beneath it.
    pub(super) held: Option<&'static str>,
    /// A YAML anchor stands before the value.
    pub(super) has_anchor: bool,
    /// The pairs of an inline table of TOML, if a key in it has dots.
    pub(super) pairs: Vec<Pair>,
}

/// A key, perhaps with dots, and its value.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// The parts of the key, each with the node that it names.
    pub(super) keys: Vec<(Range<usize>, usize)>,
    pub(super) value: usize,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A scalar on one or more lines.
    Scalar,
    /// A YAML literal or folded block scalar.
    BlockScalar,
    /// A YAML value without text, which is null.
    Absent,
    /// A YAML alias.
    Alias,
    /// Brackets and commas.
    Flow,
    /// A YAML pair without braces, which is an object.
    Pair,
    /// YAML lines with an indentation, or the sections of TOML.
    Block,
}

/// The content of a value.
#[derive(Debug)]
pub(super) enum Shape {
    Scalar(Value),
    Array(Vec<usize>),
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The key as written, with its quotes. In TOML the first of several.
    pub(super) key: Range<usize>,
    pub(super) value: usize,
}

impl Tree {
    pub(super) fn node(&self, id: usize) -> &Node {
        &self.nodes[id]
    }

    /// The value of a node.
    pub(super) fn value_of(&self, id: usize) -> Value {
        value_of(&self.nodes, id)
    }

    /// Tells the members and items where their key or dash begins.
    pub(super) fn spread_begins(&mut self) {
        for id in 0..self.nodes.len() {
            for index in 0..self.nodes[id].n_children() {
                let child = self.nodes[id].child(index);
                let key = self.nodes[id].member(index).map(|member| member.key.start);
                let begin = key.or_else(|| self.nodes[id].dashes.get(index).copied());
                self.nodes[child].begin = begin.unwrap_or(self.nodes[child].span.start);
            }
        }
    }

    /// Passes locks on to the containers of locked values.
    pub(super) fn spread_locks(&mut self) {
        for id in (0..self.nodes.len()).rev() {
            let below = match &self.nodes[id].shape {
                Shape::Scalar(_) => None,
                Shape::Array(items) => items.iter().find_map(|item| self.nodes[*item].held),
                Shape::Object(members) => members.iter().find_map(|member| self.nodes[member.value].held),
            };
            self.nodes[id].held = self.nodes[id].lock.or(below);
        }
    }
}

/// The value of a node. Nesting is bounded by [`MAX_DEPTH`].
pub(super) fn value_of(nodes: &[Node], id: usize) -> Value {
    let node = &nodes[id];
    if let Some(merged) = &node.merged {
        return merged.clone();
    }
    match &node.shape {
        Shape::Scalar(value) => value.clone(),
        Shape::Array(items) => items.iter().map(|item| value_of(nodes, *item)).collect(),
        Shape::Object(members) => {
            let members = members.iter().map(|member| (member.name.clone(), value_of(nodes, member.value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

impl Node {
    pub(super) fn new(span: Range<usize>, shape: Shape, form: Form) -> Node {
        Node {
            begin: span.start,
            span,
            shape,
            form,
            lock: None,
            merged: None,
            dashes: Vec::new(),
            held: None,
            has_anchor: false,
            pairs: Vec::new(),
        }
    }

    /// The values directly beneath, each with the start of its key or else its own.
    pub(super) fn n_children(&self) -> usize {
        match &self.shape {
            Shape::Scalar(_) => 0,
            Shape::Array(items) => items.len(),
            Shape::Object(members) => members.len(),
        }
    }

    pub(super) fn child(&self, index: usize) -> usize {
        match &self.shape {
            Shape::Array(items) => items[index],
            Shape::Object(members) => members[index].value,
            Shape::Scalar(_) => unreachable!("a scalar has no children"),
        }
    }

    pub(super) fn member(&self, index: usize) -> Option<&Member> {
        match &self.shape {
            Shape::Object(members) => members.get(index),
            Shape::Scalar(_) | Shape::Array(_) => None,
        }
    }
}
