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
    coerce::{Coerced, coerce, is},
    draft::Draft,
    effort::Effort,
    names::{self, may_mean},
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
struct Walk<'w, 'd> {
    schema: &'w Schema,
    guided: &'w Guided<'w>,
    draft: Draft<'d>,
    /// The whole value before the walk.
    before: &'w Value,
    /// The results of value maps, by pointer. They are not changed any more.
    mapped: BTreeMap<String, Value>,
    /// The members that each object has to have, by pointer.
    required: BTreeMap<String, BTreeSet<String>>,
    doubts: Vec<Problem>,
    conflicts: Vec<Problem>,
    /// True within an alternative, in which no default is inserted.
    is_alternative: bool,
    depth: usize,
    effort: &'w Effort<'w>,
}

/// The result of a walk.
pub(super) struct Walked<'d> {
    /// The value with its edits.
    pub(super) draft: Draft<'d>,
    /// The reasons that fixes were not made.
    pub(super) doubts: Vec<Problem>,
    /// The reasons that the file can't be repaired.
    pub(super) conflicts: Vec<Problem>,
}

/// Walks until nothing changes.
pub(super) fn walk<'d>(schema: &Schema, guided: &Guided<'_>, draft: Draft<'d>, effort: &Effort<'_>) -> Walked<'d> {
    let before = draft.value.clone();
    let mut walk = Walk::new(schema, guided, draft, (&before, effort));
    for round in 0..MOST_WALKS {
        let edits = walk.draft.edits.len();
        walk.doubts.clear();
        schema.library.whole().into_iter().for_each(|whole| walk.round(&whole));
        // The second walk knows the required members of all subschemas.
        if !walk.conflicts.is_empty() || (walk.draft.edits.len() == edits && round > 0) {
            break;
        }
    }
    if effort.is_spent() {
        let reason = "its alternatives have too many combinations to try them all".to_owned();
        walk.doubts.push(Problem { pointer: String::new(), keyword: "limit".to_owned(), reason });
    }
    Walked { draft: walk.draft, doubts: walk.doubts, conflicts: walk.conflicts }
}

impl<'w, 'd> Walk<'w, 'd> {
    fn new(
        schema: &'w Schema,
        guided: &'w Guided<'w>,
        draft: Draft<'d>,
        (before, effort): (&'w Value, &'w Effort<'w>),
    ) -> Self {
        let (mapped, required) = (BTreeMap::new(), BTreeMap::new());
        let (doubts, conflicts, is_alternative, depth) = (Vec::new(), Vec::new(), false, 0);
        Walk { schema, guided, draft, before, mapped, required, doubts, conflicts, is_alternative, depth, effort }
    }

    /// Makes the fixes by a subschema of the value under repair.
    fn round(&mut self, place: &Place<'_>) {
        self.visit(place, "");
        let mode = self.guided.fixes.remove_mode();
        if mode == Some(RemoveMode::All) || (self.guided.fixes.removes() && self.schema.has_unevaluated) {
            for at in names::unnamed(self.schema, place, &self.draft.value, mode) {
                self.draft.remove(&at);
            }
        }
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
        for target in library.references(place) {
            self.visit(&target, at);
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

    /// Replaces a value by the new one of a map for this place in the schema. Old values are those before the walk.
    fn mapped(&mut self, place: &Place<'_>, at: &str) {
        let whole = self.draft.whole(at);
        let map = match self.guided.values.is_empty() {
            true => None,
            false => self.schema.library.fragment(place).and_then(|place| self.guided.values.get(place.as_str())),
        };
        let Some(new) = map.and_then(|map| map.get(self.before.pointer(&whole)?)) else { return };
        match self.mapped.get(&whole) {
            Some(other) if other == new => {}
            Some(_) => {
                let reason = "two places of the schema map it to different values".to_owned();
                self.conflicts.push(Problem { pointer: whole, keyword: "enum".to_owned(), reason });
            }
            None => {
                if self.draft.get(at) != Some(new) {
                    self.draft.set(at, new.clone());
                }
                self.mapped.insert(whole, new.clone());
            }
        }
    }

    fn typed(&mut self, place: &Place<'_>, at: &str) {
        let types: Vec<&str> = match place.node.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return,
        };
        let Some(value) = self.draft.get(at) else { return };
        if types.iter().any(|kind| is(value, kind)) || self.mapped.contains_key(&self.draft.whole(at)) {
            return;
        }
        let fixes = self.guided.fixes;
        let text = |below: &str| self.draft.text(&format!("{at}{below}"));
        let coerced = fixes.coerces().then(|| coerce(value, &types, fixes.coerces_arrays(), &text)).flatten();
        match coerced {
            Some(Coerced::Value(new)) => self.draft.set(at, new),
            Some(Coerced::Array) => self.draft.wrap(at),
            None if fixes.wraps_anywhere() && types.contains(&"array") => self.draft.wrap(at),
            None => {}
        }
    }

    fn object(&mut self, place: &Place<'_>, at: &str) {
        self.require(place.node.get("required"), at);
        for keyword in ["dependentRequired", "dependencies"] {
            let members = place.node.get(keyword).and_then(Value::as_object).into_iter().flatten();
            for (_, names) in members.filter(|(name, _)| self.draft.get(&join(at, name)).is_some()).collect::<Vec<_>>()
            {
                self.require(Some(names), at);
            }
        }
        self.remove_unknown(place, at);
        self.insert_defaults(place, at);
        for (name, part) in self.parts(place, at) {
            self.visit(&part, &join(at, &name));
        }
        for part in self.schema.library.dependents(place, |name| self.draft.get(&join(at, name)).is_some()) {
            self.visit(&part, at);
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
        let others = place.child(&["additionalProperties"]);
        let parts = map.keys().flat_map(|name| {
            let mut parts = self.schema.named(place, name);
            if parts.is_empty() {
                parts.extend(others.clone());
            }
            parts.into_iter().map(|part| (name.clone(), part))
        });
        parts.collect()
    }

    /// Removes the members that the schema forbids by name, and others that `additionalProperties` rejects.
    fn remove_unknown(&mut self, place: &Place<'_>, at: &str) {
        let fixes = self.guided.fixes;
        let Some(Value::Object(map)) = self.draft.get(at).filter(|_| fixes.removes()) else { return };
        let rule = place.child(&["additionalProperties"]);
        let rejects = |rule: &Place<'_>, value: &Value| match rule.node {
            Value::Bool(accepts) => !accepts,
            _ => fixes.remove_mode().is_some() && !self.schema.accepts_at(rule, value),
        };
        let goes = |(name, value): &(&String, &Value)| match self.schema.named(place, name).as_slice() {
            [] => rule.as_ref().is_some_and(|rule| rejects(rule, value)),
            named => named.iter().any(|part| self.schema.is_never(part)),
        };
        let names: Vec<String> = map.iter().filter(goes).map(|(name, _)| name.clone()).collect();
        for name in names {
            self.draft.remove(&join(at, &name));
        }
    }

    fn insert_defaults(&mut self, place: &Place<'_>, at: &str) {
        let Some(mode) = self.guided.fixes.default_mode().filter(|_| !self.is_alternative) else { return };
        let mut names: Vec<&String> =
            place.node.get("properties").and_then(Value::as_object).map(|map| map.keys().collect()).unwrap_or_default();
        let required = place.node.get("required").and_then(Value::as_array);
        let rank = |name: &str| required.and_then(|names| names.iter().position(|other| other == name));
        names.sort_by_cached_key(|name| rank(name).unwrap_or(usize::MAX));
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
        let (tuple, rest) = place.items();
        self.insert_items(place, &tuple, at);
        let items = self.draft.get(at).and_then(Value::as_array).map_or(0, Vec::len);
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
        let likely: Vec<bool> = branches.iter().map(|branch| may_mean(self.schema, branch, value)).collect();
        let only = likely.iter().filter(|likely| **likely).count() == 1;
        let (mut results, mut lossy): (Vec<Walk<'w, 'd>>, bool) = (Vec::new(), false);
        for (branch, likely) in branches.iter().zip(likely) {
            let Some(trial) = self.attempt(branch, at, only && likely) else { continue };
            // A member that another alternative names is not unknown.
            if !(only && likely) && names::loses(self.schema, &branches, value, &trial.draft.value) {
                lossy = true;
            } else if results.iter().all(|other| other.draft.value != trial.draft.value) {
                results.push(trial);
            }
        }
        let reason = match results.len() {
            0 if !lossy => return,
            0 => "an alternative would fit without members that another one names".to_owned(),
            1 => {
                for trial in results {
                    self.draft.adopt(at, trial.draft);
                    self.mapped = trial.mapped;
                }
                return;
            }
            n => format!("{n} repairs fit different alternatives, and none is preferred"),
        };
        self.doubts.push(Problem { pointer: self.draft.whole(at), keyword: keyword.to_owned(), reason });
    }

    /// The value at a place repaired for an alternative; none if it does not fit that then.
    fn attempt(&self, branch: &Place<'_>, at: &str, is_meant: bool) -> Option<Self> {
        let mut trial = Walk::new(self.schema, self.guided, self.draft.part(at), (self.before, self.effort));
        trial.is_alternative = self.is_alternative || !is_meant;
        trial.depth = self.depth;
        trial.mapped.clone_from(&self.mapped);
        trial.round(branch);
        // The second visit knows all required members, and the results of the first.
        if !trial.draft.edits.is_empty() || !(trial.is_alternative || trial.required.is_empty()) {
            trial.round(branch);
        }
        let fits = trial.conflicts.is_empty() && self.schema.accepts_at(branch, &trial.draft.value);
        fits.then_some(trial)
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value == ""
}
