//! Fixes at pointers, whatever the schema says: rename, move, set, wrap, and maps of values.

use serde_json::Value;

use super::{
    super::{
        kind::{Kind, Tally},
        params::{Fixes, Wrap},
        pointer::{self, Found, Pattern},
        schema::Problem,
    },
    draft::Draft,
};
use crate::base::error::{Code, Error};

/// The fixes at pointers, read once.
#[derive(Debug, Default)]
pub(super) struct Structure {
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
    /// Reads the fixes; a pointer that is none is `invalid_input`.
    pub(super) fn parse(fixes: &Fixes) -> Result<Self, Error> {
        let mut structure = Structure::default();
        for (from, to) in &fixes.rename {
            let pattern = parse("rename", from)?;
            let key = new_key(&pattern, to).ok_or_else(|| {
                let wrong = format!("`fixes.rename` has `{from}` and `{to}`, which is not a name in the same object");
                Error::new(Code::InvalidInput, wrong).hint("give a name, or use `fixes.move` for another place")
            })?;
            structure.rename.push((pattern, key));
        }
        for (from, to) in &fixes.moves {
            let (source, target) = (parse("move", from)?, parse("move", to)?);
            if source.wildcards() < target.wildcards() || source.split().is_none() || target.split().is_none() {
                let wrong = format!("`fixes.move` has `{from}` and `{to}`, which do not name the same places");
                return Err(Error::new(Code::InvalidInput, wrong).hint("give the second as many `*` as the first"));
            }
            structure.moves.push((source, target));
        }
        for (at, value) in &fixes.set {
            structure.set.push((parse("set", at)?, value.clone()));
        }
        if let Some(Wrap::At(pointers)) = &fixes.wrap_array {
            for at in pointers {
                structure.wrap.push(parse("wrap_array", at)?);
            }
        }
        for (at, map) in fixes.values.iter().filter(|(at, _)| !at.starts_with('#')) {
            structure.values.push((parse("enum", at)?, ValueMap::new(map)));
        }
        Ok(structure)
    }

    /// Makes the fixes, in the order rename, move, set, wrap, values.
    pub(super) fn apply(&self, draft: &mut Draft, doubts: &mut Vec<Problem>, tally: &mut Tally) {
        for (pattern, key) in &self.rename {
            for found in pattern.find(&draft.value, false) {
                tally.add(Kind::Rename, rename(draft, doubts, &found.pointer, key));
            }
        }
        for (from, to) in &self.moves {
            // From the end, so that an item that leaves an array does not move the next one.
            for found in from.find(&draft.value, false).iter().rev() {
                tally.add(Kind::Move, relocate(draft, doubts, found, to));
            }
        }
        for (pattern, value) in &self.set {
            for found in pattern.find(&draft.value, true) {
                tally.add(Kind::Set, set(draft, &found.pointer, value));
            }
        }
        for found in self.wrap.iter().flat_map(|pattern| pattern.find(&draft.value, false)).collect::<Vec<_>>() {
            if draft.get(&found.pointer).is_some_and(|value| !value.is_array()) {
                draft.wrap(&found.pointer);
                tally.add(Kind::WrapArray, true);
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
    }
}

fn parse(fix: &str, text: &str) -> Result<Pattern, Error> {
    Pattern::parse(text).ok_or_else(|| {
        Error::new(Code::InvalidInput, format!("`fixes.{fix}` has `{text}`, which is not a JSON Pointer"))
            .hint("begin with `/`, as in `/servers/*/port`")
    })
}

/// The new name that the target of a renaming means; none if it is in another object.
fn new_key(from: &Pattern, to: &str) -> Option<String> {
    let (parent, last) = from.split()?;
    let key = if to.starts_with('/') {
        let target = Pattern::parse(to)?;
        let (beside, key) = target.split()?;
        (beside == parent).then(|| key.to_owned())?
    } else {
        to.to_owned()
    };
    (last != "*" && key != "*").then_some(key)
}

fn set(draft: &mut Draft, at: &str, value: &Value) -> bool {
    match draft.get(at) {
        Some(old) if old == value => return false,
        Some(_) => draft.set(at, value.clone()),
        None => draft.insert(at, value.clone()),
    }
    true
}

fn rename(draft: &mut Draft, doubts: &mut Vec<Problem>, at: &str, key: &str) -> bool {
    let Some((parent, old)) = pointer::split(at) else { return false };
    let Some(Value::Object(map)) = draft.get(parent) else { return false };
    if old == key {
        return false;
    }
    if map.contains_key(key) {
        let reason = format!("both `{old}` and `{key}` exist, so that the name can't change");
        doubts.push(Problem { pointer: at.to_owned(), keyword: "rename".to_owned(), reason });
        return false;
    }
    draft.rename(at, key);
    true
}

fn relocate(draft: &mut Draft, doubts: &mut Vec<Problem>, found: &Found, to: &Pattern) -> bool {
    let (from, target) = (&found.pointer, to.fill(found));
    if *from == target {
        return false;
    }
    match way(draft, from, &target) {
        Ok(missing) => {
            for at in missing.iter().rev() {
                draft.insert(at, Value::Object(serde_json::Map::new()));
            }
            draft.relocate(from, &target);
            true
        }
        Err(reason) => {
            doubts.push(Problem { pointer: from.clone(), keyword: "move".to_owned(), reason });
            false
        }
    }
}

/// The objects that are missing on the way to a place, from the inside; the error is the reason that a value can't go there.
fn way(draft: &Draft, from: &str, target: &str) -> Result<Vec<String>, String> {
    if draft.get(target).is_some() {
        return Err(format!("`{target}` exists already, so that the value can't go there"));
    }
    if target.starts_with(&format!("{from}/")) {
        return Err(format!("`{target}` is inside the value itself"));
    }
    let mut missing = Vec::new();
    let mut parent = pointer::split(target).map(|(parent, _)| parent.to_owned());
    while let Some(at) = parent {
        match draft.get(&at) {
            Some(Value::Object(_)) => break,
            Some(_) => return Err(format!("`{at}` is not an object, so that the value can't go to `{target}`")),
            None => {}
        }
        parent = pointer::split(&at).map(|(parent, _)| parent.to_owned());
        missing.push(at);
    }
    Ok(missing)
}
