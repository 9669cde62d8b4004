//! The help of a script, from its doc lines and its header.

use serde_json::{Map, Value};

use crate::{Loaded, arguments::kind};
use base::text::{escape, escape_lines};
use system::policy::Ceiling;

/// The text that `nrv run SCRIPT --help` shows.
pub fn help(loaded: &Loaded) -> String {
    let header = &loaded.header;
    let mut text = String::new();
    for paragraph in [loaded.doc.as_deref(), header.description.as_deref()].into_iter().flatten() {
        text.push_str(&escape_lines(paragraph));
        text.push_str("\n\n");
    }
    text.push_str(&format!("Usage: nrv run {}{}\n", escape(&loaded.main), usage(header.args.as_ref())));
    let rows = header.args.as_ref().map(rows).unwrap_or_default();
    if !rows.is_empty() {
        text.push_str("\nArguments:\n");
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, meaning) in rows {
            text.push_str(&format!("  {name:width$}  {meaning}\n"));
        }
    }
    text.push('\n');
    text.push_str(&permissions(&header.ceiling));
    text
}

/// The permissions and budgets of a script, one line for each kind.
pub fn permissions(ceiling: &Ceiling) -> String {
    let mut text = format!("May write: {}\n", writes(ceiling));
    if let calls @ [_, ..] = ceiling.calls.as_slice() {
        text.push_str(&format!("May call: {}\n", listed(calls)));
    }
    if let programs @ [_, ..] = ceiling.exec.as_slice() {
        text.push_str(&format!("May start: {}\n", listed(programs)));
    }
    if let providers @ [_, ..] = ceiling.llm.as_slice() {
        text.push_str(&format!("May ask models of: {}\n", listed(providers)));
    }
    if let hosts @ [_, ..] = ceiling.network.as_slice() {
        text.push_str(&format!("May reach: {}\n", listed(hosts)));
    }
    let budget = [
        ("files", ceiling.budget.files),
        ("diff lines", ceiling.budget.diff_lines),
        ("calls", ceiling.budget.calls),
        ("bytes", ceiling.budget.bytes),
        ("s of programs", ceiling.budget.exec_s),
        ("s in all", ceiling.budget.wall_s),
        ("tokens", ceiling.budget.tokens),
    ];
    let budget: Vec<_> = budget.iter().filter_map(|(name, most)| most.map(|most| format!("{most} {name}"))).collect();
    if !budget.is_empty() {
        text.push_str(&format!("At most: {}\n", budget.join(", ")));
    }
    text
}

fn writes(ceiling: &Ceiling) -> String {
    match ceiling.write.as_slice() {
        [] => "nothing".to_owned(),
        globs => listed(globs),
    }
}

fn listed(items: &[String]) -> String {
    items.iter().map(|item| escape(item)).collect::<Vec<_>>().join(", ")
}

/// The required arguments by name, then a word for the others.
fn usage(schema: Option<&Value>) -> String {
    let Some(schema) = schema else { return String::new() };
    let mut text: String = required(schema).iter().map(|name| format!(" --arg {}=…", escape(name))).collect();
    if properties(schema).keys().any(|name| !required(schema).contains(&name.as_str())) {
        text.push_str(" [--arg NAME=VALUE]…");
    }
    text
}

/// Name and meaning of each argument, required ones first.
fn rows(schema: &Value) -> Vec<(String, String)> {
    let required = required(schema);
    let mut rows: Vec<_> = properties(schema).into_iter().collect();
    rows.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
    let row = |(name, schema): (String, Value)| {
        (escape(&name), escape_lines(&meaning(&schema, required.contains(&name.as_str()))).into_owned())
    };
    rows.into_iter().map(row).collect()
}

fn meaning(schema: &Value, required: bool) -> String {
    let mut parts = vec![form(schema)];
    if required {
        parts.push("required".to_owned());
    }
    if let Some(default) = schema.get("default") {
        parts.push(format!("default {default}"));
    }
    let text = parts.join(", ");
    match schema.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description} ({text})"),
        None => text,
    }
}

/// The shape of a value in a few words.
fn form(schema: &Value) -> String {
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match (kind(Some(schema)), schema.get("items")) {
        ("array", Some(items)) => format!("array of {}", form(items)),
        (kind, _) => kind.to_owned(),
    }
}

fn properties(schema: &Value) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn required(schema: &Value) -> Vec<&str> {
    schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::header;
    use base::path::RepoPath;

    #[test]
    fn help_shows_what_a_caller_needs() {
        let header = header::parse(&json!({
            "args": {"type": "object", "required": ["to"], "properties": {
                "from": {"type": "array", "items": {"type": "string"}, "description": "Old hosts"},
                "to": {"type": "string"}, "kind": {"enum": ["a", 1], "default": "a"},
            }},
            "permissions": {"write": ["site/**"], "calls": ["tickets.create"], "exec": ["npm"], "llm": ["local"],
                "network": ["a.com"]},
            "budget": {"files": 5},
        }));
        let loaded = Loaded {
            main: RepoPath::parse("scripts/x.rhai").unwrap(),
            sources: Default::default(),
            imports: Default::default(),
            hashes: Default::default(),
            doc: Some("Moves links.".to_owned()),
            header: header.unwrap(),
            uses: Default::default(),
            places: Default::default(),
            is_module: false,
            warnings: Default::default(),
            spare: Default::default(),
        };
        let expected = "Moves links.\n\nUsage: nrv run scripts/x.rhai --arg to=… [--arg NAME=VALUE]…\n\n\
            Arguments:\n  to    string, required\n  from  Old hosts (array of string)\n  kind  \"a\" | 1, default \"a\"\n\n\
            May write: site/**\nMay call: tickets.create\nMay start: npm\nMay ask models of: local\nMay reach: a.com\nAt most: 5 files\n";
        assert_eq!(help(&loaded), expected);
    }
}
