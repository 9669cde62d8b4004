//! The client of one server: begins, lists tools, calls one.

use std::{cell::Cell, fmt::Display, sync::Arc, time::Duration};

use rmcp::{
    ClientCacheConfig, ClientHandler, ClientLifecycleMode, RoleClient,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ErrorData, Implementation,
        PaginatedRequestParams, ProtocolVersion,
    },
    serve_client_with_lifecycle,
    service::{ClientInitializeError, RunningService, ServiceError},
    transport::{
        IntoTransport, StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{
    Definition, Reply,
    pipes::Pipes,
    watch::{Fault, Watch},
    web::{Posts, Web},
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
    text::{escape, shortened},
};

/// The interval between checks for a cancellation.
const TICK: Duration = Duration::from_millis(20);

/// The most tools of a server that are looked at.
const TOOLS: usize = 2000;

/// The fault of a server whose answer does not belong to the question.
const OTHER_FORM: &str = "gave an answer of another form";

/// The fault of a server that says nothing more.
const ENDED: &str = "ended before it had answered";

/// Characters of a server's words that an error shows.
const SHOWN: usize = 500;

/// A client of a server.
pub struct Client {
    server: String,
    // Before the runtime, which its end needs.
    service: RunningService<RoleClient, Quiet>,
    runtime: Runtime,
    watch: Arc<Watch>,
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

/// Whoever answers the questions of a server: nobody.
#[derive(Debug)]
struct Quiet;

impl ClientHandler for Quiet {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("nrv", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }
}

/// The error of a server that does not do its work.
pub fn failed(server: &str, phrase: impl Display) -> Error {
    Error::new(Code::CommandFailed, format!("the MCP server `{server}` {phrase}")).detail("mcp_server", server)
}

impl Client {
    /// Begins a conversation over the standard streams of a program.
    pub fn over_pipes(server: &str, pipes: Pipes, pulse: Pulse<'_>) -> Result<Client, Error> {
        let watch = Arc::clone(&pipes.watch);
        Client::begin(server, watch, pulse, || pipes)
    }

    /// Begins a conversation with a server at a URL.
    pub fn over_web(server: &str, url: &str, web: Arc<dyn Web>, pulse: Pulse<'_>) -> Result<Client, Error> {
        let watch = Arc::<Watch>::default();
        let posts = Posts { web, watch: Arc::clone(&watch) };
        // A call that a server did not take in one session is not sent again in another, whose tools nobody has looked at.
        let config = StreamableHttpClientTransportConfig::with_uri(url).reinit_on_expired_session(false);
        Client::begin(server, watch, pulse, || StreamableHttpClientTransport::with_client(posts, config))
    }

    fn begin<T, E, A>(
        server: &str,
        watch: Arc<Watch>,
        pulse: Pulse<'_>,
        transport: impl FnOnce() -> T,
    ) -> Result<Client, Error>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let failed_to_start = |error| Error::io("the client of an MCP server can't be started", &error);
        let runtime = Builder::new_current_thread().enable_time().build().map_err(failed_to_start)?;
        let lifecycle =
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None };
        let begun = drive(&runtime, pulse, async {
            // The transport may start tasks.
            serve_client_with_lifecycle(Quiet, transport(), lifecycle).await
        })?;
        let service = begun
            .map_err(|error| watch.fault().map_or_else(|| unbegun(server, &error), |fault| faulty(server, fault)))?;
        watch.forgive();
        // A definition that was fetched before says nothing of the server now.
        let without_cache = service.peer().set_response_cache_config(ClientCacheConfig::disabled());
        drive(&runtime, pulse, without_cache)?;
        Ok(Client { server: server.to_owned(), service, runtime, watch, is_given_up: Cell::new(false) })
    }

    /// The name and version of the server.
    pub fn named(&self) -> Named {
        let info = self.service.peer_info().and_then(|info| info.server_info.clone());
        info.map_or_else(Named::default, |info| Named { name: shown(&info.name), version: shown(&info.version) })
    }

    /// True if nothing more can be asked.
    pub fn is_over(&self) -> bool {
        self.is_given_up.get() || self.watch.fault().is_some() || self.service.is_closed()
    }

    /// The definitions of the server's tools, in its order.
    pub fn tools(&self, pulse: Pulse<'_>) -> Result<Vec<Definition>, Error> {
        self.ask(pulse, async {
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
    pub fn call(&self, tool: &str, params: Map<String, Value>, pulse: Pulse<'_>) -> Result<Reply, Error> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(params);
        let answered =
            self.ask(pulse, async { self.service.call_tool_once(params).await.map_err(|error| self.fault(&error)) })?;
        match answered {
            CallToolResponse::Complete(result) => Ok(Reply {
                content: result.content.into_iter().map(|part| json!(part)).collect(),
                structured: result.structured_content,
                is_error: result.is_error == Some(true),
            }),
            _ => {
                Err(failed(&self.server, format_args!("asks a question about the tool `{tool}`, which nobody answers")))
            }
        }
    }

    fn ask<T>(&self, pulse: Pulse<'_>, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.watch.reset();
        drive(&self.runtime, pulse, request).inspect_err(|_| self.is_given_up.set(true))?
    }

    /// The error of a request that was not answered well.
    fn fault(&self, error: &ServiceError) -> Error {
        let has_answered = matches!(error, ServiceError::McpError(_) | ServiceError::UnexpectedResponse);
        self.is_given_up.set(self.is_given_up.get() || !has_answered);
        match (self.watch.fault(), error) {
            (Some(fault), _) => faulty(&self.server, fault),
            (None, ServiceError::McpError(refusal)) => refused(&self.server, refusal),
            (None, ServiceError::TransportClosed) => failed(&self.server, ENDED),
            (None, ServiceError::UnexpectedResponse) => failed(&self.server, OTHER_FORM),
            (None, other) => failed(&self.server, format_args!("did not answer: {}", cause(other))),
        }
    }
}

/// The error of a server with which no conversation begins.
fn unbegun(server: &str, error: &ClientInitializeError) -> Error {
    use ClientInitializeError as E;
    match error {
        E::ConnectionClosed(_) => failed(server, ENDED),
        E::JsonRpcError(refusal) => refused(server, refusal),
        E::LegacyFallbackFailed { fallback, .. } => unbegun(server, fallback),
        E::ExpectedInitResponse(_)
        | E::ExpectedInitResult(_)
        | E::ConflictInitResponseId(..)
        | E::UncorrelatedErrorResponse { .. } => failed(server, OTHER_FORM),
        E::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions = server_supported.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            failed(server, format_args!("speaks no version of the protocol that nrv does: {}", shown(&versions)))
        }
        error => failed(server, format_args!("can't be asked: {}", cause(error))),
    }
}

/// The first cause of an error of the SDK, for a message.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(earlier) = cause.source() {
        cause = earlier;
    }
    shown(&cause.to_string())
}

/// The error of a server that broke a rule, or can't be reached.
fn faulty(server: &str, fault: Fault) -> Error {
    let error = failed(server, fault.phrase);
    match fault.hint {
        Some(hint) => error.hint(format!("{hint} in `[mcp.servers.{server}]` of `nrv.toml`")),
        None => error,
    }
}

/// The error of a request that the server refuses.
fn refused(server: &str, refusal: &ErrorData) -> Error {
    failed(server, format_args!("refuses: {}", shown(&refusal.message))).detail("mcp_code", refusal.code.0)
}

/// The words of a server, for a message.
fn shown(words: &str) -> String {
    escape(&shortened(words.trim(), SHOWN))
}

/// Works on a request until it is answered or the caller has it stopped.
fn drive<T>(runtime: &Runtime, pulse: Pulse<'_>, request: impl Future<Output = T>) -> Result<T, Error> {
    runtime.block_on(async {
        let mut request = std::pin::pin!(request);
        loop {
            if let Ok(done) = tokio::time::timeout(TICK, &mut request).await {
                return Ok(done);
            }
            pulse()?;
        }
    })
}
