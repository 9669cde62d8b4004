//! The scopes of Go.

use tree_sitter::Node;

use super::{Declaration, Role, Rules, around, is_field, nodes, nodes_within, root, text_at, text_of};
use crate::{
    code::tree::Tree,
    name::{
        facts::{Form, Kind, Meaning, Origin, Reach},
        word::Word,
    },
};
use base::language::Language;

pub(super) struct Go;

/// Nodes that are scopes of the names within.
const SCOPES: &[&str] = &[
    "block",
    "if_statement",
    "for_statement",
    "expression_switch_statement",
    "type_switch_statement",
    "select_statement",
    "expression_case",
    "type_case",
    "default_case",
    "communication_case",
    "source_file",
];

impl Rules for Go {
    fn role<'t>(&self, node: Node<'t>, text: &str) -> Role<'t> {
        let Some(parent) = node.parent() else { return Role::Member };
        if is_embedded(node) {
            return Role::unclear("it is embedded, so that a field has its name");
        }
        match parent.kind() {
            "package_clause" => Role::Member,
            "import_spec" => Role::Declares(Declaration::new(root(node), Kind::Import, Reach::Local)),
            "selector_expression" if is_field(parent, node, "field") => qualified(parent, "operand", node, text),
            "qualified_type" if is_field(parent, node, "name") => qualified(parent, "package", node, text),
            "method_declaration" | "method_elem" | "method_spec" if is_field(parent, node, "name") => Role::Member,
            "field_declaration" if is_field(parent, node, "name") => Role::Member,
            "labeled_statement" | "goto_statement" | "break_statement" | "continue_statement" => Role::Member,
            "function_declaration" if is_field(parent, node, "name") => function(node, text),
            "type_spec" | "type_alias" if is_field(parent, node, "name") => declared(parent, Kind::Type),
            "const_spec" | "var_spec" if is_field(parent, node, "name") => declared(parent, Kind::Variable),
            "type_parameter_declaration" if is_field(parent, node, "name") => {
                let owner = around(parent, |n| !n.kind().starts_with("type_parameter")).unwrap_or(parent);
                Role::Declares(Declaration::new(owner, Kind::Type, Reach::Local))
            }
            "parameter_declaration" | "variadic_parameter_declaration" if is_field(parent, node, "name") => {
                parameter(parent)
            }
            "literal_element" => key(parent, text),
            "type_elem" | "type_arguments" if let Some(method) = receiving(parent) => {
                Role::Declares(Declaration::new(method, Kind::Type, Reach::Local))
            }
            _ => assigned(node),
        }
    }

    fn obstacle(&self, text: &str, name: &str, _: Node<'_>) -> Option<&'static str> {
        let names = |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name);
        let is_directive = |line: &&str| line.starts_with("//go:") || line.starts_with("//export");
        // Files are embedded by their paths.
        let mut directives = text.lines().filter(is_directive).filter(|line| !line.starts_with("//go:embed"));
        directives.any(names).then_some("a directive in a comment names it")
    }

    fn implied<'t>(&self, root: Node<'t>, name: &str, text: &str) -> Option<Vec<Node<'t>>> {
        let is_implied = |node: &Node<'t>| match node.kind() {
            "return_statement" => node.named_child_count() == 0 && has_result(*node, name, text),
            "const_spec" => node.child_by_field_name("value").is_none() && repeats(*node, name, text),
            _ => false,
        };
        let may_have = text.contains(name).then_some(root);
        Some(may_have.into_iter().flat_map(nodes).filter(is_implied).collect())
    }

    fn file(&self, root: Node<'_>, text: &str) -> (Option<String>, Vec<String>) {
        let clause = root.children(&mut root.walk()).find(|node| node.kind() == "package_clause");
        let package = clause.and_then(|clause| clause.child(1)).map(|name| text_of(name, text).to_owned());
        let stars =
            imports(root, text).into_iter().filter(|(name, _)| *name == Some(".")).map(|(_, path)| path.to_owned());
        (package, stars.collect())
    }
}

/// The imports of a file: the name that each gets, and its path.
fn imports<'s>(root: Node<'_>, text: &'s str) -> Vec<(Option<&'s str>, &'s str)> {
    let enters = |node: Node<'_>| matches!(node.kind(), "source_file" | "import_declaration" | "import_spec_list");
    let specifications = nodes_within(root, enters).filter(|node| node.kind() == "import_spec");
    let import = |node: Node<'_>| {
        let name = node.child_by_field_name("name").map(|name| text_of(name, text));
        (name, text_at(node, "path", text).trim_matches(['"', '`']))
    };
    specifications.map(import).collect()
}

/// A name behind a dot: that of a package, or a member.
fn qualified<'t>(parent: Node<'t>, field: &str, node: Node<'t>, text: &str) -> Role<'t> {
    let package = parent.child_by_field_name(field).filter(|object| object.kind().ends_with("identifier"));
    let Some(package) = package.map(|package| text_of(package, text)) else { return Role::Member };
    let imports = imports(root(node), text);
    let import = imports.iter().find(|(name, path)| match name {
        Some(name) => *name == package,
        None => may_be_called(path, package),
    });
    match import {
        Some((_, path)) => {
            let origin = Origin { module: (*path).to_owned(), name: text_of(node, text).to_owned() };
            Role::Other(Meaning::Through(origin, Form::Plain))
        }
        None => Role::Member,
    }
}

/// True if the package at a path may have that name: the last part, without a version and without what stands for the language.
fn may_be_called(path: &str, package: &str) -> bool {
    let is_version =
        |part: &&str| part.strip_prefix('v').is_some_and(|n| n.bytes().all(|digit| digit.is_ascii_digit()));
    let mut parts = path.rsplit('/').peekable();
    let last = parts.next().unwrap_or_default();
    let before = parts.next().filter(|_| is_version(&last)).unwrap_or(last);
    last == package || before.split(['-', '.']).any(|part| part == package)
}

/// The scope of a statement. A function has one scope with its parameters.
fn scope(node: Node<'_>) -> Node<'_> {
    let scope = around(node, |n| SCOPES.contains(&n.kind())).unwrap_or_else(|| root(node));
    scope.parent().filter(|node| is_function(*node)).unwrap_or(scope)
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "function_declaration" | "method_declaration" | "func_literal")
}

/// A declaration that is seen everywhere at the top of a file, and from a place on elsewhere.
fn declared<'t>(specification: Node<'t>, kind: Kind) -> Role<'t> {
    let scope = scope(specification);
    if scope.kind() == "source_file" {
        return Role::Declares(Declaration::new(scope, kind, Reach::Exported));
    }
    // A type is seen within itself.
    let from = if kind == Kind::Type { specification.start_byte() } else { specification.end_byte() };
    Role::Declares(Declaration::new(scope, kind, Reach::Local).seen(from..usize::MAX))
}

fn function<'t>(node: Node<'t>, text: &str) -> Role<'t> {
    let name = text_of(node, text);
    let is_special = matches!(name, "main" | "init")
        || ["Test", "Benchmark", "Example", "Fuzz"].iter().any(|prefix| name.starts_with(prefix));
    let mut declaration = Declaration::new(root(node), Kind::Function, Reach::Exported);
    declaration.obstacle = is_special.then_some("the toolchain calls it by its name");
    Role::Declares(declaration)
}

fn parameter(declaration: Node<'_>) -> Role<'_> {
    let is_owner = |n: Node<'_>| {
        matches!(
            n.kind(),
            "function_declaration" | "method_declaration" | "func_literal" | "function_type" | "method_elem"
        )
    };
    let Some(owner) = around(declaration, is_owner) else { return Role::unclear("it is a parameter of nothing") };
    // The types of a signature don't see its parameters.
    let from = owner.child_by_field_name("body").map_or(usize::MAX, |body| body.start_byte());
    Role::Declares(Declaration::new(owner, Kind::Parameter, Reach::Local).seen(from..usize::MAX))
}

/// The key of a literal: a field, or a value.
fn key<'t>(element: Node<'t>, text: &str) -> Role<'t> {
    let keyed = element.parent().filter(|keyed| keyed.kind() == "keyed_element");
    let Some(keyed) = keyed.filter(|keyed| keyed.child(0).is_some_and(|first| first.id() == element.id())) else {
        return Role::Refers(Form::Plain);
    };
    let of = keyed.parent().and_then(|body| literal_type(body, text));
    match of.map(|of| of.kind()) {
        Some("map_type" | "slice_type" | "array_type" | "implicit_length_array_type") => Role::Refers(Form::Plain),
        Some("struct_type") => Role::Member,
        Some("type_identifier") => Role::Other(Meaning::Key(of.map_or("", |of| text_of(of, text)).to_owned())),
        _ => Role::unclear("it is the key of a literal"),
    }
}

/// The type of a literal by its body; an inner literal may leave out its type. None if the file does not tell it.
fn literal_type<'t>(body: Node<'t>, text: &str) -> Option<Node<'t>> {
    let parent = body.parent()?;
    if parent.kind() == "composite_literal" {
        return underlying(parent.child_by_field_name("type")?, text);
    }
    let keyed = parent.parent().filter(|above| above.kind() == "keyed_element");
    let is_key = keyed.is_some_and(|keyed| keyed.child(0).is_some_and(|first| first.id() == parent.id()));
    let outer = literal_type(keyed.unwrap_or(parent).parent()?, text)?;
    let field = match outer.kind() {
        "map_type" if is_key => "key",
        "map_type" => "value",
        "slice_type" | "array_type" | "implicit_length_array_type" => "element",
        _ => return None,
    };
    let element = outer.child_by_field_name(field)?;
    underlying(if element.kind() == "pointer_type" { element.named_child(0)? } else { element }, text)
}

/// The type that a name stands for, if the file declares one type of that name. The name itself if the file declares none.
fn underlying<'t>(of: Node<'t>, text: &str) -> Option<Node<'t>> {
    if of.kind() != "type_identifier" {
        return Some(of);
    }
    match types(root(of), text_of(of, text), text)[..] {
        [] => Some(of),
        [one] if one.kind() != "type_identifier" => Some(one),
        _ => None,
    }
}

/// True if a file declares a type of a name, and each is a structure. None if it declares none.
pub fn is_struct(tree: &Tree, text: &str, name: &str) -> Option<bool> {
    let found = types(tree.root().get_inner_node(), name, text);
    (!found.is_empty()).then(|| found.iter().all(|of| of.kind() == "struct_type"))
}

/// The types that a file declares under a name.
fn types<'t>(root: Node<'t>, sought: &str, text: &str) -> Vec<Node<'t>> {
    let is_type = |node: &Node<'t>| matches!(node.kind(), "type_spec" | "type_alias");
    let named = nodes(root).filter(is_type).filter(|node| text_at(*node, "name", text) == sought);
    named.filter_map(|node| node.child_by_field_name("type")).collect()
}

/// The method whose receiver has these parameters of its type.
fn receiving(list: Node<'_>) -> Option<Node<'_>> {
    let is_type =
        |node: Node<'_>| !matches!(node.kind(), "generic_type" | "pointer_type" | "type_arguments" | "type_elem");
    let parameters = around(list, is_type).filter(|owner| owner.kind() == "parameter_declaration")?.parent()?;
    parameters.parent().filter(|method| is_field(*method, parameters, "receiver"))
}

/// True if the function around a `return` has a result of that name.
fn has_result(node: Node<'_>, name: &str, text: &str) -> bool {
    let function = around(node, is_function);
    let Some(list) = function.and_then(|function| function.child_by_field_name("result")) else { return false };
    let names = |result: Node<'_>| {
        let mut cursor = result.walk();
        result.children_by_field_name("name", &mut cursor).any(|of| text_of(of, text) == name)
    };
    list.kind() == "parameter_list" && list.children(&mut list.walk()).any(names)
}

/// True if a constant without a value repeats one that has the name.
fn repeats(constant: Node<'_>, name: &str, text: &str) -> bool {
    let mut before = std::iter::successors(constant.prev_sibling(), |node| node.prev_sibling());
    let value = before.find_map(|constant| constant.child_by_field_name("value"));
    value.is_some_and(|value| !Word::new(name).places(Language::Go, text_of(value, text)).is_empty())
}

/// True for the type of a field without a name.
fn is_embedded(node: Node<'_>) -> bool {
    let mut at = node;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            "field_declaration" => return parent.child_by_field_name("name").is_none() && !is_field(parent, at, "tag"),
            "generic_type" if is_field(parent, at, "type") => at = parent,
            "qualified_type" if is_field(parent, at, "name") => at = parent,
            "pointer_type" => at = parent,
            _ => return false,
        }
    }
    false
}

/// A variable that a statement makes, or a reference.
fn assigned(node: Node<'_>) -> Role<'_> {
    let list = node.parent().filter(|parent| parent.kind() == "expression_list");
    let at = list.unwrap_or(node);
    let Some(statement) = at.parent() else { return Role::Refers(Form::Plain) };
    let makes = |statement: Node<'_>| statement.children(&mut statement.walk()).any(|child| child.kind() == ":=");
    let (is_new, from) = match statement.kind() {
        "short_var_declaration" | "range_clause" | "receive_statement" => {
            (is_field(statement, at, "left") && makes(statement), statement.end_byte())
        }
        // The value is read before each clause has a variable of its own.
        "type_switch_statement" => {
            let value = statement.child_by_field_name("value");
            (is_field(statement, at, "alias"), value.map_or(at.end_byte(), |value| value.end_byte()))
        }
        _ => (false, 0),
    };
    if !is_new {
        return Role::Refers(Form::Plain);
    }
    let scope = if statement.kind() == "type_switch_statement" { statement } else { scope(statement) };
    Role::Declares(Declaration::new(scope, Kind::Variable, Reach::Local).seen(from..usize::MAX))
}
