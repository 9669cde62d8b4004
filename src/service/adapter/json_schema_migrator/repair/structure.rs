//! Applies the fixes at JSON Pointers, regardless of the schema: remove, rename, move, set, wrap, and value maps.
//!
//! The parameters are free of contradictions, so that the fixes of one kind do not meet. A fix that can't be made in a file
//! makes the file one that can't be repaired.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    super::{
        kind::{Kind, Tally},
        params::{Fixes, Wrap},
        pointer::{self, Pattern},
        schema::Problem,
    },
    draft::Draft,
};

/// The fixes at pointers, read once.
#[derive(Debug, Default)]
pub(super) struct Structure {
    remove: Vec<Pattern>,
    rename: Vec<(Pattern, String)>,
    moves: Vec<(Pattern, Pattern)>,
    set: Vec<(Pattern, Value)>,
    wrap: Vec<Pattern>,
    values: Vec<(Pattern, ValueMap)>,
}

/// New values of old ones.
#[derive(Clone, Debug)]
pub(super) struct ValueMap(Vec<(Value, Value)>);

impl ValueMap {
    /// Reads a map whose keys are texts, or the JSON of other values.
    pub(super) fn new(map: &std::collections::BTreeMap<String, Value>) -> Self {
        let pairs = map.iter().flat_map(|(old, new)| {
            let other = serde_json::from_str::<Value>(old).ok().filter(|value| !value.is_string());
            let text = Value::String(old.clone());
            [Some(text), other].into_iter().flatten().map(|old| (old, new.clone())).collect::<Vec<_>>()
        });
        ValueMap(pairs.collect())
    }

    /// The new value.
    pub(super) fn get(&self, old: &Value) -> Option<&Value> {
        self.0.iter().find(|(from, to)| from == old && to != old).map(|(_, to)| to)
    }
}

impl Structure {
    /// Reads the fixes.
    pub(super) fn new(fixes: &Fixes) -> Self {
        let mut rename: Vec<(Pattern, String)> =
            fixes.rename.iter().map(|(from, to)| (Pattern::parse(from), new_name(to))).collect();
        rename.sort_by_key(|(from, _)| from.depth());
        let mut wrap: Vec<Pattern> = match &fixes.wrap_array {
            Some(Wrap::At(pointers)) => pointers.iter().map(|at| Pattern::parse(at)).collect(),
            _ => Vec::new(),
        };
        wrap.sort_by_key(Pattern::depth);
        let values = fixes.values.iter().filter(|(at, _)| !at.starts_with('#'));
        Structure {
            remove: fixes.remove.iter().map(|at| Pattern::parse(at)).collect(),
            rename,
            moves: fixes.moves.iter().map(|(from, to)| (Pattern::parse(from), Pattern::parse(to))).collect(),
            set: fixes.set.iter().map(|(at, value)| (Pattern::parse(at), value.clone())).collect(),
            wrap,
            values: values.map(|(at, map)| (Pattern::parse(at), ValueMap::new(map))).collect(),
        }
    }

    /// Makes the fixes, in the order remove, rename, move, set, wrap, values. The error is one that can't be made in this file.
    pub(super) fn apply(&self, draft: &mut Draft, tally: &mut Tally) -> Result<(), Problem> {
        for pattern in &self.remove {
            for found in pattern.find(&draft.value, false) {
                remove(draft, &found.pointer).map_err(|reason| problem(&found.pointer, "remove", reason))?;
                tally.add(Kind::Remove, true);
            }
        }
        for (pattern, key) in &self.rename {
            for found in pattern.find(&draft.value, false) {
                rename(draft, &found.pointer, key).map_err(|reason| problem(&found.pointer, "rename", reason))?;
                tally.add(Kind::Rename, true);
            }
        }
        for (from, to) in self.ways(&draft.value)? {
            relocate(draft, &from, &to).map_err(|reason| problem(&from, "move", reason))?;
            tally.add(Kind::Move, true);
        }
        for (pattern, value) in &self.set {
            for found in pattern.find(&draft.value, true) {
                tally.add(Kind::Set, put(draft, &found.pointer, value));
            }
        }
        for pattern in &self.wrap {
            for found in pattern.find(&draft.value, false) {
                if draft.get(&found.pointer).is_some_and(|value| !value.is_array()) {
                    draft.wrap(&found.pointer);
                    tally.add(Kind::WrapArray, true);
                }
            }
        }
        for (pattern, map) in &self.values {
            for found in pattern.find(&draft.value, false) {
                if let Some(new) = draft.get(&found.pointer).and_then(|old| map.get(old)).cloned() {
                    draft.set(&found.pointer, new);
                    tally.add(Kind::Enum, true);
                }
            }
        }
        Ok(())
    }

    /// The moves in a value: all old places with their new ones. None of them may lead through another.
    fn ways(&self, value: &Value) -> Result<Vec<(String, String)>, Problem> {
        let found = self.moves.iter().flat_map(|(from, to)| {
            from.find(value, false).into_iter().map(|found| (found.pointer.clone(), to.fill(&found)))
        });
        let ways: Vec<(String, String)> = found.filter(|(from, to)| from != to).collect();
        let sources: BTreeSet<&str> = ways.iter().map(|(from, _)| from.as_str()).collect();
        let targets: BTreeSet<&str> = ways.iter().map(|(_, to)| to.as_str()).collect();
        for (from, to) in &ways {
            let meets = heads(to).any(|head| sources.contains(head)) || heads(from).any(|head| targets.contains(head));
            if meets {
                return Err(problem(from, "move", format!("`{to}` is at, or inside, a value that moves")));
            }
        }
        Ok(ways)
    }
}

/// The name that the target of a renaming means: a name, or a pointer into the same object.
fn new_name(to: &str) -> String {
    match to.starts_with('/') {
        true => pointer::split(to).map(|(_, name)| name).unwrap_or_default(),
        false => to.to_owned(),
    }
}

/// A pointer, and those to the values around it.
fn heads(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(pointer), |pointer| pointer.rsplit_once('/').map(|(head, _)| head))
}

fn problem(pointer: &str, keyword: &str, reason: String) -> Problem {
    Problem { pointer: pointer.to_owned(), keyword: keyword.to_owned(), reason }
}

/// Sets a value whose parent exists; false if it is that already.
pub(super) fn put(draft: &mut Draft, at: &str, value: &Value) -> bool {
    match draft.get(at) {
        Some(old) if old == value => return false,
        Some(_) => draft.set(at, value.clone()),
        None => draft.insert(at, value.clone()),
    }
    true
}

fn remove(draft: &mut Draft, at: &str) -> Result<(), String> {
    match pointer::split(at).and_then(|(parent, _)| draft.get(parent)) {
        Some(Value::Object(_)) => {
            draft.remove(at);
            Ok(())
        }
        _ => Err("it is an item of an array, and only members are removed".to_owned()),
    }
}

fn rename(draft: &mut Draft, at: &str, key: &str) -> Result<(), String> {
    let Some((parent, old)) = pointer::split(at) else { return Ok(()) };
    match draft.get(parent) {
        Some(Value::Object(map)) if map.contains_key(key) => {
            Err(format!("both `{old}` and `{key}` exist, so that the name can't change"))
        }
        Some(Value::Object(_)) => {
            draft.rename(at, key);
            Ok(())
        }
        _ => Err("it is an item of an array, which has no name".to_owned()),
    }
}

fn relocate(draft: &mut Draft, from: &str, to: &str) -> Result<(), String> {
    let home = pointer::split(from).and_then(|(parent, _)| draft.get(parent));
    if !home.is_some_and(Value::is_object) {
        return Err("it is an item of an array, and only members of objects move".to_owned());
    }
    for at in missing(draft, to)?.iter().rev() {
        draft.insert(at, Value::Object(Map::new()));
    }
    draft.relocate(from, to);
    Ok(())
}

/// The objects that are missing on the way to a place, from the inside; the error is the reason that a value can't go there.
fn missing(draft: &Draft, target: &str) -> Result<Vec<String>, String> {
    if draft.get(target).is_some() {
        return Err(format!("`{target}` exists already, so that the value can't go there"));
    }
    let mut missing = Vec::new();
    for at in heads(target).skip(1) {
        match draft.get(at) {
            Some(Value::Object(_)) => break,
            Some(_) => return Err(format!("`{at}` is not an object, so that the value can't go to `{target}`")),
            None => missing.push(at.to_owned()),
        }
    }
    Ok(missing)
}
