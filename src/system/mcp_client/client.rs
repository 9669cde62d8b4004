//! The client of one server: begins, lists tools, calls one.

use std::{
    cell::Cell,
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ClientCacheConfig, ClientHandler, ClientLifecycleMode, RoleClient,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
        PaginatedRequestParams, ProtocolVersion,
    },
    serve_client_with_lifecycle,
    service::{ClientInitializeError, NotificationContext, RunningService, ServiceError},
    transport::{
        IntoTransport, StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{
    Caller, Definition, Reply,
    pipes::{Pipes, Watch},
    web::{Posts, Web},
};
use crate::{
    base::{
        error::{Code, Error},
        text::{escape, shortened},
    },
    system::clock::Stopwatch,
};

/// The interval between checks for a cancellation.
const TICK: Duration = Duration::from_millis(20);

/// The most tools of a server that are looked at.
const TOOLS: usize = 2000;

/// Characters of a server's words that an error shows.
const SHOWN: usize = 500;

/// A client of a server.
pub struct Client {
    server: String,
    // Before the runtime, which its end needs.
    service: RunningService<RoleClient, Quiet>,
    runtime: Runtime,
    watch: Arc<Watch>,
    has_changed: Arc<AtomicBool>,
    /// True if a request was given up, or the server did.
    is_given_up: Cell<bool>,
}

/// A server's name and version as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The name; empty if it says none.
    pub name: String,
    /// The version; empty if it says none.
    pub version: String,
}

/// Whoever answers the questions of a server: nobody. It hears of changed tools.
#[derive(Debug)]
struct Quiet {
    has_changed: Arc<AtomicBool>,
}

impl ClientHandler for Quiet {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("nrv", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.has_changed.store(true, Ordering::Relaxed);
    }
}

/// The error of a server that does not do its work.
pub fn failed(server: &str, phrase: impl Display) -> Error {
    Error::new(Code::CommandFailed, format!("the MCP server `{server}` {phrase}")).detail("mcp_server", server)
}

impl Client {
    /// Begins a conversation over the standard streams of a program.
    pub fn over_pipes(server: &str, pipes: Pipes, caller: Caller<'_>) -> Result<Client, Error> {
        let watch = Arc::clone(&pipes.watch);
        Client::begin(server, watch, caller, || pipes)
    }

    /// Begins a conversation with a server at a URL.
    pub fn over_web(server: &str, url: &str, web: Arc<dyn Web>, caller: Caller<'_>) -> Result<Client, Error> {
        let watch = Arc::<Watch>::default();
        let posts = Posts { web, watch: Arc::clone(&watch) };
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        Client::begin(server, watch, caller, || StreamableHttpClientTransport::with_client(posts, config))
    }

    fn begin<T, E, A>(
        server: &str,
        watch: Arc<Watch>,
        caller: Caller<'_>,
        transport: impl FnOnce() -> T,
    ) -> Result<Client, Error>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let failed_to_start = |error| Error::io("the client of an MCP server can't be started", &error);
        let runtime = Builder::new_current_thread().enable_time().build().map_err(failed_to_start)?;
        let has_changed = Arc::new(AtomicBool::new(false));
        let quiet = Quiet { has_changed: Arc::clone(&has_changed) };
        let lifecycle =
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None };
        let begun = drive(&runtime, server, caller, async {
            // The transport may start tasks.
            serve_client_with_lifecycle(quiet, transport(), lifecycle).await
        })?;
        let service = begun.map_err(|error| {
            let phrase = watch.fault().unwrap_or_else(|| match error {
                ClientInitializeError::ConnectionClosed(_) => "ended before it had answered".to_owned(),
                error => format!("can't be asked: {}", shown(&error.to_string())),
            });
            failed(server, phrase)
        })?;
        // A definition that was fetched before says nothing of the server now.
        let without_cache = service.peer().set_response_cache_config(ClientCacheConfig::disabled());
        drive(&runtime, server, caller, without_cache)?;
        Ok(Client { server: server.to_owned(), service, runtime, watch, has_changed, is_given_up: Cell::new(false) })
    }

    /// The name and version of the server.
    pub fn named(&self) -> Named {
        let info = self.service.peer_info().and_then(|info| info.server_info.clone());
        info.map_or_else(Named::default, |info| Named { name: shown(&info.name), version: shown(&info.version) })
    }

    /// True if the server said since the last time that its tools are others.
    pub fn has_changed(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }

    /// True if nothing more can be asked.
    pub fn is_over(&self) -> bool {
        self.is_given_up.get() || self.watch.fault().is_some() || self.service.is_closed()
    }

    /// The definitions of the server's tools, in its order.
    pub fn tools(&self, caller: Caller<'_>) -> Result<Vec<Definition>, Error> {
        self.ask(caller, async {
            let mut tools = Vec::new();
            let mut cursor = None;
            loop {
                let page = PaginatedRequestParams::default().with_cursor(cursor);
                let page = self.service.list_tools(Some(page)).await.map_err(|error| self.fault(&error))?;
                tools.extend(page.tools);
                if tools.len() > TOOLS {
                    return Err(failed(&self.server, format_args!("lists more than {TOOLS} tools")));
                }
                cursor = page.next_cursor;
                if cursor.is_none() {
                    return Ok(tools);
                }
            }
        })?
        .into_iter()
        .map(|tool| {
            serde_json::from_value(json!(tool)).map_err(|error| {
                let name = shown(&tool.name);
                failed(&self.server, format_args!("defines the tool `{name}` in a form that can't be used: {error}"))
            })
        })
        .collect()
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, params: Map<String, Value>, caller: Caller<'_>) -> Result<Reply, Error> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(params);
        let answered =
            self.ask(caller, async { self.service.call_tool_once(params).await.map_err(|error| self.fault(&error)) })?;
        match answered {
            CallToolResponse::Complete(result) => {
                let result = json!(result);
                Ok(Reply {
                    content: result["content"].as_array().cloned().unwrap_or_default(),
                    structured: result.get("structuredContent").cloned(),
                    is_error: result["isError"] == true,
                })
            }
            _ => {
                Err(failed(&self.server, format_args!("asks a question about the tool `{tool}`, which nobody answers")))
            }
        }
    }

    fn ask<T>(&self, caller: Caller<'_>, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.watch.reset();
        drive(&self.runtime, &self.server, caller, request).inspect_err(|_| self.is_given_up.set(true))?
    }

    /// The error of a request that was not answered well.
    fn fault(&self, error: &ServiceError) -> Error {
        let has_answered = matches!(error, ServiceError::McpError(_) | ServiceError::UnexpectedResponse);
        self.is_given_up.set(self.is_given_up.get() || !has_answered);
        match (self.watch.fault(), error) {
            (Some(fault), _) => failed(&self.server, fault),
            (None, ServiceError::McpError(refusal)) => {
                let words = shown(&refusal.message);
                failed(&self.server, format_args!("refuses: {words}")).detail("mcp_code", refusal.code.0)
            }
            (None, ServiceError::TransportClosed) => failed(&self.server, "ended before it had answered"),
            (None, ServiceError::UnexpectedResponse) => failed(&self.server, "gave an answer of another form"),
            (None, other) => failed(&self.server, format_args!("did not answer: {}", shown(&other.to_string()))),
        }
    }
}

/// The words of a server, for a message.
fn shown(words: &str) -> String {
    escape(&shortened(words.trim(), SHOWN))
}

/// Works on a request until it is answered, its time is up or the caller has it stopped.
fn drive<T>(runtime: &Runtime, server: &str, caller: Caller<'_>, request: impl Future<Output = T>) -> Result<T, Error> {
    let watch = Stopwatch::start();
    runtime.block_on(async {
        let mut request = std::pin::pin!(request);
        loop {
            if let Ok(done) = tokio::time::timeout(TICK, &mut request).await {
                return Ok(done);
            }
            (caller.pulse)()?;
            if watch.elapsed() >= Duration::from_millis(caller.timeout_ms) {
                let error = failed(server, format_args!("took longer than {} ms", caller.timeout_ms));
                return Err(error.hint(format!("raise `timeout_ms` in `[mcp.servers.{server}]` of `nrv.toml`")));
            }
        }
    })
}
