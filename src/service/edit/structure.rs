//! Reads an edited text again: every place must be what it was, but for the one that was edited.

use std::ops::Range;

use super::document::{Document, Place};
use base::{
    error::{Code, Error},
    micro::{Edit, Kind, Tool},
    pulse::Pulse,
};
use format::{
    code::tree::Replaced,
    site::{self, Element, Format, Markup, Site, Sites, Spelling},
};

/// `invalid_input` if the new text would add, remove or move anything but its own place.
pub(super) fn check(
    document: &Document<'_>,
    after: &str,
    place: &Place,
    (edit, length): (&Edit, usize),
    pulse: Pulse<'_>,
) -> Result<(), Error> {
    if let Some(mark) = opened(document, after, place, length) {
        return Err(Error::new(Code::InvalidInput, format!("the new text can't stand there: it would begin `{mark}`"))
            .detail("path", document.path)
            .detail("line", document.line(place.range.start))
            .hint("it begins an expression of a template, or a comment; write the change by `nrv.apply`"));
    }
    let moves = Moves { edited: place.range.clone(), length };
    let expected = moves.expected(document, place, edit);
    let replaced = Replaced { range: place.range.clone(), length };
    let base = document.base.as_ref();
    let found = site::read_edited((document.text, after), document.format, (base, &replaced), pulse)?;
    let same = found.errors <= expected.errors
        && found.rules == expected.rules
        && sorted(&found.sites) == sorted(&expected.sites)
        && found.elements.len() == expected.elements.len()
        && found.elements.iter().zip(&expected.elements).all(|(found, expected)| is_same(found, expected));
    if same {
        return Ok(());
    }
    Err(Error::new(Code::InvalidInput, "the new text can't stand there: it would change more than its place")
        .detail("path", document.path)
        .detail("line", document.line(place.range.start))
        .hint("give a text without markup, expressions, quotes and declarations of its own"))
}

/// The mark that an edit adds to a page, alone or with the text around it, and with which something begins that has no end there.
fn opened(document: &Document<'_>, after: &str, place: &Place, length: usize) -> Option<&'static str> {
    let spelling = document.sites.sites[place.site].spelling;
    let is_program = matches!(spelling, Spelling::Text(_) | Spelling::Template);
    let engine: &[&str] = match document.format {
        Format::Markup(Markup::Html) => &["{{", "{%", "<%", "<?"],
        Format::Markup(Markup::Vue) if !is_program => &["{{"],
        Format::Markup(Markup::Svelte | Markup::Vue) => &[],
        Format::Script(_) | Format::Sheet(_) => return None,
    };
    // In a script, it hides the end of the script.
    let comment = is_program.then_some("<!--");
    let count = |mark: &str, text: &str, range: Range<usize>| {
        let reach = mark.len() - 1;
        let near = &text.as_bytes()[range.start.saturating_sub(reach)..(range.end + reach).min(text.len())];
        memchr::memmem::find_iter(near, mark).count()
    };
    let start = place.range.start;
    let is_new =
        |mark: &&str| count(mark, after, start..start + length) > count(mark, document.text, place.range.clone());
    engine.iter().copied().chain(comment).find(is_new)
}

/// Where the bytes of a text are after an edit.
struct Moves {
    edited: Range<usize>,
    length: usize,
}

impl Moves {
    fn start(&self, at: usize) -> usize {
        if at <= self.edited.start { at } else { at - self.edited.len() + self.length }
    }

    fn end(&self, at: usize) -> usize {
        if at < self.edited.end { at } else { at - self.edited.len() + self.length }
    }

    fn site(&self, site: &Site) -> Site {
        let range = match site.spelling {
            // The place of a new attribute is right before the edit, or wholly after it.
            Spelling::Tag => self.start(site.range.start)..self.start(site.range.end),
            _ => self.start(site.range.start)..self.end(site.range.end),
        };
        Site { range, ..site.clone() }
    }

    /// The places that the edited text should have.
    fn expected(&self, document: &Document<'_>, place: &Place, edit: &Edit) -> Sites {
        let before = &document.sites;
        let mut sites: Vec<Site> = before.sites.iter().map(|site| self.site(site)).collect();
        let mut elements: Vec<Element> = before.elements.clone();
        elements.iter_mut().for_each(|element| element.start = self.start(element.start));
        let edited = &before.sites[place.site];
        if edit.tool == Tool::AddAriaAttribute {
            let name = edit.name.clone().unwrap_or_default();
            // ` name="value"`
            let start = place.range.start + name.len() + 3;
            let range = start..start + edit.new.len();
            let spelling = Spelling::Attribute(Some('"'));
            sites.push(Site { kind: Kind::Prop, name: name.clone(), range, spelling, ..edited.clone() });
            if let Some(element) = edited.element {
                elements[element].attributes.insert(0, (name, None));
            }
        }
        // A number of a style object may have become a string.
        if edited.spelling == Spelling::Literal && self.length == edit.new.len() + 2 {
            let quote = if edited.within == Some('\'') { '"' } else { '\'' };
            let range = place.range.start + 1..place.range.start + self.length - 1;
            sites[place.site] = Site { range, spelling: Spelling::Text(quote), ..edited.clone() };
        }
        Sites { sites, elements, rules: before.rules.clone(), errors: before.errors }
    }
}

fn sorted(sites: &[Site]) -> Vec<&Site> {
    let mut sites: Vec<&Site> = sites.iter().collect();
    sites.sort_by(|one, other| {
        let key = |site: &Site| (site.range.start, site.range.end, site.kind as usize);
        key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
    });
    sites
}

/// The same element with the same attributes; their values are sites of their own.
fn is_same(one: &Element, other: &Element) -> bool {
    let keys = |element: &Element| {
        let mut keys: Vec<String> = element.attributes.iter().map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys
    };
    one.name == other.name && one.start == other.start && one.parent == other.parent && keys(one) == keys(other)
}
