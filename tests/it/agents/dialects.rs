//! Tools in the form of the server: an agent works with a server of each dialect.

use serde_json::json;

use super::HEAD;
use crate::support::{
    model::{
        form,
        server::{Answer, ModelServer},
    },
    site::Site,
};

#[test]
fn an_agent_works_by_the_tool_calls_of_each_dialect() {
    let mut tried = Vec::new();
    for dialect in form::dialects() {
        let page = json!({"path": "notes/page.txt", "text": "page\n"});
        let replies =
            [form::calling(dialect, "apply_create", &page), form::calling(dialect, "report_done", &json!({}))];
        let server = ModelServer::serving(dialect, replies.iter().map(|events| Answer::stream(events)));
        let site = Site::new(0).policy(&format!(
            "[llm.providers.far]\ndialect = '{dialect}'\nmodel = 'm'\nbase_url = '{}'\n[evaluators]\nfail = []\n",
            server.base_url(dialect)
        ));
        let text = r#"let ada = nrv.agent.summon(#{ assignment: "write the page", tools: ["apply_create"],
    commitments: [#{ description: "there is a page", assertion: #{ file_exists: "notes/page.txt" } }] });
let talk = nrv.agent.converse(ada.id, "tool_calls", #{ request: "write it", max_turns: 4 });
[talk.ended, talk.turns, talk.actions, nrv.agent.get(ada.id).state]"#;
        site.script("agents.rhai", &format!("{HEAD}{text}"));
        let ran = site.nrv(&["run", "agents.rhai", "--json", "--allow-dirty", "--yes"]).exits(0);
        assert_eq!(ran.json()["result"], json!(["done", 2, 2, "done"]), "{dialect}");
        assert_eq!(site.read("notes/page.txt"), b"page\n");
        // The server is given the tools, and is told what came of the first call.
        let asked = server.requests();
        assert!(asked.len() == 2 && asked[0].body.contains("report_done"), "{dialect}");
        assert!(asked[1].body.contains("post_sha256") && !asked[0].body.contains("post_sha256"), "{dialect}");
        site.nrv(&["replay", "last"]).exits(0);
        tried.push(dialect);
    }
    assert_eq!(tried.len(), 4, "{tried:?}");
}
