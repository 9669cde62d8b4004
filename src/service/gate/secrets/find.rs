//! Searches for the words of all rules, and tries the pattern around each word found.

use std::ops::Range;

use super::{
    assignment::{self, Assignment},
    file::File,
    generic, key, manifest,
    rules::{Rules, Use},
};

/// A range that a rule has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span<'a> {
    pub(super) rule: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The specificity of the rule; the smallest rank stays.
    rank: Rank,
    /// The end of all the ranges that this one stands for.
    pub(super) reach: usize,
    /// The beginning of these ranges.
    pub(super) from: usize,
}

/// From the most specific to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Key,
    Token,
    Manifest,
    Named,
    Url,
    Generic,
}

/// All ranges, with overlapping ones merged into the most specific.
pub(super) fn spans<'a>(text: &[u8], file: File, rules: &'a Rules) -> Vec<Span<'a>> {
    let mut finder = Finder { text, file, rules, last: None, manifest: 0, spans: Vec::new() };
    for (word, what) in rules.words(text) {
        finder.look(what, &word);
    }
    merged(finder.spans)
}

struct Finder<'t, 'a> {
    text: &'t [u8],
    file: File,
    rules: &'a Rules,
    /// The last name that was examined, and its assignment.
    last: Option<Last>,
    /// The end of the last examined manifest.
    manifest: usize,
    spans: Vec<Span<'a>>,
}

struct Last {
    name: Range<usize>,
    assignment: Option<Assignment>,
    judged: bool,
}

impl<'a> Finder<'_, 'a> {
    fn look(&mut self, what: Use, word: &Range<usize>) {
        match what {
            Use::Token(at) => {
                let rule = self.rules.rule(at);
                if let Some((start, end)) = rule.find(self.text, word.start) {
                    self.add(&rule.id, start..end, Rank::Token);
                }
            }
            Use::Named(at) => {
                let rule = self.rules.rule(at);
                if !stands_alone(self.text, word) {
                    return;
                }
                let Some(found) = self.assignment(word).and_then(|last| last.assignment.clone()) else { return };
                if rule.fits(&self.text[found.name], &self.text[found.value.clone()]) {
                    self.add(&rule.id, found.value, Rank::Named);
                }
            }
            Use::Generic if self.file.is_locked() => {}
            Use::Generic => {
                let Some(last) = self.assignment(word).filter(|last| !last.judged) else { return };
                last.judged = true;
                let Some(found) = last.assignment.clone() else { return };
                if let Some(rule) = generic::judge(self.text, &found, self.file.is_settings())
                    && !self.rules.begins_like_a_token(&self.text[found.value.clone()])
                {
                    self.add(rule, found.value, Rank::Generic);
                }
            }
            Use::Begin => self.add_some("private-key", key::pem(self.text, word.start), Rank::Key),
            Use::Putty => self.add_some("private-key", key::putty(self.text, word.start), Rank::Key),
            Use::Url => self.add_some("connection-password", key::url(self.text, word.start), Rank::Url),
            Use::Manifest if word.start < self.manifest => {}
            Use::Manifest => {
                let (values, end) = manifest::values(self.text, word);
                self.manifest = end;
                values.into_iter().for_each(|value| self.add("kubernetes-secret", value, Rank::Manifest));
            }
        }
    }

    /// The assignment whose name holds a word, read once for each name.
    fn assignment(&mut self, word: &Range<usize>) -> Option<&mut Last> {
        let known = self.last.as_ref().is_some_and(|last| last.name.start <= word.start && word.end <= last.name.end);
        if !known {
            let assignment = assignment::read(self.text, word);
            let name = assignment.as_ref().map_or_else(|| word.clone(), |found| found.name.clone());
            self.last = Some(Last { name, assignment, judged: false });
        }
        self.last.as_mut()
    }

    fn add_some(&mut self, rule: &'static str, found: Option<Range<usize>>, rank: Rank) {
        if let Some(found) = found {
            self.add(rule, found, rank);
        }
    }

    fn add(&mut self, rule: &'a str, found: Range<usize>, rank: Rank) {
        if self.rules.is_published(&self.text[found.clone()]) {
            return;
        }
        let Range { start, end } = found;
        self.spans.push(Span { rule, start, end, rank, reach: end, from: start });
    }
}

/// A short name of a vendor must be a whole word: `lob` is not a word in `global`.
fn stands_alone(text: &[u8], word: &Range<usize>) -> bool {
    let hit = &text[word.clone()];
    let small = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_lowercase);
    let large = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_uppercase);
    let shape = hit.iter().all(|byte| !byte.is_ascii_lowercase())
        || hit.iter().all(|byte| !byte.is_ascii_uppercase())
        || large(hit.first()) && hit[1..].iter().all(|byte| !byte.is_ascii_uppercase());
    if hit.len() > 5 {
        return true;
    }
    let before = word.start.checked_sub(1).map(|at| &text[at]);
    let begins = !small(before) && !large(before) || small(before) && large(hit.first());
    let ends = !small(text.get(word.end)) || hit.iter().all(u8::is_ascii_uppercase);
    shape && begins && ends
}

/// One of several overlapping ranges stays, the most specific, then the longest; it stands for the others.
fn merged(mut spans: Vec<Span<'_>>) -> Vec<Span<'_>> {
    spans.sort_by(|a, b| (a.start, b.end, a.rank, a.rule).cmp(&(b.start, a.end, b.rank, b.rule)));
    let mut merged: Vec<Span<'_>> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start < last.reach => {
                let (from, reach) = (last.from, last.reach.max(span.reach));
                let length = |span: &Span<'_>| span.end - span.start;
                let better = (span.rank, length(last)) < (last.rank, length(&span));
                if better {
                    *last = span;
                }
                (last.from, last.reach) = (from, reach);
            }
            _ => merged.push(span),
        }
    }
    merged
}
