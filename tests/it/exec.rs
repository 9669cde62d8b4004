//! Commands, through the binary: their permissions, their changes, and their records.
#![expect(clippy::disallowed_methods, reason = "tests build trees and wait for processes")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::path::Path;

use nrv::{Context, Options, Workspace};
use serde_json::{Value, json};

use crate::support::{
    need,
    record::{Line, lines},
    site::{Site, wait_until},
};

/// A site whose policy allows the shell, with a script that runs its argument.
fn site(policy: &str) -> Site {
    let site = Site::new(2);
    let allow =
        "[[exec.allow]]\nprefix = ['sh']\n[[exec.allow]]\nprefix = ['git']\n[[exec.allow]]\nprefix = ['sleep']\n";
    site.write("nrv.toml", format!("{policy}\n{allow}"));
    site.commit();
    site
}

/// Writes a workflow that may start these programs and write everything.
fn workflow(site: &Site, body: &str) {
    let header = "const WORKFLOW = #{ name: \"commands\", permissions: #{ write: [\"**\"], exec: [\"sh\", \"git\", \"sleep\", \"rm\"] } };";
    let functions = "fn sh(line, writes) { #{ program: \"sh\", args: [\"-c\", line], writes: writes } }";
    site.script("commands.rhai", &format!("{header}\n{functions}\n{body}\n"));
}

/// The events of the last run.
fn records(site: &Site) -> Vec<Line> {
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    lines(&context.runs.open("last").unwrap().records().unwrap())
}

const RUN: [&str; 3] = ["run", "commands.rhai", "--json"];

#[test]
fn what_a_command_changes_is_a_change_of_the_run() {
    let site = site("");
    workflow(
        &site,
        r#"nrv.exec.run(sh("echo hello; echo new > docs.txt; rm site/a/p0.html; echo oops >&2; exit 3", ["**"]))"#,
    );
    let before = site.tree();
    let ran = site.nrv(&RUN).exits(0).json();
    let reply = &ran["result"];
    assert_eq!(
        (&reply["status"], &reply["stdout"], &reply["stderr"]),
        (&json!(3), &json!("hello\n"), &json!("oops\n"))
    );
    assert_eq!(reply["changed"], json!(["docs.txt", "site/a/p0.html"]));
    assert_eq!((site.read("docs.txt"), site.path("site/a/p0.html").exists()), (b"new\n".to_vec(), false));
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.tree(), before);
}

#[test]
fn a_dry_run_changes_nothing_and_later_commands_see_what_it_proposes() {
    let site = site("");
    workflow(
        &site,
        r#"nrv.apply.create("made.txt", "made\n");
        nrv.exec.check(sh("cat made.txt > copy.txt; rm made.txt; rm site/b/p1.html", ["**"]));
        #{ copy: nrv.files.read("copy.txt"), seen: nrv.exec.check(sh("ls; ls site", [])).stdout }"#,
    );
    let before = site.tree();
    let ran = site.nrv(&["run", "commands.rhai", "--json", "--dry-run"]).exits(0).json();
    assert_eq!(
        ran["result"],
        json!({"copy": "made\n", "seen": "commands.rhai\ncopy.txt\nnrv.toml\nscripts\nsite\na\n"})
    );
    assert_eq!(site.tree(), before);
    let patch = String::from_utf8(site.read(ran["patch"].as_str().unwrap())).unwrap();
    assert!(patch.contains("copy.txt") && patch.contains("p1.html") && !patch.contains("made.txt"), "{patch}");
}

#[test]
fn a_change_outside_of_writes_is_an_error_and_nothing_is_done() {
    let site = site("");
    workflow(&site, r#"nrv.exec.run(sh("echo x > allowed.txt; echo x > other.txt", ["allowed.txt"]))"#);
    let before = site.tree();
    let error = &site.nrv(&RUN).exits(3).json()["error"];
    assert_eq!(error["code"], "permission_denied");
    assert!(error["message"].as_str().unwrap().contains("other.txt"), "{error}");
    assert_eq!(site.tree(), before);
}

#[test]
fn a_cache_outside_of_writes_is_named_as_scratch() {
    let site = site("");
    let hint = |line: &str| {
        workflow(&site, &format!(r#"nrv.exec.run(sh("{line}", []))"#));
        site.nrv(&RUN).exits(3).json()["error"]["hint"].as_str().unwrap().to_owned()
    };
    let made = hint("mkdir -p site/.cache/1/2; echo x > site/.cache/1/2/a; echo x > site/.cache/b");
    assert!(made.ends_with("no part of the tree, such as `site/.cache/**`"), "{made}");
    // The files have no new folder in common.
    let apart = hint("mkdir new; echo x > new/a; echo x > other.txt");
    assert!(apart.ends_with("no part of the tree"), "{apart}");
}

#[test]
fn only_what_the_policy_and_the_header_allow_is_started() {
    let site = site("");
    for (body, words) in [
        (r#"nrv.exec.run(#{ program: "rm", args: ["x"] })"#, "[[exec.allow]]"),
        (r#"nrv.exec.run(#{ program: "touch", args: ["x"] })"#, "exec"),
    ] {
        workflow(&site, body);
        let error = &site.nrv(&RUN).exits(3).json()["error"];
        assert_eq!(error["code"], "permission_denied", "{error}");
        assert!(error["hint"].as_str().unwrap().contains(words), "{error}");
    }
}

#[test]
fn a_destructive_command_needs_a_confirmation() {
    let site = site("");
    workflow(&site, r#"nrv.exec.run(#{ program: "git", args: ["reset", "--hard"] })"#);
    let error = &site.nrv(&RUN).exits(7).json()["error"];
    assert_eq!(error["code"], "suspended", "{error}");
}

#[test]
fn a_command_that_was_to_succeed_keeps_nothing_if_it_fails() {
    let site = site("");
    workflow(
        &site,
        r#"let said = "";
        try { nrv.exec.check(sh("echo x > a.txt; echo no >&2; exit 2", ["**"])); } catch (error) { said = error; }
        said"#,
    );
    let before = site.tree();
    let said = site.nrv(&RUN).exits(0).json()["result"].clone();
    assert_eq!(
        (&said["code"], &said["details"]["status"], &said["details"]["stderr"]),
        (&json!("command_failed"), &json!(2), &json!("no\n"))
    );
    assert_eq!(site.tree(), before);
}

#[test]
fn of_a_long_command_the_beginning_is_shown_and_no_part_of_a_secret() {
    let site = site("");
    let token = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
    let line = format!("exit 3 # {} {token}", "x".repeat(475));
    workflow(&site, &format!(r#"nrv.exec.check(sh("{line}", []))"#));
    site.nrv(&RUN).exits(7);
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(1);
    assert!(ran.stderr.contains("$ sh -c exit 3 # xxx") && ran.stderr.len() < 2500, "{}", ran.stderr);
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("…` ended with status 3") && message.len() < 600, "{message}");
    assert!(![message, ran.stderr].iter().any(|said| said.contains("ghp")));
}

#[test]
fn git_finds_a_repository_above_the_workspace_if_it_may_read_it() {
    let site = site("");
    let git = site.path(".git");
    let rule = "[[exec.allow]]\nprefix = ['git']";
    site.write("site/nrv.toml", format!("[exec]\nread = [{:?}]\nenv = ['PATH']\n{rule}\n", git.to_str().unwrap()));
    let header = "const WORKFLOW = #{ name: \"commands\", permissions: #{ exec: [\"git\"] } };";
    let body = r#"nrv.exec.check(#{ program: "git", args: ["rev-parse", "--show-prefix"] }).stdout"#;
    site.script("site/commands.rhai", &format!("{header}\n{body}\n"));
    let folder = site.path("site");
    let ran = site.nrv(&["--root", folder.to_str().unwrap(), "run", "commands.rhai", "--json"]).exits(0).json();
    assert_eq!(ran["result"], "site/\n");
}

#[test]
fn every_command_of_several_is_told_of() {
    let site = site("");
    workflow(
        &site,
        r#"let all = nrv.exec.verify([sh("exit 0", []), sh("exit 1", []), #{ program: "sh", args: ["-c", "true"], cwd: "none" }]);
        #{ ok: all.ok, statuses: all.outcomes.map(|one| one.status), error: all.outcomes[2].error.code }"#,
    );
    let said = site.nrv(&RUN).exits(0).json()["result"].clone();
    assert_eq!(said, json!({"ok": false, "statuses": [0, 1, null], "error": "not_found"}));
}

#[test]
fn time_that_commands_take_is_a_budget() {
    let site = site("[budget]\nexec_s = 1");
    workflow(&site, r#"nrv.exec.run(#{ program: "sleep", args: ["30"] })"#);
    let ran = site.nrv(&RUN).exits(6).json();
    assert_eq!(ran["error"]["details"]["budget"], "exec_s", "{ran}");
    workflow(&site, r#"nrv.exec.run(#{ program: "sleep", args: ["30"], timeout_ms: 200 })"#);
    let reply = &site.nrv(&RUN).exits(0).json()["result"];
    assert_eq!((&reply["timed_out"], &reply["status"]), (&json!(true), &Value::Null));
}

#[test]
fn a_secret_that_a_command_writes_stops_the_run() {
    let site = site("");
    let token = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
    let half = token.split_at(10);
    workflow(&site, &format!(r#"nrv.exec.run(sh("printf '%s%s\n' '{}' '{}' > key.txt", ["**"]))"#, half.0, half.1));
    let before = site.tree();
    site.nrv(&RUN).exits(7);
    assert_eq!(site.tree(), before);
    site.nrv(&["run", "commands.rhai", "--locked"]).exits(3);
    assert_eq!(site.tree(), before);
}

#[test]
fn the_record_says_what_ran_how_and_what_confined_it() {
    let site = site("");
    workflow(&site, r#"nrv.exec.run(sh("head -c 300000 /dev/zero | tr '\\0' x; echo err >&2", [])).stdout.len()"#);
    let ran = site.nrv(&RUN).exits(0).json();
    assert_eq!(ran["result"], 300_000);
    let records = records(&site);
    let ended = records.iter().find(|record| record.kind == "exec_ended").unwrap();
    assert_eq!(ended.volatile["stdout"]["length"], 300_000);
    assert_eq!(ended.files.len(), 2);
    let started = records.iter().find(|record| record.kind == "exec_started").unwrap();
    assert!(Path::new(started.volatile["program"]["path"].as_str().unwrap()).is_absolute());
    if !has_group(&records, "memory") {
        return;
    }
    assert_eq!(started.volatile["confinement"]["state"], "enforced", "{started:?}");
}

/// True if a control group bounded the command of these records.
fn has_group(records: &[Line], bound: &str) -> bool {
    let started = records.iter().find(|record| record.kind == "exec_started").unwrap();
    let has = started.volatile["confinement"]["bounds"][bound] == "group";
    if !has {
        need::skip("control-groups");
    }
    has
}

/// The processes whose command line is this one.
fn processes(words: &[&str]) -> Vec<String> {
    let wanted = words.join("\0") + "\0";
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    let names =
        listed.filter(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes()));
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until there are such processes, or none.
#[track_caller]
fn wait_for(words: &[&str], there: bool) {
    wait_until(&format!("{words:?}: {there}"), || processes(words).is_empty() != there);
}

/// A run that is killed while its command works, after it has changed a file.
fn killed(site: &Site, line: &str, words: &[&str]) {
    workflow(
        site,
        &format!(
            "nrv.apply.create(\"made.txt\", \"made\\n\");\n#{{ status: nrv.exec.run(sh(\"{line}\", [\"**\"])).status }}"
        ),
    );
    let mut running = site.start(&["run", "commands.rhai"]);
    wait_for(words, true);
    assert!(site.path("made.txt").exists());
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    wait_for(words, false);
}

#[test]
fn a_kill_leaves_no_process_and_a_confined_command_is_run_again() {
    let site = site("");
    killed(
        &site,
        "test -e late.txt || { (setsid sleep 71.25 &) ; sleep 71.25; }; echo x > new.txt",
        &["sleep", "71.25"],
    );
    assert!(!site.path("new.txt").exists());
    site.write("late.txt", "");
    let ran = site.nrv(&["resume", "last", "--json", "--accept-stale-reads"]).exits(0).json();
    assert_eq!(ran["result"], json!({"status": 0}));
    assert_eq!(site.read("new.txt"), b"x\n");
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn of_a_command_that_was_not_confined_a_person_has_to_say_what_became_of_it() {
    let site = site("[exec]\nsandbox = 'off'");
    killed(&site, "sleep 71.5", &["sleep", "71.5"]);
    let error = site.nrv(&["resume", "last", "--json"]).exits(7).json()["error"].clone();
    assert_eq!(error["code"], "uncertain", "{error}");
    let id = error["details"]["confirmation"].as_str().unwrap();
    let ran = site.nrv(&["resume", "last", "--json", "--approve", id, "--reply", r#"{"status": 5}"#]).exits(0).json();
    assert_eq!(ran["result"], json!({"status": 5}));
    site.nrv(&["replay", "last"]).exits(0);
}

/// Files that a formatter has something to do for, and the shipped script that runs it.
fn formatted(n: usize, policy: &str) -> Site {
    let site = Site::new(0);
    let script = crate::repository::root().join("scripts/format.rhai");
    site.write("scripts/format.rhai", std::fs::read(script).unwrap());
    for index in 0..n {
        site.write(&format!("src/f{index}.txt"), format!("one  \ntwo\t\nfile {index}\n"));
    }
    site.write("tidy.sh", "for file in src/*.txt; do sed -i 's/[[:space:]]*$//' $file; done\n");
    site.write("restless.sh", "for file in src/*.txt; do echo again >> $file; done\n");
    site.write("nrv.toml", format!("{policy}\n[[exec.allow]]\nprefix = ['sh']\nwrites = ['src/**']\n"));
    site.commit();
    site
}

fn format(program: &str) -> [String; 7] {
    let command = format!("command=[\"sh\", \"{program}\"]");
    ["run", "scripts/format.rhai", "--json", "--arg", &command, "--arg", "writes=[\"src/**\"]"].map(str::to_owned)
}

#[test]
fn a_formatter_of_300_files_makes_one_change_that_is_rolled_back_exactly() {
    let site = formatted(300, "");
    let before = site.tree();
    let run = format("tidy.sh");
    let ran = site.nrv(&run.each_ref().map(String::as_str)).exits(0).json();
    assert_eq!((&ran["result"]["files"], &ran["files_changed"]), (&json!(300), &json!(300)));
    assert_eq!(site.read("src/f7.txt"), b"one\ntwo\nfile 7\n");
    assert_eq!(records(&site).iter().filter(|record| record.kind == "committed").count(), 1);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.tree(), before);
}

#[test]
fn a_formatter_that_never_comes_to_rest_is_undone() {
    let site = formatted(2, "");
    let before = site.tree();
    let run = format("restless.sh");
    let ran = site.nrv(&run.each_ref().map(String::as_str)).exits(1).json();
    assert!(ran["error"]["message"].as_str().unwrap().contains("does not come to rest"), "{ran}");
    assert_eq!(site.tree(), before);
}

#[test]
fn a_test_that_fails_is_told_of_and_fails_the_run_if_the_policy_wants_that() {
    let body = r#"nrv.apply.create("made.txt", "made\n");
        #{ ok: nrv.exec.verify([#{ program: "sh", args: ["-c", "exit 1"], test: true }]).ok }"#;
    let mild = site("[evaluators]\nfail = []");
    workflow(&mild, body);
    let ran = mild.nrv(&RUN).exits(0).json();
    let told = ran["evaluations"].as_array().unwrap().iter().find(|one| one["evaluator"] == "tests-pass").unwrap();
    assert_eq!((&told["passed"], &ran["result"]["ok"]), (&json!(false), &json!(false)));
    let site = site("");
    workflow(&site, body);
    let ran = site.nrv(&RUN).exits(4).json();
    assert_eq!((&ran["state"], &ran["files_changed"]), (&json!("failed"), &json!(1)));
    assert!(site.path("made.txt").exists());
    let strict = self::site("[evaluators]\nfail = ['tests-pass']");
    workflow(&strict, body);
    strict.nrv(&RUN).exits(4);
    assert!(!strict.path("made.txt").exists());
}

/// A site with a plan that makes `made.txt`, and the shipped script that keeps it if it builds.
fn built() -> Site {
    let site = site("");
    let script = crate::repository::root().join("scripts/build_first.rhai");
    site.write("scripts/build_first.rhai", std::fs::read(script).unwrap());
    let diff = "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+made\n";
    site.write("plan.json", json!({"diffs": [{"path": "made.txt", "unified_diff": diff}]}).to_string());
    site.commit();
    site
}

const BUILD: [&str; 5] = ["run", "scripts/build_first.rhai", "--json", "--arg", "plan=plan.json"];

#[test]
fn a_plan_is_kept_if_the_build_and_the_tests_succeed() {
    let site = built();
    let more = [
        "--arg",
        r#"build=["sh", "-c", "test -e made.txt"]"#,
        "--arg",
        r#"test=["sh", "-c", "grep -q made made.txt"]"#,
    ];
    let ran = site.nrv(&[&BUILD[..], &more].concat()).exits(0).json();
    assert_eq!(ran["result"], json!({"kept": true, "files": ["made.txt"]}));
    assert_eq!(site.read("made.txt"), b"made\n");
    let tests = ran["evaluations"].as_array().unwrap().iter().find(|one| one["evaluator"] == "tests-pass").unwrap();
    assert_eq!(tests["passed"], true);
    let dry = [&BUILD[..], &more[..2], &["--dry-run"]].concat();
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.nrv(&dry).exits(0).json()["result"]["kept"], true);
    assert!(!site.path("made.txt").exists());
}

#[test]
fn a_plan_that_does_not_build_is_taken_back() {
    let site = built();
    let before = site.tree();
    let ran = site
        .nrv(&[&BUILD[..], &["--arg", r#"build=["sh", "-c", "echo broken >&2; exit 2"]"#]].concat())
        .exits(1)
        .json();
    assert_eq!(
        ran["error"]["message"].as_str().unwrap().lines().next(),
        Some("`sh -c echo broken >&2; exit 2` ended with status 2"),
        "{ran}"
    );
    assert_eq!(site.tree(), before);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn what_an_attempt_had_changed_when_its_command_was_killed_with_the_run_is_taken_back() {
    let site = site("");
    workflow(
        &site,
        r#"nrv.attempt(|| {
            nrv.apply.create("made.txt", "made\n");
            nrv.exec.check(sh("test -e late.txt || sleep 71.75", []));
        }).kept"#,
    );
    let before = site.tree();
    let mut running = site.start(&["run", "commands.rhai"]);
    wait_for(&["sleep", "71.75"], true);
    assert!(site.path("made.txt").exists());
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    wait_for(&["sleep", "71.75"], false);
    site.nrv(&["recover"]).exits(0);
    assert_eq!(site.tree(), before);
    site.write("late.txt", "");
    let ran = site.nrv(&["resume", "last", "--json", "--accept-stale-reads"]).exits(0).json();
    assert_eq!((&ran["result"], site.read("made.txt")), (&json!(true), b"made\n".to_vec()));
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_secret_in_a_command_is_not_told_when_a_person_is_asked_what_became_of_it() {
    let site = site("[exec]\nsandbox = 'off'\n[gates.secrets]\nenabled = false");
    let token = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
    killed(&site, &format!(": {token}; sleep 71.875"), &["sleep", "71.875"]);
    let ran = site.nrv(&["resume", "last", "--json"]).exits(7);
    assert!(!ran.stdout.contains(&token) && !ran.stderr.contains(&token), "{ran:?}");
    for file in [site.recorded("*/events.jsonl"), site.recorded("*/confirmations/*")].concat() {
        assert!(!String::from_utf8_lossy(&std::fs::read(&file).unwrap()).contains(&token), "{file:?}");
    }
}

#[test]
fn a_command_beyond_a_bound_fails_by_the_name_of_the_key_and_leaves_nothing() {
    for (policy, line, key) in [
        (
            "memory = '96MiB'",
            "echo x > new; for i in 1 2 3 4; do head -c 48M /dev/zero | tail -c 47M & done; wait",
            "exec.memory",
        ),
        ("processes = 32", "echo x > new; for i in $(seq 1 100); do sleep 60 & done; wait", "exec.processes"),
        ("disk = '8MiB'", "echo x > new; head -c 32M /dev/zero > /tmp/x; sleep 60", "exec.disk"),
    ] {
        let site = site(&format!("[exec]\n{policy}"));
        workflow(&site, &format!("nrv.exec.run(sh({line:?}, [\"**\"]))"));
        let before = site.tree();
        let ran = site.nrv(&RUN);
        // Without a control group the kernel refuses further processes, and the program goes on.
        if key == "exec.processes" && !has_group(&records(&site), "processes") {
            continue;
        }
        let error = ran.exits(1).json()["error"].clone();
        assert_eq!((&error["code"], &error["details"]["bound"]), (&json!("command_failed"), &json!(key)), "{error:#}");
        assert!(error["message"].as_str().unwrap().contains(key) && error["hint"].as_str().unwrap().contains(key));
        assert_eq!(site.tree(), before);
        let ended = records(&site).into_iter().find(|record| record.kind == "exec_ended").unwrap();
        assert_eq!(ended.data["exceeded"], key.trim_start_matches("exec."));
        site.nrv(&["runs", "verify", "last"]).exits(0);
        site.nrv(&["replay", "last"]).exits(0);
    }
}

#[test]
fn git_says_where_the_repository_lies_that_a_command_does_not_see() {
    let away = |site: &Site| {
        let elsewhere = site.root().parent().unwrap().join("elsewhere");
        std::fs::rename(site.path(".git"), &elsewhere).unwrap();
        elsewhere
    };
    let link = |site: &Site| std::os::unix::fs::symlink(away(site), site.path(".git")).unwrap();
    let file = |site: &Site| site.write(".git", format!("gitdir: {}\n", away(site).display()));
    let above = |site: &Site| std::fs::rename(away(site), site.root().parent().unwrap().join(".git")).unwrap();
    type Way<'w> = &'w dyn Fn(&Site);
    let ways: [(Way<'_>, &str); 3] = [
        (&link, "`.git` is a link"),
        (&file, "`.git` names a folder outside of the workspace"),
        (&above, "outside of the workspace, which commands do not see"),
    ];
    for (way, words) in ways {
        let site = site("");
        workflow(&site, "nrv.exec.run(#{ program: \"git\", args: [\"log\"] }).status");
        assert_eq!(site.nrv(&RUN).exits(0).json()["result"], 0);
        way(&site);
        let root = site.root();
        let arguments = ["--root", root.to_str().unwrap(), "run", "commands.rhai", "--json", "--allow-dirty"];
        let ran = site.nrv(&arguments).exits(1).says(words);
        assert_eq!(ran.json()["error"]["code"], "command_failed");
    }
}
