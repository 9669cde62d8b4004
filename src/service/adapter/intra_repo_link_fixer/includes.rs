//! The files that a page takes into its text by a directive of its generator.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::reference::name;

/// A directive with the file behind it, and a module that is a page.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    let marks = [
        r"--8<--",
        r"\{\{#(?:rustdoc_)?include(?-u:\b)",
        r"<!--[ \t]*@include:",
        r"\{(?:lit)?include\}",
        r"(?-u:\b)include::",
        r"\{\{[<%][ \t]*(?:include|readfile)(?-u:\b)",
        r"\{%-?[ \t]*include(?-u:\b)",
        r"^[ \t]*import(?-u:\b)[^\n;]*(?-u:\b)from(?-u:\b)",
    ];
    Regex::new(&format!("(?m)(?:{})([^\n]*)", marks.join("|"))).expect("the pattern is correct")
});

/// The names of files in the rest of a line.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\w./@~-]+\.(?i:md|mdx|markdown|mdown|mkd|mkdn|html|htm)(?-u:\b)").expect("the pattern is correct")
});

/// The lines of a block of files, between two marks on lines of their own.
static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^[ \t]*--8<--[ \t]*\r?\n(?<files>(?:[^\n]*\n)*?)[ \t]*--8<--[ \t]*\r?$")
        .expect("the pattern is correct")
});

/// The names of the files that a text includes, without their folders; none if it has no directive with a page.
pub(super) fn included(text: &str) -> BTreeSet<String> {
    let lines = DIRECTIVE.captures_iter(text).filter_map(|found| found.get(1));
    let blocks = BLOCK.captures_iter(text).filter_map(|found| found.name("files"));
    let places = lines.chain(blocks).map(|found| found.as_str());
    let whole =
        |(place, end): (&str, usize)| !place[end..].starts_with(|c: char| c.is_alphanumeric() || "_./@~-".contains(c));
    let files = |place: &'_ str| {
        let found = FILE.find_iter(place).filter(|file| whole((place, file.end())));
        found.map(|file| name(file.as_str()).to_owned()).collect::<Vec<_>>()
    };
    places.flat_map(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_name_files() {
        for (text, expected) in [
            ("--8<-- \"docs/see.md\"\n", &["see.md"][..]),
            ("--8<--\na/b.md\nc.md\n--8<--\n", &["b.md", "c.md"]),
            ("{{#include ../parts/see.md:3:4}}\n", &["see.md"]),
            ("<!-- @include: ./see.md{1,2} -->\n", &["see.md"]),
            ("```{include} ../see.md\n```\n", &["see.md"]),
            ("import See, {a} from './_see.mdx'\n", &["_see.mdx"]),
            ("{% include-markdown \"see.md\" %} {{< readfile file=\"x/y.md\" >}}\n", &["see.md", "y.md"]),
            ("[a](see.md) included in see.md\n", &[]),
            ("--8<-- \"code.py\"\n", &[]),
            ("It is important to start from [a](b.md), see c.md.\n", &[]),
            ("```{literalinclude} a.md\n```\n", &[]),
        ] {
            assert_eq!(included(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
