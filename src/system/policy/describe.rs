//! The JSON Schema of `nrv.toml` for editors, made from the keys and the defaults. `schemas/policy.schema.json` is a copy.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    key, parse,
    provider::LlmProvider,
    settings::{Adapter, McpServer},
    table::{Column, Form},
};
use base::error::Error;

/// The JSON Schema (draft 2020-12) of `nrv.toml`: every key with its form, what it is for, and its default.
pub fn json_schema() -> Result<Value, Error> {
    let mut defaults = parse::defaults()?;
    // The defaults of a chosen name stand under `*`, as its keys do.
    defaults["adapters"]["*"] = json!(Adapter::default());
    defaults["llm"]["providers"]["*"] = json!(LlmProvider::default());
    defaults["llm"]["providers"]["*"]["dialect"] = Value::Null;
    defaults["mcp"]["servers"]["*"] = json!(McpServer::default());
    for required in ["command", "tools"] {
        defaults["mcp"]["servers"]["*"][required] = Value::Null;
    }
    let mut schema = table("", &defaults);
    schema["properties"]["llm"]["properties"]["providers"]["additionalProperties"]["required"] = json!(["dialect"]);
    schema["properties"]["language_servers"]["additionalProperties"]["required"] = json!(["command", "languages"]);
    schema["properties"]["mcp"]["properties"]["servers"]["additionalProperties"]["required"] = json!(["tools"]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("nrv.toml");
    schema["description"] =
        json!("The policy of a repository: what runs of nrv may do. Defaults hold where it is silent.");
    Ok(schema)
}

/// A table or a key of `nrv.toml`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Described {
    /// Its place, such as `exec.allow`; `NAME` stands for a name that the user chooses.
    pub name: String,
    /// The purpose, in sentences.
    pub doc: &'static str,
    /// The form of its value, in words; none for a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The value that holds without it; none if there is none.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub default: Value,
    /// The keys of a rule, if the value is a list of rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<Described>,
}

/// Every table and key of `nrv.toml`, sorted by name, each table before its keys.
pub fn described() -> Result<Vec<Described>, Error> {
    let defaults = parse::defaults()?;
    let name = |path: &str| path.replace('*', "NAME");
    let tables = key::tables().map(|table| Described {
        name: name(table.path),
        doc: table.doc,
        value: None,
        default: Value::Null,
        columns: Vec::new(),
    });
    let keys = key::KEYS.iter().map(|key| {
        let default = defaults.pointer(&format!("/{}", key.path.replace('.', "/"))).filter(|value| !value.is_null());
        let default = default.map(|value| key.form.written(value)).unwrap_or_default();
        Described {
            name: name(key.path),
            doc: key.doc,
            value: Some(key.form.words()),
            default,
            columns: columns(key.form),
        }
    });
    let mut all: Vec<Described> = tables.chain(keys).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// The keys of rules of this form.
fn columns(form: Form) -> Vec<Described> {
    let Form::Rows(columns) = form else { return Vec::new() };
    let described = |column: &Column| Described {
        name: column.name.to_owned(),
        doc: column.doc,
        value: Some(column.form.words()),
        default: Value::Null,
        columns: Vec::new(),
    };
    columns.iter().map(described).collect()
}

fn table(path: &str, defaults: &Value) -> Value {
    let child = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let properties: Map<String, Value> =
        key::children(path).map(|name| (name.to_owned(), entry(&child(name), &defaults[name]))).collect();
    let chosen = child("*");
    let others = if key::is_table(&chosen) { table(&chosen, &defaults["*"]) } else { json!(false) };
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": others});
    if let Some(table) = key::table(path) {
        schema["description"] = json!(table.doc);
    }
    schema
}

fn entry(path: &str, default: &Value) -> Value {
    let Some(key) = key::find(path) else { return table(path, default) };
    let mut schema = key.form.schema();
    schema["description"] = json!(key.doc);
    if !default.is_null() {
        schema["default"] = key.form.written(default);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{FILE, Policy};

    const FILE_OF_SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/policy.schema.json");

    #[expect(clippy::disallowed_methods, reason = "the shipped copy is compared with, or blessed from, the keys")]
    fn shipped() -> Value {
        let schema = serde_json::to_string_pretty(&json_schema().unwrap()).unwrap() + "\n";
        if std::env::var_os("NRV_BLESS").is_some() {
            std::fs::write(FILE_OF_SCHEMA, &schema).unwrap();
        }
        let text = std::fs::read_to_string(FILE_OF_SCHEMA).unwrap();
        assert!(text == schema, "schemas/policy.schema.json is old; run the tests with NRV_BLESS=1");
        serde_json::from_str(&text).unwrap()
    }

    /// Every key of the schema with its schema, chosen names written as `x`.
    fn leaves(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
        let Some(properties) = schema["properties"].as_object() else {
            return found.push((path.to_owned(), schema.clone()));
        };
        let others = schema["additionalProperties"].is_object().then(|| ("x", &schema["additionalProperties"]));
        for (name, inner) in properties.iter().map(|(name, inner)| (name.as_str(), inner)).chain(others) {
            leaves(inner, format!("{path}.{name}").trim_start_matches('.'), found);
        }
    }

    #[test]
    fn schema_and_parser_know_the_same_keys() {
        let mut found = Vec::new();
        leaves(&shipped(), "", &mut found);
        let mut paths: Vec<String> = found.iter().map(|(path, _)| path.replace(".x.", ".*.")).collect();
        paths.sort();
        assert_eq!(paths, key::KEYS.iter().map(|key| key.path).collect::<Vec<_>>());
        assert!(found.iter().all(|(_, schema)| schema["description"].as_str().is_some_and(|doc| doc.ends_with('.'))));
    }

    #[test]
    fn a_file_of_all_defaults_is_the_default_policy() {
        let mut found = Vec::new();
        leaves(&shipped(), "", &mut found);
        let lines = found.iter().filter(|(_, schema)| !schema["default"].is_null());
        let mut text: String = lines.map(|(path, schema)| format!("{path} = {}\n", schema["default"])).collect();
        text.push_str("llm.providers.x.dialect = \"heuristic\"\n");
        text.push_str("mcp.servers.x.command = [\"a\"]\nmcp.servers.x.tools = [\"b\"]\n");
        assert!(
            text.contains("budget.bytes = \"256MiB\"\n") && text.contains("adapters.x.max_files = 5000\n"),
            "{text}"
        );
        let mut settings = Policy::parse(&text, FILE).unwrap().settings().clone();
        assert_eq!(settings.adapters.named.remove("x"), Some(Adapter::default()));
        let provider = LlmProvider { dialect: "heuristic".to_owned(), ..LlmProvider::default() };
        assert_eq!(settings.llm.providers.remove("x"), Some(provider));
        let (command, tools) = (vec!["a".to_owned()], vec!["b".to_owned()]);
        let server = McpServer { command, tools, ..McpServer::default() };
        assert_eq!(settings.mcp.servers.remove("x"), Some(server));
        assert_eq!(&settings, Policy::default().settings());
    }

    /// A key that the parser takes but no setting holds would be lost without a word.
    #[test]
    fn every_key_reaches_a_setting() {
        for key in key::KEYS.iter() {
            let path = key.path.replace('*', "x");
            // Providers and servers need other keys beside each.
            let beside = match path.strip_prefix("llm.providers.x.") {
                Some("dialect" | "base_url") => {
                    "llm.providers.x.dialect = \"ollama\"\nllm.providers.x.base_url = \"http://a\""
                }
                Some("program") => "llm.providers.x.dialect = \"command\"\nllm.providers.x.program = [\"a\"]",
                Some(_) => "llm.providers.x.dialect = \"ollama\"\nllm.providers.x.base_url = \"http://a\"",
                None if path.starts_with("language_servers.x.") => {
                    "language_servers.x.command = [\"a\"]\nlanguage_servers.x.languages = [\"go\"]"
                }
                None if path.starts_with("mcp.servers.x.token") || path == "mcp.servers.x.url" => {
                    "mcp.servers.x.url = \"http://a\"\nmcp.servers.x.tools = [\"a\"]"
                }
                None if path.starts_with("mcp.servers.x.") => {
                    "mcp.servers.x.command = [\"a\"]\nmcp.servers.x.tools = [\"a\"]"
                }
                None => "",
            };
            let beside: Vec<&str> = beside.lines().collect();
            let default = Policy::parse(&beside.join("\n"), FILE).unwrap();
            let rest: Vec<&str> = beside.into_iter().filter(|line| !line.starts_with(&format!("{path} "))).collect();
            let samples = [
                "true",
                "false",
                "7",
                "[\"sample\"]",
                "[\"tests-pass\"]",
                "[\"rust\"]",
                "\"{}\"",
                "\"keep\"",
                "\"never\"",
                "\"script\"",
                "\"block\"",
                "\"3h\"",
                "[{id = \"a\", prefix = [\"b\"], reason = \"c\"}]",
                "[{id = \"a\", regex = \"b\"}]",
                "[{rule = \"a\", path = \"b\"}]",
                "[{prefix = [\"make\"]}]",
                "[{rule = \"a\", prefix = [\"b\"], reason = \"c\"}]",
                "[{description = \"a\", assertion = {file_exists = \"b\"}}]",
                "[\"~/.cargo\"]",
                "\"require\"",
                "\"heuristic\"",
                "\"ask\"",
                "\"record\"",
                "\"replay\"",
                "\"anthropic\"",
                "\"http://b\"",
                "\"A_KEY\"",
                "\"/run/key\"",
            ];
            let changed = samples.iter().any(|sample| {
                let policy = Policy::parse(&format!("{path} = {sample}\n{}", rest.join("\n")), FILE);
                policy.is_ok_and(|policy| policy.settings() != default.settings())
            });
            assert!(changed, "{path}");
        }
    }
}
