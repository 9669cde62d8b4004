//! First use of nrv: a command that fails, a patch near a password, a dry run in CI, many files.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run git")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::process::Command;

use nrv::system::schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    long,
    site::{Ran, Site},
};

/// A token of no real account, in pieces.
fn token() -> String {
    ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
}

/// A site whose policy allows the shell.
fn site(policy: &str) -> Site {
    Site::new(0).policy(&format!("{policy}\n[[exec.allow]]\nprefix = ['sh']\n"))
}

fn workflow(site: &Site, body: &str) {
    let header = "const WORKFLOW = #{ name: \"first\", permissions: #{ write: [\"**\"], exec: [\"sh\"] } };";
    site.script("first.rhai", &format!("{header}\n{body}\n"));
}

/// A command that writes much to both streams, with a secret, a colour and a sequence that clears the screen, and then ends so.
fn talkative(site: &Site, end: &str) -> String {
    site.write("said.txt", format!("E  \u{1b}[31massert 1 == 2\u{1b}[0m\u{7}\u{202e}\ntoken {}\n", token()));
    let line = format!("i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo line $i; done; cat said.txt >&2; {end}");
    format!("#{{ program: \"sh\", args: [\"-c\", {}] }}", json!(line))
}

/// Checks the output of the last run, in which a command failed, in all faces.
#[track_caller]
fn tells_the_output(site: &Site, ran: &Ran) {
    let show = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
    let text = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    let page = site.nrv(&["runs", "report", "last", "--html"]).exits(0).stdout;
    let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
    let schema = include_str!("../../schemas/report.schema.json");
    Schema::compile(&serde_json::from_str(schema).unwrap()).unwrap().check(&report).unwrap();
    for (name, face) in
        [("stderr", &ran.stderr), ("show", &show), ("text", &text), ("page", &page), ("json", &report.to_string())]
    {
        for word in ["assert 1 == 2", "line 40", "line 21", "its last 20 lines", "[redacted "] {
            assert!(face.contains(word), "{word} is not in {name}: {face}");
        }
        assert!(!face.contains("line 20\n") && !face.contains(&token()) && !face.contains('\u{7}'), "{name}: {face}");
    }
    for face in [&ran.stderr, &show, &text, &page] {
        assert!(!face.contains('\u{202e}') && face.contains("assert 1 == 2\\u{202e}"), "{face}");
    }
    assert!(ran.stderr.contains("│ E  assert 1 == 2\\u{202e}"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("assert 1 == 2").count(), 1, "{}", ran.stderr);
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn a_command_that_fails_shows_the_end_of_its_output_wherever_the_run_is_told() {
    let site = site("");
    for (body, code) in [
        (format!("nrv.exec.check({})", talkative(&site, "exit 3")), 1),
        (format!("nrv.exec.check({})", talkative(&site, "kill -9 $$")), 1),
        (format!("nrv.exec.run({})", talkative(&site, "exit 3")), 0),
        (format!("nrv.exec.verify([{}]).ok", talkative(&site, "exit 3")), 0),
        (format!("nrv.exec.check({})", talkative(&site, "sleep 600").replace("] }", "], timeout_ms: 3000 }")), 1),
    ] {
        workflow(&site, &body);
        let ran = site.nrv(&["run", "first.rhai"]);
        assert_eq!(ran.code, code, "{body}: {ran:?}");
        tells_the_output(&site, &ran);
    }
}

#[test]
fn a_commitment_whose_command_fails_shows_the_end_of_its_output_too() {
    let site = site("");
    let command = talkative(&site, "exit 1");
    let commit = format!("nrv.commit(#{{ description: \"tests pass\", assertion: #{{ command: {command} }} }});\n1");
    workflow(&site, &commit);
    let ran = site.nrv(&["run", "first.rhai"]).exits(4);
    for face in [
        ran.stderr,
        site.nrv(&["runs", "show", "last"]).stdout,
        site.nrv(&["runs", "report", "last"]).stdout,
        site.nrv(&["runs", "report", "last", "--html"]).stdout,
        site.nrv(&["runs", "report", "last", "--json"]).stdout,
    ] {
        assert!(face.contains("line 40") && face.contains("assert 1 == 2") && !face.contains(&token()), "{face}");
    }
}

#[test]
fn an_export_without_contents_has_no_more_of_the_output_than_its_redacted_end() {
    let site = site("");
    workflow(&site, &format!("nrv.exec.run({}); 1", talkative(&site, "exit 3").replace("echo line", "echo long line")));
    site.nrv(&["run", "first.rhai"]).exits(0);
    let (other, file) = (Site::new(0), site.path("run.nrv-run"));
    site.nrv(&["runs", "export", "last", "-o", file.to_str().unwrap()]).exits(0);
    other.nrv(&["runs", "import", file.to_str().unwrap()]).exits(0);
    assert!(other.recorded("*/packs/exec/*").is_empty());
    let shown = other.nrv(&["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.contains("long line 40") && !shown.contains(&token()), "{shown}");
}

/// Files of settings with passwords in them, of which a change changes something else.
const SETTINGS: &[(&str, &str)] = &[
    ("app.yml", "db:\n  host: old.example.com\n  user: app\n  password: \"kJ8#mQ2!vXz9\"\n  port: 5432\n"),
    (".config/app.ini", "[db]\nhost = old.example.com\npassword = kJ8mQ2vXz9Lp\n"),
    ("settings.toml", "host = \"old.example.com\"\n[auth]\nsecret_key = 'f3a9c27b81d64e05a7b2'\n"),
    ("src/settings.py", "HOST = 'old.example.com'\nPASSWORD = 'hunter2-Qx81zz'\nDEBUG = True\n"),
    (
        "compose.yml",
        "services:\n  db:\n    image: old.example.com/pg\n    environment:\n      POSTGRES_PASSWORD: s3cr3t-Wq91-zzA\n",
    ),
    ("web.json", "{\n  \"host\": \"old.example.com\",\n  \"password\": \"kJ8#mQ2!vXz9\"\n}\n"),
    ("url.txt", "old.example.com\npostgres://app:kJ8mQ2vXz9Lp@old.example.com/db\n"),
    ("no_end.env.sample", "HOST=old.example.com\r\nPASSWORD=kJ8mQ2vXz9Lp"),
];

/// A script that replaces `old.example.com` in all files.
const MOVE: &str = "for path in nrv.files.glob([\"**\", \"!*.rhai\", \"!nrv.toml\", \"!scripts/**\"]) {
    let text = nrv.files.read(path);
    let moved = text; moved.replace(\"old.example.com\", \"new.example.com\");
    if moved != text { nrv.apply.write(path, moved, nrv.files.sha256(path)); }
}";

/// Compares a dry run's patch with the changes of the run itself.
#[track_caller]
fn patch_is_what_the_run_makes(site: &Site) -> String {
    let dry = site.nrv(&["run", "first.rhai", "--dry-run", "--json"]).exits(0).json();
    assert!(dry.get("patch_redacted").is_none(), "{dry}");
    let patch = dry["patch"].as_str().unwrap().to_owned();
    let before = site.tree();
    site.git(&["apply", "--check", &patch]);
    site.git(&["apply", "--whitespace=nowarn", &patch]);
    let by_git = site.tree();
    assert!(by_git != before);
    for (path, now) in before.iter().filter(|(_, now)| now.0 == 'f') {
        std::fs::write(site.path(path), &now.2).unwrap();
    }
    site.nrv(&["run", "first.rhai", "--yes"]).exits(0);
    assert!(site.tree() == by_git, "git and nrv made other files");
    patch
}

#[test]
fn a_patch_near_a_password_is_whole_and_what_is_shown_of_it_is_redacted() {
    let site = Site::new(0);
    SETTINGS.iter().for_each(|(path, text)| site.write(path, text));
    workflow(&site, MOVE);
    site.commit();
    let patch = patch_is_what_the_run_makes(&site);
    let text = String::from_utf8(site.read(&patch)).unwrap();
    assert!(text.contains("hunter2-Qx81zz") && text.contains("kJ8#mQ2!vXz9"), "{text}");
    for arguments in
        [&["runs", "report", "last"][..], &["runs", "report", "last", "--html"], &["runs", "report", "last", "--json"]]
    {
        let shown = site.nrv(arguments).exits(0).stdout;
        assert!(shown.contains("app.yml"), "{shown}");
        for secret in ["hunter2-Qx81zz", "kJ8#mQ2!vXz9", "s3cr3t-Wq91-zzA", "f3a9c27b81d64e05a7b2"] {
            assert!(!shown.contains(secret), "{arguments:?} shows {secret}: {shown}");
        }
    }
}

#[test]
fn a_secret_that_goes_away_or_gets_another_name_is_no_new_one() {
    let site = Site::new(0);
    site.write("a.yml", "password: \"kJ8#mQ2!vXz9\"\nhost: a\n");
    site.write("b.yml", "greeting: kJ8#mQ2!vXz9\n");
    site.write("c.yml", format!("token: {}\n", token()));
    let body = "nrv.apply.write(\"a.yml\", \"host: a\\n\", nrv.files.sha256(\"a.yml\"));
        nrv.apply.write(\"b.yml\", \"password: kJ8#mQ2!vXz9\\n\", nrv.files.sha256(\"b.yml\"));
        nrv.apply.remove(\"c.yml\", nrv.files.sha256(\"c.yml\"));";
    workflow(&site, body);
    site.commit();
    let dry = site.nrv(&["run", "first.rhai", "--dry-run", "--json"]).exits(0).json();
    assert!(dry.get("patch_redacted").is_none() && dry["would_ask"] == json!([]), "{dry}");
    site.git(&["apply", "--check", dry["patch"].as_str().unwrap()]);
}

#[test]
fn a_patch_that_adds_a_secret_is_withheld_and_says_what_would_permit_it() {
    let site = Site::new(0);
    site.write("a.yml", "password: \"kJ8#mQ2!vXz9\"\nhost: a\n");
    let body = format!(
        "nrv.apply.write(\"a.yml\", nrv.files.read(\"a.yml\") + \"token: {}\\n\", nrv.files.sha256(\"a.yml\"));",
        token()
    );
    workflow(&site, &body);
    let dry = site.nrv(&["run", "first.rhai", "--dry-run", "--json", "--allow-dirty"]).exits(0).json();
    let schema = include_str!("../../schemas/finished.schema.json");
    Schema::compile(&serde_json::from_str(schema).unwrap()).unwrap().check(&dry).unwrap();
    assert_eq!(dry["patch_redacted"], true);
    let [one] = dry["withheld"].as_array().unwrap().as_slice() else { panic!("{dry}") };
    assert_eq!((&one["path"], &one["line"], &one["rule"]), (&json!("a.yml"), &json!(3), &json!("github-pat")));
    let text = String::from_utf8(site.read(dry["patch"].as_str().unwrap())).unwrap();
    assert!(!text.contains(&token()[4..]) && !text.contains("kJ8#mQ2!vXz9"), "{text}");
    let ran = site.nrv(&["run", "first.rhai", "--dry-run", "--allow-dirty"]).exits(0);
    let allow = one["allow"].as_str().unwrap();
    let ran = ran.says("a.yml:3: rule `github-pat`").says(&format!("gates.secrets.allow = [{allow}]"));
    assert!(!ran.stderr.contains(&token()));
    // The advice names the permission that works.
    let site = site.policy(&format!("[gates.secrets]\nallow = [{allow}]\n"));
    let dry = site.nrv(&["run", "first.rhai", "--dry-run", "--json"]).exits(0).json();
    assert!(dry.get("patch_redacted").is_none() && dry["would_ask"] == json!([]), "{dry}");
    site.git(&["apply", "--check", dry["patch"].as_str().unwrap()]);
}

#[test]
fn a_token_in_the_name_of_a_new_file_is_asked_about_and_shown_nowhere() {
    let site = Site::new(0);
    workflow(&site, &format!("nrv.apply.create(\"keys/{}.txt\", \"x\\n\");", token()));
    let dry = site.nrv(&["run", "first.rhai", "--dry-run", "--json"]).exits(0);
    assert!(!dry.stdout.contains(&token()), "{}", dry.stdout);
    let label = dry.json()["would_ask"][0]["label"].as_str().unwrap().to_owned();
    assert!(label.contains("in the name of a new file") && dry.json()["patch_redacted"] == true, "{label}");
    let ran = site.nrv(&["run", "first.rhai"]).exits(7);
    assert!(!ran.stderr.contains(&token()) && !ran.stdout.contains(&token()), "{ran:?}");
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    for arguments in [
        &["runs", "show", "last"][..],
        &["runs", "report", "last"],
        &["runs", "report", "last", "--html"],
        &["runs", "show", "last", "--json"],
    ] {
        let shown = site.nrv(arguments).exits(0).stdout;
        assert!(!shown.contains(&token()), "{arguments:?}: {shown}");
    }
}

/// Lines as configuration has them, some with a secret.
fn settings() -> impl Strategy<Value = Vec<String>> {
    let value = "[A-Za-z0-9#!_-]{8,24}";
    let line = prop_oneof![
        3 => "[a-z]{2,8}: [a-z0-9 ]{0,12}",
        2 => value.prop_map(|value| format!("password: \"{value}\"")),
        1 => value.prop_map(|value| format!("  DB_PASSWORD={value}")),
        1 => value.prop_map(|value| format!("url = postgres://app:{value}@db.example.com/x")),
        1 => Just(String::new()),
        1 => Just("host: old.example.com".to_owned()),
    ];
    proptest::collection::vec(line, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: long::pick(2, 200), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_patch_that_adds_no_secret_is_applied_by_git_to_the_byte(lines in settings(), at in 0_usize..30, end in any::<bool>()) {
        let site = Site::new(0);
        let mut lines = lines;
        lines.insert(at.min(lines.len()), "host: old.example.com".to_owned());
        site.write("conf/app.yml", lines.join("\n") + if end { "\n" } else { "" });
        workflow(&site, MOVE);
        site.commit();
        patch_is_what_the_run_makes(&site);
    }
}

/// A script that asks, and changes a file.
const ASKS: &str = "nrv.gate.confirm(\"review\", #{ n: 1 }); nrv.apply.create(\"a.txt\", \"a\\n\");";

#[test]
fn a_dry_run_asks_nobody_where_nobody_is() {
    let site = site("[ci]\nlocked = false\n");
    workflow(&site, ASKS);
    let in_ci = |arguments: &[&str]| {
        let output = site.command(arguments).env("CI", "true").output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    };
    in_ci(&["run", "first.rhai"]).exits(3);
    let dry = in_ci(&["run", "first.rhai", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((&dry["files_changed"], &dry["would_ask"][0]["refused"]), (&json!(1), &json!(true)));
    in_ci(&["run", "first.rhai", "--dry-run"])
        .exits(0)
        .says("Would be refused, since there is no person to ask: review.");
    in_ci(&["plan", "first.rhai", "-o", "../plan.json"]).exits(0);
    // A script that is approved, and is granted nothing, is shown too.
    site.write("nrv.toml", "[[exec.allow]]\nprefix = ['sh']\n");
    site.nrv(&["approve", "first.rhai", "--yes"]).exits(0);
    site.commit();
    in_ci(&["run", "first.rhai"]).exits(3);
    in_ci(&["run", "first.rhai", "--dry-run"]).exits(0);
    std::fs::write(site.path("a.txt"), "a\n").unwrap();
    site.commit();
    std::fs::write(site.path("x.patch"), "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    in_ci(&["apply", "--dry-run", "--allow-dirty", "x.patch"]).exits(0);
}

#[test]
fn a_change_of_nothing_asks_nobody() {
    let site = site("");
    workflow(&site, "nrv.gate.confirm(\"review\", #{ diffs: [] }); nrv.apply.plan(#{ diffs: [] }, \"write\")");
    site.nrv(&["run", "first.rhai"]).exits(0).says("Nothing was changed");
    site.write("empty.json", json!({"diffs": []}).to_string());
    site.nrv(&["apply", "empty.json"]).exits(0);
    site.write("a.txt", "same\n");
    workflow(&site, "nrv.apply.write(\"a.txt\", \"same\\n\", nrv.files.sha256(\"a.txt\")); 1");
    site.nrv(&["run", "first.rhai"]).exits(0).says("Nothing was changed");
}

#[test]
fn the_default_number_of_calls_fits_that_of_files() {
    let policy = nrv::system::policy::Policy::default();
    let budget = &policy.settings().budget;
    assert!(budget.calls >= 8 * budget.files, "{budget:?}");
}

#[test]
fn the_files_that_want_a_look_stand_first_where_not_all_are_shown() {
    let site = site("[confirm]\nmode = 'ask'\n");
    let many = "for n in 0..60 { nrv.apply.create(`docs/a${n}.md`, \"x\\n\"); }";
    workflow(&site, many);
    site.nrv(&["run", "first.rhai"]).exits(0);
    site.commit();
    let mut patch = String::new();
    for n in 0..60 {
        patch += &format!("--- a/docs/a{n}.md\n+++ b/docs/a{n}.md\n@@ -1 +1 @@\n-x\n+y\n");
    }
    patch += "diff --git a/tools/z.sh b/tools/z.sh\nnew file mode 100755\n--- /dev/null\n+++ b/tools/z.sh\n@@ -0,0 +1 @@\n+echo\n";
    site.write("x.patch", patch);
    let ran = site.nrv(&["apply", "--allow-dirty", "x.patch"]).exits(7);
    for text in [ran.stderr, site.nrv(&["runs", "show", "last"]).exits(0).stdout] {
        let first = text.lines().skip_while(|line| !line.starts_with("file ")).nth(1).unwrap_or_default();
        assert!(first.starts_with("tools/z.sh") && first.contains("executable, script, new"), "{text}");
        assert!(text.contains("… and 41 more files: 41 changed"), "{text}");
    }
}

#[test]
fn what_a_script_prints_is_no_command_of_the_service_that_runs_it() {
    let site = site("");
    let body = "print(\"::set-output name=a::b\\n  ::add-mask::x\\n##vso[task.setvariable variable=PATH]x\\n\\x1b[0Ksection_start:1:a\");
        nrv.ui.step(\"##teamcity[x]\"); nrv.ui.show(\"::error::shown\\nplain\\n\"); nrv.ui.show(#{ a: \"##[group]b\" });
        throw \"x\\n::stop-commands::y\";";
    workflow(&site, body);
    for variable in ["CI", "GITHUB_ACTIONS", "TF_BUILD"] {
        for more in [&[][..], &["--json"], &["--events"]] {
            let arguments = [&["run", "first.rhai"][..], more].concat();
            let output = site.command(&arguments).env(variable, "1").output().unwrap();
            for text in [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()) {
                let bad = |line: &str| {
                    line.trim_start().starts_with("::")
                        || line.contains("##vso[")
                        || line.contains("##[")
                        || line.contains("##teamcity[")
                };
                assert!(!text.split(['\n', '\r']).any(bad), "{variable} {more:?}: {text}");
            }
        }
    }
    // No service reads the output here.
    let ran = site.nrv(&["run", "first.rhai"]);
    assert!(ran.stdout.starts_with("::error::shown\n"), "{ran:?}");
    let report = |variable: &str| {
        String::from_utf8(site.command(&["runs", "report", "last"]).env(variable, "1").output().unwrap().stdout)
            .unwrap()
    };
    assert!(!report("GITHUB_ACTIONS").lines().any(|line| line.trim_start().starts_with("::")));
}

#[test]
fn whatever_ends_the_hook_is_a_block() {
    let (site, nrv) = (site(""), crate::repository::nrv());
    let line = "echo x; ".repeat(20_000);
    let question =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line}}).to_string();
    site.write("q.json", &question);
    let mut answered = 0;
    for kilobytes in [60_000, 80_000, 100_000, 110_000, 120_000, 150_000, 200_000, 400_000, 4_000_000] {
        // Where the program itself can't be loaded, there is no hook.
        let can_start = format!("ulimit -v {kilobytes}; exec '{nrv}' --version");
        let started = Command::new("sh").args(["-c", &can_start]).output().unwrap().status.success();
        let hook = format!("ulimit -v {kilobytes}; exec '{nrv}' gate hook < q.json");
        let mut command = Command::new("sh");
        let code = site.tame(command.args(["-c", &hook])).output().unwrap().status.code();
        if started {
            answered += 1;
            assert!(matches!(code, Some(0 | 2)), "{kilobytes}: {code:?}");
        }
    }
    assert!(answered > 2);
    for limit in ["-v 200000", "-s 128", "-d 20000"] {
        for words in ["gate hook", "gate hook --locked", "-v gate --locked hook"] {
            let hook = format!("ulimit {limit}; exec '{nrv}' {words} < q.json");
            let mut command = Command::new("sh");
            let output = site.tame(command.args(["-c", &hook])).output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 2)), "{limit} {words}: {output:?}");
        }
    }
    let hook = format!("ulimit -t 1; ulimit -v 4000000; exec '{nrv}' gate hook");
    let mut command = Command::new("sh");
    let allowed =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}).to_string();
    site.write("q.json", allowed);
    let stdin = std::fs::File::open(site.path("q.json")).unwrap();
    let output = site.tame(command.args(["-c", &hook])).stdin(stdin).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn characters_that_nobody_sees_are_shown_as_what_they_are() {
    let site = site("");
    let hidden = "a\u{e000}b\u{fe00}c\u{200b}d\u{202e}e\u{e0041}f\u{3164}g\u{ad}h\u{2028}i\u{fff9}j";
    workflow(&site, &format!("print(\"{hidden}\"); nrv.ui.step(\"{hidden}\"); throw \"{hidden}\";"));
    let ran = site.nrv(&["run", "first.rhai"]);
    let report = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    let page = site.nrv(&["runs", "report", "last", "--html"]).exits(0).stdout;
    let show = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
    for (name, text) in [("stderr", ran.stderr), ("report", report), ("page", page), ("show", show)] {
        let raw = |c: char| "\u{e000}\u{fe00}\u{200b}\u{202e}\u{e0041}\u{3164}\u{ad}\u{2028}\u{fff9}".contains(c);
        assert!(!text.contains(raw), "{name}: {text:?}");
        assert!(text.contains("a\\u{e000}b\\u{fe00}c\\u{200b}d\\u{202e}e\\u{e0041}f"), "{name}: {text}");
    }
    let _: Value = site.nrv(&["runs", "show", "last", "--json"]).exits(0).json();
}

#[test]
fn arguments_and_names_of_files_are_no_commands_of_the_service_either() {
    let site = site("");
    let command = "\u{1b}[1m::error::x";
    let name = "x\n::error::x";
    for arguments in [
        &["run", name, "--no-such\n::error::x"][..],
        &[name],
        &[command],
        &["run", "a.rhai", "--threads", name],
        &["run", name],
        &["run", "::error::x"],
        &["runs", "show", name],
        &["runs", "report", name],
        &["--root", name, "runs", "list"],
        &["apply", name],
        &["llm", name],
    ] {
        let output = site.command(arguments).env("CI", "1").output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        for text in [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()) {
            assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{arguments:?}: {text}");
        }
    }
    // An error lists the files that it is about.
    site.write("::error::x", "1\n");
    workflow(&site, "nrv.apply.create(\"::error::x\", \"2\\n\");");
    site.write("::error::x", "3\n");
    let output = site.command(&["run", "first.rhai"]).env("GITHUB_ACTIONS", "1").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("::error::x") && !said.lines().any(|line| line.trim_start().starts_with("::")), "{said}");
}

#[test]
fn stdout_of_a_script_is_text_also_where_it_is_no_terminal() {
    let site = site("");
    workflow(
        &site,
        "nrv.ui.show(\"shown\\n\"); nrv.ui.table([#{ page: \"a.html\", links: 3 }]); nrv.ui.show(#{ pages: 1 });",
    );
    let ran = site.nrv(&["run", "first.rhai"]).exits(0);
    assert_eq!(ran.stdout, "shown\nlinks  page\n3      a.html\n{\"pages\":1}\n");
    let events = site.nrv(&["run", "first.rhai", "--events"]).exits(0).stdout;
    assert!(events.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{events}");
}
