//! The comparison of a pattern with a node. It looks at children from left to right and never goes back: `$$$` ends at the first
//! node that fits what follows it. These are ast-grep's semantics, which rules rely on.

use tree_sitter::Node;

use super::{
    binding::Bindings,
    grammar::{ERROR_KIND, Variable},
    pattern::{Part, Pattern, Strictness},
    tree,
};

/// Compares a pattern with a node, and binds its variables. If it fails, nothing is bound.
pub(super) fn unify<'t>(pattern: &Pattern, text: &str, node: Node<'t>, bindings: &mut Bindings<'t>) -> bool {
    if pattern.selected.is_some_and(|kind| node.kind_id() != kind) {
        return false;
    }
    let unifier = Unifier { text, strictness: pattern.strictness };
    let mut bound = bindings.clone();
    let is_match = match &pattern.part {
        // A comment can be a match of its own, though it is skipped within a pattern.
        Part::Variable(variable) if pattern.strictness == Strictness::Smart => unifier.bind(variable, node, &mut bound),
        part => unifier.compare(part, node, &mut bound) == Fit::Yes,
    };
    if is_match {
        *bindings = bound;
    }
    is_match
}

/// The result of a comparison of a part with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// The node does not count.
    SkipNode,
    /// The part does not count.
    SkipPart,
    SkipBoth,
}

/// The end of a step over children; none if they do not fit.
enum Step {
    /// All parts have fitted.
    Done,
    /// Another `$$$` follows.
    Again,
    /// The next part is compared with the next node.
    Next,
}

struct Unifier<'s> {
    text: &'s str,
    strictness: Strictness,
}

/// The parts and nodes that are left.
struct Rest<'p, 't> {
    parts: &'p [Part],
    nodes: &'p [Node<'t>],
}

impl Rest<'_, '_> {
    fn skip_part(&mut self) {
        self.parts = self.parts.get(1..).unwrap_or_default();
    }

    fn skip_node(&mut self) {
        self.nodes = self.nodes.get(1..).unwrap_or_default();
    }
}

impl Unifier<'_> {
    fn compare<'t>(&self, part: &Part, node: Node<'t>, bindings: &mut Bindings<'t>) -> Fit {
        match part {
            Part::Word { text, is_named, kind } => self.word(text, *is_named, *kind, node),
            Part::Variable(_) if self.skips_comments() && node.is_extra() => Fit::SkipNode,
            Part::Variable(variable) => yes(self.bind(variable, node, bindings)),
            Part::Tree { kind, parts } => {
                let is_kind = self.strictness == Strictness::Template || fits(*kind, node.kind_id());
                yes(is_kind && self.children(parts, &tree::children(node), bindings))
            }
        }
    }

    fn word(&self, text: &str, is_named: bool, kind: u16, node: Node<'_>) -> Fit {
        let is_kind = fits(kind, node.kind_id());
        let is_text = text == tree::text_of(self.text, node);
        // The text of a mark may be wrong: TypeScript's grammar gives some a wrong end.
        if is_kind && (!is_named || is_text) {
            return Fit::Yes;
        }
        if self.skips_comments() && node.is_extra() {
            return Fit::SkipNode;
        }
        let (skips_part, skips_node) = match self.strictness {
            Strictness::Signature if is_kind => return Fit::Yes,
            Strictness::Template if is_text => return Fit::Yes,
            Strictness::Cst => (false, false),
            Strictness::Smart | Strictness::Template => (false, !node.is_named()),
            Strictness::Ast | Strictness::Relaxed | Strictness::Signature => (!is_named, !node.is_named()),
        };
        match (skips_part, skips_node) {
            (true, true) => Fit::SkipBoth,
            (true, false) => Fit::SkipPart,
            (false, true) => Fit::SkipNode,
            (false, false) => Fit::No,
        }
    }

    fn bind<'t>(&self, variable: &Variable, node: Node<'t>, bindings: &mut Bindings<'t>) -> bool {
        match variable {
            Variable::One { is_named: true, .. } | Variable::AnyOne { is_named: true } if !node.is_named() => false,
            Variable::One { name, .. } => bindings.bind(self.text, name, node),
            Variable::Many(name) => bindings.bind_many(self.text, name, vec![node]),
            Variable::AnyOne { .. } | Variable::AnyMany => true,
        }
    }

    fn children<'t>(&self, parts: &[Part], nodes: &[Node<'t>], bindings: &mut Bindings<'t>) -> bool {
        let mut rest = Rest { parts, nodes };
        while !rest.nodes.is_empty() {
            match self.many(&mut rest, bindings) {
                None => return false,
                Some(Step::Done) => return true,
                Some(Step::Again) => continue,
                Some(Step::Next) => {}
            }
            if !self.one(&mut rest, bindings) {
                return false;
            }
            if !rest.parts.is_empty() {
                rest.skip_part();
                rest.skip_node();
            }
            if rest.parts.is_empty() {
                return rest.nodes.iter().all(|node| self.may_trail(*node));
            }
        }
        false
    }

    /// Takes the nodes of a `$$$`, if one is next. The marks after it are left out of both sides.
    fn many<'t>(&self, rest: &mut Rest<'_, 't>, bindings: &mut Bindings<'t>) -> Option<Step> {
        let Some(first) = rest.parts.first() else { return Some(Step::Done) };
        let Some(name) = name_of_many(first) else { return Some(Step::Next) };
        rest.skip_part();
        let mut n_marks = 0;
        while let Some(Part::Word { is_named: false, .. }) = rest.parts.first() {
            rest.skip_part();
            n_marks += 1;
        }
        let Some(next) = rest.parts.first() else {
            return self.take(name, rest.nodes, n_marks, bindings).then_some(Step::Done);
        };
        let all = rest.nodes;
        if name_of_many(next).is_some() {
            rest.skip_node();
            let is_taken = !rest.nodes.is_empty() && self.take(name, &all[..1], n_marks, bindings);
            return is_taken.then_some(Step::Again);
        }
        // A failed comparison must not bind anything.
        let n_taken = all.iter().position(|node| self.compare(next, *node, &mut bindings.clone()) == Fit::Yes)?;
        rest.nodes = &all[n_taken..];
        self.take(name, &all[..n_taken], n_marks, bindings).then_some(Step::Next)
    }

    fn take<'t>(&self, name: Option<&str>, nodes: &[Node<'t>], n_marks: usize, bindings: &mut Bindings<'t>) -> bool {
        let (own, marks) = nodes.split_at(nodes.len().saturating_sub(n_marks));
        if name.is_some() && marks.iter().any(Node::is_named) {
            bindings.lose();
        }
        name.is_none_or(|name| bindings.bind_many(self.text, name, own.to_vec()))
    }

    /// Compares the next part with the next node that counts.
    fn one<'t>(&self, rest: &mut Rest<'_, 't>, bindings: &mut Bindings<'t>) -> bool {
        while let Some(part) = rest.parts.first() {
            let Some(node) = rest.nodes.first() else {
                let is_complete = rest.parts.iter().all(|part| self.may_lack(part));
                rest.parts = &[];
                return is_complete;
            };
            match self.compare(part, *node, bindings) {
                Fit::Yes => return true,
                Fit::No => return false,
                Fit::SkipNode => rest.skip_node(),
                Fit::SkipPart => rest.skip_part(),
                Fit::SkipBoth => {
                    rest.skip_node();
                    rest.skip_part();
                }
            }
        }
        true
    }

    fn skips_comments(&self) -> bool {
        !matches!(self.strictness, Strictness::Cst | Strictness::Ast)
    }

    /// True if a node may stand after the last part.
    fn may_trail(&self, node: Node<'_>) -> bool {
        match self.strictness {
            Strictness::Cst => false,
            Strictness::Smart => true,
            Strictness::Ast => !node.is_named(),
            Strictness::Relaxed | Strictness::Signature => !node.is_named() || node.is_extra(),
            Strictness::Template => node.is_extra(),
        }
    }

    /// True if there may be no node for a part at the end.
    fn may_lack(&self, part: &Part) -> bool {
        let is_many = name_of_many(part).is_some();
        match self.strictness {
            Strictness::Cst => false,
            Strictness::Smart | Strictness::Template => is_many,
            Strictness::Ast | Strictness::Relaxed | Strictness::Signature => match part {
                Part::Variable(Variable::One { is_named, .. } | Variable::AnyOne { is_named }) => !is_named,
                Part::Word { is_named, .. } => !is_named,
                Part::Variable(_) => is_many,
                Part::Tree { .. } => false,
            },
        }
    }
}

fn yes(is_match: bool) -> Fit {
    if is_match { Fit::Yes } else { Fit::No }
}

/// True if a node's kind is that of the pattern. Code that was not understood stands for every kind.
fn fits(kind: u16, of_node: u16) -> bool {
    kind == of_node || kind == ERROR_KIND
}

/// The name of a part that is any number of nodes; the inner one is none without a name.
fn name_of_many(part: &Part) -> Option<Option<&str>> {
    match part {
        Part::Variable(Variable::Many(name)) => Some(Some(name)),
        Part::Variable(Variable::AnyMany) => Some(None),
        _ => None,
    }
}
