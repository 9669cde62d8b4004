//! The anchors of headings, by the rules of each dialect.
//!
//! Pure: it knows neither files nor links.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;

use super::params::Dialect;
use format::outline::{Heading, Part, Piece};

/// Marks, decimal digits and connectors.
static WORD: LazyLock<Regex> = LazyLock::new(|| class(r"^[\p{M}\p{Nd}\p{Pc}]"));
/// GitLab's marks of products at the end of a heading.
static PRODUCT: LazyLock<Regex> = LazyLock::new(|| {
    class(r"\s*\**\((premium|ultimate|free|beta|experiment)(\s+(all|self|saas))?(\s+(beta|experiment))?\)\**")
});
/// Hyphens that are written for dashes.
static DASHES: LazyLock<Regex> = LazyLock::new(|| class("--+"));
/// Quotes, dashes and dots that Hugo's typographer replaces.
static TYPOGRAPHIC: LazyLock<Regex> = LazyLock::new(|| class(r#"---|--|\.\.\.|['"]|<<|>>"#));
/// URLs and addresses of mail that are links by themselves, with the character before them.
static BARE_URL: LazyLock<Regex> = LazyLock::new(|| {
    let rest = r"[-\w@:%.+~#=]*\.[a-z]+(?::\d+)?(?:[/#?][^\s<]*[^\s<?!.,:*_~])?";
    class(&format!(
        r"(^|[\s*_~(])(?:(?:https?|ftp)://{rest}|www\.{rest}|[0-9A-Za-z_.+-]+@[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)+)"
    ))
});
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
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in heading {
        let goes_on = |last: &&mut Piece| {
            let place = |piece: &Piece| (piece.part, piece.depth, piece.leads);
            piece.part == Part::Text && place(last) == place(piece)
        };
        match pieces.last_mut().filter(goes_on) {
            Some(last) => last.text.push_str(&piece.text),
            None => pieces.push(piece.clone()),
        }
    }
    let mut id = None;
    if let Some(Piece { part: Part::Text, text: last, .. }) = pieces.last_mut()
        && let Some((rest, found)) = explicit(last, dialect)
    {
        *last = rest.to_owned();
        id = found;
    }
    let mut joined = String::new();
    for piece in &pieces {
        match piece.part {
            Part::Break => joined.push('\n'),
            _ if dialect == Dialect::Hugo => joined.push_str(&of_hugo(piece)),
            Part::Text if dialect == Dialect::Mdbook => joined.push_str(&DASHES.replace_all(&piece.text, "")),
            Part::Text | Part::Code | Part::Url => joined.push_str(&piece.text),
            Part::Alt if dialect == Dialect::Docusaurus => joined.push_str(&piece.text),
            Part::Alt => {}
        }
    }
    (joined, id)
}

/// The text that Hugo takes of a piece: of each mark only the first thing in it, and none of a URL that is a link by itself. A
/// character that its typographer changes gives no character of an anchor. Within a mark it ends the first thing, as signs of
/// emphasis do.
fn of_hugo(piece: &Piece) -> String {
    match piece.part {
        _ if !piece.leads => String::new(),
        Part::Code => piece.text.clone(),
        Part::Text | Part::Alt if piece.depth > 0 => {
            let text = TYPOGRAPHIC.replace_all(&piece.text, "…");
            let mark = text.find('…').map_or(text.len(), |at| if at == 0 { '…'.len_utf8() } else { at });
            let first = &text[..mark];
            let sign = first.find(['_', '*']).unwrap_or(first.len());
            let rest = first[sign..].trim_start_matches(['_', '*']);
            first[..first.len() - rest.len()].to_owned()
        }
        Part::Text => TYPOGRAPHIC.replace_all(&BARE_URL.replace_all(&piece.text, "$1"), "…").into_owned(),
        Part::Alt | Part::Url | Part::Break => String::new(),
    }
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

/// The anchor of a text, without a number.
pub(super) fn slug(text: &str, dialect: Dialect) -> Option<String> {
    match dialect {
        Dialect::Github | Dialect::Docusaurus => Some(dashed(&text.to_lowercase(), is_word)),
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
                    _ if c.is_ascii_alphanumeric() || (!c.is_ascii() && is(&LETTER, c)) => slug.push(lower(c)),
                    _ => {}
                }
            }
            Some(if slug.is_empty() { "heading".to_owned() } else { slug })
        }
    }
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
