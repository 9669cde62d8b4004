//! Fixes by the schema: a walk through the value and its subschemas, from the outside to the inside.
//!
//! At each place come the type, then unknown members, then defaults, then the parts, then alternatives. In `anyOf` and `oneOf`
//! fixes are made if exactly one result is possible. Nothing below `not` and `if` is ever fixed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{
        library::Place,
        params::{DefaultMode, Draft as SchemaDraft, Fixes, RemoveMode},
        pointer::join,
        schema::{Problem, Schema},
    },
    coerce::{coerce, is},
    draft::Draft,
    effort::Effort,
    structure::ValueMap,
};

/// The depth of subschemas at which a walk ends.
const DEEPEST: usize = 400;

/// The number of walks after which a value is no longer expected to become valid.
const MOST_WALKS: usize = 6;

/// The fixes by the schema, read once.
#[derive(Debug)]
pub(super) struct Guided<'p> {
    pub(super) fixes: &'p Fixes,
    pub(super) values: BTreeMap<&'p str, ValueMap>,
}

/// A walk, and its value.
pub(super) struct Walk<'w> {
    schema: &'w Schema,
    guided: &'w Guided<'w>,
    draft: Draft,
    /// The members that each object has to have, by pointer.
    required: BTreeMap<String, BTreeSet<String>>,
    doubts: Vec<Problem>,
    /// True within an alternative, in which no default is inserted.
    is_alternative: bool,
    depth: usize,
    effort: &'w Effort<'w>,
}

/// Walks until nothing changes; returns the value and the reasons that fixes were not made.
pub(super) fn walk(schema: &Schema, guided: &Guided<'_>, draft: Draft, effort: &Effort<'_>) -> (Draft, Vec<Problem>) {
    let mut walk = Walk::new(schema, guided, draft, effort);
    let Some(whole) = schema.library.whole() else { return (walk.draft, Vec::new()) };
    for round in 0..MOST_WALKS {
        let before = walk.draft.edits.len();
        walk.doubts.clear();
        walk.visit(&whole, "");
        if guided.fixes.removes() {
            walk.remove_unevaluated();
        }
        // The second walk knows the required members of all subschemas.
        if walk.draft.edits.len() == before && round > 0 {
            break;
        }
    }
    if effort.is_spent() {
        let reason = "its alternatives have too many combinations to try them all".to_owned();
        walk.doubts.push(Problem { pointer: String::new(), keyword: "limit".to_owned(), reason });
    }
    (walk.draft, walk.doubts)
}

impl<'w> Walk<'w> {
    fn new(schema: &'w Schema, guided: &'w Guided<'w>, draft: Draft, effort: &'w Effort<'w>) -> Self {
        let (required, doubts) = (BTreeMap::new(), Vec::new());
        Walk { schema, guided, draft, required, doubts, is_alternative: false, depth: 0, effort }
    }

    fn visit(&mut self, place: &Place<'_>, at: &str) {
        let is_void = self.depth > DEEPEST || self.draft.get(at).is_none() || !place.node.is_object();
        if is_void || !self.effort.spend() {
            return;
        }
        self.depth += 1;
        self.visit_shallow(place, at);
        self.depth -= 1;
    }

    fn visit_shallow(&mut self, place: &Place<'_>, at: &str) {
        let library = &self.schema.library;
        for reference in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let target = place.node.get(reference).and_then(Value::as_str);
            if let Some(target) = target.and_then(|target| library.follow(place, target)) {
                self.visit(&target, at);
            }
        }
        if place.node.get("$ref").is_some() && library.draft_at(place) <= SchemaDraft::Seven {
            return;
        }
        self.mapped(place, at);
        self.typed(place, at);
        match self.draft.get(at) {
            Some(Value::Object(_)) => self.object(place, at),
            Some(Value::Array(_)) => self.array(place, at),
            _ => {}
        }
        for part in place.list("allOf") {
            self.visit(&part, at);
        }
        for keyword in ["anyOf", "oneOf"] {
            self.alternatives(place, keyword, at);
        }
        if let Some(condition) = place.child(&["if"])
            && let Some(value) = self.draft.get(at)
        {
            let branch = if self.schema.accepts_at(&condition, value) { "then" } else { "else" };
            if let Some(branch) = place.child(&[branch]) {
                self.visit(&branch, at);
            }
        }
    }

    /// Replaces a value by the new one of a map for this place in the schema.
    fn mapped(&mut self, place: &Place<'_>, at: &str) {
        if self.guided.values.is_empty() {
            return;
        }
        let map = self.guided.values.get(place.fragment().as_str());
        if let Some(new) = self.draft.get(at).and_then(|old| map?.get(old)).cloned() {
            self.draft.set(at, new);
        }
    }

    fn typed(&mut self, place: &Place<'_>, at: &str) {
        let types: Vec<&str> = match place.node.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return,
        };
        let Some(value) = self.draft.get(at) else { return };
        if types.iter().any(|kind| is(value, kind)) {
            return;
        }
        let fixes = self.guided.fixes;
        if fixes.coerces()
            && let Some(new) = coerce(value, &types, fixes.coerces_arrays(), self.draft.spelling(at))
        {
            self.draft.set(at, new);
        } else if fixes.wraps_anywhere() && types.contains(&"array") {
            self.draft.wrap(at);
        }
    }

    fn object(&mut self, place: &Place<'_>, at: &str) {
        self.require(place.node.get("required"), at);
        for keyword in ["dependentRequired", "dependencies"] {
            let members = place.node.get(keyword).and_then(Value::as_object).into_iter().flatten();
            for (name, names) in members {
                if self.draft.get(&join(at, name)).is_some() {
                    self.require(Some(names), at);
                }
            }
        }
        self.remove_unknown(place, at);
        self.insert_defaults(place, at);
        for (name, part) in self.parts(place, at) {
            self.visit(&part, &join(at, &name));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let names = place.node.get(keyword).and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
            for name in names {
                let is_there = self.draft.get(&join(at, name)).is_some();
                if let Some(part) = place.child(&[keyword, name]).filter(|_| is_there) {
                    self.visit(&part, at);
                }
            }
        }
    }

    /// Notes the members that an object has to have.
    fn require(&mut self, names: Option<&Value>, at: &str) {
        if let Some(names) = names.and_then(Value::as_array) {
            let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
            self.required.entry(self.draft.whole(at)).or_default().extend(names);
        }
    }

    /// The members of an object with the subschemas that rule them.
    fn parts<'s>(&self, place: &Place<'s>, at: &str) -> Vec<(String, Place<'s>)> {
        let Some(Value::Object(map)) = self.draft.get(at) else { return Vec::new() };
        let mut parts = Vec::new();
        for name in map.keys() {
            let known = parts.len();
            parts.extend(place.child(&["properties", name]).map(|part| (name.clone(), part)));
            for pattern in self.schema.patterns(place, name) {
                parts.extend(place.child(&["patternProperties", pattern]).map(|part| (name.clone(), part)));
            }
            if parts.len() == known {
                parts.extend(place.child(&["additionalProperties"]).map(|part| (name.clone(), part)));
            }
        }
        parts
    }

    fn remove_unknown(&mut self, place: &Place<'_>, at: &str) {
        let fixes = self.guided.fixes;
        let Some(Value::Object(map)) = self.draft.get(at) else { return };
        let mode = fixes.remove_mode();
        let all = mode == Some(RemoveMode::All);
        let additional = place.child(&["additionalProperties"]);
        let rules = additional.is_some() || (all && place.node.get("properties").is_some());
        if !fixes.removes() || !rules {
            return;
        }
        let goes = |name: &String| {
            let is_known =
                place.child(&["properties", name]).is_some() || !self.schema.patterns(place, name).is_empty();
            !is_known
                && match &additional {
                    _ if all => true,
                    Some(schema) if schema.node == &Value::Bool(false) => true,
                    Some(schema) => mode == Some(RemoveMode::Failing) && !self.schema.accepts_at(schema, &map[name]),
                    None => false,
                }
        };
        let names: Vec<String> = map.keys().filter(|name| goes(name)).cloned().collect();
        for name in names {
            self.draft.remove(&join(at, &name));
        }
    }

    fn remove_unevaluated(&mut self) {
        for (at, names) in self.schema.unevaluated(&self.draft.value) {
            for name in names {
                self.draft.remove(&join(&at, &name));
            }
        }
    }

    fn insert_defaults(&mut self, place: &Place<'_>, at: &str) {
        let Some(mode) = self.guided.fixes.default_mode().filter(|_| !self.is_alternative) else { return };
        let names: Vec<&String> =
            place.node.get("properties").and_then(Value::as_object).map(|map| map.keys().collect()).unwrap_or_default();
        for name in names {
            let pointer = join(at, name);
            let lacks = match self.draft.get(&pointer) {
                None => {
                    let required = self.required.get(&self.draft.whole(at));
                    mode != DefaultMode::Required || required.is_some_and(|names| names.contains(name))
                }
                Some(value) => mode == DefaultMode::Empty && is_empty(value),
            };
            let default = place.child(&["properties", name]).filter(|_| lacks).and_then(|part| self.default(&part));
            match default.cloned() {
                Some(default) if self.draft.get(&pointer).is_none() => self.draft.insert(&pointer, default),
                Some(default) if self.draft.get(&pointer) != Some(&default) => self.draft.set(&pointer, default),
                Some(_) | None => {}
            }
        }
    }

    /// The default of a subschema, or of the one that it refers to.
    fn default<'s>(&self, place: &Place<'s>) -> Option<&'s Value>
    where
        'w: 's,
    {
        let mut place = place.clone();
        for _ in 0..DEEPEST {
            if let Some(default) = place.node.get("default") {
                return Some(default);
            }
            let reference = place.node.get("$ref").and_then(Value::as_str)?;
            place = self.schema.library.follow(&place, reference)?;
        }
        None
    }

    fn array(&mut self, place: &Place<'_>, at: &str) {
        let keyword = if place.node.get("prefixItems").is_some() { "prefixItems" } else { "items" };
        let tuple = place.list(keyword);
        self.insert_items(place, &tuple, at);
        let items = self.draft.get(at).and_then(Value::as_array).map_or(0, Vec::len);
        let rest = match place.node.get("items") {
            Some(Value::Array(_)) => place.child(&["additionalItems"]),
            _ => place.child(&["items"]),
        };
        for n in 0..items {
            if let Some(part) = tuple.get(n).or(rest.as_ref()) {
                self.visit(part, &join(at, &n.to_string()));
            }
        }
    }

    /// Gives a tuple the defaults of its missing items.
    fn insert_items(&mut self, place: &Place<'_>, tuple: &[Place<'_>], at: &str) {
        let Some(mode) = self.guided.fixes.default_mode().filter(|_| !self.is_alternative) else { return };
        let fewest = place.node.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        for (n, part) in tuple.iter().enumerate() {
            let pointer = join(at, &n.to_string());
            let default = self.default(part).cloned();
            match (self.draft.get(&pointer), default) {
                (Some(value), Some(default)) if mode == DefaultMode::Empty && is_empty(value) => {
                    if *value != default {
                        self.draft.set(&pointer, default);
                    }
                }
                (Some(_), _) => {}
                (None, Some(default)) if mode != DefaultMode::Required || (n as u64) < fewest => {
                    self.draft.insert(&pointer, default);
                }
                (None, _) => return,
            }
        }
    }

    /// Repairs a value that fits no alternative, if exactly one result is possible.
    fn alternatives(&mut self, place: &Place<'_>, keyword: &str, at: &str) {
        let branches = place.list(keyword);
        let Some(value) = self.draft.get(at) else { return };
        if branches.is_empty() || branches.iter().any(|branch| self.schema.accepts_at(branch, value)) {
            return;
        }
        let likely: Vec<bool> = branches.iter().map(|branch| self.may_mean(branch, value)).collect();
        let only = likely.iter().filter(|likely| **likely).count() == 1;
        let mut results: Vec<Draft> = Vec::new();
        for (branch, likely) in branches.iter().zip(likely) {
            let mut trial = Walk::new(self.schema, self.guided, self.draft.part(at), self.effort);
            trial.is_alternative = self.is_alternative || !(only && likely);
            trial.depth = self.depth;
            trial.visit(branch, "");
            // The second visit knows all required members, and the results of the first.
            if !trial.draft.edits.is_empty() || !(trial.is_alternative || trial.required.is_empty()) {
                trial.visit(branch, "");
            }
            let fits = self.schema.accepts_at(branch, &trial.draft.value);
            if fits && results.iter().all(|other| other.value != trial.draft.value) {
                results.push(trial.draft);
            }
        }
        match results.len() {
            0 => {}
            1 => results.into_iter().for_each(|part| self.draft.adopt(at, part)),
            n => {
                let reason = format!("{n} repairs fit different alternatives, and none is preferred");
                self.doubts.push(Problem { pointer: self.draft.whole(at), keyword: keyword.to_owned(), reason });
            }
        }
    }

    /// True unless the type or a constant member says that a value does not mean an alternative.
    fn may_mean(&self, branch: &Place<'_>, value: &Value) -> bool {
        let mut place = branch.clone();
        for _ in 0..DEEPEST {
            let reference = place.node.get("$ref").and_then(Value::as_str);
            match reference.and_then(|reference| self.schema.library.follow(&place, reference)) {
                Some(target) => place = target,
                None => break,
            }
        }
        let has_type = match place.node.get("type") {
            Some(Value::String(kind)) => is(value, kind),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(|kind| is(value, kind)),
            _ => true,
        };
        let properties = place.node.get("properties").and_then(Value::as_object).into_iter().flatten();
        has_type
            && properties.into_iter().all(|(name, part)| match (value.get(name), part.get("const"), part.get("enum")) {
                (Some(member), Some(constant), _) => member == constant,
                (Some(member), None, Some(Value::Array(values))) => values.contains(member),
                (_, _, _) => true,
            })
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value == ""
}
