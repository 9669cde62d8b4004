//! The classes of a file of Python: their bases, and the places at which they declare a name.

use std::{collections::BTreeMap, ops::Range};

use tree_sitter::Node;

use super::{
    node::{is_field, last, nodes},
    tree::{Imported, imported},
    word::Word,
};
use crate::code::tree::Tree;
use base::language::Language;

/// A base of a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base {
    /// Its name without a path; empty for an expression that is no name.
    pub name: String,
    /// The module from which its file imports it, as it is written.
    pub module: Option<String>,
}

/// A class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The byte at which its name begins.
    pub at: usize,
    /// Its bases. A name that may stand for several classes is there for each.
    pub bases: Vec<Base>,
    /// The places at which it declares the sought name.
    pub members: Vec<Range<usize>>,
    /// True if one of them is a variable of the class itself.
    pub has_field: bool,
    /// True if a decorator or a class of classes may give the variables of the class another meaning.
    pub is_changed: bool,
}

/// Decorators that leave the names of members alone. Arguments of a constructor have the names of its fields.
const DECORATORS: &[&str] = &["dataclass", "final", "runtime_checkable", "total_ordering", "unique"];

/// Classes of classes that leave the names of members alone.
const METACLASSES: &[&str] = &["ABCMeta", "EnumMeta", "EnumType", "type"];

/// The classes of a file, with the places at which they declare a name.
pub fn classes(tree: &Tree, text: &str, name: &str) -> Vec<Class> {
    let root = tree.root().get_inner_node();
    let mut file = File { text, imports: BTreeMap::new(), aliases: BTreeMap::new(), classes: Vec::new() };
    for Imported { local, from, path, .. } in imported(root, text) {
        file.imports.insert(local, (from.unwrap_or(path).to_owned(), path));
    }
    nodes(root).filter(|node| node.kind() == "assignment").for_each(|node| file.alias(node));
    nodes(root).filter(|node| node.kind() == "class_definition").for_each(|node| file.class(node));
    for place in Word::new(name).places(Language::Python, text) {
        let Some(node) = root.descendant_for_byte_range(place.start, place.end) else { continue };
        let is_name = node.byte_range() == place && node.kind() == "identifier";
        if let Some((class, is_field)) = is_name.then(|| declared(node, text)).flatten()
            && let Some(class) = file.classes.iter_mut().find(|known| known.at == class)
        {
            class.members.push(place);
            class.has_field |= is_field;
        }
    }
    file.classes
}

/// The class in which a token declares a member, by the byte of its name, and true for a variable of the class.
fn declared(node: Node<'_>, text: &str) -> Option<(usize, bool)> {
    let parent = node.parent()?;
    let is_member = parent.kind() == "attribute";
    if is_member {
        let object = parent.child_by_field_name("object")?;
        if !matches!(&text[object.byte_range()], "self" | "cls") || !is_assigned(parent) {
            return None;
        }
    } else if !names_definition(parent, node) && !is_assigned(node) {
        return None;
    }
    let mut at = parent;
    let mut is_first = true;
    loop {
        if at.kind() == "class_definition" && !(is_first && is_field(at, node, "name")) {
            let name = at.child_by_field_name("name")?;
            return Some((name.start_byte(), !is_member && parent.kind() == "assignment"));
        }
        let ends = matches!(at.kind(), "function_definition" | "lambda");
        if ends && !is_member && !(is_first && is_field(at, node, "name")) {
            return None;
        }
        is_first = false;
        at = at.parent()?;
    }
}

fn names_definition(parent: Node<'_>, node: Node<'_>) -> bool {
    matches!(parent.kind(), "function_definition" | "class_definition") && is_field(parent, node, "name")
}

/// True for the target of an assignment.
fn is_assigned(node: Node<'_>) -> bool {
    let mut at = node;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            "pattern_list" | "tuple_pattern" | "list_pattern" | "list_splat_pattern" => at = parent,
            "assignment" | "augmented_assignment" | "for_statement" => return is_field(parent, at, "left"),
            "as_pattern_target" => return true,
            _ => return false,
        }
    }
    false
}

struct File<'s> {
    text: &'s str,
    /// The modules of imported names, and the names that they have there.
    imports: BTreeMap<&'s str, (String, &'s str)>,
    /// Names that are assigned; none for a value that is no name.
    aliases: BTreeMap<&'s str, Vec<Option<&'s str>>>,
    classes: Vec<Class>,
}

impl<'s> File<'s> {
    fn of(&self, node: Node<'_>) -> &'s str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn alias(&mut self, assignment: Node<'_>) {
        let Some(left) = assignment.child_by_field_name("left").filter(|left| left.kind() == "identifier") else {
            return;
        };
        let Some(right) = assignment.child_by_field_name("right") else { return };
        let value = matches!(right.kind(), "identifier" | "attribute").then(|| self.of(right));
        self.aliases.entry(self.of(left)).or_default().push(value);
    }

    fn class(&mut self, node: Node<'_>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let mut class = Class { name: self.of(name).to_owned(), at: name.start_byte(), ..Class::default() };
        if let Some(list) = node.child_by_field_name("superclasses") {
            for base in list.named_children(&mut list.walk()).filter(|base| base.kind() != "comment") {
                if base.kind() == "keyword_argument" {
                    let value = base.child_by_field_name("value").map_or("", |value| last(self.of(value)));
                    class.is_changed |= self.of(base).starts_with("metaclass") && !METACLASSES.contains(&value);
                } else {
                    self.base(base, &mut class.bases);
                }
            }
        }
        if let Some(decorated) = node.parent().filter(|above| above.kind() == "decorated_definition") {
            for decorator in decorated.children(&mut decorated.walk()).filter(|child| child.kind() == "decorator") {
                let called = self.of(decorator).trim_start_matches('@').split('(').next().unwrap_or_default();
                class.is_changed |= !DECORATORS.contains(&last(called.trim()));
            }
        }
        self.classes.push(class);
    }

    fn base(&self, node: Node<'_>, bases: &mut Vec<Base>) {
        match node.kind() {
            "subscript" | "generic_type" => {
                let value = node.child_by_field_name("value").or_else(|| node.named_child(0));
                value.into_iter().for_each(|value| self.base(value, bases));
            }
            "identifier" | "attribute" => self.named(self.of(node), bases, 0),
            _ => bases.push(Base { name: String::new(), module: None }),
        }
    }

    /// Adds what a name may stand for.
    fn named(&self, path: &str, bases: &mut Vec<Base>, depth: usize) {
        const DEEPEST: usize = 8;
        let first = path.split('.').next().unwrap_or_default();
        let (module, name) = match self.imports.get(first) {
            // The name has another one in its module.
            Some((module, imported)) if first == path => (Some(module.clone()), last(imported)),
            Some((module, _)) => (Some(module.clone()), last(path)),
            None => (None, last(path)),
        };
        bases.push(Base { name: name.to_owned(), module });
        for value in self.aliases.get(path).into_iter().flatten() {
            match value {
                Some(value) if depth < DEEPEST => self.named(value, bases, depth + 1),
                _ => bases.push(Base { name: String::new(), module: None }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tree;

    fn read(text: &str) -> Vec<Class> {
        classes(&tree::parse(Language::Python, text, &|| Ok(())).unwrap(), text, "run")
    }

    #[test]
    fn members_belong_to_the_class_that_declares_them() {
        let text = "class A:\n    run: int = 1\n    def go(self):\n        self.run = 2\n        run = 3\n        other.run = 4\n\
            class B(A):\n    if x:\n        @property\n        def run(self): return super().run\n\ndef run(): pass\n";
        let found = read(text);
        let of = |name: &str| found.iter().find(|class| class.name == name).unwrap();
        assert_eq!((of("A").members.len(), of("A").has_field), (2, true));
        assert_eq!((of("B").members.len(), of("B").has_field), (1, false));
    }

    #[test]
    fn bases_are_followed_through_imports_and_assignments() {
        let text = "import a.b as c\nfrom x import Y as Z\nV = Z\nW = make()\n\
            class A(c.D, Z[int], V, Own, W, make(), metaclass=M): pass\n";
        let found = read(text);
        let shown = |base: &Base| format!("{}:{}", base.module.as_deref().unwrap_or("-"), base.name);
        let bases: Vec<String> = found[0].bases.iter().map(shown).collect();
        assert_eq!(bases, ["a.b:D", "x:Y", "-:V", "x:Y", "-:Own", "-:W", "-:", "-:"]);
        assert!(found[0].is_changed);
    }
}
