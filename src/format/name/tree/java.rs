//! The scopes of Java.

use tree_sitter::Node;

use super::{Declaration, Role, Rules, around, is_field, root, text_at, text_of};
use crate::name::facts::{Form, Kind, Meaning, Origin, Reach};

pub(super) struct Java;

const CLASSES: &[&str] = &[
    "class_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "annotation_type_declaration",
];

impl Rules for Java {
    fn role<'t>(&self, node: Node<'t>, text: &str) -> Role<'t> {
        let Some(parent) = node.parent() else { return Role::Member };
        match parent.kind() {
            "variable_declarator" if is_field(parent, node, "name") => variable(parent),
            "formal_parameter" | "catch_formal_parameter" if is_field(parent, node, "name") => parameter(parent),
            "spread_parameter" => parameter(parent),
            "inferred_parameters" => parameter(node),
            "lambda_expression" if is_field(parent, node, "parameters") => {
                Role::Declares(Declaration::new(parent, Kind::Parameter, Reach::Local))
            }
            "enhanced_for_statement" if is_field(parent, node, "name") => {
                let from = parent.child_by_field_name("body").map_or(usize::MAX, |body| body.start_byte());
                Role::Declares(Declaration::new(parent, Kind::Variable, Reach::Local).seen(from..usize::MAX))
            }
            "resource" if is_field(parent, node, "name") => {
                let scope = around(parent, |n| n.kind() == "try_with_resources_statement").unwrap_or(parent);
                let from = parent.end_byte();
                Role::Declares(Declaration::new(scope, Kind::Variable, Reach::Local).seen(from..usize::MAX))
            }
            "instanceof_expression" if is_field(parent, node, "name") => Role::unclear("a pattern binds it"),
            "type_pattern" | "record_pattern_component" | "record_pattern" => Role::unclear("a pattern binds it"),
            kind if CLASSES.contains(&kind) && is_field(parent, node, "name") => class(parent),
            "method_declaration" | "method_invocation" | "enum_constant" if is_field(parent, node, "name") => {
                Role::Member
            }
            "field_access" if is_field(parent, node, "field") => Role::Member,
            "method_reference" if parent.child(0).is_some_and(|first| first.id() != node.id()) => Role::Member,
            "element_value_pair" if is_field(parent, node, "key") => Role::Member,
            "labeled_statement" | "break_statement" | "continue_statement" => Role::Member,
            "type_parameter" => {
                let owner = parent.parent().and_then(|list| list.parent()).unwrap_or(parent);
                Role::Declares(Declaration::new(owner, Kind::Type, Reach::Local))
            }
            "package_declaration" | "module_declaration" => Role::unclear("it is the name of a package"),
            "scoped_identifier" | "import_declaration" => scoped(parent, node, text),
            "scoped_type_identifier" if parent.child(0).is_some_and(|first| first.id() != node.id()) => {
                let module = parent.child(0).map_or("", |scope| text_of(scope, text)).to_owned();
                let origin = Origin { module, name: text_of(node, text).to_owned() };
                Role::Other(Meaning::Through(origin, Form::Plain))
            }
            _ => Role::Refers(Form::Plain),
        }
    }

    fn shows(&self, scope: Node<'_>, child: Node<'_>, _: Node<'_>) -> bool {
        // The types of a method's parameters are outside of its body, but see its type parameters.
        !(matches!(scope.kind(), "method_declaration" | "constructor_declaration") && is_field(scope, child, "name"))
    }

    fn takes_over(&self, node: Node<'_>, scope: Node<'_>) -> Option<&'static str> {
        // The members of a top-level class are looked at in every file.
        let is_local = |n: &Node<'_>| n.id() != scope.id() && scope.parent().is_some();
        let inherits = |n: Node<'_>| {
            let is_named = |field| n.child_by_field_name(field).is_some();
            n.kind() == "object_creation_expression" || ["superclass", "interfaces"].into_iter().any(is_named)
        };
        let mut bodies = std::iter::successors(node.parent(), Node::parent).take_while(is_local);
        let is_inherited = bodies.any(|n| n.kind().ends_with("_body") && n.parent().is_some_and(inherits));
        is_inherited.then_some("a class around a use may inherit a member of the new name")
    }

    fn file(&self, root: Node<'_>, text: &str) -> (Option<String>, Vec<String>) {
        let mut cursor = root.walk();
        let (mut package, mut stars) = (None, Vec::new());
        for node in root.children(&mut cursor) {
            match node.kind() {
                "package_declaration" => {
                    let words = text_of(node, text).trim_start_matches("package").trim_end_matches(';');
                    package = Some(words.trim().to_owned());
                }
                "import_declaration" if node.children(&mut node.walk()).any(|child| child.kind() == "asterisk") => {
                    let name = node.children(&mut node.walk()).find(|child| child.kind().ends_with("identifier"));
                    stars.extend(name.map(|name| text_of(name, text).to_owned()));
                }
                _ => {}
            }
        }
        (package.or_else(|| Some(String::new())), stars)
    }
}

/// A local variable or a field.
fn variable(declarator: Node<'_>) -> Role<'_> {
    let is_field = declarator.parent().is_some_and(|parent| parent.kind() != "local_variable_declaration");
    if is_field {
        let body = around(declarator, |n| n.kind().ends_with("_body")).unwrap_or_else(|| root(declarator));
        let mut declaration = Declaration::new(body, Kind::Variable, Reach::Local);
        declaration.unclear = Some("it is a member of a class");
        return Role::Declares(declaration);
    }
    let is_scope = |n: Node<'_>| {
        matches!(
            n.kind(),
            "block" | "for_statement" | "switch_block_statement_group" | "constructor_body" | "switch_rule"
        )
    };
    let scope = around(declarator, is_scope).unwrap_or_else(|| root(declarator));
    let seen = declarator.start_byte()..usize::MAX;
    Role::Declares(Declaration::new(scope, Kind::Variable, Reach::Local).seen(seen))
}

fn parameter(parameter: Node<'_>) -> Role<'_> {
    let is_owner = |n: Node<'_>| {
        matches!(
            n.kind(),
            "method_declaration"
                | "constructor_declaration"
                | "lambda_expression"
                | "catch_clause"
                | "record_declaration"
        )
    };
    let Some(owner) = around(parameter, is_owner) else { return Role::unclear("it is a parameter of nothing") };
    if owner.kind() == "record_declaration" {
        return Role::unclear("it is a component of a record");
    }
    Role::Declares(Declaration::new(owner, Kind::Parameter, Reach::Local))
}

fn class(declaration: Node<'_>) -> Role<'_> {
    let home = declaration.parent().unwrap_or(declaration);
    let is_top = home.kind() == "program";
    let reach = if is_top { Reach::Exported } else { Reach::Local };
    let mut declared = Declaration::new(home, Kind::Class, reach);
    declared.unclear = (!is_top).then_some("it is a member of a class");
    Role::Declares(declared)
}

/// A name in a path with dots.
fn scoped<'t>(parent: Node<'t>, node: Node<'t>, text: &str) -> Role<'t> {
    let import = around(node, |n| n.kind() == "import_declaration");
    let is_last = parent.kind() == "scoped_identifier" && is_field(parent, node, "name");
    let module = text_at(parent, "scope", text).to_owned();
    let Some(import) = import else {
        return if is_last { Role::Member } else { Role::Refers(Form::Plain) };
    };
    let is_static = import.children(&mut import.walk()).any(|child| child.kind() == "static");
    let is_whole = parent.parent().is_some_and(|above| above.id() == import.id());
    let has_star = import.children(&mut import.walk()).any(|child| child.kind() == "asterisk");
    if is_static || has_star || !is_last || !is_whole {
        return Role::unclear("it is a part of the name of a package, or a static import");
    }
    let origin = Origin { module, name: text_of(node, text).to_owned() };
    let declaration = Declaration::new(root(node), Kind::Import, Reach::Imported(origin));
    Role::Declares(Declaration { form: Form::Import, ..declaration })
}
