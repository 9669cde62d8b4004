//! The modules that imports of Python bind.

use tree_sitter::Node;

use super::text_of;

/// The module that a path such as `a.b` names by an import of its file, wherever that stands. A package has its modules as members
/// as soon as they are imported anywhere.
pub(super) fn imported_module(root: Node<'_>, object: &str, text: &str) -> Option<String> {
    let (first, rest) = object.split_once('.').map_or((object, ""), |(first, rest)| (first, rest));
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if !matches!(node.kind(), "import_statement" | "import_from_statement") {
            open.extend(node.children(&mut node.walk()));
            continue;
        }
        let from = node.child_by_field_name("module_name").map(|module| text_of(module, text));
        for name in node.children_by_field_name("name", &mut node.walk()) {
            let path = text_of(name.child_by_field_name("name").unwrap_or(name), text);
            let alias = name.child_by_field_name("alias").map(|alias| text_of(alias, text));
            let is_module = from.is_none() && alias.is_none();
            let local = alias.unwrap_or_else(|| path.split('.').next().unwrap_or_default());
            if local != first {
                continue;
            }
            let bound = match from {
                // `import a.b` binds `a`, by which all of its modules are reached.
                None if is_module => first.to_owned(),
                None => path.to_owned(),
                Some(from) if from.ends_with('.') => format!("{from}{path}"),
                Some(from) => format!("{from}.{path}"),
            };
            return Some(if rest.is_empty() { bound } else { format!("{bound}.{rest}") });
        }
    }
    None
}

/// True if a file imports modules whose names are texts.
pub(super) fn imports_texts(text: &str) -> bool {
    ["import_module(", "__import__(", "sys.modules"].iter().any(|call| text.contains(call))
}
