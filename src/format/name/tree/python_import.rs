//! The modules that imports of Python bind.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{nodes_within, text_of};

/// The import statements of a file, wherever they stand.
pub(in crate::name) fn imports(root: Node<'_>) -> Vec<Node<'_>> {
    let is_import = |node: &Node<'_>| matches!(node.kind(), "import_statement" | "import_from_statement");
    nodes_within(root, has_statements).filter(is_import).collect()
}

/// True if a node may have statements below it.
pub(super) fn has_statements(node: Node<'_>) -> bool {
    let kind = node.kind();
    let may = ["_clause", "_definition", "_statement"].iter().any(|end| kind.ends_with(end));
    matches!(kind, "module" | "block") || may && kind != "expression_statement"
}

/// The module that a path such as `a.b` names by an import of its file. A package has its modules as members as soon as any file
/// imports them.
pub(super) fn imported_module(root: Node<'_>, object: &str, text: &str) -> Option<String> {
    imported_modules(root, object, text).pop_first()
}

/// The modules that a path may name, one for each import that binds its first name.
pub(in crate::name) fn imported_modules(root: Node<'_>, object: &str, text: &str) -> BTreeSet<String> {
    let (first, rest) = object.split_once('.').map_or((object, ""), |(first, rest)| (first, rest));
    let module = |Imported { from, path, has_alias, .. }: Imported<'_>| {
        let bound = match from {
            // `import a.b` binds `a`, by which all of its modules are reached.
            None if !has_alias => first.to_owned(),
            None => path.to_owned(),
            Some(from) if from.ends_with('.') => format!("{from}{path}"),
            Some(from) => format!("{from}.{path}"),
        };
        if rest.is_empty() { bound } else { format!("{bound}.{rest}") }
    };
    imported(root, text).into_iter().filter(|import| import.local == first).map(module).collect()
}

/// A name that an import binds.
pub(in crate::name) struct Imported<'s> {
    /// The name in its file.
    pub(in crate::name) local: &'s str,
    /// The module that has it; none for a module itself.
    pub(in crate::name) from: Option<&'s str>,
    /// The name there, or the path of the module.
    pub(in crate::name) path: &'s str,
    has_alias: bool,
}

/// The names that the imports of a file bind.
pub(in crate::name) fn imported<'s>(root: Node<'_>, text: &'s str) -> Vec<Imported<'s>> {
    let mut found = Vec::new();
    for node in imports(root) {
        let from = node.child_by_field_name("module_name").map(|module| text_of(module, text));
        for name in node.children_by_field_name("name", &mut node.walk()) {
            let path = text_of(name.child_by_field_name("name").unwrap_or(name), text);
            let alias = name.child_by_field_name("alias").map(|alias| text_of(alias, text));
            let local = alias.unwrap_or_else(|| path.split('.').next().unwrap_or_default());
            found.push(Imported { local, from, path, has_alias: alias.is_some() });
        }
    }
    found
}

/// True if a file imports modules whose names are texts.
pub(super) fn imports_texts(text: &str) -> bool {
    ["import_module(", "__import__(", "sys.modules"].iter().any(|call| text.contains(call))
}
