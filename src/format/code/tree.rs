//! Syntax trees of files, and their errors.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::{ControlFlow, Range},
};

use ast_grep_core::{
    AstGrep, Node,
    tree_sitter::{LanguageExt, StrDoc},
};
use tree_sitter::{InputEdit, ParseOptions, ParseState, Parser, Point};

use super::grammar::Grammar;
use base::{
    error::{Code, Error},
    language::Language,
    pulse::Pulse,
};

/// A text with its syntax tree.
pub type Tree = AstGrep<StrDoc<Grammar>>;

/// A node of a syntax tree.
pub type SyntaxNode<'t> = Node<'t, StrDoc<Grammar>>;

thread_local! {
    /// A parser for each language on every thread.
    static PARSERS: RefCell<BTreeMap<Language, Parser>> = const { RefCell::new(BTreeMap::new()) };
}

/// The tree of a text that was understood as a whole. It makes the parsing of the edited text short.
#[derive(Clone, Debug)]
pub struct Base {
    language: Language,
    tree: tree_sitter::Tree,
}

/// New text in place of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The replaced bytes.
    pub range: Range<usize>,
    /// The number of new bytes.
    pub length: usize,
}

/// Parses a text. It always succeeds but for an error of `pulse`: what can't be parsed stands in the tree as an error.
pub fn parse(language: Language, text: &str, pulse: Pulse<'_>) -> Result<Tree, Error> {
    Ok(of(language, text, parsed(language, (text, &[]), None, pulse)?))
}

/// Parses the code in one range of a text. Its nodes have the places of the whole text.
pub(crate) fn parse_range(
    language: Language,
    text: &str,
    range: tree_sitter::Range,
    pulse: Pulse<'_>,
) -> Result<Tree, Error> {
    Ok(of(language, text, parsed(language, (text, &[range]), None, pulse)?))
}

/// Parses a text as `parse` does, and keeps its tree for edits of the text if all of it was understood.
pub(crate) fn parse_first(language: Language, text: &str, pulse: Pulse<'_>) -> Result<(Tree, Option<Base>), Error> {
    let tree = parsed(language, (text, &[]), None, pulse)?;
    let base = (!tree.root_node().has_error()).then(|| Base { language, tree: tree.clone() });
    Ok((of(language, text, tree), base))
}

/// Parses `text`, which is `before` with one place replaced; none if the result has errors, whose places depend on the way to them.
pub(crate) fn parse_edited(
    base: Base,
    (before, text): (&str, &str),
    replaced: &Replaced,
    pulse: Pulse<'_>,
) -> Result<Option<Tree>, Error> {
    let Base { language, mut tree } = base;
    let Replaced { range, length } = replaced.clone();
    let end = range.start + length;
    tree.edit(&InputEdit {
        start_byte: range.start,
        old_end_byte: range.end,
        new_end_byte: end,
        start_position: point(before, range.start),
        old_end_position: point(before, range.end),
        new_end_position: point(text, end),
    });
    let edited = parsed(language, (text, &[]), Some(&tree), pulse)?;
    Ok((!edited.root_node().has_error()).then(|| of(language, text, edited)))
}

fn of(lang: Language, text: &str, tree: tree_sitter::Tree) -> Tree {
    AstGrep::doc(StrDoc { src: text.to_owned(), lang: Grammar(lang), tree })
}

/// The line and the column of a byte, both from 0.
fn point(text: &str, at: usize) -> Point {
    let before = &text.as_bytes()[..at];
    let begin = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    Point { row: memchr::memchr_iter(b'\n', before).count(), column: at - begin }
}

fn parsed(
    language: Language,
    (text, ranges): (&str, &[tree_sitter::Range]),
    old: Option<&tree_sitter::Tree>,
    pulse: Pulse<'_>,
) -> Result<tree_sitter::Tree, Error> {
    let grammar = Grammar(language);
    let failed = |reason: String| Error::new(Code::Internal, format!("the parser of {} {reason}", language.name()));
    PARSERS.with_borrow_mut(|parsers| {
        let parser = parsers.entry(language).or_default();
        // A cancelled parse would go on with the next text.
        parser.reset();
        parser.set_language(&grammar.get_ts_language()).map_err(|error| failed(format!("can't be used: {error}")))?;
        // No range is the whole text.
        parser.set_included_ranges(ranges).map_err(|error| failed(format!("can't be used: {error}")))?;
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
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), old, Some(options));
        match (tree, stopped) {
            (_, Some(error)) => Err(error),
            (Some(tree), None) => Ok(tree),
            (None, None) => Err(failed("gave no tree".to_owned())),
        }
    })
}

/// True if a part of the text was not understood.
pub(crate) fn has_errors(tree: &Tree) -> bool {
    tree.root().get_inner_node().has_error()
}

/// The lines of the errors of a tree, from 1 and in order; none if the whole text was understood.
pub fn error_lines(tree: &Tree) -> Vec<u64> {
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
    fn an_edited_text_has_the_tree_of_a_new_one() {
        let before = "const a = <p className=\"a b\" id='x'>text {b} {`c`}</p>;\n// é\nf(a, 1);\n";
        let new = ["", "x", "a b", "\"", "'", "{", "</p>", "<i/>", "`", "\\", "//", "a\" b=\"", "é"];
        let shape = |tree: &Tree| tree.root().dfs().map(|node| (node.kind_id(), node.range())).collect::<Vec<_>>();
        let mut reused = 0_u32;
        for (start, _) in before.char_indices() {
            for end in (start..(start + 4).min(before.len())).filter(|end| before.is_char_boundary(*end)) {
                for text in new {
                    let mut after = before.to_owned();
                    after.replace_range(start..end, text);
                    let (_, base) = parse_first(Language::Tsx, before, &|| Ok(())).unwrap();
                    let replaced = Replaced { range: start..end, length: text.len() };
                    let edited = parse_edited(base.unwrap(), (before, &after), &replaced, &|| Ok(())).unwrap();
                    let fresh = parse(Language::Tsx, &after, &|| Ok(())).unwrap();
                    assert_eq!(edited.is_none(), has_errors(&fresh), "{after}");
                    if let Some(edited) = edited {
                        assert_eq!(shape(&edited), shape(&fresh), "{after}");
                        reused += 1;
                    }
                }
            }
        }
        assert!(reused > 100, "{reused}");
        assert!(parse_first(Language::Tsx, "f(", &|| Ok(())).unwrap().1.is_none());
    }

    #[test]
    fn a_pulse_ends_the_parser() {
        let text = "f(".repeat(200_000);
        let stop = || Err(Error::new(Code::Cancelled, "it was cancelled"));
        assert_eq!(parse(Language::JavaScript, &text, &stop).err().map(|error| error.code()), Some(Code::Cancelled));
        assert!(parse(Language::JavaScript, "let a", &|| Ok(())).is_ok());
    }
}
