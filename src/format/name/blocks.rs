//! Declarations of TypeScript whose meaning lies elsewhere: blocks that see what other blocks declare, and values without a definition.

use std::collections::BTreeSet;

use oxc_ast::{
    AstKind,
    ast::{TSType, TSTypeOperatorOperator},
};
use oxc_semantic::{NodeId, ScopeId, Semantic, SymbolFlags, SymbolId};

use super::facts::{Block, Change, Crossing};

/// The blocks of a file.
pub(super) struct Blocks<'s, 'a> {
    pub(super) semantic: &'s Semantic<'a>,
    pub(super) change: Change<'s>,
    /// True if its top belongs to it alone.
    pub(super) is_module: bool,
}

impl Blocks<'_, '_> {
    /// The blocks that declare the old or the new name.
    pub(super) fn declaring(&self) -> BTreeSet<(Block, ScopeId)> {
        let scoping = self.semantic.scoping();
        let is_asked = |name: &str| name == self.change.from || name == self.change.to;
        let symbols = scoping.symbol_ids().filter(|symbol| is_asked(scoping.symbol_name(*symbol)));
        let scopes = symbols.map(|symbol| scoping.symbol_scope_id(symbol));
        scopes.filter_map(|scope| Some((self.block(scope)?, scope))).collect()
    }

    /// The places of the old name in blocks within the scope of its binding.
    pub(super) fn crossings(&self, declaring: &BTreeSet<(Block, ScopeId)>) -> Vec<Crossing> {
        let (scoping, from) = (self.semantic.scoping(), self.change.from);
        let symbols = scoping.symbol_ids().filter(|symbol| scoping.symbol_name(*symbol) == from);
        let bound = symbols.flat_map(|symbol| {
            let home = Some(scoping.symbol_scope_id(symbol));
            self.semantic.symbol_references(symbol).map(move |reference| (home, reference))
        });
        let free = scoping.root_unresolved_references().get(from).into_iter().flatten();
        let free = free.map(|id| (None, scoping.get_reference(*id)));
        let mut crossings = Vec::new();
        for (home, reference) in bound.chain(free) {
            let scope = self.semantic.nodes().get_node(reference.node_id()).scope_id();
            let at = self.semantic.reference_span(reference).start as usize;
            for scope in scoping.scope_ancestors(scope).take_while(|scope| Some(*scope) != home) {
                let Some(block) = self.block(scope) else { continue };
                let is_declared = declaring.iter().any(|(other, of)| *other == block && *of != scope);
                crossings.push(Crossing { at, block, is_declared });
            }
        }
        crossings
    }

    /// The block that a scope is.
    fn block(&self, scope: ScopeId) -> Option<Block> {
        let nodes = self.semantic.nodes();
        let node = self.semantic.scoping().get_node_id(scope);
        let name = match nodes.kind(node) {
            AstKind::TSExternalModuleDeclaration(module) => return Some(Block::Module(module.id.value.to_string())),
            AstKind::TSNamespaceDeclaration(namespace) => namespace.id.name.to_string(),
            AstKind::TSEnumBody(_) => match nodes.parent_kind(node) {
                AstKind::TSEnumDeclaration(declaration) => declaration.id.name.to_string(),
                _ => return None,
            },
            _ => return None,
        };
        let is_added = |kind| matches!(kind, AstKind::TSGlobalDeclaration(_) | AstKind::TSExternalModuleDeclaration(_));
        Some(Block::Named { name, is_shared: !self.is_module || nodes.ancestor_kinds(node).any(is_added) })
    }
}

/// True if a symbol has a value that its declarations do not define, as after `declare const x: string`.
pub(super) fn is_ambient(semantic: &Semantic<'_>, symbol: SymbolId) -> bool {
    let scoping = semantic.scoping();
    let is_value_module = scoping.symbol_flags(symbol).contains(SymbolFlags::ValueModule);
    let ambient = |node: NodeId| {
        let is_declared = match semantic.nodes().kind(node) {
            AstKind::VariableDeclarator(variable) => {
                let of_type = variable.type_annotation.as_ref().map(|annotation| &annotation.type_annotation);
                let is_unique = matches!(of_type, Some(TSType::TSTypeOperatorType(of))
                    if of.operator == TSTypeOperatorOperator::Unique);
                let parent = semantic.nodes().parent_kind(node);
                !is_unique && matches!(parent, AstKind::VariableDeclaration(declaration) if declaration.declare)
            }
            // A signature without a body stands before the function itself.
            AstKind::Function(function) => function.declare,
            AstKind::Class(class) => class.declare,
            AstKind::TSEnumDeclaration(declaration) if !declaration.r#const => declaration.declare,
            AstKind::TSNamespaceDeclaration(namespace) if is_value_module => namespace.declare,
            _ => return None,
        };
        Some(is_declared || is_in_ambient(semantic, node))
    };
    let mut values = scoping.symbol_declarations(symbol).filter_map(ambient).peekable();
    values.peek().is_some() && values.all(|is_ambient| is_ambient)
}

/// True if a declaration needs no `declare` of its own to be one.
fn is_in_ambient(semantic: &Semantic<'_>, node: NodeId) -> bool {
    let declares = |kind: AstKind<'_>| match kind {
        AstKind::TSExternalModuleDeclaration(_) | AstKind::TSGlobalDeclaration(_) => true,
        AstKind::TSNamespaceDeclaration(namespace) => namespace.declare,
        _ => false,
    };
    semantic.source_type().is_typescript_definition() || semantic.nodes().ancestor_kinds(node).any(declares)
}
