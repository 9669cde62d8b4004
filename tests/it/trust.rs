//! `nrv trust`: a policy that came with a repository starts no program and sends no key before a person permits it.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::PathBuf};

use nrv::llm::Finish;
use serde_json::json;

use crate::support::{
    model::{
        form,
        server::{Answer, ModelServer},
    },
    site::{Ran, Site},
    terminal::{line, line_on_a_terminal},
};

/// A policy that starts programs in every possible way.
const POLICY: &str = "[exec]\nenv = ['PATH']\n[[exec.allow]]\nprefix = ['sh', '-c']\n";

const SCRIPT: &str = "const WORKFLOW = #{ permissions: #{ exec: [\"*\"], llm: [\"*\"], write: [\"**\"] } };\n";

const CHAT: &str = "openai_chat";

/// A key of the user that no repository should get.
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const KEYED: &str = "api_key_env = 'AWS_SECRET_ACCESS_KEY'\n";

const ASK: &str = "print(nrv.llm.complete(#{ prompt: \"x\", max_tokens: 10 }).text);";

/// A server of a language model that answers everything.
fn model() -> ModelServer {
    ModelServer::serving(CHAT, [Answer::stream(&form::events(CHAT, &["hello"], Finish::Stop))])
}

struct Place {
    site: Site,
}

impl Place {
    /// A cloned repository, whose policy no person has trusted.
    fn cloned(policy: &str, body: &str) -> Self {
        let site = Site::empty();
        site.write("nrv.toml", policy);
        site.write("w.rhai", format!("{SCRIPT}{body}\n"));
        site.git(&["init", "-q", "-b", "main"]);
        site.commit();
        Place { site }
    }

    /// One whose script starts a command that says so.
    fn with_command() -> Self {
        let body = "nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"echo ran > ran.txt\"], writes: [\"ran.txt\"] });";
        Place::cloned(POLICY, body)
    }

    /// One whose provider is a program that makes a file beside the workspace.
    fn with_provider() -> Self {
        let site = Site::empty();
        let mark = site.root().parent().unwrap().join("PROVIDER");
        let policy = format!(
            "[llm.providers.own]\ndialect = 'command'\nmodel = 'm'\nprogram = ['sh', '-c', 'echo x >> {}; cat']\n",
            mark.display()
        );
        let body = "try { nrv.llm.complete(#{ prompt: \"x\", max_tokens: 10 }); } catch (e) { print(e); }";
        site.write("nrv.toml", policy);
        site.write("w.rhai", format!("{SCRIPT}{body}\n"));
        site.git(&["init", "-q", "-b", "main"]);
        site.commit();
        Place { site }
    }

    /// One whose provider is this server.
    fn with_server(server: &ModelServer, more: &str, body: &str) -> Self {
        let url = server.base_url(CHAT);
        let policy = format!("[llm.providers.far]\ndialect = '{CHAT}'\nbase_url = '{url}'\n{more}");
        Place::cloned(&policy, body)
    }

    fn provider_ran(&self) -> bool {
        self.beside("PROVIDER").exists()
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.site.root().parent().unwrap().join(name)
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.site.command(arguments);
        command.env_remove("NRV_TRUSTED_PATHS");
        command
    }

    fn nrv(&self, arguments: &[&str]) -> Ran {
        self.with(arguments, &[])
    }

    fn with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let output = self.command(arguments).envs(variables.iter().copied()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    fn refuses(&self, arguments: &[&str], words: &[&str]) {
        refused(&self.nrv(arguments), words);
        assert!(!self.provider_ran() && !self.site.path("ran.txt").exists());
    }
}

trait Tells {
    /// Stdout or stderr holds these words.
    fn tells(self, words: &str) -> Self;
}

impl Tells for Ran {
    #[track_caller]
    fn tells(self, words: &str) -> Self {
        assert!(self.stdout.contains(words) || self.stderr.contains(words), "`{words}`: {self:?}");
        self
    }
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, 3, "{ran:?}");
    for word in words {
        assert!(ran.stderr.contains(word) || ran.stdout.contains(word), "`{word}`: {ran:?}");
    }
}

#[test]
fn a_case_that_nrv_writes_may_start_its_program_and_nothing_else_may() {
    let place = Place::with_command();
    assert_eq!(place.nrv(&["new", "command", "format"]).code, 0);
    place.nrv(&["test", "scripts/format.rhai"]).tells("1 held");
    place.refuses(&["run", "w.rhai", "--allow-dirty"], &["nrv trust"]);
    place.site.write("scripts/format.test/first/nrv.toml", "[[exec.allow]]\nprefix = ['sed']\n");
    place.nrv(&["test", "scripts/format.rhai"]).tells("have changed since it was trusted");
}

#[test]
fn a_command_of_a_policy_that_nobody_trusted_is_not_started() {
    let place = Place::with_command();
    let words =
        ["permission_denied", "`nrv.toml` starts programs, and no person has trusted it here yet", "`nrv trust`"];
    place.refuses(&["run", "w.rhai"], &words);
    place.refuses(&["run", "w.rhai", "--yes"], &words);
    place.refuses(&["run", "w.rhai", "--dry-run"], &words);
    place
        .refuses(&["run", "w.rhai", "--json"], &["\"permission_denied\"", "\"untrusted\"", "runs may start `sh -c …`"]);
    place.refuses(&["plan", "w.rhai", "-o", "-"], &["permission_denied"]);
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["run", "w.rhai"]).exits(0);
    assert_eq!(place.site.read("ran.txt"), b"ran\n");
}

#[test]
fn what_starts_no_program_asks_nobody() {
    let place = Place::cloned(POLICY, "nrv.apply.create(\"made.txt\", \"x\\n\");");
    for arguments in [
        &["scripts"][..],
        &["check", "w.rhai"],
        &["doctor"],
        &["run", "w.rhai", "--help"],
        &["gate", "command", "--", "ls"],
    ] {
        let ran = place.nrv(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    place.nrv(&["run", "w.rhai", "--dry-run"]).exits(0);
    place.nrv(&["run", "w.rhai"]).exits(0);
    place.nrv(&["replay", "last"]).exits(0);
    place.nrv(&["rollback", "last"]).exits(0);
    assert!(place.nrv(&["trust", "--list"]).exits(0).stderr.contains("No policy was trusted."));
}

#[test]
fn the_program_of_a_provider_that_nobody_trusted_is_not_started() {
    let place = Place::with_provider();
    for arguments in
        [&["scripts"][..], &["doctor"], &["llm", "ping", "own"], &["llm", "capabilities", "own"], &["check", "w.rhai"]]
    {
        place.nrv(arguments).exits(0);
        assert!(!place.provider_ran(), "{arguments:?}");
    }
    let doctor = place.nrv(&["doctor"]).exits(0);
    assert!(doctor.stdout.contains("trust: not trusted yet") && doctor.stdout.contains("`nrv trust`"), "{doctor:?}");
    for arguments in [&["run", "w.rhai"][..], &["run", "w.rhai", "--dry-run"], &["llm", "probe", "own"]] {
        place.refuses(arguments, &["permission_denied", "no person has trusted it here yet"]);
    }
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["run", "w.rhai"]);
    assert!(place.provider_ran());
    assert!(place.nrv(&["doctor"]).stdout.contains("trust: `nrv.toml` starts programs, and is trusted"));
}

#[test]
fn the_command_of_a_commitment_that_nobody_trusted_is_not_started() {
    let mark = Site::empty();
    let file = mark.root().join("ran");
    let policy = format!(
        "[exec]\nsandbox = 'off'\n[[exec.allow]]\nprefix = ['sh', '-c']\n[[commitments]]\ndescription = 'd'\n\
         assertion = {{ command = {{ program = 'sh', args = ['-c', 'echo x >> {}'] }} }}\n",
        file.display()
    );
    let place = Place::cloned(&policy, "nrv.apply.create(\"made.txt\", \"x\\n\");");
    place.refuses(&["run", "w.rhai"], &["no person has trusted it here yet"]);
    assert!(!place.site.path("made.txt").exists() && !file.exists());
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["run", "w.rhai"]).exits(0);
    assert!(file.exists());
    fs::remove_file(&file).unwrap();
    place.nrv(&["trust", "--forget"]).exits(0);
    refused(&place.nrv(&["verify", "last"]), &["no person has trusted it here yet"]);
    assert!(!file.exists());
}

#[test]
fn a_session_and_a_run_that_goes_on_start_nothing_that_nobody_trusted() {
    let place = Place::with_command();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"echo ran\"] })\n").unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let output = place.command(&["repl"]).stdin(file).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("no person has trusted it here yet"), "{output:?}");
    let body = "nrv.gate.confirm(\"go on\", #{ a: 1 });\nnrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"echo ran > ran.txt\"], writes: [\"ran.txt\"] });";
    let place = Place::cloned(POLICY, body);
    assert_eq!(place.nrv(&["run", "w.rhai"]).code, 7);
    place.refuses(&["resume", "last", "--approve", "c1"], &["no person has trusted it here yet"]);
}

#[test]
fn a_change_of_the_tables_or_of_the_place_asks_again() {
    let place = Place::with_command();
    place.nrv(&["trust", "--yes"]).exits(0);
    place.site.write("nrv.toml", format!("# a remark\n[budget]\ncalls = 7\n{POLICY}"));
    place.site.commit();
    place.nrv(&["run", "w.rhai"]).exits(0);
    place.nrv(&["rollback", "last"]).exits(0);
    place.site.write("nrv.toml", format!("{POLICY}\n[[exec.allow]]\nprefix = ['env']\n"));
    place.site.commit();
    place.refuses(&["run", "w.rhai"], &["its tables for that have changed since it was trusted"]);
    place.nrv(&["trust", "--yes"]).exits(0);
    fs::rename(place.site.root(), place.beside("moved")).unwrap();
    let moved = place.beside("moved").display().to_string();
    refused(&place.nrv(&["--root", &moved, "run", "w.rhai"]), &["no person has trusted it here yet"]);
}

#[test]
fn a_person_is_asked_once_on_a_terminal() {
    let place = Place::with_command();
    let answer = |answer: &str| {
        // The terminal's environment is that of the site, which trusts everything.
        let line = format!("env -u NRV_TRUSTED_PATHS {}", line(&place.site, &["run", "w.rhai"]));
        let mut running = line_on_a_terminal(&place.site, &line)?;
        running.0.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        Some(running.end())
    };
    let Some(denied) = answer("n\n") else { return };
    assert!(
        denied.stdout.contains("runs may start `sh -c …`") && denied.stdout.contains("trust `nrv.toml`"),
        "{denied:?}"
    );
    assert!(denied.code == 3 && !place.site.path("ran.txt").exists(), "{denied:?}");
    // The first answer trusts the policy, the second one takes the change of the command.
    assert_eq!(answer("y\ny\n").unwrap().code, 0);
    assert_eq!(place.site.read("ran.txt"), b"ran\n");
    place.nrv(&["rollback", "last"]).exits(0);
    place.nrv(&["run", "w.rhai"]).exits(0);
}

#[test]
fn trust_is_told_listed_and_forgotten() {
    let place = Place::with_command();
    let asked = place.nrv(&["trust"]).exits(2);
    assert!(asked.stdout.contains("runs may start `sh -c …`") && asked.stderr.contains("--yes"), "{asked:?}");
    let told = place.nrv(&["trust", "--yes", "--json"]).exits(0).json();
    assert_eq!(told["policies"][0]["permits"], json!(["runs may start `sh -c …`"]));
    let state = place.beside(".local/state/nrv/trusted");
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    let listed = place.nrv(&["trust", "--list", "--json"]).exits(0).json();
    assert_eq!(listed["trusted"][0]["root"], json!(place.site.root().canonicalize().unwrap()));
    assert!(place.nrv(&["trust"]).exits(0).stderr.contains("is trusted already"));
    place.nrv(&["trust", "--forget"]).exits(0);
    place.refuses(&["run", "w.rhai"], &["no person has trusted it here yet"]);
}

#[test]
fn a_state_folder_that_came_from_elsewhere_trusts_nothing() {
    let place = Place::with_command();
    let other = place.beside("other").display().to_string();
    place.with(&["trust", "--yes"], &[("XDG_STATE_HOME", &other)]).exits(0);
    let copied = std::process::Command::new("cp").args(["-a", &other, place.beside("copy").to_str().unwrap()]).status();
    assert!(copied.unwrap().success());
    let copy = place.beside("copy").display().to_string();
    let ran = place.with(&["run", "w.rhai"], &[("XDG_STATE_HOME", &copy)]);
    refused(&ran, &["permission_denied", "was not made by `nrv trust` on this machine", "`nrv trust`"]);
    let listed = place.with(&["trust", "--list"], &[("XDG_STATE_HOME", &copy)]).exits(0);
    assert!(listed.stdout.is_empty() && listed.stderr.contains("was not made by `nrv trust`"), "{listed:?}");
    place.with(&["trust", "--yes"], &[("XDG_STATE_HOME", &copy)]).exits(0);
    place.with(&["run", "w.rhai"], &[("XDG_STATE_HOME", &copy)]).exits(0);
    place.with(&["rollback", "last"], &[("XDG_STATE_HOME", &copy)]).exits(0);
    fs::remove_file(place.beside("copy/nrv/trusted/key")).unwrap();
    let gone = place.with(&["run", "w.rhai"], &[("XDG_STATE_HOME", &copy)]);
    refused(&gone, &["is gone, by which nrv knows its entries"]);
}

#[test]
fn the_hook_obeys_weaker_gates_only_if_a_person_has_seen_them() {
    let ask = |place: &Place, command: &str| {
        let question =
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(question.to_string().as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        place.command(&["gate", "hook"]).stdin(file).output().unwrap()
    };
    let place = Place::cloned("[gates.destructive]\nenabled = false\n", "print(1);");
    let blocked = ask(&place, "ls");
    let words = String::from_utf8_lossy(&blocked.stderr).into_owned();
    assert!(
        blocked.status.code() == Some(2)
            && words.contains("`nrv.toml` weakens gates, and no person has trusted it here yet"),
        "{words}"
    );
    place.nrv(&["run", "w.rhai"]).exits(0);
    place.nrv(&["trust", "--yes"]).exits(0).tells("destructive commands are not stopped");
    assert_eq!(ask(&place, "ls").status.code(), Some(0));
    place.site.write("nrv.toml", "[gates.destructive]\nenabled = false\n[gates.secrets]\nenabled = false\n");
    let changed = ask(&place, "ls");
    let words = String::from_utf8_lossy(&changed.stderr).into_owned();
    assert!(changed.status.code() == Some(2) && words.contains("have changed since it was trusted"), "{words}");
    place.site.write("nrv.toml", "[gates.destructive]\ndecision = 'block'\n");
    assert_eq!(ask(&place, "ls").status.code(), Some(0), "it is stricter");
}

#[test]
fn a_state_folder_in_the_workspace_trusts_nothing() {
    let place = Place::with_command();
    let state = place.site.path("state").display().to_string();
    let inside = [("XDG_STATE_HOME", state.as_str())];
    let ran = place.with(&["trust", "--yes"], &inside);
    assert!(ran.code == 3 && ran.stderr.contains("lies in the workspace"), "{ran:?}");
    refused(&place.with(&["run", "w.rhai"], &inside), &["lies in the workspace"]);
    place.with(&["trust", "--yes"], &[("XDG_STATE_HOME", place.beside("other").to_str().unwrap())]).exits(0);
    place.refuses(&["run", "w.rhai"], &["no person has trusted it here yet"]);
}

#[test]
fn folders_of_the_environment_are_trusted() {
    let place = Place::with_command();
    let root = place.site.root().display().to_string();
    refused(&place.with(&["run", "w.rhai"], &[("NRV_TRUSTED_PATHS", "/nowhere:.")]), &["no person has trusted it"]);
    place.with(&["run", "w.rhai"], &[("NRV_TRUSTED_PATHS", &format!("/nowhere:{root}"))]).exits(0);
}

#[test]
fn in_ci_the_lock_file_decides() {
    let place = Place::with_command();
    let ci = |arguments: &[&str]| place.with(arguments, &[("CI", "1"), ("NRV_TRUSTED_PATHS", "/")]);
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["approve", "w.rhai", "--yes"]).exits(0);
    let lock = String::from_utf8(place.site.read("nrv.lock")).unwrap();
    assert!(lock.contains("[trust.\"nrv.toml\"]") && lock.contains("runs may start `sh -c …`"), "{lock}");
    place.site.commit();
    ci(&["approve", "--check"]).exits(0);
    ci(&["run", "w.rhai"]).exits(0);
    place.nrv(&["rollback", "last"]).exits(0);
    // As an earlier version wrote it.
    let at = lock.find("[trust").unwrap();
    let end = lock.find("[scripts").unwrap();
    place.site.write("nrv.lock", format!("{}{}", &lock[..at], &lock[end..]));
    place.site.commit();
    refused(&ci(&["run", "w.rhai"]), &["nothing of it is pinned", "`nrv approve`"]);
    refused(&ci(&["approve", "--check"]), &["nothing of it is pinned"]);
    place.nrv(&["approve", "--yes"]).exits(0);
    assert_eq!(place.site.read("nrv.lock"), lock.as_bytes());
    place.site.write("nrv.toml", format!("{POLICY}\n[[exec.allow]]\nprefix = ['env']\n"));
    place.site.commit();
    refused(&ci(&["run", "w.rhai"]), &["new is that runs may start `env …`"]);
    refused(&ci(&["trust", "--yes"]), &["`CI` is set"]);
    assert!(!place.site.path("ran.txt").exists());
}

#[test]
fn a_policy_that_was_set_up_here_is_trusted() {
    let site = Site::empty();
    site.write("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\n");
    site.git(&["init", "-q", "-b", "main"]);
    let place = Place { site };
    place.nrv(&["init"]).exits(0);
    let listed = place.nrv(&["trust", "--list", "--json"]).exits(0).json();
    let rules = String::from_utf8(place.site.read("nrv.toml")).unwrap().lines().any(|line| line == "[[exec.allow]]");
    assert_eq!(listed["trusted"].as_array().unwrap().len(), usize::from(rules));
    assert!(rules, "a project with a manifest gets rules");
}

#[test]
fn cases_inherit_the_trust_of_the_policy_that_they_copy() {
    let body =
        "nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"echo ran > ran.txt\"], writes: [\"ran.txt\"] });\n\"done\"";
    let place = Place::cloned(POLICY, body);
    place.site.write("w.test/one/expected/ran.txt", "ran\n");
    place.site.commit();
    let ran = place.nrv(&["test"]);
    assert!(
        ran.code != 0 && format!("{}{}", ran.stdout, ran.stderr).contains("no person has trusted it here yet"),
        "{ran:?}"
    );
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["test"]).exits(0);
    let own = format!("{POLICY}\n[[exec.allow]]\nprefix = ['env']\n");
    place.site.write("w.test/one/nrv.toml", own);
    let ran = place.nrv(&["test"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code != 0 && said.contains("nrv trust w.test/one/nrv.toml"), "{ran:?}");
    place.nrv(&["trust", "w.test/one/nrv.toml", "--yes"]).exits(0);
    place.nrv(&["test"]).exits(0);
    place.nrv(&["trust", "--forget"]).exits(0);
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["test"]).exits(0);
}

#[test]
fn a_command_can_not_trust_a_policy() {
    let state = "\"$HOME/.local/state/nrv/trusted\"";
    let line = format!("mkdir -p {state}; echo x > {state}/x.json; ls {state}/x.json");
    let body = format!("nrv.exec.run(#{{ program: \"sh\", args: [\"-c\", {line:?}] }}).status");
    let place = Place::cloned(&POLICY.replace("['PATH']", "['PATH', 'HOME']"), &body);
    place.nrv(&["trust", "--yes"]).exits(0);
    place.nrv(&["run", "w.rhai"]).exits(3).says("by which it is judged");
    assert!(!place.beside(".local/state/nrv/trusted/x.json").exists());
}

#[test]
fn a_key_is_sent_to_no_server_before_somebody_trusted_the_policy() {
    let server = model();
    let place = Place::with_server(&server, KEYED, ASK);
    let nrv = |arguments: &[&str]| place.with(arguments, &[(SECRET, "a-key-of-mine")]);
    nrv(&["check", "w.rhai"]).exits(0);
    let doctor = nrv(&["doctor"]);
    assert!(doctor.stdout.contains("trust: not trusted yet: `nrv.toml` sends requests, and no person"), "{doctor:?}");
    for arguments in [
        &["run", "w.rhai"][..],
        &["run", "w.rhai", "--yes"],
        &["run", "w.rhai", "--dry-run"],
        &["plan", "w.rhai", "-o", "-"],
        &["llm", "ping"],
        &["llm", "capabilities", "far"],
        &["llm", "probe", "far"],
    ] {
        refused(
            &nrv(arguments),
            &["permission_denied", "`nrv.toml` sends requests, and no person has trusted it here yet"],
        );
        assert_eq!(server.asked().len(), 0, "{arguments:?}");
    }
    let told = nrv(&["trust", "--yes"]).exits(0);
    let line = format!("requests to the provider `far` go to `{}`, with the key in `{SECRET}`", server.base_url(CHAT));
    assert!(told.stdout.contains(&line), "{told:?}");
    nrv(&["run", "w.rhai"]).exits(0).tells("hello");
    assert!(server.asked().iter().all(|asked| asked.head.contains("authorization: bearer a-key-of-mine")));
    // The provider's address matters, and the requests to it do not.
    let policy = String::from_utf8(place.site.read("nrv.toml")).unwrap();
    place.site.write("nrv.toml", format!("{policy}model = 'm'\nrate_per_min = 100\n"));
    nrv(&["run", "w.rhai", "--allow-dirty"]).exits(0);
    place.site.write("nrv.toml", policy.replace(SECRET, "NPM_TOKEN"));
    let changed = place.with(&["run", "w.rhai", "--allow-dirty"], &[("NPM_TOKEN", "another-key")]);
    refused(&changed, &["its tables for that have changed since it was trusted"]);
}

#[test]
fn every_call_that_reaches_a_server_waits_for_trust() {
    let bodies = [
        "nrv.llm.capabilities()",
        "let s = nrv.llm.stream(#{ prompt: \"x\", max_tokens: 10 }); for piece in s { print(piece); }",
        "nrv.prompt.compose(#{ goal: \"x\", model: \"m\", max_tokens: 10 })",
    ];
    for body in bodies {
        let server = model();
        let place = Place::with_server(&server, KEYED, body);
        let ran = place.with(&["run", "w.rhai"], &[(SECRET, "a-key-of-mine")]);
        refused(&ran, &["no person has trusted it here yet"]);
        assert_eq!(server.asked().len(), 0, "{body}");
    }
}

#[test]
fn a_server_of_this_machine_without_a_key_needs_no_trust() {
    let server = model();
    let place = Place::with_server(&server, "", ASK);
    place.nrv(&["run", "w.rhai"]).exits(0).tells("hello");
    place.nrv(&["llm", "ping"]).exits(0);
    assert!(place.nrv(&["trust"]).exits(0).stderr.contains("nothing to trust"));
}

#[test]
fn recorded_replies_need_no_trust() {
    let server = model();
    let place = Place::with_server(&server, KEYED, ASK);
    let key = [(SECRET, "a-key-of-mine")];
    place.nrv(&["trust", "--yes"]).exits(0);
    place.with(&["run", "w.rhai", "--record-llm", "w.llm"], &key).exits(0);
    place.nrv(&["trust", "--forget"]).exits(0);
    let n_asked = server.asked().len();
    place.nrv(&["run", "w.rhai", "--replay-llm", "w.llm", "--allow-dirty"]).exits(0).tells("hello");
    place.nrv(&["replay", "last"]).exits(0);
    assert_eq!(server.asked().len(), n_asked);
}

#[test]
fn in_ci_the_lock_file_says_who_gets_a_key() {
    let server = model();
    let place = Place::with_server(&server, KEYED, ASK);
    let ci = |arguments: &[&str]| place.with(arguments, &[("CI", "1"), (SECRET, "a-key-of-mine")]);
    place.nrv(&["trust", "--yes"]).exits(0);
    refused(&ci(&["llm", "ping"]), &["`nrv.lock` does not approve of that: nothing of it is pinned"]);
    assert_eq!(server.asked().len(), 0);
    place.nrv(&["approve", "w.rhai", "--yes"]).exits(0);
    let lock = String::from_utf8(place.site.read("nrv.lock")).unwrap();
    assert!(lock.contains("permits = [\"requests to the provider `far` go to"), "{lock}");
    place.site.commit();
    ci(&["llm", "ping"]).exits(0);
    let n_asked = server.asked().len();
    let policy = String::from_utf8(place.site.read("nrv.toml")).unwrap();
    place.site.write("nrv.toml", policy.replace(SECRET, "NPM_TOKEN"));
    place.site.commit();
    let ran = place.with(&["llm", "ping"], &[("CI", "1"), ("NPM_TOKEN", "another-key")]);
    refused(&ran, &["new is that requests to the provider `far` go to", "with the key in `NPM_TOKEN`"]);
    refused(&ci(&["approve", "--check"]), &["`nrv.lock` does not approve of what `nrv.toml` may do"]);
    assert_eq!(server.asked().len(), n_asked);
}
