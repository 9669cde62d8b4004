//! A file that holds the name: its tokens and their meanings.

use base::{error::Error, language::Language, path::RepoPath, pulse::Pulse};
use format::{
    code::tree,
    name::{
        facts::{Facts, Group},
        script::{self, Change},
        token::{self, Class, Token},
        tree as names,
        word::Word,
    },
};

/// A file that holds the name.
#[derive(Debug)]
pub(super) struct Page {
    /// The file.
    pub(super) path: RepoPath,
    /// Its text.
    pub(super) text: String,
    /// Its language.
    pub(super) language: Language,
    /// Every place of the name, in order.
    pub(super) tokens: Vec<Token>,
    /// The bindings; the error is the reason that they are not known.
    pub(super) facts: Result<Facts, &'static str>,
    /// The first place of the new name in code.
    pub(super) taken: Option<usize>,
    /// True for a file of the target.
    pub(super) is_target: bool,
}

/// Languages whose files name things of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Go.
    Go,
    /// Java.
    Java,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// JavaScript and TypeScript.
    Script,
    /// Any other language, which has no rules of scope here.
    Other(Language),
}

impl Family {
    /// The family of a language.
    pub(super) fn of(language: Language) -> Self {
        match language {
            Language::Go => Family::Go,
            Language::Java => Family::Java,
            Language::Python => Family::Python,
            Language::Rust => Family::Rust,
            Language::JavaScript | Language::Tsx | Language::TypeScript => Family::Script,
            other => Family::Other(other),
        }
    }

    /// The family of a file; none if its language is not known.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        Language::of_path(path).map(Family::of)
    }
}

/// The reason that the bindings of a file are not known which is no code of its language.
pub(super) const SYNTAX_ERROR: &str = "it has a syntax error";

impl Page {
    /// Reads a text; none if it does not hold the name as a whole word. Then it is not parsed.
    pub(super) fn read(
        path: &RepoPath,
        text: &str,
        change: Change<'_>,
        pulse: Pulse<'_>,
    ) -> Result<Option<Self>, Error> {
        let language = Language::of_path(path).unwrap_or(Language::TypeScript);
        let places = Word::new(change.from).places(language, text);
        if places.is_empty() {
            return Ok(None);
        }
        let tree = tree::parse(language, text, pulse)?;
        let tokens = token::tokens(&tree, places);
        let is_code = |token: &Token| token.class == Class::Code && token.is_whole;
        let has_errors = !tree::error_lines(&tree).is_empty();
        let facts = match () {
            // Its own parser knows forms that the grammar lacks, such as `export type *`.
            () if Family::of(language) == Family::Script => {
                let ranges: Vec<_> = tokens.iter().filter(|t| is_code(t)).map(|t| t.range.clone()).collect();
                let facts = script::facts(path, text, change, &ranges);
                if has_errors { facts.map_err(|_| SYNTAX_ERROR) } else { facts }
            }
            () if has_errors => Err(SYNTAX_ERROR),
            () => names::facts(language, &tree, text, change).ok_or("its language has no rules of scope here"),
        };
        let to = token::tokens(&tree, Word::new(change.to).places(language, text));
        let taken = to.iter().find(|token| token.class == Class::Code).map(|token| token.range.start);
        let page = Page { path: path.clone(), text: text.to_owned(), language, tokens, facts, taken, is_target: true };
        pulse().map(|()| Some(page))
    }

    /// The family of its language.
    pub(super) fn family(&self) -> Family {
        Family::of(self.language)
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> u64 {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() as u64
    }

    /// The binding of the file that a place belongs to.
    pub(super) fn group_at(&self, at: usize) -> Option<&Group> {
        self.facts.as_ref().ok()?.groups.iter().find(|group| group.has(at))
    }

    /// True if other files may import a thing of the name.
    pub(super) fn exports(&self) -> bool {
        self.facts.as_ref().is_ok_and(Facts::has_exported)
    }

    /// True if the name occurs in code.
    pub(super) fn is_in_code(&self) -> bool {
        self.tokens.iter().any(|token| token.class == Class::Code)
    }
}

/// Converts a line and a column, counted in characters from 1, to a byte offset. None if the text has no such place.
pub(super) fn byte(text: &str, line: u64, column: u64) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let column = usize::try_from(column).ok()?.checked_sub(1)?;
    let line = text.get(begin..)?.split('\n').next()?;
    let at = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(column)?;
    Some(begin + at)
}
