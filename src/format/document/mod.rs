//! Edits of JSON, YAML and TOML texts that keep every byte they don't address.
//!
//! A [`Document`] is read strictly. Its values are addressed by JSON Pointers (RFC 6901). [`Document::apply`] edits the text
//! by splices and proves the result: it is read again, its value is the expected one, and untouched scalars, keys and
//! comments are spelled as before. An edit that can't be proven is refused, and with it the whole list.
//!
//! | | JSON, JSONC, JSON5 | YAML | TOML |
//! |---|---|---|---|
//! | version | RFC 8259; trailing commas in JSONC | 1.2, core schema, and merge keys | 1.1 |
//! | several documents | | refused | |
//! | refused edits | | at or below used anchors, aliases and tags; of members that a merge key brings | of tables that their headers scatter |
//! | numbers beyond 64 bits | floats | floats | refused |
//! | infinity, not a number | refused | refused | refused |
//! | dates | | strings | strings, as RFC 3339 |
//!
//! Integers from -2⁶³ to 2⁶⁴-1 are exact. `-0` is the float -0.0, and `1.0` is a float. A number that is too large for a
//! 64-bit float, such as `1e400`, is an error.
//!
//! A removed member takes its comma, its line and its comments along. `comments` says which those are.

mod comments;
mod draft;
pub mod edit;
mod expect;
mod flow;
mod json;
mod json5;
mod output;
mod parts;
mod pen;
mod prove;
mod quote;
mod scalar;
mod segments;
mod source;
mod style;
pub mod syntax;
mod toml;
mod tree;
mod write;
mod yaml;

#[cfg(test)]
mod tests;

use std::cell::OnceCell;

use serde_json::Value;

use self::{
    draft::Draft,
    edit::{Edit, Edited, Refused},
    source::Source,
    syntax::{Malformed, Syntax},
    tree::{Form, Shape},
};

/// A document that was read.
#[derive(Debug)]
pub struct Document {
    source: Source,
    /// The places of its line breaks.
    breaks: OnceCell<Vec<usize>>,
}

impl Document {
    /// Reads a text as strictly as its syntax says.
    pub fn parse(syntax: Syntax, text: &str) -> Result<Document, Malformed> {
        Ok(Document { source: Source::read(syntax, text)?, breaks: OnceCell::new() })
    }

    /// The document as a validator sees it.
    pub fn value(&self) -> &Value {
        &self.source.value
    }

    /// The text that was read.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.source.text
    }

    /// The 1-based line of a member's name, or of an item. Values that an alias or a merge key brings stand on its line.
    pub fn line_of(&self, pointer: &str) -> Option<u32> {
        self.source.value.pointer(pointer)?;
        let (_, at, _) = self.nearest(pointer)?;
        let breaks = self.breaks.get_or_init(|| memchr::memchr_iter(b'\n', self.source.text.as_bytes()).collect());
        u32::try_from(breaks.partition_point(|end| *end < at) + 1).ok()
    }

    /// The text of a scalar. A value that an alias or a merge key brings has none.
    pub fn text_of(&self, pointer: &str) -> Option<&str> {
        let (id, _, is_whole) = self.nearest(pointer)?;
        let node = self.source.tree.node(id);
        let is_scalar = is_whole && matches!(node.shape, Shape::Scalar(_)) && node.form == Form::Scalar;
        self.source.text.get(node.span.clone()).filter(|_| is_scalar)
    }

    /// The node at a pointer with the place of its name, or the last one on the way there with false.
    fn nearest(&self, pointer: &str) -> Option<(usize, usize, bool)> {
        let tree = &self.source.tree;
        let mut id = tree.root;
        let mut at = tree.node(id).span.start;
        for token in expect::tokens(pointer).ok()? {
            let next = match &tree.node(id).shape {
                Shape::Scalar(_) => None,
                Shape::Array(items) => {
                    let item = expect::index(&token).and_then(|index| items.get(index).copied());
                    item.map(|item| (item, tree.node(item).span.start))
                }
                Shape::Object(members) => {
                    let member = members.iter().find(|member| member.name == token);
                    member.map(|member| (member.value, member.key.start))
                }
            };
            let Some(next) = next else { return Some((id, at, false)) };
            (id, at) = next;
        }
        Some((id, at, true))
    }

    /// Makes edits in their order. Refuses all of them if one can't be made or proven.
    ///
    /// The time is that of reading the text, and of `log n` an edit.
    pub fn apply(&self, edits: &[Edit]) -> Result<Edited, Refused> {
        let text = &self.source.text;
        if edits.is_empty() {
            return Ok(Edited { text: text.clone(), regions: Vec::new() });
        }
        let mut draft = Draft::new(&self.source.tree);
        for edit in edits {
            draft.edit(edit).map_err(|reason| Refused::new(edit.pointer(), reason))?;
        }
        // Text is written for all edits at once.
        let pointer = if let [edit] = edits { edit.pointer() } else { "" };
        let refuse = |reason: String| Refused::new(pointer, reason);
        draft.check_depth().map_err(refuse)?;
        let edited = write::write(&self.source, &draft).map_err(refuse)?;
        let expected = expect::apply(self.source.value.clone(), edits)?;
        prove::prove(&self.source, &draft, &edited, &expected).map_err(refuse)?;
        Ok(edited)
    }
}
