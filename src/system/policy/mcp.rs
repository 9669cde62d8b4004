//! Servers of the Model Context Protocol: a program or a URL, and the names of the tools that runs may use.

use std::collections::BTreeMap;

use super::{McpServer, Policy};
use base::call::call_name;

/// The key of the servers.
const SERVERS: &str = "mcp.servers";

impl McpServer {
    /// True if it is a program.
    pub(super) fn starts_program(&self) -> bool {
        !self.command.is_empty()
    }
}

impl Policy {
    /// The names of the calls that are tools of servers, such as `mcp.docs.search`, sorted.
    pub fn mcp_calls(&self) -> Vec<String> {
        let servers = self.settings().mcp.servers.iter();
        let mut calls: Vec<String> =
            servers.flat_map(|(name, server)| server.tools.iter().map(move |tool| call_name(name, tool))).collect();
        calls.sort();
        calls
    }
}

/// A server that can't be used: its key, and the reason.
pub(super) fn wrong(servers: &BTreeMap<String, McpServer>) -> Option<(String, String)> {
    servers.iter().find_map(|(name, server)| {
        let key = format!("{SERVERS}.{name}");
        if name.is_empty() {
            return Some((key, "has no name: name it, such as `[mcp.servers.docs]`".to_owned()));
        }
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        if !name.chars().all(is_word) {
            return Some((key, "has a name that is more than letters in lower case, digits, `_` and `-`".to_owned()));
        }
        match (server.command.is_empty(), &server.url) {
            (true, None) => return Some((key, format!("lacks `command` or `url`: add one to `[{SERVERS}.{name}]`"))),
            (false, Some(_)) => return Some((key, "has `command` and `url`: a server has one of them".to_owned())),
            _ => {}
        }
        if server.tools.is_empty() {
            return Some((
                key,
                format!("lacks `tools`, the names of the tools that runs may use: add it to `[{SERVERS}.{name}]`"),
            ));
        }
        let foreign = match &server.url {
            Some(_) => [("env", !server.env.is_empty()), ("network", server.network)],
            None => [("token_env", server.token_env.is_some()), ("token_file", server.token_file.is_some())],
        };
        if let Some((other, _)) = foreign.into_iter().find(|(_, is_set)| *is_set) {
            let of = if server.url.is_some() { "`command`" } else { "`url`" };
            return Some((format!("{key}.{other}"), format!("belongs to a server with {of}: remove it")));
        }
        let both = server.token_env.is_some() && server.token_file.is_some();
        both.then(|| (format!("{key}.token_file"), "is given beside `token_env`: remove one of them".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::FILE;
    use base::error::Code;

    #[test]
    fn a_server_is_a_program_or_a_url_with_tools() {
        let text = "[mcp.servers.docs]\ncommand = ['docs', '--stdio']\ntools = ['search', 'a.b']\nnetwork = true\nenv = ['KEY']\n\
                    [mcp.servers.far]\nurl = 'https://a.example/mcp'\ntools = ['x']\ntoken_env = 'TOKEN'\n";
        let policy = Policy::parse(text, FILE).unwrap();
        assert_eq!(policy.mcp_calls(), ["mcp.docs.a.b", "mcp.docs.search", "mcp.far.x"]);
        let entrusted = policy.entrusted().unwrap();
        assert!(entrusted.starts && entrusted.sends);
        assert_eq!(
            entrusted.told[..2],
            [
                "the tools `search`, `a.b` of the MCP server `docs` start `docs --stdio`, with the network, on a view of the \
                 tree that is thrown away, with the variables `KEY` of your environment",
                "calls of the tools `x` of the MCP server `far` go to `https://a.example/mcp`, with the token in `TOKEN`",
            ]
        );
        let other = Policy::parse(&text.replace("'x'", "'x', 'y'"), FILE).unwrap();
        assert_ne!(other.entrusted().unwrap().sha256, entrusted.sha256);
    }

    #[test]
    fn a_server_that_can_not_be_used_is_refused() {
        for (name, wrong, message) in [
            ("a", "tools = ['x']", "lacks `command` or `url`"),
            ("a", "command = ['x']", "lacks `tools`"),
            ("a", "command = ['x']\nurl = 'http://a'\ntools = ['x']", "has `command` and `url`"),
            ("a", "command = ['x']\ntools = ['x']\ntoken_env = 'A'", "belongs to a server with `url`"),
            ("a", "url = 'http://a'\ntools = ['x']\nnetwork = true", "belongs to a server with `command`"),
            ("a", "url = 'http://a'\ntools = ['x']\ntoken_env = 'A'\ntoken_file = '~/b'", "beside `token_env`"),
            ("\"\"", "command = ['x']\ntools = ['x']", "has no name"),
            ("'A b'", "command = ['x']\ntools = ['x']", "has a name that is more than letters"),
        ] {
            let error = Policy::parse(&format!("[mcp.servers.{name}]\n{wrong}\n"), FILE).unwrap_err();
            assert!(error.code() == Code::InvalidPolicy && error.message().contains(message), "{error:?}");
        }
    }
}
