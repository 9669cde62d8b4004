//! The members that a schema names, at each object of a value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{
        library::Place,
        params::{Draft, RemoveMode},
        pointer::join,
        schema::Schema,
    },
    coerce::is,
};

/// The number of references that are followed without a value between them.
const DEEPEST: usize = 120;

/// The rules for the members of one object, of all subschemas that may apply to it.
#[derive(Default)]
struct Rules<'s> {
    /// The members that a subschema names.
    named: BTreeSet<String>,
    /// True if a subschema speaks of members at all.
    speaks: bool,
    /// True if a subschema admits members that it does not name.
    admits: bool,
    /// The values of `unevaluatedProperties`.
    unevaluated: Vec<Place<'s>>,
}

/// A survey of a value.
struct Names<'s> {
    schema: &'s Schema,
    rules: BTreeMap<String, Rules<'s>>,
    /// The subschemas and places that were visited.
    visited: BTreeSet<(String, String)>,
    /// True if every alternative counts.
    all: bool,
}

/// The members that no subschema names and that may go, as pointers.
///
/// Under `all` these are all of them, and otherwise those that `unevaluatedProperties` rejects. A subschema counts if it may
/// apply: one that the value fails for another reason than its type or a constant member still names its members.
pub(super) fn unnamed(schema: &Schema, place: &Place<'_>, value: &Value, mode: Option<RemoveMode>) -> Vec<String> {
    let mut names = Names { schema, rules: BTreeMap::new(), visited: BTreeSet::new(), all: false };
    names.visit(place, String::new(), value);
    let mut found: Vec<String> = Vec::new();
    for (at, rules) in &names.rules {
        let Some(Value::Object(map)) = value.pointer(at) else { continue };
        let rejects = |rule: &Place<'_>, value: &Value| match rule.node {
            Value::Bool(false) => true,
            _ => mode.is_some() && !schema.accepts_at(rule, value),
        };
        let goes = |value: &Value| {
            (mode == Some(RemoveMode::All) && rules.speaks)
                || (!rules.admits && rules.unevaluated.iter().any(|rule| rejects(rule, value)))
        };
        let unnamed = map.iter().filter(|(name, value)| !rules.named.contains(*name) && goes(value));
        found.extend(unnamed.map(|(name, _)| join(at, name)));
    }
    // What goes with its parent does not go by itself.
    let gone: BTreeSet<String> = found.iter().cloned().collect();
    found.retain(|at| !at.match_indices('/').skip(1).any(|(end, _)| gone.contains(&at[..end])));
    found
}

/// True if a value lacks a member of an earlier one that one of the subschemas names.
pub(super) fn loses(schema: &Schema, places: &[Place<'_>], before: &Value, after: &Value) -> bool {
    let mut names = Names { schema, rules: BTreeMap::new(), visited: BTreeSet::new(), all: true };
    places.iter().for_each(|place| names.visit(place, String::new(), before));
    names.rules.iter().any(|(at, rules)| {
        let members = |value: &Value| -> BTreeSet<String> {
            let map = value.pointer(at).and_then(Value::as_object);
            map.into_iter().flat_map(|map| map.keys().cloned()).collect()
        };
        let (old, new) = (members(before), members(after));
        after.pointer(at).is_some_and(Value::is_object) && old.difference(&new).any(|name| rules.named.contains(name))
    })
}

impl<'s> Names<'s> {
    fn visit(&mut self, place: &Place<'s>, at: String, value: &Value) {
        if !place.node.is_object() || !self.visited.insert((place.location(), at.clone())) {
            return;
        }
        for target in self.schema.library.references(place) {
            self.visit(&target, at.clone(), value);
        }
        if place.node.get("$ref").is_some() && self.schema.library.draft_at(place) <= Draft::Seven {
            return;
        }
        match value {
            Value::Object(map) => self.object(place, &at, map),
            Value::Array(items) => self.array(place, &at, items),
            _ => {}
        }
        place.list("allOf").iter().for_each(|part| self.visit(part, at.clone(), value));
        for branch in ["anyOf", "oneOf"].into_iter().flat_map(|keyword| place.list(keyword)) {
            if self.all || may_mean(self.schema, &branch, value) {
                self.visit(&branch, at.clone(), value);
            }
        }
        if let Some(condition) = place.child(&["if"]) {
            let holds = self.schema.accepts_at(&condition, value);
            let parts = [Some(condition).filter(|_| holds), place.child(&[if holds { "then" } else { "else" }])];
            parts.iter().flatten().for_each(|part| self.visit(part, at.clone(), value));
        }
    }

    fn object(&mut self, place: &Place<'s>, at: &str, map: &serde_json::Map<String, Value>) {
        let others = place.child(&["additionalProperties"]);
        let mut children = Vec::new();
        for (name, value) in map {
            let named = self.schema.named(place, name);
            children.extend(if named.is_empty() { others.clone() } else { None }.map(|part| (name, part, value)));
            if named.iter().any(|part| !self.schema.is_never(part)) {
                self.rules.entry(at.to_owned()).or_default().named.insert(name.clone());
            }
            children.extend(named.into_iter().map(|part| (name, part, value)));
        }
        let rules = self.rules.entry(at.to_owned()).or_default();
        let texts = |list: Option<&Value>| -> Vec<String> {
            let list = list.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        rules.named.extend(texts(place.node.get("required")));
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let keys = place.node.get(keyword).and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
            rules.named.extend(keys.cloned());
        }
        rules.named.extend(texts(place.node.pointer("/propertyNames/enum")));
        let keywords = ["properties", "patternProperties", "additionalProperties"];
        rules.speaks |= keywords.iter().any(|keyword| place.node.get(keyword).is_some());
        let unevaluated = place.child(&["unevaluatedProperties"]);
        let admits = |part: &Option<Place<'_>>| part.as_ref().is_some_and(|part| part.node != &Value::Bool(false));
        rules.admits |= admits(&others) || unevaluated.as_ref().is_some_and(|part| part.node == &Value::Bool(true));
        rules.unevaluated.extend(unevaluated);
        children.into_iter().for_each(|(name, part, value)| self.visit(&part, join(at, name), value));
        for part in self.schema.library.dependents(place, |name| map.contains_key(name)) {
            self.visit(&part, at.to_owned(), &Value::Object(map.clone()));
        }
    }

    fn array(&mut self, place: &Place<'s>, at: &str, items: &[Value]) {
        let (tuple, rest) = place.items();
        for (n, value) in items.iter().enumerate() {
            let own = tuple.get(n).or(rest.as_ref()).cloned();
            for part in [own, place.child(&["contains"])].into_iter().flatten() {
                self.visit(&part, join(at, &n.to_string()), value);
            }
        }
    }
}

/// True unless the type or a constant member says that a value does not mean an alternative.
pub(super) fn may_mean(schema: &Schema, branch: &Place<'_>, value: &Value) -> bool {
    let mut place = branch.clone();
    for _ in 0..DEEPEST {
        let reference = place.node.get("$ref").and_then(Value::as_str);
        match reference.and_then(|reference| schema.library.follow(&place, reference)) {
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
