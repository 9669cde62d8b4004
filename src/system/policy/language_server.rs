//! Language servers: a program, the languages that it is asked about, and its settings.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::LanguageServer;
use base::error::{Code, Error};

/// The key of the servers.
const SERVERS: &str = "language_servers";

impl LanguageServer {
    /// Its settings as a JSON object; empty without any.
    pub fn options(&self) -> Result<Map<String, Value>, Error> {
        let Some(text) = &self.settings else { return Ok(Map::new()) };
        serde_json::from_str(text).map_err(|error| {
            Error::new(Code::InvalidPolicy, format!("the settings of a language server are no JSON object: {error}"))
        })
    }
}

/// A server that can't be asked: its key, and the reason.
pub(super) fn wrong(servers: &BTreeMap<String, LanguageServer>) -> Option<(String, String)> {
    servers.iter().find_map(|(name, server)| {
        let lacks = |key: &str, what: &str| {
            (format!("{SERVERS}.{name}"), format!("lacks `{key}`, {what}: add it to `[{SERVERS}.{name}]`"))
        };
        if server.command.is_empty() {
            return Some(lacks("command", "the program and its arguments"));
        }
        if server.languages.is_empty() {
            return Some(lacks("languages", "the languages that it is asked about"));
        }
        let error = server.options().err()?;
        Some((format!("{SERVERS}.{name}.settings"), format!("can't be used: {}", error.message())))
    })
}

#[cfg(test)]
mod tests {
    use crate::policy::{FILE, Policy};
    use base::error::Code;

    #[test]
    fn a_server_has_a_command_and_languages() {
        let text = "[language_servers.tsgo]\ncommand = ['tsgo', '--lsp']\nlanguages = ['typescript', 'tsx']\n";
        let policy = Policy::parse(text, FILE).unwrap();
        let server = &policy.settings().language_servers["tsgo"];
        assert_eq!(
            (server.command.as_slice(), server.options().unwrap().len()),
            (&["tsgo".to_owned(), "--lsp".to_owned()][..], 0)
        );
        let entrusted = policy.entrusted().unwrap();
        assert!(entrusted.starts && entrusted.told[0].contains("`tsgo --lsp`"), "{entrusted:?}");
        for (wrong, message) in [
            ("languages = ['rust']", "lacks `command`"),
            ("command = ['x']", "lacks `languages`"),
            ("command = ['x']\nlanguages = ['prolog']", "`prolog`"),
            ("command = ['x']\nlanguages = ['rust']\nsettings = '[]'", "no JSON object"),
        ] {
            let error = Policy::parse(&format!("[language_servers.a]\n{wrong}\n"), FILE).unwrap_err();
            assert!(error.code() == Code::InvalidPolicy && error.message().contains(message), "{error:?}");
        }
    }
}
