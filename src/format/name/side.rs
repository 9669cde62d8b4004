//! Declarations of members in JavaScript, TypeScript and Rust, by the form of their surroundings.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    node::{around, attributes, is_field, text_of},
    word,
};
use crate::code::tree::Tree;

/// The form in which a member is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In a class.
    Class,
    /// In an interface or a type. True if a value may lack it.
    Type(bool),
    /// In a value.
    Value,
}

/// The form in which a token of JavaScript or TypeScript declares a member; none if it declares none.
pub fn of(tree: &Tree, place: &Range<usize>) -> Option<Side> {
    let root = tree.root().get_inner_node();
    let node = root.descendant_for_byte_range(place.start, place.end).filter(|node| node.byte_range() == *place)?;
    let parent = node.parent()?;
    let has = |kind: &str| parent.children(&mut parent.walk()).any(|child| child.kind() == kind);
    let is_named = |field: &str| is_field(parent, node, field);
    let is_in = |kind: &str| parent.parent().is_some_and(|above| above.kind() == kind);
    match parent.kind() {
        "abstract_method_signature" | "public_field_definition" | "field_definition"
            if is_named("name") || is_named("property") =>
        {
            Some(if has("?") { Side::Type(true) } else { Side::Class })
        }
        "method_definition" | "method_signature" if is_named("name") => match () {
            () if has("?") => Some(Side::Type(true)),
            () if is_in("class_body") => Some(Side::Class),
            () if is_in("object") => Some(Side::Value),
            () => Some(Side::Type(false)),
        },
        "property_signature" if is_named("name") => Some(Side::Type(has("?"))),
        "pair" if is_named("key") => Some(Side::Value),
        "object" if node.kind() == "shorthand_property_identifier" => Some(Side::Value),
        "required_parameter" | "optional_parameter" if has("accessibility_modifier") || has("readonly") => {
            Some(Side::Class)
        }
        _ => None,
    }
}

/// Macros of Rust's own library that derive code in which the name of a member is no data, but for what debuggers print.
const DERIVED: &[&str] =
    &["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd", "derive"];

/// True if a token of Rust declares a field or a variant from whose name a macro of another library may make data.
pub fn is_derived(tree: &Tree, text: &str, place: &Range<usize>) -> bool {
    let root = tree.root().get_inner_node();
    let Some(node) = root.descendant_for_byte_range(place.start, place.end) else { return false };
    let is_declaring = |parent: Node<'_>| matches!(parent.kind(), "field_declaration" | "enum_variant");
    let is_declared = node.parent().is_some_and(|above| is_declaring(above) && is_field(above, node, "name"));
    let item = around(node, |above| matches!(above.kind(), "struct_item" | "enum_item" | "union_item"));
    is_declared && item.is_some_and(|item| attributes(item).any(|attribute| derives(text_of(attribute, text))))
}

fn derives(attribute: &str) -> bool {
    let of_macro = |name: &str| !name.is_empty() && !DERIVED.contains(&name);
    let mut names = attribute.split(|c| !word::continues(c));
    attribute.contains("derive") && (attribute.contains("cfg_attr") || names.any(of_macro))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{code::tree, name::word::Word};
    use base::language::Language;

    fn sides(text: &str) -> Vec<Option<Side>> {
        let tree = tree::parse(Language::TypeScript, text, &|| Ok(())).unwrap();
        Word::new("a").places(Language::TypeScript, text).iter().map(|place| of(&tree, place)).collect()
    }

    #[test]
    fn members_are_declared_in_classes_types_and_values() {
        let (class, value) = (Some(Side::Class), Some(Side::Value));
        assert_eq!(
            sides("class C { a() {} } class D { a = 1; constructor(private a: a) {} }"),
            [class, class, class, None]
        );
        assert_eq!(
            sides("interface I { a?: a; } type T = { a(): void };"),
            [Some(Side::Type(true)), None, Some(Side::Type(false))]
        );
        assert_eq!(sides("f({ a: 1 }, { a }, { a() {} }); x.a; const { a } = y;"), [value, value, value, None, None]);
    }

    #[test]
    fn fields_of_a_derived_type_may_be_data() {
        let is_derived = |text: &str| {
            let tree = tree::parse(Language::Rust, text, &|| Ok(())).unwrap();
            let place = Word::new("a").places(Language::Rust, text).remove(0);
            super::is_derived(&tree, text, &place)
        };
        assert!(is_derived("#[derive(Clone, serde::Serialize)]\n/// It.\nstruct S { a: u8 }"));
        assert!(is_derived("#[cfg_attr(x, derive(Clone))]\nenum S { a }"));
        assert!(!is_derived("#[derive(Clone, Debug)]\nstruct S { a: u8 }"));
        assert!(!is_derived("#[derive(Serialize)]\nstruct S { b: a }"));
    }
}
