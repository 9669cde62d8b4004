//! Rules with everything that belongs to them: named rules, constraints, transforms, rewriters and fixes.

use std::collections::{BTreeMap, BTreeSet};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value};

use super::{
    grammar::{self, Variable},
    order::{self, Dependencies},
    reader::{Known, Reader, check_keys, list, mapping, optional, regex, string, wrong},
    rule::{Config, Core, Fix, Named, Rewriter, Utilities, Utility},
    shorthand,
    template::Template,
    transform::{Case, Change, Separator, Way},
};
use base::{error::Error, language::Language};

const KEYS: &[&str] = &[
    "id",
    "language",
    "rule",
    "constraints",
    "utils",
    "transform",
    "fix",
    "rewriters",
    "message",
    "note",
    "severity",
    "labels",
    "files",
    "ignores",
    "url",
    "metadata",
];

const SEVERITIES: &[&str] = &["off", "hint", "info", "warning", "error"];

/// Reads a rule; none if it is off. `id` is its name as it stands in the text.
pub(super) fn config(id: &str, value: &Value, utilities: &Utilities) -> Result<Option<Config>, Error> {
    let object = mapping("a rule", value)?;
    check_keys("a rule", object, KEYS)?;
    let language = language(object)?;
    let mut named = Named::new();
    let mut reader = Reader { language, known: known(utilities), parameters: BTreeSet::new(), is_strict: true };
    let core = core(&mut reader, &mut named, object)?;
    let mut rewriters = BTreeMap::new();
    if let Some(value) = optional(object, "rewriters") {
        for value in list("rewriters", value)? {
            let object = mapping("a rewriter", value)?;
            let id = string("id", object.get("id").unwrap_or(&Value::Null))?;
            let core = self::core(&mut reader, &mut named, object)?;
            let fix = fix(&reader, object.get("fix").unwrap_or(&Value::Null), &core)?;
            let fix = fix.ok_or_else(|| wrong(format!("the rewriter `{id}` has no `fix`")))?;
            rewriters.insert(id.to_owned(), Rewriter { core, fix });
        }
    }
    // A file without rewriters may name any; they rewrite nothing.
    let cores = rewriters.values().map(|rewriter| &rewriter.core).chain((!rewriters.is_empty()).then_some(&core));
    for (_, change) in cores.flat_map(|core| &core.transform) {
        let Way::Rewrite { rewriters: chosen, .. } = &change.way else { continue };
        if let Some(unknown) = chosen.iter().find(|name| !rewriters.contains_key(*name)) {
            return Err(wrong(format!("there is no rewriter `{unknown}`")));
        }
    }
    if core.kinds.is_none() {
        return Err(wrong("it matches nodes of any kind; add a `kind`"));
    }
    let fix = optional(object, "fix").map(|value| fix(&reader, value, &core)).transpose()?.flatten();
    let files = optional(object, "files").map(|value| globs("files", value)).transpose()?;
    let ignores = optional(object, "ignores").map(|value| globs("ignores", value)).transpose()?;
    let severity = object.get("severity").map_or(Ok("hint"), |value| string("severity", value))?;
    if !SEVERITIES.contains(&severity) {
        return Err(wrong(format!("there is no severity `{severity}`")));
    }
    let config = Config { id: id.to_owned(), language, core, named, rewriters, fix, form: None, files, ignores };
    Ok((severity != "off").then_some(config))
}

/// Reads utilities, which may refer to each other.
pub(super) fn utilities(values: &[Value]) -> Result<Utilities, Error> {
    let mut objects = BTreeMap::new();
    for value in values {
        let object = mapping("a utility", value)?;
        let id = string("id", object.get("id").unwrap_or(&Value::Null))?;
        check_name(id)?;
        if objects.insert(id.to_owned(), object).is_some() {
            return Err(wrong(format!("two utilities are called `{id}`")));
        }
    }
    let mut all = Utilities::new();
    for id in order::sorted(&objects, |object| Ok(Dependencies::of_utility(object, &parameters(object)?)))? {
        let object = objects[&id];
        let parameters = parameters(object)?;
        let mut reader = Reader {
            language: language(object)?,
            known: known(&all),
            parameters: parameters.iter().cloned().collect(),
            is_strict: false,
        };
        let mut named = Named::new();
        let core =
            core(&mut reader, &mut named, object).map_err(|error| error.within(format!("the utility `{id}`")))?;
        all.insert(id, Utility { core, named, parameters });
    }
    Ok(all)
}

fn parameters(object: &Map<String, Value>) -> Result<Vec<String>, Error> {
    let Some(value) = optional(object, "arguments") else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for value in list("arguments", value)? {
        let name = string("arguments", value)?;
        check_name(name)?;
        if names.iter().any(|known| known == name) {
            return Err(wrong(format!("two arguments are called `{name}`")));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_free = !name.is_empty() && !name.contains(['(', ')', ',', '=']);
    if is_free { Ok(()) } else { Err(wrong(format!("`{name}` is no name of a utility or an argument"))) }
}

fn language(object: &Map<String, Value>) -> Result<Language, Error> {
    Language::parse(string("language", object.get("language").unwrap_or(&Value::Null))?)
}

fn known(utilities: &Utilities) -> BTreeMap<String, Known> {
    let known = |utility: &Utility| Known { kinds: utility.core.kinds.clone(), parameters: utility.parameters.clone() };
    utilities.iter().map(|(name, utility)| (name.clone(), known(utility))).collect()
}

/// Reads the parts that rules, rewriters and utilities have in common. Its own named rules join those of the file.
fn core(reader: &mut Reader, named: &mut Named, object: &Map<String, Value>) -> Result<Core, Error> {
    if let Some(value) = optional(object, "utils") {
        let utils = mapping("utils", value)?;
        let rules: BTreeMap<String, &Value> = utils.iter().map(|(name, rule)| (name.clone(), rule)).collect();
        let is_strict = std::mem::replace(&mut reader.is_strict, false);
        for name in order::sorted(&rules, |rule| Ok(Dependencies::of_rule(rule)))? {
            check_name(&name)?;
            let rule = reader.rule(&name, rules[&name])?;
            reader.known.insert(name.clone(), Known { kinds: rule.kinds(), parameters: Vec::new() });
            if named.insert(name.clone(), rule).is_some() {
                return Err(wrong(format!("two named rules are called `{name}`")));
            }
        }
        reader.is_strict = is_strict;
    }
    let rule = reader.rule("rule", object.get("rule").unwrap_or(&Value::Null))?;
    let mut constraints = BTreeMap::new();
    if let Some(value) = optional(object, "constraints") {
        for (name, value) in mapping("constraints", value)? {
            constraints.insert(name.clone(), reader.rule(name, value)?);
        }
    }
    let mut changes = BTreeMap::new();
    if let Some(value) = optional(object, "transform") {
        for (name, value) in mapping("transform", value)? {
            changes.insert(name.clone(), change(reader.language, value)?);
        }
    }
    let order = order::sorted(&changes, |change: &Change| Ok(Dependencies::of_variable(&change.source)))?;
    let transform = order.into_iter().map(|name| {
        let change = changes[&name].clone();
        (name, change)
    });
    Ok(Core::new(rule, constraints, transform.collect()))
}

/// Reads a transform.
fn change(language: Language, value: &Value) -> Result<Change, Error> {
    let (name, members) = match value {
        Value::String(text) => shorthand::read(text)?,
        other => {
            let mut members = mapping("transform", other)?.iter();
            match (members.next(), members.next()) {
                (Some((name, value)), None) => (name.clone(), mapping(name, value)?.clone()),
                _ => return Err(wrong("a `transform` has one way to make its text")),
            }
        }
    };
    let member = |key: &str| members.get(key).unwrap_or(&Value::Null);
    let text = |key: &str| string(key, member(key));
    let place = |key: &str| {
        let number = |value: &Value| value.as_i64().and_then(|place| i32::try_from(place).ok());
        optional(&members, key)
            .map(|value| number(value).ok_or_else(|| wrong(format!("`{key}` is no number"))))
            .transpose()
    };
    let way = match name.as_str() {
        "substring" => Way::Substring { start: place("startChar")?, end: place("endChar")? },
        "replace" => Way::Replace { regex: regex(text("replace")?)?, by: text("by")?.to_owned() },
        "convert" => {
            let case = text("toCase")?;
            let separators = optional(&members, "separatedBy").map(separators).transpose()?;
            Way::Convert {
                case: Case::parse(case).ok_or_else(|| wrong(format!("there is no case `{case}`")))?,
                separators,
            }
        }
        "rewrite" => {
            let names = list("rewriters", member("rewriters"))?;
            let names = names.iter().map(|name| Ok(string("rewriters", name)?.to_owned()));
            let joint = optional(&members, "joinBy").map(|value| string("joinBy", value)).transpose()?;
            Way::Rewrite { rewriters: names.collect::<Result<_, Error>>()?, joint: joint.map(str::to_owned) }
        }
        other => return Err(wrong(format!("there is no transform `{other}`"))),
    };
    let source = text("source")?;
    match grammar::variable(language, &grammar::prepared(language, source)) {
        Some(variable @ (Variable::One { .. } | Variable::Many(_))) => Ok(Change { source: variable, way }),
        _ => Err(wrong(format!("`{source}` is no variable with a name, from which a text could be made"))),
    }
}

fn separators(value: &Value) -> Result<Vec<Separator>, Error> {
    let separator = |value: &Value| {
        let name = string("separatedBy", value)?;
        Separator::parse(name).ok_or_else(|| wrong(format!("there is no separator `{name}`")))
    };
    list("separatedBy", value)?.iter().map(separator).collect()
}

/// Reads a fix; none if it is an empty list. Of several the first is taken.
fn fix(reader: &Reader, value: &Value, core: &Core) -> Result<Option<Fix>, Error> {
    let made: BTreeSet<String> = core.transform.iter().map(|(name, _)| name.clone()).collect();
    let of_object = |object: &Map<String, Value>| {
        let template = string("template", object.get("template").unwrap_or(&Value::Null))?;
        let relation = |key: &str| object.get(key).map(|value| reader.relation(key, value, true)).transpose();
        let (before, after) = (relation("expandStart")?, relation("expandEnd")?);
        let source = template.to_owned();
        Ok(Fix { source, template: Template::parse(reader.language, template, &made)?, before, after })
    };
    match value {
        Value::String(text) => {
            let template = Template::parse(reader.language, text, &made)?;
            Ok(Some(Fix { source: text.clone(), template, before: None, after: None }))
        }
        Value::Array(all) => {
            let mut first = None;
            for value in all {
                let object = mapping("fix", value)?;
                if optional(object, "title").is_none() {
                    return Err(wrong("a fix in a list has a `title`"));
                }
                let fix = of_object(object)?;
                first = first.or(Some(fix));
            }
            Ok(first)
        }
        other => of_object(mapping("fix", other)?).map(Some),
    }
}

fn globs(what: &str, value: &Value) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for value in list(what, value)? {
        let glob = match value {
            Value::String(glob) => Glob::new(glob),
            other => {
                let object = mapping(what, other)?;
                let is_insensitive = object.get("caseInsensitive").is_some_and(|value| value == true);
                let glob = string("glob", object.get("glob").unwrap_or(&Value::Null))?;
                GlobBuilder::new(glob).case_insensitive(is_insensitive).build()
            }
        };
        set.add(glob.map_err(|error| wrong(format!("`{what}` has a glob that can't be used: {error}")))?);
    }
    set.build().map_err(|error| wrong(format!("`{what}` has globs that can't be used: {error}")))
}
