//! The scopes of Rust.

use std::ops::Range;

use tree_sitter::Node;

use super::{Declaration, Role, Rules, around, attributes, is_field, root, rust_macro, text_at, text_of};
use crate::name::{
    facts::{Form, Kind, MODULE, Meaning, Origin, Reach},
    reserved, word,
};
use base::language::Language;

pub(super) struct Rust;

const ITEMS: &[&str] = &[
    "associated_type",
    "function_item",
    "function_signature_item",
    "struct_item",
    "enum_item",
    "union_item",
    "type_item",
    "trait_item",
    "const_item",
    "static_item",
];

impl Rules for Rust {
    fn role<'t>(&self, node: Node<'t>, text: &str) -> Role<'t> {
        let Some(parent) = node.parent() else { return Role::Member };
        let is_opaque = |n: Node<'_>| {
            matches!(n.kind(), "macro_definition" | "attribute_item" | "inner_attribute_item" | "token_tree")
        };
        if around(node, is_opaque).is_some() {
            return Role::unclear("it stands in a macro or an attribute");
        }
        match parent.kind() {
            "lifetime" | "label" => Role::Member,
            "macro_invocation" if is_field(parent, node, "macro") => Role::unclear("it is the name of a macro"),
            "mod_item" | "extern_crate_declaration" => Role::unclear(MODULE),
            kind if ITEMS.contains(&kind) && is_field(parent, node, "name") => item(parent, text_of(node, text), text),
            "enum_variant" | "field_declaration" if is_field(parent, node, "name") => Role::Member,
            "field_expression" | "field_initializer" if is_field(parent, node, "field") => Role::Member,
            "type_binding" if is_field(parent, node, "name") => Role::Member,
            "shorthand_field_initializer" => Role::Refers(Form::Member),
            "type_parameter" | "const_parameter" if is_field(parent, node, "name") => {
                let owner = parent.parent().and_then(|list| list.parent()).unwrap_or(parent);
                Role::Declares(single(Declaration::new(owner, Kind::Type, Reach::Local)))
            }
            _ if around(node, |n| n.kind() == "use_declaration").is_some() => used(parent, node, text),
            "scoped_identifier" | "scoped_type_identifier" if is_field(parent, node, "name") => {
                path(parent, node, text)
            }
            _ => pattern(node, text),
        }
    }

    fn shows(&self, scope: Node<'_>, child: Node<'_>, _: Node<'_>) -> bool {
        // The value of a `let` and the like is outside of its pattern's scope by the bytes of `seen`.
        scope.kind() != "match_arm" || !is_field(scope, child, "attribute")
    }

    fn ends(&self, scope: Node<'_>) -> bool {
        scope.kind() == "mod_item"
    }

    fn is_shallow(&self, declaration: &Declaration<'_>) -> bool {
        declaration.scope.kind() != "block" || declaration.seen != (0..usize::MAX)
    }

    fn is_function(&self, node: Node<'_>) -> bool {
        let is_item = ITEMS.contains(&node.kind()) || node.kind() == "impl_item";
        is_item && node.parent().is_some_and(|parent| parent.kind() == "block")
    }

    fn obstacle(&self, text: &str, name: &str, _: Node<'_>) -> Option<&'static str> {
        let raw = name.strip_prefix("r#")?;
        // Without the sign, a keyword is no other place of the name but in a format string.
        let mut places = text.match_indices(raw).map(|(at, _)| (&text[..at], &text[at + raw.len()..]));
        let is_apart = reserved::refusal(Language::Rust, raw).is_some()
            && !places.any(|(before, after)| rust_macro::captures(before, after));
        (!is_apart).then_some("it is a raw identifier, which has places without `r#`")
    }

    fn in_text<'t>(&self, node: Node<'t>, place: &Range<usize>, text: &str) -> Option<Role<'t>> {
        rust_macro::may_capture(node, place, text).then(|| Role::unclear("a format string may capture it"))
    }

    fn is_read_again(&self) -> bool {
        true
    }

    fn objection(&self, before: &str, to: &str) -> Option<&'static str> {
        let key = before.trim_end().strip_suffix(':').filter(|key| !key.ends_with(':'));
        let is_same =
            key.is_some_and(|key| key.trim_end().strip_suffix(to).is_some_and(|rest| !rest.ends_with(word::continues)));
        is_same.then_some("a field beside it has the new name, so that the short form of the field is due")
    }
}

/// A declaration beside which another of the same name is another thing.
fn single(declaration: Declaration<'_>) -> Declaration<'_> {
    Declaration { merges: false, ..declaration }
}

/// The block, module or file of an item.
fn home(node: Node<'_>) -> Node<'_> {
    around(node, |n| matches!(n.kind(), "block" | "declaration_list" | "source_file")).unwrap_or_else(|| root(node))
}

fn item<'t>(item: Node<'t>, name: &str, text: &str) -> Role<'t> {
    let home = home(item);
    let owner = home.parent().map(|owner| owner.kind());
    if matches!(owner, Some("impl_item" | "trait_item" | "foreign_mod_item")) && home.kind() == "declaration_list" {
        return Role::Member;
    }
    let kind = match item.kind() {
        "function_item" | "function_signature_item" => Kind::Function,
        "const_item" | "static_item" => Kind::Variable,
        "type_item" => Kind::Type,
        _ => Kind::Class,
    };
    let reach = if home.kind() == "block" { Reach::Local } else { Reach::Exported };
    let mut declaration = single(Declaration::new(home, kind, reach));
    declaration.obstacle = match name {
        "main" => Some("the compiler calls it by its name"),
        _ if attributes(item).any(|attribute| text_of(attribute, text).contains("no_mangle")) => {
            Some("other programs are linked with it by its name")
        }
        _ => None,
    };
    Role::Declares(declaration)
}

/// A name in a `use`.
fn used<'t>(parent: Node<'t>, node: Node<'t>, text: &str) -> Role<'t> {
    if parent.kind() == "use_as_clause" && is_field(parent, node, "alias") {
        let home = home(node);
        let reach = if home.kind() == "block" { Reach::Local } else { Reach::Exported };
        return Role::Declares(single(Declaration::new(home, Kind::Import, reach)));
    }
    let is_path = |node: &Node<'t>| matches!(node.kind(), "scoped_identifier" | "scoped_use_list" | "use_wildcard");
    let is_last = parent.kind() != "scoped_identifier" || is_field(parent, node, "name");
    let before = parent.child_by_field_name("path").filter(|_| parent.kind() == "scoped_identifier" && is_last);
    let before = before.map_or("", |path| text_of(path, text));
    let mut outer = node;
    while let Some(path) = outer.parent().filter(is_path) {
        outer = path;
    }
    // The path of a list belongs to the list.
    let module = within_lists(outer, before.to_owned(), text);
    let last = if parent.kind() == "scoped_identifier" { parent } else { node };
    let above = outer.parent().map_or("", |above| above.kind());
    let origin = Origin { module, name: text_of(node, text).to_owned() };
    match above {
        _ if !is_last || outer.id() != last.id() => match origin.module.is_empty() {
            true => Role::Refers(Form::Plain),
            false => Role::Other(Meaning::Through(origin, Form::Plain)),
        },
        "use_as_clause" => Role::Other(Meaning::Through(origin, Form::Plain)),
        _ => {
            let declaration = Declaration::new(home(node), Kind::Import, Reach::Imported(origin));
            Role::Declares(single(Declaration { form: Form::Import, ..declaration }))
        }
    }
}

/// The full path of a module within nested `use` lists.
fn within_lists(node: Node<'_>, module: String, text: &str) -> String {
    let (mut at, mut module) = (node, module);
    while let Some(list) = around(at, |n| n.kind() == "scoped_use_list") {
        let path = text_at(list, "path", text);
        module = if module.is_empty() { path.to_owned() } else { format!("{path}::{module}") };
        at = list;
    }
    module
}

/// The last name of a path.
fn path<'t>(parent: Node<'t>, node: Node<'t>, text: &str) -> Role<'t> {
    let module = text_at(parent, "path", text);
    // A path through a type with parameters leads to a member of it.
    if module.contains('<') {
        return Role::Member;
    }
    let origin = Origin { module: module.to_owned(), name: text_of(node, text).to_owned() };
    Role::Other(Meaning::Through(origin, Form::Plain))
}

/// A name that a pattern binds, or a reference.
fn pattern<'t>(node: Node<'t>, text: &str) -> Role<'t> {
    let refers = Role::Refers(Form::Plain);
    let mut form = Form::Plain;
    let mut at = node;
    if node.kind() == "type_identifier" || !text_of(node, text).starts_with(|c: char| c.is_lowercase() || c == '_') {
        return refers;
    }
    while let Some(parent) = at.parent() {
        match parent.kind() {
            "tuple_pattern" | "slice_pattern" | "ref_pattern" | "mut_pattern" | "reference_pattern" | "or_pattern" => {}
            "captured_pattern"
                if parent.child(0).is_some_and(|first| first.id() == at.id()) || at.id() != node.id() => {}
            "tuple_struct_pattern" | "struct_pattern" if !is_field(parent, at, "type") => {}
            "field_pattern" if node.kind() == "shorthand_field_identifier" => {
                let is_plain = parent.child_count() == 1;
                if !is_plain {
                    return Role::unclear("it is bound by reference under the name of a field");
                }
                form = Form::Member;
            }
            "field_pattern" if is_field(parent, at, "pattern") => {
                if text_at(parent, "name", text).is_empty() {
                    return refers;
                }
            }
            "field_pattern" => return Role::Member,
            "match_pattern" if !is_field(parent, at, "condition") => {}
            "let_declaration" if is_field(parent, at, "pattern") => {
                if attributes(parent).any(|attribute| text_of(attribute, text).contains("cfg")) {
                    return Role::unclear("an attribute decides if it is compiled");
                }
                let scope = home(parent);
                return binds(scope, Kind::Variable, parent.end_byte()..scope.end_byte(), form);
            }
            "parameter" if is_field(parent, at, "pattern") => return parameter(parent, form),
            "closure_parameters" => {
                let Some(closure) = parent.parent() else { return refers };
                return binds(closure, Kind::Parameter, parent.end_byte()..closure.end_byte(), form);
            }
            "for_expression" if is_field(parent, at, "pattern") => {
                let from = parent.child_by_field_name("body").map_or(usize::MAX, |body| body.start_byte());
                return binds(parent, Kind::Variable, from..parent.end_byte(), form);
            }
            "match_arm" if is_field(parent, at, "pattern") => {
                return binds(parent, Kind::Variable, at.start_byte()..parent.end_byte(), form);
            }
            "let_condition" if is_field(parent, at, "pattern") => return condition(parent, form),
            _ => return refers,
        }
        at = parent;
    }
    refers
}

fn binds(scope: Node<'_>, kind: Kind, seen: Range<usize>, form: Form) -> Role<'_> {
    let declaration = single(Declaration::new(scope, kind, Reach::Local).seen(seen));
    Role::Declares(Declaration { form, ..declaration })
}

fn parameter(parameter: Node<'_>, form: Form) -> Role<'_> {
    let is_function = |n: Node<'_>| {
        matches!(n.kind(), "function_item" | "function_signature_item" | "closure_expression" | "function_type")
    };
    let Some(owner) = around(parameter, is_function) else { return Role::unclear("it is a parameter of nothing") };
    let from = owner.child_by_field_name("body").map_or(usize::MAX, |body| body.start_byte());
    binds(owner, Kind::Parameter, from..owner.end_byte(), form)
}

/// A name that `if let` and the like bind: it is seen by the rest of the condition and by the body.
fn condition(condition: Node<'_>, form: Form) -> Role<'_> {
    let is_owner = |n: Node<'_>| matches!(n.kind(), "if_expression" | "while_expression" | "match_arm");
    let Some(owner) = around(condition, is_owner) else { return Role::unclear("it is bound by a condition") };
    let until = match owner.child_by_field_name("consequence") {
        Some(body) => body.end_byte(),
        None => owner.end_byte(),
    };
    binds(owner, Kind::Variable, condition.end_byte()..until, form)
}
