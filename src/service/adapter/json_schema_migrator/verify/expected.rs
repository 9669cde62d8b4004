//! The verifier's own fixes at pointers: the value that a file has before the schema guides any fix.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    super::params::{Fixes, Params, Wrap, tokens},
    cuts::{Changes, pointer},
};
use audit::document::Cut;

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
    /// The stages whose own schema guides fixes.
    pub(super) halts: Vec<Halt>,
}

/// A value before the fixes that the schema of a step guides.
pub(super) struct Halt {
    /// The number of the step.
    pub(super) step: usize,
    /// The value.
    pub(super) value: Value,
    /// The number of values that had gone elsewhere.
    pub(super) ways: usize,
}

/// Makes the fixes at pointers of all stages, and notes the changes of the text. The error is the reason that one can't be made.
pub(super) fn expect<'p>(before: &Value, params: &'p Params, changes: &mut Changes) -> Result<Expected<'p>, String> {
    let mut made = Made { value: before.clone(), counts: Counts::new(), changes };
    let (mut stages, mut halts): (Vec<&Fixes>, Vec<Halt>) = (Vec::new(), Vec::new());
    if let Some(steps) = &params.fixes.steps {
        let member = tokens(&steps.version_member);
        let version = get(before, &member).cloned().unwrap_or_default();
        let passed = steps.chain.iter().enumerate().skip_while(|(_, step)| step.from != version);
        for (n, step) in passed {
            made.stage(&step.fixes)?;
            if get(&made.value, &member) != Some(&step.to) {
                made.write(&member, step.to.clone()).ok_or("the version has no place")?;
                made.count("fixes_steps");
            }
            if step.schema.is_some() && step.fixes.need_schema() {
                halts.push(Halt { step: n, value: made.value.clone(), ways: made.changes.ways() });
            }
            stages.push(&step.fixes);
        }
    }
    made.stage(&params.fixes)?;
    stages.push(&params.fixes);
    let Made { value, counts, .. } = made;
    Ok(Expected { value, counts, stages, halts })
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

    fn stage(&mut self, fixes: &Fixes) -> Result<(), String> {
        for at in &fixes.remove {
            for (place, _) in find(&self.value, &tokens(at)) {
                self.remove(&place)?;
            }
        }
        let mut renamings: Vec<(Place, &String)> = fixes.rename.iter().map(|(from, to)| (tokens(from), to)).collect();
        renamings.sort_by_key(|(from, _)| from.len());
        for (from, to) in renamings {
            let name = if to.starts_with('/') { tokens(to).pop().unwrap_or_default() } else { to.clone() };
            for (place, _) in find(&self.value, &from) {
                self.rename(&place, &name)?;
            }
        }
        self.relocate_all(&fixes.moves)?;
        for (at, value) in &fixes.set {
            for place in self.settable(&tokens(at)) {
                if get(&self.value, &place) != Some(value) && self.write(&place, value.clone()).is_some() {
                    self.count("fixes_set");
                }
            }
        }
        let mut wraps: Vec<Place> = match &fixes.wrap_array {
            Some(Wrap::At(pointers)) => pointers.iter().map(|at| tokens(at)).collect(),
            _ => Vec::new(),
        };
        wraps.sort_by_key(Vec::len);
        for at in wraps {
            for (place, _) in find(&self.value, &at) {
                let value = get(&self.value, &place).filter(|value| !value.is_array()).cloned();
                if let Some(value) = value {
                    self.changes.wrapped(&place, &value);
                    put(&mut self.value, &place, Value::Array(vec![value]));
                    self.count("fixes_wrap_array");
                }
            }
        }
        for (at, map) in fixes.values.iter().filter(|(at, _)| !at.starts_with('#')) {
            for (place, _) in find(&self.value, &tokens(at)) {
                let new = get(&self.value, &place).and_then(|old| mapped(map, old));
                if let Some(new) = new {
                    self.write(&place, new);
                    self.count("fixes_enum");
                }
            }
        }
        Ok(())
    }

    /// The places of values and of missing members that a pattern matches.
    fn settable(&self, pattern: &[String]) -> Vec<Place> {
        let Some((last, parents)) = pattern.split_last().filter(|(last, _)| *last != "*") else {
            return find(&self.value, pattern).into_iter().map(|(place, _)| place).collect();
        };
        let parents = find(&self.value, parents).into_iter().map(|(parent, _)| parent);
        let exists = |parent: &Place| match get(&self.value, parent) {
            Some(Value::Object(_)) => true,
            Some(Value::Array(items)) => position(last).is_some_and(|index| index < items.len()),
            _ => false,
        };
        parents.filter(exists).map(|parent| [parent, vec![last.clone()]].concat()).collect()
    }

    /// Writes a value to a place whose parent exists; none if there is none.
    fn write(&mut self, place: &[String], value: Value) -> Option<()> {
        let old = get(&self.value, place).cloned();
        put(&mut self.value, place, value).then(|| self.changes.written(place, old.as_ref()))
    }

    fn remove(&mut self, place: &[String]) -> Result<(), String> {
        let is_member =
            place.split_last().and_then(|(_, parent)| get(&self.value, parent)).is_some_and(Value::is_object);
        if !is_member || take(&mut self.value, place).is_none() {
            return Err(format!("`{}` can't be removed", pointer(place)));
        }
        self.changes.before.push(Cut::Member(pointer(&self.changes.origin(place))));
        self.count("fixes_remove");
        Ok(())
    }

    fn rename(&mut self, place: &[String], name: &str) -> Result<(), String> {
        let Some((_, parent)) = place.split_last() else { return Ok(()) };
        let target = [parent, &[name.to_owned()][..]].concat();
        if get(&self.value, &target).is_some() || !get(&self.value, parent).is_some_and(Value::is_object) {
            return Err(format!("`{}` can't be renamed to `{name}`", pointer(place)));
        }
        if let Some(value) = take(&mut self.value, place) {
            put(&mut self.value, &target, value);
            self.changes.renamed(place, &target);
            self.count("fixes_rename");
        }
        Ok(())
    }

    fn relocate_all(&mut self, moves: &BTreeMap<String, String>) -> Result<(), String> {
        let mut ways: Vec<(Place, Place)> = Vec::new();
        for (from, to) in moves {
            ways.extend(find(&self.value, &tokens(from)).into_iter().map(|(place, stars)| {
                let mut stars = stars.into_iter();
                let token = |token: String| if token == "*" { stars.next().unwrap_or(token) } else { token };
                (place, tokens(to).into_iter().map(token).collect())
            }));
        }
        ways.retain(|(from, to)| from != to);
        let sources: BTreeSet<&[String]> = ways.iter().map(|(from, _)| from.as_slice()).collect();
        let targets: BTreeSet<&[String]> = ways.iter().map(|(_, to)| to.as_slice()).collect();
        for (from, to) in &ways {
            let meets = |place: &Place, others: &BTreeSet<&[String]>| {
                (0..=place.len()).any(|length| others.contains(&place[..length]))
            };
            if meets(to, &sources) || meets(from, &targets) {
                return Err(format!("the move from `{}` to `{}` meets another", pointer(from), pointer(to)));
            }
        }
        ways.iter().try_for_each(|(from, to)| self.relocate(from, to))
    }

    fn relocate(&mut self, place: &[String], target: &[String]) -> Result<(), String> {
        let known = (0..target.len()).rev().find(|length| get(&self.value, &target[..*length]).is_some()).unwrap_or(0);
        let is_object =
            |place: Option<&[String]>| place.and_then(|place| get(&self.value, place)).is_some_and(Value::is_object);
        let home = place.split_last().map(|(_, parent)| parent);
        if get(&self.value, target).is_some() || !is_object(home) || !is_object(target.get(..known)) {
            return Err(format!("`{}` can't move to `{}`", pointer(place), pointer(target)));
        }
        for length in known + 1..target.len() {
            put(&mut self.value, &target[..length], Value::Object(Map::new()));
        }
        if let Some(value) = take(&mut self.value, place) {
            put(&mut self.value, target, value);
            self.changes.relocated(place, target, known + 1);
            self.count("fixes_move");
        }
        Ok(())
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

/// The index that a token is: digits without a sign and without a zero before others.
fn position(token: &str) -> Option<usize> {
    let is_index = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    token.parse().ok().filter(|_| is_index)
}

/// The value at a place.
pub(super) fn get<'v>(value: &'v Value, place: &[String]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, token| match value {
        Value::Object(map) => map.get(token),
        Value::Array(items) => items.get(position(token)?),
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
        Value::Array(items) => match position(token) {
            Some(index) if index == items.len() && rest.is_empty() => {
                items.push(new);
                true
            }
            Some(index) => items.get_mut(index).is_some_and(|child| put(child, rest, new)),
            None => false,
        },
        _ => false,
    }
}

/// Takes a value out.
pub(super) fn take(value: &mut Value, place: &[String]) -> Option<Value> {
    match (place, value) {
        ([token], Value::Object(map)) => map.remove(token),
        ([token], Value::Array(items)) => {
            let index = position(token).filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        ([token, rest @ ..], Value::Object(map)) => take(map.get_mut(token)?, rest),
        ([token, rest @ ..], Value::Array(items)) => take(items.get_mut(position(token)?)?, rest),
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
