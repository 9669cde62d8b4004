//! Finds the bytes that the parser doesn't tell: dashes, colons, heads of block scalars, and the ends of blocks.

use std::ops::Range;

use super::super::{
    segments::skip,
    syntax::{Malformed, Syntax},
    tree::{Form, Tree},
};

const EXPLICIT: &str = "the object has a key without a colon behind it";

/// Completes the places of a tree whose document begins at a byte.
pub(super) fn place(text: &str, tree: &mut Tree, start: usize) -> Result<(), Malformed> {
    let start = if text[start..].starts_with('\u{feff}') { start + '\u{feff}'.len_utf8() } else { start };
    let root = tree.root;
    if tree.node(root).form == Form::Absent {
        tree.nodes[root].lock = Some("the document is empty");
    }
    Placing { text, tree }.node(root, start);
    match tree.nodes.iter().find(|node| !text.is_char_boundary(node.span.start) || node.span.end < node.span.start) {
        Some(node) => Err(Malformed::at(text, node.span.start, "the place of a value is unknown")),
        None => Ok(()),
    }
}

struct Placing<'p> {
    text: &'p str,
    tree: &'p mut Tree,
}

impl Placing<'_> {
    /// Places a node whose indicator ends at a byte. Returns the end of its content.
    fn node(&mut self, id: usize, from: usize) -> usize {
        match self.tree.nodes[id].form {
            Form::Absent => self.tree.nodes[id].span = from..from,
            Form::BlockScalar => self.tree.nodes[id].span = self.block_scalar(id, from),
            Form::Scalar | Form::Alias => {}
            Form::Flow | Form::Pair | Form::Block => self.container(id, from),
        }
        self.tree.nodes[id].span.end
    }

    fn container(&mut self, id: usize, from: usize) {
        let is_block = self.tree.nodes[id].form == Form::Block;
        let (mut start, mut end) = (None, from);
        let mut dashes = Vec::new();
        for index in 0..self.tree.nodes[id].n_children() {
            let child = self.tree.nodes[id].child(index);
            let begin = match self.tree.nodes[id].member(index).map(|member| member.key.clone()) {
                Some(key) => {
                    end = self.member(id, child, &key);
                    key.start
                }
                None if is_block => {
                    let dash = self.dash(end);
                    dashes.push(dash);
                    end = self.node(child, dash + 1);
                    dash
                }
                None => {
                    end = self.node(child, end);
                    end
                }
            };
            start.get_or_insert(begin);
        }
        let node = &mut self.tree.nodes[id];
        node.dashes = dashes;
        if is_block || node.form == Form::Pair {
            node.span = start.unwrap_or(from)..end;
        }
    }

    /// Places the value of a key.
    fn member(&mut self, parent: usize, child: usize, key: &Range<usize>) -> usize {
        let before = self.text[..key.start].trim_end_matches([' ', '\t']);
        let after = &self.text[key.end..];
        let blank = after.len() - after.trim_start_matches([' ', '\t']).len();
        let has_colon = after[blank..].starts_with(':');
        if before.ends_with('?') || !has_colon {
            self.tree.nodes[parent].lock.get_or_insert(EXPLICIT);
        }
        if has_colon {
            return self.node(child, key.end + blank + 1);
        }
        // The colon of an explicit key stands on a line of its own, or is absent.
        let colon = skip(Syntax::Yaml, self.text, key.end);
        let is_there = self.text[colon..].starts_with(':');
        self.node(child, if is_there { colon + 1 } else { key.end })
    }

    /// The next dash. The end of the last value may be followed by comments, and the first dash by nothing else.
    fn dash(&self, from: usize) -> usize {
        let mut at = skip(Syntax::Yaml, self.text, from);
        while self.text[at..].starts_with(['&', '!']) {
            let rest = &self.text[at..];
            at += rest.find(char::is_whitespace).unwrap_or(rest.len());
            at = skip(Syntax::Yaml, self.text, at);
        }
        at
    }

    /// From the head of a block scalar to the end of its last line, without that line's end.
    fn block_scalar(&self, id: usize, from: usize) -> Range<usize> {
        let head = self.dash(from);
        let span = self.tree.nodes[id].span.clone();
        let line = &self.text[head..];
        let line = &line[..line.find('\n').unwrap_or(line.len())];
        let keeps = line.split_whitespace().next().is_some_and(|indicator| indicator.contains('+'));
        let content = &self.text[head..span.end.max(head + line.trim_end_matches('\r').len())];
        let end = if keeps {
            content.strip_suffix('\n').map_or(content, |content| content.strip_suffix('\r').unwrap_or(content)).len()
        } else {
            // The parser may go on to the indentation of the next line.
            let is_line_end =
                self.text[head + content.len()..].starts_with(['\n', '\r']) || head + content.len() == self.text.len();
            let lines = if is_line_end { content } else { &content[..content.rfind('\n').unwrap_or(0)] };
            lines.trim_end_matches(['\n', '\r']).len().max(line.trim_end_matches('\r').len())
        };
        head..head + end
    }
}
