//! Bindings of two names that would take over uses of each other, if both had the same name.

use tree_sitter::Node;

use super::{Collisions, Resolution, Role, around};
use crate::name::facts::Change;

/// The uses of a name, each with its binding.
type Uses<'t> = Vec<(Node<'t>, Option<usize>)>;

impl<'t> Resolution<'_, 't> {
    /// The collisions; none if the language has no rule for them.
    pub(super) fn collisions(&self, change: Change<'_>) -> Option<Collisions> {
        let other = self.other(change.to);
        let uses = (self.uses(change.from)?, other.uses(change.to)?);
        let of_bindings = (0..self.bindings.len()).map(|at| self.captured(Some(at), &other, &uses)).collect();
        Some(Collisions { of_bindings, of_package: self.captured(None, &other, &uses) })
    }

    /// A place that would mean another thing if a binding had the name of another resolution.
    fn captured(&self, at: Option<usize>, other: &Self, (own, others): &(Uses<'t>, Uses<'t>)) -> Option<usize> {
        let of = |resolution: &Self, at: usize| resolution.bindings[at].declaration.scope;
        let (scope, seen) = match at {
            Some(at) => (of(self, at), self.bindings[at].declaration.seen.clone()),
            None => (self.root, 0..usize::MAX),
        };
        let beside = other.bindings.iter().find(|binding| binding.declaration.scope.id() == scope.id());
        let is_hidden = |(node, bound): &&(Node<'t>, Option<usize>)| {
            *bound == at && other.binding_of(*node).is_some_and(|inner| is_within(of(other, inner), scope))
        };
        let is_taken = |(node, bound): &&(Node<'t>, Option<usize>)| {
            seen.contains(&node.start_byte())
                && is_within(*node, scope)
                && bound.is_none_or(|bound| is_within(scope, of(other, bound)))
        };
        let used = || own.iter().find(is_hidden).or_else(|| others.iter().find(is_taken));
        beside.map(|binding| binding.declared).or_else(|| used().map(|(node, _)| node.start_byte()))
    }

    /// The uses of the name that was resolved; none if the language has no rule for them.
    fn uses(&self, name: &str) -> Option<Uses<'t>> {
        let implied = self.rules.implied(self.root, name, self.text)?;
        let is_use = |role: Role<'t>| matches!(role, Role::Refers(_));
        let named = self.tokens(name).into_iter().filter(|token| is_use(self.role(token))).map(|token| token.node);
        Some(named.chain(implied).map(|node| (node, self.binding_of(node))).collect())
    }
}

/// True if a node is another one within `outer`.
fn is_within(node: Node<'_>, outer: Node<'_>) -> bool {
    outer.byte_range().contains(&node.start_byte()) && around(node, |above| above.id() == outer.id()).is_some()
}
