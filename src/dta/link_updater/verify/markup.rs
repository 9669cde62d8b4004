//! Reads a page with a tokenizer of its own: the URLs in its attributes, and everything else to compare.

use html5gum::{
    Emitter, ForwardingEmitter, Span, State, Tokenizer,
    emitters::callback::{Callback, CallbackEmitter, CallbackEvent},
};

use super::aim::Link;

/// What a page holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Every URL in an attribute, relative ones too, in the order of the page.
    pub(super) links: Vec<Link>,
    /// Everything else: tags, text, comments, other attributes, what stands around the URLs.
    pub(super) rest: Vec<u8>,
}

impl Page {
    /// Reads a page.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut page = Page::default();
        read(bytes, false, &mut page);
        page
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

fn read(bytes: &[u8], in_noscript: bool, page: &mut Page) {
    let reader = Reader { page, in_noscript, nodes: Vec::new(), tag: None, noscript: false };
    let emitter = Switch(CallbackEmitter::new(reader));
    // Reading from memory can't fail, and the emitter gives no tokens.
    for _ in Tokenizer::new_with_emitter(bytes, emitter) {}
}

/// Namespaces that matter to a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Html,
    Svg,
    Math,
}

#[derive(Debug, Default)]
struct Tag {
    name: Vec<u8>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// True while the last attribute is one whose name was there before.
    repeated: bool,
    self_closing: bool,
}

impl Tag {
    fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

struct Reader<'p> {
    page: &'p mut Page,
    in_noscript: bool,
    /// Foreign elements and the HTML islands inside them; empty in plain HTML.
    nodes: Vec<Space>,
    tag: Option<Tag>,
    /// True while the text of a `<noscript>` is read.
    noscript: bool,
}

impl Callback<std::convert::Infallible, ()> for Reader<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<std::convert::Infallible> {
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag = Some(Tag { name: name.to_vec(), ..Tag::default() }),
            CallbackEvent::AttributeName { name } => {
                if let Some(tag) = &mut self.tag {
                    tag.repeated = tag.get(name).is_some();
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
                self.page.note(b'e', name);
                self.end(name);
            }
            CallbackEvent::String { value } if std::mem::take(&mut self.noscript) => read(value, true, self.page),
            CallbackEvent::String { value } => self.page.note(b't', value),
            CallbackEvent::Comment { value } => self.page.note(b'c', value),
            CallbackEvent::Doctype { name, .. } => self.page.note(b'y', name),
            CallbackEvent::Error(_) => {}
        }
        None
    }
}

impl Reader<'_> {
    fn space(&self) -> Space {
        self.nodes.last().copied().unwrap_or(Space::Html)
    }

    /// A start tag is complete: follows the namespaces, takes its URLs, and says how to go on reading.
    fn start(&mut self) -> Option<State> {
        let tag = self.tag.take()?;
        let state = self.enter(&tag);
        self.page.note(b's', &tag.name);
        let in_svg = match tag.name.as_slice() {
            b"svg" => true,
            b"math" => false,
            _ => self.space() == Space::Svg,
        };
        for (name, value) in &tag.attributes {
            self.page.take(value, &urls(&tag, in_svg, name, value));
        }
        state
    }

    fn enter(&mut self, tag: &Tag) -> Option<State> {
        let name = tag.name.as_slice();
        let entered = match (self.space(), name) {
            (_, b"svg") => Some(Space::Svg),
            (_, b"math") => Some(Space::Math),
            (Space::Html, _) => return self.raw_text(name),
            (Space::Svg, b"desc" | b"title" | b"foreignobject") => Some(Space::Html),
            (Space::Math, b"mi" | b"mo" | b"mn" | b"ms" | b"mtext") => Some(Space::Html),
            (Space::Math, b"annotation-xml") if holds_html(tag) => Some(Space::Html),
            (Space::Svg | Space::Math, _) => {
                if breaks_out(tag) {
                    self.nodes.pop();
                }
                None
            }
        };
        self.nodes.extend(entered.filter(|_| !tag.self_closing));
        None
    }

    fn raw_text(&mut self, name: &[u8]) -> Option<State> {
        match name {
            b"title" | b"textarea" => Some(State::RcData),
            b"script" => Some(State::ScriptData),
            b"plaintext" => Some(State::PlainText),
            b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
            b"noscript" if self.in_noscript => {
                self.nodes.clear();
                None
            }
            b"noscript" => {
                self.noscript = true;
                Some(State::RawText)
            }
            _ => None,
        }
    }

    fn end(&mut self, name: &[u8]) {
        self.noscript = false;
        let outer = self.nodes.len().checked_sub(2).map_or(Space::Html, |at| self.nodes[at]);
        let leaves = match (self.space(), name) {
            (Space::Svg, b"svg" | b"p" | b"br") | (Space::Math, b"math" | b"p" | b"br") => true,
            (Space::Html, b"desc" | b"title" | b"foreignobject") => outer == Space::Svg,
            (Space::Html, b"mi" | b"mo" | b"mn" | b"ms" | b"mtext" | b"annotation-xml") => outer == Space::Math,
            (Space::Html | Space::Svg | Space::Math, _) => false,
        };
        if leaves {
            self.nodes.pop();
        }
    }
}

fn holds_html(tag: &Tag) -> bool {
    let encoding = tag.get(b"encoding").unwrap_or_default();
    [&b"text/html"[..], b"application/xhtml+xml"].iter().any(|known| encoding.eq_ignore_ascii_case(known))
}

/// Tags that end foreign content.
fn breaks_out(tag: &Tag) -> bool {
    const NAMES: &str = " b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li \
        listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var ";
    let name = String::from_utf8_lossy(&tag.name);
    let font = || name == "font" && [&b"color"[..], b"face", b"size"].iter().any(|known| tag.get(known).is_some());
    NAMES.contains(&format!(" {name} ")) || font()
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
        let media = |rest: &str| matches!(rest, "image" | "video" | "audio");
        match name.split_once(':') {
            Some(("og", "url" | "see_also")) => true,
            Some(("og", rest)) => {
                media(rest.trim_end_matches(":secure_url").trim_end_matches(":url"))
                    && !rest.ends_with(":url:secure_url")
            }
            Some(("twitter", rest)) => matches!(
                rest,
                "url" | "image" | "image:src" | "image0" | "image1" | "image2" | "image3" | "player" | "player:stream"
            ),
            Some(_) | None => false,
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
struct Switch<'p>(CallbackEmitter<Reader<'p>>);

impl ForwardingEmitter for Switch<'_> {
    type Token = std::convert::Infallible;

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
        self.0.callback_mut().space() != Space::Html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let page = Page::parse(html.as_bytes());
        let found: Vec<String> = page.links.iter().map(Link::shown).collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn urls_in_attributes() {
        check("<A\nHREF = 'x&amp;' Href=y><img src=a srcset=\"b 1x, c\"alt=c>", &["x&", "a", "b", "c"]);
        check("<p href=x xlink:href=y data-src=z><base href=''>", &["y"]);
        check(
            "<meta content='0;url=x' http-equiv=REFRESH><meta name=og:image content=y><meta name=x content=z>",
            &["x", "y"],
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
        let rest = |html: &str| Page::parse(html.as_bytes()).rest;
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
