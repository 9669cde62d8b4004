//! Texts that a page takes from other files, by the directives of generators.

use std::collections::BTreeSet;

/// The beginnings of directives that a file follows on the line.
const BEGINNINGS: &[&str] = &[
    "--8<--",
    "{{#include",
    "{{#rustdoc_include",
    "@include:",
    "{include}",
    "{litinclude}",
    "include::",
    "{{<include",
    "{{%include",
    "{{<readfile",
    "{{%readfile",
    "{%include",
    "{%-include",
];

/// The extensions of pages.
const PAGES: &[&str] = &["md", "mdx", "markdown", "mdown", "mkd", "mkdn", "html", "htm"];

/// The file names that directives of a text give.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_in_block = false;
    for line in text.lines() {
        let is_mark = line.trim() == "--8<--";
        is_in_block ^= is_mark;
        let dense: String = line.chars().filter(|c| !matches!(c, ' ' | '\t')).collect();
        let is_import = line.split("import").nth(1).is_some_and(|rest| rest.contains("from"));
        if (is_in_block && !is_mark) || is_import || BEGINNINGS.iter().any(|begin| dense.contains(begin)) {
            found.extend(pages(line));
        }
    }
    found
}

/// The names of pages in a line, without their folders.
fn pages(line: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || "_./@~-".contains(c);
    let words = line.split(move |c: char| !is_part(c)).filter_map(|word| word.rsplit('/').next());
    let is_page = |word: &&str| {
        word.split_once('.').is_some()
            && word.rsplit('.').next().is_some_and(|end| PAGES.contains(&end.to_ascii_lowercase().as_str()))
    };
    words.filter(is_page).map(str::to_owned).collect::<Vec<_>>().into_iter()
}
