//! The form that a fix gives to its matches. With `once`, a match that has it already stays.

use std::borrow::Cow;

use regex::Regex;
use tree_sitter::Node;

use super::{binding::Bindings, pattern::Pattern, tree, unify::unify};
use base::{
    error::{Code, Error},
    language::Language,
};

/// A list after a comma, which may be empty. Then the comma is not needed.
const LIST: &str = r",\s*\$\$\$[A-Z0-9_]+";

/// The code of a fix as patterns; none if the fix is empty.
#[derive(Debug)]
pub(super) struct Form(Vec<Pattern>);

impl Form {
    /// Reads a fix.
    pub(super) fn parse(language: Language, fix: &str) -> Result<Self, Error> {
        let wrong = |message: String| Error::new(Code::InvalidInput, message);
        let list = Regex::new(LIST).map_err(|error| wrong(error.to_string()))?;
        let texts = [Cow::Borrowed(fix), list.replace_all(fix, "")];
        let texts = texts.iter().take(if list.is_match(fix) { 2 } else { 1 }).filter(|text| !text.trim().is_empty());
        let patterns = texts.map(|text| Pattern::parse(language, text, None)).collect::<Result<Vec<_>, Error>>()?;
        match patterns.iter().any(Pattern::is_error) {
            true => Err(wrong(format!("the fix `{fix}` is no code by itself, so that `once` can't be used"))),
            false => Ok(Form(patterns)),
        }
    }

    /// True if a node is part of code that matches the pattern, but not part of a captured variable.
    pub(super) fn has<'t>(&self, text: &str, root: Node<'t>, node: Node<'t>) -> bool {
        let around: Vec<Node<'t>> = [node].into_iter().chain(tree::ancestors(root, node)).collect();
        let is_form = |pattern: &Pattern, whole: Node<'t>| {
            let mut bindings = Bindings::default();
            unify(pattern, text, whole, &mut bindings) && !bindings.hold(&node.byte_range())
        };
        self.0.iter().any(|pattern| around.iter().any(|whole| is_form(pattern, *whole)))
    }
}
