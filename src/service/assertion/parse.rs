//! Parses values into assertions: an unknown key or an empty assertion is refused with its place and a remedy.

use regex::Regex;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Assertion, Command, Count};
use base::{
    error::{Code, Error, nearest},
    path::RepoPath,
    regular,
};
use system::workspace::Globs;

/// Every kind of assertion with its form, sorted by name.
pub const KINDS: &[(&str, &str)] = &[
    ("command", r#"{"program": "cargo", "args"?: ["test"], "cwd"?: "folder", "env"?: {}, "status"?: 0}"#),
    ("count", r#"{"pattern": "regex", "glob": "glob, or a list", "equals" | "at_least" | "at_most": 0}"#),
    ("file_exists", r#""path""#),
    ("json_valid", r#""glob", or a list"#),
    ("tree_unchanged", r#""glob", or a list"#),
];

/// Reads an assertion: a map with one key, its kind.
///
/// `invalid_input` if it is not an assertion, with the place as `details.at`; `invalid_path` if a path or glob leaves the
/// workspace.
pub fn parse(assertion: &Value) -> Result<Assertion, Error> {
    let names = || KINDS.iter().map(|(name, _)| *name);
    let known = || format!("one of {}", names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "));
    let Some((kind, value)) = assertion.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next())
    else {
        return Err(wrong("", format!("an assertion is a map with one key, {}", known())));
    };
    let at = format!("/{kind}");
    match kind.as_str() {
        "command" => command(&at, value).map(Assertion::Command),
        "count" => count(&at, value).map(Assertion::Count),
        "file_exists" => match value {
            Value::String(path) => RepoPath::parse(path).map(Assertion::FileExists).map_err(|error| placed(error, &at)),
            _ => Err(wrong(&at, "it must be a path")),
        },
        "json_valid" => globs(&at, value).map(Assertion::JsonValid),
        "tree_unchanged" => globs(&at, value).map(Assertion::TreeUnchanged),
        unknown => {
            let error = wrong(&at, format!("there is no such assertion; it is {}", known()));
            Err(match nearest(unknown, names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            })
        }
    }
}

/// The argument of `count`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    pattern: String,
    glob: Value,
    equals: Option<u64>,
    at_least: Option<u64>,
    at_most: Option<u64>,
}

fn count(at: &str, value: &Value) -> Result<Count, Error> {
    let Counted { pattern, glob, equals, at_least, at_most } = map(at, value)?;
    let (at_least, at_most) = match (equals, at_least, at_most) {
        (Some(n), None, None) => (n, n),
        (None, None, None) => return Err(wrong(at, "it says no number: give `equals`, `at_least` or `at_most`")),
        (None, least, most) => (least.unwrap_or(0), most.unwrap_or(u64::MAX)),
        (Some(_), ..) => {
            return Err(wrong(at, "`equals` leaves nothing to `at_least` and `at_most`: give one or the other"));
        }
    };
    if at_least > at_most {
        return Err(wrong(at, format!("no number is at least {at_least} and at most {at_most}")));
    }
    Ok(Count {
        pattern: regex(&format!("{at}/pattern"), &pattern)?,
        globs: globs(&format!("{at}/glob"), &glob)?,
        at_least,
        at_most,
    })
}

fn regex(at: &str, pattern: &str) -> Result<Regex, Error> {
    if pattern.is_empty() {
        return Err(wrong(at, "an empty pattern occurs everywhere"));
    }
    regular::compile(pattern).map_err(|error| wrong(at, error.message()).hint(error.hint_text().unwrap_or_default()))
}

fn globs(at: &str, value: &Value) -> Result<Globs, Error> {
    let list = match value {
        Value::String(glob) => vec![glob.clone()],
        Value::Array(items) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let whole = value.as_array().is_none_or(|items| items.len() == list.len());
    if list.is_empty() || !whole {
        return Err(wrong(at, "it must be a glob or a list of globs"));
    }
    Globs::parse(&list).map_err(|error| placed(error, at))
}

fn command(at: &str, value: &Value) -> Result<Command, Error> {
    let command: Command = map(at, value)?;
    if command.program.is_empty() {
        return Err(wrong(&format!("{at}/program"), "it names no program"));
    }
    if let Some(folder) = command.cwd.as_deref().filter(|folder| *folder != ".") {
        RepoPath::parse(folder).map_err(|error| placed(error, &format!("{at}/cwd")))?;
    }
    Ok(command)
}

/// A map whose keys are all known.
fn map<T: DeserializeOwned>(at: &str, value: &Value) -> Result<T, Error> {
    let Value::Object(map) = value else { return Err(wrong(at, "it must be a map")) };
    let map: &Map<String, Value> = map;
    serde_json::from_value(Value::Object(map.clone())).map_err(|error| {
        let form = KINDS.iter().find(|(name, _)| at == format!("/{name}")).map_or("", |(_, form)| form);
        wrong(at, error.to_string()).hint(format!("its form is {form}"))
    })
}

fn wrong(at: &str, why: impl std::fmt::Display) -> Error {
    let place = if at.is_empty() { "/" } else { at };
    Error::new(Code::InvalidInput, format!("the assertion can't be used, at `{}`: {why}", place.escape_debug()))
        .detail("at", place)
}

fn placed(error: Error, at: &str) -> Error {
    let wrong = Error::new(error.code(), format!("the assertion can't be used, at `{at}`: {}", error.message()));
    wrong.detail("at", at).hint(error.hint_text().unwrap_or("give a path or glob inside the workspace").to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(assertion: &Value, at: &str, words: &str) {
        let error = parse(assertion).unwrap_err();
        assert_eq!(error.details()["at"], at, "{error}");
        assert!(error.message().contains(words), "{error}");
        assert_eq!(error.code(), Code::InvalidInput);
    }

    #[test]
    fn every_kind_is_read() {
        for good in [
            json!({"file_exists": "a/b.txt"}),
            json!({"count": {"pattern": "x+", "glob": ["**/*.rs", "!a/**"], "equals": 0}}),
            json!({"count": {"pattern": "x", "glob": "*", "at_least": 1, "at_most": 3}}),
            json!({"json_valid": "**/*.json"}),
            json!({"tree_unchanged": ["src/**"]}),
            json!({"command": {"program": "cargo", "args": ["test"], "cwd": ".", "env": {"A": "b"}, "status": 1}}),
        ] {
            parse(&good).unwrap_or_else(|error| panic!("{good}: {error}"));
        }
        // Policies name them as well.
        assert_eq!(KINDS.iter().map(|kind| kind.0).collect::<Vec<_>>(), system::policy::ASSERTIONS);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        refused(&json!("x"), "/", "`file_exists`");
        refused(&json!({}), "/", "one key");
        refused(&json!({"file_exists": "a", "json_valid": "b"}), "/", "one key");
        refused(&json!({"file_exist": "a"}), "/file_exist", "no such assertion");
        refused(&json!({"file_exists": 1}), "/file_exists", "a path");
        refused(&json!({"count": {"pattern": "x", "glob": "*"}}), "/count", "`equals`");
        refused(
            &json!({"count": {"pattern": "x", "glob": "*", "equals": 1, "at_most": 2}}),
            "/count",
            "one or the other",
        );
        refused(&json!({"count": {"pattern": "x", "glob": "*", "at_least": 3, "at_most": 2}}), "/count", "no number");
        refused(&json!({"count": {"pattern": "x", "glob": "*", "equal": 1}}), "/count", "equal");
        refused(&json!({"count": {"pattern": "x", "glob": "*", "equals": -1}}), "/count", "-1");
        refused(&json!({"count": {"pattern": "(x", "glob": "*", "equals": 1}}), "/count/pattern", "regular expression");
        refused(&json!({"count": {"pattern": "", "glob": "*", "equals": 1}}), "/count/pattern", "empty");
        refused(&json!({"count": {"pattern": "x", "glob": [1], "equals": 1}}), "/count/glob", "glob");
        refused(&json!({"json_valid": []}), "/json_valid", "glob");
        refused(&json!({"json_valid": ["!a"]}), "/json_valid", "no glob");
        refused(&json!({"command": {"args": []}}), "/command", "program");
        refused(&json!({"command": {"program": ""}}), "/command/program", "no program");
    }

    #[test]
    fn nothing_outside_the_workspace_is_looked_at() {
        for bad in [
            json!({"file_exists": "../x"}),
            json!({"json_valid": "/etc/*"}),
            json!({"command": {"program": "x", "cwd": ".."}}),
        ] {
            assert_eq!(parse(&bad).unwrap_err().code(), Code::InvalidPath, "{bad}");
        }
    }
}
