//! Tracks open elements around and inside `<svg>` and `<math>`, to recognise pages that parsers read differently.
//!
//! The tree decides if `<style>` begins text or holds markup. The streaming parser guesses the tree from few names; a browser
//! knows it. Where the two could differ, the page is unclear. It must never guess in favour of a page.

use std::collections::{BTreeMap, BTreeSet};

/// Tags that end foreign content; `<font>` only with certain attributes.
const BREAKS_OUT: &[&str] = &[
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];

/// Elements whose content is text, not markup.
pub(crate) const RAW_TEXT: &[&str] =
    &["iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp", "plaintext"];

/// HTML elements without content.
const VOID: &[&str] = &[
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
];

/// End tags that may close an element of another name, or make one.
const CLOSES_OTHERS: &[&str] = &["br", "colgroup", "h1", "h2", "h3", "h4", "h5", "h6", "p", "tbody", "tr"];

/// The kind of an open element, for the tags inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of HTML.
    Html,
    /// Of SVG.
    Svg,
    /// Of MathML.
    Math,
    /// Of SVG or MathML, with HTML inside.
    Point,
    /// Of MathML, with HTML inside but for two elements.
    TextPoint,
}

/// The parts of a start tag, names in lower case.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The element.
    pub name: &'a str,
    /// True if it ends with `/>`.
    pub is_self_closing: bool,
    /// True if it has a `color`, `face` or `size`.
    pub has_font_style: bool,
    /// True if its `encoding` is one of HTML.
    pub has_html_encoding: bool,
}

/// The open elements, as far as they matter.
#[derive(Debug, Default)]
pub struct Foreign {
    /// From the outermost `<svg>` or `<math>` on; empty outside.
    open: Vec<(String, Kind)>,
    /// The number of HTML elements in `open`.
    html: usize,
    /// The number of each name in `open`.
    counts: BTreeMap<String, usize>,
    /// Names of HTML elements that began before.
    began: BTreeSet<String>,
    /// In `<select>` and `<frameset>` browsers drop tags, older ones more of them.
    in_select: bool,
    /// True if a `</select>` might not end it.
    select_stays: bool,
    in_frameset: bool,
    /// True in a `<template>` whose content's kind is still unknown.
    in_bare_template: bool,
    /// True if a tag of HTML ended foreign content.
    pub was_left: bool,
    /// True if a browser might build another tree.
    pub is_unclear: bool,
}

impl Foreign {
    /// True while end tags matter.
    pub fn is_engaged(&self) -> bool {
        self.in_select || !self.open.is_empty()
    }

    /// The context of the next tag.
    pub fn around(&self) -> Kind {
        self.open.last().map_or(Kind::Html, |(_, kind)| *kind)
    }

    /// Takes a start tag, and returns the kind of its element.
    pub fn start(&mut self, tag: Start<'_>) -> Kind {
        let around = self.around();
        match around {
            Kind::Html | Kind::Point => return self.html(tag),
            Kind::TextPoint => {
                self.is_unclear |= matches!(tag.name, "mglyph" | "malignmark");
                return self.html(tag);
            }
            Kind::Svg | Kind::Math => {}
        }
        if BREAKS_OUT.contains(&tag.name) || (tag.name == "font" && tag.has_font_style) {
            while matches!(self.around(), Kind::Svg | Kind::Math) {
                self.pop();
            }
            self.was_left = true;
            return self.html(tag);
        }
        let kind = match (around, tag.name) {
            (Kind::Svg, "desc" | "title" | "foreignobject") => Kind::Point,
            (Kind::Math, "mi" | "mo" | "mn" | "ms" | "mtext") => Kind::TextPoint,
            (Kind::Math, "annotation-xml") if tag.has_html_encoding => Kind::Point,
            (Kind::Math, "svg") => {
                self.is_unclear |= self.open.last().is_none_or(|(name, _)| name != "annotation-xml");
                Kind::Svg
            }
            (Kind::Svg, "math") => {
                self.is_unclear = true;
                Kind::Svg
            }
            (_, _) => around,
        };
        if !tag.is_self_closing {
            self.push(tag.name, kind);
        }
        kind
    }

    fn html(&mut self, tag: Start<'_>) -> Kind {
        let kind = match tag.name {
            "svg" => Kind::Svg,
            "math" => Kind::Math,
            _ => Kind::Html,
        };
        if kind != Kind::Html || RAW_TEXT.contains(&tag.name) {
            let dropped_in_select = self.in_select && !matches!(tag.name, "script" | "textarea");
            let dropped_in_frameset = self.in_frameset && tag.name != "noframes";
            self.is_unclear |= dropped_in_select || dropped_in_frameset;
        }
        match tag.name {
            "select" => self.in_select = true,
            "frameset" => self.in_frameset = true,
            "template" => {
                self.select_stays |= self.in_select;
                self.in_bare_template = true;
            }
            "table" | "colgroup" => self.in_bare_template = false,
            // A browser drops nearly everything after it.
            "col" => self.is_unclear |= self.in_bare_template,
            _ => {}
        }
        match kind {
            Kind::Html => {
                if !self.open.is_empty() && !VOID.contains(&tag.name) {
                    self.push(tag.name, kind);
                }
                self.began(tag.name);
            }
            Kind::Svg | Kind::Math | Kind::Point | Kind::TextPoint if !tag.is_self_closing => self.push(tag.name, kind),
            Kind::Svg | Kind::Math | Kind::Point | Kind::TextPoint => {}
        }
        kind
    }

    /// True if the innermost open element has that name.
    pub fn is_innermost(&self, name: &str) -> bool {
        self.open.last().is_some_and(|(top, _)| top == name)
    }

    /// Takes the name of an HTML element that begins outside of foreign content.
    pub fn began(&mut self, name: &str) {
        if !self.began.contains(name) {
            self.began.insert(name.to_owned());
        }
    }

    /// Takes an end tag.
    pub fn end(&mut self, name: &str) {
        if name == "select" && !self.select_stays && matches!(self.around(), Kind::Html) {
            self.in_select = false;
        }
        match self.open.last() {
            None => {}
            // Implied end tags are not followed: elements must be closed by their own tags.
            Some((top, Kind::Html)) if top == name => self.pop(),
            Some((_, Kind::Html)) => self.is_unclear = true,
            Some((_, Kind::Svg | Kind::Math | Kind::Point | Kind::TextPoint)) => self.end_foreign(name),
        }
    }

    /// Searches outwards for the element, up to the next HTML element, which the tag would close with its content.
    fn end_foreign(&mut self, name: &str) {
        if self.counts.get(name).is_some_and(|count| *count > 0) {
            while let Some((top, kind)) = self.open.last() {
                let found = top == name;
                if *kind == Kind::Html {
                    self.is_unclear = true;
                    return;
                }
                self.pop();
                if found {
                    return;
                }
            }
        }
        let is_nested = self.html > 0;
        let may_close = CLOSES_OTHERS.contains(&name) || self.began.contains(name);
        self.is_unclear |= is_nested || (may_close && !matches!(name, "body" | "html"));
    }

    fn push(&mut self, name: &str, kind: Kind) {
        *self.counts.entry(name.to_owned()).or_default() += 1;
        self.html += usize::from(kind == Kind::Html);
        self.open.push((name.to_owned(), kind));
    }

    fn pop(&mut self) {
        if let Some((name, kind)) = self.open.pop() {
            self.html -= usize::from(kind == Kind::Html);
            self.counts.entry(name).and_modify(|count| *count -= 1);
        }
    }

    /// Takes the bytes between two start tags; `text_of` names the first if its content is text.
    pub(crate) fn between(&mut self, bytes: &[u8], text_of: Option<&str>) {
        let mut at = 0;
        if let Some(name) = text_of {
            let end = end_of_text(bytes, name.as_bytes());
            // A script may continue after the first end tag in it.
            self.is_unclear |= name == "script" && memchr::memmem::find(&bytes[..end], b"<!--").is_some();
            at = end;
        }
        while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
            at += found;
            match self.token(&bytes[at..]) {
                Some(length) => at += length,
                // A tag begins inside another construct: one of the two is wrong.
                None => {
                    self.is_unclear = true;
                    return;
                }
            }
        }
    }

    /// Takes the bytes after the last start tag of a part that must end there for every reader.
    pub(crate) fn finish(&mut self, bytes: &[u8], text_of: Option<&str>) {
        let is_open = |name: &str| end_of_text(bytes, name.as_bytes()) == bytes.len();
        self.is_unclear |= text_of.is_some_and(is_open);
        self.between(bytes, text_of);
        self.is_unclear |= self.in_select;
    }

    /// The length of a construct that begins with `<`; none if it does not end.
    fn token(&mut self, bytes: &[u8]) -> Option<usize> {
        let until = |from: usize, end: &[u8]| Some(from + memchr::memmem::find(&bytes[from..], end)? + end.len());
        match bytes {
            [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                let length = until(0, b">")?;
                let tag = &bytes[2..length - 1];
                self.is_unclear |= tag.iter().any(|byte| matches!(byte, b'"' | b'\''));
                let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'/');
                let name = &tag[..tag.iter().position(ends).unwrap_or(tag.len())];
                self.end(&String::from_utf8_lossy(name).to_ascii_lowercase());
                Some(length)
            }
            [b'<', b'!', b'-', b'-', b'>', ..] => Some(5),
            [b'<', b'!', b'-', b'-', b'-', b'>', ..] => Some(6),
            [b'<', b'!', b'-', b'-', ..] => {
                let plain = until(4, b"-->")?;
                let odd = memchr::memmem::find(&bytes[4..plain], b"--!>").map(|at| 4 + at + 4);
                Some(odd.unwrap_or(plain))
            }
            [b'<', b'!', b'[', b'C', b'D', b'A', b'T', b'A', b'[', ..] if self.around() != Kind::Html => {
                // The streaming parser takes it for a comment there.
                self.is_unclear |= matches!(self.around(), Kind::Point | Kind::TextPoint);
                until(9, b"]]>")
            }
            [b'<', b'!' | b'?' | b'/', ..] => until(0, b">"),
            [b'<', letter, ..] if letter.is_ascii_alphabetic() => None,
            _ => Some(1),
        }
    }
}

/// The end of an element's text.
pub fn end_of_text(bytes: &[u8], name: &[u8]) -> usize {
    memchr::memmem::find_iter(bytes, b"</")
        .find(|at| {
            let rest = &bytes[at + 2..];
            let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'/' | b'>');
            rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) && ends(&rest[name.len()])
        })
        .unwrap_or(bytes.len())
}
