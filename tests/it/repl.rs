//! `nrv repl`: through a pipe, and at a terminal.
#![expect(clippy::disallowed_methods, reason = "tests look at files")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    process::{ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::support::{
    site::{Ran, Running, Site, wait_until},
    terminal::CTRL_C,
    typist::Typist,
};

/// The byte that Ctrl-D sends.
const CTRL_D: &[u8] = b"\x04";

/// A committed page, and a policy that permits all writes.
fn site() -> Site {
    let site = Site::new(1);
    site.write("a.txt", "one\ntwo\n");
    site.commit();
    site
}

/// Changes a line of `a.txt`.
const WRITE: &str = "nrv.apply.write(\"a.txt\", \"one\\nzwei\\n\", nrv.files.sha256(\"a.txt\"));";

fn piped(site: &Site, arguments: &[&str], text: &str) -> Ran {
    site.nrv_with(&[&["repl"], arguments].concat(), text)
}

/// A session through pipes that gets an input when the one before was answered.
struct Program {
    running: Running,
    answers: BufReader<ChildStdout>,
}

impl Program {
    fn start(site: &Site, arguments: &[&str]) -> Self {
        let mut command = site.command(&[&["repl"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let answers = BufReader::new(running.0.stdout.take().unwrap());
        Program { running, answers }
    }

    /// Sends a line; returns its result.
    fn line(&mut self, line: &str) -> Value {
        writeln!(self.running.0.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    /// Kills the process in which texts run.
    fn kill_worker(&self) {
        let id = self.running.0.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        for child in children.split_whitespace() {
            let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
            rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
            let stat = || fs::read_to_string(format!("/proc/{}/stat", child.as_raw_nonzero()));
            wait_until("the worker is dead", || stat().map_or(true, |stat| stat.contains(") Z ")));
        }
    }

    fn end(mut self) -> Ran {
        drop(self.running.0.stdin.take());
        self.running.end()
    }

    /// Waits for its end without ending its stdin.
    fn end_by_itself(mut self) -> Ran {
        let stdin = self.running.0.stdin.take();
        let ran = self.running.end();
        drop(stdin);
        ran
    }
}

/// The JSON lines of stdout.
fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn values_come_out_of_a_pipe_and_functions_and_variables_stay() {
    let script = "let n = 20;\nfn double(x) {\n    x * 2\n}\n\ndouble(n) + 2\nlet f = |x| x + n;\nf.call(1)\n\"a\\nb\"\n()\n\
                  #{ b: [1, 2.5], \"a b\": true }\n[1, 2]\n    .map(|x| x + 1)\nif n > 30 { 1 }\nelse { 2 }\n";
    let ran = piped(&site(), &[], script).exits(0);
    assert_eq!(ran.stdout, "42\n21\n\"a\\nb\"\n#{ \"a b\": true, b: [1, 2.5] }\n[2, 3]\n2\n", "{}", ran.stderr);
}

#[test]
fn a_value_that_is_no_json_is_named() {
    let ran = piped(&site(), &[], "\"abc\".chars()\n").exits(0);
    assert_eq!(ran.stdout, "the characters of a string\n");
}

#[test]
fn each_line_of_json_is_an_input_that_was_evaluated() {
    let ran = piped(&site(), &["--json"], "let x = 1;\nx + 1\nnope\n:vars\n:nope\n").exits(1);
    let lines = lines(&ran);
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert_eq!((&lines[0]["number"], &lines[0]["shown"]["kind"]), (&json!(1), &json!("()")));
    assert_eq!((&lines[1]["number"], &lines[1]["shown"]["value"]), (&json!(2), &json!(2)));
    assert_eq!((&lines[2]["number"], &lines[2]["shown"]), (&json!(3), &Value::Null));
    assert!(lines[2]["error"]["message"].as_str().unwrap().contains("nope"), "{lines:#?}");
    assert_eq!(lines[3]["variables"][0]["text"], "x");
    assert_eq!(lines[4]["error"]["code"], "usage");
}

#[test]
fn the_exit_code_is_that_of_the_first_error_and_later_lines_are_evaluated() {
    let ran = piped(&site(), &[], "nrv.files.raed(\"a.txt\")\n:nope\n1 + 1\n").exits(1);
    assert_eq!(ran.stdout, "2\n");
    let ran = ran.says("did you mean `read`?").says("there is no command `:nope`");
    assert!(ran.stderr.contains("1 | nrv.files.raed(\"a.txt\")\n  |           ^^^^"), "{}", ran.stderr);
    piped(&site(), &[], ":nope\nnope\n").exits(2);
}

#[test]
fn an_input_that_never_ends_is_an_error() {
    piped(&site(), &[], "let x = [1,\n").exits(1).says("error[script_syntax]");
}

#[test]
fn what_was_proposed_and_not_applied_is_told() {
    let site = site();
    let before = site.tree();
    let ran = piped(&site, &[], &format!("{WRITE}\nnrv.files.read(\"a.txt\")\n:diff\n")).exits(0);
    assert!(ran.stdout.contains("\"one\\nzwei\\n\"\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("-two\n+zwei\n"), "{}", ran.stdout);
    ran.says("the proposal for 1 file was not applied; the patch is .runs/");
    assert_eq!(site.tree(), before);
}

#[test]
fn through_a_pipe_nobody_can_be_asked_and_nothing_is_applied() {
    let site = site();
    let before = site.tree();
    let ran = piped(&site, &[], &format!("{WRITE}\n:apply\n"));
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(site.tree(), before);
}

#[test]
fn a_flag_answers_and_what_was_applied_can_be_rolled_back() {
    let site = site();
    let before = site.tree();
    let ran = piped(&site, &["--yes"], &format!("let kept = 7;\n{WRITE}\n:apply\n:diff\nkept\n")).exits(0);
    assert_eq!(site.read("a.txt"), b"one\nzwei\n", "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().last(), Some("7"));
    ran.says("No change is proposed.");
    site.reset(&before);
    piped(&site, &["--yes"], &format!("{WRITE}\n:apply\n:rollback\n")).exits(0).says("as it was before it");
    assert_eq!(site.tree(), before);
}

#[test]
fn where_changes_are_made_at_once_a_rollback_takes_all_back() {
    let site = site();
    let before = site.tree();
    piped(&site, &["--apply", "--yes"], &format!("{WRITE}\n")).exits(0);
    assert_eq!(site.read("a.txt"), b"one\nzwei\n");
    site.reset(&before);
    piped(&site, &["--apply", "--yes"], &format!("{WRITE}\n:rollback\n")).exits(0);
    assert_eq!(site.tree(), before);
}

#[test]
fn a_session_is_saved_as_a_script_that_does_the_same() {
    let site = site();
    let session = format!("let text = \"one\\nzwei\\n\";\nnope\n{WRITE}\ntext.len()\n:save scripts/new_one\n");
    piped(&site, &[], &session).exits(1).says("Saved as scripts/new_one.rhai.");
    let script = String::from_utf8(site.read("scripts/new_one.rhai")).unwrap();
    assert!(script.contains("name: \"new-one\"") && script.contains("a.txt"), "{script}");
    assert!(!script.contains("nope"), "{script}");
    site.commit();
    let ran = site.nrv(&["run", "scripts/new_one.rhai", "--yes", "--json"]).exits(0);
    assert_eq!(ran.json()["result"], 9, "{script}");
    assert_eq!(site.read("a.txt"), b"one\nzwei\n");
}

#[test]
fn no_file_is_replaced_by_accident() {
    let site = site();
    let ran = piped(&site, &[], "1\n:save a.txt\n:save .git/x.rhai\n:save none/x.rhai\n").exits(2);
    ran.says("`a.txt` exists").says("`:save! a.txt` replaces it").says("is no place for a script").says("none/x.rhai");
    assert_eq!(site.read("a.txt"), b"one\ntwo\n");
    piped(&site, &[], "1\n:save! a.txt\n").exits(0);
    assert_ne!(site.read("a.txt"), b"one\ntwo\n");
}

#[test]
fn arguments_are_given_on_the_command_line_or_in_a_file() {
    let site = Site::empty();
    site.write("args.json", "{\"n\": 2, \"name\": \"file\"}");
    let arguments = ["repl", "--json", "--arg", "name=a=b", "--args", "args.json"];
    let ran = site.nrv_with(&arguments, "[args.n + 1, args.name]\n").exits(0);
    assert!(ran.stdout.contains("[3,\"a=b\"]") || ran.stdout.contains("[3, \\\"a=b\\\"]"), "{}", ran.stdout);
    site.nrv_with(&["repl", "--arg", "name"], "1\n").exits(2).says("write `--arg NAME=VALUE`");
}

#[test]
fn what_is_saved_elsewhere_imports_what_the_session_did() {
    let site = site();
    site.write("lib/m.rhai", "fn one() { 1 }\n");
    site.write("scripts/old.rhai", "import \"../lib/m\" as m;\nm::one()\n");
    let ran = piped(&site, &[], "import \"lib/m\" as m;\n:load scripts/old.rhai\n:save scripts/deep/new\n").exits(1);
    ran.says("scripts/deep");
    fs::create_dir_all(site.path("scripts/deep")).unwrap();
    let ran = piped(&site, &[], "import \"lib/m\" as m;\n:load scripts/old.rhai\n:save scripts/deep/new\n").exits(0);
    let script = String::from_utf8(site.read("scripts/deep/new.rhai")).unwrap();
    assert_eq!(script.matches("import \"../../lib/m\" as m;").count(), 2, "{script}{}", ran.stderr);
    assert_eq!(site.nrv(&["run", "scripts/deep/new.rhai", "--json"]).exits(0).json()["result"], 1);
}

#[test]
fn nothing_is_saved_outside_of_the_workspace() {
    let site = site();
    piped(&site, &[], "1\n:save ../outside.rhai\n").exits(1).says("outside the workspace");
    assert!(!site.root().join("../outside.rhai").exists());
}

#[test]
fn each_command_answers_with_a_line_of_json() {
    let site = site();
    let ran = piped(&site, &["--json"], ":help :quit\n1\n:save x\n:reset\n:save none/x\n").exits(1);
    let lines = lines(&ran);
    assert!(lines[0]["help"].as_str().unwrap().contains(":quit"), "{lines:#?}");
    assert_eq!(lines[2], json!({"saved": "x.rhai", "errors": [], "warnings": []}));
    assert_eq!(lines[3], json!({"reset": true}));
    assert_eq!((&lines[4]["error"]["code"], lines.len()), (&json!("io"), 5), "{lines:#?}");
}

#[test]
fn what_is_proposed_of_a_file_that_changed_since_is_told_with_the_way_on() {
    let site = site();
    let mut session = Program::start(&site, &["--json", "--yes", "--allow-dirty"]);
    session.line(WRITE);
    site.write("a.txt", "mine\n");
    let applied = session.line(":apply");
    assert_eq!(applied["applied"]["error"]["code"], "stale_preimage");
    assert!(applied["applied"]["error"]["hint"].as_str().unwrap().contains(":reset"), "{applied}");
    session.line(":reset");
    assert_eq!(session.line(&WRITE.replace(';', ".status"))["shown"]["value"], "applied");
    session.line(":apply");
    session.end().exits(5);
    assert_eq!(site.read("a.txt"), b"one\nzwei\n");
}

#[test]
fn a_rollback_that_was_refused_can_be_tried_again() {
    let site = site();
    let mut session = Program::start(&site, &["--json", "--apply"]);
    session.line(WRITE);
    site.write("a.txt", "mine\n");
    let refused = session.line(":rollback");
    assert_eq!(refused["rolled_back"]["finished"]["error"]["code"], "undo_refused");
    site.write("a.txt", "one\nzwei\n");
    assert_eq!(session.line(":rollback")["rolled_back"]["finished"]["state"], "done");
    assert_eq!(session.line(":rollback")["error"]["code"], "invalid_input");
    session.end().exits(5);
    assert_eq!(site.read("a.txt"), b"one\ntwo\n");
}

#[test]
fn the_death_of_the_process_between_two_inputs_is_told() {
    let site = site();
    let mut session = Program::start(&site, &["--json"]);
    session.line("let x = 1;");
    session.kill_worker();
    let after = session.line("1 + 1");
    assert_eq!((&after["shown"]["value"], &after["lost"]), (&json!(2), &json!(true)), "{after}");
    assert_eq!(session.line("2")["lost"], Value::Null);
    session.end().exits(0).says("all variables and functions");
}

#[test]
fn a_session_that_is_stopped_while_it_waits_closes_its_record_and_tells_what_was_not_applied() {
    let site = site();
    let mut session = Program::start(&site, &["--json"]);
    session.line(WRITE);
    session.running.signal(rustix::process::Signal::INT);
    session.end_by_itself().exits(130).says("was not applied");
    site.last_ended("done");
}

#[test]
fn the_lines_of_a_script_run_in_the_session() {
    let site = site();
    site.write("lib.rhai", "//! Some.\nfn twice(x) { x * 2 }\nlet base = 20;\nbase\n");
    let ran = piped(&site, &[], ":load lib.rhai\ntwice(base) + 2\n:load none.rhai\n").exits(1);
    assert_eq!(ran.stdout, "20\n42\n", "{}", ran.stderr);
    ran.says("none.rhai");
}

#[test]
fn a_reset_forgets_everything() {
    let ran = piped(&site(), &[], &format!("let x = 1;\n{WRITE}\n:reset\n:vars\n:diff\nx\n")).exits(1);
    assert!(ran.stdout.ends_with("\n}\n"), "{}", ran.stdout);
    ran.says("There are no variables.").says("No change is proposed.").says("x");
}

#[test]
fn words_that_people_type_are_commands_without_a_colon() {
    let plain = piped(&site(), &[], "help\nhelp nrv.files.read\n1 + 1\nexit\n2 + 2\n").exits(0);
    let with_colons = piped(&site(), &[], ":help\n:help nrv.files.read\n1 + 1\n:quit\n").exits(0);
    assert_eq!(plain.stdout, with_colons.stdout);
    assert_eq!(piped(&site(), &[], "  quit \n1\n").exits(0).stdout, "");
    // A variable of that name stays one in a longer line.
    assert_eq!(piped(&site(), &[], "let help = 3;\nhelp + 1\n").exits(0).stdout, "4\n");
}

#[test]
fn help_tells_commands_and_calls() {
    let ran = piped(&site(), &[], ":help\n:help nrv.files.read\n:help :save\n:help nrv.files.raed\n").exits(1);
    assert!(ran.stdout.contains(":rollback") && ran.stdout.contains("A file's text"), "{}", ran.stdout);
    ran.says("did you mean `nrv.files.read`?");
    let ran = piped(&site(), &[], ":help load\n:help diff\n").exits(0);
    for said in [":load FILE", ":diff ", "nrv.diff"] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
}

#[test]
fn budgets_are_shown() {
    let ran = piped(&site(), &["--json"], "nrv.files.read(\"a.txt\")\n:budget\n").exits(0);
    let budget = &lines(&ran)[1]["budget"];
    assert!(budget.is_object() && !budget.as_object().unwrap().is_empty(), "{budget}");
}

#[test]
fn where_only_approved_scripts_run_there_is_no_session() {
    let site = site();
    let refused = site.command(&["repl"]).env("CI", "true").output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("error[not_approved]"), "{refused:?}");
}

#[test]
fn values_show_no_secrets() {
    let key = ["AKIA", "QYLPMN5HFIQR7XYA"].concat();
    let ran = piped(&site(), &[], &format!("\"{key}\"\n")).exits(0);
    assert!(!ran.stdout.contains(&key), "{}", ran.stdout);
}

#[test]
fn what_runs_is_stopped_at_the_terminal_and_the_session_goes_on() {
    let site = site();
    let Some(mut person) = Typist::start(&site, &["repl"]) else { return };
    person.sees("`:help` lists the commands").sees("nrv> ");
    person.types("let kept = 6 * 7;").types("kept").sees("\n42\n");
    person.types("print(40 + 3); loop { }").sees("\n43\n");
    person.keys(CTRL_C).sees("error[cancelled]");
    person.types("kept + 3").sees("\n45\n").sees("nrv> ");
    // Ctrl-C at a prompt drops the typed text.
    person.keys(b"let gone").keys(CTRL_C).sees("gone\nnrv> ").types("kept + 2").sees("\n44\n");
    person.sees("nrv> ").keys(CTRL_D);
    assert_eq!(person.end().0, 0);
}

#[test]
fn an_input_may_have_many_lines_and_tab_completes_it() {
    let site = site();
    let Some(mut person) = Typist::start(&site, &["repl", "--color", "never"]) else { return };
    person.sees("nrv> ").types("fn double(x) {").types("  x * 2").types("}");
    person.types("double(21)").sees("\n42\n");
    person.keys(b"let text = nrv.files.re\t(\"a\t\");\r").types("text.len()").sees("\n8\n");
    person.keys(b":bu\t\r").sees("calls").sees("nrv> ").keys(CTRL_D);
    assert_eq!(person.end().0, 0);
}

#[test]
fn a_person_confirms_what_is_applied() {
    let site = site();
    let Some(mut person) = Typist::start(&site, &["repl"]) else { return };
    person.sees("nrv> ").types(WRITE).types(":apply").sees("[y]es, [n]o").types("n").sees("nrv> ");
    person.types("1 + 1").sees("\n2\n");
    assert_eq!(site.read("a.txt"), b"one\ntwo\n");
    person.types(":apply").sees("[y]es, [n]o").types("y").sees("1 file");
    person.types("1 + 2").sees("\n3\n");
    assert_eq!(site.read("a.txt"), b"one\nzwei\n");
    person.types(":rollback").sees("as it was before").types(":quit");
    assert_eq!(person.end().0, 0);
    assert_eq!(site.read("a.txt"), b"one\ntwo\n");
}

#[test]
fn former_inputs_come_back_but_no_secrets() {
    let site = site();
    let key = ["AKIA", "QYLPMN5HFIQR7XYA"].concat();
    let Some(mut person) = Typist::start(&site, &["repl"]) else { return };
    person.sees("nrv> ").types("40 + 2").sees("\n42\n").types(&format!("\"{key}\".len()")).sees("\n20\n");
    person.types(":quit");
    assert_eq!(person.end().0, 0);
    let file = site.root().join("../.local/state/nrv/history");
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept.contains("40 + 2") && !kept.contains(&key), "{kept}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let Some(mut person) = Typist::start(&site, &["repl"]) else { return };
    // Up, past `:quit`.
    person.sees("nrv> ").keys(b"\x1b[A\x1b[A\r").sees("\n42\n").sees("nrv> ").keys(CTRL_D);
    assert_eq!(person.end().0, 0);
}
