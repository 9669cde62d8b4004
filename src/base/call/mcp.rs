//! The names of calls that are tools of MCP servers.

/// The first part of the name.
const PREFIX: &str = "mcp.";

/// The name of the call that is a tool of a server, such as `mcp.docs.search`.
pub fn call_name(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}.{tool}")
}

/// The server and the tool of a call; none if the call is no tool of a server.
pub fn tool_of_call(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(PREFIX)?.split_once('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_call_leads_back_to_its_tool() {
        assert_eq!(tool_of_call(&call_name("docs", "a.b/c")), Some(("docs", "a.b/c")));
        assert_eq!((tool_of_call("docs.a"), tool_of_call("mcp.docs")), (None, None));
    }
}
