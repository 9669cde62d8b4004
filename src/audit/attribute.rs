//! A start tag, and the URLs in its attributes.

use std::{collections::BTreeSet, ops::Range};

use super::{foreign_content::Opened, page::strip};

/// Up to this number, attributes are searched linearly for a name.
const FEW: usize = 16;

/// An attribute of a start tag.
#[derive(Debug, Default)]
pub(crate) struct Attribute {
    /// In lower case.
    pub(crate) name: Vec<u8>,
    /// Decoded.
    pub(crate) value: Vec<u8>,
    /// The place of the value; none if its spelling differs.
    pub(crate) place: Option<usize>,
    /// The place of the value in its own spelling, if it was looked for.
    pub(crate) raw: Option<Range<usize>>,
}

/// A start tag as far as it was read. It is reused for the next tag.
#[derive(Debug, Default)]
pub(crate) struct Tag {
    /// In lower case.
    pub(crate) name: Vec<u8>,
    /// The first of attributes with the same name.
    pub(crate) attributes: Vec<Attribute>,
    /// Every name, if there are many.
    names: BTreeSet<Vec<u8>>,
    /// Attributes of earlier tags, whose memory is reused.
    spare: Vec<Attribute>,
    /// True while the last attribute repeats a name.
    pub(crate) repeated: bool,
    /// True if it ends with `/>`.
    pub(crate) self_closing: bool,
}

impl Tag {
    /// Begins another tag.
    pub(crate) fn begin(&mut self, name: &[u8]) {
        self.name.clear();
        self.name.extend_from_slice(name);
        self.spare.append(&mut self.attributes);
        self.spare.truncate(FEW);
        self.names.clear();
        (self.repeated, self.self_closing) = (false, false);
    }

    /// Takes the name of the next attribute.
    pub(crate) fn attribute(&mut self, name: &[u8]) {
        if self.attributes.len() == FEW {
            self.names = self.attributes.iter().map(|attribute| attribute.name.clone()).collect();
        }
        self.repeated = match self.attributes.len() < FEW {
            true => self.get(name).is_some(),
            false => !self.names.insert(name.to_vec()),
        };
        if !self.repeated {
            let mut attribute = self.spare.pop().unwrap_or_default();
            attribute.name.clear();
            attribute.name.extend_from_slice(name);
            attribute.value.clear();
            attribute.place = None;
            attribute.raw = None;
            self.attributes.push(attribute);
        }
    }

    fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let attribute = self.attributes.iter().find(|attribute| attribute.name == name)?;
        Some(attribute.value.as_slice())
    }

    /// True for a script that holds JSON-LD.
    pub(crate) fn holds_json_ld(&self) -> bool {
        let kind = self.get(b"type").and_then(|kind| kind.split(|byte| *byte == b';').next()).unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/ld+json")
    }

    /// The tag as the tree sees it.
    pub(crate) fn opened(&self) -> Opened<'_> {
        let encoding = self.get(b"encoding").unwrap_or_default();
        let known = [&b"text/html"[..], b"application/xhtml+xml"];
        Opened {
            name: &self.name,
            closed: self.self_closing,
            styled: [&b"color"[..], b"face", b"size"].iter().any(|name| self.get(name).is_some()),
            holds_html: known.iter().any(|known| encoding.eq_ignore_ascii_case(known)),
        }
    }
}

/// The places of the URLs in an attribute.
pub(crate) fn urls(tag: &Tag, in_svg: bool, name: &[u8], value: &[u8]) -> Vec<(usize, usize)> {
    let element = std::str::from_utf8(&tag.name).unwrap_or_default();
    let whole = || Vec::from_iter(strip(value, 0, value.len()));
    match std::str::from_utf8(name).unwrap_or_default() {
        "xlink:href" => whole(),
        "href" if in_svg || matches!(element, "a" | "area" | "base" | "link") => whole(),
        "src" => match element {
            "audio" | "embed" | "frame" | "iframe" | "image" | "img" | "input" | "script" | "source" | "track"
            | "video" => whole(),
            _ => Vec::new(),
        },
        "srcset" if matches!(element, "img" | "image" | "source") => candidates(value),
        "imagesrcset" if element == "link" => candidates(value),
        "action" if element == "form" => whole(),
        "formaction" if matches!(element, "button" | "input") => whole(),
        "poster" if element == "video" => whole(),
        "data" if element == "object" => whole(),
        "cite" if matches!(element, "blockquote" | "del" | "ins" | "q") => whole(),
        "ping" if matches!(element, "a" | "area") => split(value),
        "profile" if element == "head" => split(value),
        "background" => match element {
            "body" | "table" | "tbody" | "td" | "tfoot" | "th" | "thead" | "tr" => whole(),
            _ => Vec::new(),
        },
        "longdesc" if matches!(element, "frame" | "iframe" | "img") => whole(),
        "lowsrc" | "dynsrc" if element == "img" => whole(),
        "codebase" if matches!(element, "applet" | "object") => whole(),
        "manifest" if element == "html" => whole(),
        "content" if element == "meta" => meta(tag, value),
        _ => Vec::new(),
    }
}

/// The places of the URLs in an attribute of any element: components have names of their own.
pub(super) fn urls_of_components(tag: &Tag, in_svg: bool, name: &[u8], value: &[u8]) -> Vec<(usize, usize)> {
    match name {
        b"href" | b"src" => Vec::from_iter(strip(value, 0, value.len())),
        _ => urls(tag, in_svg, name, value),
    }
}

fn meta(tag: &Tag, value: &[u8]) -> Vec<(usize, usize)> {
    if tag.get(b"http-equiv").is_some_and(|kind| kind.eq_ignore_ascii_case(b"refresh")) {
        return refresh(value);
    }
    let is_url = |name: &[u8]| {
        let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
        let Some(("og" | "twitter", rest)) = name.split_once(':') else { return false };
        if let Some(system) = rest.strip_prefix("app:url:") {
            return !system.contains(':');
        }
        match rest.rsplit(':').next().unwrap_or_default() {
            "image" | "video" | "audio" | "image0" | "image1" | "image2" | "image3" => true,
            last => matches!(last, "url" | "secure_url" | "src" | "player" | "stream" | "iframe" | "see_also"),
        }
    };
    let named = [&b"property"[..], b"name"].iter().filter_map(|attribute| tag.get(attribute)).any(is_url);
    if named { Vec::from_iter(strip(value, 0, value.len())) } else { Vec::new() }
}

fn space(byte: u8) -> bool {
    b"\t\n\x0c\r ".contains(&byte)
}

fn split(value: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for end in (0..=value.len()).filter(|at| value.get(*at).is_none_or(|byte| space(*byte))) {
        found.extend(strip(value, start, end));
        start = end + 1;
    }
    found
}

/// Image candidates: a URL ends at white space, or at commas before it; descriptors end at a comma outside parentheses.
fn candidates(value: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < value.len() {
        if space(value[at]) || value[at] == b',' {
            at += 1;
            continue;
        }
        let start = at;
        while at < value.len() && !space(value[at]) {
            at += 1;
        }
        let mut end = at;
        while value[end - 1] == b',' {
            end -= 1;
        }
        found.extend(strip(value, start, end));
        if end < at {
            continue;
        }
        let mut nested = false;
        while at < value.len() && (nested || value[at] != b',') {
            nested = if nested { value[at] != b')' } else { value[at] == b'(' };
            at += 1;
        }
    }
    found
}

/// `seconds ; url = 'address'`, where most parts may be missing.
fn refresh(value: &[u8]) -> Vec<(usize, usize)> {
    let skip = |mut at: usize| {
        while value.get(at).is_some_and(|byte| space(*byte)) {
            at += 1;
        }
        at
    };
    let time = skip(0);
    let mut at = time;
    while value.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
        at += 1;
    }
    let separated = value.get(at).is_some_and(|byte| space(*byte) || *byte == b';' || *byte == b',');
    if at == time || !separated {
        return Vec::new();
    }
    at = skip(at);
    if matches!(value.get(at), Some(b';' | b',')) {
        at = skip(at + 1);
    }
    let word = value.get(at..at + 3).is_some_and(|word| word.eq_ignore_ascii_case(b"url"));
    let equals = skip(at + 3);
    let mut quoted = !matches!(value.get(at), Some(b'u' | b'U'));
    if word && value.get(equals) == Some(&b'=') {
        at = skip(equals + 1);
        quoted = true;
    }
    let mut end = value.len();
    if let (true, Some(quote @ (b'"' | b'\''))) = (quoted, value.get(at)) {
        at += 1;
        end = value[at..].iter().position(|byte| byte == quote).map_or(end, |length| at + length);
    }
    Vec::from_iter(strip(value, at.min(end), end))
}
