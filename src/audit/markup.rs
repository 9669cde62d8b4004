//! Reads a page with a separate tokenizer: the URLs in its attributes, and everything else for comparison.

use std::ops::Range;

use html5gum::{
    Emitter, ForwardingEmitter, Span, State, Tokenizer,
    emitters::callback::{Callback, CallbackEmitter, CallbackEvent},
};

use super::{
    attribute::{Attribute, Tag, urls, urls_of_components},
    css,
    foreign_content::{Nest, Space},
    json,
    page::{Page, Subject, is_literal},
};
use base::{error::Error, pulse::Pulse};

/// Events between two calls of the pulse.
const EVENTS: u32 = 1 << 12;

/// The tokenizer's errors about a tag, comment or script that does not end.
const UNFINISHED: &[html5gum::Error] = &[
    html5gum::Error::EofInCdata,
    html5gum::Error::EofInComment,
    html5gum::Error::EofInScriptHtmlCommentLikeText,
    html5gum::Error::EofInTag,
];

const MENDED: &str = "browsers may see other tags in it, so it was to be left alone";

/// Reads a page, or a part of one; an error if `pulse` gives one.
pub fn read(bytes: &[u8], pulse: Pulse<'_>, page: &mut Page) -> Result<(), Error> {
    read_part((bytes, Some(0)), false, pulse, page)
}

/// Reads a part that begins at a place, if that is known.
fn read_part(
    (bytes, begin): (&[u8], Option<usize>),
    in_noscript: bool,
    pulse: Pulse<'_>,
    page: &mut Page,
) -> Result<(), Error> {
    let mut unfinished = false;
    let reader = Reader {
        bytes,
        begin,
        page: &mut *page,
        in_noscript,
        pulse,
        events: 0,
        nest: Nest::default(),
        tag: Tag::default(),
        in_tag: false,
        text: Text::Plain,
        target: None,
        unfinished: &mut unfinished,
    };
    let mut tokens = Tokenizer::new_with_emitter(bytes, Switch(CallbackEmitter::new(reader)));
    // Reading from memory can't fail, and the only token is a request to stop.
    match tokens.next() {
        Some(Ok(stop)) => return Err(stop),
        Some(Err(never)) => match never {},
        None => drop(tokens),
    }
    // Without scripts, the end of a noscript element does not close the elements open in it.
    if in_noscript && unfinished {
        page.doubt(MENDED);
    }
    Ok(())
}

/// The source of an attribute's value, which begins there.
fn raw(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let rest = bytes.get(start..)?;
    let length = match bytes.get(start.checked_sub(1)?)? {
        quote @ (b'"' | b'\'') => memchr::memchr(*quote, rest)?,
        _ => rest.iter().position(|byte| b"\t\n\x0c\r >".contains(byte))?,
    };
    Some(start..start + length)
}

/// The kind of the next text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Plain,
    Noscript,
    Style,
    Data,
}

struct Reader<'p> {
    bytes: &'p [u8],
    /// The place of the bytes in the file, if it is known.
    begin: Option<usize>,
    page: &'p mut Page,
    in_noscript: bool,
    pulse: Pulse<'p>,
    /// The number of events, so that only some of them call the pulse.
    events: u32,
    nest: Nest,
    tag: Tag,
    in_tag: bool,
    text: Text,
    /// The destination of the link that began with the last tag.
    target: Option<Vec<u8>>,
    /// True while an open construct would continue after this part.
    unfinished: &'p mut bool,
}

impl Callback<Error, usize> for Reader<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, span: Span<usize>) -> Option<Error> {
        self.events = self.events.wrapping_add(1);
        if self.events.is_multiple_of(EVENTS)
            && let Err(stop) = (self.pulse)()
        {
            return Some(stop);
        }
        let target = self.target.take();
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag.begin(name);
                self.in_tag = true;
            }
            CallbackEvent::AttributeName { name } => {
                if self.in_tag {
                    self.tag.attribute(name);
                }
                self.page.note(b'n', name);
            }
            CallbackEvent::AttributeValue { value } => match self.tag.attributes.last_mut() {
                Some(attribute) if self.in_tag && !self.tag.repeated => {
                    let is_plain = self.bytes.get(span.start..span.end) == Some(value);
                    attribute.place = Some(span.start).filter(|_| is_plain && !self.in_noscript);
                    attribute.value.extend_from_slice(value);
                    attribute.raw = match self.page.subject {
                        Subject::Tree => raw(self.bytes, span.start),
                        Subject::Web => None,
                    };
                }
                Some(_) | None => self.page.note(b'd', value),
            },
            // The emitter around this one examines the tag, then closes it.
            CallbackEvent::CloseStartTag { self_closing } => self.tag.self_closing = self_closing,
            CallbackEvent::EndTag { name } => {
                self.in_tag = false;
                self.text = Text::Plain;
                self.page.note(b'e', name);
                self.nest.end(name);
                self.check_nest();
                *self.unfinished = self.nest.in_select();
            }
            CallbackEvent::String { value } => match std::mem::replace(&mut self.text, Text::Plain) {
                Text::Plain => self.plain_text(value, &span, target),
                Text::Noscript => {
                    let is_plain = self.bytes.get(span.start..span.end) == Some(value);
                    let begin = self.begin.filter(|_| is_plain).map(|begin| begin + span.start);
                    return read_part((value, begin), true, self.pulse, self.page).err();
                }
                Text::Style => self.sheet(value, span.start..span.end),
                // Data that is not JSON is text.
                Text::Data => drop(json::read(value, self.page)),
            },
            CallbackEvent::Comment { value } => self.page.note(b'c', value),
            CallbackEvent::Doctype { name, .. } => self.page.note(b'y', name),
            CallbackEvent::Error(error) => *self.unfinished |= UNFINISHED.contains(&error),
        }
        None
    }
}

impl Reader<'_> {
    /// Takes a complete start tag: follows the namespaces, takes its URLs, and returns the tokenizer's next state.
    fn start(&mut self) -> Option<State> {
        if !std::mem::take(&mut self.in_tag) {
            return None;
        }
        let tag = std::mem::take(&mut self.tag);
        let space = self.nest.start(tag.opened());
        self.check_nest();
        self.page.note(b's', &tag.name);
        // Elements that host HTML have no links of their own.
        let in_svg = space == Space::Svg && !matches!(tag.name.as_slice(), b"desc" | b"title" | b"foreignobject");
        for Attribute { name, value, place, raw } in &tag.attributes {
            if name == b"id" || name == b"name" && tag.name == b"a" {
                self.page.anchors.push(value.clone());
            }
            if name == b"style" {
                let urls = css::read(value, self.page);
                if let Some(raw) = raw {
                    self.page.located((self.bytes, raw.clone(), self.begin), value, &urls);
                }
                continue;
            }
            let urls = match self.page.subject {
                Subject::Web => urls(&tag, in_svg, name, value),
                Subject::Tree => urls_of_components(&tag, in_svg, name, value),
            };
            self.page.take(value, &urls);
            self.page.placed(*place, &urls);
            if let Some(raw) = raw {
                self.page.located((self.bytes, raw.clone(), self.begin), value, &urls);
            }
        }
        let href = tag.attributes.iter().find(|attribute| attribute.name == b"href");
        let is_link = self.page.link_text && tag.name == b"a" && !tag.self_closing;
        self.target = href.filter(|href| is_link && is_literal(&href.value)).map(|href| href.value.clone());
        let state = if space == Space::Html { self.raw_text(&tag) } else { None };
        *self.unfinished = state.is_some() || self.nest.in_select();
        self.tag = tag;
        state
    }

    /// Takes the URLs of a style sheet.
    fn sheet(&mut self, value: &[u8], place: Range<usize>) {
        let urls = css::read(value, self.page);
        if self.bytes.get(place.clone()) == Some(value) {
            self.page.located((self.bytes, place, self.begin), value, &urls);
        }
    }

    /// Takes a text that is the destination of its link as a link, and keeps any other.
    fn plain_text(&mut self, text: &[u8], span: &Span<usize>, target: Option<Vec<u8>>) {
        if target.is_none_or(|target| target != text) || !self.is_whole(text, span) {
            return self.page.note(b't', text);
        }
        self.page.link(text);
        let place = Some(span.start).filter(|_| !self.in_noscript);
        self.page.placed(place, &[(0, text.len())]);
    }

    /// True if a text stands as it is in the source, and the end tag of a link follows.
    fn is_whole(&self, text: &[u8], span: &Span<usize>) -> bool {
        let after = self.bytes.get(span.end..).unwrap_or_default();
        let closes = after.get(..3).is_some_and(|tag| tag.eq_ignore_ascii_case(b"</a"));
        let ends = after.get(3).is_some_and(|byte| b"\t\n\x0c\r />".contains(byte));
        self.bytes.get(span.start..span.end) == Some(text) && closes && ends
    }

    fn check_nest(&mut self) {
        if self.nest.doubtful {
            self.page.doubt(MENDED);
        }
    }

    fn raw_text(&mut self, tag: &Tag) -> Option<State> {
        match tag.name.as_slice() {
            b"title" | b"textarea" => Some(State::RcData),
            b"script" => {
                if self.page.json_ld && tag.holds_json_ld() {
                    self.text = Text::Data;
                }
                Some(State::ScriptData)
            }
            b"plaintext" => Some(State::PlainText),
            b"style" => {
                self.text = Text::Style;
                Some(State::RawText)
            }
            b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
            b"noscript" if !self.in_noscript => {
                self.text = Text::Noscript;
                Some(State::RawText)
            }
            _ => None,
        }
    }
}

/// Corrects the tokenizer by knowledge of the tree.
struct Switch<'p>(CallbackEmitter<Reader<'p>, Error, usize>);

impl ForwardingEmitter for Switch<'_> {
    type Token = Error;

    fn inner(&mut self) -> &mut impl Emitter<Token = Self::Token> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        // They tell the open constructs of a noscript element; elsewhere they do not matter.
        self.0.callback_mut().in_noscript
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        // The inner emitter would guess by names alone; its guess is unused.
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
    use super::{super::link::Link, *};

    fn page(html: &str) -> Page {
        let mut page = Page { json_ld: true, ..Page::default() };
        read(html.as_bytes(), &|| Ok(()), &mut page).unwrap();
        page
    }

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let found: Vec<String> = page(html).links.iter().map(Link::shown).collect();
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
    fn styles_and_data() {
        check(
            "<p style='a:url(&quot;b&quot;);c:url(\\64 )'><style>e{f:url(g)}/* url(h) */</style><svg><style>i{j:url(k)}</style>\
             <rect style='l:url(m)'></svg><noscript><style>@import 'n';</style></noscript>",
            &["b", "d", "g", "m", "n"],
        );
        check(
            "<script type=' Application/LD+json ; a=b'>{\"c\": \"http://d\"}</script><script>\"http://e\"</script>\
             <script type=application/ld+json>\"http://f\",</script><script type=application/json>\"http://g\"</script>",
            &["http://d"],
        );
        let mut unasked = Page::default();
        read(b"<script type=application/ld+json>\"http://a\"</script>", &|| Ok(()), &mut unasked).unwrap();
        assert_eq!(unasked.links, []);
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
        let rest = |html: &str| page(html).rest;
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
