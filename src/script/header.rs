//! A script's header: the `WORKFLOW` constant, read strictly.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Value, json};

use base::error::{Code, Error, Location, nearest};
use system::{policy::Ceiling, schema::Schema};

/// The header of a script: its name, arguments and permissions. A script without one may only read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The workflow's name.
    pub name: Option<String>,
    /// Its purpose, in a sentence.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; none if it takes no arguments.
    pub args: Option<Value>,
    /// The limits of its writes and budgets, and the fate of its changes if it fails.
    pub ceiling: Ceiling,
}

/// The schema of a header's keys; the policy reads `permissions`, `budget`, `on_failure` and `on_unverified`.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "description": {"type": "string"},
            "args": {"type": "object"},
            "permissions": {},
            "budget": {},
            "on_failure": {},
            "on_unverified": {},
        },
    })
});

/// Reads a header from the JSON of the constant.
pub(crate) fn parse(header: &Value) -> Result<Header, Error> {
    let wrong = |error: &Error| {
        let changed = Error::new(Code::ScriptSyntax, format!("`WORKFLOW` is wrong: {error}"));
        let unknown = header.as_object().and_then(|map| map.keys().find(|key| SCHEMA["properties"].get(key).is_none()));
        let changed = unknown.iter().fold(changed, |changed, key| changed.detail("key", key.as_str()));
        error.details().iter().fold(changed, |changed, (key, value)| changed.detail(key, value.clone()))
    };
    Schema::compile(&SCHEMA)?.check(header).map_err(|error| wrong(&error))?;
    let text = |key: &str| header.get(key).and_then(Value::as_str).map(str::to_owned);
    let parsed = Header {
        name: text("name"),
        description: text("description"),
        args: header.get("args").cloned(),
        ceiling: Ceiling::from_header(header)?,
    };
    if let Some(schema) = &parsed.args {
        if schema.get("type") != Some(&json!("object")) {
            return Err(Error::new(Code::ScriptSyntax, "`WORKFLOW.args` does not describe an object")
                .hint("write `args: #{ type: \"object\", properties: #{ … } }`"));
        }
        Schema::compile(schema).map_err(|error| wrong_schema(schema, &error))?;
    }
    Ok(parsed)
}

/// The types of JSON Schema.
const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// The error of a schema of arguments; it names an unknown type and the nearest one.
fn wrong_schema(schema: &Value, error: &Error) -> Error {
    if let Some((place, word)) = unknown_type(schema, "args") {
        let wrong =
            Error::new(Code::ScriptSyntax, format!("`{place}.type`: there is no type `{}`", word.escape_debug()));
        return wrong.detail("key", format!("{place}.type")).hint(match nearest(word, TYPES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("a type is one of {}", TYPES.join(", ")),
        });
    }
    let pointer = error.details().get("pointer").and_then(Value::as_str).unwrap_or_default();
    let wrong = Error::new(Code::ScriptSyntax, format!("`WORKFLOW.args` is wrong: {error}"));
    wrong.detail("key", format!("args{}", pointer.replace('/', ".")))
}

/// The first part of a schema whose `type` is no type, and the word.
fn unknown_type<'s>(schema: &'s Value, place: &str) -> Option<(String, &'s str)> {
    let map = schema.as_object()?;
    let word = map.get("type").and_then(Value::as_str).filter(|word| !TYPES.contains(word));
    let here = word.map(|word| (place.to_owned(), word));
    here.or_else(|| map.iter().find_map(|(key, inner)| unknown_type(inner, &format!("{place}.{key}"))))
}

/// Places an error of a header at its key, or at a key around that; else at the header.
pub(crate) fn at(error: Error, places: &BTreeMap<String, Location>, header: Option<Location>) -> Error {
    let pointer = error.details().get("violations").and_then(|list| list.get(0)?.get("pointer")?.as_str());
    let pointer = pointer.map(|pointer| pointer.trim_start_matches('/').replace('/', "."));
    let key = error.details().get("key").and_then(Value::as_str).map(str::to_owned).or(pointer);
    let mut path = key.as_deref();
    let mut place = None;
    while let (Some(key), None) = (path, &place) {
        place = places.get(key).cloned();
        path = key.rsplit_once('.').map(|(outer, _)| outer);
    }
    let error = if error.details().contains_key("rule") { error } else { error.detail("rule", "header") };
    match place.or(header) {
        Some(place) => error.at(place),
        None => error,
    }
}

/// The place of the header in the text of a script, for errors in it.
pub(crate) fn place(path: &str, text: &str) -> Option<Location> {
    place_of("WORKFLOW", path, text)
}

/// The place of a constant at the beginning of a line.
pub(super) fn place_of(name: &str, path: &str, text: &str) -> Option<Location> {
    let is_header = |line: &str| {
        let mut words = line.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty());
        words.next() == Some("const") && words.next() == Some(name)
    };
    let line = text.lines().position(is_header)?;
    let column = text.lines().nth(line)?.chars().take_while(|c| c.is_whitespace()).count();
    Some(Location { path: path.to_owned(), line: line + 1, column: column + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::policy::OnFailure;

    #[track_caller]
    fn refused(header: &Value, words: &str) {
        let error = parse(header).unwrap_err();
        assert_eq!(error.code(), Code::ScriptSyntax);
        assert!(error.message().contains(words), "{error}");
    }

    #[test]
    fn a_header_is_read() {
        let header = parse(&json!({
            "name": "x", "args": {"type": "object"}, "permissions": {"write": ["site/**"], "exec": []},
            "budget": {"files": 5}, "on_failure": "keep",
        }));
        let header = header.unwrap();
        assert_eq!((header.name.as_deref(), header.ceiling.on_failure), (Some("x"), Some(OnFailure::Keep)));
        let Ceiling { write, budget, .. } = &header.ceiling;
        assert_eq!((write.len(), budget.files, budget.bytes), (1, Some(5), None));
        assert_eq!(parse(&json!({})).unwrap(), Header::default());
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        refused(&json!({"nmae": "x"}), "did you mean `name`?");
        refused(&json!({"budget": {"file": 3}}), "`budget.file`");
        refused(&json!({"budget": {"files": -3}}), "`budget.files`");
        refused(&json!({"on_failure": "explode"}), "`on_failure`");
    }

    #[test]
    fn the_schema_of_the_arguments_is_checked() {
        refused(&json!({"args": {"type": "array"}}), "does not describe an object");
        refused(
            &json!({"args": {"type": "object", "properties": {"a": {"type": "strng"}}}}),
            "`args.properties.a.type`: there is no type `strng`",
        );
    }

    #[test]
    fn a_header_is_found_in_its_text() {
        let at = place("a", "// const WORKFLOW\n  const  WORKFLOW= #{};").unwrap();
        assert_eq!((at.line, at.column), (2, 3));
        assert_eq!(place("a", "let x = 1;"), None);
    }
}
