//! Counts the links of a page and finds the moving ones, with a fast tokenizer.
//!
//! It handles only ordinary pages, and gives the same result as [`super::html`], which property tests check. It leaves every
//! other page to that reader.

use std::{ops::Range, sync::LazyLock};

use memchr::{memchr, memmem};

use super::origin::Moves;
use format::{
    css,
    escape::Escape,
    foreign::{self, Foreign, Kind, Start},
    pieces::pieces,
    scan::Scan,
    table::{self, Form},
    value::{Decoded, Value},
};

/// The links of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    /// The number of links.
    pub(super) links: u64,
    /// The values with moving links, in the order of the file.
    pub(super) moving: Vec<Value>,
}

/// Takes the census of an HTML page; none if the exact reader is needed.
pub(super) fn take(bytes: &[u8], json_ld: bool, moves: &Moves) -> Option<Census> {
    let mut reader = Reader::new(bytes, json_ld, moves);
    reader.run()?;
    let mut census = reader.census;
    census.moving.sort_by_key(|value| value.range.start);
    Some(census)
}

/// The number of slots for remembered names of elements.
const SLOTS: usize = 256;

/// Names of up to eight bytes as numbers; longer ones by their first eight, to be compared once more.
const fn key(name: &[u8]) -> u64 {
    let mut key = 0;
    let mut at = 0;
    while at < name.len() && at < 8 {
        key = key << 8 | name[at].to_ascii_lowercase() as u64;
        at += 1;
    }
    key
}

/// Facts about an element, by its name.
struct Known {
    key: u64,
    name: &'static str,
    /// Its attributes that hold URLs.
    carried: Vec<(&'static str, Form)>,
    /// True if it may change the parsing of the rest.
    steers: bool,
    is_meta: bool,
}

/// Elements by a hash of their names, with open addressing.
static KNOWN: LazyLock<Vec<Option<Known>>> = LazyLock::new(|| {
    let mut places: Vec<Option<Known>> = (0..PLACES).map(|_| None).collect();
    let mut carriers = table::elements();
    for name in STEERING.iter().chain([&"meta"]) {
        carriers.entry(name).or_default();
    }
    for (name, carried) in carriers {
        let key = key(name.as_bytes());
        let mut place = place(key);
        while places[place].is_some() {
            place = (place + 1) % PLACES;
        }
        let steers = STEERING.contains(&name);
        places[place] = Some(Known { key, name, carried, steers, is_meta: name == "meta" });
    }
    places
});

const STEERING: &[&str] = &[
    "col",
    "colgroup",
    "frameset",
    "iframe",
    "math",
    "noembed",
    "noframes",
    "noscript",
    "plaintext",
    "script",
    "select",
    "style",
    "svg",
    "table",
    "template",
    "textarea",
    "title",
    "xmp",
];

/// Many more than there are elements, so that one look finds nearly every name.
const PLACES: usize = 1 << 10;

fn place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}

fn known(name: &[u8], key: u64) -> Option<&'static Known> {
    let mut place = place(key);
    while let Some(known) = &KNOWN[place] {
        let is_alike = known.key == key && known.name.len() == name.len();
        if is_alike && (name.len() <= 8 || known.name.as_bytes().eq_ignore_ascii_case(name)) {
            return Some(known);
        }
        place = (place + 1) % PLACES;
    }
    None
}

struct Attribute {
    name: Range<usize>,
    value: Option<Range<usize>>,
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// True if scripts may hold links.
    json_ld: bool,
    /// True in a `<noscript>`, which is read as without scripts.
    in_noscript: bool,
    at: usize,
    moves: &'a Moves,
    census: Census,
    foreign: Foreign,
    /// True if the page had foreign content.
    was_engaged: bool,
    /// True if it had at the last start tag.
    began_engaged: bool,
    /// The last name seen of each slot, so that `foreign` learns it once.
    began: [u64; SLOTS],
    /// The relevant attributes of the current tag.
    attributes: Vec<Attribute>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], json_ld: bool, moves: &'a Moves) -> Self {
        Reader {
            bytes,
            json_ld,
            in_noscript: false,
            at: 0,
            moves,
            census: Census::default(),
            foreign: Foreign::default(),
            was_engaged: false,
            began_engaged: false,
            began: [0; SLOTS],
            attributes: Vec::new(),
        }
    }

    fn run(&mut self) -> Option<()> {
        while let Some(found) = memchr(b'<', &self.bytes[self.at..]) {
            self.at += found + 1;
            match self.bytes.get(self.at) {
                Some(byte) if byte.is_ascii_alphabetic() => self.start_tag()?,
                Some(b'/') => self.end_tag()?,
                Some(b'!') => self.declaration()?,
                Some(b'?') => self.skip_past(b">")?,
                Some(_) | None => {}
            }
        }
        // Without scripts, the end of a `<noscript>` does not close the elements open in it.
        (!self.in_noscript || !self.foreign.is_engaged()).then_some(())
    }

    /// Counts the links in a `<noscript>`.
    fn island(&mut self, range: Range<usize>) -> Option<()> {
        if memchr(b'<', &self.bytes[range.clone()]).is_some() {
            let mut island = Reader::new(&self.bytes[..range.end], self.json_ld, self.moves);
            (island.at, island.in_noscript) = (range.start, true);
            island.run()?;
            self.census.links += island.census.links;
            self.census.moving.append(&mut island.census.moving);
        }
        Some(())
    }

    fn start_tag(&mut self) -> Option<()> {
        let (name, key) = self.name();
        let known = known(&self.bytes[name.clone()], key);
        let (is_meta, steers) = known.map_or((false, false), |known| (known.is_meta, known.steers));
        let carried = known.map_or(&[][..], |known| &known.carried);
        let engaged = self.foreign.is_engaged();
        self.attributes.clear();
        let keeps_all = engaged || steers || is_meta || !carried.is_empty();
        let Some(is_self_closing) = self.read_attributes(keeps_all) else { return self.ended() };
        let mut kind = Kind::Html;
        if steers || engaged {
            kind = self.enter(name.clone(), is_self_closing)?;
        } else {
            self.remember(&name, key);
        }
        self.began_engaged = self.foreign.is_engaged();
        if is_meta {
            self.meta();
        }
        if !self.attributes.is_empty() {
            self.count_attributes(carried, kind == Kind::Svg)?;
        }
        if steers && kind == Kind::Html { self.skip_text(name) } else { Some(()) }
    }

    /// The kind of the element in a browser; none if the exact reader is needed.
    fn enter(&mut self, name: Range<usize>, is_self_closing: bool) -> Option<Kind> {
        let name = std::str::from_utf8(&self.bytes[name]).ok()?.to_ascii_lowercase();
        if matches!(name.as_str(), "font" | "annotation-xml" | "math" | "plaintext" | "template" | "frameset") {
            return None;
        }
        if is_self_closing && name == "svg" {
            return None;
        }
        let tag = Start { name: &name, is_self_closing, has_font_style: false, has_html_encoding: false };
        let kind = self.foreign.start(tag);
        self.was_engaged |= self.foreign.is_engaged();
        (!self.foreign.is_unclear && !self.foreign.was_left).then_some(kind)
    }

    fn remember(&mut self, name: &Range<usize>, key: u64) {
        let key = key ^ (name.len() as u64) << 56;
        let slot = place(key) % SLOTS;
        // The number does not identify a longer name.
        if self.began[slot] != key || name.len() > 8 {
            self.began[slot] = key;
            let name = String::from_utf8_lossy(&self.bytes[name.clone()]).to_ascii_lowercase();
            self.foreign.began(&name);
        }
    }

    /// The name that begins here, and its number.
    fn name(&mut self) -> (Range<usize>, u64) {
        let start = self.at;
        let mut key = 0;
        for (n, byte) in self.bytes[start..].iter().enumerate() {
            if matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'/' | b'>') {
                self.at += n;
                return (start..self.at, key);
            }
            if n < 8 {
                key = key << 8 | u64::from(byte.to_ascii_lowercase());
            }
        }
        self.at = self.bytes.len();
        (start..self.at, key)
    }

    /// Reads to the end of a tag; true if it ends with `/>`, none if the page ends before it.
    #[inline]
    fn read_attributes(&mut self, keeps_all: bool) -> Option<bool> {
        loop {
            let mut after_slash = false;
            loop {
                match self.bytes.get(self.at)? {
                    b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' => after_slash = false,
                    b'/' => after_slash = true,
                    b'>' => {
                        self.at += 1;
                        return Some(after_slash);
                    }
                    _ => break,
                }
                self.at += 1;
            }
            let name = self.attribute_name();
            let value = self.attribute_value()?;
            if keeps_all || is_global(&self.bytes[name.clone()]) {
                self.attributes.push(Attribute { name, value });
            }
        }
    }

    fn attribute_name(&mut self) -> Range<usize> {
        let start = self.at;
        // A name may begin with `=`.
        let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'/' | b'>' | b'=');
        let rest = &self.bytes[start + 1..];
        self.at = start + 1 + rest.iter().position(ends).unwrap_or(rest.len());
        start..self.at
    }

    /// The bytes between the quotes, if there is a value; the outer none if the page ends inside it.
    fn attribute_value(&mut self) -> Option<Option<Range<usize>>> {
        let name_end = self.at;
        self.skip_space();
        if *self.bytes.get(self.at)? != b'=' {
            self.at = name_end;
            return Some(None);
        }
        self.at += 1;
        self.skip_space();
        let start = self.at + 1;
        match *self.bytes.get(self.at)? {
            quote @ (b'"' | b'\'') => {
                let end = start + memchr(quote, &self.bytes[start..])?;
                self.at = end + 1;
                Some(Some(start..end))
            }
            b'>' => Some(None),
            _ => {
                let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'>');
                let start = start - 1;
                let end = start + self.bytes[start..].iter().position(ends)?;
                self.at = end;
                Some(Some(start..end))
            }
        }
    }

    fn skip_space(&mut self) {
        let is_space = |byte: &&u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ');
        self.at += self.bytes[self.at..].iter().take_while(is_space).count();
    }

    fn count_attributes(&mut self, carried: &[(&str, Form)], in_svg: bool) -> Option<()> {
        // Of several attributes of one name only the first counts.
        let mut seen = 0_u32;
        for at in 0..self.attributes.len() {
            let name = &self.bytes[self.attributes[at].name.clone()];
            let known = carried.iter().position(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
            let (bit, form) = match known {
                Some(known) => (known + 3, carried[known].1),
                None if name.eq_ignore_ascii_case(b"xlink:href") => (0, Form::Url),
                None if in_svg && name.eq_ignore_ascii_case(b"href") => (1, Form::Url),
                None if name.eq_ignore_ascii_case(b"style") => (2, Form::Url),
                None => continue,
            };
            let is_first = seen & 1 << bit == 0;
            seen |= 1 << bit;
            match self.attributes[at].value.clone() {
                Some(value) if is_first && bit == 2 => self.style(value, Escape::Html)?,
                Some(value) if is_first => self.count_value(value, form),
                Some(_) | None => {}
            }
        }
        Some(())
    }

    fn meta(&mut self) {
        let first = |wanted: &str| {
            let mut named = self.attributes.iter();
            let attribute = named.find(|one| self.bytes[one.name.clone()].eq_ignore_ascii_case(wanted.as_bytes()))?;
            Some(attribute.value.clone().unwrap_or(0..0))
        };
        let text = |wanted: &str| {
            first(wanted).map(|range| Decoded::new(&self.bytes[range], &[Escape::Html]).text.into_owned())
        };
        let Some(content) = first("content") else { return };
        let (http_equiv, property, name) = (text("http-equiv"), text("property"), text("name"));
        if let Some(form) = table::meta_form(http_equiv.as_deref(), property.as_deref(), name.as_deref()) {
            self.count_value(content, form);
        }
    }

    /// Counts the URLs of CSS.
    fn style(&mut self, range: Range<usize>, escape: Escape) -> Option<()> {
        let css = &self.bytes[range.clone()];
        let is_escaped = escape == Escape::Html && memchr(b'&', css).is_some();
        if !is_escaped && !css::may_hold(css) {
            return Some(());
        }
        let found = Scan::of_part(self.bytes, (range, escape), |css| css::scan(css, &|| Ok(()))).ok()?;
        for value in found.values {
            self.value(value);
        }
        found.skipped.is_none().then_some(())
    }

    /// Counts the URLs of an attribute's value.
    fn count_value(&mut self, range: Range<usize>, form: Form) {
        let raw = &self.bytes[range.clone()];
        let begins_plainly = raw.first().is_some_and(|first| *first > b' ' && *first != b'&');
        if form == Form::Url && begins_plainly && stays(raw, self.moves) {
            self.census.links += 1;
        } else {
            self.value(Value::new(range, Escape::Html, form));
        }
    }

    /// Counts the URLs of a value, and keeps it if one of them moves.
    fn value(&mut self, value: Value) {
        let decoded = Decoded::new(&self.bytes[value.range.clone()], &value.escapes);
        let pieces = pieces(value.form, &decoded.text);
        self.census.links += pieces.len() as u64;
        if pieces.into_iter().any(|piece| self.moves.leaves(&decoded.text[piece])) {
            self.census.moving.push(value);
        }
    }

    /// Skips the text of an element without markup.
    fn skip_text(&mut self, name: Range<usize>) -> Option<()> {
        let name = self.bytes[name].to_ascii_lowercase();
        let rest = &self.bytes[self.at..];
        let length = match name.as_slice() {
            b"script" => end_of_script(rest),
            b"noscript" if self.in_noscript => return Some(()),
            b"iframe" | b"noembed" | b"noframes" | b"noscript" | b"style" | b"textarea" | b"title" | b"xmp" => {
                foreign::end_of_text(rest, &name)
            }
            _ => return Some(()),
        };
        let is_open = length == rest.len();
        let is_script = name == b"script";
        let may_go_on = is_open || is_script && memmem::find(&rest[..length], b"<!--").is_some();
        if self.foreign.is_engaged() || (self.in_noscript && may_go_on) || (is_script && self.json_ld) {
            return None;
        }
        let text = self.at..self.at + length;
        self.at += length;
        match name.as_slice() {
            b"noscript" => self.island(text),
            b"style" => self.style(text, Escape::Plain),
            _ => Some(()),
        }
    }

    fn end_tag(&mut self) -> Option<()> {
        self.at += 1;
        match self.bytes.get(self.at) {
            Some(byte) if byte.is_ascii_alphabetic() => {}
            Some(b'>') => return Some(()),
            Some(_) => return self.skip_past(b">"),
            None => return self.ended(),
        }
        let is_engaged = self.began_engaged;
        if !is_engaged {
            // The name of the closed element matters only in foreign content.
            let name = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            if self.bytes.get(self.at + name) == Some(&b'>') {
                self.at += name + 1;
                return Some(());
            }
        }
        let (name, _) = self.name();
        self.attributes.clear();
        if self.bytes.get(self.at) == Some(&b'>') {
            self.at += 1;
        } else if self.read_attributes(true).is_none() {
            return self.ended();
        }
        if is_engaged {
            let name = std::str::from_utf8(&self.bytes[name]).ok()?.to_ascii_lowercase();
            let is_plain = self.foreign.around() == Kind::Html || self.foreign.is_innermost(&name);
            self.foreign.end(&name);
            // Text like attributes could be the next tag.
            return (is_plain && !self.foreign.is_unclear && self.attributes.is_empty()).then_some(());
        }
        (!self.in_noscript || self.attributes.is_empty()).then_some(())
    }

    fn declaration(&mut self) -> Option<()> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"!-->") || rest.starts_with(b"!--->") {
            return self.skip_past(b">");
        }
        if rest.starts_with(b"!--") {
            let closes = |at: &usize| matches!(rest[at + 2..], [b'>', ..] | [b'!', b'>', ..]);
            // Dashes may overlap: `--->` closes too.
            let dashes = memchr::memchr_iter(b'-', &rest[3..]).map(|at| at + 3);
            let mut closing = dashes.filter(|at| rest.get(at + 1) == Some(&b'-')).filter(closes);
            let Some(end) = closing.next() else { return self.ended() };
            self.at += end + 2;
            return self.skip_past(b">");
        }
        // It is text in SVG, and a comment elsewhere.
        if self.foreign.is_engaged() && rest.starts_with(b"![") {
            return None;
        }
        self.skip_past(b">")
    }

    fn skip_past(&mut self, end: &[u8]) -> Option<()> {
        match memmem::find(&self.bytes[self.at..], end) {
            Some(found) => {
                self.at += found + end.len();
                Some(())
            }
            None => self.ended(),
        }
    }

    /// The page ends inside a construct; in foreign content that needs the exact reader.
    fn ended(&mut self) -> Option<()> {
        self.at = self.bytes.len();
        (!self.was_engaged && !self.in_noscript).then_some(())
    }
}

/// True for attributes that hold URLs on any element.
fn is_global(name: &[u8]) -> bool {
    match name.len() {
        5 => name.eq_ignore_ascii_case(b"style"),
        10 => name.eq_ignore_ascii_case(b"xlink:href"),
        _ => false,
    }
}

/// True if a value clearly names no old host. It must begin neither with white space nor with a character reference.
fn stays(raw: &[u8], moves: &Moves) -> bool {
    let odd = |bytes: &[u8]| bytes.iter().any(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'&'));
    let after_scheme = match raw {
        [b'h' | b'H', rest @ ..] => match rest {
            [b't' | b'T', b't' | b'T', b'p' | b'P', b':', ..] => &raw[5..],
            [b't' | b'T', b't' | b'T', b'p' | b'P', b's' | b'S', b':', ..] => &raw[6..],
            _ => return !odd(raw),
        },
        [b'/', b'/', ..] => raw,
        [b'/' | b'\\', second, ..] => return !matches!(second, b'/' | b'\\' | b'\t' | b'\n' | b'\r' | b'&'),
        _ => return true,
    };
    let [b'/', b'/', rest @ ..] = after_scheme else { return false };
    let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
    let authority = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let colon = memchr(b':', authority).unwrap_or(authority.len());
    let (host, port) = authority.split_at(colon);
    let is_plain =
        !host.is_empty() && host.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    let has_user = memchr(b'@', port).is_some();
    is_plain && !has_user && !moves.may_leave(host)
}

/// The end of a script's text: `<!--` and `<script` in it may defer the end.
fn end_of_script(bytes: &[u8]) -> usize {
    let end = foreign::end_of_text(bytes, b"script");
    let Some(comment) = memmem::find(&bytes[..end], b"<!--") else { return end };
    let delimited = |at: usize, name: &[u8]| {
        let rest = &bytes[at..];
        let ends = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ' | b'/' | b'>');
        rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) && ends(&rest[name.len()])
    };
    let (mut is_commented, mut is_nested) = (true, false);
    // The two dashes that begin a comment may end it as well.
    let mut at = comment + 2;
    while let Some(found) = memchr::memchr2(b'<', b'-', &bytes[at..]) {
        at += found;
        if bytes[at] == b'-' {
            if bytes[at..].starts_with(b"-->") {
                (is_commented, is_nested) = (false, false);
            }
        } else if !is_commented && bytes[at..].starts_with(b"<!--") {
            is_commented = true;
            at += 1;
        } else if delimited(at, b"</script") {
            if !is_nested {
                return at;
            }
            is_nested = false;
        } else if is_commented && delimited(at, b"<script") {
            is_nested = true;
        }
        at += 1;
    }
    bytes.len()
}
