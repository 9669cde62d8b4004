//! The order in which things are read that refer to each other: a thing stands after those that it refers to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{grammar::Variable, reader::wrong};
use base::error::Error;

/// The names that a thing refers to.
pub(super) struct Dependencies(BTreeSet<String>);

impl Dependencies {
    /// The rules that a node has to fulfil for a rule. A relation looks at other nodes, so that a rule may lead to itself by it.
    pub(super) fn of_rule(rule: &Value) -> Self {
        let mut names = BTreeSet::new();
        collect(rule, &mut names);
        Dependencies(names)
    }

    /// The utilities that a utility refers to.
    pub(super) fn of_utility(object: &Map<String, Value>, parameters: &[String]) -> Self {
        let mut names = BTreeSet::new();
        if let Some(rule) = object.get("rule") {
            collect(rule, &mut names);
        }
        for key in ["constraints", "utils"] {
            let rules = object.get(key).and_then(Value::as_object);
            rules.into_iter().flat_map(Map::values).for_each(|rule| collect(rule, &mut names));
        }
        names.retain(|name| !parameters.contains(name));
        Dependencies(names)
    }

    /// The variable that a text is made of.
    pub(super) fn of_variable(variable: &Variable) -> Self {
        match variable {
            Variable::One { name, .. } | Variable::Many(name) => Dependencies(BTreeSet::from([name.clone()])),
            Variable::AnyOne { .. } | Variable::AnyMany => Dependencies(BTreeSet::new()),
        }
    }
}

fn collect(rule: &Value, names: &mut BTreeSet<String>) {
    match rule.get("matches") {
        Some(Value::String(name)) => {
            names.insert(name.clone());
        }
        Some(Value::Object(calls)) => {
            for (name, arguments) in calls {
                names.insert(name.clone());
                arguments.as_object().into_iter().flat_map(Map::values).for_each(|rule| collect(rule, names));
            }
        }
        _ => {}
    }
    for key in ["all", "any"] {
        rule.get(key).and_then(Value::as_array).into_iter().flatten().for_each(|rule| collect(rule, names));
    }
    if let Some(rule) = rule.get("not") {
        collect(rule, names);
    }
}

/// The names of things in an order in which each stands after those that it refers to; an error if there is none.
pub(super) fn sorted<T>(
    things: &BTreeMap<String, T>,
    dependencies: impl Fn(&T) -> Result<Dependencies, Error>,
) -> Result<Vec<String>, Error> {
    let mut left = BTreeMap::new();
    for (name, thing) in things {
        let Dependencies(mut names) = dependencies(thing)?;
        names.retain(|name| things.contains_key(name));
        left.insert(name, names);
    }
    let mut order: Vec<String> = Vec::with_capacity(left.len());
    while let Some(first) = left.keys().next().copied() {
        let free = left.iter().find(|(_, names)| names.iter().all(|name| !left.contains_key(name)));
        let name = free.map(|(name, _)| *name).ok_or_else(|| wrong(format!("`{first}` refers to itself")))?;
        left.remove(name);
        order.push(name.clone());
    }
    Ok(order)
}
