//! The forms that values of the policy take: checks a value and says in words what is expected.
//!
//! The same forms serve `nrv.toml`, a script's header and the JSON Schema for editors.

use serde_json::{Map, Value, json};

use super::{
    DependencyRule, glob, hosts,
    table::{Column, Form},
};
use base::{
    error,
    path::{RepoPath, bound, protected},
};

/// The largest number that is exact in JSON everywhere.
const MAX: u64 = 1 << 53;

/// Units of a size, larger ones first.
const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
];

/// Units of a duration in seconds, larger ones first.
const PERIODS: &[(&str, u64)] = &[("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];

/// The longest duration in seconds, ten years.
const LONGEST: u64 = 3650 * 86_400;

/// An amount in millionths, if it is one.
fn millionths(amount: f64) -> Option<u64> {
    let whole = (amount * 1e6).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range of whole numbers")]
    (0.0..=MAX as f64).contains(&whole).then_some(whole as u64)
}

/// An error in a value: a phrase, and the index if an item of a list is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) item: Option<usize>,
    pub(super) phrase: String,
}

impl Wrong {
    fn new(phrase: impl Into<String>) -> Self {
        Wrong { item: None, phrase: phrase.into() }
    }
}

impl Form {
    /// Checks a value and gives it in the form that settings have.
    pub(super) fn read(self, value: &Value) -> Result<Value, Wrong> {
        let expected = || Wrong::new(format!("must be {}, not {}", self.words(), shown(value)));
        match self {
            Form::Flag => value.as_bool().map(Value::Bool).ok_or_else(expected),
            Form::Count(least) => whole(value).filter(|n| *n >= least).map(Value::from).ok_or_else(expected),
            Form::UpTo(most) => whole(value).filter(|n| *n <= most).map(Value::from).ok_or_else(expected),
            Form::Size => whole(value).or_else(|| size(value.as_str()?)).map(Value::from).ok_or_else(expected),
            Form::Duration => value.as_str().and_then(duration).map(Value::from).ok_or_else(expected),
            Form::Globs => globs(value, |item| glob::compile(item.strip_prefix('!').unwrap_or(item)).map(|_| ()))?
                .ok_or_else(expected),
            Form::Denied => globs(value, |item| match item.strip_prefix('!') {
                Some(_) => Err("can't begin with `!`: what is denied stays denied".to_owned()),
                None => glob::compile(item).map(|_| ()),
            })?
            .ok_or_else(expected),
            Form::Files => files(value)?.ok_or_else(expected),
            Form::Names => list(value, |item| match item.trim() {
                "" => Err("is an empty name".to_owned()),
                _ => Ok(()),
            })?
            .ok_or_else(expected),
            Form::Hosts => list(value, |item| hosts::compile(item).map(|_| ()))?.ok_or_else(expected),
            Form::Folders => list(value, folder)?.ok_or_else(expected),
            Form::Path => self.unshown(value, |text| folder(text).is_ok() && text != "~"),
            Form::Url => self.unshown(value, hosts::is_server),
            Form::OneOf(keys) => one_of(keys, value).unwrap_or_else(|| Err(expected())),
            Form::Dependencies => list(value, |item| DependencyRule::parse(item).map(drop))?.ok_or_else(expected),
            Form::Some(words) => list(value, |item| match words.contains(&item) {
                true => Ok(()),
                false => Err(format!("is none of {}", quoted(words, ", "))),
            })?
            .ok_or_else(expected),
            Form::Word(words) => {
                value.as_str().filter(|word| words.contains(word)).map(Value::from).ok_or_else(expected)
            }
            Form::Words => value.as_array().and_then(|items| items.iter().map(word).collect()).ok_or_else(expected),
            Form::Text => value.as_str().filter(|text| !text.trim().is_empty()).map(Value::from).ok_or_else(expected),
            Form::Number => value.as_f64().filter(|n| *n >= 0.0).map(|_| value.clone()).ok_or_else(expected),
            Form::Millionths => value.as_f64().and_then(millionths).map(Value::from).ok_or_else(expected),
            Form::Rows(columns) => {
                let rows = value.as_array().ok_or_else(expected)?;
                let row = |(at, row)| {
                    read_row(columns, row).map_err(|phrase| Wrong {
                        item: Some(at),
                        phrase: format!("has a rule {} that {phrase}", at + 1),
                    })
                };
                rows.iter().enumerate().map(row).collect()
            }
        }
    }

    /// Checks a text in whose place somebody may have written a key: a wrong one is not shown.
    fn unshown(self, value: &Value, is_right: impl Fn(&str) -> bool) -> Result<Value, Wrong> {
        let text = value.as_str().filter(|text| is_right(text));
        text.map(Value::from).ok_or_else(|| Wrong::new(format!("must be {}", self.words())))
    }

    /// The form in words.
    pub(super) fn words(self) -> String {
        match self {
            Form::Flag => "true or false".to_owned(),
            Form::Count(least) => format!("a whole number, at least {least}"),
            Form::UpTo(most) => format!("a whole number, at most {most}"),
            Form::Size => "a number of bytes or a size such as \"256MiB\"".to_owned(),
            Form::Duration => "a time such as \"30m\", \"12h\" or \"7d\"".to_owned(),
            Form::Globs | Form::Denied => "a list of globs such as [\"docs/**\"]".to_owned(),
            Form::Files => "a list of exact paths such as [\".envrc\"]".to_owned(),
            Form::Names => "a list of names such as [\"link_updater\"]".to_owned(),
            Form::Hosts => "a list of hosts such as [\"example.com\"]".to_owned(),
            Form::Folders => "a list of folders such as [\"~/.cargo\"]".to_owned(),
            Form::Path => "an absolute path without `..`, or one that begins with `~/`".to_owned(),
            Form::Url => {
                "a URL such as \"http://127.0.0.1:8080/v1\", of `http` or `https`, without user, password, `?` and `#`"
                    .to_owned()
            }
            Form::OneOf(keys) => format!("a table with exactly one of {}", quoted(keys, ", ")),
            Form::Dependencies => "a list of dependencies such as [\"left-pad\", \"openssl@<1\"]".to_owned(),
            Form::Some(words) => format!("a list of some of {}", quoted(words, ", ")),
            Form::Word(words) => quoted(words, " or "),
            Form::Words => "a list of words such as [\"cargo\", [\"publish\", \"yank\"]]".to_owned(),
            Form::Text => "text that is not empty".to_owned(),
            Form::Number | Form::Millionths => "a number that is not negative".to_owned(),
            Form::Rows(_) => "a list of tables: write `[[…]]` for each".to_owned(),
        }
    }

    /// The form as JSON Schema.
    pub(super) fn schema(self) -> Value {
        match self {
            Form::Flag => json!({"type": "boolean"}),
            Form::Count(least) => json!({"type": "integer", "minimum": least, "maximum": MAX}),
            Form::UpTo(most) => json!({"type": "integer", "minimum": 0, "maximum": most}),
            Form::Size => json!({"anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX},
                {"type": "string", "pattern": "^[0-9]+ ?([KMGT]iB|[kMGT]B|B)$"},
            ]}),
            Form::Duration => json!({"type": "string", "pattern": "^[0-9]+[smhd]$"}),
            Form::Globs => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
            Form::Denied => json!({"type": "array", "items": {"type": "string", "pattern": "^[^!]"}}),
            Form::Files => json!({"type": "array", "items": {"type": "string", "pattern": "^[^/!*?\\[{][^*?\\[{]*$"}}),
            Form::Names => json!({"type": "array", "items": {"type": "string", "pattern": "[^ ]"}}),
            Form::Hosts => json!({"type": "array", "items": {"type": "string", "pattern": "^(\\*\\.)?[^*/@ ]+$"}}),
            Form::Folders => json!({"type": "array", "items": {"type": "string", "pattern": "^(/|~(/|$))"}}),
            Form::Path => json!({"type": "string", "pattern": "^(/|~/)"}),
            Form::Url => json!({"type": "string", "pattern": "^https?://[^?# ]+$"}),
            Form::OneOf(keys) => json!({
                "type": "object", "propertyNames": {"enum": keys}, "minProperties": 1, "maxProperties": 1,
            }),
            Form::Dependencies => json!({"type": "array", "items": {"type": "string", "pattern": "^[^ ]+( .*)?$"}}),
            Form::Some(words) => json!({"type": "array", "items": {"enum": words}}),
            Form::Word(words) => json!({"enum": words}),
            Form::Words => {
                let word = json!({"type": "string", "minLength": 1});
                let either = json!({"anyOf": [word, {"type": "array", "items": word, "minItems": 1}]});
                json!({"type": "array", "items": either})
            }
            Form::Text => json!({"type": "string", "pattern": "[^ ]"}),
            Form::Number | Form::Millionths => json!({"type": "number", "minimum": 0}),
            Form::Rows(columns) => json!({"type": "array", "items": row_schema(columns)}),
        }
    }

    /// A setting's value as a person would write it.
    pub(super) fn written(self, value: &Value) -> Value {
        match (self, value.as_u64()) {
            (Form::Size, Some(bytes)) => Value::from(size_text(bytes)),
            (Form::Duration, Some(seconds)) => Value::from(duration_text(seconds)),
            _ => value.clone(),
        }
    }
}

/// Checks a table with exactly one of these keys; none if it is no table or has several.
fn one_of(keys: &[&str], value: &Value) -> Option<Result<Value, Wrong>> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    let key = map.keys().next()?;
    Some(match keys.contains(&key.as_str()) {
        true => Ok(value.clone()),
        false => Err(Wrong::new(unknown_key(key, keys))),
    })
}

/// Checks a rule; an error is a phrase that goes on after "a rule that".
/// A word of a command, or the words that may stand in its place.
fn word(item: &Value) -> Option<Value> {
    match item {
        Value::String(text) if !text.is_empty() => Some(json!([text])),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => Some(item.clone()),
        _ => None,
    }
}

fn read_row(columns: &[Column], row: &Value) -> Result<Value, String> {
    let map = row.as_object().ok_or_else(|| format!("is no table but {}", shown(row)))?;
    let mut read = Map::new();
    for (name, value) in map {
        let Some(column) = columns.iter().find(|column| column.name == name) else {
            return Err(unknown_key(name, &columns.iter().map(|column| column.name).collect::<Vec<_>>()));
        };
        let value = column.form.read(value).map_err(|wrong| format!("is wrong: `{name}` {}", wrong.phrase))?;
        read.insert(name.clone(), value);
    }
    match columns.iter().find(|column| column.required && !map.contains_key(column.name)) {
        Some(column) => Err(format!("lacks `{}`", column.name)),
        None => Ok(Value::Object(read)),
    }
}

/// The phrase about an unknown key, with the nearest known key or all of them.
fn unknown_key(name: &str, known: &[&str]) -> String {
    let advice = match error::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    format!("has an unknown key, `{}`: {advice}", name.escape_debug())
}

fn row_schema(columns: &[Column]) -> Value {
    let property = |column: &Column| {
        let mut schema = column.form.schema();
        schema["description"] = json!(column.doc);
        (column.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = columns.iter().map(property).collect();
    let required: Vec<&str> = columns.iter().filter(|column| column.required).map(|column| column.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The phrase for a feature that does not exist yet.
pub(super) fn missing(feature: &str) -> Wrong {
    Wrong::new(format!("can't be used: {feature} in this version of nrv"))
}

/// Bytes in the largest binary unit that is exact.
pub(super) fn size_text(bytes: u64) -> String {
    let exact = |(name, unit): &&(&str, u64)| name.ends_with("iB") && bytes >= *unit && bytes.is_multiple_of(*unit);
    match UNITS.iter().find(exact) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

/// Words in quotes.
fn quoted(words: &[&str], between: &str) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(between)
}

/// Seconds in the largest unit that is exact.
fn duration_text(seconds: u64) -> String {
    let (name, unit) = PERIODS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit)).unwrap_or(&("s", 1));
    format!("{}{name}", seconds / unit)
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| *number <= MAX)
}

fn size(text: &str) -> Option<u64> {
    let (name, unit) = UNITS.iter().find(|(name, _)| text.ends_with(name))?;
    let digits = text.strip_suffix(name)?;
    let digits = digits.strip_suffix(' ').unwrap_or(digits);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(*unit).filter(|bytes| *bytes <= MAX)
}

fn duration(text: &str) -> Option<u64> {
    let (name, unit) = PERIODS.iter().find(|(name, _)| text.ends_with(name))?;
    let digits = text.strip_suffix(name).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse::<u64>().ok()?.checked_mul(*unit).filter(|seconds| (1..=LONGEST).contains(seconds))
}

/// Checks a list of text item by item; none if it is no list.
fn list(value: &Value, check: impl Fn(&str) -> Result<(), String>) -> Result<Option<Value>, Wrong> {
    let Some(items) = value.as_array() else { return Ok(None) };
    for (at, item) in items.iter().enumerate() {
        let wrong = |phrase: String| Wrong { item: Some(at), phrase };
        let text = item.as_str().ok_or_else(|| wrong(format!("must hold text only, not {}", shown(item))))?;
        check(text).map_err(|why| wrong(format!("holds `{}`, which {why}", text.escape_debug())))?;
    }
    Ok(Some(value.clone()))
}

/// Checks a list of globs: its size, then item by item; none if it is no list.
fn globs(value: &Value, check: impl Fn(&str) -> Result<(), String>) -> Result<Option<Value>, Wrong> {
    let texts: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    bound::check(&texts).map_err(Wrong::new)?;
    list(value, check)
}

/// Checks exact paths of protected files; the paths as they are compared.
fn files(value: &Value) -> Result<Option<Value>, Wrong> {
    let checked = list(value, |item| {
        if item.starts_with('!') || item.contains(['*', '?', '[', '{']) {
            return Err("is no exact path: globs are not taken here".to_owned());
        }
        let path = RepoPath::parse(item).map_err(|error| format!("can't be used: {error}"))?;
        match protected::lasting_refusal(&path) {
            Some(reason) => Err(format!("no policy can permit: {reason}")),
            None => Ok(()),
        }
    })?;
    let Some(Value::Array(items)) = checked else { return Ok(None) };
    let plain = |item: &Value| RepoPath::parse(item.as_str()?).ok().map(|path| Value::from(path.as_str()));
    Ok(items.iter().map(plain).collect())
}

/// Checks a folder of the machine; an error is a phrase that goes on after "which".
fn folder(text: &str) -> Result<(), String> {
    if text.split('/').any(|part| part == "..") {
        return Err("has a `..`: write where it leads".to_owned());
    }
    match text.starts_with('/') || text == "~" || text.starts_with("~/") {
        true => Ok(()),
        false => Err("is neither an absolute path nor one that begins with `~/`".to_owned()),
    }
}

/// A wrong value, short enough for a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "a value of another kind".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.len() <= 40 => value.to_string(),
        Value::String(_) => "text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: Form, value: Value, expected: Result<Value, &str>) {
        let found = form.read(&value).map_err(|wrong| wrong.phrase);
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn sizes_are_numbers_or_text_with_a_unit() {
        check(Form::Size, json!(12), Ok(json!(12)));
        check(Form::Size, json!("256MiB"), Ok(json!(268_435_456)));
        check(Form::Size, json!("2 GB"), Ok(json!(2_000_000_000_u64)));
        check(Form::Size, json!("7B"), Ok(json!(7)));
        for bad in ["256M", "1.5GiB", "-1B", "MiB", "99999999TiB", "+1B"] {
            assert!(Form::Size.read(&json!(bad)).is_err(), "{bad}");
        }
        assert_eq!((size_text(1 << 30), size_text(0), size_text(1500)), ("1GiB".into(), "0B".into(), "1500B".into()));
    }

    #[test]
    fn durations_are_text_with_a_unit() {
        for (text, seconds) in [("45s", 45), ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("3650d", LONGEST)] {
            check(Form::Duration, json!(text), Ok(json!(seconds)));
            assert_eq!(Form::Duration.written(&json!(seconds)), text);
        }
        for bad in [json!("0d"), json!("3651d"), json!("7 d"), json!("d"), json!("+1d"), json!("1w"), json!(7)] {
            assert!(Form::Duration.read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_expected_is_said() {
        check(Form::Count(1), json!(0), Err("must be a whole number, at least 1, not 0"));
        check(Form::Count(0), json!(-1), Err("must be a whole number, at least 0, not -1"));
        check(Form::Count(0), json!(u64::MAX), Err("must be a whole number, at least 0, not 18446744073709551615"));
        check(Form::UpTo(9), json!(10), Err("must be a whole number, at most 9, not 10"));
        check(Form::Flag, json!("yes"), Err("must be true or false, not \"yes\""));
        check(Form::Word(&["a", "b"]), json!("c"), Err("must be \"a\" or \"b\", not \"c\""));
        check(Form::Some(&["a", "b"]), json!(["a", "c"]), Err("holds `c`, which is none of \"a\", \"b\""));
        let wrong = "holds `x@new`, which has versions that can't be read: write `name@<1.2`, with <, <=, =, >= or >";
        check(Form::Dependencies, json!(["x@new"]), Err(wrong));
        check(Form::Names, json!("x"), Err("must be a list of names such as [\"link_updater\"], not \"x\""));
    }

    #[test]
    fn folders_are_absolute_or_in_the_home() {
        check(Form::Folders, json!(["/opt/x", "~", "~/.cargo"]), Ok(json!(["/opt/x", "~", "~/.cargo"])));
        let phrase = "which is neither an absolute path nor one that begins with `~/`";
        for bad in ["", "x", "./x", "~me/x"] {
            check(Form::Folders, json!([bad]), Err(&format!("holds `{bad}`, {phrase}")));
        }
        check(Form::Folders, json!(["~/../x"]), Err("holds `~/../x`, which has a `..`: write where it leads"));
    }

    #[test]
    fn a_table_of_one_key_has_one_that_is_known() {
        const KEYS: Form = Form::OneOf(&["a", "b"]);
        check(KEYS, json!({"a": 1}), Ok(json!({"a": 1})));
        let phrase = "must be a table with exactly one of \"a\", \"b\", not";
        for (bad, found) in [
            (json!({}), "a table"),
            (json!({"a": 1, "b": 2}), "a table"),
            (json!("a"), "\"a\""),
            (json!(["a"]), "a list"),
        ] {
            check(KEYS, bad, Err(&format!("{phrase} {found}")));
        }
        check(KEYS, json!({"xyz": 1}), Err("has an unknown key, `xyz`: known are `a`, `b`"));
        const LONG: Form = Form::OneOf(&["file_exists", "json_valid"]);
        check(LONG, json!({"file_exist": 1}), Err("has an unknown key, `file_exist`: did you mean `file_exists`?"));
    }

    #[test]
    fn hosts_are_compiled() {
        check(Form::Hosts, json!(["a.com", "*.b.org:8080"]), Ok(json!(["a.com", "*.b.org:8080"])));
        let phrase = "holds `https://a.com`, which is more than a host: leave out the scheme and the path";
        check(Form::Hosts, json!(["https://a.com"]), Err(phrase));
    }

    #[test]
    fn globs_are_compiled() {
        check(Form::Globs, json!(["docs/**", "!docs/x"]), Ok(json!(["docs/**", "!docs/x"])));
        let wrong = Form::Globs.read(&json!(["a", "b[", "c"])).unwrap_err();
        assert_eq!(wrong.item, Some(1));
        assert!(Form::Denied.read(&json!(["!a"])).is_err());
        let many = Value::from(vec!["**/*.md"; 10_001]);
        for form in [Form::Globs, Form::Denied] {
            assert_eq!(form.read(&many).unwrap_err().phrase, "has 10001 entries, and may have 10000");
        }
    }
}
