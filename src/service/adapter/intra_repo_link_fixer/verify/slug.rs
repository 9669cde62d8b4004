//! The anchors of headings, by the rules of each renderer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::{super::params::Dialect, rules::Rules};

/// Characters that github-slugger removes, and GitLab's `\P{Word}`.
static MARKS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\- ]"));
/// A mark of GitLab's own pages for the products that have a feature.
static PRODUCTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\s*\**\((premium|ultimate|free|beta|experiment)(\s+(all|self|saas))?(\s+(beta|experiment))?\)\**")
});
/// Characters that Hugo keeps, next to `-` and `_`.
static HUGO: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\p{L}\p{Nd}]"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that a test compiles")
}

/// The anchors that a page has given so far.
#[derive(Debug)]
pub(super) struct Slugger<'r> {
    rules: &'r Rules,
    /// The number of the last duplicate of each anchor.
    counted: BTreeMap<String, u64>,
    /// Anchors that were given.
    given: BTreeSet<String>,
}

impl<'r> Slugger<'r> {
    /// A slugger for a page.
    pub(super) fn new(rules: &'r Rules) -> Self {
        Slugger { rules, counted: BTreeMap::new(), given: BTreeSet::new() }
    }

    /// Explicit anchors of the whole page, before anything else. Only Python-Markdown looks ahead.
    pub(super) fn ahead<'i>(&mut self, ids: impl Iterator<Item = &'i String>) {
        if self.rules.dialect == Dialect::Mkdocs {
            self.given.extend(ids.cloned());
        }
    }

    /// An explicit anchor. To some renderers it is taken; to others it is not.
    pub(super) fn explicit(&mut self, id: &str) {
        if matches!(self.rules.dialect, Dialect::Hugo | Dialect::Vitepress) {
            self.given.insert(id.to_owned());
        }
    }

    /// The anchor of a heading; none if a renderer gives none.
    pub(super) fn heading(&mut self, text: &str) -> Option<String> {
        if self.rules.dialect == Dialect::Hugo && text.is_empty() {
            return None;
        }
        let slug = slug(self.rules, text);
        Some(match self.rules.dialect {
            Dialect::Auto | Dialect::Github | Dialect::Docusaurus => self.github(slug),
            Dialect::Gitlab => self.gitlab(slug),
            Dialect::Mdbook | Dialect::Hugo | Dialect::Vitepress => self.first_free(slug),
            Dialect::Mkdocs => self.python(&slug),
        })
    }

    /// A text that is taken or empty gets a number behind `_`. One that ends in a number counts from there.
    fn python(&mut self, slug: &str) -> String {
        let digits = slug.len() - slug.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number = slug[slug.len() - digits..].parse::<u64>().ok();
        let base = slug[..slug.len() - digits].strip_suffix('_').filter(|_| number.is_some());
        let (base, mut count) = base.map_or((slug, 0), |base| (base, number.unwrap_or_default()));
        let mut anchor = slug.to_owned();
        while anchor.is_empty() || self.given.contains(&anchor) {
            count += 1;
            anchor = format!("{base}_{count}");
        }
        self.given.insert(anchor.clone());
        anchor
    }

    /// Each slug counts its duplicates, and a duplicate counts as a slug.
    fn github(&mut self, slug: String) -> String {
        let mut anchor = slug.clone();
        while self.counted.contains_key(&anchor) {
            let count = self.counted.entry(slug.clone()).or_default();
            *count += 1;
            anchor = format!("{slug}-{count}");
        }
        self.counted.insert(anchor.clone(), 0);
        anchor
    }

    /// Each slug counts its duplicates, and nothing else counts.
    fn gitlab(&mut self, slug: String) -> String {
        let count = self.counted.entry(slug.clone()).or_default();
        let anchor = if *count == 0 { slug } else { format!("{slug}-{count}") };
        *count += 1;
        anchor
    }

    /// The smallest number that makes a new anchor.
    fn first_free(&mut self, slug: String) -> String {
        let slug = if slug.is_empty() && self.rules.dialect == Dialect::Hugo { "heading".to_owned() } else { slug };
        let mut anchor = slug.clone();
        let count = self.counted.entry(slug.clone()).or_default();
        while !self.given.insert(anchor.clone()) {
            *count += 1;
            anchor = format!("{slug}-{count}");
        }
        anchor
    }
}

/// The anchor of a text, without a number.
pub(super) fn slug(rules: &Rules, text: &str) -> String {
    match rules.dialect {
        Dialect::Vitepress => vitepress(text),
        Dialect::Mkdocs => python(text, rules.separator),
        Dialect::Auto | Dialect::Github | Dialect::Docusaurus => {
            MARKS.replace_all(&text.to_lowercase(), "").replace(' ', "-")
        }
        Dialect::Gitlab => gitlab(text),
        Dialect::Mdbook => {
            let kept = |c: char| match c {
                c if c.is_alphanumeric() || matches!(c, '_' | '-') => Some(c),
                c if c.is_whitespace() => Some('-'),
                _ => None,
            };
            text.trim().to_lowercase().chars().filter_map(kept).collect()
        }
        Dialect::Hugo => {
            let mut slug = String::new();
            for c in text.rsplit('\n').next().unwrap_or_default().trim().chars() {
                match c {
                    ' ' | '-' => slug.push('-'),
                    '_' => slug.push('_'),
                    c if HUGO.is_match(c.encode_utf8(&mut [0; 4])) => slug.push(lower(c)),
                    _ => {}
                }
            }
            slug
        }
    }
}

/// True for a letter, mark, digit or connector.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || !matches!(c, '-' | ' ') && !MARKS.is_match(c.encode_utf8(&mut [0; 4]))
}

/// VitePress' anchor: without accents, in lower case, with one hyphen for each run of signs, and `_` before a digit.
fn vitepress(text: &str) -> String {
    const SIGNS: &str = "~`!@#$%^&*()-_+=[]{}|\\;:\"'“”‘’<>,.?/";
    let mut slug = String::new();
    for c in text.nfkd() {
        match c {
            '\u{300}'..='\u{36f}' | '\0'..='\u{1f}' => {}
            c if c.is_whitespace() || c == '\u{feff}' || SIGNS.contains(c) => {
                if !slug.is_empty() && !slug.ends_with('-') {
                    slug.push('-');
                }
            }
            c => slug.push(c),
        }
    }
    let slug = slug.trim_end_matches('-').to_lowercase();
    if slug.as_bytes().first().is_some_and(u8::is_ascii_digit) { format!("_{slug}") } else { slug }
}

/// The anchor of Python-Markdown: the ASCII in a text, in lower case, with one separator for each run of them and of white space.
fn python(text: &str, separator: char) -> String {
    let is_space = |byte: &u8| matches!(byte, b' ' | 9..=13 | 28..=31);
    // Python splits a text at more characters than ASCII has.
    let plain = text.replace(char::is_whitespace, " ");
    let kept = plain
        .nfkd()
        .filter_map(|c| u8::try_from(c).ok())
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || is_space(byte));
    let kept: Vec<u8> = kept.map(|byte| if is_space(&byte) { b' ' } else { byte.to_ascii_lowercase() }).collect();
    let kept = String::from_utf8_lossy(&kept);
    let mut slug = String::new();
    let mut is_open = false;
    for c in kept.trim_matches(' ').chars() {
        let is_gap = c == ' ' || c == separator;
        if is_gap && !is_open {
            slug.push(separator);
        } else if !is_gap {
            slug.push(c);
        }
        is_open = is_gap;
    }
    slug
}

/// The lower case of a single character, if that is a single character.
fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        // The one character of which Unicode's simple mapping differs.
        _ if c == 'İ' => 'i',
        _ => c,
    }
}

fn gitlab(text: &str) -> String {
    // Letter by letter, as Ruby does: a sigma at the end of a word is one like any other.
    let lower: String = text.trim().chars().flat_map(char::to_lowercase).collect();
    let plain = PRODUCTS.replace_all(&lower, "");
    let plain = MARKS.replace_all(&plain, "").replace(' ', "-");
    let mut slug = String::new();
    for c in plain.chars() {
        if c != '-' || !slug.ends_with('-') {
            slug.push(c);
        }
    }
    let is_number = !slug.is_empty() && slug.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("anchor-{slug}") } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, headings: &[&str], expected: &[&str]) {
        let rules = Rules::of(dialect);
        let mut slugger = Slugger::new(&rules);
        let found: Vec<String> = headings.iter().filter_map(|heading| slugger.heading(heading)).collect();
        assert_eq!(found, expected, "{dialect:?}");
    }

    #[test]
    fn github() {
        let headings = ["echo", "echo", "echo 1", "echo-1", "echo", "I ♥ unicode", "Ⅷ ½ Ⓐ", "a_b 你好", " a "];
        let anchors = ["echo", "echo-1", "echo-1-1", "echo-1-2", "echo-2", "i--unicode", "ⅷ--ⓐ", "a_b-你好", "-a-"];
        check(Dialect::Github, &headings, &anchors);
        check(Dialect::Docusaurus, &headings, &anchors);
    }

    #[test]
    fn gitlab_squeezes_and_counts() {
        check(
            Dialect::Gitlab,
            &["A  --  b", "a b", "12", "Wiki **(premium)**", "C & d: e_f", "a-b-1", "a b"],
            &["a-b", "a-b-1", "anchor-12", "wiki", "c-d-e_f", "a-b-1", "a-b-2"],
        );
    }

    #[test]
    fn mdbook() {
        check(
            Dialect::Mdbook,
            &["`--passes`: add", "Über", "a", "a", "a-1", "한국어 &amp;", "", ""],
            &["--passes-add", "über", "a", "a-1", "a-1-1", "한국어-amp", "", "-1"],
        );
    }

    #[test]
    fn hugo() {
        check(
            Dialect::Hugo,
            &["A  b & c", "*Emph* [x](y z)", "", "!", "God is good: 神真美好", "a_b", "İ"],
            &["a--b--c", "emph-xy-z", "heading", "god-is-good-神真美好", "a_b", "i"],
        );
    }

    #[test]
    fn vitepress_and_python_markdown() {
        let headings = ["A  --  b", "a b", "Über C++", "1. x", "!", "?", "a_b", "½ 你好", "a-b"];
        check(
            Dialect::Vitepress,
            &headings,
            &["a-b", "a-b-1", "uber-c", "_1-x", "", "-1", "a-b-2", "_1⁄2-你好", "a-b-3"],
        );
        check(Dialect::Mkdocs, &headings, &["a-b", "a-b_1", "uber-c", "1-x", "_1", "_2", "a_b", "12", "a-b_2"]);
        check(Dialect::Mkdocs, &["a", "a_1", "a", "a"], &["a", "a_1", "a_2", "a_3"]);
    }
}
