//! The gates in runs, in scripts, on the command line and in the hook of coding agents.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]

use std::{fs, process::Stdio};

use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

/// A token of a well-known form that no one has; in pieces, so that no scanner takes this file for a leak.
fn canary() -> String {
    ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
}

fn workflow(body: &str) -> String {
    format!("const WORKFLOW = #{{ name: \"gates\", permissions: #{{ write: [\"**\"] }} }};\n{body}\n")
}

fn leak() -> String {
    workflow(&format!("nrv.apply.create(\"notes/new.txt\", \"token = {}\\n\");", canary()))
}

fn site(policy: &str) -> Site {
    let site = Site::new(0).policy(policy);
    site.write("a.txt", "one\ntwo\n");
    site.commit();
    site
}

fn hook(site: &Site, payload: &Value) -> Ran {
    site.nrv_with(&["gate", "hook"], &payload.to_string())
}

#[test]
fn a_change_that_adds_a_secret_waits_for_a_confirmation() {
    let site = site("");
    site.script("leak.rhai", &leak());
    let before = site.tree();
    site.nrv(&["run", "leak.rhai"]).exits(7).says("secret");
    assert!(site.tree() == before);
    let dry = site.nrv(&["run", "leak.rhai", "--dry-run", "--json"]).exits(0).json();
    assert!(dry["would_ask"][0]["label"].as_str().unwrap().starts_with("secrets: "), "{dry:#}");
    site.nrv(&["run", "leak.rhai", "--yes"]).exits(0);
    assert!(String::from_utf8(site.read("notes/new.txt")).unwrap().contains(&canary()));
}

#[test]
fn a_policy_or_a_locked_run_blocks_what_would_be_asked() {
    let site = site("[gates.secrets]\ndecision = 'block'");
    site.script("leak.rhai", &leak());
    let error = site.nrv(&["run", "leak.rhai", "--yes", "--json"]).exits(3).json()["error"].clone();
    assert_eq!((&error["code"], &error["details"]["gates"]), (&json!("blocked"), &json!(["secrets"])));
    let site = self::site("[confirm]\nmode = 'never'");
    site.script("leak.rhai", &leak());
    site.nrv(&["run", "leak.rhai", "--yes"]).exits(3);
    let site = self::site("");
    site.script("leak.rhai", &leak());
    site.nrv(&["run", "leak.rhai", "--yes", "--locked"]).exits(3);
    site.nrv(&["plan", "leak.rhai", "--locked", "-o", "-"]).exits(3);
}

#[test]
fn a_secret_that_was_there_before_is_not_new() {
    let site = site("");
    site.write("a.txt", format!("token = {}\ntwo\n", canary()));
    site.commit();
    let body = "let hash = nrv.files.sha256(\"a.txt\");
nrv.apply.write(\"a.txt\", nrv.files.read(\"a.txt\") + \"three\\n\", hash);";
    site.script("more.rhai", &workflow(body));
    site.nrv(&["run", "more.rhai"]).exits(0);
}

#[test]
fn a_secret_that_is_allowed_passes_and_the_exception_is_recorded() {
    let site = site("[gates.secrets]\nallow = [{rule = 'x', path = 'notes/**'}]");
    let text = format!("token = {} # nrv:allow-secret RULE", canary());
    let found = site.nrv_with(&["gate", "--jsonl"], &json!({"id": 1, "path": "x", "text": text}).to_string()).exits(0);
    let found: Value = serde_json::from_str(found.stdout.lines().next().unwrap()).unwrap();
    let secrets = found["results"].as_array().unwrap().iter().find(|result| result["gate_name"] == "secrets").unwrap();
    let rule = secrets["triggered_rules"][0].as_str().unwrap().to_owned();
    let inline = text.replace("RULE", &rule);
    site.script("leak.rhai", &workflow(&format!("nrv.apply.create(\"b.txt\", \"{inline}\\n\");")));
    site.nrv(&["run", "leak.rhai"]).exits(0);
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    assert!(!events.contains(&canary()));
    let policy = format!("[gates.secrets]\nallow = [{{rule = '{rule}', path = 'notes/**'}}]");
    let site = self::site(&policy);
    site.script("leak.rhai", &leak());
    site.nrv(&["run", "leak.rhai"]).exits(0);
}

#[test]
fn the_same_question_is_judged_each_time() {
    let site = site("[gates.tools]\nenabled = true\nallowed = ['a']");
    let body = "let one = nrv.gate.evaluate_tool_use(\"b\", #{}); let two = nrv.gate.evaluate_tool_use(\"b\", #{}); \
                [one.decision, two.decision, one == two]";
    site.script("twice.rhai", &workflow(body));
    let finished = site.nrv(&["run", "twice.rhai", "--json"]).exits(0).json();
    assert_eq!(finished["result"], json!(["block", "block", true]));
}

#[test]
fn a_list_of_tools_holds_for_adapters_too() {
    let site = Site::new(2).policy("[gates.tools]\nenabled = true");
    site.commit();
    site.migrate(&[]).exits(3).says("link_updater");
    let site = Site::new(2).policy("[gates.tools]\nenabled = true\nallowed = ['link_*']");
    site.commit();
    site.migrate(&[]).exits(0);
}

#[test]
fn an_own_rule_whose_example_fails_names_rule_example_and_line() {
    let rule =
        "[[gates.destructive.rule]]\nid = 'no-deploy'\nprefix = ['deploy']\nreason = 'r'\nmatch = ['destroy x']\n";
    let site = site(&format!("\n{rule}"));
    let ran = site.nrv(&["gate", "command", "--", "ls"]).exits(1);
    for words in ["no-deploy", "destroy x", "line 2"] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    hook(&site, &json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})).exits(2).says("no-deploy");
}

#[test]
fn the_command_line_says_what_is_decided_and_why() {
    let site = site(
        "[[gates.destructive.rule]]\nid = 'no-deploy'\nprefix = ['deploy']\nreason = 'it goes live'\nmatch = ['deploy now']\n",
    );
    site.nrv(&["gate", "command", "--", "ls", "-l"]).exits(0);
    let verdict = site.nrv(&["gate", "command", "--line", "deploy now"]).exits(3).json();
    assert_eq!(verdict["decision"], "require-confirmation");
    let locked = site.nrv(&["gate", "--locked", "command", "--", "deploy", "now"]).exits(3).json();
    assert_eq!(locked["decision"], "block");
    let why = site.nrv(&["gate", "explain", "command", "--line", "deploy now"]).exits(0).json();
    let rule = &why["rules"][0];
    assert_eq!((&rule["rule"], &rule["source"]), (&json!("no-deploy"), &json!("line 1 of `nrv.toml`")));
    assert_eq!(rule["match"], json!(["deploy now"]));
    assert!(rule["would_change"].as_array().unwrap().len() > 1);
    let params = r#"{"file_path": "nrv.toml", "content": ""}"#;
    let verdict = site.nrv_with(&["gate", "tool", "Write", "--params", "-"], params).exits(3).json();
    assert_eq!((&verdict["decision"], &verdict["code"]), (&json!("block"), &json!("protected_path")));
}

#[test]
fn files_are_judged_as_they_are_or_as_they_would_be() {
    let site = site("");
    let leak = format!("x = 1\ntoken = \"{}\"\n", canary());
    site.write("sub dir/leak.py", &leak);
    site.nrv(&["gate", "edit", "a.txt"]).exits(0);
    let rows = site.nrv(&["gate", "edit", "a.txt", "sub dir/leak.py"]).exits(3).json();
    assert_eq!((&rows[0]["decision"], &rows[1]["decision"]), (&json!("allow"), &json!("require-confirmation")));
    site.nrv_with(&["gate", "edit", "a.txt", "--content", "-"], &leak).exits(3);
    site.nrv_with(&["gate", "edit", "sub dir/leak.py", "--content", "-"], &leak).exits(0);
    let sarif = site.nrv(&["gate", "edit", "a.txt", "sub dir/leak.py", "--sarif"]).exits(3).json();
    let run = &sarif["runs"][0];
    let place = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(place["artifactLocation"]["uri"], "sub%20dir/leak.py");
    assert_eq!(place["region"], json!({"startLine": 2, "startColumn": 10}));
    assert_eq!(run["results"][0]["ruleId"], run["tool"]["driver"]["rules"][0]["id"]);
    assert!(run["results"].as_array().unwrap().len() == 1 && run["results"][0]["level"] == "error");
}

#[test]
fn a_folder_stands_for_the_files_in_it_that_git_does_not_ignore() {
    let site = site("");
    let leak = format!("x = 1\ntoken = \"{}\"\n", canary());
    for path in ["src/leak.py", "src/deep/ok.py", "src/ignored.py", ".gitignore"] {
        site.write(path, if path == ".gitignore" { "ignored.py\n" } else { &leak });
    }
    site.write("src/deep/ok.py", "x = 1\n");
    let rows = site.nrv(&["gate", "edit", "src"]).exits(3).json();
    let paths: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row["path"].as_str()).collect();
    assert_eq!(paths, ["src/leak.py"]);
    // Files found in a folder are not written: a policy in a folder is no offence.
    site.write("src/deep/nrv.toml", "\n");
    assert_eq!(site.nrv(&["gate", "edit", "src/deep"]).exits(0).json(), json!([]));
    site.nrv(&["gate", "edit", "src/deep/nrv.toml"]).exits(3);
    let sarif = site.nrv(&["gate", "edit", ".", "a.txt", "--sarif"]).exits(3).json();
    let uri = "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri";
    assert_eq!(sarif.pointer(uri).unwrap(), "src/leak.py");
    let why = site.nrv(&["gate", "explain", "edit", "src", "a.txt"]).exits(0).json();
    let said = |path: &str| why.as_array().unwrap().iter().find(|row| row["path"] == path).unwrap()["decision"].clone();
    assert_eq!((said("src/leak.py"), said("a.txt")), (json!("require-confirmation"), json!("allow")));
    site.nrv(&["gate", "edit", "src", "--content", "a.txt"]).exits(1).says("src");
    site.nrv(&["gate", "edit", "src", "nowhere.py"]).exits(1).says("nowhere.py");
}

/// A JSON Schema of the SARIF 2.1.0 objects that nrv writes: their required fields and their enumerations.
const SARIF: &str = r##"{
    "type": "object", "required": ["version", "runs"], "properties": {
        "version": {"const": "2.1.0"}, "$schema": {"type": "string", "format": "uri"},
        "runs": {"type": "array", "items": {"type": "object", "required": ["tool", "results"], "properties": {
            "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name", "rules"], "properties": {
                "rules": {"uniqueItems": true, "items": {"required": ["id", "shortDescription", "help"], "properties": {
                    "shortDescription": {"$ref": "#/$defs/message"}, "fullDescription": {"$ref": "#/$defs/message"},
                    "help": {"$ref": "#/$defs/message"}}}}}}}},
            "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            "results": {"items": {"required": ["message", "ruleId", "locations"], "properties": {
                "level": {"enum": ["none", "note", "warning", "error"]}, "message": {"$ref": "#/$defs/message"},
                "locations": {"minItems": 1, "items": {"required": ["physicalLocation"], "properties": {
                    "physicalLocation": {"required": ["artifactLocation"], "properties": {
                        "artifactLocation": {"required": ["uri"], "properties": {"uri": {"format": "uri-reference"}}},
                        "region": {"required": ["startLine"], "properties": {
                            "startLine": {"type": "integer", "minimum": 1},
                            "startColumn": {"type": "integer", "minimum": 1}}}}}}}},
                "suppressions": {"items": {"required": ["kind"], "properties": {
                    "kind": {"enum": ["inSource", "external"]}}}}}}}}}}},
    "$defs": {"message": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}}
}"##;

#[test]
fn sarif_is_what_its_standard_wants() {
    let site = site("[gates.secrets]\nallow = [{rule = 'github-pat', path = 'allowed.py'}]");
    let leak = |comment: &str| format!("é = 1\ntoken = \"{}\"{comment}\n", canary());
    site.write("leak %é:1.py", leak(""));
    site.write("allowed.py", leak(""));
    site.write("inline.py", leak(" # nrv:allow-secret github-pat"));
    let sarif = site.nrv(&["gate", "edit", ".", "nrv.toml", "--sarif"]).exits(3).json();
    let schema: Value = serde_json::from_str(SARIF).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&sarif).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{sarif:#}");
    let kinds: Vec<_> = sarif["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["level"].as_str().unwrap(), one.pointer("/suppressions/0/kind").and_then(Value::as_str)))
        .collect();
    assert_eq!(kinds, [("note", Some("external")), ("note", Some("inSource")), ("error", None), ("error", None)]);
}

#[test]
fn the_hook_judges_what_becomes_of_the_file() {
    let site = site("");
    let root = site.root();
    let asked = |tool: &str, input: Value| {
        hook(&site, &json!({"hook_event_name": "PreToolUse", "cwd": root, "tool_name": tool, "tool_input": input}))
    };
    // Only its context makes it a password.
    site.write("settings.py", "password = \"PLACEHOLDER\"\nnote = \"PLACEHOLDER\"\n");
    let put = |old: &str| json!({"file_path": "settings.py", "old_string": old, "new_string": "kJ8#mQ2!vXz9"});
    assert_eq!(asked("Edit", put("PLACEHOLDER")).exits(0).json()["hookSpecificOutput"]["permissionDecision"], "ask");
    assert_eq!(asked("Edit", json!({"file_path": "settings.py", "old_string": "note = \"PLACEHOLDER", "new_string": "note = \"kJ8#mQ2!vXz9"})).exits(0).stdout, "");
    let pieces = json!({"file_path": "settings.py", "edits": [put("no such piece"), put("PLACEHOLDER")]});
    asked("MultiEdit", pieces).exits(0);
    // The present content is not new, and lines that stay don't count.
    let held = format!("token = \"{}\"\n{}", canary(), "x\n".repeat(400));
    site.write("held.py", &held);
    let longer = json!({"file_path": root.join("held.py"), "content": format!("{held}y\n")});
    assert_eq!(asked("Write", longer).exits(0).stdout, "");
    let other = json!({"file_path": root.join("other.py"), "content": held});
    assert_eq!(asked("Write", other).exits(0).json()["hookSpecificOutput"]["permissionDecision"], "ask");
}

#[test]
fn a_link_does_not_lead_the_hook_astray() {
    let site = site("[paths]\ndeny = ['deep/denied.txt']");
    let (root, outside) = (site.root(), tempfile::tempdir().unwrap());
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, site.path(name)).unwrap();
    link(outside.path(), "out");
    link(&outside.path().join("missing"), "dangling");
    site.write("deep/deeper/x.txt", "x\n");
    link(&site.path("deep/deeper"), "inner");
    link("round".as_ref(), "round");
    let decision = |path: &str| {
        let ran = hook(
            &site,
            &json!({"hook_event_name": "PreToolUse", "cwd": root, "tool_name": "Write",
            "tool_input": {"file_path": path, "content": "x"}}),
        );
        let reply: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        (ran.code, reply["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or_default().to_owned())
    };
    for path in ["out/a.txt", "dangling", "dangling/a.txt", "round", "../a.txt"] {
        assert_eq!(decision(path), (0, "ask".to_owned()), "{path}");
    }
    // For some programs it leads to `denied.txt`, for others to `deep/denied.txt`.
    for path in ["inner/../denied.txt", "deep/denied.txt", "out/../a.txt"] {
        assert_eq!(decision(path).0, 2, "{path}");
    }
    for path in ["inner/x.txt", "deep/../a.txt", "./a.txt"] {
        assert_eq!(decision(path), (0, String::new()), "{path}");
    }
}

#[test]
fn the_hook_judges_a_command_by_the_folder_of_the_agent() {
    let site = site("");
    let at = |folder: &str| site.root().join(folder);
    site.write(".claude/plans/a.md", "x\n");
    std::fs::create_dir_all(at(".git/hooks")).unwrap();
    std::os::unix::fs::symlink(at(".git/hooks"), at("inner")).unwrap();
    let line = json!({"command": "rm pre-commit"});
    let asked = |folder: &str, line: &str| json!({"hook_event_name": "PreToolUse", "cwd": at(folder), "tool_name": "Bash", "tool_input": {"command": line}});
    let with = |name: &str, folder: Value| {
        json!({"hook_event_name": "PreToolUse", "cwd": at(""), "tool_name": "shell",
               "tool_input": {"command": ["rm", "pre-commit"], name: folder}})
    };
    for payload in [
        asked(".git/hooks", "rm pre-commit"),
        asked("inner", "rm pre-commit"),
        asked("", &format!("rm {}", at(".git/config").display())),
        asked("", &format!("rm {}", at("nrv.toml").display())),
        asked(".claude", "echo {} > settings.json"),
        asked(".claude/plans", "echo {} > ../settings.json"),
        json!({"hook_event_name": "beforeShellExecution", "cwd": at(".git/hooks"), "command": "rm pre-commit"}),
        json!({"agent_action_name": "pre_run_command",
               "tool_info": {"command_line": "rm pre-commit", "cwd": at(".git/hooks")}}),
        json!({"hook_event_name": "beforeMCPExecution", "tool_name": "shell", "cwd": at(".git/hooks"), "tool_input": line}),
        with("workdir", json!(".git/hooks")),
        with("dir_path", json!(at(".git/hooks"))),
        with("cwd", json!("./inner")),
    ] {
        assert_eq!(hook(&site, &payload).code, 2, "{payload}");
    }
    for payload in [
        asked("", "rm pre-commit"),
        asked(".claude/plans", "echo x > b.md"),
        asked("", "rm -r /tmp/missing-folder/.runs"),
        with("workdir", json!("docs")),
    ] {
        assert_eq!(hook(&site, &payload).code, 0, "{payload}");
    }
    let write = json!({"hook_event_name": "PreToolUse", "cwd": at(""), "tool_name": "Write",
        "tool_input": {"file_path": "/srv/state/nrv/trusted/x", "content": "x"}});
    hook(&site, &write).exits(2);
}

/// A workspace with links to guarded files.
fn linked() -> Site {
    let site = site("");
    for folder in [".git/hooks", "docs", "deep/deeper"] {
        std::fs::create_dir_all(site.path(folder)).expect("a folder of its own");
    }
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, site.path(name)).expect("a folder of its own");
    link(".git/hooks", "inner");
    link("inner", "twice");
    link("../.git", "docs/up");
    link("deep/deeper", "plain");
    link("nrv.toml", "policy");
    link("round", "round");
    site.write("a.txt", "a\n");
    site
}

/// Commands that write or remove guarded files through links.
const THROUGH: &[&str] = &[
    "echo x > inner/pre-commit",
    "rm inner/pre-commit",
    "rm inner/../config",
    "rm twice/../config",
    "rm -rf inner/*",
    "cd inner && rm pre-commit",
    "cd inner && rm ../config",
    "cd docs && tee up/config < ../a.txt",
    "cp a.txt inner/",
    "cp a.txt docs/up/config",
    "mv a.txt twice/pre-push",
    "sed -i s/a/b/ docs/up/config",
    "sed 'w docs/up/config' a.txt",
    "tar -xf x.tar -C inner",
    "echo x >> policy",
    "chmod -x inner/pre-commit",
    "find inner/ -type f -delete",
    "env -C docs/up rm config",
    "env -C inner/.. rm config",
    "echo x > \"$PWD/inner/pre-commit\"",
    "echo x > $(git rev-parse --show-toplevel)/inner/pre-commit",
    "python3 -c \"open('inner/pre-commit', 'w').write('x')\"",
    "ls | tee inner/pre-commit",
    "xargs -a list -I{} cp a.txt docs/up/{}",
];

/// Commands that only read through links, take links themselves, or go elsewhere.
const ELSEWHERE: &[&str] = &[
    "cat inner/pre-commit docs/up/config policy",
    "rm inner twice",
    "unlink policy",
    "echo x > plain/a.txt",
    "rm plain/../a.txt",
    "cp docs/up/HEAD /tmp/head",
    "echo x > round",
    "cd docs && echo x > a.md",
    "ls -la inner/",
    "rm -rf /tmp/missing-folder/.runs",
    "cd /tmp/missing-folder && rm -rf .runs && echo x > nrv.toml",
];

#[test]
fn a_command_is_judged_by_where_links_lead() {
    let site = linked();
    let asked = |line: &str| json!({"hook_event_name": "PreToolUse", "cwd": site.root(), "tool_name": "Bash", "tool_input": {"command": line}});
    for line in THROUGH {
        let ran = hook(&site, &asked(line));
        assert!(ran.code == 2 || ran.stdout.contains("git's own files"), "{line}: {} {}", ran.code, ran.stdout);
        let verdict = site.nrv(&["gate", "command", "--line", line]).exits(3).json();
        assert!(verdict.to_string().contains("guard."), "{line}: {verdict}");
    }
    let absolute = format!("rm {}/inner/../config", site.root().display());
    hook(&site, &asked(&absolute)).exits(2);
    let below = |line: &str| {
        let mut command = site.command(&["gate", "command", "--line", line]);
        command.current_dir(site.path("docs")).output().unwrap().status.code()
    };
    assert_eq!((below("rm up/config"), below("rm config"), below("rm ../nrv.toml")), (Some(3), Some(0), Some(3)));
    for line in ELSEWHERE {
        let ran = hook(&site, &asked(line));
        assert_eq!((ran.code, &*ran.stdout), (0, ""), "{line}: {}", ran.stderr);
        site.nrv(&["gate", "command", "--line", line]).exits(0);
    }
    let lines: String = ELSEWHERE.iter().map(|line| json!({"id": 1, "command": line}).to_string() + "\n").collect();
    let ran = site.nrv_with(&["gate", "--jsonl"], &lines).exits(0);
    assert!(ran.stdout.lines().all(|line| line.contains("\"decision\":\"allow\"")), "{}", ran.stdout);
}

#[test]
fn a_line_of_very_many_paths_is_judged_in_bounded_time() {
    let site = linked();
    let line = format!("rm {}", "inner/../../x ".repeat(3000));
    let asked = |tool: &str, input: Value| {
        let started = std::time::Instant::now();
        hook(
            &site,
            &json!({"hook_event_name": "PreToolUse", "cwd": site.root(), "tool_name": tool, "tool_input": input}),
        );
        assert!(started.elapsed().as_secs() < 20, "{tool}");
    };
    asked("Bash", json!({"command": line}));
    let deep = "x/".repeat(1_000_000);
    asked("Bash", json!({"command": format!("rm {deep}")}));
    asked("Write", json!({"file_path": deep, "content": "x"}));
    let verdict = site.nrv(&["gate", "command", "--line", &line]).exits(3).json();
    assert!(verdict.to_string().contains("too many files"), "{verdict}");
}

#[test]
fn what_the_policy_denies_to_readers_is_not_read_by_tools() {
    let site = site("");
    let read = |tool: &str, input: Value| {
        hook(
            &site,
            &json!({"hook_event_name": "PreToolUse", "cwd": site.root(), "tool_name": tool, "tool_input": input}),
        )
    };
    read("Read", json!({"file_path": site.path(".env.local")})).exits(2).says("paths.read_deny");
    read("Read", json!({"file_path": "/srv/x/.ssh/id_ed25519"})).exits(2);
    read("read_many_files", json!({"paths": ["a.txt", "keys/a.pem"]})).exits(2);
    read("Read", json!({"file_path": "a.txt"})).exits(0);
    read("Grep", json!({"pattern": "x", "path": "."})).exits(0);
    let shown = json!({"hook_event_name": "beforeReadFile", "file_path": site.path(".env"), "content": "A=1"});
    hook(&site, &shown).exits(2);
}

#[test]
fn the_hook_answers_in_the_words_of_the_agent() {
    let site = site("");
    let root = site.root();
    let asked = |tool: &str, input: Value| {
        json!({"session_id": "s", "transcript_path": "/tmp/t.jsonl", "cwd": root, "permission_mode": "default",
               "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input})
    };
    let silent = hook(&site, &asked("Bash", json!({"command": "git status", "description": "look"}))).exits(0);
    assert_eq!((silent.stdout.as_str(), silent.stderr.as_str()), ("", ""));
    let write = json!({"file_path": root.join("a.txt"), "content": "new\n"});
    assert_eq!(hook(&site, &asked("Write", write)).exits(0).stdout, "");
    let secret = json!({"file_path": root.join("a.txt"), "old_string": "one", "new_string": canary()});
    let ask = hook(&site, &asked("Edit", secret)).exits(0);
    assert_eq!(ask.json()["hookSpecificOutput"]["permissionDecision"], "ask");
    assert!(!ask.stdout.contains(&canary()));
    let inside = root.join("x/../.git/hooks/pre-commit");
    for (tool, input) in [
        ("Write", json!({"file_path": inside, "content": "x"})),
        ("Edit", json!({"file_path": "nrv.toml", "old_string": "a", "new_string": "b"})),
        (
            "MultiEdit",
            json!({"file_path": root.join(".vscode/tasks.json"), "edits": [{"old_string": "a", "new_string": "b"}]}),
        ),
        ("NotebookEdit", json!({"notebook_path": root.join(".runs/n.ipynb"), "new_source": "x"})),
        ("apply_patch", json!({"command": "*** Begin Patch\n*** Add File: .git/x\n+x\n*** End Patch"})),
        (
            "Bash",
            json!({"command": "cd x && apply_patch <<'E'\n*** Begin Patch\n*** Add File: .git/x\n+x\n*** End Patch\nE\n"}),
        ),
    ] {
        hook(&site, &asked(tool, input)).exits(2).says("protected");
    }
    std::os::unix::fs::symlink(".git", site.path("linked")).unwrap();
    let through = json!({"file_path": root.join("linked/config"), "content": "x"});
    hook(&site, &asked("Write", through)).exits(2).says("protected");
}

#[test]
fn whatever_fails_in_the_hook_blocks() {
    let site = site("");
    site.nrv_with(&["gate", "hook"], "no json").exits(2).says("blocked");
    site.nrv_with(&["gate", "hook"], "").exits(2);
    site.nrv_with(&["gate", "hook", "--unknown"], "").exits(2);
    site.nrv_with(&["gate", "hook"], &" ".repeat((8 << 20) + 1)).exits(2).says("8 MiB");
    site.nrv_with(&["--root", "nowhere", "gate", "hook"], "{}").exits(2);
    let broken = self::site("[paths]\nwirte = []");
    let ls = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    hook(&broken, &ls).exits(2).says("wirte");
    // A question whose answer can't be written.
    let ask = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "/srv/x", "content": "x"}});
    let input = site.path("question.json");
    fs::write(&input, ask.to_string()).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = site.command(&["gate", "hook"]);
    let output = command.stdin(fs::File::open(&input).unwrap()).stdout(Stdio::from(writer)).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_allow_list_that_is_on_and_empty_denies_every_tool() {
    let header = "permissions: #{ write: [\"**\"], exec: [\"true\"], llm: [\"heuristic\"] }";
    let calls = [
        ("apply", "nrv.apply.create(\"new.txt\", \"1\\n\")"),
        ("exec", "nrv.exec.run(#{ program: \"true\" })"),
        ("llm", "nrv.llm.complete(#{ provider: \"heuristic\", prompt: \"a.com is now b.com\", max_tokens: 100 })"),
        (
            "link_updater",
            "nrv.dta(\"link_updater\").propose(#{ target: #{ glob: \"**/*.html\" }, params: #{ from_hosts: [\"a.com\"], to_host: \"https://b.com\" } })",
        ),
    ];
    for (tool, call) in calls {
        for (allowed, code) in [("", 3), ("'other'", 3), (&*format!("'{tool}'"), 0)] {
            let list =
                format!("[gates.tools]\nenabled = true\nallowed = [{allowed}]\n[[exec.allow]]\nprefix = ['true']\n");
            let site = site(&list);
            site.script("t.rhai", &format!("const WORKFLOW = #{{ name: \"t\", {header} }};\n{call}\n"));
            let ran = site.nrv(&["run", "t.rhai", "--yes", "--json"]).exits(code).json();
            if code != 0 {
                assert_eq!(ran["error"]["code"], "not_approved", "{tool} {allowed}: {ran:#}");
                assert!(!site.path("new.txt").exists());
            }
        }
    }
    let empty = site("[gates.tools]\nenabled = true\n");
    empty.script("t.rhai", &workflow("nrv.files.read(\"a.txt\")"));
    empty.nrv(&["run", "t.rhai"]).exits(0);
}

#[test]
fn the_ledger_names_the_tools_that_a_run_used() {
    let site = site("[[exec.allow]]\nprefix = ['true']\n");
    let header = "permissions: #{ write: [\"**\"], exec: [\"true\"], llm: [\"heuristic\"] }";
    let body = "nrv.exec.run(#{ program: \"true\" });
        nrv.apply.create(\"new.txt\", \"1\\n\");
        nrv.llm.capabilities(\"heuristic\");
        nrv.run.metrics().tools";
    site.script("t.rhai", &format!("const WORKFLOW = #{{ name: \"t\", {header} }};\n{body}\n"));
    let ran = site.nrv(&["run", "t.rhai", "--yes", "--json"]).exits(0).json();
    assert_eq!(ran["result"], json!(["apply", "exec"]));
    site.nrv(&["replay", "last"]).exits(0);
}
