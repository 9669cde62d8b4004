//! A real server from its reply to the tree, and the same run without it.

use serde_json::json;

use super::run::{records, run, site, workflow};
use crate::support::{model::llama::Llama, site::Tree};

/// Asks for plans whose file and diff the model chooses, so that some are valid and some are not, and applies the valid ones.
const BODY: &str = r#"
let diff = |path, text| `--- a/${path}
+++ b/${path}
@@ -1,2 +1,2 @@
-old
+${text}
 rest
`;
let one = |path, of, text| #{
    type: "object", required: ["path", "unified_diff"], additionalProperties: false,
    properties: #{ path: #{ enum: [path] }, unified_diff: #{ enum: [diff.call(of, text)] } },
};
let choices = [
    one.call("a.txt", "a.txt", "first"), one.call("b.txt", "b.txt", "second"),
    one.call("a.txt", "b.txt", "third"), one.call("a/../../c.txt", "a.txt", "fourth"),
];
let outcomes = [];
for seed in 1..41 {
    if outcomes.contains("applied") && outcomes.len() > 7 { break; }
    let request = ask(seed, 60000);
    request.temperature = 2.0;
    request.prompt += ` Number ${seed}.`;
    request.schema = #{
        type: "object", required: ["diffs"], additionalProperties: false,
        properties: #{ diffs: #{ type: "array", minItems: 1, maxItems: 1, items: #{ anyOf: choices } } },
    };
    try {
        let plan = nrv.llm.parse_plan(nrv.llm.complete(request).text);
        nrv.apply.plan(plan, "dry-run");
        nrv.apply.plan(plan, "write");
        outcomes.push("applied");
    } catch (error) {
        outcomes.push(error.code);
    }
}
outcomes
"#;

#[test]
fn what_holds_of_a_models_plans_is_applied_and_comes_again_without_the_server() {
    let Some(server) = Llama::start() else { return };
    let site = site(&server.base_url("openai_chat"), "openai_chat", "tiny");
    workflow(&site, BODY);
    let before = site.tree();
    let live = run(&site, &["--seed", "7", "--record-llm", "tapes"]).exits(0).json();
    let outcomes: Vec<&str> = live["result"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(outcomes.contains(&"applied") && outcomes.iter().any(|one| *one != "applied"), "{outcomes:?}");
    site.last_ended("done");
    let replies = records(&site).iter().filter(|record| record.kind == "llm_sent").count();
    assert_eq!(replies, outcomes.len());
    let after = site.tree();
    drop(server);

    // From its own record.
    let replayed = site.nrv(&["replay", "last", "--json"]).exits(0).json();
    assert_eq!((&replayed["agrees"], &replayed["reach"]), (&json!(true), &json!("end")), "{replayed:#}");

    // From the recorded replies beside it: the same bytes, without a key.
    site.nrv(&["rollback", "last"]).exits(0);
    let files = |tree: &Tree| -> Vec<_> {
        tree.iter()
            .filter(|(name, _)| name.ends_with(".txt"))
            .map(|(name, file)| (name.clone(), file.clone()))
            .collect()
    };
    assert_eq!(files(&site.tree()), files(&before));
    site.commit();
    let again = site.nrv(&["run", "asks.rhai", "--json", "--seed", "7", "--replay-llm", "tapes"]).exits(0).json();
    assert_eq!((again["result"].clone(), files(&site.tree())), (live["result"].clone(), files(&after)));
    let gone = run(&site, &["--seed", "7"]).exits(0).json();
    assert!(gone["result"].as_array().unwrap().iter().all(|one| *one == "model_unavailable"), "{gone:#}");
}
