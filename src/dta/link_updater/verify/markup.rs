//! Reads a page with a tokenizer of its own: the URLs in its attributes, and everything else to compare.

use std::collections::BTreeSet;

use html5gum::{
    Emitter, ForwardingEmitter, Span, State, Tokenizer,
    emitters::callback::{Callback, CallbackEmitter, CallbackEvent},
};

use super::aim::Link;
use super::nest::{Nest, Opened, Space};
use crate::error::Error;

/// Events between two questions whether to go on.
const EVENTS: u32 = 1 << 12;

/// What a tokenizer says about a tag, comment or script that does not end.
const UNFINISHED: &[html5gum::Error] = &[
    html5gum::Error::EofInCdata,
    html5gum::Error::EofInComment,
    html5gum::Error::EofInScriptHtmlCommentLikeText,
    html5gum::Error::EofInTag,
];

/// Says whether to go on.
pub(super) type Pulse<'a> = &'a dyn Fn() -> Result<(), Error>;

/// What a page holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Every URL in an attribute, relative ones too, in the order of the page.
    pub(super) links: Vec<Link>,
    /// Everything else: tags, text, comments, other attributes, what stands around the URLs.
    pub(super) rest: Vec<u8>,
    /// True if a browser might see other tags; such a page is to be left alone.
    pub(super) doubtful: bool,
    /// True while something is open that would go on after the part that is read.
    unfinished: bool,
}

impl Page {
    /// Reads a page; an error if `pulse` gives one.
    pub(super) fn parse(bytes: &[u8], pulse: Pulse<'_>) -> Result<Self, Error> {
        let mut page = Page::default();
        read(bytes, false, pulse, &mut page)?;
        Ok(page)
    }

    fn note(&mut self, kind: u8, bytes: &[u8]) {
        self.rest.push(kind);
        self.rest.extend((bytes.len() as u64).to_le_bytes());
        self.rest.extend_from_slice(bytes);
    }

    /// Takes the URLs out of a value and keeps the rest of it.
    fn take(&mut self, value: &[u8], urls: &[(usize, usize)]) {
        let mut copied = 0;
        for &(start, end) in urls {
            self.note(b'v', &value[copied..start]);
            self.links.push(Link(value[start..end].to_vec()));
            copied = end;
        }
        self.note(b'v', &value[copied..]);
    }
}

fn read(bytes: &[u8], in_noscript: bool, pulse: Pulse<'_>, page: &mut Page) -> Result<(), Error> {
    page.unfinished = false;
    let reader =
        Reader { page: &mut *page, in_noscript, pulse, events: 0, nest: Nest::default(), tag: None, noscript: false };
    let mut tokens = Tokenizer::new_with_emitter(bytes, Switch(CallbackEmitter::new(reader)));
    // Reading from memory can't fail, and the only token is that somebody wants it to stop.
    match tokens.next() {
        Some(Ok(stop)) => return Err(stop),
        Some(Err(never)) => match never {},
        None => drop(tokens),
    }
    // Where no scripts run, the end of a noscript element does not end what is open in it.
    page.doubtful |= in_noscript && page.unfinished;
    Ok(())
}

#[derive(Debug, Default)]
struct Tag {
    name: Vec<u8>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    names: BTreeSet<Vec<u8>>,
    /// True while the last attribute is one whose name was there before.
    repeated: bool,
    self_closing: bool,
}

impl Tag {
    fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    fn opened(&self) -> Opened<'_> {
        let encoding = self.get(b"encoding").unwrap_or_default();
        let known = [&b"text/html"[..], b"application/xhtml+xml"];
        Opened {
            name: &self.name,
            closed: self.self_closing,
            styled: [&b"color"[..], b"face", b"size"].iter().any(|name| self.names.contains(*name)),
            holds_html: known.iter().any(|known| encoding.eq_ignore_ascii_case(known)),
        }
    }
}

struct Reader<'p> {
    page: &'p mut Page,
    in_noscript: bool,
    pulse: Pulse<'p>,
    /// How many there were, so that not each of them asks.
    events: u32,
    nest: Nest,
    tag: Option<Tag>,
    /// True while the text of a `<noscript>` is read.
    noscript: bool,
}

impl Callback<Error, ()> for Reader<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Error> {
        self.events = self.events.wrapping_add(1);
        if self.events.is_multiple_of(EVENTS)
            && let Err(stop) = (self.pulse)()
        {
            return Some(stop);
        }
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag = Some(Tag { name: name.to_vec(), ..Tag::default() }),
            CallbackEvent::AttributeName { name } => {
                if let Some(tag) = &mut self.tag {
                    tag.repeated = !tag.names.insert(name.to_vec());
                    if !tag.repeated {
                        tag.attributes.push((name.to_vec(), Vec::new()));
                    }
                }
                self.page.note(b'n', name);
            }
            CallbackEvent::AttributeValue { value } => match &mut self.tag {
                Some(tag) if !tag.repeated => {
                    if let Some((_, kept)) = tag.attributes.last_mut() {
                        kept.extend_from_slice(value);
                    }
                }
                Some(_) | None => self.page.note(b'd', value),
            },
            // The emitter around this one looks at the tag, then closes it.
            CallbackEvent::CloseStartTag { self_closing } => {
                if let Some(tag) = &mut self.tag {
                    tag.self_closing = self_closing;
                }
            }
            CallbackEvent::EndTag { name } => {
                self.tag = None;
                self.noscript = false;
                self.page.note(b'e', name);
                self.nest.end(name);
                self.page.doubtful |= self.nest.doubtful;
                self.page.unfinished = self.nest.in_select();
            }
            CallbackEvent::String { value } if std::mem::take(&mut self.noscript) => {
                return read(value, true, self.pulse, self.page).err();
            }
            CallbackEvent::String { value } => self.page.note(b't', value),
            CallbackEvent::Comment { value } => self.page.note(b'c', value),
            CallbackEvent::Doctype { name, .. } => self.page.note(b'y', name),
            CallbackEvent::Error(error) => self.page.unfinished |= UNFINISHED.contains(&error),
        }
        None
    }
}

impl Reader<'_> {
    /// A start tag is complete: follows the namespaces, takes its URLs, and says how to go on reading.
    fn start(&mut self) -> Option<State> {
        let tag = self.tag.take()?;
        let opened = tag.opened();
        let space = self.nest.start(opened);
        self.page.doubtful |= self.nest.doubtful;
        self.page.note(b's', &tag.name);
        // What hosts HTML has no links of its own.
        let in_svg = space == Space::Svg && !matches!(tag.name.as_slice(), b"desc" | b"title" | b"foreignobject");
        for (name, value) in &tag.attributes {
            self.page.take(value, &urls(&tag, in_svg, name, value));
        }
        let state = if space == Space::Html { self.raw_text(&tag.name) } else { None };
        self.page.unfinished = state.is_some() || self.nest.in_select();
        state
    }

    fn raw_text(&mut self, name: &[u8]) -> Option<State> {
        match name {
            b"title" | b"textarea" => Some(State::RcData),
            b"script" => Some(State::ScriptData),
            b"plaintext" => Some(State::PlainText),
            b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
            b"noscript" if !self.in_noscript => {
                self.noscript = true;
                Some(State::RawText)
            }
            _ => None,
        }
    }
}

/// Where the URLs of an attribute are.
fn urls(tag: &Tag, in_svg: bool, name: &[u8], value: &[u8]) -> Vec<(usize, usize)> {
    let element = std::str::from_utf8(&tag.name).unwrap_or_default();
    let whole = || strip(value, 0, value.len());
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
    if named { strip(value, 0, value.len()) } else { Vec::new() }
}

fn space(byte: u8) -> bool {
    b"\t\n\x0c\r ".contains(&byte)
}

/// The range without controls and spaces at its ends, or nothing.
fn strip(value: &[u8], mut start: usize, mut end: usize) -> Vec<(usize, usize)> {
    while start < end && value[start] <= b' ' {
        start += 1;
    }
    while start < end && value[end - 1] <= b' ' {
        end -= 1;
    }
    if start < end { vec![(start, end)] } else { Vec::new() }
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
    strip(value, at.min(end), end)
}

/// Tells the tokenizer what a tree would tell it.
struct Switch<'p>(CallbackEmitter<Reader<'p>, Error>);

impl ForwardingEmitter for Switch<'_> {
    type Token = Error;

    fn inner(&mut self) -> &mut impl Emitter<Token = Self::Token> {
        &mut self.0
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        // The inner emitter would guess by names alone; it is not asked to.
        let _guess: Option<State> = self.0.emit_current_tag();
        let next = self.0.callback_mut().start();
        if next.is_some() {
            self.0.init_string();
        }
        next
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.0.callback_mut().nest.space() != Space::Html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let page = Page::parse(html.as_bytes(), &|| Ok(())).unwrap();
        let found: Vec<String> = page.links.iter().map(Link::shown).collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn urls_in_attributes() {
        check("<A\nHREF = 'x&amp;' Href=y><img src=a srcset=\"b 1x, c\"alt=c>", &["x&", "a", "b", "c"]);
        check("<p href=x xlink:href=y data-src=z><base href=''>", &["y"]);
        check(
            "<meta content='0;url=x' http-equiv=REFRESH><meta name=og:image content=y><meta name=x content=z>\
             <meta name=twitter:app:url:ipad content=v><meta name=og:image:width content=w>",
            &["x", "y", "v"],
        );
        check("<a ping=' a b '><form action=c></form href=x><a href=z", &["a", "b", "c"]);
    }

    #[test]
    fn text_is_not_markup() {
        check(
            "<!-- <a href=x> --><script>'<a href=x>'</script><style><a href=x></style><title><a href=x></title>",
            &[],
        );
        check("<textarea><a href=x></textarea><iframe src=y><a href=x></iframe>", &["y"]);
        check("<svg><![CDATA[<a href=x>]]><script><a href=y></script></svg>", &["y"]);
    }

    #[test]
    fn svg_and_noscript() {
        check(
            "<svg/><script>'<a href=x>'</script><svg><use href=y /><title><a href=z></title></svg><use href=x>",
            &["y", "z"],
        );
        check("<noscript><a href=a><!-- <a href=x> --><noscript><a href=b></noscript><a href=c>", &["a", "b", "c"]);
        check("<template><a href=a></template><noscript><a href='</noscript><a href=b>", &["a", "b"]);
    }

    #[test]
    fn the_rest_is_everything_but_urls() {
        let rest = |html: &str| Page::parse(html.as_bytes(), &|| Ok(())).unwrap().rest;
        assert_eq!(rest("<a href='x' class=y>z</a>"), rest("<a href=\"w\" class=y>z</a>"));
        for other in [
            "<a href='x' class=z>z</a>",
            "<a href='x' class=y>y</a>",
            "<b href='x' class=y>z</b>",
            "<a href='x' class=y>z",
        ] {
            assert_ne!(rest("<a href='x' class=y>z</a>"), rest(other));
        }
        assert_ne!(rest("<img srcset='a 1x'>"), rest("<img srcset='a 2x'>"));
    }
}
