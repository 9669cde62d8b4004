//! `nrv.agent`: agents with scripted models, with the real binary.
#![expect(clippy::disallowed_methods, reason = "tests write and read files")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod claims;
mod dialects;
mod killed;
mod loops;

use std::fs;

use serde_json::{Value, json};

use crate::{
    repository,
    support::site::{NEW, OLD, Ran, Site},
};

/// A site whose model gives these replies one after another, the last one again and again.
fn site(replies: &[Value]) -> Site {
    let site = Site::new(2);
    let folder = site.root().parent().unwrap().join("replies");
    fs::create_dir(&folder).unwrap();
    for (at, reply) in replies.iter().enumerate() {
        let reply = match reply {
            Value::String(text) => json!({"text": text}),
            Value::Object(map) if map.contains_key("tool_calls") => reply.clone(),
            other => json!({"text": other.to_string()}),
        };
        fs::write(folder.join(format!("{at}")), format!("{}\n", json!({"reply": reply}))).unwrap();
    }
    let shown = folder.display();
    let program = format!(
        "cd {shown}; cat > request; n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; cp request request.$n; \
         [ -e $n ] || n={}; cat $n",
        replies.len().saturating_sub(1)
    );
    site.policy(&format!(
        "[llm.providers.fake]\ndialect = 'command'\nmodel = 'm'\nprogram = {}\n\n[[exec.allow]]\nprefix = ['true']\n\n[evaluators]\nfail = []\n",
        json!(["sh", "-c", program])
    ))
}

const HEAD: &str = "const WORKFLOW = #{ name: \"agents\", permissions: #{ write: [\"site/**\", \"docs/**\", \"notes/**\"], exec: [\"true\"], llm: [\"*\"] } };\n";

/// Runs a script with the agent `ada`.
fn run(site: &Site, text: &str, more: &[&str]) -> Ran {
    site.script("scripts/agents.rhai", &format!("{HEAD}{text}"));
    site.nrv(&[&["run", "scripts/agents.rhai", "--json", "--allow-dirty", "--yes"], more].concat())
}

/// The prompt of the n-th request to the model.
fn prompt(site: &Site, n: usize) -> String {
    fs::read_to_string(site.root().parent().unwrap().join(format!("replies/request.{n}"))).unwrap()
}

fn says(message: &str, actions: Value) -> Value {
    json!({"message": message, "actions": actions})
}

fn action(tool: &str, params: Value) -> Value {
    json!({"id": tool, "tool": tool, "params": params})
}

/// Schemas of what agents write and what is told of them: real values fit.
#[test]
fn the_schemas_are_published_and_real_values_fit() {
    let schema = nrv::flow::agent::reply_schema();
    let path = repository::root().join("schemas/agent_reply.schema.json");
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    if std::env::var_os("NRV_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == text, "`NRV_BLESS=1 cargo test --test it agents` writes it");
    let fits = |schema: &Value, value: &Value| jsonschema::is_valid(schema, value);
    assert!(fits(&schema, &says("m", json!([action("x", json!({}))]))));
    assert!(!fits(&schema, &json!({"message": "m", "done": true})));
    let site = site(&[says("DONE", json!([action("report_done", json!({}))]))]);
    let text = "let a = nrv.agent.summon(#{ assignment: \"x\", budget: #{ calls: 9 } });\nnrv.agent.converse(a.id, \"json\", #{ request: \"x\" })";
    let conversed = run(&site, text, &[]).exits(0).json()["result"].clone();
    let agents = site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json();
    let stored = serde_json::from_slice(&fs::read(&site.recorded("*/agents/1.json")[0]).unwrap()).unwrap();
    let read = |name: &str| -> Value { serde_json::from_str(&repository::text(name).unwrap()).unwrap() };
    let (of_agents, of_talk) = (read("schemas/agents.schema.json"), read("schemas/agent_conversation.schema.json"));
    assert!(fits(&of_agents, &agents) && fits(&of_agents, &stored), "{agents}");
    assert!(fits(&of_talk, &conversed) && !fits(&of_talk, &agents), "{conversed}");
}

const PAGE: &str = r#"let ada = nrv.agent.summon(#{ assignment: "write the page", tools: ["apply_create"],
    commitments: [#{ description: "there is a page", assertion: #{ file_exists: "notes/page.txt" } }] });
"#;

#[test]
fn an_agent_is_done_when_its_commitments_hold_and_learns_what_came_of_its_actions() {
    let site = site(&[
        says(
            "I look.\n  At first.",
            json!([action("files_glob", json!({"patterns": ["site/**"]})), action("report_done", json!({}))]),
        ),
        says(
            "Now.",
            json!([
                action("apply_create", json!({"path": "notes/page.txt", "text": "page\n"})),
                action("report_done", json!({}))
            ]),
        ),
    ]);
    let ran =
        run(&site, &format!("{PAGE}nrv.agent.converse(ada.id, \"json\", #{{ request: \"write it\" }})"), &["--events"])
            .exits(0);
    let events: Vec<Value> = ran.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told: Vec<&str> =
        events.iter().filter_map(|event| event["event"].as_str()).filter(|name| name.starts_with("agent_")).collect();
    let expected =
        ["agent_summoned", "agent_working", "agent_verifying", "agent_working", "agent_verifying", "agent_done"];
    assert_eq!(told, expected);
    let result = &events.last().unwrap()["finished"]["result"];
    assert_eq!(
        (&result["ended"], &result["state"], &result["turns"], &result["actions"]),
        (&json!("done"), &json!("done"), &json!(2), &json!(4))
    );
    assert_eq!(result["messages"], json!(["I look.\n  At first.", "Now."]), "byte for byte");
    let second = prompt(&site, 1);
    for words in ["site/a/p0.html", "does not exist", "write the page", "write it", "I look."] {
        assert!(second.contains(words), "{words}: {second}");
    }
    site.nrv(&["replay", "last"]).exits(0);
    let agents = site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json();
    assert_eq!((&agents["agents"][0]["state"], &agents["agents"][0]["name"]), (&json!("done"), &json!("Ada")));
    assert!(site.nrv(&["runs", "agents", "last"]).exits(0).stdout.contains("Ada"));
    assert_eq!(site.recorded("*/agents/1.json").len(), 1);
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn who_is_summoned_has_an_id_from_the_seed_and_a_name_of_its_own() {
    let site = site(&[]);
    let text = r#"let a = nrv.agent.summon(#{}); let b = nrv.agent.summon(#{ name: "Zed" });
let taken = (); try { nrv.agent.summon(#{ name: "Zed" }); } catch (e) { taken = e.message; }
let gone = nrv.agent.dismiss(b.id);
let missing = (); try { nrv.agent.get(b.id); } catch (e) { missing = e.code; }
let malformed = (); try { nrv.agent.dismiss("x"); } catch (e) { malformed = e.message; }
let again = nrv.agent.summon(#{ name: "Zed" });
#{ a: a, b: b, taken: taken, gone: gone, missing: missing, malformed: malformed, list: nrv.agent.list().map(|one| one.name), other: again.id != b.id }"#;
    let one = run(&site, text, &[]).exits(0).json()["result"].clone();
    assert_eq!(run(&site, text, &[]).exits(0).json()["result"], one, "the same seed");
    assert!(run(&site, text, &["--seed", "9"]).exits(0).json()["result"]["a"]["id"] != one["a"]["id"]);
    let id = one["a"]["id"].as_str().unwrap();
    assert!(id.len() == 36 && id.as_bytes()[14] == b'4' && b"89ab".contains(&id.as_bytes()[19]), "{id}");
    assert_eq!((&one["a"]["name"], &one["a"]["state"]), (&json!("Ada"), &json!("idle")));
    assert_eq!((&one["taken"], &one["missing"]), (&json!("an agent is named `Zed` already"), &json!("not_found")));
    assert_eq!((&one["gone"]["state"], &one["malformed"]), (&json!("dismissed"), &json!("`x` is no id of an agent")));
    assert_eq!((&one["list"], &one["other"]), (&json!(["Ada", "Zed"]), &json!(true)));
}

#[test]
fn an_agent_has_no_tool_that_it_was_not_given_and_no_child_has_more() {
    let site = site(&[says(
        "all of them",
        json!([
            action("apply_create", json!({"path": "notes/a.txt", "text": "a"})),
            action("exec_run", json!({"argv": ["true"]})),
            action("dta_link_updater_apply", json!({"target": {"glob": "site/**"}, "params": {}})),
            action("nothing", json!({})),
            action("files_read", json!({"file": "a"})),
            action("summon_servitor", json!({"name": "Bo", "assignment": "help", "tools": ["apply_create"]})),
            action("summon_servitor", json!({"name": "Cy", "assignment": "help", "tools": ["exec_run"]})),
        ]),
    )]);
    let text = r#"let ada = nrv.agent.summon(#{ tools: ["exec_run"] });
let talk = nrv.agent.converse(ada.id, "json", #{ request: "go", max_turns: 1 });
let all = nrv.agent.list();
for agent in all { nrv.agent.dismiss(agent.id); }
#{ talk: talk, all: all.map(|one| one.name) }"#;
    let result = run(&site, text, &[]).exits(1);
    // A child that was dismissed with its parent is gone when its own turn comes.
    assert!(result.stderr.contains("there is no agent"), "{result:?}");
    let text = text.replace("for agent in all { nrv.agent.dismiss(agent.id); }", "nrv.agent.dismiss(ada.id);");
    fs::remove_file(site.root().parent().unwrap().join("replies/count")).unwrap();
    let result = run(&site, &text, &[]).exits(0).json()["result"].clone();
    assert_eq!((&result["talk"]["actions"], &result["all"]), (&json!(7), &json!(["Ada", "Cy"])), "{result}");
    assert!(!site.path("notes/a.txt").exists());
    // The door refuses, not the protocol: a closure makes up a call of a tool that the agent lacks.
    let text = r#"let ada = nrv.agent.summon(#{ tools: [] });
let told = ();
nrv.agent.converse(ada.id, |reply| { try { nrv.apply.create("notes/a.txt", "a"); } catch (e) { told = e.message; } () }, #{ request: "go" });
nrv.agent.dismiss(ada.id);"#;
    let ran = run(&site, text, &[]).exits(3);
    assert!(ran.stderr.contains("the agent `Ada` has no tool `apply_create`"), "{ran:?}");
}

#[test]
fn a_free_write_to_an_adapters_file_is_refused_with_the_orders_and_the_patch() {
    let input =
        json!({"target": {"glob": "site/**"}, "params": {"from_hosts": [OLD], "to_host": format!("https://{NEW}")}});
    let diff = "--- a/site/a/p0.html\n+++ b/site/a/p0.html\n@@ -4 +4 @@\n-<p>a page of text</p>\n+<p>another</p>\n";
    let site = site(&[
        says("first", json!([action("dta_link_updater_propose", input.clone())])),
        says("freely", json!([action("apply_diff", json!({"path": "site/a/p0.html", "unified_diff": diff}))])),
        says("rightly", json!([action("dta_link_updater_apply", input)])),
        says("done", json!([])),
    ]);
    let before = site.read("site/a/p0.html");
    let text = r#"let ada = nrv.agent.summon(#{ tools: ["apply_diff", "dta_link_updater_propose", "dta_link_updater_apply"] });
let talk = nrv.agent.converse(ada.id, "json", #{ request: "go" });
nrv.agent.dismiss(ada.id);
talk"#;
    let ran = run(&site, text, &[]).exits(0);
    assert_eq!(ran.json()["result"]["ended"], "no_feedback");
    let third = prompt(&site, 2);
    for words in [
        "belongs to the adapter `link_updater`",
        "Use the link_updater DTA in dry-run mode first.",
        "Attach the generated patch to your PR summary and wait for Gate.",
        "Do NOT write files directly; only through the adapter.",
        "link_updater.patch",
    ] {
        assert!(third.contains(words), "{words}: {third}");
    }
    let after = String::from_utf8(site.read("site/a/p0.html")).unwrap();
    assert!(after.contains(NEW) && after.contains("a page of text") && after.as_bytes() != before);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn an_unfinished_agent_fails_the_run_and_a_waiting_run_keeps_its_agents() {
    let site = site(&[says("hm", json!([]))]);
    let ran = run(&site, PAGE, &["--events"]).exits(4);
    assert!(ran.stdout.contains("agent_failed") && ran.stdout.contains("has not finished its work"), "{ran:?}");
    // One that promised nothing has finished, and is never done.
    let ran = run(
        &site,
        "let a = nrv.agent.summon(#{ assignment: \"x\" }); nrv.agent.converse(a.id, \"json\", #{ request: \"x\" })",
        &[],
    );
    ran.exits(4);
    let waits = format!("{PAGE}nrv.gate.confirm(\"go on\", #{{}}); nrv.agent.dismiss(ada.id); nrv.agent.list().len()");
    site.script("scripts/agents.rhai", &format!("{HEAD}{waits}"));
    let ran = site.nrv(&["run", "scripts/agents.rhai", "--json", "--allow-dirty"]).exits(7);
    let agents = site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json();
    assert_eq!(agents["agents"][0]["state"], "working");
    let id = ran.json()["error"]["details"]["confirmation"].as_str().unwrap().to_owned();
    let ran = site.nrv(&["resume", "last", "--approve", &id, "--json"]).exits(0);
    assert_eq!(ran.json()["result"], 0);
    assert_eq!(site.recorded("*/agents/2.json").len(), 1);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn handlers_are_swapped_without_any_other_change() {
    let create = json!({"path": "notes/page.txt", "text": "page\n"});
    let forms = [
        ("\"json\"", json!({"message": "m", "actions": [action("apply_create", create.clone()), action("report_done", json!({}))]})),
        (
            "\"tool_calls\"",
            json!({"text": "m", "tool_calls": [
                {"id": "1", "name": "apply_create", "arguments": create.clone()}, {"id": "2", "name": "report_done", "arguments": {}},
            ]}),
        ),
        (
            "|reply| { if reply.text != \"GO\" { return (); } #{ message: reply.text, actions: [
                #{ id: \"1\", tool: \"apply_create\", params: #{ path: \"notes/page.txt\", text: \"page\\n\" } }, #{ id: \"2\", tool: \"report_done\" }] } }",
            json!("GO"),
        ),
    ];
    for (handler, reply) in forms {
        let site = site(&[reply]);
        let ran =
            run(&site, &format!("{PAGE}nrv.agent.converse(ada.id, {handler}, #{{ request: \"write it\" }})"), &[])
                .exits(0);
        assert_eq!(ran.json()["result"]["state"], "done", "{handler}: {ran:?}");
        assert_eq!(site.read("notes/page.txt"), b"page\n");
        site.nrv(&["replay", "last"]).exits(0);
    }
    let site = site(&[json!("x")]);
    let ran = run(&site, &format!("{PAGE}nrv.agent.converse(ada.id, \"yaml\", #{{ request: \"x\" }})"), &[]).exits(1);
    assert!(ran.stderr.contains("there is no handler `yaml`") && ran.stderr.contains("`tool_calls`"), "{ran:?}");
}

#[test]
fn spawn_comes_first_and_a_reply_in_another_form_is_shown_as_it_came() {
    let site = site(&[
        json!({"message": "m", "spawn": {"assignment": "help", "name": "Bo"}, "actions": [action("files_glob", json!({"patterns": ["site/**"]}))]}),
        json!("{\"message\": \"m\", \"delete\": 1}\u{1b}[2J  "),
    ]);
    let text = r#"let ada = nrv.agent.summon(#{ assignment: "lead" });
let talk = nrv.agent.converse(ada.id, "json", #{ request: "go" });
let names = nrv.agent.list().map(|one| one.name + ":" + one.state);
nrv.agent.dismiss(ada.id);
#{ talk: talk, names: names }"#;
    let result = run(&site, text, &[]).exits(0).json()["result"].clone();
    assert_eq!(result["names"], json!(["Ada:working", "Bo:working"]));
    assert_eq!(result["talk"]["ended"], "no_feedback");
    assert_eq!(result["talk"]["messages"][1], "{\"message\": \"m\", \"delete\": 1}\u{1b}[2J  ", "as it came");
    let second = prompt(&site, 1);
    assert!(second.find("summon_servitor").unwrap() < second.rfind("files_glob").unwrap());
}

#[test]
fn a_conversation_that_waits_goes_on_where_it_was() {
    let input =
        json!({"target": {"glob": "site/**"}, "params": {"from_hosts": [OLD], "to_host": format!("https://{NEW}")}});
    let site = site(&[
        says("move", json!([action("dta_link_updater_apply", input)])),
        says("done", json!([action("report_done", json!({}))])),
    ]);
    let text = format!(
        "{HEAD}let ada = nrv.agent.summon(#{{ assignment: \"move the links\", tools: [\"dta_link_updater_apply\"], commitments: [#{{ description: \"none left\", \
         assertion: #{{ count: #{{ pattern: \"{OLD}\", glob: \"site/**\", equals: 0 }} }} }}] }});\n\
         nrv.agent.converse(ada.id, \"json\", #{{ request: \"go\" }}).state"
    );
    site.script("scripts/agents.rhai", &text);
    let ran = site.nrv(&["run", "scripts/agents.rhai", "--json", "--allow-dirty"]).exits(7);
    assert_eq!(site.nrv(&["runs", "agents", "last", "--json"]).json()["agents"][0]["state"], "working");
    let id = ran.json()["error"]["details"]["confirmation"].as_str().unwrap().to_owned();
    let ran = site.nrv(&["resume", "last", "--approve", &id, "--json"]).exits(0);
    assert_eq!(ran.json()["result"], "done");
    assert!(
        fs::read_to_string(site.root().parent().unwrap().join("replies/count")).unwrap().trim() == "2",
        "each reply is asked for once"
    );
    assert_eq!(site.nrv(&["runs", "agents", "last", "--json"]).json()["agents"][0]["state"], "done");
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
}

#[test]
fn an_agent_is_derived_from_approved_adapters_alone() {
    let site = site(&[]);
    let text = r#"let need = #{ adapters: ["link_updater"], assignment: "move the links" };
let derived = nrv.planner.derive_agent(need);
let ada = nrv.agent.summon(#{ tools: derived.summon.tools });
let again = nrv.planner.derive_agent(need);
let refused = (); try { nrv.planner.derive_agent(#{ adapters: ["shell"] }); } catch (e) { refused = e.message; }
#{ tools: derived.summon.tools, orders: derived.orders, same: again.agent.id == ada.id, refused: refused }"#;
    let result = run(&site, text, &[]).exits(0).json()["result"].clone();
    assert_eq!(result["tools"], json!(["dta_link_updater_apply", "dta_link_updater_propose"]));
    assert!(result["orders"].as_str().unwrap().starts_with("Use the link_updater DTA in dry-run mode first."));
    assert_eq!(result["same"], true);
    assert!(result["refused"].as_str().unwrap().contains("`shell`"), "{result}");
}

#[test]
fn a_reply_that_does_not_fit_its_schema_is_told_to_the_agent() {
    let site = site(&[json!("no JSON at all"), json!({"valid": "yes"}), json!({"valid": true})]);
    let text = r#"let a = nrv.agent.summon(#{});
let form = #{ type: "object", required: ["valid"], properties: #{ valid: #{ type: "boolean" } } };
let talk = nrv.agent.converse(a.id, |reply| #{ message: reply.text, actions: [#{ id: "1", tool: "report_done", params: #{} }] }, #{ request: "judge", schema: form });
let b = nrv.agent.summon(#{});
let short = nrv.agent.converse(b.id, |reply| (), #{ request: "judge", schema: #{ type: "string" }, max_turns: 2 });
nrv.agent.dismiss(b.id);
[talk.ended, talk.turns, talk.messages, talk.results[0].result.state, short.ended, short.messages]"#;
    let result = run(&site, text, &[]).exits(0).json()["result"].clone();
    assert_eq!(result, json!(["done", 3, ["{\"valid\":true}"], "finished", "max_turns", []]));
    assert!(prompt(&site, 2).contains("does not fit"), "{}", prompt(&site, 2));
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn the_report_and_runs_show_tell_of_agents() {
    let site = site(&[says("DONE", json!([action("report_done", json!({}))]))]);
    let text = "let a = nrv.agent.summon(#{ assignment: \"look <b>\" });\nlet b = nrv.agent.summon(#{ parent: a.id, name: \"Kid\" });\nnrv.agent.converse(a.id, \"json\", #{ request: \"x\" });";
    run(&site, text, &[]).exits(0);
    let shown = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.contains("Ada  finished  0 commitments  look <b>") && shown.contains("Kid  idle"), "{shown}");
    let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
    let of = |at: usize| (report["agents"][at]["name"].clone(), report["agents"][at]["state"].clone());
    assert_eq!((of(0), of(1)), ((json!("Ada"), json!("finished")), (json!("Kid"), json!("idle"))));
    assert_eq!(
        (&report["agents"][1]["parent"], &report["agents"][0]["assignment"]),
        (&json!("Ada"), &json!("look <b>"))
    );
    let text = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    assert!(text.contains("Ada: finished (0 commitments, ") && text.contains("Kid of Ada: idle"), "{text}");
    let page = site.nrv(&["runs", "report", "last", "--html"]).exits(0).stdout;
    assert!(page.contains("Agents of the run") && page.contains("look &lt;b&gt;"), "{page}");
}
