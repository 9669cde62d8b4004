//! A script's header: the `WORKFLOW` constant, read strictly.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    error::{Code, Error, Location},
    schema::Schema,
};

/// What a script says of itself. Without one, a script may only read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Header {
    /// The workflow's name.
    pub name: Option<String>,
    /// What it does, in a sentence.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; none: it takes none.
    pub args: Option<Value>,
    /// What it may do at most.
    pub permissions: Permissions,
    /// What it may use up at most.
    pub budget: Budget,
    /// What becomes of its changes if it fails.
    pub on_failure: OnFailure,
}

/// A ceiling on what a script may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Permissions {
    /// Globs of paths that it may write.
    pub write: Vec<String>,
    /// Programs that it may run.
    pub exec: Vec<String>,
    /// Model providers that it may ask.
    pub llm: Vec<String>,
    /// Hosts that it may reach.
    pub network: Vec<String>,
}

/// A ceiling on what a script may use up; none: what policy says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Files changed.
    pub files: Option<u64>,
    /// Lines added and removed.
    pub diff_lines: Option<u64>,
    /// Host calls.
    pub calls: Option<u64>,
    /// Bytes written.
    pub bytes: Option<u64>,
}

/// What becomes of the changes of a run that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// They are undone.
    #[default]
    Undo,
    /// They stay.
    Keep,
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let texts = json!({"type": "array", "items": {"type": "string", "minLength": 1}});
    let count = json!({"type": "integer", "minimum": 0});
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "description": {"type": "string"},
            "args": {"type": "object"},
            "permissions": {
                "type": "object",
                "additionalProperties": false,
                "properties": {"write": texts, "exec": texts, "llm": texts, "network": texts},
            },
            "budget": {
                "type": "object",
                "additionalProperties": false,
                "properties": {"files": count, "diff_lines": count, "calls": count, "bytes": count},
            },
            "on_failure": {"enum": ["undo", "keep"]},
        },
    })
});

/// Reads a header from the JSON of the constant.
pub(super) fn parse(header: &Value) -> Result<Header, Error> {
    let wrong = |error: &Error| {
        let changed = Error::new(Code::ScriptSyntax, format!("`WORKFLOW` is wrong: {error}"));
        error.details().iter().fold(changed, |changed, (key, value)| changed.detail(key, value.clone()))
    };
    Schema::compile(&SCHEMA)?.check(header).map_err(|error| wrong(&error))?;
    let parsed: Header = serde_json::from_value(header.clone())
        .map_err(|error| Error::new(Code::ScriptSyntax, format!("`WORKFLOW` is wrong: {error}")))?;
    if let Some(schema) = &parsed.args {
        if schema.get("type") != Some(&json!("object")) {
            return Err(Error::new(Code::ScriptSyntax, "`WORKFLOW.args` does not describe an object")
                .hint("write `args: #{ type: \"object\", properties: #{ … } }`"));
        }
        let prefix = |error: Error| Error::new(Code::ScriptSyntax, format!("`WORKFLOW.args` is wrong: {error}"));
        Schema::compile(schema).map_err(prefix)?;
    }
    refuse_unavailable(&parsed.permissions)?;
    Ok(parsed)
}

/// Refuses permissions for what this version can't do, rather than to grant them in silence later.
fn refuse_unavailable(permissions: &Permissions) -> Result<(), Error> {
    let unavailable = [
        ("exec", &permissions.exec, "commands"),
        ("llm", &permissions.llm, "models"),
        ("network", &permissions.network, "network requests"),
    ];
    for (key, asked, what) in unavailable {
        if !asked.is_empty() {
            let message =
                format!("the script asks for `permissions.{key}`, and {what} are not available in this version");
            return Err(Error::new(Code::ScriptSyntax, message).hint(format!("leave `{key}` out, or empty")));
        }
    }
    Ok(())
}

/// Where the header is in the text of a script, for errors in it.
pub(super) fn place(path: &str, text: &str) -> Option<Location> {
    let is_header = |line: &str| {
        let mut words = line.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty());
        words.next() == Some("const") && words.next() == Some("WORKFLOW")
    };
    let line = text.lines().position(is_header)?;
    let column = text.lines().nth(line)?.chars().take_while(|c| c.is_whitespace()).count();
    Some(Location { path: path.to_owned(), line: line + 1, column: column + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((header.name.as_deref(), header.on_failure), (Some("x"), OnFailure::Keep));
        assert_eq!((header.permissions.write.len(), header.budget.files, header.budget.bytes), (1, Some(5), None));
        assert_eq!(parse(&json!({})).unwrap(), Header::default());
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        refused(&json!({"nmae": "x"}), "did you mean `name`?");
        refused(&json!({"budget": {"file": 3}}), "`/budget`: the field `file` is unknown, did you mean `files`?");
        refused(&json!({"budget": {"files": -3}}), "/budget/files");
        refused(&json!({"on_failure": "explode"}), "/on_failure");
    }

    #[test]
    fn what_this_version_can_not_do_is_refused() {
        refused(&json!({"permissions": {"exec": ["cargo"]}}), "commands are not available in this version");
        refused(&json!({"permissions": {"llm": ["x"]}}), "models are not available in this version");
        refused(&json!({"permissions": {"network": ["x"]}}), "network requests are not available in this version");
    }

    #[test]
    fn the_schema_of_the_arguments_is_checked() {
        refused(&json!({"args": {"type": "array"}}), "does not describe an object");
        refused(&json!({"args": {"type": "object", "properties": {"a": {"type": "strng"}}}}), "`/properties/a/type`");
    }

    #[test]
    fn a_header_is_found_in_its_text() {
        let at = place("a", "// const WORKFLOW\n  const  WORKFLOW= #{};").unwrap();
        assert_eq!((at.line, at.column), (2, 3));
        assert_eq!(place("a", "let x = 1;"), None);
    }
}
