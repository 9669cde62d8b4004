//! Patterns: code with variables, as a tree of what a node has to look like.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    grammar::{self, ERROR_KIND, Variable},
    tree,
};
use base::{
    error::{Code, Error},
    language::Language,
};

/// The differences between a pattern and a node that do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// None.
    Cst,
    /// Marks and comments in the code that the pattern does not have.
    Smart,
    /// Marks on either side.
    Ast,
    /// Marks on either side, and comments.
    Relaxed,
    /// As `Relaxed`, and the text of words of the same kind.
    Signature,
    /// As `Smart`, and the kinds of nodes with the same text.
    Template,
}

impl Strictness {
    /// The strictness of a name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "cst" => Strictness::Cst,
            "smart" => Strictness::Smart,
            "ast" => Strictness::Ast,
            "relaxed" => Strictness::Relaxed,
            "signature" => Strictness::Signature,
            "template" => Strictness::Template,
            _ => return None,
        })
    }
}

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// A variable.
    Variable(Variable),
    /// A node without children.
    Word { text: String, is_named: bool, kind: u16 },
    /// A node with children.
    Tree { kind: u16, parts: Vec<Part> },
}

/// A pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// Its tree.
    pub(super) part: Part,
    /// The kind that a selector chose.
    pub(super) selected: Option<u16>,
    /// The differences that do not count.
    pub(super) strictness: Strictness,
}

impl Pattern {
    /// Reads a pattern. With a `selector` it is the first node of that kind within the code.
    pub(super) fn parse(language: Language, code: &str, selector: Option<&str>) -> Result<Self, Error> {
        let wrong = |reason: String| {
            Error::new(
                Code::InvalidInput,
                format!("the pattern `{code}` can't be used for {}: {reason}", language.name()),
            )
        };
        let text = grammar::prepared(language, code);
        let tree = tree::parse(language, &text, &|| Ok(()))?;
        let root = tree.root_node();
        let (node, selected) = match selector {
            Some(selector) => {
                let kind = grammar::kind(language, selector)
                    .ok_or_else(|| wrong(format!("the language has no node of kind `{selector}`")))?;
                let node = tree::descend(root)
                    .find(|node| node.kind_id() == kind)
                    .ok_or_else(|| wrong(format!("it has no node of kind `{selector}`")))?;
                (node, Some(kind))
            }
            None => {
                let mut node = root;
                while let Some(inner) = only_child(node) {
                    node = inner;
                }
                if node == root {
                    return Err(wrong(match root.child_count() {
                        0 => "it is empty".to_owned(),
                        _ => "it is several pieces of code".to_owned(),
                    }));
                }
                (node, None)
            }
        };
        let part = part(language, &text, node);
        if let Part::Variable(Variable::Many(_) | Variable::AnyMany) = part {
            return Err(wrong("it is any number of nodes, and a match is one".to_owned()));
        }
        Ok(Pattern { part, selected, strictness: Strictness::Smart })
    }

    /// True if the code of the pattern was not understood.
    pub(super) fn is_error(&self) -> bool {
        match &self.part {
            Part::Variable(_) => self.selected == Some(ERROR_KIND),
            Part::Word { kind, .. } | Part::Tree { kind, .. } => *kind == ERROR_KIND,
        }
    }

    /// The kind of all nodes that it matches, if there is one.
    pub(super) fn kind(&self) -> Option<u16> {
        match &self.part {
            _ if self.strictness == Strictness::Template => None,
            Part::Variable(_) => self.selected,
            Part::Word { kind, .. } => Some(*kind),
            Part::Tree { kind, .. } => (*kind != ERROR_KIND).then_some(*kind),
        }
    }
}

impl Part {
    /// Adds the names of its variables.
    pub(super) fn variables(&self, names: &mut BTreeSet<String>) {
        match self {
            Part::Variable(Variable::One { name, .. } | Variable::Many(name)) => {
                names.insert(name.clone());
            }
            Part::Tree { parts, .. } => parts.iter().for_each(|part| part.variables(names)),
            Part::Variable(_) | Part::Word { .. } => {}
        }
    }
}

/// The child of a node that has no other. Some grammars end a file with an empty node, which does not count.
fn only_child(node: Node<'_>) -> Option<Node<'_>> {
    let is_only = match node.child_count() {
        1 => true,
        2 => node.child(1).is_some_and(|second| second.is_missing() || second.kind().is_empty()),
        _ => false,
    };
    if is_only { node.child(0) } else { None }
}

fn part(language: Language, text: &str, node: Node<'_>) -> Part {
    let own = tree::text_of(text, node);
    if let Some(variable) = grammar::variable(language, own) {
        return Part::Variable(variable);
    }
    let kind = node.kind_id();
    if node.child_count() == 0 {
        return Part::Word { text: own.to_owned(), is_named: node.is_named(), kind };
    }
    let children = tree::children(node).into_iter().filter(|child| !child.is_missing());
    Part::Tree { kind, parts: children.map(|child| part(language, text, child)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_one_piece_of_code() {
        let of = |language, code, selector| Pattern::parse(language, code, selector);
        assert!(of(Language::JavaScript, "f($A)", None).is_ok());
        assert!(of(Language::Go, "$A = 0", None).is_ok());
        for wrong in ["", "f(); g()", "$$$", "$$$A"] {
            assert!(of(Language::JavaScript, wrong, None).is_err(), "{wrong}");
        }
        assert!(of(Language::JavaScript, "class A { $F = $I }", Some("field_definition")).is_ok());
        assert!(of(Language::JavaScript, "class A { $F = $I }", Some("nothing")).is_err());
        assert!(of(Language::JavaScript, "class A { $F = $I }", Some("if_statement")).is_err());
    }
}
