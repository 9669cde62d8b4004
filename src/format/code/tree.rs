//! Syntax trees of files, and their errors.

use std::{cell::RefCell, collections::BTreeMap, ops::ControlFlow};

use ast_grep_core::{
    AstGrep, Node,
    tree_sitter::{LanguageExt, StrDoc},
};
use tree_sitter::{ParseOptions, ParseState, Parser};

use super::grammar::Grammar;
use crate::base::{
    error::{Code, Error},
    language::Language,
    pulse::Pulse,
};

/// A text with its syntax tree.
pub(crate) type Tree = AstGrep<StrDoc<Grammar>>;

/// A node of a syntax tree.
pub(crate) type SyntaxNode<'t> = Node<'t, StrDoc<Grammar>>;

thread_local! {
    /// A parser for each language on every thread.
    static PARSERS: RefCell<BTreeMap<Language, Parser>> = const { RefCell::new(BTreeMap::new()) };
}

/// Parses a text. It always succeeds but for an error of `pulse`: what can't be parsed stands in the tree as an error.
pub(crate) fn parse(language: Language, text: &str, pulse: Pulse<'_>) -> Result<Tree, Error> {
    let grammar = Grammar(language);
    let failed = |reason: String| Error::new(Code::Internal, format!("the parser of {} {reason}", language.name()));
    PARSERS.with_borrow_mut(|parsers| {
        let parser = parsers.entry(language).or_default();
        // A cancelled parse would go on with the next text.
        parser.reset();
        parser.set_language(&grammar.get_ts_language()).map_err(|error| failed(format!("can't be used: {error}")))?;
        let mut stopped = None;
        let mut progress = |_: &ParseState| match pulse() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                stopped = Some(error);
                ControlFlow::Break(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let bytes = text.as_bytes();
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        match (tree, stopped) {
            (_, Some(error)) => Err(error),
            (Some(tree), None) => Ok(AstGrep::doc(StrDoc { src: text.to_owned(), lang: grammar, tree })),
            (None, None) => Err(failed("gave no tree".to_owned())),
        }
    })
}

/// True if a part of the text was not understood.
pub(crate) fn has_errors(tree: &Tree) -> bool {
    tree.root().get_inner_node().has_error()
}

/// The lines of the errors of a tree, from 1 and in order; none if the whole text was understood.
pub(crate) fn error_lines(tree: &Tree) -> Vec<u64> {
    let root = tree.root();
    if !root.get_inner_node().has_error() {
        return Vec::new();
    }
    let is_wrong = |node: &SyntaxNode<'_>| node.is_error() || node.is_missing();
    root.dfs().filter(is_wrong).map(|node| node.start_pos().line() as u64 + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_lines() {
        let of = |language, text: &str| error_lines(&parse(language, text, &|| Ok(())).unwrap());
        assert_eq!(of(Language::JavaScript, "let a = 1;\n"), Vec::<u64>::new());
        assert_eq!(of(Language::JavaScript, "let a = 1;\nlet b = ;\n"), vec![2]);
        assert_eq!(of(Language::Python, "def f(:\n    pass\n").first(), Some(&1));
    }

    #[test]
    fn a_pulse_ends_the_parser() {
        let text = "f(".repeat(200_000);
        let stop = || Err(Error::new(Code::Cancelled, "it was cancelled"));
        assert_eq!(parse(Language::JavaScript, &text, &stop).err().map(|error| error.code()), Some(Code::Cancelled));
        assert!(parse(Language::JavaScript, "let a", &|| Ok(())).is_ok());
    }
}
