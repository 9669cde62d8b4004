//! The grounds of a change: the values that the schemas accept without it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::params::{Fixes, RemoveMode},
    cuts::{Changes, pointer},
    difference::Difference,
    expected::{Expected, put, take},
    judge::Judge,
};

/// The largest number of values of a schema that are tried.
const MOST_SAMPLES: usize = 16;

/// The schemas, and what they contain.
pub(super) struct Grounds {
    pub(super) judge: Judge,
    /// The own schemas of the steps.
    steps: Vec<Option<Judge>>,
    /// Every `default`.
    pub(super) defaults: Vec<Value>,
    /// The names in `properties`, and true if there are patterns of names.
    names: (BTreeSet<String>, bool),
    /// Values of several types, and constants of the schemas.
    samples: Vec<Value>,
}

impl Grounds {
    pub(super) fn new(judge: Judge, steps: Vec<Option<Judge>>) -> Self {
        let samples = vec![json!(null), json!(true), json!(0), json!(""), json!([]), json!({})];
        let (defaults, names) = (Vec::new(), (BTreeSet::new(), false));
        let mut grounds = Grounds { judge, steps, defaults, names, samples };
        let files: Vec<Value> = [&grounds.judge]
            .into_iter()
            .chain(grounds.steps.iter().flatten())
            .flat_map(|judge| judge.files.clone())
            .collect();
        files.iter().for_each(|file| grounds.collect(file));
        grounds
    }

    fn collect(&mut self, schema: &Value) {
        match schema {
            Value::Object(map) => {
                self.defaults.extend(map.get("default").cloned());
                let constants = map.get("enum").and_then(Value::as_array).into_iter().flatten().chain(map.get("const"));
                for constant in constants {
                    if self.samples.len() < MOST_SAMPLES && !self.samples.contains(constant) {
                        self.samples.push(constant.clone());
                    }
                }
                self.names.0.extend(
                    map.get("properties").and_then(Value::as_object).into_iter().flat_map(|map| map.keys().cloned()),
                );
                self.names.1 |= map.contains_key("patternProperties");
                map.values().for_each(|value| self.collect(value));
            }
            Value::Array(items) => items.iter().for_each(|value| self.collect(value)),
            _ => {}
        }
    }
}

/// The number of differences from which the violations of the old value count as proof.
const MANY: usize = 64;

/// The values that the schemas judge: the file after the change, and the one at the end of each step with an own schema.
pub(super) struct Worlds<'g> {
    grounds: &'g Grounds,
    worlds: Vec<(&'g Judge, Value, usize)>,
    /// The places where the old value violates the schema, if there are many differences.
    violated: BTreeSet<String>,
}

impl<'g> Worlds<'g> {
    pub(super) fn new(
        grounds: &'g Grounds,
        expected: &Expected<'_>,
        after: &Value,
        differences: &[Difference<'_>],
        changes: &Changes,
    ) -> Self {
        let mut worlds = vec![(&grounds.judge, after.clone(), changes.ways())];
        for halt in &expected.halts {
            let Some(Some(judge)) = grounds.steps.get(halt.step) else { continue };
            let mut value = halt.value.clone();
            for Difference { place, new, .. } in differences {
                change(&mut value, &changes.back(place, halt.ways), *new);
            }
            worlds.push((judge, value, halt.ways));
        }
        let is_many = differences.len() > MANY;
        let violated = if is_many { grounds.judge.violated(&expected.value) } else { BTreeSet::new() };
        Worlds { grounds, worlds, violated }
    }

    /// True if the schema accepts the file without the change at a place.
    ///
    /// Where many values changed, a violation of the old one, outside of alternatives, is proof enough: a trial takes the time
    /// of the whole file.
    pub(super) fn do_without(&self, changes: &Changes, place: &[String], old: Option<&Value>) -> bool {
        !self.violated.contains(&pointer(place)) && self.accept(changes, place, old)
    }

    /// True if every schema accepts its value with another one at a place, or with none.
    fn accept(&self, changes: &Changes, place: &[String], value: Option<&Value>) -> bool {
        self.worlds.iter().all(|(judge, whole, ways)| {
            let mut whole = whole.clone();
            change(&mut whole, &changes.back(place, *ways), value) && judge.accepts(&whole)
        })
    }

    /// True if the schemas treat a member that was removed otherwise than an unknown one. One that they forbid by name may go.
    pub(super) fn know(&self, changes: &Changes, place: &[String], old: &Value, stages: &[&Fixes]) -> bool {
        let Some((name, parent)) = place.split_last() else { return true };
        let (names, has_patterns) = &self.grounds.names;
        if !names.contains(name) && !has_patterns {
            return false;
        }
        let forbids = |(judge, whole, ways): &(&Judge, Value, usize)| {
            let (mut whole, place) = (whole.clone(), changes.back(place, *ways));
            change(&mut whole, &place, Some(old)) && judge.forbids(&whole, &place)
        };
        if self.worlds.iter().any(forbids) {
            return false;
        }
        let mut other = format!("{name}{name}_");
        while names.contains(&other) {
            other.push('_');
        }
        let unknown = [parent, &[other][..]].concat();
        let with = |place: &[String], value: &Value| self.accept(changes, place, Some(value));
        let samples = || self.grounds.samples.iter();
        if stages.iter().any(|fixes| fixes.removes_all()) {
            return samples().any(|sample| with(place, sample) != with(&unknown, sample));
        }
        match stages.iter().any(|fixes| fixes.remove_mode() == Some(RemoveMode::Failing)) {
            true => with(&unknown, old),
            false => samples().any(|sample| with(place, sample)),
        }
    }
}

/// Writes a value to a place, or takes the one there away; false if there is none.
fn change(whole: &mut Value, place: &[String], value: Option<&Value>) -> bool {
    match value {
        Some(value) => put(whole, place, value.clone()),
        None => take(whole, place).is_some(),
    }
}
