//! Agents that are given tools of servers by name.
#![expect(clippy::disallowed_methods, reason = "tests write files")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use serde_json::{Value, json};

use super::{error, result, site};
use crate::support::site::Site;

/// A site whose model gives these replies one after another, the last one again and again.
fn with_model(replies: &[Value]) -> (Site, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for (at, reply) in replies.iter().enumerate() {
        let line = json!({"reply": {"text": reply.to_string()}});
        fs::write(folder.path().join(format!("{at}")), format!("{line}\n")).unwrap();
    }
    let shown = folder.path().display();
    let program = format!(
        "cd {shown}; cat > request; n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; cp request request.$n; \
         [ -e $n ] || n={}; cat $n",
        replies.len() - 1
    );
    let model =
        format!("[llm.providers.fake]\ndialect = 'command'\nmodel = 'm'\nprogram = {}\n", json!(["sh", "-c", program]));
    (site("honest", &model), folder)
}

fn says(tool: &str, params: Value) -> Value {
    json!({"message": "m", "actions": [{"id": "1", "tool": tool, "params": params}]})
}

#[test]
fn an_agent_uses_the_tools_that_it_was_given_and_no_others() {
    let replies = [
        says("mcp_fake_search", json!({"query": "links"})),
        says("mcp_fake_create", json!({"title": "t"})),
        says("report_done", json!({})),
    ];
    let (site, folder) = with_model(&replies);
    let text = "const WORKFLOW = #{ permissions: #{ calls: [\"mcp.fake.search\", \"mcp.fake.create\"], llm: [\"*\"] } };\n\
                let ada = nrv.agent.summon(#{ name: \"Ada\", tools: [\"mcp.fake.search\"] });\n\
                nrv.agent.converse(ada.id, \"json\", #{ request: \"Find it.\" }).results";
    site.write("scripts/agent.rhai", text);
    let results = result(site.nrv(&["run", "scripts/agent.rhai", "--json", "--allow-dirty"]));
    assert_eq!(results[0]["result"]["text"], "found links", "{results}");
    assert_eq!(results[1]["error"], "you have no tool `mcp_fake_create`", "{results}");
    let asked = fs::read_to_string(folder.path().join("request.0")).unwrap();
    assert!(
        asked.contains("mcp_fake_search") && asked.contains("Finds pages.") && !asked.contains("Creates a ticket.")
    );
    let told = fs::read_to_string(folder.path().join("request.1")).unwrap();
    assert!(told.contains("found links"), "{told}");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn tools_that_a_model_could_not_tell_apart_are_refused() {
    let (site, _folder) = with_model(&[says("report_done", json!({}))]);
    let policy = String::from_utf8_lossy(&site.read("nrv.toml")).replace("\"where\"]", "\"where\", \"a.b\", \"a_b\"]");
    site.write("nrv.toml", policy);
    site.nrv(&["mcp", "approve", "--yes"]).exits(0);
    let text = "const WORKFLOW = #{ permissions: #{ calls: [\"mcp.fake.a.b\", \"mcp.fake.a_b\"], llm: [\"*\"] } };\n\
                let ada = nrv.agent.summon(#{ name: \"Ada\", tools: [\"mcp.fake.a.b\", \"mcp.fake.a_b\"] });\n\
                nrv.agent.converse(ada.id, \"json\", #{ request: \"Begin.\" })";
    site.write("scripts/agent.rhai", text);
    let error = error(site.nrv(&["run", "scripts/agent.rhai", "--json", "--allow-dirty"]), 1);
    assert_eq!(error["message"], "several tools of `Ada` are `mcp_fake_a_b` for its model");
}
