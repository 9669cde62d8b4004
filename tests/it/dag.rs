//! `nrv.dag` and `nrv dag run`: graphs of nodes, with the real binary.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod random;

use serde_json::{Value, json};

use crate::support::site::{NEW, OLD, Ran, Site, finished};

/// A policy that lets scripts run a shell.
const SHELL: &str = "[[exec.allow]]\nprefix = [\"/bin/sh\", \"-c\"]\nwrites = [\"**\"]\n\n[evaluators]\nfail = []\n";

/// The beginning of scripts, with an adapter's parameters and a function for commands.
const HEAD: &str = r#"const WORKFLOW = #{ name: "graph", permissions: #{ write: ["site/**", "docs/**", "data/**"], exec: ["/bin/sh"] } };
let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
let site = #{ glob: "site/**" };
fn create(name) { nrv.apply.create(`docs/${name}.md`, `# ${name}\n`) }
"#;

fn site(script: &str) -> Site {
    let site = Site::new(4).policy(SHELL);
    site.script("scripts/graph.rhai", &format!("{HEAD}{script}"));
    site
}

fn run(site: &Site, more: &[&str]) -> Ran {
    site.nrv(&[&["run", "scripts/graph.rhai", "--json"], more].concat())
}

/// The state of each node, by the details of an error.
#[track_caller]
fn states(ran: &Ran, expected: &[(&str, &str)]) {
    let error = &ran.json()["error"];
    let nodes = error["details"]["nodes"].as_object().unwrap_or_else(|| panic!("{ran:?}"));
    let found: Vec<(&str, &str)> =
        nodes.iter().map(|(id, node)| (id.as_str(), node["state"].as_str().unwrap())).collect();
    assert_eq!(found, expected, "{ran:?}");
}

/// The shipped flow: a scaffold, a dry run, a gate, exactly that change, a check, the documentation.
const FLOW: &str = r#"
nrv.dag([
    #{ id: "P2", script: || { create("index"); } },
    #{ id: "P3", dta: "link_updater", input: #{ mode: "dry-run", target: site, params: hosts }, after: ["P2"] },
    #{ id: "gate", gate: "apply the new links", input: #{ of: "P3" }, after: ["P3"] },
    #{ id: "P4", dta: "link_updater", input: #{ of: "P3" }, after: ["gate"] },
    #{ id: "P5", script: || { nrv.files.grep("old.example.com", "site/**").len() == 0 }, after: ["P4"] },
    #{ id: "P6", script: || { create("done"); }, after: ["P5"] },
    #{ id: "other", script: || { create("other"); } },
]).ok
"#;

#[test]
fn a_flow_waits_at_its_gate_while_other_nodes_end_and_applies_what_was_confirmed() {
    let site = site(FLOW);
    let before = site.tree();
    let dry = run(&site, &["--dry-run"]).exits(0).json();
    assert_eq!((dry["files_changed"].as_u64(), dry["result"].as_bool()), (Some(7), Some(true)), "{dry}");
    assert!(site.tree() == before, "a dry run of a graph changes nothing");
    let waits = run(&site, &[]).exits(7);
    states(
        &waits,
        &[
            ("P2", "verified"),
            ("P3", "verified"),
            ("P4", "waiting"),
            ("P5", "waiting"),
            ("P6", "waiting"),
            ("gate", "waiting"),
            ("other", "verified"),
        ],
    );
    assert!(site.path("docs/index.md").exists() && site.path("docs/other.md").exists());
    let id = waits.json()["error"]["details"]["confirmation"].as_str().unwrap().to_owned();
    let went_on = site.nrv(&["resume", "last", "--approve", &id, "--json"]).exits(0).json();
    assert_eq!(went_on["files_changed"], 7, "{went_on}");
    assert!(site.nrv(&["replay", "last"]).exits(0).stderr.contains("agrees"));
    site.nrv(&["runs", "verify", "last"]).exits(0);
    // Dry run, gate and change can be read from the events alone.
    let shown = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}: {shown}"));
    let order = [at("dta_proposed"), at("dta_verified"), at("confirmation_granted"), at("dta_applied"), at("1.P6 ")];
    assert!(order.is_sorted(), "{shown}");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn links_and_a_schema_are_migrated_side_by_side() {
    let site = Site::new(4);
    for index in 0..6 {
        site.write(&format!("data/{index}.json"), format!("{{\n  \"name\": \"{index}\"\n}}\n"));
    }
    site.git(&["add", "-A"]);
    site.commit();
    let before = site.tree();
    let schema = json!({"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}});
    let plan = json!({
        "goal": "links and schema",
        "tool_requests": [
            {"id": "links", "tool": "link_updater", "reason": "the host moved", "inputs_ref": "#/inputs/links"},
            {"id": "schema", "tool": "json_schema_migrator", "reason": "a new name", "inputs_ref": "#/inputs/schema"},
        ],
        "inputs": {
            "links": {"target": {"glob": "site/**"}, "params": {"from_hosts": [OLD], "to_host": format!("https://{NEW}")}},
            "schema": {"target": {"glob": "data/**"}, "params": {"schema": schema, "fixes": {"rename": {"/name": "/title"}}}},
        },
        "steps": [{"id": "links", "request": "links"}, {"id": "schema", "request": "schema"}],
    });
    let dag = |more: &[&str]| site.nrv_with(&[&["dag", "run", "-", "--json"], more].concat(), &plan.to_string());
    let mut records = Vec::new();
    for threads in ["1", "2", "8"] {
        let ran = dag(&["--yes", "--threads", threads]).exits(0);
        let result = &ran.json()["result"];
        let schema: Value = serde_json::from_str(include_str!("../../schemas/graph.schema.json")).unwrap();
        assert!(jsonschema::is_valid(&schema, result) && !jsonschema::is_valid(&schema, &result["nodes"]), "{result}");
        let nodes = &result["nodes"];
        assert_eq!((&nodes["links"]["state"], &nodes["schema"]["state"]), (&json!("verified"), &json!("verified")));
        records.push((site.tree(), site.nrv(&["runs", "show", "last", "--canonical"]).stdout));
        site.nrv(&["replay", "last"]).exits(0);
        site.reset(&before);
    }
    assert!(records.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(String::from_utf8(site.read("data/0.json")).unwrap().contains("name"));
    // Without steps, each request is tried, confirmed and applied.
    let mut whole = plan.clone();
    whole.as_object_mut().unwrap().remove("steps");
    let ran = site.nrv_with(&["dag", "run", "-", "--json", "--yes"], &whole.to_string()).exits(0).json();
    let names: Vec<&String> = ran["result"]["nodes"].as_object().unwrap().keys().collect();
    let expected = ["links-apply", "links-gate", "links-preview", "schema-apply", "schema-gate", "schema-preview"];
    assert_eq!(names, expected);
    assert!(site.tree() == records[0].0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn where_only_approved_scripts_run_a_plan_is_refused() {
    let site = Site::new(1);
    let plan = json!({"goal": "g", "tool_requests": [], "steps": [{"id": "a", "gate": "go on"}]}).to_string();
    let mut command = site.command(&["dag", "run", "plan.json"]);
    site.write("plan.json", plan);
    let ran = finished(command.env("CI", "true").output().unwrap());
    ran.exits(3).says("only approved scripts run here, and a plan is none");
    assert!(site.runs().is_empty());
}

#[test]
fn a_graph_that_is_wrong_is_refused_before_anything_runs() {
    let create = r#"#{ id: "first", script: || { create("first"); } }"#;
    for (node, code, exit, words) in [
        (r#"#{ id: "b", gate: "g", after: ["b"] }"#, "invalid_input", 1, "wait for themselves: b → b"),
        (r#"#{ id: "b", gate: "g", after: ["frist"] }"#, "invalid_input", 1, "did you mean `first`?"),
        (r#"#{ id: "first", gate: "g" }"#, "invalid_input", 1, "stands there twice"),
        (r#"#{ id: "b" }"#, "invalid_input", 1, "has no work"),
        (r#"#{ id: "b", dta: "link_updatr", input: #{} }"#, "not_found", 1, "did you mean `link_updater`?"),
        (r#"#{ id: "b", dta: "link_updater", input: #{ target: site, params: #{} } }"#, "invalid_input", 1, "params"),
        (r#"#{ id: "b", exec: ["/bin/ls"] }"#, "permission_denied", 3, "/bin/ls"),
        (
            r#"#{ id: "b", dta: "link_updater", input: #{ target: #{ glob: "**" }, params: hosts } }"#,
            "permission_denied",
            3,
            "says that it may change `other/x.html`",
        ),
        (
            r#"#{ id: "b", exec: ["/bin/sh", "-c", "true"], input: #{ writes: ["other/**"] } }"#,
            "permission_denied",
            3,
            "says that it may change `other/x.html`",
        ),
        (r#"#{ id: "b", exec: ["/bin/sh"], input: #{ wirtes: [] } }"#, "invalid_input", 1, "wirtes"),
        (r#"#{ id: "b", gate: "g", nedes: "done" }"#, "script_syntax", 1, "did you mean `needs`?"),
    ] {
        let site = site(&format!("nrv.dag([{create}, {node}])"));
        site.write("other/x.html", "<a href=\"http://old.example.com/\">x</a>\n");
        let before = site.tree();
        let ran = run(&site, &["--yes", "--allow-dirty"]).exits(exit);
        assert_eq!(ran.json()["error"]["code"], code, "{node}: {ran:?}");
        assert!(ran.stdout.contains(words) || ran.stderr.contains(words), "{node}: {ran:?}");
        assert!(site.tree() == before, "{node}");
        assert!(!site.nrv(&["runs", "show", "last"]).stdout.contains("dag.enter"), "{node}");
    }
}

#[test]
fn dependents_of_a_failed_node_are_blocked_and_others_go_on() {
    let nodes = r#"[
    #{ id: "bad", exec: ["/bin/sh", "-c", "exit 3"] },
    #{ id: "after", script: || { create("after"); }, after: ["bad"] },
    #{ id: "later", script: || { create("later"); }, after: ["after"] },
    #{ id: "good", script: || { create("good"); } },
    #{ id: "next", script: || { create("next"); }, after: ["good"] },
]"#;
    let site = site(&format!("nrv.dag({nodes}, #{{ fail_fast: args.len() > 9 }})"));
    let ran = run(&site, &["--keep"]).exits(1);
    assert_eq!(ran.json()["error"]["code"], "command_failed");
    let expected =
        [("after", "blocked"), ("bad", "failed"), ("good", "verified"), ("later", "blocked"), ("next", "verified")];
    states(&ran, &expected);
    let reason = &ran.json()["error"]["details"]["nodes"]["later"]["reason"];
    assert_eq!(reason, "`after` is blocked", "{ran:?}");
    assert!(site.path("docs/next.md").exists() && !site.path("docs/after.md").exists());
    let record = site.nrv(&["runs", "show", "last", "--canonical"]).stdout;
    assert!(record.contains("\"blocked\":{\"after\":\"`bad` failed\",\"later\":\"`after` is blocked\"}"), "{record}");
    // Without `--keep` the run is undone as a whole.
    let site = self::site(&format!("nrv.dag({nodes})"));
    let before = site.tree();
    run(&site, &[]).exits(1);
    assert!(site.tree() == before);
    // No node begins after those among which one failed.
    let site = self::site(&format!("nrv.dag({nodes}, #{{ fail_fast: true }})"));
    let expected =
        [("after", "blocked"), ("bad", "failed"), ("good", "verified"), ("later", "blocked"), ("next", "blocked")];
    states(&run(&site, &[]).exits(1), &expected);
}

#[test]
fn a_node_that_nothing_proves_lets_only_those_begin_that_need_no_proof() {
    let site = site(
        r#"nrv.dag([
    #{ id: "lint", exec: ["/bin/sh", "-c", "exit 2"], input: #{ check: false } },
    #{ id: "report", script: || { create("report"); }, after: ["lint"], needs: "done" },
    #{ id: "deploy", script: || { create("deploy"); }, after: ["lint"] },
])"#,
    );
    let ran = run(&site, &["--keep"]).exits(4);
    states(&ran, &[("deploy", "blocked"), ("lint", "done"), ("report", "verified")]);
    assert!(site.path("docs/report.md").exists() && !site.path("docs/deploy.md").exists());
}

#[test]
fn nodes_that_begin_together_run_at_the_same_time_and_those_that_overlap_do_not() {
    let node = |id: &str, writes: &str, more: &str| {
        format!(
            "#{{ id: \"{id}\", exec: [\"/bin/sh\", \"-c\", \"date +%s%N >> docs/{id}.t; sleep 0.4; date +%s%N >> docs/{id}.t\"], \
             input: #{{ writes: [\"docs/{id}.t\", \"{writes}\"] }}{more} }}"
        )
    };
    let nodes = [
        node("a", "data/a", ""),
        node("b", "data/b", ""),
        node("c", "data/b/c", ""),
        node("d", "data/d", ", parallelizable: false"),
    ];
    let site = site(&format!("nrv.dag([{}])", nodes.join(", ")));
    site.write("docs/index.md", "# Documents\n");
    site.git(&["add", "-A"]);
    site.commit();
    run(&site, &["--threads", "4", "--yes"]).exits(0);
    let times = |id: &str| -> Vec<u64> {
        let text = String::from_utf8(site.read(&format!("docs/{id}.t"))).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let overlap = |one: &str, other: &str| {
        let (one, other) = (times(one), times(other));
        one[0] < other[1] && other[0] < one[1]
    };
    assert!(overlap("a", "b"), "{:?} {:?}", times("a"), times("b"));
    for other in ["a", "b", "d"] {
        assert!(!overlap("c", other), "{other}");
    }
    assert!(!overlap("d", "a") && !overlap("d", "b"));
}

#[test]
fn a_wait_in_an_attempt_keeps_the_other_nodes_waiting() {
    let site = site(
        r#"nrv.dag([
    #{ id: "a", script: || {
        nrv.attempt(|| { create("tried"); nrv.gate.confirm("go on", #{}); create("confirmed"); }).kept
    } },
    #{ id: "b", script: || { create("b"); } },
])"#,
    );
    let before = site.tree();
    let waits = run(&site, &[]).exits(7);
    states(&waits, &[("a", "waiting"), ("b", "waiting")]);
    assert!(site.tree() == before, "what an open attempt changed is set aside");
    let id = waits.json()["error"]["details"]["confirmation"].as_str().unwrap().to_owned();
    site.nrv(&["resume", "last", "--approve", &id]).exits(0);
    for name in ["tried", "confirmed", "b"] {
        assert!(site.path(&format!("docs/{name}.md")).exists(), "{name}");
    }
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn two_branches_wait_and_are_approved_one_after_the_other() {
    let site = site(
        r#"nrv.dag([
    #{ id: "a", gate: "first" }, #{ id: "b", gate: "second" },
    #{ id: "x", script: || { create("x"); }, after: ["a"] }, #{ id: "y", script: || { create("y"); }, after: ["b"] },
])"#,
    );
    let first = run(&site, &[]).exits(7).json();
    let id = |json: &Value| json["error"]["details"]["confirmation"].as_str().unwrap().to_owned();
    let one = id(&first);
    let second = site.nrv(&["resume", "last", "--approve", &one, "--json"]).exits(7).json();
    assert!(site.path("docs/x.md").exists() && !site.path("docs/y.md").exists());
    let other = id(&second);
    assert!(one != other);
    site.nrv(&["resume", "last", "--approve", &other]).exits(0);
    assert!(site.path("docs/y.md").exists());
    site.nrv(&["replay", "last"]).exits(0);
}
