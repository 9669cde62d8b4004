//! One file with the rules for it: those for its own language, and those for the languages of the code within it.

use super::{
    embedded, gaps,
    literal::Kept,
    rules::Rules,
    scan::{self, Match, Scan},
    tree,
};
use base::{error::Error, language::Language, pulse::Pulse};

/// A file and its rules.
pub struct Source<'r> {
    path: &'r str,
    language: Language,
    rules: Vec<(Language, &'r Rules)>,
}

impl<'r> Source<'r> {
    /// The file at a path. `rules` has the rules of each language.
    pub fn new(path: &'r str, language: Language, rules: &'r [(Language, Rules)]) -> Self {
        let is_its = |of: &Language| *of == language || language.embedded().contains(of);
        let rules = rules.iter().filter(|(of, _)| is_its(of)).map(|(of, rules)| (*of, rules)).collect();
        Source { path, language, rules }
    }

    /// The path.
    pub(crate) fn path(&self) -> &str {
        self.path
    }

    /// True if there are rules for a language of the file.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// True if a rule may match in a text.
    pub fn concern(&self, text: &str) -> bool {
        self.rules.iter().any(|(language, rules)| rules.concern(self.path, *language, text))
    }

    /// Parses a text, finds every match and counts the faults, also of code within it that has rules.
    pub fn scan(&self, text: &str, pulse: Pulse<'_>) -> Result<Scan, Error> {
        let tree = tree::parse(self.language, text, pulse)?;
        let mut all = Scan::default();
        all.count(&tree);
        if let Some(rules) = self.rules_of(self.language) {
            all.matches = scan::scan(rules, (self.path, self.language), (text, &tree), pulse)?;
        }
        for piece in embedded::pieces(self.language, text, &tree) {
            let Some(rules) = self.rules_of(piece.language) else { continue };
            let tree = tree::parse_range(piece.language, text, piece.range, pulse)?;
            all.count(&tree);
            let found = scan::scan(rules, (self.path, piece.language), (text, &tree), pulse)?;
            all.matches.extend(found.into_iter().map(|found| Match { ends: piece.ends, ..found }));
        }
        scan::sort(&mut all.matches);
        Ok(all)
    }

    /// The errors of a second parser of JavaScript and TypeScript; none in other languages.
    pub fn refused(&self, text: &str) -> u64 {
        gaps::refused(self.path, self.language, text)
    }

    /// The begins of the lines of literals, also of code within the text that has rules.
    pub(super) fn kept(&self, text: &str, pulse: Pulse<'_>) -> Result<Kept, Error> {
        let tree = tree::parse(self.language, text, pulse)?;
        let pieces: Vec<_> = embedded::pieces(self.language, text, &tree);
        let mut all = Kept::read(self.language, text, &tree);
        for piece in pieces.into_iter().filter(|piece| self.rules_of(piece.language).is_some()) {
            // The page takes all of it for text.
            let is_outside = |begin: &usize| !(piece.range.start_byte..piece.range.end_byte).contains(begin);
            all.content.retain(is_outside);
            all.lines.retain(is_outside);
            let kept = Kept::read(piece.language, text, &tree::parse_range(piece.language, text, piece.range, pulse)?);
            all.content.extend(kept.content);
            all.lines.extend(kept.lines);
        }
        Ok(all)
    }

    fn rules_of(&self, language: Language) -> Option<&'r Rules> {
        self.rules.iter().find(|(of, _)| *of == language).map(|(_, rules)| *rules)
    }
}
