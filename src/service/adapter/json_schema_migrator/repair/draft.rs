//! A value under repair, with the edits that made it. Every change of the value is an edit of the file.

use serde_json::Value;

use super::super::pointer;
use format::document::edit::Edit;

/// Gives the text of a scalar, as the file spells it.
pub(in super::super) type Texts<'d> = &'d dyn Fn(&str) -> Option<&'d str>;

/// A value, or a part of one, under repair.
#[derive(Clone)]
pub(super) struct Draft<'d> {
    /// The value now.
    pub(super) value: Value,
    /// The edits so far; their pointers begin at the whole value.
    pub(super) edits: Vec<Edit>,
    /// The place of this part in the whole value.
    root: String,
    /// Places of values that went elsewhere, with their new ones.
    ways: Vec<(String, String)>,
    texts: Texts<'d>,
}

impl<'d> Draft<'d> {
    pub(super) fn new(value: Value, texts: Texts<'d>) -> Self {
        Draft { value, edits: Vec::new(), root: String::new(), ways: Vec::new(), texts }
    }

    /// A copy of a part, without edits.
    pub(super) fn part(&self, at: &str) -> Self {
        let value = self.get(at).cloned().unwrap_or_default();
        Draft { value, edits: Vec::new(), root: self.whole(at), ways: self.ways.clone(), texts: self.texts }
    }

    /// Takes a repaired part in place of the one at `at`.
    pub(super) fn adopt(&mut self, at: &str, part: Draft<'d>) {
        if let Some(value) = self.value.pointer_mut(at) {
            *value = part.value;
            self.edits.extend(part.edits);
            self.ways = part.ways;
        }
    }

    pub(super) fn get(&self, at: &str) -> Option<&Value> {
        self.value.pointer(at)
    }

    /// The pointer into the whole value.
    pub(super) fn whole(&self, at: &str) -> String {
        format!("{}{at}", self.root)
    }

    /// The text of a scalar in the file; none if it was not there.
    pub(super) fn text(&self, at: &str) -> Option<&'d str> {
        let mut place = self.whole(at);
        for (from, to) in self.ways.iter().rev() {
            if let Some(rest) = place.strip_prefix(to).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                place = format!("{from}{rest}");
            }
        }
        (self.texts)(&place)
    }

    /// Replaces an existing value.
    pub(super) fn set(&mut self, at: &str, value: Value) {
        let pointer = self.whole(at);
        if let Some(place) = self.value.pointer_mut(at) {
            *place = value.clone();
            self.edits.push(Edit::Set { pointer, value });
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
        if self.take(at).is_some() {
            self.edits.push(Edit::Remove { pointer });
        }
    }

    pub(super) fn rename(&mut self, at: &str, key: &str) {
        let pointer = self.whole(at);
        let Some((parent, _)) = pointer::split(at) else { return };
        if let Some(value) = self.take(at) {
            let to = pointer::join(parent, key);
            self.put(&to, value);
            self.ways.push((pointer.clone(), self.whole(&to)));
            self.edits.push(Edit::Rename { pointer, key: key.to_owned() });
        }
    }

    /// Moves a value to a place whose parent exists.
    pub(super) fn relocate(&mut self, from: &str, to: &str) {
        if let Some(value) = self.take(from) {
            self.put(to, value);
            let (from, to) = (self.whole(from), self.whole(to));
            self.ways.push((from.clone(), to.clone()));
            self.edits.push(Edit::Move { from, to });
        }
    }

    pub(super) fn wrap(&mut self, at: &str) {
        let pointer = self.whole(at);
        if let Some(place) = self.value.pointer_mut(at) {
            *place = Value::Array(vec![place.take()]);
            self.ways.push((pointer.clone(), format!("{pointer}/0")));
            self.edits.push(Edit::WrapArray { pointer });
        }
    }

    fn put(&mut self, at: &str, value: Value) -> bool {
        let Some((parent, last)) = pointer::split(at) else { return false };
        match self.value.pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.insert(last, value);
                true
            }
            Some(Value::Array(items)) if pointer::index(&last) == Some(items.len()) => {
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
                let index = pointer::index(&last).filter(|index| *index < items.len())?;
                Some(items.remove(index))
            }
            _ => None,
        }
    }
}
