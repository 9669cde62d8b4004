//! Finds the URLs of an XML file, by its vocabulary.
//!
//! A library separates tags from text. This code finds violations of the standard that the library accepts, so that a file that
//! another parser would refuse is left alone. Nothing recurses, and names are looked up, so that the time depends on the length
//! alone.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use quick_xml::{Reader, events::Event};

use super::{
    css,
    escape::{self, Escape},
    scan::Scan,
    table::Form,
    value::{Decoded, Value},
    vocabulary::{self, Meaning, Name, Vocabulary},
};
use base::{error::Error, pulse::Pulse};

/// Events between two calls of the pulse.
const STRIDE: usize = 1000;

const BROKEN: &str = "it is no well-formed XML";
const ENCODING: &str = "its encoding is not UTF-8";
const ENTITIES: &str = "it declares entities of its own";
const FOREIGN: &str = "its root element is none of a sitemap, a feed, OPML or SVG";
const LARGE: &str = "one of its tags has very many attributes or namespaces";
const SCATTERED: &str = "the text of one of its links is in several parts";

/// The largest number of attributes in a tag: some parsers read more of them slowly.
const MOST_ATTRIBUTES: usize = 1000;
/// The same for namespaces declared around an element.
const MOST_NAMESPACES: usize = 50;

/// The reason to leave a file alone.
type Reason = &'static str;

/// An open tag.
#[derive(Debug)]
struct Open<'a> {
    meaning: Option<Meaning>,
    /// Its text if not blank, with its escape.
    text: Option<(Range<usize>, Escape)>,
    /// The prefixes that it declares.
    declared: Vec<&'a str>,
}

/// An attribute as written.
#[derive(Clone, Debug)]
struct Attribute<'a> {
    name: &'a str,
    value: Range<usize>,
}

#[derive(Debug, Default)]
pub struct Document<'a> {
    xml: &'a str,
    vocabulary: Option<(Vocabulary, Cow<'a, str>)>,
    open: Vec<Open<'a>>,
    /// The namespaces of each prefix, the innermost last.
    namespaces: BTreeMap<&'a str, Vec<Cow<'a, str>>>,
    /// The number of them in force.
    n_namespaces: usize,
    has_doctype: bool,
    values: Vec<Value>,
    /// Values that are CSS.
    sheets: Vec<(Range<usize>, Escape)>,
}

/// Finds every URL.
pub fn scan(xml: &str, pulse: Pulse<'_>) -> Result<Scan, Error> {
    let mut document = Document { xml, ..Document::default() };
    if let Some(reason) = document.read(pulse)? {
        return Ok(Scan::skipped(reason));
    }
    let mut scan = Scan { values: document.values, skipped: None };
    for sheet in document.sheets {
        scan.add_part(xml.as_bytes(), sheet, |css| css::scan(css, pulse))?;
    }
    scan.values.sort_by_key(|value| value.range.start);
    Ok(scan)
}

impl<'a> Document<'a> {
    fn read(&mut self, pulse: Pulse<'_>) -> Result<Option<Reason>, Error> {
        if !self.xml.chars().all(escape::is_xml) {
            return Ok(Some(BROKEN));
        }
        let start = if self.xml.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut reader = Reader::from_str(&self.xml[start..]);
        reader.config_mut().check_comments = true;
        let mut at = start;
        for n in 0_usize.. {
            if n.is_multiple_of(STRIDE) {
                pulse()?;
            }
            let Ok(event) = reader.read_event() else { return Ok(Some(BROKEN)) };
            let end = usize::try_from(reader.buffer_position()).map_or(self.xml.len(), |length| start + length);
            if matches!(event, Event::Eof) {
                break;
            }
            if let Err(reason) = self.event(&event, at..end, at == start) {
                return Ok(Some(reason));
            }
            at = end;
        }
        Ok((self.vocabulary.is_none() || !self.open.is_empty()).then_some(BROKEN))
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>, is_first: bool) -> Result<(), Reason> {
        let raw = &self.xml[range.clone()];
        let ensure = |is_so: bool| is_so.then_some(()).ok_or(BROKEN);
        match event {
            Event::Start(_) => self.start(range.start + 1..range.end - 1, false),
            Event::Empty(_) => self.start(range.start + 1..range.end - 2, true),
            Event::End(_) => self.end(),
            Event::Text(_) => {
                ensure(!raw.contains("]]>"))?;
                self.text(range, Escape::XmlText)
            }
            Event::GeneralRef(_) => {
                ensure(Escape::XmlText.read(raw).is_some_and(|(length, _)| length == raw.len()))?;
                self.text(range, Escape::XmlText)
            }
            Event::CData(_) => {
                ensure(!self.open.is_empty())?;
                self.text(range.start + "<![CDATA[".len()..range.end - "]]>".len(), Escape::Plain)
            }
            Event::Decl(_) => {
                ensure(is_first)?;
                let is_known = encoding(raw).is_none_or(is_like_ascii) || self.xml[range.start..].is_ascii();
                is_known.then_some(()).ok_or(ENCODING)
            }
            Event::PI(_) => {
                let target = raw[2..raw.len() - 2].split([' ', '\t', '\r', '\n']).next().unwrap_or_default();
                ensure(is_name(target) && !target.eq_ignore_ascii_case("xml"))
            }
            Event::DocType(_) => {
                ensure(raw.starts_with("<!DOCTYPE") && !self.has_doctype && self.vocabulary.is_none())?;
                self.has_doctype = true;
                (!raw.contains("<!ENTITY")).then_some(()).ok_or(ENTITIES)
            }
            Event::Comment(_) | Event::Eof => Ok(()),
        }
    }

    /// Takes the inside of a start tag.
    fn start(&mut self, tag: Range<usize>, is_empty: bool) -> Result<(), Reason> {
        if self.open.is_empty() && self.vocabulary.is_some() {
            return Err(BROKEN);
        }
        let (name, attributes) = attributes(self.xml, tag)?;
        let declared = self.declare(&attributes)?;
        self.n_namespaces += declared.len();
        if attributes.len() > MOST_ATTRIBUTES || self.n_namespaces > MOST_NAMESPACES {
            return Err(LARGE);
        }
        let element = self.resolve(name, true)?;
        if self.vocabulary.is_none() {
            let vocabulary = Vocabulary::of(element).ok_or(FOREIGN)?;
            self.vocabulary = Some((vocabulary, Cow::Owned(element.namespace.to_owned())));
        }
        let element = self.resolve(name, true)?;
        let mut names = BTreeSet::new();
        let mut found = Vec::new();
        let Some((vocabulary, own)) = &self.vocabulary else { return Err(BROKEN) };
        for attribute in &attributes {
            let is_declaration = attribute.name == "xmlns" || attribute.name.starts_with("xmlns:");
            let name = match is_declaration {
                true => Name { namespace: "xmlns", local: attribute.name },
                false => self.resolve(attribute.name, false)?,
            };
            if !names.insert(name) {
                return Err(BROKEN);
            }
            let meaning = vocabulary.attribute(own, element, name).filter(|_| !is_declaration);
            found.extend(meaning.map(|meaning| (meaning, attribute.value.clone())));
        }
        let plain = |name: &str| attributes.iter().find(|other| other.name == name);
        let plain = |name: &str| plain(name).map(|attribute| &self.xml[attribute.value.clone()]);
        let meaning = vocabulary.text(own, element, plain);
        for (meaning, range) in found {
            self.take(meaning, range, Escape::XmlAttribute);
        }
        self.open.push(Open { meaning, text: None, declared });
        if is_empty { self.end() } else { Ok(()) }
    }

    /// Takes the namespaces that a tag declares, and returns their prefixes.
    fn declare(&mut self, attributes: &[Attribute<'a>]) -> Result<Vec<&'a str>, Reason> {
        let mut declared = Vec::new();
        for attribute in attributes {
            let prefix = match attribute.name.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) if rest.starts_with(':') => &rest[1..],
                Some(_) | None => continue,
            };
            let value = Decoded::new(self.xml[attribute.value.clone()].as_bytes(), &[Escape::XmlAttribute]).text;
            // These two have fixed bindings.
            let is_reserved = matches!(&*value, vocabulary::XML | "http://www.w3.org/2000/xmlns/") || prefix == "xml";
            if prefix == "xmlns" || (is_reserved && !(prefix == "xml" && value == vocabulary::XML)) {
                return Err(BROKEN);
            }
            self.namespaces.entry(prefix).or_default().push(value);
            declared.push(prefix);
        }
        Ok(declared)
    }

    /// The name with its namespace. The default namespace is one of elements only.
    fn resolve(&self, name: &'a str, is_element: bool) -> Result<Name<'_>, Reason> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let innermost = self.namespaces.get(prefix).and_then(|stack| stack.last()).map(|namespace| &**namespace);
        let namespace = match prefix {
            "xml" => vocabulary::XML,
            "" if is_element => innermost.unwrap_or_default(),
            "" => "",
            _ => innermost.filter(|namespace| !namespace.is_empty()).ok_or(BROKEN)?,
        };
        let is_qualified = !local.is_empty() && !local.contains(':') && !(name.starts_with(':'));
        is_qualified.then_some(Name { namespace, local }).ok_or(BROKEN)
    }

    fn end(&mut self) -> Result<(), Reason> {
        let open = self.open.pop().ok_or(BROKEN)?;
        self.n_namespaces -= open.declared.len();
        for prefix in open.declared {
            self.namespaces.entry(prefix).and_modify(|stack| drop(stack.pop()));
        }
        if let (Some(meaning), Some((range, escape))) = (open.meaning, open.text) {
            self.take(meaning, range, escape);
        }
        Ok(())
    }

    /// Takes text. It must be in one piece if it is a link.
    fn text(&mut self, range: Range<usize>, escape: Escape) -> Result<(), Reason> {
        let text = &self.xml[range.clone()];
        let is_blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let Some(open) = self.open.last_mut() else {
            return if is_blank && escape == Escape::XmlText { Ok(()) } else { Err(BROKEN) };
        };
        if open.meaning.is_none()
            || (is_blank && open.text.as_ref().is_none_or(|(before, _)| before.end != range.start))
        {
            return Ok(());
        }
        match &mut open.text {
            None => open.text = Some((range, escape)),
            Some((before, same)) if before.end == range.start && *same == escape => before.end = range.end,
            Some(_) => return Err(SCATTERED),
        }
        Ok(())
    }

    fn take(&mut self, meaning: Meaning, range: Range<usize>, escape: Escape) {
        match meaning {
            Meaning::Url => self.values.push(Value::new(range, escape, Form::Url)),
            Meaning::Css => self.sheets.push((range, escape)),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_name(name: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':') || c >= '\u{c0}';
    let goes_on = |c: char| begins(c) || c.is_ascii_digit() || matches!(c, '-' | '.' | '\u{b7}');
    name.starts_with(begins) && name.chars().all(goes_on)
}

/// The name and the attributes inside a tag, by the grammar.
fn attributes(xml: &str, tag: Range<usize>) -> Result<(&str, Vec<Attribute<'_>>), Reason> {
    let bytes = xml.as_bytes();
    let run = |at: usize, wanted: fn(u8) -> bool| bytes[at..tag.end].iter().take_while(|byte| wanted(**byte)).count();
    let in_name = |byte: u8| !is_space(byte) && byte != b'=';
    let mut at = tag.start + run(tag.start, in_name);
    let name = &xml[tag.start..at];
    let mut attributes = Vec::new();
    while at < tag.end {
        let space = run(at, is_space);
        at += space;
        if at == tag.end {
            break;
        }
        let name = &xml[at..at + run(at, in_name)];
        at += name.len();
        at += run(at, is_space);
        if space == 0 || !is_name(name) || bytes[at] != b'=' {
            return Err(BROKEN);
        }
        at += 1;
        at += run(at, is_space);
        let quote = bytes[at];
        let length =
            memchr::memchr(quote, &bytes[at + 1..tag.end]).filter(|_| matches!(quote, b'"' | b'\'')).ok_or(BROKEN)?;
        let value = at + 1..at + 1 + length;
        let text = &xml[value.clone()];
        let is_reference = |(at, _): (usize, &str)| Escape::XmlText.read(&text[at..]).is_some();
        if text.contains('<') || !text.match_indices('&').all(is_reference) {
            return Err(BROKEN);
        }
        at = value.end + 1;
        attributes.push(Attribute { name, value });
    }
    is_name(name).then_some((name, attributes)).ok_or(BROKEN)
}

/// The encoding that an XML declaration names.
fn encoding(declaration: &str) -> Option<&str> {
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_ascii_start().strip_prefix('=')?.trim_ascii_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}

fn is_like_ascii(encoding: &str) -> bool {
    let encoding = encoding.to_ascii_lowercase();
    let begins = |start: &&str| encoding.starts_with(start);
    ["utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "latin", "windows-125", "cp125"].iter().any(begins)
}
