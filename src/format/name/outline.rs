//! The modules of a Rust file: the names that each declares, imports and takes from others by `*`.
//!
//! A block with declarations is a module without a name. Nothing here follows a path.

use std::ops::Range;

use tree_sitter::Node;

use super::node::attributes;
use crate::code::tree::Tree;

/// The files and blocks of a file's modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The first is the file; others come after those around them.
    pub modules: Vec<Module>,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The module around it; none for the file.
    pub parent: Option<usize>,
    /// Its name; none for a block and the file.
    pub name: Option<String>,
    /// Its bytes.
    pub range: Range<usize>,
    /// Its names.
    pub entries: Vec<Entry>,
    /// The paths of which it takes everything.
    pub stars: Vec<(String, Sight)>,
}

/// A name of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// The place at which it is declared.
    pub at: usize,
    /// The modules that see it.
    pub sight: Sight,
    /// The thing.
    pub what: What,
}

/// The modules that see a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Its own module, and those within.
    Within,
    /// Modules of its crate.
    Crate,
    /// All.
    All,
}

/// The thing that a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A declaration. The flag is true if a pattern of the name is compared with it.
    Item(bool),
    /// An enumeration with its variants.
    Enum(Vec<String>),
    /// A declaration of something that is linked by its name.
    Foreign,
    /// A module within the file.
    Module(usize),
    /// A module in another file, which an attribute may name.
    File(Option<String>),
    /// A module in a file that conditions tell.
    Conditional,
    /// An import of a path.
    Use(String),
    /// A crate.
    Crate(String),
}

const ITEMS: &[&str] = &[
    "const_item",
    "enum_item",
    "extern_crate_declaration",
    "foreign_mod_item",
    "function_item",
    "function_signature_item",
    "macro_invocation",
    "mod_item",
    "static_item",
    "struct_item",
    "trait_item",
    "type_item",
    "union_item",
    "use_declaration",
];

/// The modules of a file.
pub fn outline(tree: &Tree, text: &str) -> Outline {
    let root = tree.root().get_inner_node();
    let mut outline = Outline { modules: vec![module(None, None, 0..text.len() + 1)] };
    let mut open = vec![(root, 0)];
    while let Some((node, within)) = open.pop() {
        for child in node.children(&mut node.walk()) {
            let mut inner = within;
            match child.kind() {
                // A list within an implementation declares members.
                "declaration_list" if node.kind() != "mod_item" => {}
                "block" if child.children(&mut child.walk()).any(|item| ITEMS.contains(&item.kind())) => {
                    inner = outline.modules.len();
                    outline.modules.push(module(Some(within), None, child.byte_range()));
                }
                "mod_item" => {
                    let body = child.child_by_field_name("body");
                    inner = body.map_or(within, |_| outline.modules.len());
                    declare(child, text, &mut outline.modules[within], inner);
                    if let Some(body) = body {
                        let name = field(child, "name", text);
                        outline.modules.push(module(Some(within), Some(name), body.byte_range()));
                    }
                }
                _ if matches!(node.kind(), "source_file" | "block" | "declaration_list") && is_of_module(node) => {
                    declare(child, text, &mut outline.modules[within], within);
                }
                _ => {}
            }
            open.push((child, inner));
        }
    }
    outline
}

fn is_of_module(list: Node<'_>) -> bool {
    list.kind() != "declaration_list" || list.parent().is_some_and(|parent| parent.kind() == "mod_item")
}

fn module(parent: Option<usize>, name: Option<String>, range: Range<usize>) -> Module {
    Module { parent, name, range, entries: Vec::new(), stars: Vec::new() }
}

/// The text of a node without blanks.
fn bare(node: Node<'_>, text: &str) -> String {
    text.get(node.byte_range()).unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect()
}

fn field(node: Node<'_>, field: &str, text: &str) -> String {
    node.child_by_field_name(field).map_or(String::new(), |child| bare(child, text))
}

fn sight(item: Node<'_>, text: &str) -> Sight {
    let modifier = item.children(&mut item.walk()).find(|child| child.kind() == "visibility_modifier");
    match modifier.map(|modifier| bare(modifier, text)).as_deref() {
        None | Some("pub(self)" | "pub(inself)") => Sight::Within,
        Some("pub") => Sight::All,
        Some(_) => Sight::Crate,
    }
}

/// Adds the names that an item declares. `inner` is the module that it is.
fn declare(item: Node<'_>, text: &str, of: &mut Module, inner: usize) {
    let sight = sight(item, text);
    let mut add = |name: Option<Node<'_>>, what: What| {
        let Some(name) = name else { return };
        of.entries.push(Entry { name: bare(name, text), at: name.start_byte(), sight, what });
    };
    let name = item.child_by_field_name("name");
    match item.kind() {
        "const_item" | "static_item" | "struct_item" => add(name, What::Item(true)),
        "function_item" | "function_signature_item" | "trait_item" | "type_item" | "union_item" => {
            add(name, What::Item(false));
        }
        "enum_item" => {
            let variants = item.child_by_field_name("body");
            let variants = variants.map_or(Vec::new(), |body| {
                let is_variant = |child: &Node<'_>| child.kind() == "enum_variant";
                body.children(&mut body.walk()).filter(is_variant).map(|it| field(it, "name", text)).collect()
            });
            add(name, What::Enum(variants));
        }
        "mod_item" if item.child_by_field_name("body").is_some() => add(name, What::Module(inner)),
        "mod_item" => add(name, file(item, text)),
        "extern_crate_declaration" => {
            let alias = item.child_by_field_name("alias");
            add(alias.or(name), What::Crate(field(item, "name", text)));
        }
        "foreign_mod_item" => {
            let list = item.children(&mut item.walk()).find(|child| child.kind() == "declaration_list");
            for child in list.iter().flat_map(|list| list.children(&mut list.walk()).collect::<Vec<_>>()) {
                add(child.child_by_field_name("name"), What::Foreign);
            }
        }
        "macro_invocation" if field(item, "macro", text).ends_with("thread_local") => statics(item, text, of),
        "expression_statement" => {
            for child in item.children(&mut item.walk()).filter(|child| child.kind() == "macro_invocation") {
                declare(child, text, of, inner);
            }
        }
        "use_declaration" => {
            if let Some(tree) = item.child_by_field_name("argument") {
                used(tree, "", (text, sight), of);
            }
        }
        _ => {}
    }
}

/// A module in another file, by the attributes before it.
fn file(item: Node<'_>, text: &str) -> What {
    for attribute in attributes(item).filter(|node| node.kind() == "attribute_item") {
        let attribute = bare(attribute, text);
        if attribute.starts_with("#[path=") {
            return What::File(attribute.split('"').nth(1).map(str::to_owned));
        }
        if attribute.contains("path=") {
            return What::Conditional;
        }
    }
    What::File(None)
}

/// Adds the variables of a `thread_local!`.
fn statics(call: Node<'_>, text: &str, of: &mut Module) {
    let list = call.children(&mut call.walk()).find(|child| child.kind() == "token_tree");
    let tokens = list.map_or(Vec::new(), |list| list.children(&mut list.walk()).collect());
    for (before, name) in tokens.iter().zip(tokens.iter().skip(1)) {
        if bare(*before, text) == "static" {
            let (name, at) = (bare(*name, text), name.start_byte());
            of.entries.push(Entry { name, at, sight: Sight::Crate, what: What::Item(true) });
        }
    }
}

/// Adds the names that a `use` binds.
fn used(tree: Node<'_>, before: &str, (text, sight): (&str, Sight), of: &mut Module) {
    let joined = |path: &str| match (before.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => before.to_owned(),
        _ => format!("{before}::{path}"),
    };
    let mut bind = |name: &str, at: usize, path: String| {
        of.entries.push(Entry { name: name.to_owned(), at, sight, what: What::Use(path) });
    };
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
    match tree.kind() {
        "use_list" => {
            for child in tree.children(&mut tree.walk()).filter(Node::is_named) {
                used(child, before, (text, sight), of);
            }
        }
        "scoped_use_list" => {
            let path = joined(&field(tree, "path", text));
            if let Some(list) = tree.child_by_field_name("list") {
                used(list, &path, (text, sight), of);
            }
        }
        "use_wildcard" => {
            let path = bare(tree, text);
            of.stars.push((joined(path.trim_end_matches('*').trim_end_matches("::")), sight));
        }
        "use_as_clause" => {
            let (path, alias) = (field(tree, "path", text), tree.child_by_field_name("alias"));
            let path = if path == "self" { before.to_owned() } else { joined(&path) };
            if let Some(alias) = alias {
                bind(&bare(alias, text), alias.start_byte(), path);
            }
        }
        "self" => bind(&last(before), tree.start_byte(), before.to_owned()),
        "scoped_identifier" | "identifier" | "crate" | "super" => {
            let path = joined(&bare(tree, text));
            let at = tree.child_by_field_name("name").unwrap_or(tree).start_byte();
            bind(&last(&path), at, path);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tree;
    use base::language::Language;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let tree = tree::parse(Language::Rust, text, &|| Ok(())).unwrap();
        let outline = outline(&tree, text);
        let mut found = Vec::new();
        for (n, module) in outline.modules.iter().enumerate() {
            found.extend(module.entries.iter().map(|entry| match &entry.what {
                What::Use(path) => format!("{n} {} = {path}", entry.name),
                What::File(Some(path)) => format!("{n} mod {} in {path}", entry.name),
                What::File(None) => format!("{n} mod {}", entry.name),
                What::Module(at) => format!("{n} mod {} is {at}", entry.name),
                What::Enum(variants) => format!("{n} {} of {}", entry.name, variants.join(" ")),
                What::Crate(path) => format!("{n} crate {} is {path}", entry.name),
                What::Conditional => format!("{n} {} if", entry.name),
                What::Foreign => format!("{n} extern {}", entry.name),
                What::Item(_) => format!("{n} {}", entry.name),
            }));
            found.extend(module.stars.iter().map(|(path, _)| format!("{n} {path}::*")));
        }
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn names_of_modules_are_listed() {
        check("fn a() {}\nstruct B;\nimpl B { fn c() {} }\n", &["0 a", "0 B"]);
        check("enum A { B, C(u8) }\n", &["0 A of B C"]);
        check("mod a { pub fn b() {} }\nmod c;\n", &["0 mod a is 1", "0 mod c", "1 b"]);
        check("#[path = \"x.rs\"]\nmod a;\n#[cfg_attr(x, path = \"y.rs\")]\nmod b;\n", &["0 mod a in x.rs", "0 b if"]);
        check("extern crate a;\nextern crate b as c;\n", &["0 crate a is a", "0 crate c is b"]);
        check("extern \"C\" { fn a(); }\n", &["0 extern a"]);
        check("thread_local! { static A: u8 = 1; pub static B: u8 = 2; }\n", &["0 A", "0 B"]);
        check("fn a() { fn b() {} use c::d; { let e = 1; } }\n", &["0 a", "1 b", "1 d = c::d"]);
        check("impl A { fn f() { use c::d; } }\n", &["1 d = c::d"]);
    }

    #[test]
    fn imports_are_flattened() {
        check("use a::b;\nuse a::b as c;\nuse d;\n", &["0 b = a::b", "0 c = a::b", "0 d = d"]);
        check("use a::{b, c::{self, d as e}, f::*};\n", &["0 b = a::b", "0 c = a::c", "0 e = a::c::d", "0 a::f::*"]);
        check("use a::{self as b, *};\nuse ::c::d;\n", &["0 b = a", "0 d = ::c::d", "0 a::*"]);
        check(
            "pub use self::a::*;\nuse super::super::b;\nuse { a::c };\n",
            &["0 b = super::super::b", "0 c = a::c", "0 self::a::*"],
        );
    }
}
