//! Every key of `nrv.toml`, from the rows of its tables. Parsing, the JSON Schema and the advice on typing errors come from here.
//!
//! `*` in a path stands for a name that the user chooses.

use std::sync::LazyLock;

use super::{
    Adapter, Adapters, Budget, Calls, Ci, Confirm, Destructive, DiffSize, Evaluators, Exec, Gates, LanguageServer, Llm,
    LlmPrices, LlmProvider, LlmTimeouts, Mcp, McpServer, Net, Paths, Retention, Run, Script, Secrets, Settings, Tools,
    table::{Key, Section, Table},
};
use base::frame::Limits;

/// All tables, sorted.
const TABLES: &[Table] = &[
    Settings::TABLE,
    Adapters::TABLE,
    Adapter::TABLE,
    Budget::TABLE,
    Calls::TABLE,
    Ci::TABLE,
    Confirm::TABLE,
    Evaluators::TABLE,
    Exec::TABLE,
    Gates::TABLE,
    Destructive::TABLE,
    DiffSize::TABLE,
    Secrets::TABLE,
    Tools::TABLE,
    Table { path: "language_servers", doc: "Language servers, by name.", keys: &[] },
    LanguageServer::TABLE,
    Llm::TABLE,
    Table { path: "llm.providers", doc: "The providers, by name.", keys: &[] },
    LlmProvider::TABLE,
    LlmPrices::TABLE,
    LlmTimeouts::TABLE,
    Mcp::TABLE,
    Table { path: "mcp.servers", doc: "Servers of the Model Context Protocol, by name.", keys: &[] },
    McpServer::TABLE,
    Net::TABLE,
    Paths::TABLE,
    Retention::TABLE,
    Run::TABLE,
    Script::TABLE,
    Limits::TABLE,
];

/// All keys, sorted.
pub(super) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let keys = TABLES.iter().flat_map(|table| table.keys);
    let mut keys: Vec<Key> = keys.map(|key| Key { path: key.path.trim_start_matches('.'), ..*key }).collect();
    keys.sort_by_key(|key| key.path);
    keys
});

/// Keys and tables whose feature does not exist in this version, each with the words that say so, and with what to do instead.
pub(super) const MISSING: &[(&str, &str, &str)] =
    &[("llm.providers.*.model_file", "models in nrv's own process do not exist", SERVE)];

/// Values that an earlier version took, each with what to write instead.
const DROPPED: &[(&str, &str, &str)] = &[("llm.providers.*.dialect", "gguf", SERVE)];

const SERVE: &str = "serve the model's file with llama.cpp or Ollama, and give the server's `dialect` and `base_url`";

/// The key of that path, with `*` for chosen names.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The table of that path; none for the file itself.
pub(super) fn table(path: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.path == path && !path.is_empty())
}

/// All tables but the file itself.
pub(super) fn tables() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().filter(|table| !table.path.is_empty())
}

/// True if keys are known beneath that path.
pub(super) fn is_table(path: &str) -> bool {
    table(path).is_some()
}

/// The keys that older policies do not have.
pub(super) fn later() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.later)
}

/// The words for a feature that does not exist, and what to do instead.
pub(super) fn missing(path: &str) -> Option<(&'static str, &'static str)> {
    MISSING.iter().find(|(known, ..)| *known == path).map(|(_, words, instead)| (*words, *instead))
}

/// Advice on a value that only an earlier version took: what to write instead.
pub(super) fn instead(path: &str, value: Option<&str>) -> Option<&'static str> {
    let is_it = |(known, dropped, _): &&(&str, &str, &str)| *known == path && value == Some(*dropped);
    DROPPED.iter().find(is_it).map(|(.., instead)| *instead)
}

/// The names directly beneath a table; the empty path is the file itself.
pub(super) fn children(table: &str) -> impl Iterator<Item = &'static str> {
    let names = KEYS.iter().map(|key| key.path).chain(TABLES.iter().map(|table| table.path));
    let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
    let below = names.filter_map(move |path| path.strip_prefix(&prefix));
    below.filter(|rest| !rest.is_empty() && !rest.contains('.') && *rest != "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_every_key_has_a_table() {
        assert!(KEYS.is_sorted_by(|a, b| a.path < b.path) && MISSING.is_sorted_by(|a, b| a.0 < b.0));
        assert!(TABLES.is_sorted_by(|a, b| a.path < b.path));
        for key in KEYS.iter() {
            assert!(key.path.rsplit_once('.').is_none_or(|(table, _)| is_table(table)), "{}", key.path);
            assert!(missing(key.path).is_none());
        }
    }

    #[test]
    fn children_are_the_names_that_may_stand_in_a_table() {
        assert_eq!(children("paths").collect::<Vec<_>>(), ["allow_protected", "deny", "read_deny", "write"]);
        assert_eq!(children("adapters").collect::<Vec<_>>(), ["approved", "strict_tools"]);
        assert!(children("").any(|name| name == "gates") && !children("").any(|name| name.contains('.')));
    }
}
