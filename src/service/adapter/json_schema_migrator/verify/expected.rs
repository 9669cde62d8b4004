//! The verifier's own fixes at pointers: the value that a file has before the schema guides any fix.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    super::params::{Fixes, Params, Wrap},
    cuts::Changes,
};

/// A place: the tokens of a pointer.
type Place = Vec<String>;

/// The counts of the fixes at pointers.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// A file after the fixes at pointers, and the stages that it passes.
pub(super) struct Expected<'p> {
    /// The value.
    pub(super) value: Value,
    /// The numbers of fixes.
    pub(super) counts: Counts,
    /// The fixes of every stage.
    pub(super) stages: Vec<&'p Fixes>,
}

/// Makes the fixes at pointers of all stages, and notes the changes of the text.
pub(super) fn expect<'p>(before: &Value, params: &'p Params, changes: &mut Changes) -> Expected<'p> {
    let mut made = Made { value: before.clone(), counts: Counts::new(), changes };
    let mut stages: Vec<&Fixes> = Vec::new();
    if let Some(steps) = &params.fixes.steps {
        let member = tokens(&steps.version_member);
        let version = get(before, &member).cloned().unwrap_or_default();
        if let Some(first) = steps.chain.iter().position(|step| step.from == version) {
            for step in &steps.chain[first..] {
                made.stage(&step.fixes);
                if get(&made.value, &member) != Some(&step.to) && made.write(&member, step.to.clone()) {
                    made.count("fixes_steps");
                }
                stages.push(&step.fixes);
            }
        }
    }
    made.stage(&params.fixes);
    stages.push(&params.fixes);
    let Made { value, counts, .. } = made;
    Expected { value, counts, stages }
}

struct Made<'c> {
    value: Value,
    counts: Counts,
    changes: &'c mut Changes,
}

impl Made<'_> {
    fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    fn stage(&mut self, fixes: &Fixes) {
        for (from, to) in &fixes.rename {
            let name = to.rsplit_once('/').map_or_else(|| to.clone(), |(_, last)| unescaped(last));
            for (place, _) in self.places(from) {
                self.rename(&place, &name);
            }
        }
        for (from, to) in &fixes.moves {
            for (place, stars) in self.places(from).into_iter().rev() {
                self.relocate(&place, to, &stars);
            }
        }
        for (at, value) in &fixes.set {
            let target = tokens(at);
            let places: Vec<Place> = match target.split_last() {
                Some((last, parents)) if last != "*" => {
                    let parents = find(&self.value, parents).into_iter();
                    parents.map(|(place, _)| [place, vec![last.clone()]].concat()).collect()
                }
                _ => find(&self.value, &target).into_iter().map(|(place, _)| place).collect(),
            };
            for place in places {
                if get(&self.value, &place) != Some(value) && self.write(&place, value.clone()) {
                    self.count("fixes_set");
                }
            }
        }
        if let Some(Wrap::At(pointers)) = &fixes.wrap_array {
            for place in pointers.iter().flat_map(|at| self.places(at)).map(|(place, _)| place).collect::<Vec<_>>() {
                match get(&self.value, &place).cloned() {
                    Some(Value::Array(_)) | None => {}
                    Some(value) => {
                        self.write(&place, Value::Array(vec![value]));
                        self.count("fixes_wrap_array");
                    }
                }
            }
        }
        for (at, map) in fixes.values.iter().filter(|(at, _)| !at.starts_with('#')) {
            for (place, _) in self.places(at) {
                let new = get(&self.value, &place).and_then(|old| mapped(map, old));
                if let Some(new) = new {
                    self.write(&place, new);
                    self.count("fixes_enum");
                }
            }
        }
    }

    fn places(&self, pattern: &str) -> Vec<(Place, Vec<String>)> {
        find(&self.value, &tokens(pattern))
    }

    /// Writes a value to a place whose parent exists; false if there is none.
    fn write(&mut self, place: &[String], value: Value) -> bool {
        let existed = get(&self.value, place).is_some();
        let written = put(&mut self.value, place, value);
        if written {
            self.changes.written(place, existed);
        }
        written
    }

    fn rename(&mut self, place: &[String], name: &str) {
        let Some((old, parent)) = place.split_last() else { return };
        let target = [parent, &[name.to_owned()][..]].concat();
        if old == name
            || get(&self.value, &target).is_some()
            || !matches!(get(&self.value, parent), Some(Value::Object(_)))
        {
            return;
        }
        if let Some(value) = take(&mut self.value, place) {
            put(&mut self.value, &target, value);
            self.changes.renamed(place, &target);
            self.count("fixes_rename");
        }
    }

    fn relocate(&mut self, place: &[String], to: &str, stars: &[String]) {
        let mut stars = stars.iter();
        let target: Place = tokens(to)
            .into_iter()
            .map(|token| if token == "*" { stars.next().cloned().unwrap_or(token) } else { token })
            .collect();
        if get(&self.value, &target).is_some() || target.starts_with(place) {
            return;
        }
        let known = (0..target.len()).rev().find(|length| get(&self.value, &target[..*length]).is_some()).unwrap_or(0);
        if !get(&self.value, &target[..known]).is_some_and(Value::is_object) {
            return;
        }
        for length in known + 1..target.len() {
            put(&mut self.value, &target[..length], Value::Object(Map::new()));
        }
        if let Some(value) = take(&mut self.value, place) {
            put(&mut self.value, &target, value);
            self.changes.relocated(place, &target, known + 1);
            self.count("fixes_move");
        }
    }
}

/// The new value that a map has for an old one. Its keys are texts, or the JSON of other values.
pub(super) fn mapped(map: &BTreeMap<String, Value>, old: &Value) -> Option<Value> {
    let new = match old {
        Value::String(text) => map.get(text),
        other => map.get(&other.to_string()).or_else(|| {
            map.iter()
                .find(|(key, _)| serde_json::from_str::<Value>(key).is_ok_and(|key| key == *other))
                .map(|(_, new)| new)
        }),
    };
    new.filter(|new| *new != old).cloned()
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The tokens of a pointer.
pub(super) fn tokens(pointer: &str) -> Place {
    pointer.split('/').skip(1).map(unescaped).collect()
}

/// The value at a place.
pub(super) fn get<'v>(value: &'v Value, place: &[String]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, token| match value {
        Value::Object(map) => map.get(token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Writes a value to a place whose parent exists.
pub(super) fn put(value: &mut Value, place: &[String], new: Value) -> bool {
    let Some((token, rest)) = place.split_first() else {
        *value = new;
        return true;
    };
    match value {
        Value::Object(map) if rest.is_empty() => {
            map.insert(token.clone(), new);
            true
        }
        Value::Object(map) => map.get_mut(token).is_some_and(|child| put(child, rest, new)),
        Value::Array(items) => match token.parse::<usize>() {
            Ok(index) if index == items.len() && rest.is_empty() => {
                items.push(new);
                true
            }
            Ok(index) => items.get_mut(index).is_some_and(|child| put(child, rest, new)),
            Err(_) => false,
        },
        _ => false,
    }
}

/// Takes a value out.
pub(super) fn take(value: &mut Value, place: &[String]) -> Option<Value> {
    match (place, value) {
        ([token], Value::Object(map)) => map.remove(token),
        ([token], Value::Array(items)) => {
            let index = token.parse::<usize>().ok().filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        ([token, rest @ ..], Value::Object(map)) => take(map.get_mut(token)?, rest),
        ([token, rest @ ..], Value::Array(items)) => take(items.get_mut(token.parse::<usize>().ok()?)?, rest),
        (_, _) => None,
    }
}

/// The places that a pattern matches, with the tokens in place of `*`.
fn find(value: &Value, pattern: &[String]) -> Vec<(Place, Vec<String>)> {
    let Some((token, rest)) = pattern.split_first() else { return vec![(Vec::new(), Vec::new())] };
    let below = |name: &str, child: &Value| {
        find(child, rest)
            .into_iter()
            .map(|(place, stars)| {
                let stars = if token == "*" { [vec![name.to_owned()], stars].concat() } else { stars };
                ([vec![name.to_owned()], place].concat(), stars)
            })
            .collect::<Vec<_>>()
    };
    match value {
        Value::Object(map) if token == "*" => map.iter().flat_map(|(name, child)| below(name, child)).collect(),
        Value::Array(items) if token == "*" => {
            items.iter().enumerate().flat_map(|(n, child)| below(&n.to_string(), child)).collect()
        }
        _ => get(value, std::slice::from_ref(token)).map(|child| below(token, child)).unwrap_or_default(),
    }
}
