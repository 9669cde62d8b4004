//! The rules for one file, and their matches in it: in its own language, and in the code within it.

use super::{
    embedded::{self, Part},
    rule::Rules,
    scan::{Match, scan, sort},
    tree::{self, Tree},
};
use base::{error::Error, language::Language, pulse::Pulse};

/// A file with the rules for it.
pub struct File<'r> {
    path: &'r str,
    language: Language,
    /// The rules by language, its own at first.
    rules: Vec<(Language, &'r Rules)>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The matches, in the order of the text; nested ones too.
    Matches(Vec<Match>),
    /// A syntax error in this line of what had to be parsed.
    Broken(u64),
}

impl<'r> File<'r> {
    /// The file at a path. `rules` gives the rules for a language; an error for the file's own one is returned.
    pub fn new(
        path: &'r str,
        language: Language,
        rules: impl Fn(Language) -> Result<Option<&'r Rules>, Error>,
    ) -> Result<Self, Error> {
        let own = rules(language)?.map(|rules| (language, rules));
        // A pattern need not be code of every language that may stand in a page.
        let inner = language.embedded().iter().filter_map(|language| Some((*language, rules(*language).ok()??)));
        Ok(File { path, language, rules: own.into_iter().chain(inner).collect() })
    }

    /// The path.
    pub(crate) fn path(&self) -> &str {
        self.path
    }

    /// True if matches stay that have the form of their fix.
    pub(crate) fn is_once(&self) -> bool {
        self.rules.iter().any(|(_, rules)| !rules.forms.is_empty())
    }

    /// True if a rule may match in a text of the file.
    pub(crate) fn concern(&self, text: &str) -> bool {
        self.rules.iter().any(|(language, rules)| rules.concern(self.path, *language, text))
    }

    /// Finds every match in a text of the file. Only code in which a rule may match is parsed, and the page around it.
    /// Without `allow_errors` nothing is found if that has a syntax error.
    pub fn find(&self, text: &str, allow_errors: bool, pulse: Pulse<'_>) -> Result<Found, Error> {
        let mut all = Vec::new();
        if !self.concern(text) {
            return Ok(Found::Matches(all));
        }
        let host = tree::parse(self.language, text, pulse)?;
        let own = self.rules_for(self.language, text);
        let parts = embedded::parts(self.language, &host).into_iter().filter_map(|part| {
            let code = text.get(part.range.start_byte..part.range.end_byte)?;
            Some((self.rules_for(part.language, code)?, part))
        });
        let parts: Vec<(&Rules, Part)> = parts.collect();
        let is_broken = |tree: &Tree| tree::error_lines(tree).first().copied().filter(|_| !allow_errors);
        if let Some(line) = is_broken(&host).filter(|_| own.is_some() || !parts.is_empty()) {
            return Ok(Found::Broken(line));
        }
        if let Some(rules) = own {
            all.extend(scan(rules, self.path, self.language, &host)?);
        }
        drop(host);
        // A tree has the whole text, so that there is only one at a time.
        for (rules, part) in parts {
            let tree = tree::parse_range(part.language, text, part.range, pulse)?;
            if let Some(line) = is_broken(&tree) {
                return Ok(Found::Broken(line));
            }
            let found = scan(rules, self.path, part.language, &tree)?;
            all.extend(found.into_iter().map(|found| Match { ends: part.ends, ..found }));
        }
        sort(&mut all);
        Ok(Found::Matches(all))
    }

    /// The rules of a language, if one may match in a text.
    fn rules_for(&self, language: Language, text: &str) -> Option<&'r Rules> {
        let (_, rules) = self.rules.iter().find(|(of, _)| *of == language)?;
        rules.concern(self.path, language, text).then_some(rules)
    }
}
