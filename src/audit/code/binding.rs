//! The nodes that variables stand for during a match.

use std::{collections::BTreeMap, ops::Range, rc::Rc};

use tree_sitter::Node;

use super::{grammar::Variable, layout::Lines, literal::Literals, tree};

/// The variables of a match. A copy costs nothing until it is changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings<'t> {
    names: Rc<Names<'t>>,
}

#[derive(Clone, Debug, Default)]
struct Names<'t> {
    one: BTreeMap<String, Node<'t>>,
    many: BTreeMap<String, Vec<Node<'t>>>,
    /// Texts that were made of other variables.
    made: BTreeMap<String, Lines>,
    /// True if code before a mark belongs to no variable.
    has_lost: bool,
}

impl<'t> Bindings<'t> {
    /// Sets `$NAME`; false if the name stands for another node already.
    pub(super) fn bind(&mut self, text: &str, name: &str, node: Node<'t>) -> bool {
        let is_free = self.one(name).is_none_or(|bound| is_same(text, bound, node));
        if is_free {
            Rc::make_mut(&mut self.names).one.insert(name.to_owned(), node);
        }
        is_free
    }

    /// Sets `$$$NAME`; false if the name stands for other nodes already. Commas and the like may differ.
    pub(super) fn bind_many(&mut self, text: &str, name: &str, nodes: Vec<Node<'t>>) -> bool {
        let is_free = self.names.many.get(name).is_none_or(|bound| {
            let mut bound = bound.iter().filter(|node| node.is_named());
            let mut named = nodes.iter().filter(|node| node.is_named());
            loop {
                match (bound.next(), named.next()) {
                    (Some(a), Some(b)) if is_same(text, *a, *b) => {}
                    (None, None) => break true,
                    _ => break false,
                }
            }
        });
        if is_free {
            Rc::make_mut(&mut self.names).many.insert(name.to_owned(), nodes);
        }
        is_free
    }

    /// Notes that a variable left out code: `$$$NAME;` takes a node for its mark, also where the mark is missing.
    pub(super) fn lose(&mut self) {
        Rc::make_mut(&mut self.names).has_lost = true;
    }

    /// True if a variable left out code.
    pub(super) fn has_lost(&self) -> bool {
        self.names.has_lost
    }

    /// The node of `$NAME`.
    pub(super) fn one(&self, name: &str) -> Option<Node<'t>> {
        self.names.one.get(name).copied()
    }

    /// The nodes of `$$$NAME`.
    pub(super) fn many(&self, name: &str) -> &[Node<'t>] {
        self.names.many.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The variables with one node, sorted by name.
    pub(super) fn all_of_one(&self) -> Vec<(String, Node<'t>)> {
        self.names.one.iter().map(|(name, node)| (name.clone(), *node)).collect()
    }

    /// True if a range is within the nodes of a variable.
    pub(super) fn hold(&self, range: &Range<usize>) -> bool {
        let is_around =
            |first: &Node<'t>, last: &Node<'t>| first.start_byte() <= range.start && range.end <= last.end_byte();
        let many = self.names.many.values().filter_map(|nodes| nodes.first().zip(nodes.last()));
        self.names.one.values().map(|node| (node, node)).chain(many).any(|(first, last)| is_around(first, last))
    }

    /// The comments that variables end with, of those that end with their line.
    pub(super) fn comments_at_end<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let many = self.names.many.values().filter_map(|nodes| nodes.last());
        let comment = |node: &Node<'t>| {
            let mut around = std::iter::successors(Some(*node), |node| tree::children(*node).pop());
            around.find(|node| node.kind().contains("comment")).map(|node| tree::text_of(text, node))
        };
        let is_open = |text: &&str| !["*/", "-->", "\n"].iter().any(|end| text.ends_with(end));
        self.names.one.values().chain(many).filter_map(comment).filter(is_open).collect()
    }

    /// The text that was made under a name.
    pub(super) fn made(&self, name: &str) -> Option<&Lines> {
        self.names.made.get(name)
    }

    /// Sets a text that was made of a variable. Its lines lose the indentation that the variable's first line has in the file.
    pub(super) fn make(&mut self, file: &Literals<'_>, source: &Variable, name: &str, made: Lines) {
        let node = match source {
            Variable::One { name, .. } => self.one(name),
            Variable::Many(name) => self.many(name).first().copied(),
            Variable::AnyOne { .. } | Variable::AnyMany => None,
        };
        let made = match node.filter(|_| !made.is_one()) {
            Some(node) => made.shifted(file.indentation(node.start_byte()), 0),
            None => made,
        };
        Rc::make_mut(&mut self.names).made.insert(name.to_owned(), made);
    }

    /// The text of a variable.
    pub(super) fn lines(&self, file: &Literals<'_>, variable: &Variable) -> Option<Lines> {
        match variable {
            Variable::One { name, .. } => match self.one(name) {
                Some(node) => file.lines(node.byte_range()),
                None => self.made(name).cloned(),
            },
            Variable::Many(name) => {
                let (first, last) = (self.many(name).first()?, self.many(name).last()?);
                file.lines(first.start_byte()..last.end_byte())
            }
            Variable::AnyOne { .. } | Variable::AnyMany => None,
        }
    }

    /// Takes variables over from other bindings; false if one stands for something else here.
    pub(super) fn take(&mut self, file: &Literals<'_>, from: &Bindings<'t>, names: &[String]) -> bool {
        names.iter().all(|name| {
            if let Some(node) = from.one(name) {
                self.bind(file.text, name, node)
            } else if !from.many(name).is_empty() {
                self.bind_many(file.text, name, from.many(name).to_vec())
            } else {
                if let Some(made) = from.made(name) {
                    let source = Variable::One { name: name.clone(), is_named: false };
                    self.make(file, &source, name, made.clone());
                }
                true
            }
        })
    }
}

/// True if two nodes are the same code. A node without named children is compared by its text.
fn is_same(text: &str, a: Node<'_>, b: Node<'_>) -> bool {
    let mut pairs = vec![(a, b)];
    while let Some((a, b)) = pairs.pop() {
        if a.id() == b.id() {
            continue;
        }
        if a.named_child_count() == 0 || b.named_child_count() == 0 {
            if tree::text_of(text, a) != tree::text_of(text, b) {
                return false;
            }
            continue;
        }
        let (children_a, children_b) = (tree::children(a), tree::children(b));
        if a.kind_id() != b.kind_id() || children_a.len() != children_b.len() {
            return false;
        }
        pairs.extend(children_a.into_iter().zip(children_b));
    }
    true
}
