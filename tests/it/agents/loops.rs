//! Models that never stop: the loop ends in each case, and says why.

use serde_json::{Value, json};

use super::{action, run, says, site};

#[track_caller]
fn ends(replies: &[Value], request: &str, expected: (&str, u64, u64)) {
    let site = site(replies);
    let text = format!(
        "let ada = nrv.agent.summon(#{{ tools: [\"apply_create\"], budget: #{{ calls: 60 }} }});\n\
         let talk = nrv.agent.converse(ada.id, \"json\", #{{ request: \"go\", {request} }});\nnrv.agent.dismiss(ada.id);\ntalk"
    );
    let result = run(&site, &text, &[]).exits(0).json()["result"].clone();
    let found =
        (result["ended"].as_str().unwrap(), result["turns"].as_u64().unwrap(), result["actions"].as_u64().unwrap());
    assert_eq!(found, expected);
    site.nrv(&["replay", "last"]).exits(0);
}

fn look() -> Value {
    action("files_glob", json!({"patterns": ["site/**"]}))
}

#[test]
fn a_model_that_never_stops_ends_at_its_turns() {
    ends(&[says("more", json!([look()]))], "max_turns: 5", ("max_turns", 5, 5));
}

#[test]
fn a_thousand_actions_end_at_the_bound() {
    ends(&[says("all", json!(vec![look(); 1000]))], "max_actions: 30", ("max_actions", 1, 30));
}

#[test]
fn a_budget_ends_the_agent_and_not_the_run() {
    ends(&[says("all", json!(vec![look(); 1000]))], "max_turns: 50, max_actions: 900", ("budget", 1, 59));
}

#[test]
fn broken_and_valid_replies_in_turns_end_at_the_first_broken_one() {
    let valid = says("ok", json!([look()]));
    ends(&[valid.clone(), json!("{\"message\": \"ok\", "), valid], "max_turns: 9", ("no_feedback", 2, 1));
}

#[test]
fn refusals_are_feedback_and_end_nothing() {
    let wrong = says(
        "wrong",
        json!([
            action("apply_create", json!({"path": "../x", "text": ""})),
            action("files_read", json!({"path": ".git/config"}))
        ]),
    );
    ends(&[wrong, says("stop", json!([]))], "max_turns: 9", ("no_feedback", 2, 2));
}

#[test]
fn a_budget_of_money_ends_the_agent_and_not_the_run() {
    let site = site(&[says("more", json!([look()]))]);
    let policy = String::from_utf8(site.read("nrv.toml")).unwrap();
    let site =
        site.policy(&policy.replace("model = 'm'\n", "model = 'm'\nprices = { input = 1000.0, output = 1000.0 }\n"));
    let text = "let ada = nrv.agent.summon(#{ budget: #{ cost_millionths: 1_000_000 } });\n\
                let talk = nrv.agent.converse(ada.id, \"json\", #{ request: \"go\", max_turns: 40 });\n\
                let spent = nrv.agent.get(ada.id).spent;\nnrv.agent.dismiss(ada.id);\n[talk.ended, talk.turns < 40, spent.cost_millionths >= 1_000_000]";
    assert_eq!(run(&site, text, &[]).exits(0).json()["result"], json!(["budget", true, true]));
    site.nrv(&["replay", "last"]).exits(0);
}
