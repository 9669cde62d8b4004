//! The anchors of headings, by the rules of each dialect.
//!
//! Pure: it knows neither files nor links.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;

use super::params::Dialect;
use crate::format::outline::{Heading, Part};

/// Marks, decimal digits and connectors.
static WORD: LazyLock<Regex> = LazyLock::new(|| class(r"^[\p{M}\p{Nd}\p{Pc}]"));
/// GitLab's marks of products at the end of a heading.
static PRODUCT: LazyLock<Regex> = LazyLock::new(|| {
    class(r"\s*\**\((premium|ultimate|free|beta|experiment)(\s+(all|self|saas))?(\s+(beta|experiment))?\)\**")
});
/// Letters, marks, decimal digits and connectors.
static LETTER_OR_WORD: LazyLock<Regex> = LazyLock::new(|| class(r"^[\p{L}\p{M}\p{Nd}\p{Pc}]"));
/// Letters and decimal digits.
static LETTER: LazyLock<Regex> = LazyLock::new(|| class(r"^[\p{L}\p{Nd}]"));

fn class(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// The anchors of headings in the order of a file.
pub(super) fn anchors(headings: &[Heading], dialect: Dialect) -> Vec<String> {
    let mut numbers = Numbers { dialect, counts: BTreeMap::new(), taken: BTreeSet::new() };
    headings.iter().filter_map(|heading| numbers.anchor(heading)).collect()
}

struct Numbers {
    dialect: Dialect,
    /// The last number of each text.
    counts: BTreeMap<String, u32>,
    taken: BTreeSet<String>,
}

impl Numbers {
    fn anchor(&mut self, heading: &Heading) -> Option<String> {
        let (text, id) = text(heading, self.dialect);
        if let Some(id) = id {
            if self.dialect == Dialect::Hugo {
                self.taken.insert(id.clone());
            }
            return Some(id);
        }
        let slug = slug(&text, self.dialect)?;
        Some(match self.dialect {
            Dialect::Github | Dialect::Docusaurus => self.counted_on(slug),
            Dialect::Gitlab => self.counted(slug),
            Dialect::Mdbook | Dialect::Hugo => self.first_free(slug),
        })
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

/// The text of a heading, and its explicit id.
fn text(heading: &Heading, dialect: Dialect) -> (String, Option<String>) {
    let mut parts: Vec<(Part, String)> = Vec::new();
    for (part, text) in heading {
        match parts.last_mut() {
            Some((Part::Text, last)) if *part == Part::Text => last.push_str(text),
            _ => parts.push((*part, text.clone())),
        }
    }
    let mut id = None;
    if let Some((Part::Text, last)) = parts.last_mut()
        && let Some((rest, found)) = explicit(last, dialect)
    {
        *last = rest.to_owned();
        id = found;
    }
    let has_dashes = matches!(dialect, Dialect::Mdbook | Dialect::Hugo);
    let mut joined = String::new();
    for (part, text) in parts {
        match part {
            Part::Text if has_dashes => joined.push_str(&without_dashes(&text)),
            Part::Text | Part::Code => joined.push_str(&text),
            Part::Alt if dialect == Dialect::Docusaurus => joined.push_str(&text),
            Part::Alt => {}
            Part::Break => joined.push('\n'),
        }
    }
    (joined, id)
}

/// The text before the braces at the end, and the id in them; none if there are no such braces.
fn explicit(text: &str, dialect: Dialect) -> Option<(&str, Option<String>)> {
    let (rest, inside) = text.trim_end().strip_suffix('}')?.rsplit_once('{')?;
    let rest = rest.trim_end();
    match dialect {
        Dialect::Github | Dialect::Gitlab => None,
        Dialect::Docusaurus => {
            let comment = inside.strip_prefix("/*").and_then(|inside| inside.strip_suffix("*/")).map(str::trim);
            let id = comment.unwrap_or(inside).strip_prefix('#')?.trim();
            (!id.is_empty()).then(|| (rest, Some(id.to_owned())))
        }
        Dialect::Mdbook | Dialect::Hugo => {
            let is_attribute = |word: &str| word.starts_with(['#', '.']) || word.contains('=');
            let mut words = inside.split_whitespace().peekable();
            words.peek()?;
            let mut id = None;
            for word in words {
                if !is_attribute(word) {
                    return None;
                }
                id = word.strip_prefix('#').filter(|id| !id.is_empty()).map(str::to_owned).or(id);
            }
            Some((rest, id))
        }
    }
}

/// Two or three hyphens are a dash.
fn without_dashes(text: &str) -> String {
    let mut rest = text;
    let mut without = String::with_capacity(text.len());
    while let Some(at) = rest.find("--") {
        without.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches('-');
    }
    without + rest
}

/// The anchor of a text, without a number.
pub(super) fn slug(text: &str, dialect: Dialect) -> Option<String> {
    match dialect {
        Dialect::Github | Dialect::Docusaurus => {
            Some(dashed(&text.to_lowercase(), |c| c.is_alphabetic() || is(&WORD, c)))
        }
        Dialect::Gitlab => {
            let text = text.trim().to_lowercase();
            let mut slug = dashed(&PRODUCT.replace_all(&text, ""), |c| is(&LETTER_OR_WORD, c));
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
            let slug: String = text.trim().to_lowercase().chars().filter_map(kept).collect();
            Some(if slug.is_empty() { "section".to_owned() } else { slug })
        }
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
                    _ if c.is_ascii_alphanumeric() || (!c.is_ascii() && is(&LETTER, c)) => {
                        slug.extend(c.to_lowercase())
                    }
                    _ => {}
                }
            }
            Some(if slug.is_empty() { "heading".to_owned() } else { slug })
        }
    }
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

fn is(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}
