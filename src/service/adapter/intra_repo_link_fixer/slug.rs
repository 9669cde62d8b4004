//! The anchors of headings, by the rules of each dialect.
//!
//! Pure: it knows neither files nor links.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::{
    heading::{self, Reading},
    hidden,
    params::Dialect,
    scheme::Scheme,
};
use format::outline::Heading;

/// Marks, decimal digits and connectors.
static WORD: LazyLock<Regex> = LazyLock::new(|| class(r"^[\p{M}\p{Nd}\p{Pc}]"));
/// GitLab's marks of products at the end of a heading.
static PRODUCT: LazyLock<Regex> = LazyLock::new(|| {
    class(r"\s*\**\((premium|ultimate|free|beta|experiment)(\s+(all|self|saas))?(\s+(beta|experiment))?\)\**")
});
/// Letters and decimal digits.
static LETTER: LazyLock<Regex> = LazyLock::new(|| class(r"^[\p{L}\p{Nd}]"));

/// Signs and white space that VitePress replaces by hyphens.
static SIGNS: LazyLock<Regex> = LazyLock::new(|| class(r#"[\s\u{feff}~`!@#$%^&*()\-_+=\[\]{}|\\;:"'“”‘’<>,.?/]+"#));

fn class(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// The known anchors of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Anchors {
    pub(super) known: Vec<String>,
    /// The reason that there may be others.
    pub(super) doubt: Option<String>,
}

/// The anchors of the headings of a page, in their order.
pub(super) fn anchors(source: &str, headings: &[Heading], scheme: &Scheme) -> Anchors {
    let readings = heading::readings(source, headings, scheme);
    let mut numbers = Numbers { scheme, counts: BTreeMap::new(), taken: BTreeSet::new() };
    if scheme.dialect == Dialect::Mkdocs {
        let ids = readings.iter().filter_map(|reading| if let Reading::Id(id) = reading { Some(id) } else { None });
        numbers.taken.extend(ids.cloned());
    }
    let mut anchors = Anchors { known: Vec::new(), doubt: hidden::doubt(source, headings, scheme) };
    for (reading, heading) in readings.into_iter().zip(headings) {
        match reading {
            Reading::Id(id) => anchors.known.push(numbers.explicit(id)),
            Reading::Text(text) => anchors.known.extend(numbers.anchor(&text)),
            Reading::Unknown(why) if anchors.doubt.is_none() => {
                let line = source[..heading.range.start].matches('\n').count() + 1;
                anchors.doubt = Some(format!("the anchor of its heading on line {line} is unknown: {why}"));
            }
            Reading::Unknown(_) => {}
        }
    }
    anchors
}

struct Numbers<'a> {
    scheme: &'a Scheme,
    /// The last number of each text.
    counts: BTreeMap<String, u32>,
    taken: BTreeSet<String>,
}

impl Numbers<'_> {
    fn explicit(&mut self, id: String) -> String {
        if matches!(self.scheme.dialect, Dialect::Hugo | Dialect::Vitepress) {
            self.taken.insert(id.clone());
        }
        id
    }

    fn anchor(&mut self, text: &str) -> Option<String> {
        let slug = slug(text, self.scheme)?;
        Some(match self.scheme.dialect {
            Dialect::Auto | Dialect::Github | Dialect::Docusaurus => self.counted_on(slug),
            Dialect::Gitlab => self.counted(slug),
            Dialect::Mdbook | Dialect::Hugo | Dialect::Vitepress => self.first_free(slug),
            Dialect::Mkdocs => self.underlined(slug),
        })
    }

    /// A number behind `_`, which goes on from that of the text. An empty text has one, too.
    fn underlined(&mut self, slug: String) -> String {
        let mut anchor = slug;
        while anchor.is_empty() || self.taken.contains(&anchor) {
            let number = anchor.rsplit_once('_').filter(|(_, number)| !number.is_empty());
            let number = number.and_then(|(base, number)| Some((base, number.parse::<u64>().ok()?)));
            anchor = number.map_or_else(|| format!("{anchor}_1"), |(base, number)| format!("{base}_{}", number + 1));
        }
        self.taken.insert(anchor.clone());
        anchor
    }

    /// The numbers of a text go on, past those that other texts took.
    fn counted_on(&mut self, slug: String) -> String {
        let mut anchor = slug.clone();
        while self.counts.contains_key(&anchor) {
            let count = self.counts.entry(slug.clone()).or_default();
            *count += 1;
            anchor = format!("{slug}-{count}");
        }
        self.counts.insert(anchor.clone(), 0);
        anchor
    }

    fn counted(&mut self, slug: String) -> String {
        let count = self.counts.entry(slug.clone()).or_default();
        *count += 1;
        if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
    }

    fn first_free(&mut self, slug: String) -> String {
        let mut anchor = slug.clone();
        while !self.taken.insert(anchor.clone()) {
            let number = self.counts.entry(slug.clone()).or_default();
            *number += 1;
            anchor = format!("{slug}-{number}");
        }
        anchor
    }
}

/// The anchor of a text, without a number.
pub(super) fn slug(text: &str, scheme: &Scheme) -> Option<String> {
    match scheme.dialect {
        Dialect::Auto | Dialect::Github | Dialect::Docusaurus => Some(dashed(&text.to_lowercase(), is_word)),
        Dialect::Gitlab => {
            // Ruby has no other letter for a sigma at the end of a word.
            let text: String = text.trim().chars().flat_map(char::to_lowercase).collect();
            let mut slug = dashed(&PRODUCT.replace_all(&text, ""), is_word);
            while slug.contains("--") {
                slug = slug.replace("--", "-");
            }
            let is_number = !slug.is_empty() && slug.bytes().all(|byte| byte.is_ascii_digit());
            Some(if is_number { format!("anchor-{slug}") } else { slug })
        }
        Dialect::Mdbook => {
            let kept = |c: char| match c {
                _ if c.is_alphanumeric() || matches!(c, '_' | '-') => Some(c),
                _ => c.is_whitespace().then_some('-'),
            };
            Some(text.trim().to_lowercase().chars().filter_map(kept).collect())
        }
        Dialect::Vitepress => Some(vitepress(text)),
        Dialect::Mkdocs => Some(mkdocs(text, scheme.separator)),
        Dialect::Hugo => {
            if text.is_empty() {
                return None;
            }
            let last = text.rsplit('\n').next().unwrap_or_default().trim();
            let mut slug = String::with_capacity(last.len());
            for c in last.chars() {
                match c {
                    ' ' | '-' => slug.push('-'),
                    '_' => slug.push('_'),
                    _ if c.is_ascii_alphanumeric() || (!c.is_ascii() && is(&LETTER, c)) => slug.push(lower(c)),
                    _ => {}
                }
            }
            Some(if slug.is_empty() { "heading".to_owned() } else { slug })
        }
    }
}

/// The slug of VitePress: runs of signs become one hyphen.
fn vitepress(text: &str) -> String {
    let plain: String = text.nfkd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}' | '\0'..='\u{1f}')).collect();
    let dashed = SIGNS.replace_all(&plain, "-");
    let trimmed = dashed.trim_matches('-');
    let digit = trimmed.starts_with(|c: char| c.is_ascii_digit());
    format!("{}{trimmed}", if digit { "_" } else { "" }).to_lowercase()
}

/// The slug of Python-Markdown: ASCII only, and runs of white space and separators become one separator.
fn mkdocs(text: &str, separator: char) -> String {
    // Python splits a text at more characters than ASCII has.
    let spaced = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let ascii: String = spaced.nfkd().filter(char::is_ascii).collect();
    let is_kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || is_space(*c);
    let kept: String = ascii.chars().filter(is_kept).collect();
    let mut slug = String::new();
    for c in kept.trim_matches(is_space).to_ascii_lowercase().chars() {
        match is_space(c) || c == separator {
            true if slug.ends_with(separator) => {}
            true => slug.push(separator),
            false => slug.push(c),
        }
    }
    slug
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r' | '\u{1c}'..='\u{1f}')
}

/// The single character that is the lower case of one.
fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// The text with hyphens for spaces. Beyond ASCII, `is_kept` decides.
fn dashed(text: &str, is_kept: fn(char) -> bool) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ if c.is_ascii() => c.is_ascii_alphanumeric().then_some(c),
        _ => is_kept(c).then_some(c),
    };
    text.chars().filter_map(kept).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || is(&WORD, c)
}

fn is(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}
