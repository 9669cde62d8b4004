//! The code within pages: scripts and style sheets, with the languages and the ranges that ast-grep gives them.
//!
//! A data block, such as `<script type="application/json">`, is no code and is left out. ast-grep takes it for JavaScript.

use ast_grep_core::tree_sitter::{LanguageExt, TSRange};

use super::{grammar::Grammar, tree::Tree};
use base::language::Language;

/// The types of scripts that are programs, besides the absence of a type.
const SCRIPTS: &[&str] = &[
    "",
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "module",
    "text/babel",
    "text/ecmascript",
    "text/javascript",
    "text/jsx",
    "text/x-ecmascript",
    "text/x-javascript",
];

/// The types of scripts whose language `lang` has to name.
const TYPED: &[&str] = &["application/typescript", "text/ts", "text/tsx", "text/typescript"];

/// The types of style sheets.
const STYLES: &[&str] = &["", "text/css"];

/// A piece of code within a file.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Its language.
    pub(super) language: Language,
    /// Its place.
    pub(super) range: TSRange,
    /// The texts that would end it.
    pub(super) ends: &'static [&'static str],
}

/// The code within a file, by the tree of the file.
pub(super) fn parts(language: Language, tree: &Tree) -> Vec<Part> {
    if language.embedded().is_empty() {
        return Vec::new();
    }
    let injections = Grammar(language).extract_injections(tree.root());
    let single = injections.into_iter().filter_map(|(name, ranges)| Some((name, *ranges.first()?)));
    single.filter_map(|(name, range)| part(language, &name, range, tree)).collect()
}

fn part(host: Language, name: &str, range: TSRange, tree: &Tree) -> Option<Part> {
    let language = Language::parse(name).ok().filter(|language| host.embedded().contains(language))?;
    let root = tree.root().get_inner_node();
    let code = root.named_descendant_for_byte_range(range.start_byte, range.end_byte)?;
    let element = code.parent()?;
    let attributes = attributes(element, tree.source());
    let (_, kind) = attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case("type")).copied().unwrap_or_default();
    let is_type = |known: &[&str]| known.iter().any(|known| kind.trim().eq_ignore_ascii_case(known));
    let is_named = || attributes.iter().any(|(name, value)| *name == "lang" && !value.is_empty());
    let (is_code, ends): (bool, &[&str]) = match element.kind() {
        "script_element" => (is_type(SCRIPTS) || is_type(TYPED) && is_named(), &["</script", "<!--"]),
        "style_element" => (is_type(STYLES), &["</style"]),
        _ => return None,
    };
    is_code.then_some(Part { language, range, ends })
}

/// The attributes of an element by name; the value is empty where there is none.
fn attributes<'t>(element: tree_sitter::Node<'_>, text: &'t str) -> Vec<(&'t str, &'t str)> {
    let of = |node: tree_sitter::Node<'_>| text.get(node.byte_range()).unwrap_or_default();
    let Some(start) = element.child(0) else { return Vec::new() };
    let mut cursor = start.walk();
    let attributes = start.named_children(&mut cursor).filter(|child| child.kind() == "attribute");
    let pair = |attribute: tree_sitter::Node<'_>| {
        let name = attribute.named_child(0).map(of).unwrap_or_default();
        let value = attribute.named_child(1).map(of).unwrap_or_default();
        (name, value.trim_matches(['"', '\'']))
    };
    attributes.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tree::parse;

    /// The parts of a page, each as language and code.
    #[track_caller]
    fn check(page: &str, expected: &[(&str, &str)]) {
        let tree = parse(Language::Html, page, &|| Ok(())).unwrap();
        let found = parts(Language::Html, &tree);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|part| (part.language.name(), &page[part.range.start_byte..part.range.end_byte]))
            .collect();
        assert_eq!(found, expected, "{page}");
    }

    #[test]
    fn scripts_and_style_sheets_have_languages() {
        check("<script>a</script><style>b{}</style>", &[("javascript", "a"), ("css", "b{}")]);
        check("<SCRIPT Type='Module' lang=ts>a</SCRIPT>", &[("typescript", "a")]);
        check("<script lang=\"tsx\">a</script><script lang=js>b</script>", &[("tsx", "a"), ("javascript", "b")]);
        check("<script type=text/typescript lang=ts>a</script>", &[("typescript", "a")]);
        check("<script type=' text/javascript ' async>a</script>", &[("javascript", "a")]);
        check("<style type=\"text/css\" media=print>a{}</style>", &[("css", "a{}")]);
        check("<p onclick=\"f(1)\">a</p><!-- <script>a</script> -->", &[]);
    }

    #[test]
    fn data_and_unknown_languages_are_no_code() {
        for attributes in [
            "type=application/json",
            "type='application/ld+json'",
            "type=importmap",
            "type=text/x-template",
            "type=text/typescript",
            "type=x-shader/x-vertex",
            "lang=coffee",
            "lang=python",
        ] {
            check(&format!("<script {attributes}>a</script>"), &[]);
        }
        for attributes in ["lang=scss", "lang=less", "type=text/less", "type=text/tailwindcss"] {
            check(&format!("<style {attributes}>a{{}}</style>"), &[]);
        }
    }
}
