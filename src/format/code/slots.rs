//! The places of variables in a fix, and what the text after them does to the code that they stand for.
//!
//! ast-grep joins the two as they are. A list that ends with a comma would get a second one, and a line comment at the end of a list would take
//! in the text after it.

use ast_grep_core::{Node, NodeMatch, meta_var::MetaVariable, tree_sitter::StrDoc};

use super::grammar::Grammar;

type Found<'t> = NodeMatch<'t, StrDoc<Grammar>>;

/// The variables of a fix, in its order.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<Slot>);

#[derive(Debug)]
struct Slot {
    name: String,
    is_list: bool,
    next: Next,
}

/// The text of a fix after a variable, up to the end of the line.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// The fix ends here.
    End,
    /// A line break.
    Break,
    /// A comma is the next character, here or in a later line.
    Comma { is_here: bool },
    /// Other code.
    Code,
}

impl Slots {
    /// The places in a fix.
    pub(super) fn of(fix: &str) -> Self {
        let mut slots = Vec::new();
        let mut rest = fix;
        while let Some(at) = rest.find('$') {
            let after = rest[at..].trim_start_matches('$');
            let is_list = rest.len() - at - after.len() >= 3;
            let end = after.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
            let (name, tail) = after.split_at(end.unwrap_or(after.len()));
            slots.push(Slot { name: name.to_owned(), is_list, next: Next::of(tail) });
            rest = tail;
        }
        slots.retain(|slot| !slot.name.is_empty());
        Slots(slots)
    }

    /// Leaves the comma at the end of a list out of its variable where the fix goes on with one.
    pub(super) fn fit(&self, found: &mut Found<'_>) {
        for slot in self.0.iter().filter(|slot| slot.is_list && matches!(slot.next, Next::Comma { .. })) {
            let mut nodes = found.get_env().get_multiple_matches(&slot.name);
            if nodes.pop_if(|last| last.text() == ",").is_some() && !nodes.is_empty() {
                found.get_env_mut().insert_multi(&slot.name, nodes);
            }
        }
    }

    /// True if code that a variable stands for ends with a line comment, and text would stand after it in its line. `after` is the text of the
    /// file after the edit.
    pub(super) fn has_open_comment(&self, found: &Found<'_>, after: &str) -> bool {
        let env = found.get_env();
        let lasts = env.get_matched_variables().filter_map(|variable| match variable {
            MetaVariable::Capture(name, _) => env.get_match(&name).cloned(),
            MetaVariable::MultiCapture(name) => env.get_multiple_matches(&name).pop(),
            MetaVariable::Dropped(_) | MetaVariable::Multiple => None,
        });
        let comments: Vec<String> = lasts.filter_map(open_comment).collect();
        if comments.is_empty() {
            return false;
        }
        let is_open = |slot: &Slot| {
            let variable = match slot.is_list {
                true => MetaVariable::MultiCapture(slot.name.clone()),
                false => MetaVariable::Capture(slot.name.clone(), false),
            };
            let made = env.get_transformed(&slot.name).map(Vec::as_slice);
            let text = made.or_else(|| env.get_var_bytes(&variable)).unwrap_or_default();
            comments.iter().any(|comment| text.ends_with(comment.as_bytes()))
        };
        self.0.iter().any(|slot| slot.next.is_taken_in(after) && is_open(slot))
    }
}

impl Next {
    fn of(tail: &str) -> Self {
        let line = tail.split('\n').next().unwrap_or_default();
        match (tail.trim_start().starts_with(','), line.trim().is_empty()) {
            (true, is_later) => Next::Comma { is_here: !is_later },
            (false, true) if line.len() == tail.len() => Next::End,
            (false, true) => Next::Break,
            (false, false) => Next::Code,
        }
    }

    /// True if text follows in the same line. `after` is the text of the file after the fix.
    fn is_taken_in(&self, after: &str) -> bool {
        match self {
            Next::End => after.split('\n').next().is_some_and(|line| !line.trim().is_empty()),
            Next::Comma { is_here } => *is_here,
            Next::Break => false,
            Next::Code => true,
        }
    }
}

/// The comment that the code of a node ends with, if the line ends it.
fn open_comment(node: Node<'_, StrDoc<Grammar>>) -> Option<String> {
    let mut at = Some(node);
    while let Some(node) = at {
        if node.kind().contains("comment") {
            let text = node.text().into_owned();
            let is_closed = ["*/", "-->", "\n"].iter().any(|end| text.ends_with(end));
            return (!is_closed).then_some(text);
        }
        at = node.children().last();
    }
    None
}
