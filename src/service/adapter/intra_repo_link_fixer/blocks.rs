//! Blocks of Python-Markdown whose contents stand four columns further in, where `CommonMark` sees code.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

/// The kinds of blocks that a page may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks {
    has_admonitions: bool,
    has_details: bool,
    has_tabs: bool,
    has_definitions: bool,
}

/// The line that opens a block: its margin, its sign, and the rest.
static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    let class = r#" ?[\w-]+(?: +[\w-]+)*(?: +"[^\n]*")?"#;
    let tab = r#" +"[^\n]*""#;
    let lines = format!(r"(?:!!!|\?\?\?\+?){class}|={{3}}(?:\+!?|!\+?)?{tab}|: {{1,3}}[^\s][^\n\r]*");
    Regex::new(&format!(r"(?m)^(?<margin>[ \t]*)(?<line>{lines})(?<end>[ \t]*\r?)$")).expect("the pattern is correct")
});

impl Blocks {
    /// Every kind, where the extensions are not known.
    pub(super) const ALL: Blocks =
        Blocks { has_admonitions: true, has_details: true, has_tabs: true, has_definitions: true };

    /// These kinds and some others.
    pub(super) fn with(self, other: Blocks) -> Blocks {
        Blocks {
            has_admonitions: self.has_admonitions || other.has_admonitions,
            has_details: self.has_details || other.has_details,
            has_tabs: self.has_tabs || other.has_tabs,
            has_definitions: self.has_definitions || other.has_definitions,
        }
    }

    /// Adds those of an extension.
    pub(super) fn add(&mut self, extension: &str) {
        match extension {
            "admonition" => self.has_admonitions = true,
            "pymdownx.details" => self.has_details = true,
            "pymdownx.tabbed" => self.has_tabs = true,
            "def_list" | "extra" | "pymdownx.extra" => self.has_definitions = true,
            _ => {}
        }
    }

    /// The text with the sign of a list item for that of each block, so that the contents belong to it. Every byte keeps its place.
    pub(super) fn as_items(self, text: &str) -> Cow<'_, str> {
        if self == Blocks::default() {
            return Cow::Borrowed(text);
        }
        OPENING.replace_all(text, |found: &Captures<'_>| {
            let line = &found["line"];
            let sign: String = line.chars().take_while(|c| "!?=:+".contains(*c)).collect();
            let is_known = match sign.as_bytes() {
                [b'!', ..] => self.has_admonitions,
                [b'?', ..] => self.has_details,
                [b'=', ..] => self.has_tabs,
                _ => self.has_definitions,
            };
            if !is_known {
                return found[0].to_owned();
            }
            let item: String = "-  ".chars().chain(std::iter::repeat('x')).take(sign.len()).collect();
            format!("{}{item}{}{}", &found["margin"], &line[sign.len()..], &found["end"])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_a_block_becomes_that_of_an_item() {
        for (line, item) in [
            ("!!! note", "-   note"),
            ("!!!note inline end \"A title\"", "-  note inline end \"A title\""),
            ("    ???+ tip \"\"\r", "    -  x tip \"\"\r"),
            ("=== \"Tab\"", "-   \"Tab\""),
            ("===+ \"Tab\" ", "-  x \"Tab\" "),
            (":   A definition", "-   A definition"),
            ("!!! Watch out: this is text", "!!! Watch out: this is text"),
            ("====", "===="),
            (":", ":"),
            ("text !!! note", "text !!! note"),
        ] {
            assert_eq!(Blocks::ALL.as_items(line), item);
            assert_eq!(Blocks::default().as_items(line), line);
        }
        let mut some = Blocks::default();
        some.add("admonition");
        assert_eq!(some.as_items("!!! a\n??? b\n"), "-   a\n??? b\n");
    }
}
