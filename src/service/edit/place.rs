//! The places of a text that fit a request or a search.

use std::ops::Range;

use super::{
    document::{Document, Place},
    selector::Selector,
};
use base::{
    error::{Code, Error},
    micro::{Edit, Find, Kind, Tool},
};
use format::{
    escape::Escape,
    site::{Element, Site, Sites, Spelling, css_name},
    value::Decoded,
};

/// A request as far as it can be looked for in a text.
pub(super) struct Wanted<'e> {
    pub(super) kind: Kind,
    pub(super) name: Option<&'e str>,
    pub(super) old: Option<&'e str>,
    pub(super) selector: Option<Selector>,
}

impl<'e> Wanted<'e> {
    /// The target of a request.
    pub(super) fn of(edit: &'e Edit) -> Result<Self, Error> {
        let kind = Kind::of(edit.tool);
        let name = match edit.tool {
            Tool::AddAriaAttribute => edit.element.as_deref(),
            Tool::UpdatePropValue | Tool::UpdateStyleValue => edit.name.as_deref(),
            Tool::UpdateClassName | Tool::UpdateImport | Tool::UpdateTextContent => None,
        };
        let old = edit.old.as_deref().filter(|_| edit.tool != Tool::AddAriaAttribute);
        if old.is_some_and(|old| old.trim().is_empty() && edit.tool != Tool::UpdatePropValue) {
            return Err(
                Error::new(Code::InvalidInput, "the present text is empty").hint("give the text that is to change")
            );
        }
        let selector = edit.selector.as_deref().map(Selector::parse).transpose()?;
        Ok(Wanted { kind, name, old, selector })
    }

    /// Every place that fits, wherever it stands.
    pub(super) fn places(&self, document: &Document<'_>) -> Vec<Place> {
        let mut places: Vec<Place> = self
            .sites(document)
            .filter(|(_, site)| site.spelling != Spelling::Computed)
            .flat_map(|(at, site)| {
                let ranges = match self.old {
                    Some(old) => matches(document.text, site, old),
                    None => vec![site.range.clone()],
                };
                ranges.into_iter().map(move |range| Place { site: at, range })
            })
            .collect();
        places.sort_by_key(|place| (place.range.start, place.range.end));
        // A call within a class of an attribute is read for both.
        places.dedup_by(|one, other| one.range == other.range);
        places
    }

    /// The sites of the kind and name, computed ones too.
    pub(super) fn sites<'d>(&self, document: &'d Document<'_>) -> impl Iterator<Item = (usize, &'d Site)> {
        let (kind, name) = (self.kind, self.name.map(str::to_owned));
        let all = document.sites.sites.iter().enumerate();
        all.filter(move |(_, site)| {
            site.kind == kind && name.as_deref().is_none_or(|name| is_named(&document.sites, site, name))
        })
    }
}

/// True if a site has that name, as its language compares names.
fn is_named(sites: &Sites, site: &Site, name: &str) -> bool {
    let is_html = site.element.is_some_and(|at| sites.elements[at].is_html);
    match site.kind {
        Kind::Style if site.name.starts_with("--") || name.starts_with("--") => site.name == name,
        Kind::Style => site.name.eq_ignore_ascii_case(&css_name(name)),
        Kind::Element | Kind::Prop if is_html => site.name.eq_ignore_ascii_case(name),
        _ => site.name == name,
    }
}

/// The parts of a site that are the text which is looked for.
fn matches(text: &str, site: &Site, old: &str) -> Vec<Range<usize>> {
    let value = &text[site.range.clone()];
    let found = match site.kind {
        Kind::Class => classes(value, old),
        Kind::Text => words(value, old, site.spelling),
        Kind::Element | Kind::Import | Kind::Prop | Kind::Style => whole(value, old.trim(), site.spelling),
    };
    found.into_iter().map(|range| range.start + site.range.start..range.end + site.range.start).collect()
}

/// A value that is the text from end to end.
fn whole(value: &str, old: &str, spelling: Spelling) -> Vec<Range<usize>> {
    let is_same = value == old || value.trim() == old && matches!(spelling, Spelling::Value(_));
    let all = 0..value.len();
    match spelling {
        _ if is_same => vec![all],
        Spelling::Attribute(_) if Decoded::new(value.as_bytes(), &[Escape::Html]).text == old => vec![all],
        _ => Vec::new(),
    }
}

/// The classes of a list that are those of another, one after the other.
fn classes(value: &str, old: &str) -> Vec<Range<usize>> {
    let wanted: Vec<&str> = old.split_whitespace().collect();
    let start = |word: &str| word.as_ptr() as usize - value.as_ptr() as usize;
    let words: Vec<Range<usize>> = value.split_whitespace().map(|word| start(word)..start(word) + word.len()).collect();
    let is_it = |window: &&[Range<usize>]| window.iter().map(|range| &value[range.clone()]).eq(wanted.iter().copied());
    let windows = words.windows(wanted.len().max(1)).filter(is_it);
    windows.filter_map(|window| Some(window.first()?.start..window.last()?.end)).collect()
}

/// The places of a text in another, as whole words. Where it is all of a line, other places don't count.
fn words(value: &str, old: &str, spelling: Spelling) -> Vec<Range<usize>> {
    let mut found = words_in(value, old);
    let units = units(value, spelling);
    let cuts = |at: usize| units.iter().any(|unit| unit.start < at && at < unit.end);
    found.retain(|range| !cuts(range.start) && !cuts(range.end));
    let has_references = matches!(spelling, Spelling::Html(_) | Spelling::Jsx) && value.contains('&');
    if !found.is_empty() || !has_references {
        return found;
    }
    let decoded = Decoded::new(value.as_bytes(), &[Escape::Html]);
    words_in(&decoded.text, old).into_iter().map(|range| decoded.raw(range)).collect()
}

/// The references of markup or the escapes of a program in a value. Each is one character, of which no part is a word.
fn units(value: &str, spelling: Spelling) -> Vec<Range<usize>> {
    let sign = match spelling {
        Spelling::Html(_) | Spelling::Jsx => '&',
        Spelling::Text(_) | Spelling::Template => '\\',
        _ => return Vec::new(),
    };
    let (mut units, mut at) = (Vec::new(), 0);
    while let Some(found) = value[at..].find(sign) {
        let start = at + found;
        let rest = &value[start + 1..];
        let inner = match sign {
            '&' => {
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '#').filter(|end| rest[*end..].starts_with(';'))
            }
            _ if rest.starts_with("u{") => rest.find('}'),
            _ => None,
        };
        let length = match (inner, sign) {
            (Some(end), _) => end + 1,
            (None, '&') => 0,
            (None, _) => rest.chars().next().map_or(0, char::len_utf8),
        };
        at = start + 1 + length;
        units.push(start..at);
    }
    units
}

/// The places of a text in another at which no word is cut.
pub(super) fn words_in(value: &str, old: &str) -> Vec<Range<usize>> {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let ends = |range: &Range<usize>| {
        let (before, after) = (value[..range.start].chars().next_back(), value[range.end..].chars().next());
        (!is_word(old.chars().next()) || !is_word(before)) && (!is_word(old.chars().next_back()) || !is_word(after))
    };
    let all = value.match_indices(old).map(|(at, _)| at..at + old.len());
    let found: Vec<Range<usize>> = all.filter(ends).collect();
    let is_whole = |range: &&Range<usize>| {
        let start = value[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = value[range.end..].find('\n').map_or(value.len(), |at| range.end + at);
        value[start..end].trim() == old.trim()
    };
    let whole: Vec<Range<usize>> = found.iter().filter(is_whole).cloned().collect();
    if whole.is_empty() { found } else { whole }
}

/// The places that a search wants. Of text each line is a place of its own, since an edit changes one line.
pub(super) fn found(document: &Document<'_>, find: &Find) -> Result<Vec<Place>, Error> {
    let selector = find.selector.as_deref().map(Selector::parse).transpose()?;
    let named = matches!(find.kind, Kind::Element | Kind::Prop | Kind::Style);
    let (name, old) = if named { (find.name.as_deref(), None) } else { (None, find.name.as_deref()) };
    let wanted = Wanted { kind: find.kind, name, old, selector };
    let mut places = match (find.kind, old) {
        (Kind::Text, _) => lines(document, &wanted),
        _ => wanted.places(document),
    };
    if let Some(selector) = &wanted.selector {
        places = selected(document, places, selector);
    }
    let holds = |place: &Place| {
        let text = &document.text[place.range.clone()];
        find.text.as_deref().is_none_or(|wanted| text.contains(wanted))
    };
    places.retain(|place| holds(place) && document.line(place.range.start) == document.line(place.range.end));
    Ok(places)
}

/// The lines of each text.
fn lines(document: &Document<'_>, wanted: &Wanted<'_>) -> Vec<Place> {
    let mut places = Vec::new();
    for (at, site) in wanted.sites(document).filter(|(_, site)| site.spelling != Spelling::Computed) {
        let mut start = site.range.start;
        for line in document.text[site.range.clone()].split_inclusive('\n') {
            let text = line.trim();
            if !text.is_empty() {
                let begin = start + (line.len() - line.trim_start().len());
                places.push(Place { site: at, range: begin..begin + text.len() });
            }
            start += line.len();
        }
    }
    places.sort_by_key(|place| place.range.start);
    places
}

/// The places of the elements or rules that a selector matches.
pub(super) fn selected(document: &Document<'_>, places: Vec<Place>, selector: &Selector) -> Vec<Place> {
    let sites = &document.sites;
    let matching = selector.elements(&sites.elements);
    let belongs = |place: &&Place| {
        let site = &sites.sites[place.site];
        let is_ruled = site.rule.is_some_and(|rule| selector.is_rule(&sites.rules[rule]));
        is_ruled || site.rule.is_none() && site.element.is_some_and(|at| matching.contains(&at))
    };
    let own: Vec<Place> = places.iter().filter(belongs).cloned().collect();
    if !own.is_empty() {
        return own;
    }
    // Text may stand deeper in the element.
    let above = |element: &Element| element.parent.map(|at| (at, &sites.elements[at]));
    let is_within = |place: &Place| {
        let site = &sites.sites[place.site];
        let first = site.element.filter(|_| site.kind == Kind::Text).map(|at| (at, &sites.elements[at]));
        std::iter::successors(first, |(_, element)| above(element)).any(|(at, _)| matching.contains(&at))
    };
    places.into_iter().filter(is_within).collect()
}
