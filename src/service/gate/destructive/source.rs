//! The text of the built-in rules: the subset of TOML that they use, read in one pass and without copies.
//!
//! A table begins with a line of its own, a value stands on one line and is a string, a list of strings or `true`.
//! A test reads the same files as TOML and compares.

use std::borrow::Cow;

/// The tables of a file: the name, and the lines below it.
pub(super) fn tables(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split("\n[").skip(1).filter_map(|table| {
        let (name, source) = table.split_once('\n')?;
        Some((name.trim_matches(['[', ']']), source))
    })
}

/// The value of a key; empty if there is none.
fn value(source: &'static str, key: &str) -> &'static str {
    let value = |line: &'static str| line.strip_prefix(key)?.strip_prefix(" = ");
    source.lines().find_map(value).unwrap_or_default()
}

/// A text.
pub(super) fn text(source: &'static str, key: &str) -> Cow<'static, str> {
    strings(value(source, key)).next().unwrap_or_default()
}

/// The words of a text.
pub(super) fn words(source: &'static str, key: &str) -> Vec<Cow<'static, str>> {
    match text(source, key) {
        Cow::Borrowed(text) => text.split_ascii_whitespace().map(Cow::Borrowed).collect(),
        Cow::Owned(text) => text.split_ascii_whitespace().map(|word| word.to_owned().into()).collect(),
    }
}

/// A list of texts.
pub(super) fn list(source: &'static str, key: &str) -> impl Iterator<Item = Cow<'static, str>> {
    strings(value(source, key))
}

/// True if a key is `true`.
pub(super) fn is_set(source: &'static str, key: &str) -> bool {
    value(source, key) == "true"
}

/// The lines of a table of texts whose keys stand in quotes too.
pub(super) fn pairs(source: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    source.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"')?.split_once("\" = \""))
}

/// The strings of a value.
fn strings(value: &'static str) -> impl Iterator<Item = Cow<'static, str>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let start = rest.split_once('"')?.1;
        let mut escaped = false;
        let end = start.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        rest = &start[end + 1..];
        let text = &start[..end];
        Some(if text.contains('\\') { super::code::unescaped(&text.replace("\\\"", "\"")).into() } else { text.into() })
    })
}

#[cfg(test)]
mod tests {
    use toml_edit::{Document, Item};

    use super::{super::rule::FILES, *};

    /// The keys of a rule.
    const KEYS: &[&str] = &[
        "id",
        "program",
        "words",
        "flags",
        "unless",
        "operands",
        "except",
        "elsewhere",
        "cmdlet",
        "named",
        "severity",
        "reason",
        "remediation",
        "match",
        "not_match",
    ];

    #[test]
    fn the_rules_are_read_as_toml_would_read_them() {
        for (name, file) in FILES {
            let document = Document::parse(*file).unwrap();
            let rules = document["rule"].as_array_of_tables().unwrap();
            let tables = || tables(file).filter(|(kind, _)| *kind == "rule");
            assert_eq!(rules.len(), tables().count(), "{name}");
            for (table, (_, source)) in rules.iter().zip(tables()) {
                for (key, item) in table.iter() {
                    assert!(KEYS.contains(&key), "{name}: {key}");
                    check(source, key, item);
                }
                assert!(["", "warn", "confirm", "block"].contains(&&*text(source, "severity")), "{source}");
            }
            let valued = document.get("valued").and_then(Item::as_table).into_iter().flat_map(|table| table.iter());
            let valued: Vec<(&str, &str)> = valued.map(|(names, options)| (names, options.as_str().unwrap())).collect();
            let read = super::tables(file).filter(|(kind, _)| *kind == "valued").flat_map(|(_, source)| pairs(source));
            assert_eq!(read.collect::<Vec<_>>(), valued, "{name}");
        }
    }

    #[track_caller]
    fn check(source: &'static str, key: &str, item: &Item) {
        if item.as_bool().is_some() {
            return assert_eq!(Some(is_set(source, key)), item.as_bool(), "{source}");
        }
        let all = |item: &Item| item.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect();
        let told: Vec<String> = item.as_str().map_or_else(|| all(item), |text| vec![text.to_owned()]);
        assert_eq!(list(source, key).collect::<Vec<_>>(), told, "{source}");
    }
}
