//! The parts of a link's destination, as its URL has them. Pure.

use std::borrow::Cow;

/// Names that many folders have, in lower case and without extension.
const COMMON: &[&str] = &[
    "__init__",
    "_index",
    "cargo",
    "changelog",
    "contributing",
    "dockerfile",
    "index",
    "lib",
    "main",
    "makefile",
    "mod",
    "package",
    "pyproject",
    "readme",
    "summary",
    "toc",
];

/// Names of files whose content is the same in many projects, likewise.
const LICENCES: &[&str] = &["copying", "licence", "license", "notice"];

/// A destination within the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The destination as it is read, without escapes of its format.
    text: String,
    path_end: usize,
    /// The beginning of the fragment, behind its `#`.
    fragment: Option<usize>,
    /// True if its site reads it from the address of the page, which may not be the place of the file.
    pub(super) is_by_address: bool,
}

impl Reference {
    /// Takes a destination apart; none if it leads out of the repository.
    pub(super) fn parse(text: &str, has_site_root: bool) -> Option<Self> {
        if is_external(text, has_site_root) {
            return None;
        }
        let hash = text.find('#');
        let path_end = text[..hash.unwrap_or(text.len())].find('?').or(hash).unwrap_or(text.len());
        Some(Reference { text: text.to_owned(), path_end, fragment: hash.map(|at| at + 1), is_by_address: false })
    }

    /// The whole destination.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The path as it is written.
    pub(super) fn path(&self) -> &str {
        &self.text[..self.path_end]
    }

    /// The query with its `?`, and the `#` of the fragment.
    pub(super) fn between(&self) -> &str {
        &self.text[self.path_end..self.fragment.unwrap_or(self.text.len())]
    }

    /// The place of the fragment in the destination.
    pub(super) fn fragment_start(&self) -> Option<usize> {
        self.fragment
    }

    /// The fragment as it is written, without the directive of a browser.
    pub(super) fn fragment(&self) -> Option<&str> {
        let fragment = &self.text[self.fragment?..];
        Some(fragment.split_once(":~:").map_or(fragment, |(fragment, _)| fragment))
    }

    /// True if it asks for the source of a page.
    pub(super) fn is_plain(&self) -> bool {
        let query = self.between().trim_end_matches('#').trim_start_matches('?');
        query.split('&').any(|part| part == "plain=1")
    }
}

fn is_external(text: &str, has_site_root: bool) -> bool {
    let slash = |byte: Option<&u8>| matches!(byte, Some(b'/' | b'\\'));
    let bytes = text.as_bytes();
    let scheme = text.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)));
    bytes.is_empty()
        || scheme.is_some_and(|end| bytes[end] == b':' && bytes[0].is_ascii_alphabetic())
        || (slash(bytes.first()) && slash(bytes.get(1)))
        || ["{{", "{%", "<%", "${", "<?"].iter().any(|mark| text.contains(mark))
        || text.starts_with(['{', '@'])
        || text.starts_with("$(")
        || is_variable(text.strip_prefix('/').unwrap_or(text))
        || (!has_site_root && text.starts_with('/'))
}

/// True for a text that begins with a variable of a build, such as `%PUBLIC_URL%`. Two letters are a byte.
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix('%').and_then(|rest| rest.split_once('%')).map_or("", |(name, _)| name);
    name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Percent-decodes a text; as it is if the result is not UTF-8.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let hex = |at: usize| text.get(at..at + 2).filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        match hex(at + 1).filter(|_| *byte == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                at += 3;
            }
            None => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The path beneath the workspace that a path in a folder names; none above the workspace. The workspace itself is empty.
pub(super) fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The folder of a path; empty for the workspace.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// True for a name of several words, which hardly two files have by chance. Its extension does not count.
pub(super) fn is_telling(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut words = vec![0];
    for (before, c) in std::iter::once(' ').chain(stem.chars()).zip(stem.chars()) {
        if !c.is_alphabetic() || (before.is_lowercase() && c.is_uppercase()) {
            words.push(0);
        }
        words.last_mut().into_iter().for_each(|letters| *letters += usize::from(c.is_alphabetic()));
    }
    words.iter().filter(|letters| **letters > 1).count() > 1
}

/// True for a name that many folders have.
pub(super) fn is_common(name: &str) -> bool {
    let stem = stem(name);
    stem.is_empty() || COMMON.contains(&stem.as_str()) || is_licence(name)
}

/// True for the path of a file whose content is the same in many projects.
pub(super) fn is_licence(path: &str) -> bool {
    LICENCES.contains(&stem(name(path)).as_str())
}

fn stem(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_destinations() {
        for text in [
            "http://a/b",
            "mailto:a@b",
            "//host/x",
            "/\\host",
            "\\\\host",
            "data:,x",
            "tel:1",
            "a{{b}}",
            "%PUBLIC_URL%/a.ico",
            "/%BASE_1%/a",
            "$(OUT)/a",
            "{% url %}",
            "<%= x %>",
            "${x}/y",
            "@site/x.md",
            "{x}",
            "/x",
            "c:/x",
            "<?php",
            "",
        ] {
            assert_eq!(Reference::parse(text, false), None, "{text}");
        }
        for text in ["a.md", "./a:b.md", "1:x", "#a", "?q", "a@b", "a%7Bb", "..", "a//b"] {
            assert!(Reference::parse(text, false).is_some(), "{text}");
        }
        assert!(Reference::parse("/x", true).is_some());
    }

    #[test]
    fn parts_of_a_destination() {
        let check = |text: &str, path: &str, between: &str, fragment: Option<&str>| {
            let found = Reference::parse(text, true).unwrap();
            assert_eq!((found.path(), found.between(), found.fragment()), (path, between, fragment), "{text}");
        };
        check("a.md", "a.md", "", None);
        check("a.md?x=1#b", "a.md", "?x=1#", Some("b"));
        check("a#b?c#d", "a", "#", Some("b?c#d"));
        check("#", "", "#", Some(""));
        check("a#b:~:text=x", "a", "#", Some("b"));
        assert!(Reference::parse("a?x&plain=1#L1", true).unwrap().is_plain());
    }

    #[test]
    fn percent_signs_are_decoded_once() {
        for (text, expected) in [
            ("a%20b", "a b"),
            ("%25zz%zz%", "%zz%zz%"),
            ("%C3%BC", "ü"),
            ("%FF", "%FF"),
            ("%2", "%2"),
            ("a%2520", "a%20"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_are_joined_beneath_the_workspace() {
        for (folder, path, expected) in [
            ("a/b", "../c", Some("a/c")),
            ("", "./x//y/", Some("x/y")),
            ("a", "..", Some("")),
            ("a", "../..", None),
            (".", "x", Some("x")),
        ] {
            assert_eq!(joined(folder, path).as_deref(), expected, "{path}");
        }
    }
}
