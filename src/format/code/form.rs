//! The form that a fix gives to its matches. With `once`, a match that has it already is left as it is.

use std::{borrow::Cow, ops::Range};

use ast_grep_core::{
    Matcher, NodeMatch, Pattern, PatternError,
    meta_var::{MetaVarEnv, MetaVariable},
    tree_sitter::StrDoc,
};

use super::grammar::Grammar;
use base::error::{Code, Error};

/// The fix of a rule as patterns; none for an empty fix, whose form nothing has.
pub(super) struct Form(Vec<Pattern>);

impl Form {
    /// The form of a fix. `invalid_input` if it is not one piece of code.
    pub(super) fn new(language: Grammar, rule: &str, fix: &str) -> Result<Self, Error> {
        if fix.trim().is_empty() {
            return Ok(Form(Vec::new()));
        }
        let wrong = |reason: String| {
            let message = format!("`once` can't look for the fix of the rule `{rule}`: {reason}");
            Error::new(Code::InvalidInput, message).detail("rule", rule).hint(
                "let the fix be one complete piece of code, or narrow the rule so that the new text does not match",
            )
        };
        let mut patterns = Vec::new();
        // Of a list that is left empty the comma before it goes, at the latest when somebody formats the code.
        for text in std::iter::once(fix.to_owned()).chain(without_lists(fix)) {
            match Pattern::try_new(&text, language) {
                Ok(pattern) if pattern.has_error() => {
                    return Err(wrong("it has a syntax error if it stands alone".to_owned()));
                }
                Ok(pattern) => patterns.push(pattern),
                Err(PatternError::MultipleNode(_)) => return Err(wrong("it is several pieces of code".to_owned())),
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        Ok(Form(patterns))
    }

    /// True if a match is, or is within, code of the form. A match within a variable of that code is a match of its own.
    pub(super) fn has(&self, found: &NodeMatch<'_, StrDoc<Grammar>>) -> bool {
        self.0.iter().any(|pattern| Self::has_pattern(pattern, found))
    }

    fn has_pattern(pattern: &Pattern, found: &NodeMatch<'_, StrDoc<Grammar>>) -> bool {
        let node = found.get_node();
        std::iter::once(node.clone()).chain(node.ancestors()).any(|whole| {
            let mut env = Cow::Owned(MetaVarEnv::new());
            pattern.match_node_with_env(whole, &mut env).is_some() && !holds(&env, &found.range())
        })
    }
}

/// True if a range is within the nodes of a variable.
fn holds(env: &MetaVarEnv<'_, StrDoc<Grammar>>, range: &Range<usize>) -> bool {
    let covers = |first: Range<usize>, last: Range<usize>| first.start <= range.start && range.end <= last.end;
    env.get_matched_variables().any(|variable| match variable {
        MetaVariable::Capture(name, _) => env.get_match(&name).is_some_and(|node| covers(node.range(), node.range())),
        MetaVariable::MultiCapture(name) => {
            let nodes = env.get_multiple_matches(&name);
            nodes.first().zip(nodes.last()).is_some_and(|(first, last)| covers(first.range(), last.range()))
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => false,
    })
}

/// True if a match has code that was not understood and belongs to no variable. A pattern goes over it, so that it would be lost.
pub(super) fn has_lost_error(found: &NodeMatch<'_, StrDoc<Grammar>>) -> bool {
    let node = found.get_node();
    node.get_inner_node().has_error()
        && node.dfs().any(|inner| inner.is_error() && !holds(found.get_env(), &inner.range()))
}

/// A fix without the lists that follow a comma, such as `, $$$A`; none if it has no such list.
fn without_lists(fix: &str) -> Option<String> {
    let mut parts = fix.split("$$$");
    let mut out = parts.next()?.to_owned();
    let mut is_changed = false;
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        match out.trim_end().strip_suffix(',') {
            Some(before) => {
                out.truncate(before.len());
                out.push_str(rest);
                is_changed = true;
            }
            None => {
                out.push_str("$$$");
                out.push_str(part);
            }
        }
    }
    is_changed.then_some(out)
}
