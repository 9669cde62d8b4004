//! The code within pages: the text of each `<script>` and `<style>`, as ast-grep sees it. An attribute `lang` names the language, and
//! an attribute `type` says if it is a program at all.

use tree_sitter::{Node, Range, Tree};

use super::tree;
use base::language::Language;

/// The elements with code: their kind, the language without `lang`, and the texts that would end the code.
const ELEMENTS: &[(&str, Language, &[&str])] =
    &[("script_element", Language::JavaScript, &["</script", "<!--"]), ("style_element", Language::Css, &["</style"])];

/// The last words of types of JavaScript, besides `module`.
const PROGRAMS: &[&str] = &["javascript", "ecmascript", "x-javascript", "x-ecmascript"];

/// A piece of code within a page.
pub(super) struct Piece {
    /// Its language.
    pub(super) language: Language,
    /// Its place.
    pub(super) range: Range,
    /// The texts that would end it.
    pub(super) ends: &'static [&'static str],
}

/// The code within a file, by the tree of the file.
pub(super) fn pieces(host: Language, text: &str, tree: &Tree) -> Vec<Piece> {
    if host != Language::Html {
        return Vec::new();
    }
    tree::descend(tree.root_node()).filter_map(|node| piece(text, node)).collect()
}

fn piece(text: &str, node: Node<'_>) -> Option<Piece> {
    let (_, usual, ends) = ELEMENTS.iter().find(|(kind, ..)| *kind == node.kind())?;
    let code = tree::children(node).into_iter().find(|child| child.kind() == "raw_text")?;
    let attributes: Vec<(&str, Option<&str>)> =
        tree::descend(node).filter(|inner| inner.kind() == "attribute").map(|inner| attribute(text, inner)).collect();
    let named = attributes.iter().find_map(|(name, value)| value.filter(|_| *name == "lang"));
    let language = match named {
        None => *usual,
        Some(name) => Language::parse(name).ok().filter(|language| Language::Html.embedded().contains(language))?,
    };
    let kind = attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case("type")).and_then(|(_, value)| *value);
    let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
    is_program(*usual, &kind, named.is_some()).then_some(Piece { language, range: code.range(), ends })
}

fn is_program(usual: Language, kind: &str, is_named: bool) -> bool {
    if usual == Language::Css {
        return matches!(kind, "" | "text/css");
    }
    match kind.split_once('/') {
        None => matches!(kind, "" | "module"),
        Some(("text", "babel" | "jsx")) => true,
        Some(("text", "ts" | "tsx" | "typescript") | ("application", "typescript")) => is_named,
        Some(("text" | "application", name)) => PROGRAMS.contains(&name),
        Some(_) => false,
    }
}

/// The name and the value of an attribute.
fn attribute<'t>(text: &'t str, node: Node<'_>) -> (&'t str, Option<&'t str>) {
    let first = |kind: &str| tree::descend(node).find(|inner| inner.kind() == kind);
    let of = |node| tree::text_of(text, node);
    (first("attribute_name").map(of).unwrap_or_default(), first("attribute_value").map(of))
}
