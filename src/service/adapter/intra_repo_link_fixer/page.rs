//! The links and anchors of one file. It knows no other file.

use std::{borrow::Cow, collections::BTreeSet, ops::Range, sync::LazyLock};

use memchr::memmem;
use regex::Regex;

use super::{
    blocks::Blocks,
    includes,
    params::{Dialect, Params},
    reference::{Reference, name},
    scheme::{Addressed, Scheme},
    site::Sites,
    slug,
};
use base::{error::Error, pulse::Pulse};
use format::{
    escape::Escape,
    html, markdown, mdx,
    outline::Outline,
    pieces::pieces,
    value::{Decoded, Value},
};

/// A heading in raw HTML.
static RAW_HEADING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?is)<h[1-6](?-u:\b)[^>]*>(.*?)</h[1-6]\s*>").expect("the pattern is valid"));
/// A tag.
static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"<[^>]*>").expect("the pattern is valid"));

/// The format of a file with links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Markdown.
    Markdown,
    /// Markdown with programs and tags of JavaScript.
    Mdx,
    /// HTML.
    Html,
}

/// The endings of names, with their formats.
pub(super) const ENDINGS: &[(&str, Kind)] = &[
    (".md", Kind::Markdown),
    (".markdown", Kind::Markdown),
    (".mdown", Kind::Markdown),
    (".mkd", Kind::Markdown),
    (".mkdn", Kind::Markdown),
    (".mdx", Kind::Mdx),
    (".html", Kind::Html),
    (".htm", Kind::Html),
    (".xhtml", Kind::Html),
];

/// A link within the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Its number among all links of the file, from 0.
    pub(super) n: usize,
    /// The value that holds it.
    pub(super) value: Value,
    /// Its place in the decoded value.
    pub(super) piece: Range<usize>,
    /// Its destination.
    pub(super) reference: Reference,
}

/// A file with links.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The names of files whose text it takes in.
    pub(super) includes: BTreeSet<String>,
    /// The blocks that it may have.
    pub(super) blocks: Blocks,
    /// The number of links, external ones too.
    pub(super) total: usize,
    /// The links within the repository.
    pub(super) links: Vec<Link>,
    /// The anchors, as far as they are known.
    pub(super) anchors: BTreeSet<String>,
    /// The reason that it may have further anchors.
    pub(super) doubt: Option<String>,
    /// True if it names its own address.
    pub(super) has_own_address: bool,
    /// The reason to leave the file alone.
    pub(super) skipped: Option<Cow<'static, str>>,
}

impl Kind {
    /// The format that a name says; none for files without links.
    pub(super) fn of(path: &str) -> Option<Self> {
        let ends = |ending: &str| {
            path.len()
                .checked_sub(ending.len())
                .and_then(|at| path.get(at..))
                .is_some_and(|end| end.eq_ignore_ascii_case(ending))
        };
        ENDINGS.iter().find(|(ending, _)| ends(ending)).map(|(_, kind)| *kind)
    }

    /// The outline of a file; none if it is not UTF-8.
    pub(super) fn outline(self, bytes: &[u8], blocks: Blocks, pulse: Pulse<'_>) -> Result<Option<Outline>, Error> {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(None) };
        match self {
            Kind::Markdown => markdown::outline(&blocks.as_items(text), pulse),
            Kind::Mdx => mdx::outline(text, pulse),
            Kind::Html => html::outline(bytes, pulse),
        }
        .map(Some)
    }
}

/// Every link of an outline: its value, its place in the decoded value, and its destination.
pub(super) fn destinations<'a>(
    bytes: &'a [u8],
    outline: &'a Outline,
) -> impl Iterator<Item = (&'a Value, Range<usize>, String)> {
    outline.values.iter().flat_map(move |value| {
        let decoded = Decoded::new(&bytes[value.range.clone()], &value.escapes);
        let pieces = pieces(value.form, &decoded.text).into_iter();
        let found: Vec<_> = pieces.map(|piece| (value, piece.clone(), decoded.text[piece].to_owned())).collect();
        found
    })
}

/// A key of the data at the beginning of a page that gives it an address.
static OWN_ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?m)^['"]?(?:permalink|slug|url)['"]?[ \t]*[:=]"#).expect("the pattern is correct"));

/// True if the data at the beginning of a page gives it an address.
fn has_own_address(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let data = ["---", "+++"].iter().find_map(|fence| {
        let rest = text.strip_prefix(fence)?;
        Some(&rest[..rest.match_indices(fence).find(|(at, _)| rest[..*at].ends_with('\n')).map_or(0, |(at, _)| at)])
    });
    data.is_some_and(|data| OWN_ADDRESS.is_match(data))
}

/// The rules by which a page is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    pub(super) params: &'a Params,
    /// The rules for anchors.
    pub(super) scheme: &'a Scheme,
    /// The links that are read from the address of the page.
    pub(super) addressed: Addressed,
}

impl<'a> Manner<'a> {
    /// The rules for the page at a path.
    pub(super) fn of(params: &'a Params, sites: &'a Sites, path: &str) -> Self {
        Manner { params, scheme: sites.scheme(path), addressed: sites.addressed(path) }
    }
}

/// Reads a page.
pub(super) fn read(kind: Kind, bytes: &[u8], manner: Manner<'_>, pulse: Pulse<'_>) -> Result<Page, Error> {
    let Manner { params, scheme, addressed } = manner;
    let Some(outline) = kind.outline(bytes, scheme.blocks, pulse)? else {
        return Ok(Page { skipped: Some("it is not UTF-8".into()), ..Page::default() });
    };
    let mut page = Page { skipped: outline.skipped.clone(), blocks: scheme.blocks, ..Page::default() };
    let is_template =
        kind == Kind::Html && ["{{", "{%", "<%"].iter().any(|mark| memmem::find(bytes, mark.as_bytes()).is_some());
    for (value, piece, destination) in destinations(bytes, &outline) {
        if let Some(mut reference) = Reference::parse(&destination, !params.site_root.is_empty()) {
            let is_raw = value.escapes[0] != Escape::Markdown;
            reference.is_by_address = match addressed {
                _ if kind == Kind::Html => is_template,
                Addressed::None => false,
                Addressed::Raw => is_raw,
                Addressed::Pages => is_raw || !name(reference.path().trim_end_matches('/')).contains('.'),
                Addressed::Most => is_raw || Kind::of(reference.path()).is_none(),
            };
            page.links.push(Link { n: page.total, value: value.clone(), piece, reference });
        }
        page.total += 1;
    }
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if kind != Kind::Html {
        page.includes = includes::included(text);
        page.has_own_address = has_own_address(text);
        let slug::Anchors { known, doubt } =
            slug::anchors(&without(text, &outline.programs), &outline.headings, scheme);
        page.anchors.extend(known);
        let reason = outline.skipped.filter(|_| kind == Kind::Mdx).or(outline.doubt.map(Cow::Borrowed));
        let more = (!page.includes.is_empty()).then(|| "it includes other files".to_owned());
        page.doubt = reason.map(Cow::into_owned).or(doubt).or(more);
        if kind == Kind::Markdown && matches!(scheme.dialect, Dialect::Github | Dialect::Gitlab) {
            page.anchors.extend(raw_headings(text).iter().filter_map(|text| slug::slug(text, scheme)));
        }
    }
    if is_template {
        page.doubt = Some("it is a template, which may bring others".to_owned());
    }
    page.anchors.extend(outline.names);
    Ok(page)
}

/// The text with spaces for some parts.
fn without<'t>(text: &'t str, parts: &[Range<usize>]) -> Cow<'t, str> {
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for part in parts {
        bytes[part.clone()].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The texts of headings in raw HTML, wherever it may stand.
fn raw_headings(text: &str) -> Vec<String> {
    if !text.contains("</h") && !text.contains("</H") {
        return Vec::new();
    }
    let text_of = |inside: &str| {
        let text = TAG.replace_all(inside, "");
        htmlize::unescape(text.as_ref()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    RAW_HEADING.captures_iter(text).filter_map(|found| found.get(1)).map(|inside| text_of(inside.as_str())).collect()
}
