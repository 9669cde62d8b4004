//! Tools, resources, prompts and completions, and the word that they have changed.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::BTreeSet;

use nrv::system::schema::Schema;
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        mcp::{Client, NEW, OLD, Word, run_of, text_of},
        site::Site,
    },
};

fn tools(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn names(client: &mut Client) -> BTreeSet<String> {
    tools(client).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_tool_has_schemas_and_hints_and_reads_or_acts_as_they_say() {
    for version in [OLD, NEW] {
        let site = Site::new(1);
        let mut client = Client::start(&site, &[], version, Word::Nobody);
        let tools = tools(&mut client);
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{name}");
                Schema::compile(&tool[schema]).unwrap_or_else(|error| panic!("{name}: {error}"));
                let nested = ["anyOf", "oneOf", "allOf"].iter().any(|key| tool[schema].get(key).is_some());
                assert!(!nested, "{name}: models take no alternatives at the top");
            }
            let hints = &tool["annotations"];
            let reads = ["files_", "gate_", "edit_find"].iter().any(|start| name.starts_with(start))
                || name.ends_with("_propose");
            assert_eq!(hints["readOnlyHint"], reads, "{name}");
            let manages = ["run_open", "run_close", "summon_servitor", "dismiss_servitor"].contains(&name);
            assert_eq!(hints["destructiveHint"], !reads && !manages, "{name}");
        }
        let names: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let expected = "apply_create apply_diff apply_plan dismiss_servitor dta_link_updater_apply dta_link_updater_propose \
                        edit_find exec_run files_glob files_grep files_read gate_evaluate_command gate_evaluate_edit \
                        gate_evaluate_tool_use rollback run_close run_open run_script summon_servitor add_aria_attribute \
                        update_class_name update_import update_prop_value update_style_value update_text_content";
        for name in expected.split_whitespace() {
            assert!(names.contains(name), "{name} is missing in {names:?}");
        }
        client.end().exits(0);
    }
}

#[test]
fn what_a_tool_answers_fits_its_schema() {
    let site = Site::new(2);
    site.write("a.tsx", "export const A = () => <p className=\"one two\">text</p>;\n");
    site.commit();
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let tools = tools(&mut client);
    let target = json!({"target": {"glob": "site/**/*.html"}, "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}});
    let plan =
        json!({"diffs": [{"path": "d.txt", "unified_diff": "--- a/d.txt\n+++ b/d.txt\n@@ -1 +1 @@\n-one\n+two\n"}]});
    let calls = [
        ("files_glob", json!({"patterns": ["**"]})),
        ("files_read", json!({"path": "a.tsx"})),
        ("files_grep", json!({"regex": "text", "patterns": ["**/*.tsx"]})),
        ("edit_find", json!({"kind": "class", "patterns": ["**/*.tsx"]})),
        (
            "update_class_name",
            json!({"file_path": "a.tsx", "line_number": 1, "old_class_name": "one", "new_class_name": "three"}),
        ),
        ("apply_create", json!({"path": "d.txt", "text": "one\n"})),
        ("apply_plan", json!({"plan": plan})),
        ("gate_evaluate_command", json!({"command": ["ls"]})),
        ("gate_evaluate_edit", json!({"path": "x", "content": "y"})),
        ("gate_evaluate_tool_use", json!({"tool": "Read"})),
        ("dta_link_updater_propose", target.clone()),
        ("dta_link_updater_apply", target),
        ("summon_servitor", json!({"assignment": "look"})),
        ("files_read", json!({"path": "none"})),
    ];
    for (name, arguments) in calls {
        let result = client.tool(name, arguments);
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let schema = Schema::compile(&tool["outputSchema"]).unwrap();
        schema.check(&result["structuredContent"]).unwrap_or_else(|error| panic!("{name}: {error}: {result}"));
        assert!(!text_of(&result).is_empty() && run_of(&result).len() > 10, "{name}: {result}");
    }
    client.end().exits(0);
}

#[test]
fn unapproved_adapters_and_scripts_are_not_offered() {
    let site = Site::new(1).policy("[adapters]\napproved = ['link_updater']\n");
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let names = names(&mut client);
    assert!(names.contains("dta_link_updater_apply") && !names.contains("dta_rename_refactor_apply"));
    // It is there and not approved.
    let script = json!({"script": "scripts/migrate_links.rhai", "args": {"from": ["a.example.com"], "to": "https://b.example.com"}});
    client.fails("run_script", script, "not_approved");
    client.end().exits(0);
}

#[test]
fn lists_follow_the_policy_and_a_broken_one_is_refused_until_it_is_mended() {
    let site = Site::new(1);
    site.write("a.txt", "one\n");
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    assert!(names(&mut client).contains("dta_rename_refactor_apply"));
    site.write("nrv.toml", "[adapters]\napproved = ['link_updater']\n");
    while !client.told.iter().any(|told| told["method"] == "notifications/tools/list_changed") {
        let message = client.read().unwrap();
        client.told.push(message);
    }
    assert!(!names(&mut client).contains("dta_rename_refactor_apply"));
    site.write("nrv.toml", "[nonsense]\n");
    client.fails("files_read", json!({"path": "a.txt"}), "invalid_policy");
    site.write("nrv.toml", "[paths]\nread_deny = ['a.txt']\n");
    client.fails("files_read", json!({"path": "a.txt"}), "permission_denied");
    client.end().exits(0);
}

#[test]
fn resources_are_runs_of_clients_and_schemas_and_nothing_else() {
    let site = Site::new(1);
    site.nrv(&["approve", "scripts/migrate_links.rhai", "--yes"]).exits(0);
    site.migrate(&["--locked"]).exits(0);
    let other = site.last_run().file_name().unwrap().to_str().unwrap().to_owned();
    let mut client = Client::start(&site, &["--yes"], OLD, Word::Nobody);
    let result = client.tool("apply_create", json!({"path": "a.txt", "text": "one\n"}));
    let run = run_of(&result);
    let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert!(uris.contains(&"nrv://schema/plan") && uris.contains(&format!("nrv://run/{run}/report").as_str()));
    assert!(!uris.iter().any(|uri| uri.contains(&other)), "{uris:?}");
    let mut read = |uri: String| client.request("resources/read", json!({"uri": uri}));
    for what in ["", "/report", "/record"] {
        let text = read(format!("nrv://run/{run}{what}"))["result"]["contents"][0]["text"].to_string();
        assert!(text.contains("test 1") || text.contains("apply.create"), "{what}: {text}");
    }
    let hidden = [
        format!("nrv://run/{other}/report"),
        format!("nrv://run/{run}/run.json"),
        format!("nrv://run/{run}/packs/t1/0"),
        format!("nrv://run/{run}/artifacts/../run.json"),
        format!("nrv://run/{run}/artifacts/none.patch"),
        "nrv://run/../../etc/passwd".to_owned(),
        "nrv://run/last/report".to_owned(),
        "nrv://schema/none".to_owned(),
        "file:///etc/passwd".to_owned(),
    ];
    for uri in hidden {
        let answer = read(uri.clone());
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["uri"]),
            (&json!(-32002), &json!(uri)),
            "{answer}"
        );
    }
    client.end().exits(0);
}

#[test]
fn approved_scripts_are_prompts_and_their_arguments_complete() {
    let site = Site::new(1);
    site.nrv(&["approve", "scripts/migrate_links.rhai", "--yes"]).exits(0);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let script = prompts.as_array().unwrap().iter().find(|prompt| prompt["name"] == "scripts/migrate_links.rhai");
    let arguments = script.unwrap()["arguments"].clone();
    assert!(arguments.as_array().unwrap().iter().any(|one| one["name"] == "from" && one["required"] == true));
    let text =
        |answer: &Value| answer["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default().to_owned();
    let orders = client.request("prompts/get", json!({"name": "orders"}));
    assert!(text(&orders).contains("Use the link_updater DTA in dry-run mode first."), "{orders}");
    let named = json!({"name": "scripts/migrate_links.rhai", "arguments": {"from": "a", "to": "b"}});
    let asked = client.request("prompts/get", named);
    assert!(text(&asked).contains("run_script"), "{asked}");
    for wrong in [json!({"name": "scripts/migrate_links.rhai"}), json!({"name": "none"})] {
        assert_eq!(client.request("prompts/get", wrong)["error"]["code"], -32602);
    }
    let argument = json!({"name": "glob", "value": ".e"});
    site.write(".env.local", "x\n");
    let reference = json!({"type": "ref/prompt", "name": "scripts/migrate_links.rhai"});
    let hidden = client.request("completion/complete", json!({"ref": reference, "argument": argument}));
    assert_eq!(hidden["result"]["completion"]["values"], json!([]));
    let reference = json!({"type": "ref/resource", "uri": "nrv://schema/{name}"});
    let completed =
        client.request("completion/complete", json!({"ref": reference, "argument": {"name": "name", "value": "pl"}}));
    assert_eq!(completed["result"]["completion"]["values"], json!(["plan"]));
    client.end().exits(0);
}

#[test]
fn every_tool_and_every_resource_stands_in_the_page() {
    let page = repository::text("docs/mcp.md").unwrap();
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    for name in names(&mut client) {
        let shown = match name.strip_prefix("dta_") {
            Some(_) if name.ends_with("_apply") => "dta_NAME_apply".to_owned(),
            Some(_) => "dta_NAME_propose".to_owned(),
            None => name,
        };
        assert!(page.contains(&format!("`{shown}`")), "{shown} is missing");
    }
    let templates = client.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    for template in templates.as_array().unwrap() {
        let form = template["uriTemplate"].as_str().unwrap();
        assert!(page.contains(&format!("`{form}`")), "{form} is missing");
    }
    client.end().exits(0);
}
