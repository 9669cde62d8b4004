//! Calls of tools over one connection: `files_read` of `nrv mcp` beside a bare server of the same library that echoes, in one run.
//!
//! `cargo bench --bench mcp` prints medians, 99th percentiles and the growth of memory, at 1,000 calls a second and one after another.
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock and starts servers")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that can't be set up fails")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig},
    service::RequestContext,
    transport::stdio_pipes,
};
use serde_json::{Value, json};

/// The argument by which this program becomes the bare server.
const ECHO: &str = "--echo";

/// The text of the file that is read, and that the bare server echoes.
const TEXT: &str = "a line of text that is neither short nor long\n";

/// Calls of each measurement.
const CALLS: usize = 5000;

/// The interval at 1,000 calls a second.
const PACE: Duration = Duration::from_millis(1);

/// A server that answers each call with its argument.
#[derive(Clone)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let path = request.arguments.as_ref().and_then(|map| map.get("path")).and_then(Value::as_str);
        let mut result = CallToolResult::structured(json!({"run": "none", "result": TEXT}));
        result.content = vec![ContentBlock::text(path.unwrap_or_default())];
        Ok(result.into())
    }
}

fn main() {
    if std::env::args().any(|argument| argument == ECHO) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(async { drop(Echo.serve(stdio_pipes()).await.unwrap().waiting().await) });
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nrv.toml"), "[budget]\ncalls = 1000000\n").unwrap();
    fs::write(folder.path().join("a.txt"), TEXT).unwrap();
    let own = std::env::current_exe().unwrap();
    println!("| server | pace | median | p99 | memory |\n|---|---|---|---|---|");
    for pace in [Some(PACE), None] {
        for (name, program, argument) in
            [("echo", own.as_path(), ECHO), ("`nrv mcp`", Path::new(env!("CARGO_BIN_EXE_nrv")), "mcp")]
        {
            let mut server = Server::start(program, argument, folder.path());
            let before = server.memory();
            let mut times = server.calls(pace);
            times.sort_unstable();
            let grown = server.memory().saturating_sub(before);
            let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
            let paced = if pace.is_some() { "1,000 a second" } else { "one after another" };
            println!("| {name} | {paced} | {} µs | {} µs | +{grown} kB |", median.as_micros(), p99.as_micros());
        }
    }
}

/// A server and the pipes to it.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Server {
    fn start(program: &Path, argument: &str, folder: &Path) -> Self {
        let mut command = Command::new(program);
        command.arg(argument).current_dir(folder).env_remove("CI").env("NRV_TRUSTED_PATHS", "/");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let mut server = Server { child, stdin, stdout };
        let info = json!({"name": "bench", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        server.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        server.read();
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for _ in 0..200 {
            server.send(&call(1));
            server.read();
        }
        server
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).and_then(|()| stdin.flush()).unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The times of calls, from the moment at which each was to be sent.
    fn calls(&mut self, pace: Option<Duration>) -> Vec<Duration> {
        let Some(pace) = pace else {
            let one = |_| {
                let begun = Instant::now();
                self.send(&call(2));
                self.read();
                begun.elapsed()
            };
            return (0..CALLS).map(one).collect();
        };
        let mut stdout = self.stdout.take().unwrap();
        let begun = Instant::now();
        let due = move |n: usize| begun + pace * u32::try_from(n).unwrap();
        let due = Arc::new(due);
        let arrives = Arc::clone(&due);
        let reader = std::thread::spawn(move || {
            let times = (0..CALLS).map(|_| {
                let mut line = String::new();
                stdout.read_line(&mut line).unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                assert_eq!(answer["result"]["isError"], false, "{answer}");
                let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
                Instant::now().saturating_duration_since(arrives(id))
            });
            (times.collect(), stdout)
        });
        for n in 0..CALLS {
            std::thread::sleep(due(n).saturating_duration_since(Instant::now()));
            self.send(&call(n));
        }
        let (times, stdout) = reader.join().unwrap();
        self.stdout = Some(stdout);
        times
    }

    /// The memory that the server has now, in kilobytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

fn call(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "files_read", "arguments": {"path": "a.txt"}}})
}
