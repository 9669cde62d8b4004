//! Programs that answer in place of a language model: their input, their output, and their complete end.
#![expect(clippy::disallowed_methods, reason = "tests look at what programs wrote")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use nrv::{
    Code, Error,
    llm::{
        self, Capabilities, Command, CommandOptions, Finish, Kind, LlmClientConfig, LlmRequest, Model, Orchestrator,
        Reply, Timeouts,
    },
    system::{
        net::{Cancel, Secret},
        process::Program,
    },
};
use serde_json::{Value, json};

use crate::support::site::wait_until;

const KEY: &str = "sk-canary-0123456789";

/// Runs a line of the shell as a provider, which may write into a folder of its own: its home.
struct Stand {
    folder: tempfile::TempDir,
    command: Command,
}

impl Stand {
    fn of(line: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let environment = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", home)];
        let command = Command::new(CommandOptions {
            program: "/bin/sh".into(),
            name: "sh".to_owned(),
            args: vec!["-c".to_owned(), line.to_owned()],
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            key: Some(("KEY".to_owned(), Secret::new(KEY))),
            supervisor: Program::Path(crate::repository::nrv().into()),
            models: Capabilities::new([("m".to_owned(), Model::default())]),
        });
        Stand { folder, command }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn answer(&self) -> (String, Result<Reply, Error>) {
        let mut pieces = String::new();
        let reply = self.command.answer(&request(60_000), &Cancel::default(), &mut |piece| pieces.push_str(piece));
        (pieces, reply)
    }

    #[track_caller]
    fn fails(&self, kind: Kind, words: &str) -> Error {
        let error = self.answer().1.unwrap_err();
        assert_eq!(llm::kind(&error), Some(kind), "{error:?}");
        assert!(error.message().contains(words), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        error
    }
}

fn request(read_ms: u64) -> LlmRequest {
    let known = Capabilities::new([("m".to_owned(), Model::default())]);
    let request = LlmRequest::builder(known).model("m").prompt("hi").schema(json!({"type": "object"})).max_tokens(64);
    request.timeouts(Timeouts { read_ms, total_ms: 60_000 }).build().unwrap()
}

fn is_gone(pid: &Path) -> bool {
    let Ok(pid) = fs::read_to_string(pid) else { return false };
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_err() || status.unwrap().contains(") Z ")
}

#[test]
fn a_program_is_told_the_request_and_has_little_of_the_environment() {
    let stand = Stand::of(
        "cat > ~/told; env | cut -d= -f1 | sort > ~/names; echo \"{\\\"reply\\\": {\\\"text\\\": \\\"{}\\\"}}\"",
    );
    let (pieces, reply) = stand.answer();
    let reply = reply.unwrap();
    assert_eq!((pieces.as_str(), reply.text.as_str(), reply.finish, reply.model), ("", "{}", Finish::Stop, None));
    let told: Value = serde_json::from_str(&fs::read_to_string(stand.path("told")).unwrap()).unwrap();
    let request = request(1);
    let wire = json!({"type": "object", "additionalProperties": false});
    assert_eq!((&told["version"], &told["key"]), (&json!(1), &json!(request.key(1).to_string())));
    assert_eq!(
        (&told["request"], &told["wire_schema"]),
        (request.canonical(), request.schema().map_or(&wire, |schema| schema.wire()))
    );
    let names = fs::read_to_string(stand.path("names")).unwrap();
    let given: Vec<&str> = names.lines().filter(|name| !matches!(*name, "PWD" | "_" | "OLDPWD" | "SHLVL")).collect();
    assert_eq!(given, ["HOME", "KEY", "PATH", "TMPDIR"]);
}

#[test]
fn pieces_are_passed_on_while_the_program_goes_on() {
    let stand = Stand::of(
        "echo '{\"token\": \"{\\\"a\\\"\"}'; while [ ! -e ~/seen ]; do sleep 0.01; done; printf '{\"token\": \":1}\"}\\n\\n{\"reply\": {\"model\": \"x\", \"usage\": {\"output_tokens\": 2}}}'",
    );
    let (seen, mut pieces) = (stand.path("seen"), Vec::new());
    let reply = stand.command.answer(&request(60_000), &Cancel::default(), &mut |piece| {
        fs::write(&seen, "").unwrap();
        pieces.push(piece.to_owned());
    });
    let reply = reply.unwrap();
    assert_eq!((pieces.concat(), reply.text.as_str()), ("{\"a\":1}".to_owned(), "{\"a\":1}"));
    assert_eq!((reply.model.as_deref(), reply.usage.output_tokens), (Some("x"), Some(2)));
}

#[test]
fn calls_of_tools_are_taken_as_they_are() {
    let call = json!({"id": "1", "name": "weather", "arguments": {"city": "Bern"}});
    let stand = Stand::of(&format!("echo '{}'", json!({"reply": {"tool_calls": [call]}})));
    let reply = stand.answer().1.unwrap();
    assert_eq!((json!(reply.tool_calls), reply.finish), (json!([call]), Finish::ToolCalls));
}

#[test]
fn nothing_of_a_program_is_left_when_it_was_silent_for_too_long() {
    let stand = Stand::of("setsid sleep 600 & echo $! > ~/pid; echo '{\"token\": \"a\"}'; sleep 600");
    let reply = stand.command.answer(&request(300), &Cancel::default(), &mut |_| {});
    let error = reply.unwrap_err();
    assert_eq!((llm::kind(&error), error.code()), (Some(Kind::Timeout), Code::ModelUnavailable));
    wait_until("the processes are gone", || is_gone(&stand.path("pid")));
}

#[test]
fn nothing_of_a_program_is_left_when_it_was_cancelled_or_has_replied() {
    let stand = Stand::of("setsid sleep 600 & echo $! > ~/pid; echo '{\"token\": \"a\"}'; sleep 600");
    let cancel = Cancel::default();
    let cancelling = cancel.clone();
    let reply = stand.command.answer(&request(60_000), &cancel, &mut |_| cancelling.cancel());
    assert_eq!(reply.unwrap_err().code(), Code::Cancelled);
    wait_until("the processes are gone", || is_gone(&stand.path("pid")));
    let stand = Stand::of("trap '' TERM; sleep 600 & echo $! > ~/pid; echo '{\"reply\": {}}'; sleep 600");
    assert_eq!(stand.answer().1.unwrap().text, "");
    wait_until("the processes are gone", || is_gone(&stand.path("pid")));
}

#[test]
fn what_goes_wrong_is_told_apart() {
    let failed = Stand::of("echo \"bad key $KEY\" >&2; exit 3").fails(Kind::Server, "`sh` failed with exit code 3");
    assert_eq!(failed.details()["stderr"], "bad key [key]");
    Stand::of("kill -9 $$").fails(Kind::Server, "was ended by signal 9");
    Stand::of("echo '{\"token\": \"a\"}'").fails(Kind::Truncated, "ended without a reply");
    Stand::of("echo \"hello $KEY\"").fails(Kind::MalformedJson, "a line that is none of its lines");
    Stand::of("echo '{\"token\": 1}'").fails(Kind::MalformedJson, "a line that is none of its lines");
    Stand::of("echo '{\"token\": \"a\"}'; echo '{\"reply\": {\"text\": \"b\"}}'")
        .fails(Kind::Server, "are not the text");
    let limited = "{\"error\": {\"kind\": \"rate_limit\", \"message\": \"no $KEY\", \"retry_after_ms\": 20}}";
    let error = Stand::of(&format!("cat <<EOF\n{limited}\nEOF")).fails(Kind::RateLimit, "`sh` says: no [key]");
    assert_eq!((error.code(), &error.details()["retry_after_ms"]), (Code::ModelUnavailable, &json!(20)));
    let refused = "{\"error\": {\"kind\": \"refusal\", \"message\": \"no\"}}";
    assert_eq!(Stand::of(&format!("echo '{refused}'")).fails(Kind::Refusal, "no").code(), Code::ModelFailed);
}

#[test]
fn a_program_that_repeats_the_key_in_pieces_does_not_pass_it_on() {
    let (head, tail) = KEY.split_at(7);
    let line = format!(
        "printf '{{\"token\":\"a {head}\"}}\\n{{\"token\":\"{tail} b\"}}\\n{{\"reply\":{{\"model\":\"{KEY}\"}}}}\\n'"
    );
    let (pieces, reply) = Stand::of(&line).answer();
    let reply = reply.unwrap();
    assert_eq!(
        (pieces.as_str(), reply.text.as_str(), reply.model.as_deref()),
        ("a [key] b", "a [key] b", Some("[key]"))
    );
}

#[test]
fn a_client_checks_what_a_program_replies() {
    let stand = Stand::of("echo '{\"reply\": {\"text\": \"[]\"}}'");
    let client = llm::client(LlmClientConfig::new(stand.command.clone())).unwrap();
    assert_eq!(llm::kind(&client.complete(request(60_000)).unwrap_err()), Some(Kind::Schema));
}

#[test]
fn many_tokens_come_through_in_their_order() {
    let stand = Stand::of(
        "i=0; while [ $i -lt 20000 ]; do echo \"{\\\"token\\\": \\\"$i \\\"}\"; i=$((i+1)); done; echo '{\"reply\": {}}'",
    );
    let (pieces, reply) = stand.answer();
    let all: String = (0..20_000).map(|number| format!("{number} ")).collect();
    assert!(pieces == all && reply.unwrap().text == all);
}
