//! Whole words in a text: places of a name that no further letter, digit or `_` touches, nor `$` where that is a letter too.

use std::ops::Range;

use memchr::memmem::Finder;

use base::language::Language;

/// True for a character that may continue a name in every language.
pub fn continues(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// True for a language in which `$` is a letter. In others it may stand before a name.
fn has_dollar(language: Language) -> bool {
    matches!(language, Language::Java | Language::JavaScript | Language::Tsx | Language::TypeScript)
}

/// Finds a name.
pub struct Word<'n> {
    name: &'n str,
    finder: Finder<'n>,
}

impl<'n> Word<'n> {
    /// A search for a name, which is not empty.
    pub fn new(name: &'n str) -> Self {
        Word { name, finder: Finder::new(name) }
    }

    /// True if the bytes hold the name, as a part of another word too.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.finder.find(bytes).is_some()
    }

    /// The places of the whole word, in order.
    pub fn places(&self, language: Language, text: &str) -> Vec<Range<usize>> {
        let is_part = |c: char| continues(c) || c == '$' && has_dollar(language);
        let touches = |at: usize| {
            let (before, after) = (&text[..at], &text[at + self.name.len()..]);
            before.chars().next_back().is_some_and(is_part) || after.chars().next().is_some_and(is_part)
        };
        let found = self.finder.find_iter(text.as_bytes()).filter(|at| !touches(*at));
        found.map(|at| at..at + self.name.len()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_found() {
        let of = |language: Language, name: &str, text: &str| {
            Word::new(name).places(language, text).iter().map(|range| range.start).collect::<Vec<_>>()
        };
        let places = |name: &str, text: &str| of(Language::TypeScript, name, text);
        assert_eq!(places("a", "a ab ba a.a a_ $a (a) 1a éa a"), vec![0, 8, 10, 19, 29]);
        assert_eq!(places("$a", "$a b$a $a.$a"), vec![0, 7, 10]);
        assert_eq!(places("ab", "abab"), Vec::<usize>::new());
        assert_eq!(of(Language::Rust, "r#fn", "r#fn xr#fn"), vec![0]);
        assert_eq!(of(Language::Bash, "a", "a=1; echo $a ${a}"), vec![0, 11, 15]);
    }
}
