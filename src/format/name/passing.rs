//! Modules of JavaScript and TypeScript that code uses as values, so that any object may have their members.

use oxc_ast::{
    AstKind,
    ast::{Argument, BindingPattern, Expression},
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::GetSpan;
use oxc_syntax::module_record::{ExportLocalName, ModuleRecord};

/// The variables between a module and its use.
const LONGEST: usize = 8;

/// Calls that give all members by their names, or in the order of their names.
const LISTS: &[(&str, &str)] = &[
    ("Object", "entries"),
    ("Object", "getOwnPropertyNames"),
    ("Object", "keys"),
    ("Object", "values"),
    ("Reflect", "ownKeys"),
];

/// The ways in which code uses a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// True if it gets to where the names of its members can't be followed.
    pub(super) is_passed: bool,
    /// True if code computes the names of its members.
    pub(super) is_indexed: bool,
    /// True if a variable or a pattern holds it, or its members.
    pub(super) is_held: bool,
}

const CONTAINED: Use = Use { is_passed: false, is_indexed: false, is_held: false };
const HELD: Use = Use { is_held: true, ..CONTAINED };
const INDEXED: Use = Use { is_indexed: true, ..CONTAINED };
const PASSED: Use = Use { is_passed: true, ..CONTAINED };

impl Use {
    fn and(self, other: Use) -> Use {
        Use {
            is_passed: self.is_passed || other.is_passed,
            is_indexed: self.is_indexed || other.is_indexed,
            is_held: self.is_held || other.is_held,
        }
    }
}

/// The use of a variable that holds a module.
pub(super) fn of_symbol(semantic: &Semantic<'_>, module: &ModuleRecord<'_>, symbol: SymbolId) -> Use {
    Walk { semantic, module }.symbol(symbol, 0)
}

/// The use of an expression that is a module.
pub(super) fn of_node(semantic: &Semantic<'_>, module: &ModuleRecord<'_>, node: NodeId) -> Use {
    Walk { semantic, module }.node(node, 0)
}

struct Walk<'s, 'a> {
    semantic: &'s Semantic<'a>,
    module: &'s ModuleRecord<'a>,
}

impl Walk<'_, '_> {
    fn symbol(&self, symbol: SymbolId, depth: usize) -> Use {
        let name = self.semantic.scoping().symbol_name(symbol);
        let is_exported = self.module.local_export_entries.iter().any(
            |entry| matches!(&entry.local_name, ExportLocalName::Name(local) | ExportLocalName::Default(local) if local.name == name),
        );
        if is_exported || depth > LONGEST {
            return PASSED;
        }
        let references = self.semantic.symbol_references(symbol).map(|reference| reference.node_id());
        references.fold(CONTAINED, |used, node| used.and(self.node(node, depth + 1)))
    }

    fn node(&self, node: NodeId, depth: usize) -> Use {
        let nodes = self.semantic.nodes();
        let span = nodes.kind(node).span();
        let parent = nodes.parent_id(node);
        match nodes.kind(parent) {
            AstKind::AwaitExpression(_)
            | AstKind::ChainExpression(_)
            | AstKind::ParenthesizedExpression(_)
            | AstKind::TSAsExpression(_)
            | AstKind::TSExternalModuleReference(_)
            | AstKind::TSNonNullExpression(_)
            | AstKind::TSSatisfiesExpression(_)
            | AstKind::TSTypeAssertion(_) => self.node(parent, depth),
            AstKind::StaticMemberExpression(member) if member.property.name == "then" => self.then(parent, depth),
            AstKind::ExpressionStatement(_)
            | AstKind::JSXMemberExpression(_)
            | AstKind::StaticMemberExpression(_)
            | AstKind::TSQualifiedName(_) => CONTAINED,
            AstKind::ComputedMemberExpression(member) if member.object.span() != span => PASSED,
            AstKind::ComputedMemberExpression(member) => {
                let is_known = member.static_property_name().is_some()
                    || matches!(member.expression, Expression::NumericLiteral(_));
                if is_known { CONTAINED } else { INDEXED }
            }
            AstKind::ForInStatement(_) => INDEXED,
            AstKind::CallExpression(call) => {
                let callee = call.callee.get_member_expr();
                let is_list = callee.is_some_and(|member| {
                    LISTS.iter().any(|(object, name)| {
                        member.object().is_specific_id(object) && member.static_property_name() == Some(name)
                    })
                });
                if is_list { INDEXED } else { PASSED }
            }
            AstKind::VariableDeclarator(declarator) => self.pattern(&declarator.id, depth),
            AstKind::TSImportEqualsDeclaration(_)
                if matches!(nodes.parent_kind(parent), AstKind::ExportNamedDeclaration(_)) =>
            {
                PASSED
            }
            AstKind::TSImportEqualsDeclaration(import) => HELD.and(self.symbol(import.id.symbol_id(), depth)),
            _ => PASSED,
        }
    }

    fn pattern(&self, pattern: &BindingPattern<'_>, depth: usize) -> Use {
        match pattern {
            BindingPattern::BindingIdentifier(name) => HELD.and(self.symbol(name.symbol_id(), depth)),
            BindingPattern::ObjectPattern(object) if object.rest.is_none() => HELD,
            _ => PASSED,
        }
    }

    /// The use of `module.then(function)`.
    fn then(&self, member: NodeId, depth: usize) -> Use {
        let AstKind::CallExpression(call) = self.semantic.nodes().parent_kind(member) else { return PASSED };
        let parameters = match call.arguments.first() {
            Some(Argument::ArrowFunctionExpression(function)) => &function.params,
            Some(Argument::FunctionExpression(function)) => &function.params,
            _ => return PASSED,
        };
        parameters.items.first().map_or(CONTAINED, |parameter| self.pattern(&parameter.pattern, depth))
    }
}
