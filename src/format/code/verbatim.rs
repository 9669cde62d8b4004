//! The lines that begin within literals, which are never indented anew: their white space is a part of the program's value.
//!
//! ast-grep indents every line of a text that moves. It writes new texts from a copy in which another character stands for the line breaks of
//! literals, so that it sees one line.

use std::ops::Range;

use ast_grep_core::{AstGrep, tree_sitter::StrDoc};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tree_sitter::Node;

use super::{
    grammar::Grammar,
    tree::{self, Tree},
};
use ast_grep_core::language::Language as _;
use base::{
    error::{Code, Error},
    language::Language,
};

/// The character in place of a line break of a literal: one byte, white space for regular expressions, and in no text that is rewritten.
const MARK: u8 = b'\x0b';

/// The bytes before a place within which ast-grep looks for the begin of its line.
const REACH: usize = 512;

/// The kinds of nodes that are literals. A text of JSX is none, nor is one of HTML: their lines lose the white space at their begin.
fn kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Bash => &[
            "ansi_c_string",
            "heredoc_body",
            "heredoc_end",
            "raw_string",
            "regex",
            "string",
            "translated_string",
            "word",
        ],
        Language::C => &["char_literal", "preproc_arg", "string_literal"],
        Language::Cpp => &["char_literal", "preproc_arg", "raw_string_literal", "string_literal"],
        Language::CSharp => &[
            "interpolated_string_expression",
            "preproc_arg",
            "raw_string_literal",
            "string_literal",
            "verbatim_string_literal",
        ],
        Language::Css => &["plain_value", "string_value"],
        Language::Go => &["interpreted_string_literal", "raw_string_literal"],
        Language::Html => &["attribute_value", "quoted_attribute_value", "raw_text"],
        Language::Java | Language::Kotlin => &["string_literal"],
        Language::JavaScript => &["regex", "string", "template_string"],
        Language::Tsx | Language::TypeScript => &["regex", "string", "template_literal_type", "template_string"],
        Language::Json | Language::Python => &["string"],
        Language::Php => &["encapsed_string", "heredoc", "nowdoc", "shell_command_expression", "string"],
        Language::Ruby => &["bare_string", "delimited_symbol", "heredoc_body", "regex", "string", "subshell"],
        Language::Rust => &["raw_string_literal", "string_literal"],
        // Indentation is syntax there, and no part of a value.
        Language::Yaml => &[],
    }
}

/// The literals of a text.
#[derive(Debug, Default)]
pub(super) struct Literals {
    /// The outermost ones, in the order of the text.
    ranges: Vec<Range<usize>>,
    /// The line breaks before lines that begin within one.
    breaks: Vec<usize>,
}

impl Literals {
    /// The literals of a tree.
    pub(super) fn read(language: Language, tree: &Tree) -> Self {
        let mut literals = Literals::default();
        literals.visit(language, tree.source(), tree.root().get_inner_node());
        if matches!(language, Language::Bash | Language::C | Language::Cpp) {
            literals.breaks.extend(joints(tree.source()));
        }
        literals.breaks.sort_unstable();
        literals.breaks.dedup();
        literals
    }

    fn visit(&mut self, language: Language, text: &str, node: Node<'_>) {
        let mut cursor = node.walk();
        loop {
            let node = cursor.node();
            let is_whole = is_literal(language, text, node);
            if language == Language::Yaml && node.kind() == "block_scalar" {
                // What follows a block stands in the line that the block ends with.
                self.breaks.extend(text[..node.end_byte()].ends_with('\n').then(|| node.end_byte() - 1));
            }
            if is_whole {
                let Range { start, end } = node.byte_range();
                // A here-document begins with a line, and so does the word that ends it. White space may be outside of the node.
                let is_line = matches!(node.kind(), "heredoc_body" | "heredoc_end");
                let begin = if is_line { text[..start].trim_ascii_end().len() } else { start };
                let breaks = memchr::memchr_iter(b'\n', &text.as_bytes()[begin..end]).map(|at| begin + at);
                self.breaks.extend(breaks.filter(|at| at + 1 < end.max(start + 1)));
                self.ranges.push(start..end);
            }
            if !is_whole && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// True if a line begins within one.
    pub(super) fn has_lines(&self) -> bool {
        !self.breaks.is_empty()
    }

    /// A copy of a tree for ast-grep to write from; none if no line begins within a literal.
    pub(super) fn marked(&self, tree: &Tree) -> Option<Tree> {
        if self.breaks.is_empty() {
            return None;
        }
        let doc = tree.root().get_doc();
        let mut src = doc.src.clone().into_bytes();
        self.breaks.iter().for_each(|at| src[*at] = MARK);
        let src = String::from_utf8(src).ok()?;
        Some(AstGrep::doc(StrDoc { src, lang: doc.lang, tree: doc.tree.clone() }))
    }

    /// The indentation that ast-grep adds to the lines in place of a match that stands within a literal; none outside.
    pub(super) fn added(&self, text: &str, start: usize) -> Option<usize> {
        let next = self.ranges.partition_point(|range| range.end <= start);
        self.ranges.get(next).filter(|range| range.start < start)?;
        let begin = start.saturating_sub(REACH);
        let before = &text.as_bytes()[begin..start];
        let is_break = |at: &usize| self.breaks.binary_search(&(begin + at)).is_err();
        let line = match memchr::memrchr_iter(b'\n', before).find(is_break) {
            Some(end) => &before[end + 1..],
            None if begin == 0 => before,
            None => &[],
        };
        Some(line.iter().take_while(|byte| **byte == b' ').count())
    }
}

/// The line breaks after a backslash that touches the word before it. Without the spaces after it, the next word would be a part of that one.
fn joints(text: &str) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'\n', text.as_bytes()).filter(|at| {
        let before = text[..*at].trim_end_matches('\r').strip_suffix('\\');
        before.is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_whitespace()))
    })
}

fn is_literal(language: Language, text: &str, node: Node<'_>) -> bool {
    let kind = node.kind();
    let is_plain = node.is_named() && kinds(language).contains(&kind);
    let has_parent = |kind: &str| node.parent().is_some_and(|parent| parent.kind() == kind);
    match (language, kind) {
        (Language::Html, "element") => {
            let name = node.child(0).and_then(|tag| tag.named_child(0)).and_then(|name| text.get(name.byte_range()));
            name.is_some_and(|name| name.eq_ignore_ascii_case("pre") || name.eq_ignore_ascii_case("textarea"))
        }
        (Language::Php, "text") => has_parent("text_interpolation"),
        // Nobody knows what it is.
        (Language::Yaml, _) => false,
        (_, "ERROR") => node.child_count() == 0,
        _ => is_plain,
    }
}

/// True if a new text has lines.
pub(super) fn has_lines(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_some()
}

/// True if a text has the character that stands for line breaks.
pub(super) fn has_mark(text: &[u8]) -> bool {
    memchr::memchr(MARK, text).is_some()
}

/// A new text with its line breaks. `added` is the indentation that its lines have too much.
pub(super) fn unmarked(text: &[u8], added: usize) -> Vec<u8> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut out = lines.next().unwrap_or_default().to_vec();
    for line in lines {
        out.push(b'\n');
        out.extend_from_slice(line.get(added..).unwrap_or_default());
    }
    out.iter_mut().filter(|byte| **byte == MARK).for_each(|byte| *byte = b'\n');
    out
}

/// The fix of a rule as it was written.
pub(super) fn unmarked_text(fix: &str) -> String {
    fix.replace(char::from(MARK), "\n")
}

/// True if two texts differ in the spaces at the begin of their lines alone.
pub(super) fn is_alike(a: &[u8], b: &[u8]) -> bool {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let bare = |line: &[u8]| line.iter().copied().skip_while(|byte| *byte == b' ').collect();
        text.split(|byte| *byte == b'\n').map(bare).collect()
    };
    lines(a) == lines(b)
}

/// The fix of a rule in its serialized form, with marks in place of the line breaks of its literals.
pub(super) fn marked_fix<T: Serialize + DeserializeOwned>(language: Language, fix: &mut T) -> Result<(), Error> {
    let failed = |error: serde_json::Error| Error::new(Code::Internal, format!("a fix can't be read again: {error}"));
    let mut value = serde_json::to_value(&*fix).map_err(failed)?;
    let mut is_changed = false;
    for text in templates(&mut value) {
        if has_mark(text.as_bytes()) {
            return Err(Error::new(Code::InvalidInput, "a fix has a vertical tab")
                .hint("write it as an escape sequence of the language"));
        }
        let marked = marked_text(language, text)?;
        is_changed |= marked != *text;
        *text = marked;
    }
    if is_changed {
        *fix = serde_json::from_value(value).map_err(failed)?;
    }
    Ok(())
}

/// The texts of a fix: of itself, of its `template`, or of those in a list.
pub(super) fn templates(fix: &mut Value) -> Vec<&mut String> {
    match fix {
        Value::String(text) => vec![text],
        Value::Object(object) => object.get_mut("template").map(templates).unwrap_or_default(),
        Value::Array(all) => all.iter_mut().flat_map(templates).collect(),
        _ => Vec::new(),
    }
}

fn marked_text(language: Language, text: &str) -> Result<String, Error> {
    if !has_lines(text.as_bytes()) {
        return Ok(text.to_owned());
    }
    // Variables may get longer, but there are as many lines.
    let prepared = Grammar(language).pre_process_pattern(text).into_owned();
    let tree = tree::parse(language, &prepared, &|| Ok(()))?;
    let literals = Literals::read(language, &tree);
    let kept = memchr::memchr_iter(b'\n', prepared.as_bytes()).map(|at| literals.breaks.binary_search(&at).is_ok());
    let kept: Vec<bool> = kept.collect();
    let mut kept = kept.into_iter();
    let marked = text.bytes().map(|byte| match byte {
        b'\n' if kept.next() == Some(true) => MARK,
        byte => byte,
    });
    String::from_utf8(marked.collect()).map_err(|_| Error::new(Code::Internal, "a mark has cut a character"))
}
