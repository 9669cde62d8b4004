//! A value under repair, with the edits that made it. Every change of the value is an edit of the file.

use serde_json::Value;

use super::super::pointer;
use crate::format::document::edit::Edit;

/// A value, or a part of one, under repair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    /// The value now.
    pub(super) value: Value,
    /// The edits so far; their pointers begin at the whole value.
    pub(super) edits: Vec<Edit>,
    /// The place of this part in the whole value.
    root: String,
    /// The spellings of numbers, by pointer.
    spellings: Vec<(String, String)>,
}

impl Draft {
    pub(super) fn new(value: Value, spellings: Vec<(String, String)>) -> Self {
        Draft { value, edits: Vec::new(), root: String::new(), spellings }
    }

    /// A copy of a part, without edits.
    pub(super) fn part(&self, at: &str) -> Self {
        let value = self.get(at).cloned().unwrap_or_default();
        let spellings = self.spellings.iter();
        let spellings =
            spellings.filter_map(|(place, spelling)| Some((below(place, at)?.to_owned(), spelling.clone())));
        Draft { value, edits: Vec::new(), root: self.whole(at), spellings: spellings.collect() }
    }

    /// Takes a repaired part in place of the one at `at`.
    pub(super) fn adopt(&mut self, at: &str, part: Draft) {
        if let Some(value) = self.value.pointer_mut(at) {
            *value = part.value;
            self.edits.extend(part.edits);
            self.lift(at);
            self.lay(at, part.spellings);
        }
    }

    pub(super) fn get(&self, at: &str) -> Option<&Value> {
        self.value.pointer(at)
    }

    /// The spelling of the number at a place, or of the only one in an array there.
    pub(super) fn spelling(&self, at: &str) -> Option<&str> {
        let found = self.spellings.iter().find(|(place, _)| matches!(below(place, at), Some("" | "/0")));
        found.map(|(_, spelling)| spelling.as_str())
    }

    /// The pointer into the whole value.
    pub(super) fn whole(&self, at: &str) -> String {
        format!("{}{at}", self.root)
    }

    /// Replaces an existing value.
    pub(super) fn set(&mut self, at: &str, value: Value) {
        let pointer = self.whole(at);
        if let Some(place) = self.value.pointer_mut(at) {
            *place = value.clone();
            self.edits.push(Edit::Set { pointer, value });
            self.lift(at);
        }
    }

    /// Adds a member, or an item at the end.
    pub(super) fn insert(&mut self, at: &str, value: Value) {
        let edit = Edit::Insert { pointer: self.whole(at), value: value.clone() };
        if self.put(at, value) {
            self.edits.push(edit);
        }
    }

    pub(super) fn remove(&mut self, at: &str) {
        let pointer = self.whole(at);
        self.lift(at);
        if self.take(at).is_some() {
            self.edits.push(Edit::Remove { pointer });
        }
    }

    pub(super) fn rename(&mut self, at: &str, key: &str) {
        let pointer = self.whole(at);
        let Some((parent, _)) = pointer::split(at) else { return };
        let (target, spellings) = (pointer::join(parent, key), self.lift(at));
        if let Some(value) = self.take(at) {
            self.put(&target, value);
            self.lay(&target, spellings);
            self.edits.push(Edit::Rename { pointer, key: key.to_owned() });
        }
    }

    /// Moves a value to a place whose parent exists.
    pub(super) fn relocate(&mut self, from: &str, to: &str) {
        let edit = Edit::Move { from: self.whole(from), to: self.whole(to) };
        let spellings = self.lift(from);
        if let Some(value) = self.take(from) {
            self.put(to, value);
            self.lay(to, spellings);
            self.edits.push(edit);
        }
    }

    pub(super) fn wrap(&mut self, at: &str) {
        let pointer = self.whole(at);
        if let Some(place) = self.value.pointer_mut(at) {
            *place = Value::Array(vec![place.take()]);
            self.edits.push(Edit::WrapArray { pointer });
            let spellings = self.lift(at);
            self.lay(&format!("{at}/0"), spellings);
        }
    }

    /// Takes the spellings out that are at or below a place.
    fn lift(&mut self, at: &str) -> Vec<(String, String)> {
        let mut lifted = Vec::new();
        self.spellings.retain_mut(|(place, spelling)| match below(place, at) {
            Some(rest) => {
                lifted.push((rest.to_owned(), std::mem::take(spelling)));
                false
            }
            None => true,
        });
        lifted
    }

    fn lay(&mut self, at: &str, spellings: Vec<(String, String)>) {
        self.spellings.extend(spellings.into_iter().map(|(rest, spelling)| (format!("{at}{rest}"), spelling)));
    }

    fn put(&mut self, at: &str, value: Value) -> bool {
        let Some((parent, last)) = pointer::split(at) else { return false };
        match self.value.pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.insert(last, value);
                true
            }
            Some(Value::Array(items)) if last.parse() == Ok(items.len()) => {
                items.push(value);
                true
            }
            _ => false,
        }
    }

    fn take(&mut self, at: &str) -> Option<Value> {
        let (parent, last) = pointer::split(at)?;
        match self.value.pointer_mut(parent)? {
            Value::Object(map) => map.remove(&last),
            Value::Array(items) => {
                let index = last.parse::<usize>().ok().filter(|index| *index < items.len())?;
                let length = items.len();
                let value = items.remove(index);
                for next in index + 1..length {
                    let spellings = self.lift(&format!("{parent}/{next}"));
                    self.lay(&format!("{parent}/{}", next - 1), spellings);
                }
                Some(value)
            }
            _ => None,
        }
    }
}

/// The rest of a pointer to a place at or below another.
fn below<'p>(pointer: &'p str, at: &str) -> Option<&'p str> {
    pointer.strip_prefix(at).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
