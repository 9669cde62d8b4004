//! Under strict tools an agent that has only nrv's tools can't change a file but through the adapter that owns it.

use serde_json::{Value, json};

use crate::support::{
    long,
    mcp::{Client, OLD, Word},
    site::Site,
};

const PAGE: &str = "site/a/p0.html";

fn diff(path: &str, from: &str, to: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{from}\n+{to}\n")
}

/// Twenty ways to write a page without its adapter, or what could change it later.
fn ways() -> Vec<(&'static str, Value)> {
    let first = "<!doctype html>";
    let shell = |line: &str| ("exec_run", json!({"argv": ["sh", "-c", line], "writes": ["**"]}));
    vec![
        ("apply_diff", json!({"path": PAGE, "unified_diff": diff(PAGE, first, "<!doctype xml>")})),
        ("apply_diff", json!({"path": format!("./{PAGE}"), "unified_diff": diff(PAGE, first, "<!doctype xml>")})),
        ("apply_create", json!({"path": "site/a/new.html", "text": "<p>new</p>\n"})),
        ("apply_create", json!({"path": "site/a/NEW.HTML", "text": "<p>new</p>\n"})),
        ("apply_create", json!({"path": "../out.html", "text": "x"})),
        ("apply_create", json!({"path": ".git/hooks/post-checkout", "text": "#!/bin/sh\n"})),
        ("apply_create", json!({"path": "site/.git/config", "text": "x"})),
        ("apply_create", json!({"path": ".mcp.json", "text": "{}"})),
        ("apply_create", json!({"path": ".runs/x", "text": "x"})),
        ("apply_create", json!({"path": "nrv.lock", "text": ""})),
        ("apply_diff", json!({"path": "nrv.toml", "unified_diff": diff("nrv.toml", "[adapters]", "[x]")})),
        (
            "apply_plan",
            json!({"plan": {"diffs": [{"path": PAGE, "unified_diff": diff(PAGE, first, "<!doctype xml>")}]}}),
        ),
        (
            "update_text_content",
            json!({"file_path": PAGE, "line_number": 4, "old_text": "a page of text", "new_text": "another"}),
        ),
        (
            "update_prop_value",
            json!({"file_path": PAGE, "line_number": 5, "element_name": "img", "prop_name": "alt", "old_value": "two", "new_value": "x"}),
        ),
        shell(&format!("echo x > {PAGE}")),
        shell(&format!("sed -i s/page/x/ {PAGE}")),
        shell(&format!("mv {PAGE} other.txt")),
        shell(&format!("rm {PAGE}")),
        shell(&format!("ln -sf /etc/passwd {PAGE}")),
        shell("git config core.fsmonitor 'echo x >> site/a/p0.html'; git -C . checkout -- ."),
        ("exec_run", json!({"argv": ["git", "apply", "-"], "writes": ["**"]})),
        ("run_script", json!({"script": "scripts/own.rhai"})),
        ("run_script", json!({"script": "../own.rhai"})),
        ("rollback", json!({"run": "last"})),
        ("summon_servitor", json!({"name": "x", "tools": ["apply_diff"]})),
    ]
}

#[test]
fn twenty_ways_around_the_adapter_change_nothing() {
    let policy = "[adapters]\nstrict_tools = true\napproved = ['link_updater']\n\
                  [[exec.allow]]\nprefix = ['sh', '-c']\nwrites = ['**']\n";
    let site = Site::new(2).policy(policy);
    site.script("scripts/own.rhai", "const WORKFLOW = #{ name: \"own\", permissions: #{ write: [\"**\"] } };\nnrv.apply.create(\"site/x.html\", \"x\");\n");
    site.commit();
    let before = site.tree();
    let config = site.read(".git/config");
    for (name, arguments) in long::sample(ways(), 4) {
        let mut client = Client::start(&site, &["--yes"], OLD, Word::Accept);
        let result = client.tool(name, arguments.clone());
        let status = result["structuredContent"]["result"]["status"].as_u64().unwrap_or_default();
        let refused = result["isError"] == true || result["error"].is_object() || status != 0;
        assert!(refused, "{name} {arguments}: {result}");
        client.end().exits(0);
        assert_eq!(site.tree(), before, "{name} {arguments}");
        assert_eq!(site.read(".git/config"), config, "{name} {arguments}");
    }
    // The adapter that owns the pages changes them.
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Accept);
    let links = json!({"target": {"glob": "site/**/*.html"}, "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}});
    client.done("dta_link_updater_apply", links);
    client.end().exits(0);
    assert_ne!(site.tree(), before);
}

#[test]
fn the_list_of_tools_names_them_as_clients_do() {
    let policy =
        "[gates.tools]\nenabled = true\nallowed = ['files_*', 'dta_link_updater_propose', 'run_open', 'apply_plan']\n";
    let site = Site::new(1).policy(policy);
    site.write("a.txt", "one\n");
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let links = json!({"target": {"glob": "site/**/*.html"}, "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}});
    client.done("files_read", json!({"path": PAGE}));
    client.done("dta_link_updater_propose", links.clone());
    let plan = json!({"plan": {"diffs": [{"path": "a.txt", "unified_diff": diff("a.txt", "one", "two")}]}});
    client.done("apply_plan", plan);
    client.fails("dta_link_updater_apply", links, "not_approved");
    client.fails("apply_create", json!({"path": "a.txt", "text": "a\n"}), "not_approved");
    client.fails("rollback", json!({"run": "last"}), "not_approved");
    client.fails("run_script", json!({"script": "scripts/migrate_links.rhai"}), "not_approved");
    client.done("gate_evaluate_command", json!({"command": "ls"}));
    client.end().exits(0);
}
