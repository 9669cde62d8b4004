//! The places where a page may get anchors that its source does not show, and those where its headings may be none.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use super::{params::Dialect, scheme::Scheme};
use format::outline::Heading;

const INCLUDES: &str = "it may take headings from elsewhere";
const OTHERWISE: &str = "it has lines that may be headings";

/// Calls of a generator that may bring headings.
static CALLS: LazyLock<Vec<(Dialect, Regex)>> = LazyLock::new(|| {
    [
        (Dialect::Mdbook, r"\{\{\s*#(?:include|rustdoc_include|template)"),
        (Dialect::Hugo, r"\{\{[<%]-?\s*([\w./-]+)"),
        (Dialect::Docusaurus, r#"(?m)^import\s.*['"][^'"]*\.mdx?['"]"#),
        (Dialect::Vitepress, r"<!--\s*@include:"),
        (Dialect::Mkdocs, r"(?m)--8<--|\{%|\{\{|\{!|^::: "),
    ]
    .map(|(dialect, text)| (dialect, pattern(text)))
    .to_vec()
});

/// Hugo's own shortcodes, which bring none.
const SHORTCODES: &[&str] = &[
    "details",
    "figure",
    "gist",
    "highlight",
    "instagram",
    "param",
    "qr",
    "ref",
    "relref",
    "tweet",
    "vimeo",
    "x",
    "youtube",
];

/// A line that may be a heading, in a quote or a list too.
static HEADING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(#{1,7})(.?)"));
/// A line that may underline a heading.
static UNDERLINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[=-]+ *$"));
/// Tags that may have content.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>"));
/// Elements without content.
const VOID: &[&str] = &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"];
/// The words after the fence of code that Python-Markdown reads.
static LANGUAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^ *[\w#.+-]* *$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// The reason that a page may have further anchors.
pub(super) fn doubt<'s>(source: &'s str, headings: &[Heading], scheme: &Scheme) -> Option<String> {
    let is_call = |text: &str, call: &Regex| {
        call.captures_iter(text)
            .any(|found| found.get(1).is_none_or(|name| !SHORTCODES.contains(&name.as_str().trim_start_matches('/'))))
    };
    if CALLS.iter().any(|(dialect, call)| *dialect == scheme.dialect && is_call(source, call)) {
        return Some(INCLUDES.to_owned());
    }
    let strict = match scheme.dialect {
        Dialect::Mkdocs => !scheme.is_extended,
        Dialect::Docusaurus => false,
        _ => return None,
    };
    let known: BTreeSet<usize> = headings.iter().map(|heading| line_start(source, heading.range.start)).collect();
    let mut lines = Lines { source, at: 0, fence: None, strict, is_odd: false };
    let is_python = scheme.dialect == Dialect::Mkdocs;
    let is_heading = |(at, line): (usize, &str)| {
        let Some(found) = HEADING.captures(line) else { return false };
        // Only Python-Markdown takes a heading without a space, and a seventh sign for text.
        let is_one = is_python || (found[1].len() < 7 && matches!(&found[2], "" | " " | "\t"));
        is_one && !known.contains(&at)
    };
    // Python-Markdown underlines more lines than paragraphs.
    let ends: BTreeSet<usize> =
        headings.iter().map(|heading| line_start(source, source[..heading.range.end].trim_end().len())).collect();
    let mut before = "";
    let matter = front_matter(source);
    let mut is_underline = |(at, line): (usize, &'s str)| {
        let above = std::mem::replace(&mut before, line).trim();
        let is_line = UNDERLINE.is_match(line) && !above.is_empty() && !above.starts_with('#');
        is_python && is_line && at >= matter && !ends.contains(&at)
    };
    let found = lines.by_ref().any(|line| is_heading(line) || is_underline(line));
    let is_unclear = is_python && (lines.is_odd || lines.fence.is_some());
    (found || is_unclear).then(|| OTHERWISE.to_owned())
}

/// True if programs of MDX go over several lines, so that a heading may be part of one.
pub(super) fn has_programs(source: &str, scheme: &Scheme) -> bool {
    let is_program = |(_, line): (usize, &str)| {
        let line = line.trim();
        line.starts_with("export ") || (line.starts_with('{') && !line.ends_with('}'))
    };
    scheme.dialect == Dialect::Docusaurus
        && Lines { source, at: 0, fence: None, strict: false, is_odd: false }.any(is_program)
}

/// The elements of HTML around the headings of a page, which Python-Markdown does not read.
pub(super) struct Elements<'a> {
    lines: Lines<'a>,
    open: i64,
}

impl<'a> Elements<'a> {
    /// At the beginning of a page.
    pub(super) fn of(source: &'a str) -> Self {
        Elements { lines: Lines { source, at: 0, fence: None, strict: false, is_odd: false }, open: 0 }
    }

    /// True if an element is open there. Places have to be asked in their order.
    pub(super) fn are_open(&mut self, place: usize) -> bool {
        while self.lines.at < place {
            let Some((_, line)) = self.lines.next() else { break };
            if !line.trim_start().starts_with('<') {
                continue;
            }
            for tag in TAG.captures_iter(line) {
                let name = tag[2].to_ascii_lowercase();
                if tag[3].is_empty() && !VOID.contains(&name.as_str()) {
                    self.open += if tag[1].is_empty() { 1 } else { -1 };
                }
            }
        }
        self.open != 0
    }
}

/// The end of data at the beginning of a page.
fn front_matter(source: &str) -> usize {
    let is_open = source.starts_with("---\n") || source.starts_with("---\r\n");
    let end = source.match_indices("\n---").map(|(at, end)| at + end.len()).next();
    if is_open { end.unwrap_or_default() } else { 0 }
}

fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The lines outside of fenced code, with their places.
struct Lines<'a> {
    source: &'a str,
    at: usize,
    /// The fence of the code that is open.
    fence: Option<&'a str>,
    /// True if a fence is one at the beginning of a line only, and with a plain language.
    strict: bool,
    /// True if a fence was closed by a longer one.
    is_odd: bool,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        loop {
            let rest = self.source.get(self.at..).filter(|rest| !rest.is_empty())?;
            let (start, line) = (self.at, rest.split_inclusive('\n').next().unwrap_or_default());
            self.at += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            let marked = line.trim_start_matches([' ', '\t', '>']);
            let sign = marked.chars().next().filter(|c| matches!(c, '`' | '~'));
            let length = sign.map_or(0, |sign| marked.len() - marked.trim_start_matches(sign).len());
            let words = &marked[length..];
            let is_strict = marked.len() == line.len() && LANGUAGE.is_match(words);
            match self.fence {
                None if length >= 3 && !(sign == Some('`') && words.contains('`')) && (!self.strict || is_strict) => {
                    self.fence = Some(&marked[..length]);
                }
                None => return Some((start, line)),
                Some(fence) if sign == fence.chars().next() && length >= fence.len() && words.trim().is_empty() => {
                    self.is_odd |= length > fence.len();
                    self.fence = None;
                }
                Some(_) => {}
            }
        }
    }
}
