//! The places of a file that may differ, as the verifier derives them.

use serde_json::Value;

use audit::document::Cut;

/// The places in the old and the new text that may differ.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Places in the old text.
    pub(super) before: Vec<Cut>,
    /// Places in the new text.
    pub(super) after: Vec<Cut>,
    /// Places of the old text by their place in the value now: renamed and moved ones.
    ways: Vec<(Vec<String>, Vec<String>)>,
}

/// A place as a JSON Pointer.
pub(super) fn pointer(place: &[String]) -> String {
    place.iter().fold(String::new(), |at, token| format!("{at}/{}", token.replace('~', "~0").replace('/', "~1")))
}

impl Changes {
    /// The number of values that went elsewhere so far.
    pub(super) fn ways(&self) -> usize {
        self.ways.len()
    }

    /// The old and new pointers of values that went elsewhere, in their order.
    pub(super) fn pointers(&self) -> Vec<(String, String)> {
        self.ways.iter().map(|(from, to)| (pointer(from), pointer(to))).collect()
    }

    /// The place in the old text of a place in the value now.
    pub(super) fn origin(&self, place: &[String]) -> Vec<String> {
        self.back(place, 0)
    }

    /// The place in the value after the first `ways` values had gone elsewhere.
    pub(super) fn back(&self, place: &[String], ways: usize) -> Vec<String> {
        let mut place = place.to_vec();
        for (from, to) in self.ways[ways..].iter().rev() {
            if place.starts_with(to) {
                place = [from, &place[to.len()..]].concat();
            }
        }
        place
    }

    /// A value was written in place of another, or as a new member.
    pub(super) fn written(&mut self, place: &[String], old: Option<&Value>) {
        match old {
            Some(old) => self.replaced(place, old, Cut::Value),
            None => self.after.push(Cut::Member(pointer(place))),
        }
    }

    /// A value took the place of another.
    pub(super) fn replaced(&mut self, place: &[String], old: &Value, cut: fn(String) -> Cut) {
        let origin = pointer(&self.origin(place));
        // A value without keys and scalars has no text of its own to differ: the text behind its name does.
        if is_empty(old) {
            self.before.push(Cut::Name(origin.clone()));
            self.after.push(Cut::Name(pointer(place)));
        }
        self.before.push(cut(origin));
        self.after.push(cut(pointer(place)));
    }

    /// A member got another name.
    pub(super) fn renamed(&mut self, from: &[String], to: &[String]) {
        self.before.push(Cut::Name(pointer(&self.origin(from))));
        self.carry(from, to);
        self.after.push(Cut::Name(pointer(to)));
    }

    /// A value went elsewhere; the first `known` tokens of its place lead to the first member that is new.
    pub(super) fn relocated(&mut self, from: &[String], to: &[String], known: usize) {
        self.before.push(Cut::Moved(pointer(&self.origin(from))));
        self.carry(from, to);
        (known..=to.len()).for_each(|length| {
            let cut = if length == to.len() { Cut::Moved } else { Cut::Name };
            self.after.push(cut(pointer(&to[..length])));
        });
    }

    /// A value became the item of an array in its place.
    pub(super) fn wrapped(&mut self, place: &[String], old: &Value) {
        let is_full = (old.is_object() || old.is_array()) && !is_empty(old);
        self.replaced(place, old, if is_full { Cut::Wrapped } else { Cut::Value });
        self.ways.push((place.to_vec(), [place, &["0".to_owned()]].concat()));
    }

    /// Later names for the cuts of earlier fixes.
    fn carry(&mut self, from: &[String], to: &[String]) {
        let (old, new) = (pointer(from), pointer(to));
        for cut in &mut self.after {
            let (Cut::Member(place)
            | Cut::Moved(place)
            | Cut::Value(place)
            | Cut::Scalar(place)
            | Cut::Wrapped(place)
            | Cut::Name(place)) = cut;
            if let Some(rest) = place.strip_prefix(&old).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                *place = format!("{new}{rest}");
            }
        }
        self.ways.push((from.to_vec(), to.to_vec()));
    }
}

/// True if a value has neither keys nor scalars.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
