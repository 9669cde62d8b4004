//! The anchors of headings, by the rules of each renderer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;

use super::super::params::Dialect;

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
pub(super) struct Slugger {
    dialect: Dialect,
    /// The number of the last duplicate of each anchor.
    counted: BTreeMap<String, u64>,
    /// Anchors that were given.
    given: BTreeSet<String>,
}

impl Slugger {
    /// A slugger for a page.
    pub(super) fn new(dialect: Dialect) -> Self {
        Slugger { dialect, counted: BTreeMap::new(), given: BTreeSet::new() }
    }

    /// An explicit anchor. To some renderers it is taken; to others it is not.
    pub(super) fn explicit(&mut self, id: &str) {
        if self.dialect == Dialect::Hugo {
            self.given.insert(id.to_owned());
        }
    }

    /// The anchor of a heading.
    pub(super) fn heading(&mut self, text: &str) -> String {
        let slug = slug(self.dialect, text);
        match self.dialect {
            Dialect::Github | Dialect::Docusaurus => self.github(slug),
            Dialect::Gitlab => self.gitlab(slug),
            Dialect::Mdbook | Dialect::Hugo => self.first_free(slug),
        }
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
        let slug = if slug.is_empty() && self.dialect == Dialect::Hugo { "heading".to_owned() } else { slug };
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
pub(super) fn slug(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Github | Dialect::Docusaurus => MARKS.replace_all(&text.to_lowercase(), "").replace(' ', "-"),
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
            for c in text.trim().chars() {
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
        let mut slugger = Slugger::new(dialect);
        let found: Vec<String> = headings.iter().map(|heading| slugger.heading(heading)).collect();
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
            &["a--b--c", "emph-xy-z", "heading", "heading-1", "god-is-good-神真美好", "a_b", "i"],
        );
    }
}
