//! The cost of a streamed reply, and the time to the first token.
//!
//! A local server sends 100,000 tokens to a bare socket, to `curl`, through the `llm` room and through a script's function.
//!
//! `cargo bench --bench llm`. Rounds alternate, so that other work of the machine affects all alike.
#![expect(clippy::disallowed_methods, reason = "a bench measures time, listens and starts programs")]
#![expect(clippy::unwrap_used, reason = "a bench that can't be set up ends")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use nrv::{
    Context, Invocation, Options, Policy, Silent, Workspace,
    llm::{
        self, Capabilities, Http, LlmClient, LlmClientConfig, LlmRequest, LlmStreamEvent, Model, Wire, WireOptions,
        dialect,
    },
    system::net::Sender,
};

const TOKENS: usize = 100_000;
const ROUNDS: usize = 5;
const FIRSTS: usize = 50;

/// The pause of the server before the first token, so that a client really waits for it.
const THINKING: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    // The script's process is this program.
    if let Some(code) = nrv::entry::main_if_requested() {
        return code;
    }
    let server = Server::start();
    // Records are searched for secrets, and the rules have to be compiled once.
    run_script(&server, 10);
    first_tokens(&server);
    throughput(&server);
    memory(&server);
    ExitCode::SUCCESS
}

/// Answers every request with as many tokens as its model is called, in chunks of one event each.
struct Server {
    address: String,
    /// The time at which the first token of the last reply was sent.
    sent: Arc<Mutex<Option<Instant>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let sent = Arc::default();
        let told = Arc::clone(&sent);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let told = Arc::clone(&told);
                // A client that is gone is not written to any more.
                thread::spawn(move || drop(serve(&mut stream.unwrap(), &told)));
            }
        });
        Server { address, sent }
    }

    fn client(&self) -> LlmClient {
        let options = WireOptions {
            dialect: dialect::named("openai_chat").unwrap(),
            base_url: format!("http://{}/v1", self.address),
            models: Capabilities::default(),
            stream: true,
        };
        llm::client(LlmClientConfig::new(Wire::new(options, Http::new(Sender::default(), None)))).unwrap()
    }

    /// The time since the first token was sent.
    fn since(&self) -> f64 {
        self.sent.lock().unwrap().expect("a token was sent").elapsed().as_secs_f64() * 1e3
    }
}

fn event(text: &str) -> String {
    format!("data: {{\"model\":\"m\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

fn serve(stream: &mut TcpStream, sent: &Mutex<Option<Instant>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    if head.starts_with("GET") {
        let list = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"data\":[]}";
        return stream.write_all(list.as_bytes());
    }
    let header = |name: &str| head.lines().find_map(|line| line.to_lowercase().strip_prefix(name)?.trim().parse().ok());
    let mut body = vec![0; header("content-length:").unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let n_tokens = body.split("\"n").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok()).unwrap_or(TOKENS);
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )?;
    thread::sleep(THINKING);
    *sent.lock().unwrap() = Some(Instant::now());
    let token = chunk(&event("token "));
    stream.write_all(&token)?;
    let batch = token.repeat(100);
    let mut left = n_tokens - 1;
    while left > 0 {
        let n = left.min(100);
        stream.write_all(&batch[..n * token.len()])?;
        left -= n;
    }
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    stream.write_all(&[chunk(end), chunk("")].concat())
}

fn body(n_tokens: usize) -> String {
    format!("{{\"model\":\"n{n_tokens}\"}}")
}

/// Reads the whole reply by a bare socket; returns the time of the body's first bytes.
fn bare(server: &Server, n_tokens: usize) -> f64 {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = body(n_tokens);
    let head = format!("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    let (mut buffer, mut first, mut seen) = ([0; 16 << 10], None, Vec::new());
    loop {
        let n = stream.read(&mut buffer).unwrap();
        if n == 0 {
            return first.expect("a token came");
        }
        if first.is_none() {
            seen.extend_from_slice(&buffer[..n]);
            if seen.windows(6).any(|part| part == b"data: ") {
                first = Some(server.since());
            }
        }
    }
}

/// The same by `curl`; false if it is missing.
fn curl(server: &Server, n_tokens: usize) -> bool {
    let url = format!("http://{}/", server.address);
    let body = body(n_tokens);
    let mut command = Command::new("curl");
    command.args(["-sN", "-o", "/dev/null", "--data", &body, &url]).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The same through the room, event by event; returns the time of the first token.
fn room(server: &Server, client: &LlmClient, n_tokens: usize) -> f64 {
    let model = format!("n{n_tokens}");
    let caps = Capabilities::new([(model.clone(), Model::default())]);
    let request = LlmRequest::builder(caps).model(model).prompt("hi").max_tokens(n_tokens as u64).build().unwrap();
    let (mut n, mut first) = (0, None);
    for event in client.stream(&client.enqueue(request).unwrap()).unwrap() {
        if let LlmStreamEvent::Token { .. } = event.unwrap() {
            first.get_or_insert_with(|| server.since());
            n += 1;
        }
    }
    assert_eq!(n, n_tokens);
    first.expect("a token came")
}

const SCRIPT: &str = r#"
const WORKFLOW = #{ name: "stream", permissions: #{ llm: ["local"] } };
let n = 0;
let seen = 0;
let reply = nrv.llm.stream(#{ prompt: "hi", max_tokens: 150000 }, |event| {
    if event.type == "token" { n += 1; seen += event.text.len; }
    false
});
#{ n: n, seen: seen, length: reply.text.len }
"#;

/// The same through the function of a script: a run with its process, its record and all gates.
fn run_script(server: &Server, n_tokens: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("stream.rhai"), SCRIPT).unwrap();
    let policy = format!(
        "[llm.providers.local]\ndialect = 'openai_chat'\nbase_url = 'http://{}/v1'\nmodel = 'n{n_tokens}'\n",
        server.address
    );
    let policy = Policy::parse(&policy, "nrv.toml").unwrap();
    let options = Options { environment: BTreeMap::new(), ..Options::default() };
    let context = Context::with_policy(Workspace::open(folder.path()).unwrap(), policy, options).unwrap();
    let watch = Instant::now();
    let finished = nrv::run_file(&context, "stream.rhai", Invocation::default(), &mut Silent).unwrap();
    let taken = watch.elapsed().as_secs_f64();
    assert_eq!(finished.error, None);
    assert_eq!(finished.result["n"], n_tokens, "{}", finished.result);
    assert_eq!(finished.result["length"], n_tokens * "token ".len());
    taken
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn first_tokens(server: &Server) {
    let client = server.client();
    let (mut bares, mut rooms) = (Vec::new(), Vec::new());
    for _ in 0..FIRSTS {
        bares.push(bare(server, 1));
        rooms.push(room(server, &client, 1));
    }
    let (bare, room) = (median(&mut bares), median(&mut rooms));
    println!("from the first token's sending to its hand-over, median and worst of {FIRSTS}:");
    println!("  a bare socket {bare:.3} ms, {:.3} ms", bares[FIRSTS - 1]);
    println!("  the room {room:.3} ms, {:.3} ms", rooms[FIRSTS - 1]);
}

fn throughput(server: &Server) {
    let client = server.client();
    let mut taken = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        let watch = Instant::now();
        bare(server, TOKENS);
        taken[0].push(watch.elapsed().as_secs_f64());
        let watch = Instant::now();
        if curl(server, TOKENS) {
            taken[1].push(watch.elapsed().as_secs_f64());
        }
        let watch = Instant::now();
        room(server, &client, TOKENS);
        taken[2].push(watch.elapsed().as_secs_f64());
        taken[3].push(run_script(server, TOKENS));
    }
    println!("{TOKENS} tokens, median of {ROUNDS}:");
    let bare = median(&mut taken[0]);
    for (name, taken) in
        ["a bare socket", "curl -N", "the room", "a script's function, all of its run"].iter().zip(&mut taken)
    {
        if !taken.is_empty() {
            let median = median(taken);
            println!("  {name}: {median:.3} s, {:.1}", median / bare);
        }
    }
}

/// The peak memory of this process since the last call, in MiB.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    fs::write(Path::new("/proc/self/clear_refs"), "5").unwrap();
    kib / 1024.0
}

fn memory(server: &Server) {
    let client = server.client();
    peak();
    for n_tokens in [1_000, TOKENS, 10 * TOKENS] {
        room(server, &client, n_tokens);
        let room = peak();
        let text = n_tokens as f64 * "token ".len() as f64 / (1 << 20) as f64;
        println!("{n_tokens} tokens, {text:.1} MiB of text: at most {room:.1} MiB in the room");
    }
}
