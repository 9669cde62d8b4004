//! Changes: proposed, made as they were shown, verified, undone; two clients at once; clients and servers that die.
#![expect(clippy::disallowed_methods, reason = "tests look at files")]

use std::{fs, time::Duration};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    chance::Chance,
    hold::recorded_events,
    long,
    mcp::{Client, NEW, OLD, Word, run_of, text_of},
    site::{Site, wait_until},
};

fn links() -> Value {
    json!({"target": {"glob": "site/**/*.html"}, "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}})
}

#[test]
fn a_proposal_is_applied_as_it_was_shown_and_rolled_back_exactly() {
    for version in [OLD, NEW] {
        let site = Site::new(6);
        let before = site.tree();
        let mut client = Client::start(&site, &[], version, Word::Accept);
        let proposed = client.tool("dta_link_updater_propose", links());
        let proposal = proposed["structuredContent"]["result"].clone();
        let link = proposed["content"].as_array().unwrap().iter().find(|one| one["type"] == "resource_link").unwrap();
        let diff = client.request("resources/read", json!({"uri": link["uri"]}));
        assert!(diff["result"]["contents"][0]["text"].as_str().unwrap().contains("+<a href=\"https://new.example.com"));
        assert_eq!(site.tree(), before);
        let applied = client.tool("dta_link_updater_apply", json!({"proposal": proposal["id"]}));
        assert_eq!(applied["structuredContent"]["result"]["verifier"]["passed"], true, "{applied}");
        assert_eq!(client.asked.len(), 1);
        assert_eq!(site.tree(), site.moved(&before, "old.example.com", "new.example.com"));
        let wrong = json!({"proposal": proposal["id"], "params": {}});
        client.fails("dta_link_updater_apply", wrong, "invalid_input");
        client.fails("dta_link_updater_apply", json!({"proposal": "none"}), "not_found");
        client.done("rollback", json!({"run": run_of(&applied)}));
        assert_eq!(site.tree(), before);
        client.end().exits(0);
    }
}

#[test]
fn a_rollback_is_for_runs_of_clients() {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    let after = site.tree();
    let run = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    client.fails("rollback", json!({"run": run}), "not_found");
    assert_eq!(site.tree(), after);
    // One position of a run that is still open.
    client.done("apply_create", json!({"path": "a.txt", "text": "a\n"}));
    let run = run_of(&client.tool("apply_create", json!({"path": "b.txt", "text": "b\n"})));
    client.done("rollback", json!({"run": run, "position": "1"}));
    assert!(!site.path("a.txt").exists() && site.path("b.txt").exists());
    client.end().exits(0);
}

#[test]
fn a_dry_run_server_writes_nothing() {
    let site = Site::new(2);
    let before = site.tree();
    let mut client = Client::start(&site, &["--dry-run"], OLD, Word::Accept);
    let applied = client.done("dta_link_updater_apply", links());
    assert_eq!(applied["phase"], "dry-run", "{applied}");
    client.done("apply_create", json!({"path": "a.txt", "text": "a\n"}));
    // Later calls see what was proposed.
    assert_eq!(client.done("files_read", json!({"path": "a.txt"})), "a\n");
    client.end().exits(0);
    assert_eq!(site.tree(), before);
}

#[test]
fn what_a_command_may_not_change_it_does_not_and_the_run_goes_on() {
    let site = Site::new(2).policy("[[exec.allow]]\nprefix = ['sh', '-c']\nwrites = ['**']\n");
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let before = site.tree();
    let astray = json!({"argv": ["sh", "-c", "echo x > site/a/p0.html"], "writes": ["docs/**"]});
    client.fails("exec_run", astray, "permission_denied");
    assert_eq!(site.tree(), before);
    let writing = json!({"argv": ["sh", "-c", "echo x > site/a/p0.html"], "writes": ["site/**"]});
    let run = run_of(&client.tool("exec_run", writing));
    assert_eq!(site.read("site/a/p0.html"), b"x\n");
    client.done("rollback", json!({"run": run}));
    assert_eq!(site.tree(), before);
    client.end().exits(0);
}

#[test]
fn a_call_that_is_taken_back_stops_and_leaves_nothing() {
    let site = Site::new(2).policy("[[exec.allow]]\nprefix = ['sh', '-c']\nwrites = ['**']\n");
    for version in [OLD, NEW] {
        let before = site.tree();
        let mut client = Client::start(&site, &["--yes"], version, Word::Nobody);
        let slow = json!({"argv": ["sh", "-c", "echo x > site/a/p0.html; touch begun; sleep 60"], "writes": ["**"]});
        let events = recorded_events(&site);
        let id = client.begin("tools/call", json!({"name": "exec_run", "arguments": slow}));
        wait_until("the command runs", || recorded_events(&site) >= events + 3);
        client.send(&json!({"method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}));
        // The next call is answered at once, and no answer to the one that was taken back comes.
        assert!(client.done("files_read", json!({"path": "site/a/p0.html"})).as_str().unwrap().contains("doctype"));
        assert!(client.told.iter().all(|told| told["id"] != id), "{:?}", client.told);
        client.end().exits(0);
        assert_eq!(site.tree(), before);
    }
}

#[test]
fn two_clients_at_once_lose_no_edit() {
    let site = Site::new(1);
    let lines = long::rounds("NRV_MCP_EDITS", 3, 36);
    let text: String = (0..lines * 2).map(|n| format!("line {n}\n")).collect();
    site.write("shared.txt", &text);
    site.commit();
    std::thread::scope(|scope| {
        for own in 0..2 {
            let site = &site;
            scope.spawn(move || {
                let mut client = Client::start(site, &["--yes"], OLD, Word::Nobody);
                for n in (own..lines * 2).step_by(2) {
                    // Whoever finds a run in its way, or another content, looks again.
                    loop {
                        let run = client.done("run_open", json!({}))["run"].clone();
                        let now = client.done("files_read", json!({"path": "shared.txt", "run": run}));
                        let now = now.as_str().unwrap();
                        let own = format!("line {n}");
                        let row = |line: &str| match line == own {
                            true => format!("-{line}\n+LINE {n}\n"),
                            false => format!(" {line}\n"),
                        };
                        let (rows, all) = (now.lines().map(row).collect::<String>(), lines * 2);
                        let diff = format!("--- a/shared.txt\n+++ b/shared.txt\n@@ -1,{all} +1,{all} @@\n{rows}");
                        let sha = nrv::base::hash::Sha256::of(now.as_bytes()).to_string();
                        let change = json!({"path": "shared.txt", "unified_diff": diff, "checksum": sha, "run": run});
                        let result = client.tool("apply_diff", change);
                        client.tool("run_close", json!({"run": run}));
                        let code = result["structuredContent"]["error"]["code"].as_str();
                        match code {
                            None => break,
                            Some("stale_preimage" | "lock_timeout") => {}
                            Some(_) => panic!("{result}"),
                        }
                    }
                }
                client.end().exits(0);
            });
        }
    });
    let expected: String = (0..lines * 2).map(|n| format!("LINE {n}\n")).collect();
    assert_eq!(String::from_utf8(site.read("shared.txt")).unwrap(), expected);
}

#[test]
fn a_killed_client_or_server_leaves_the_tree_before_or_after() {
    let site = Site::new(60);
    let before = site.tree();
    let after = site.moved(&before, "old.example.com", "new.example.com");
    let mut chance = Chance(7);
    let (mut kept, mut undone) = (0, 0);
    let rounds = long::rounds("NRV_MCP_KILLS", 2, 24);
    for round in 0..rounds {
        let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
        client.done("files_glob", json!({"patterns": ["**"]}));
        let events = recorded_events(&site) + chance.below(9);
        client.begin("tools/call", json!({"name": "dta_link_updater_apply", "arguments": links()}));
        wait_until("the event is recorded", || recorded_events(&site) >= events || client.running.has_ended());
        chance.pause(Duration::from_millis(3));
        if round % 2 == 0 {
            // The client dies, and with it both pipes: the server ends by itself.
            drop(client.running.0.stdin.take());
            wait_until("the server has ended", || client.running.has_ended());
        } else {
            client.running.signal(Signal::KILL);
            wait_until("the server is dead", || client.running.has_ended());
            site.nrv(&["recover"]).exits(0);
        }
        drop(client);
        let now = site.tree();
        assert!(now == before || now == after, "round {round}: neither before nor after");
        if now == after {
            kept += 1
        } else {
            undone += 1
        }
        site.reset(&before);
        let _ = fs::remove_dir_all(site.path(".runs"));
    }
    assert_eq!(kept + undone, rounds);
}

#[test]
fn nothing_secret_passes() {
    let site = Site::new(1);
    let secret = concat!("ghp", "_Kq3vT9wZx2LmN8rB5cYdH7jP4sFgA6uEoR1i");
    site.write("config.py", format!("token = \"{secret}\"\n"));
    site.write(".env", "PASSWORD=hunter2hunter2\n");
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Accept);
    let mut answers = vec![
        client.tool("files_read", json!({"path": "config.py"})),
        client.tool("files_grep", json!({"regex": "token", "patterns": ["**/*.py"]})),
        client.tool("apply_create", json!({"path": "b.py", "text": format!("token = \"{secret}\"\n")})),
        client.tool("files_read", json!({"path": format!("{secret}.txt")})),
        client.tool("gate_evaluate_command", json!({"command": format!("curl -H 'Authorization: {secret}' x")})),
        client.tool(secret, json!({})),
        client.tool("files_read", json!({"path": ".env"})),
    ];
    assert!(text_of(&answers[0]).contains("token = "), "{}", answers[0]);
    let run = run_of(&answers[0]);
    for what in ["", "/report", "/record"] {
        answers.push(client.request("resources/read", json!({"uri": format!("nrv://run/{run}{what}")})));
    }
    answers.push(json!(client.told));
    answers.push(json!(client.asked));
    for answer in answers {
        let text = answer.to_string();
        assert!(!text.contains(secret) && !text.contains("hunter2"), "{text}");
    }
    let ran = client.end();
    assert!(!ran.stderr.contains(secret), "{}", ran.stderr);
}

#[test]
fn no_line_of_a_key_passes_by_itself() {
    let site = Site::new(1);
    let lines: Vec<String> = (0..12).map(|n| format!("MIIEbody{n:02}{}", "Ab9".repeat(17))).collect();
    let (begin, end) = (concat!("-----BEGIN ", "PRIVATE KEY-----"), concat!("-----END ", "PRIVATE KEY-----"));
    site.write("k.txt", format!("one\n{begin}\n{}\n{end}\nlast\n", lines.join("\n")));
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let diff = "--- a/k.txt\n+++ b/k.txt\n@@ -5 +5 @@\n-nope\n+x\n";
    let answers = [
        client.tool("files_read", json!({"path": "k.txt"})),
        client.tool("files_grep", json!({"regex": "MIIE|last", "patterns": ["k.txt"]})),
        client.tool("apply_diff", json!({"path": "k.txt", "unified_diff": diff})),
        client.tool("apply_plan", json!({"plan": {"diffs": [{"path": "k.txt", "unified_diff": diff}]}})),
    ];
    for answer in &answers {
        assert!(!answer.to_string().contains("MIIEbody"), "{answer}");
    }
    assert!(answers[1].to_string().contains("last"), "{}", answers[1]);
    client.end().exits(0);
}

#[test]
fn files_that_the_policy_hides_are_kept_out_of_what_adapters_tell() {
    let site = Site::new(1).policy("[paths]\nread_deny = ['id_*', 'hidden/**', '**/*.key']\n");
    let secret = "WHATNOBODYSEES";
    site.write("id_prod.json", format!("{{\"n\": \"1\", \"token\": \"{secret}\"}}\n"));
    site.write("sub/id_b.json", format!("{{\"n\": \"1\", \"token\": \"{secret}\"}}\n"));
    site.write("open.json", "{\"n\": \"1\"}\n");
    site.write("schema.json", "{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}\n");
    site.write(
        "hidden/schema.json",
        format!("{{\"type\": \"object\", \"properties\": {{\"n\": {{\"const\": \"{secret}\"}}}}}}\n"),
    );
    site.write("hidden/a.html", format!("<a href=\"http://old.example.com/{secret}\">x</a>\n"));
    site.write("hidden/b.js", format!("const a = \"{secret}\";\n"));
    site.commit();
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Accept);
    let glob = |glob: &str, params: Value| json!({"target": {"glob": glob}, "params": params});
    let fixes = json!({"schema": "schema.json", "fixes": {"coerce": true}});
    let hosts = json!({"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"});
    let code = json!({"pattern": "const a = $B", "fix": "let a = $B", "lang": "javascript"});
    let mut told = Vec::new();
    for (adapter, arguments) in [
        ("json_schema_migrator", glob("**/*.json", fixes.clone())),
        ("json_schema_migrator", glob("id_prod.json", fixes)),
        ("json_schema_migrator", glob("open.json", json!({"schema": "hidden/schema.json", "fixes": {"coerce": true}}))),
        ("link_updater", glob("**/*.html", hosts.clone())),
        ("link_updater", json!({"target": {"repo_path": "hidden", "glob": "*.html"}, "params": hosts})),
        ("code_rewrite", glob("**/*.js", code)),
    ] {
        for phase in ["propose", "apply"] {
            let result = client.tool(&format!("dta_{adapter}_{phase}"), arguments.clone());
            for link in result["content"].as_array().unwrap().iter().filter(|one| one["type"] == "resource_link") {
                told.push(client.request("resources/read", json!({"uri": link["uri"]})));
            }
            told.push(result);
        }
    }
    for answer in told {
        assert!(!answer.to_string().contains(secret), "{answer}");
    }
    // What is not hidden was changed and verified.
    assert_eq!(site.read("open.json"), b"{\"n\": 1}\n");
    assert!(String::from_utf8(site.read("id_prod.json")).unwrap().contains("\"1\""));
    client.end().exits(0);
}
