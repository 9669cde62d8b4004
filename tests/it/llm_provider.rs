//! `nrv llm` and the code beneath it: the list of providers, their reachability, and their answers to a small request.
#![expect(clippy::disallowed_methods, reason = "tests listen")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use nrv::{
    Code, Error,
    host::{Context, Options, Orchestrators, probe_provider, providers, reach_provider},
    llm::{self, Capabilities, Http, Kind, Orchestrator, Outgoing, Received, Transport, Wire, WireOptions, dialect},
    system::{
        net::{Cancel, Secret, Sender},
        workspace::Workspace,
    },
};
use serde_json::{Value, json};

use crate::support::site::Site;

const KEY: &str = "sk-canary-0123456789";

/// A server without a network: it answers by the path, and remembers requests.
#[derive(Clone)]
struct Stub {
    answers: Arc<BTreeMap<&'static str, (u16, Answer)>>,
    asked: Arc<Mutex<Vec<String>>>,
    key: Secret,
}

#[derive(Clone)]
enum Answer {
    Json(Value),
    /// A reply in these pieces, which may hold the word that the schema of the request wants.
    Stream(Vec<&'static str>),
}

impl Stub {
    fn of(answers: impl IntoIterator<Item = (&'static str, u16, Answer)>) -> Self {
        let answers = answers.into_iter().map(|(path, status, answer)| (path, (status, answer))).collect();
        Stub { answers: Arc::new(answers), asked: Arc::default(), key: Secret::new(KEY) }
    }

    fn context(&self, folder: &tempfile::TempDir) -> Context {
        let options = WireOptions {
            dialect: dialect::named("openai_chat").unwrap(),
            base_url: "http://h/v1".to_owned(),
            models: Capabilities::default(),
            stream: true,
        };
        let orchestrators = Orchestrators::default().with("stub", Wire::new(options, self.clone()));
        let options = Options { orchestrators, ..Options::default() };
        Context::new(Workspace::open(folder.path()).unwrap(), options).unwrap()
    }
}

impl Transport for Stub {
    fn send(&self, outgoing: &Outgoing<'_>, _: &Cancel) -> Result<Received, Error> {
        let path = outgoing.url.strip_prefix("http://h").unwrap();
        self.asked.lock().unwrap().push(path.to_owned());
        let (status, answer) = self.answers.get(path).cloned().unwrap_or((404, Answer::Json(json!({"error": "none"}))));
        let (form, body) = match answer {
            Answer::Json(body) => ("application/json", body.to_string()),
            Answer::Stream(pieces) => {
                let asked: Value = serde_json::from_str(outgoing.body.unwrap()).unwrap();
                let schema = &asked["response_format"]["json_schema"]["schema"];
                let word = schema["properties"]["word"]["const"].as_str().unwrap();
                ("text/event-stream", stream(&pieces, word))
            }
        };
        let headers = BTreeMap::from([("content-type".to_owned(), form.to_owned())]);
        Ok(Received { status, headers, body: Box::new(std::io::Cursor::new(body.into_bytes())) })
    }

    fn secret(&self) -> Option<&Secret> {
        Some(&self.key)
    }
}

fn stream(pieces: &[&str], word: &str) -> String {
    let chunk = |piece: &&str| {
        let text = piece.replace("WORD", word);
        format!("data: {}\n\n", json!({"model": "other", "choices": [{"delta": {"content": text}}]}))
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    pieces.iter().map(chunk).collect::<String>() + end
}

fn listing() -> (&'static str, u16, Answer) {
    ("/v1/models", 200, Answer::Json(json!({"data": [{"id": "tiny", "owned_by": "x", "max_model_len": 512}]})))
}

fn replying(pieces: &[&'static str]) -> (&'static str, u16, Answer) {
    ("/v1/chat/completions", 200, Answer::Stream(pieces.to_vec()))
}

fn probe(stub: &Stub) -> Result<Value, Error> {
    let folder = tempfile::tempdir().unwrap();
    probe_provider(&stub.context(&folder), None, None).map(|probed| serde_json::to_value(probed).unwrap())
}

#[test]
fn a_provider_tells_what_it_can_do_and_how_long_that_took() {
    let (folder, stub) = (tempfile::tempdir().unwrap(), Stub::of([listing()]));
    let context = stub.context(&folder);
    let listed: Vec<(String, bool)> =
        providers(&context).into_iter().map(|one| (one.name, one.fault.is_none())).collect();
    assert_eq!(listed, [("heuristic".to_owned(), true), ("stub".to_owned(), true)]);
    assert!(stub.asked.lock().unwrap().is_empty(), "making a provider ready sends nothing");
    let reached = serde_json::to_value(reach_provider(&context, Some("stub")).unwrap()).unwrap();
    assert_eq!((&reached["provider"], &reached["models"]["tiny"]), (&json!("stub"), &json!({"context_tokens": 512})));
    assert!(reached["duration_ms"].is_u64());
}

#[test]
fn a_probe_tells_whether_the_schema_was_enforced() {
    let stub = Stub::of([listing(), replying(&["{\"word\":", "\"WORD\"}"])]);
    let probed = probe(&stub).unwrap();
    assert_eq!((&probed["schema_enforced"], &probed["pieces"]), (&json!(true), &json!(2)), "{probed}");
    assert_eq!((&probed["model_requested"], &probed["model"]), (&json!("tiny"), &json!("other")));
    assert_eq!(*stub.asked.lock().unwrap(), ["/v1/models", "/v1/chat/completions"]);
    for ignored in [&["Hello"][..], &["{\"word\": \"x\"}"], &["```json\n{\"word\": \"WORD\"}\n```"]] {
        assert_eq!(probe(&Stub::of([listing(), replying(ignored)])).unwrap()["schema_enforced"], false, "{ignored:?}");
    }
}

#[test]
fn who_can_not_be_asked_is_an_error_with_a_truthful_exit_code() {
    for (status, said, code, exit_code) in [
        (401, json!({"error": {"message": format!("bad key {KEY}")}}), Code::ModelFailed, 1),
        (503, json!({}), Code::ModelUnavailable, 75),
    ] {
        let error = probe(&Stub::of([("/v1/models", status, Answer::Json(said))])).unwrap_err();
        assert_eq!((error.code(), error.code().exit_code()), (code, exit_code), "{error}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
    let none = Stub::of([("/v1/models", 200, Answer::Json(json!({"data": []})))]);
    assert_eq!(probe(&none).unwrap_err().details()["field"], "model");
}

#[test]
fn without_configuration_there_is_the_table_and_nothing_is_sent() {
    let site = Site::empty();
    let shown = site.nrv(&["llm", "capabilities", "--json"]).exits(0).json();
    assert_eq!((&shown["provider"], &shown["models"]["heuristic"]["tools"]), (&json!("heuristic"), &json!(false)));
    let table = site.nrv(&["llm", "capabilities"]).exits(0).stdout;
    assert!(table.contains("heuristic") && table.contains("chat"), "{table}");
    let pong = site.nrv(&["llm", "ping"]).exits(0).stdout;
    assert!(pong.starts_with("`heuristic` answered in ") && pong.ends_with("1 model: heuristic\n"), "{pong}");
    site.nrv(&["llm", "ping", "heuristik"]).exits(1).says("did you mean `heuristic`?");
    site.nrv(&["llm", "probe", "heuristic"]).exits(1).says("without a model this is not understood");
    assert_eq!(site.runs(), [] as [Value; 0]);
}

#[test]
fn a_server_that_is_not_what_its_url_says_will_not_be_another_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = std::io::Write::write_all(&mut stream.unwrap(), b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let options = WireOptions {
        dialect: dialect::named("openai_chat").unwrap(),
        base_url: format!("https://{address}/v1"),
        models: Capabilities::default(),
        stream: true,
    };
    let error = Wire::new(options, Http::new(Sender::default(), None)).capabilities().unwrap_err();
    assert_eq!((error.code(), llm::kind(&error)), (Code::ModelFailed, Some(Kind::Unreachable)), "{error:?}");
}

/// A program that replies with a value that fits the schema, in two pieces.
const OBEDIENT: &str = r#"
[llm.providers.own]
dialect = "command"
program = ["sh", "-c", '''
word=$(sed 's/.*"const":"\([0-9a-f]*\)".*/\1/')
printf '%s\n' '{"token": "{\"word\":"}'
printf '{"token": "\\"%s\\"}"}\n' "$word"
printf '%s\n' '{"reply": {"model": "x"}}'
''']
model = "m"
tools = true
context_tokens = 4096
"#;

#[test]
fn a_program_of_the_policy_is_probed_from_the_command_line() {
    let site = Site::empty();
    site.write("nrv.toml", OBEDIENT);
    let shown = site.nrv(&["llm", "capabilities", "--json"]).exits(0).json();
    assert_eq!(shown["models"], json!({"m": {"context_tokens": 4096, "tools": true}}));
    let probed = site.nrv(&["llm", "probe", "--json"]).exits(0).json();
    let told = (&probed["provider"], &probed["model"], &probed["pieces"], &probed["schema_enforced"], &probed["tools"]);
    assert_eq!(told, (&json!("own"), &json!("x"), &json!(2), &json!(true), &json!(true)), "{probed}");
    let table = site.nrv(&["llm", "probe", "own"]).exits(0).stdout;
    for line in [
        "model asked          m",
        "model that answered  x",
        "streams              yes, 2 pieces",
        "schema               enforced",
    ] {
        assert!(table.contains(line), "{table}");
    }
    assert_eq!(site.runs(), [] as [Value; 0]);
}

#[test]
fn what_is_wrong_with_a_provider_is_told_before_a_run_finds_it() {
    let site = Site::empty();
    let local = "[llm.providers.local]\ndialect = 'openai_chat'\nbase_url = 'http://127.0.0.1:1/v1'\n";
    site.write("nrv.toml", local);
    site.nrv(&["llm", "ping", "local"]).exits(75).says("the connection was refused");
    let doctor = site.nrv(&["doctor", "--json"]).exits(0).stdout;
    assert!(doctor.contains("ready to be asked: heuristic, local; none was"), "{doctor}");
    site.write("nrv.toml", format!("{local}api_key_env = 'NRV_TEST_NO_KEY'"));
    site.nrv(&["llm", "ping"]).exits(1).says("the provider `local`: the variable `NRV_TEST_NO_KEY`");
    let doctor = site.nrv(&["doctor", "--json"]).exits(0).stdout;
    assert!(doctor.contains("`NRV_TEST_NO_KEY`, which holds its key, is not set"), "{doctor}");
    site.write("nrv.toml", format!("{local}api_key_env = 'PATH'").replace("127.0.0.1:1", "h.invalid"));
    site.nrv(&["llm", "ping"]).exits(1).says("over plain http to `http://h.invalid/v1` (line 3 of `nrv.toml`)");
}

#[test]
fn servers_are_reached_by_the_proxy_of_the_environment() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let heard = std::thread::spawn(move || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(listener.accept().unwrap().0), &mut line).unwrap();
        line
    });
    let site = Site::empty();
    site.write("nrv.toml", "[llm.providers.far]\ndialect = 'openai_chat'\nbase_url = 'http://h.invalid/v1'\n");
    let output = site.command(&["llm", "ping"]).env("HTTP_PROXY", proxy).env_remove("http_proxy").output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(heard.join().unwrap().contains("h.invalid"));
}
