//! `nrv.mcp(name)`: MCP servers, and the tools of one.

use rhai::{Dynamic, Engine, NativeCallContext};

use crate::guest::bindings::{Field, Namespace, fields, host::Host, interface::MCP_SERVER, registry};
use base::call::{Call, call_name};

const TOOL: &[Field] = fields! { name: "string", description: "string | ()", input_schema: "map", read_only: "bool" };

const REPLY: &[Field] = fields! { text: "string", content: "array", structured: "any" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: MCP_SERVER,
    doc: "A server of the Model Context Protocol: its tools, as far as the policy names them and a person has approved them.",
    calls: registry! {
        MCP_SERVER;
        /// Calls a tool with a map of parameters: `#{text, content, structured}`.
        ///
        /// `text` joins the texts of the reply, `content` has all of its parts as the protocol has them, and `structured` is the reply as one
        /// value, or `()`. A tool that fails is an error (`command_failed`). One that is not as it was approved is `not_approved`. The header
        /// permits each tool by `permissions: #{ calls: ["mcp.SERVER.TOOL"] }`. A dry run makes the call only if the approved definition says
        /// that it has no effect (`blocked`).
        ///
        /// ```rhai
        /// let found = nrv.mcp("docs").invoke("search", #{ query: "links" });
        /// print(found.text);
        /// ```
        invoke(tool: "string", params: "map") -> "map" = REPLY;
        /// The tools that the policy names: `[#{name, description, input_schema, read_only}]`, in its order.
        ///
        /// All of them have to be as they were approved. `read_only` is the server's word, which was approved too.
        ///
        /// ```rhai
        /// for tool in nrv.mcp("docs").tools() { print(tool.name); }
        /// ```
        tools() -> "array" = TOOL;
    },
    register,
};

/// The handle that `nrv.mcp(name)` returns.
#[derive(Clone)]
pub(super) struct McpServer {
    host: Host,
    server: String,
}

impl McpServer {
    /// The handle of a server, which may not exist.
    pub(super) fn new(host: &Host, server: &str) -> Self {
        McpServer { host: host.clone(), server: server.to_owned() }
    }
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<McpServer>("mcp_server");
    engine.register_fn("tools", |ctx: NativeCallContext<'_>, this: &mut McpServer| {
        this.host.call(&ctx, Call::McpTools { server: this.server.clone() })
    });
    // Not `call`: the engine takes that name for its own, whatever the type.
    engine.register_fn("invoke", |ctx: NativeCallContext<'_>, this: &mut McpServer, tool: &str, params: Dynamic| {
        let params = this.host.json(&ctx, &params)?;
        this.host.call(&ctx, Call::Custom { name: call_name(&this.server, tool), params })
    });
}
