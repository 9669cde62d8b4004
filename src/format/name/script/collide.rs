//! Reasons against a new name of a script's symbol: other bindings of that name, and places that they would take.

use std::collections::BTreeSet;

use oxc_ast::AstKind;
use oxc_semantic::{NodeId, SymbolFlags, SymbolId};
use oxc_span::Span;

use super::{File, start};
use crate::name::{
    blocks,
    facts::{AMBIENT, Against, Obstacle},
};

impl File<'_, '_> {
    /// The reason that a symbol can't get the new name.
    pub(super) fn obstacle(&self, symbol: SymbolId, spans: &BTreeSet<Span>) -> Option<Obstacle> {
        let scoping = self.scoping;
        let declared = start(scoping.symbol_span(symbol));
        let of = |at: usize, reason: &str, against| Some(Obstacle { at, reason: reason.to_owned(), against });
        let (home, to) = (scoping.symbol_scope_id(symbol), self.change.to);
        let flags = scoping.symbol_flags(symbol);
        if spans.iter().any(|span| self.notes.properties.contains(&start(*span))) {
            return of(declared, "it is a parameter and a member of its class at once", Against::AnyName);
        }
        if flags.contains(SymbolFlags::EnumMember) || scoping.scope_flags(home).is_ts_module_block() {
            return of(declared, member_of(self.semantic.nodes().kind(scoping.get_node_id(home))), Against::AnyName);
        }
        if blocks::is_ambient(self.semantic, symbol) {
            return of(declared, AMBIENT, Against::AnyName);
        }
        if let Some(at) = self.notes.dynamic {
            return of(at, "the file has `with` or a direct `eval`", Against::AnyName);
        }
        let is_small = to.starts_with(|c: char| c.is_lowercase());
        if let Some(span) = spans.iter().find(|span| is_small && self.notes.elements.contains(&start(**span))) {
            return of(start(*span), "an element of markup must not begin with a small letter", Against::NewName);
        }
        if let Some(other) = scoping.get_binding(home, to.into()) {
            return of(start(scoping.symbol_span(other)), "the new name is bound in the same scope", Against::NewName);
        }
        self.captured(symbol).or_else(|| self.captures(symbol))
    }

    /// An inner binding of the new name that would take a place of the symbol.
    fn captured(&self, symbol: SymbolId) -> Option<Obstacle> {
        let (scoping, to) = (self.scoping, self.change.to);
        let home = scoping.symbol_scope_id(symbol);
        let references = self.semantic.symbol_references(symbol).map(|reference| reference.node_id());
        let predicates = self.notes.predicates.iter().map(|(_, node)| *node);
        let declarations = self.hoisted(symbol).into_iter().map(|(node, _)| node);
        let taker = references.chain(predicates).chain(declarations).find_map(|node| {
            let scope = self.semantic.nodes().get_node(node).scope_id();
            let within = scoping.scope_ancestors(scope).take_while(|scope| *scope != home);
            within.filter_map(|scope| scoping.get_binding(scope, to.into())).next()
        })?;
        let reason = "an inner binding of the new name would take a place of the old one".to_owned();
        Some(Obstacle { at: start(scoping.symbol_span(taker)), reason, against: Against::NewName })
    }

    /// A place of the new name that the renamed symbol would take.
    fn captures(&self, symbol: SymbolId) -> Option<Obstacle> {
        let (scoping, to) = (self.scoping, self.change.to);
        let home = scoping.symbol_scope_id(symbol);
        let is_inside = |node: NodeId| {
            let scope = self.semantic.nodes().get_node(node).scope_id();
            scope == home || scoping.scope_is_descendant_of(scope, home)
        };
        let of = |at: Span| Obstacle {
            at: start(at),
            reason: "it would take a place that means another thing of the new name".to_owned(),
            against: Against::NewName,
        };
        let outer = scoping.find_binding(home, to.into());
        let bound = outer.into_iter().flat_map(|outer| self.semantic.symbol_references(outer));
        let free = scoping.root_unresolved_references().get(to).into_iter().flatten();
        let free = free.map(|id| scoping.get_reference(*id));
        let places = bound.chain(free).map(|of| (of.node_id(), self.semantic.reference_span(of)));
        let hoisted = outer.into_iter().flat_map(|outer| self.hoisted(outer));
        places.chain(hoisted).find(|(node, _)| is_inside(*node)).map(|(_, span)| of(span))
    }

    /// The declarations of a variable that stand in blocks within its scope, where an inner binding takes their values.
    fn hoisted(&self, symbol: SymbolId) -> Vec<(NodeId, Span)> {
        let (scoping, home) = (self.scoping, self.scoping.symbol_scope_id(symbol));
        let first = (scoping.symbol_declaration(symbol), scoping.symbol_span(symbol));
        let again = scoping.symbol_redeclarations(symbol).iter().map(|again| (again.declaration, again.span));
        let is_below = |node| scoping.scope_is_descendant_of(self.semantic.nodes().get_node(node).scope_id(), home);
        again.chain([first]).filter(|(node, _)| is_below(*node)).collect()
    }
}

/// The reason against a member, by the node whose block declares it.
fn member_of(kind: AstKind<'_>) -> &'static str {
    match kind {
        AstKind::TSGlobalDeclaration(_) => "`declare global` adds it to the global object",
        AstKind::TSExternalModuleDeclaration(_) => "`declare module` declares it for another module",
        _ => "it is a member of an enumeration or a namespace",
    }
}
