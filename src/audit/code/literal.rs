//! The lines of a text that begin within a literal: of a string, a template, a here-document, or of another piece in which white space counts.
//!
//! A literal is known by the name of its kind, and by its tokens: white space between tokens has no meaning, white space within one has. The
//! proposer has a list of kinds for each language instead.

use std::{cell::OnceCell, collections::BTreeSet, ops::Range};

use tree_sitter::{Node, Tree};

use super::{grammar, layout, tree};
use base::{error::Error, language::Language};

/// Parts of the names of kinds that are literals.
const NAMES: &[&str] = &[
    "string",
    "heredoc",
    "nowdoc",
    "regex",
    "char_literal",
    "character",
    "symbol",
    "subshell",
    "shell_command",
    "template_literal_type",
    "attribute_value",
    "raw_text",
];

/// Kinds whose names say so, and that are code around literals.
const CODE: &[&str] = &[
    "concatenated_string",
    "chained_string",
    "string_array",
    "symbol_array",
    "heredoc_redirect",
    "herestring_redirect",
    "heredoc_beginning",
    "heredoc_start",
];

/// Parts of the names of kinds that are code within a literal.
const INTERPOLATIONS: &[&str] =
    &["interpolation", "interpolated_expression", "template_substitution", "template_type", "command_substitution"];

/// Texts whose lines lose the white space at their begin anyway.
const FLOWING: &[&str] = &["jsx_text", "text"];

/// Elements of pages in which white space counts.
const PREFORMATTED: &[&str] = &["pre", "textarea"];

/// A text with its tree, and the places of its literals. They are looked for when they are asked for.
pub(super) struct Literals<'t> {
    pub(super) text: &'t str,
    language: Language,
    root: Node<'t>,
    places: OnceCell<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// The outermost literals, in the order of the text.
    literals: Vec<Range<usize>>,
    /// The begins of the lines within literals, with those of code within them.
    lines: BTreeSet<usize>,
    /// The begins of the lines without those of code within literals.
    content: BTreeSet<usize>,
}

impl<'t> Literals<'t> {
    /// The literals of a text.
    pub(super) fn new(language: Language, text: &'t str, root: Node<'t>) -> Self {
        Literals { text, language, root, places: OnceCell::new() }
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| Places::read(self.language, self.text, self.root))
    }

    /// True if a line begins at a place within a literal.
    pub(super) fn is_kept(&self, begin: usize) -> bool {
        self.places().lines.contains(&begin)
    }

    /// The lines of a piece of the text.
    pub(super) fn lines(&self, range: Range<usize>) -> Option<layout::Lines> {
        let piece = self.text.get(range.clone())?;
        Some(layout::Lines::new(piece, |begin| self.is_kept(range.start + begin)))
    }

    /// The spaces at the begin of the line of a place.
    pub(super) fn indentation(&self, at: usize) -> usize {
        layout::indentation(self.text, at, |begin| self.is_kept(begin))
    }

    /// The indentation that lines in place of a node get. None for a node within a literal.
    pub(super) fn indentation_of_match(&self, at: usize) -> usize {
        let literals = &self.places().literals;
        let next = literals.partition_point(|literal| literal.end <= at);
        match literals.get(next).is_some_and(|literal| literal.start < at) {
            true => 0,
            false => self.indentation(at),
        }
    }
}

/// The begins of the lines of a text that are kept, and of those within the content of a literal, where code within literals does not count.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// All of them.
    pub(super) lines: BTreeSet<usize>,
    /// Those of content.
    pub(super) content: BTreeSet<usize>,
}

impl Kept {
    /// The lines of a tree.
    pub(super) fn read(language: Language, text: &str, tree: &Tree) -> Self {
        let Places { lines, content, .. } = Places::read(language, text, tree.root_node());
        Kept { lines, content }
    }
}

/// The begins of the lines of a fix that are within a literal.
pub(super) fn of_fix(language: Language, fix: &str) -> Result<BTreeSet<usize>, Error> {
    if !fix.contains('\n') {
        return Ok(BTreeSet::new());
    }
    // A letter in place of `$` may be longer, but no line is added.
    let prepared = grammar::prepared(language, fix);
    let tree = tree::parse(language, &prepared, &|| Ok(()))?;
    let kept = Places::read(language, &prepared, tree.root_node()).lines;
    let begins = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1).collect::<Vec<_>>();
    let pairs = begins(&prepared).into_iter().zip(begins(fix));
    Ok(pairs.filter(|(of_prepared, _)| kept.contains(of_prepared)).map(|(_, begin)| begin).collect())
}

impl Places {
    fn read(language: Language, text: &str, root: Node<'_>) -> Self {
        let mut places = Places::default();
        // Indentation is syntax in YAML, and no part of a value. The line after a block scalar is not its own.
        if language == Language::Yaml {
            let blocks = tree::descend(root).filter(|node| node.kind() == "block_scalar").map(|node| node.end_byte());
            places.lines.extend(blocks.filter(|end| text[..*end].ends_with('\n')));
            return places;
        }
        if [Language::Bash, Language::C, Language::Cpp].contains(&language) {
            places.lines = continued(text);
        }
        for node in tree::descend(root) {
            let (kind, range) = (node.kind(), node.byte_range());
            let is_literal = is_literal(text, node);
            let is_one_line = node.start_position().row == node.end_position().row;
            let Some(inner) = text.get(range.clone()).filter(|_| is_literal || !is_one_line) else { continue };
            let begins = memchr::memchr_iter(b'\n', inner.as_bytes()).map(|end| range.start + end + 1);
            let mut begins: Vec<usize> = begins.filter(|begin| *begin < range.end).collect();
            if is_literal {
                // A here-document begins with its lines, and its end is one. The grammar leaves out the white space before them.
                if kind.contains("heredoc_") {
                    let space = text[..range.start].bytes().rev().take_while(u8::is_ascii_whitespace);
                    let ends = space.enumerate().filter(|(_, byte)| *byte == b'\n');
                    begins.extend(ends.map(|(back, _)| range.start - back));
                }
                places.lines.extend(&begins);
                places.content.extend(begins);
                if places.literals.last().is_none_or(|last| last.end <= range.start) {
                    places.literals.push(range);
                }
            } else if has(kind, INTERPOLATIONS) {
                places.content.retain(|begin| !begins.contains(begin));
            }
        }
        places
    }
}

/// The begins of lines that go on with the word that ends the line before: there is a backslash, and no white space before it.
fn continued(text: &str) -> BTreeSet<usize> {
    let mut begins = BTreeSet::new();
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        begin += line.len();
        let word = line.trim_end_matches(['\n', '\r']).strip_suffix('\\');
        if word.is_some_and(|word| !word.is_empty() && word.trim_end() == word) {
            begins.insert(begin);
        }
    }
    begins
}

fn has(kind: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| kind.contains(part))
}

fn is_literal(text: &str, node: Node<'_>) -> bool {
    let kind = node.kind();
    let is_flowing = FLOWING.contains(&kind) && !is_php_text(node);
    if is_flowing || CODE.contains(&kind) || has(kind, INTERPOLATIONS) || kind.contains("comment") {
        return false;
    }
    let is_token = || {
        let own = tree::text_of(text, node);
        node.child_count() == 0 && own.contains('\n') && (node.is_named() || !own.trim().is_empty())
    };
    node.is_named() && has(kind, NAMES) || is_token() || kind == "element" && is_preformatted(text, node)
}

/// The text between pieces of PHP is printed as it is.
fn is_php_text(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "text_interpolation")
}

fn is_preformatted(text: &str, element: Node<'_>) -> bool {
    let name = element.child(0).and_then(|start| start.named_child(0)).filter(|name| name.kind() == "tag_name");
    name.is_some_and(|name| PREFORMATTED.iter().any(|known| tree::text_of(text, name).eq_ignore_ascii_case(known)))
}
