//! Fixes that contradict each other or can't be made at all: they are refused before any file is read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::wire::{Fixes, Params, Steps, Wrap};
use base::error::{Code, Error};

/// The kinds of fixes at pointers, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Remove,
    Rename,
    Move,
    Set,
    Wrap,
    Enum,
}

/// A fix at a pointer, as the places that it reads and writes. A token `*` is any one member or item.
struct Act {
    kind: Kind,
    /// The parameter and the pointer, for messages.
    name: String,
    /// The place that is free after the fix.
    from: Option<Vec<String>>,
    /// The place that the fix writes.
    to: Vec<String>,
}

/// `invalid_input` if fixes contradict each other, or steps do not form a chain.
pub(super) fn check(params: &Params) -> Result<(), Error> {
    let version = params.fixes.steps.as_ref().map(|steps| steps.version_member.as_str());
    check_stage(&params.fixes, version)?;
    params.fixes.steps.as_ref().map_or(Ok(()), |steps| check_steps(steps, version))
}

fn check_steps(steps: &Steps, version: Option<&str>) -> Result<(), Error> {
    if tokens(&steps.version_member).contains(&"*".to_owned()) {
        return Err(refuse("`fixes.steps.version_member` has a `*`", "name one member, as in `/version`"));
    }
    for (n, step) in steps.chain.iter().enumerate() {
        let name = format!("the step from {} to {}", step.from, step.to);
        if step.fixes.steps.is_some() {
            return Err(refuse(format!("{name} has steps of its own"), "put all steps into one chain"));
        }
        if steps.chain[..=n].iter().any(|earlier| earlier.from == step.to) {
            return Err(refuse(
                format!("{name} leads back to an earlier version"),
                "let each step lead to a new version",
            ));
        }
        let Some(next) = steps.chain.get(n + 1) else { continue };
        if next.from != step.to {
            let gap = format!("{name} is followed by one from {}", next.from);
            return Err(refuse(gap, "let each step begin at the version that the one before leads to"));
        }
        if step.schema.is_none() && step.fixes.need_schema() {
            let what = "has fixes by the schema and no schema";
            return Err(refuse(
                format!("{name} {what}"),
                "give the step the `schema` of its version, or move `coerce`, `defaults` and others to the last step",
            ));
        }
    }
    steps.chain.iter().try_for_each(|step| check_stage(&step.fixes, version))
}

fn check_stage(fixes: &Fixes, version: Option<&str>) -> Result<(), Error> {
    let mut acts = acts(fixes)?;
    acts.extend(version.map(|at| Act::at(Kind::Set, "steps.version_member", at)));
    fixes.values.iter().try_for_each(|(at, map)| check_map(at, map))?;
    for (n, first) in acts.iter().enumerate() {
        for second in &acts[n + 1..] {
            let reason = match first.kind == second.kind {
                true => rivals(first, second).or_else(|| rivals(second, first)),
                false => conflict(first, second),
            };
            if let Some(reason) = reason {
                return Err(refuse(
                    format!("{} and {} contradict each other: {reason}", first.name, second.name),
                    "make one fix of the two; a pointer speaks of the file after the fixes before it: rename, move, set, \
                     wrap_array, enum",
                ));
            }
        }
    }
    Ok(())
}

fn acts(fixes: &Fixes) -> Result<Vec<Act>, Error> {
    let removed = |at: &String| Act { from: Some(tokens(at)), ..Act::at(Kind::Remove, "remove", at) };
    let mut acts: Vec<Act> = fixes.remove.iter().map(removed).collect();
    for (from, to) in &fixes.rename {
        acts.push(Act { to: renamed(from, to)?, from: Some(tokens(from)), ..Act::at(Kind::Rename, "rename", from) });
    }
    for (from, to) in &fixes.moves {
        let act = Act { to: tokens(to), from: Some(tokens(from)), ..Act::at(Kind::Move, "move", from) };
        check_move(&act, from, to)?;
        acts.push(act);
    }
    acts.extend(fixes.set.keys().map(|at| Act::at(Kind::Set, "set", at)));
    if let Some(Wrap::At(pointers)) = &fixes.wrap_array {
        acts.extend(pointers.iter().map(|at| Act::at(Kind::Wrap, "wrap_array", at)));
    }
    let values = fixes.values.iter().filter(|(at, _)| !at.starts_with('#'));
    acts.extend(values.map(|(at, _)| Act::at(Kind::Enum, "enum", at)));
    match acts.iter().find(|act| !act.is_pointer()) {
        Some(act) => {
            Err(refuse(format!("{} is not a JSON Pointer", act.name), "begin with `/`, as in `/servers/*/port`"))
        }
        None => Ok(acts),
    }
}

/// The place of a member after its renaming.
fn renamed(from: &str, to: &str) -> Result<Vec<String>, Error> {
    let wrong = |what: &str| {
        let wrong = format!("`fixes.rename` has `{from}` and `{to}`, which {what}");
        refuse(wrong, "give a name, as in {\"/port\": \"listen\"}, or use `fixes.move` for another place")
    };
    let place = tokens(from);
    let Some((last, parent)) = place.split_last() else { return Err(wrong("do not name a member")) };
    let target = if to.starts_with('/') { tokens(to) } else { [parent, &[to.to_owned()][..]].concat() };
    match target.split_last() {
        Some((name, beside)) if beside == parent && name != "*" && last != "*" => match name == last {
            true => Err(wrong("are the same name")),
            false => Ok(target),
        },
        _ => Err(wrong("is not a name in the same object")),
    }
}

fn check_move(act: &Act, from: &str, to: &str) -> Result<(), Error> {
    let source = act.from.as_deref().unwrap_or_default();
    let stars = |place: &[String]| place.iter().filter(|token| *token == "*").count();
    let wrong = |what: &str, hint: &str| Err(refuse(format!("`fixes.move` has `{from}` and `{to}`, {what}"), hint));
    if stars(source) != stars(&act.to) {
        return wrong("which do not name the same number of places", "give the second as many `*` as the first");
    }
    if source.starts_with(&act.to) || act.to.starts_with(source) {
        return wrong("one of which is inside the other", "move the value to a place beside the old one");
    }
    Ok(())
}

/// Two keys of a map may be the same value: `1` and ` 1`.
fn check_map(at: &str, map: &BTreeMap<String, Value>) -> Result<(), Error> {
    let mut known: Vec<(Value, &Value)> = Vec::new();
    for (key, new) in map {
        let Ok(old) = serde_json::from_str::<Value>(key) else { continue };
        if known.iter().any(|(other, result)| *other == old && *result != new) {
            return Err(refuse(
                format!("`{at}` of `fixes.enum` has two new values of {old}"),
                "give each old value one new value",
            ));
        }
        known.push((old, new));
    }
    Ok(())
}

/// The reason that two fixes of one kind contradict each other.
fn rivals(first: &Act, second: &Act) -> Option<&'static str> {
    match first.kind {
        // Outer members are renamed before inner ones.
        Kind::Rename if first.to.len() > second.to.len() => None,
        Kind::Rename if first.to.len() < second.to.len() => conflict(first, second),
        Kind::Rename => conflict(first, second).or_else(|| overlap(&first.to, &second.to).then_some(ONE_PLACE)),
        Kind::Move | Kind::Set | Kind::Enum => {
            let places = |act: &Act| [act.from.clone(), Some(act.to.clone())].into_iter().flatten().collect::<Vec<_>>();
            let (first, second) = (places(first), places(second));
            let collide = first.iter().any(|one| second.iter().any(|other| is_within(one, other)));
            collide.then_some("a place of one is a place of the other, or inside of it")
        }
        Kind::Remove | Kind::Wrap => None,
    }
}

const ONE_PLACE: &str = "both write the same place";

/// The reason that a fix contradicts a later one.
fn conflict(first: &Act, second: &Act) -> Option<&'static str> {
    // A value may go to the place of a member that is removed.
    let free = if first.kind == Kind::Remove && second.from.is_some() { None } else { Some(&second.to) };
    let ends: Vec<&Vec<String>> = second.from.iter().chain(free).collect();
    if first.from.as_ref().is_some_and(|gone| ends.iter().any(|place| is_gone(place, gone))) {
        return Some("the first leaves nothing at a place of the second");
    }
    match (first.kind, second.kind) {
        (Kind::Rename | Kind::Move, Kind::Rename | Kind::Move)
            if second.from.as_ref().is_some_and(|from| overlap(from, &first.to)) =>
        {
            Some("the second takes what the first gives")
        }
        (Kind::Rename | Kind::Move, Kind::Move | Kind::Set) if is_within(&first.to, &second.to) => {
            Some("the second writes over what the first gives")
        }
        (Kind::Set, Kind::Wrap | Kind::Enum) if is_within(&second.to, &first.to) => {
            Some("the second changes what the first sets")
        }
        (Kind::Wrap, Kind::Enum) if overlap(&second.to, &first.to) => {
            Some("the value is an array by then; write `/*` at the end of the second for its items")
        }
        (_, _) => None,
    }
}

/// True if two patterns may match one place.
fn overlap(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other || one == "*" || other == "*")
}

/// True if the first pattern may match a place that the second matches, or one inside of it.
fn is_within(inner: &[String], outer: &[String]) -> bool {
    inner.get(..outer.len()).is_some_and(|head| overlap(head, outer))
}

/// True if a pattern leads to, or through, a place that another one leaves empty.
fn is_gone(place: &[String], gone: &[String]) -> bool {
    let last = gone.len().saturating_sub(1);
    is_within(place, gone) && (gone[last] == "*" || place[last] == gone[last])
}

impl Act {
    fn at(kind: Kind, fix: &str, pointer: &str) -> Self {
        Act { kind, name: format!("`{pointer}` of `fixes.{fix}`"), from: None, to: tokens(pointer) }
    }

    fn is_pointer(&self) -> bool {
        self.name.starts_with("`/") || self.name.starts_with("``")
    }
}

/// The unescaped tokens of a pointer.
pub(crate) fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

fn refuse(wrong: impl Into<String>, hint: &str) -> Error {
    Error::new(Code::InvalidInput, wrong).hint(hint)
}
