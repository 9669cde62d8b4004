//! Confirmations: who is asked, what their word is worth, and the state that travels through a client.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use serde_json::{Value, json};

use crate::support::{
    mcp::{Client, NEW, OLD, Word, run_of, text_of},
    site::Site,
};

fn site() -> Site {
    let site = Site::new(2);
    site.write("a.txt", "one\n");
    site.commit();
    site
}

fn create(path: &str) -> Value {
    json!({"path": path, "text": "new\n"})
}

/// The confirmations in the last record, each with its event and who decided.
fn decided(site: &Site, run: &str) -> Vec<(String, String)> {
    let shown = site.nrv(&["runs", "show", run, "--json"]).exits(0).json();
    let records = shown["records"].as_array().unwrap();
    let of = |record: &Value| {
        let kind = record["kind"].as_str().unwrap_or_default();
        let by = record["data"]["by"].as_str().unwrap_or_default();
        kind.starts_with("confirmation_").then(|| (kind.to_owned(), by.to_owned()))
    };
    records.iter().filter_map(of).collect()
}

#[test]
fn a_change_is_asked_about_and_made_once_the_client_agrees() {
    for version in [OLD, NEW] {
        let site = site();
        let mut client = Client::start(&site, &[], version, Word::Accept);
        let result = client.tool("apply_create", create("b.txt"));
        assert_eq!((&result["isError"], client.asked.len()), (&json!(false), 1), "{result}");
        assert!(client.asked[0].contains("1 file") && client.asked[0].contains("b.txt (+1 -0)"), "{:?}", client.asked);
        assert_eq!(site.read("b.txt"), b"new\n");
        let run = run_of(&result);
        client.end().exits(0);
        let decided = decided(&site, &run);
        assert!(decided.iter().any(|(_, by)| by == "mcp:test 1"), "{decided:?}");
        site.nrv(&["runs", "verify", &run]).exits(0);
        site.nrv(&["rollback", &run]).exits(0);
        assert!(!site.path("b.txt").exists());
    }
}

#[test]
fn what_the_client_declines_changes_nothing_and_the_rest_of_its_run_stands() {
    for version in [OLD, NEW] {
        // Edits are granted, diffs are asked about.
        let site = site().policy("[confirm]\nauto = ['edit']\n");
        site.write("a.tsx", "export const A = () => <p className=\"one\">text</p>;\n");
        let mut client = Client::start(&site, &[], version, Word::Decline);
        let edit = json!({"file_path": "a.tsx", "line_number": 1, "old_class_name": "one", "new_class_name": "two"});
        client.done("update_class_name", edit);
        let before = site.tree();
        client.fails("apply_create", create("b.txt"), "not_approved");
        assert_eq!(site.tree(), before);
        assert!(String::from_utf8(site.read("a.tsx")).unwrap().contains("two"));
        // It may be asked for again.
        client.word = Word::Accept;
        client.done("apply_create", create("b.txt"));
        client.end().exits(0);
        assert_eq!(site.read("b.txt"), b"new\n");
    }
}

#[test]
fn where_nobody_answers_a_person_approves_elsewhere_and_the_same_call_succeeds() {
    for (version, word) in [(OLD, Word::Nobody), (OLD, Word::Cancel), (NEW, Word::Nobody), (NEW, Word::Cancel)] {
        let site = site();
        let mut client = Client::start(&site, &[], version, word);
        let result = client.tool("apply_create", create("b.txt"));
        let error = &result["structuredContent"]["error"];
        assert_eq!(
            (&error["code"], &error["details"]["confirmation"]),
            (&json!("suspended"), &json!("c1")),
            "{result}"
        );
        let run = run_of(&result);
        assert!(text_of(&result).contains(&format!("nrv resume {run} --approve c1")), "{result}");
        let link = result["content"].as_array().unwrap().iter().find(|one| one["type"] == "resource_link").unwrap();
        let read = client.request("resources/read", json!({"uri": link["uri"]}));
        assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("+new"), "{read}");
        // It waits in one run, however often it is made.
        assert_eq!(run_of(&client.tool("apply_create", create("b.txt"))), run);
        // Other calls go on meanwhile.
        client.done("files_read", json!({"path": "a.txt"}));
        assert!(!site.path("b.txt").exists());
        site.nrv(&["resume", &run, "--approve", "c1"]).exits(0);
        assert_eq!(site.read("b.txt"), b"new\n");
        let again = client.tool("apply_create", create("b.txt"));
        assert_eq!((again["isError"].clone(), run_of(&again)), (json!(false), run), "{again}");
        // The approval was for one change.
        client.fails("apply_create", create("b.txt"), "stale_preimage");
        client.end().exits(0);
    }
}

#[test]
fn what_a_person_rejects_elsewhere_is_told_once() {
    let site = site();
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let run = run_of(&client.tool("apply_create", create("b.txt")));
    site.nrv(&["resume", &run, "--reject", "c1"]).exits(3);
    client.fails("apply_create", create("b.txt"), "not_approved");
    client.fails("apply_create", create("b.txt"), "suspended");
    assert!(!site.path("b.txt").exists());
    client.end().exits(0);
}

#[test]
fn the_word_of_a_client_is_not_enough_where_the_policy_wants_more() {
    let policies = [
        ("[confirm]\nyes_flag = false\n", "suspended"),
        ("[confirm]\napprovers = ['alice']\n", "suspended"),
        ("[confirm]\nmode = 'policy'\n", "suspended"),
        ("[confirm]\nmode = 'never'\n", "blocked"),
    ];
    for (policy, code) in policies {
        for version in [OLD, NEW] {
            let site = site().policy(policy);
            let mut client = Client::start(&site, &[], version, Word::Accept);
            client.fails("apply_create", create("b.txt"), code);
            assert!(client.asked.is_empty(), "{policy}: {:?}", client.asked);
            // Nor does an answer count that nobody asked for.
            let more = json!({"requestState": "rs1.AAAA.AAAA", "inputResponses": {"confirm": Word::Accept.result()}});
            let result = client.once("apply_create", &create("b.txt"), &more);
            assert_eq!(result["isError"], true, "{policy}: {result}");
            client.end().exits(0);
            assert!(!site.path("b.txt").exists(), "{policy}");
        }
    }
}

#[test]
fn a_state_counts_once_for_its_own_call_and_files_as_they_were() {
    let site = site();
    let mut client = Client::start(&site, &[], NEW, Word::Accept);
    let asked = client.once("apply_create", &create("b.txt"), &json!({}));
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let agreed = |state: &str| json!({"requestState": state, "inputResponses": {"confirm": Word::Accept.result()}});
    let other = client.once("apply_create", &create("c.txt"), &json!({}));
    let swapped = other["requestState"].as_str().unwrap().to_owned();
    let middle = state.len() / 2;
    let letter = if state.as_bytes()[middle] == b'A' { "B" } else { "A" };
    let altered = format!("{}{letter}{}", &state[..middle], &state[middle + 1..]);
    for wrong in [&altered, &swapped, &String::new(), &"x".repeat(100_000), &state[..20].to_owned()] {
        let result = client.once("apply_create", &create("b.txt"), &agreed(wrong));
        assert_eq!(result["error"]["code"], -32602, "{wrong}: {result}");
    }
    // Other parameters, another tool.
    let result = client.once("apply_create", &json!({"path": "b.txt", "text": "other\n"}), &agreed(&state));
    assert_eq!(result["error"]["code"], -32602, "{result}");
    // A state without an answer, and one with an answer to another question: the same question comes again.
    let vague = json!({"action": "accept", "content": {"approve": "maybe"}});
    let no_answers =
        [json!({}), json!({"other": Word::Accept.result()}), json!({"confirm": "yes"}), json!({"confirm": vague})];
    for responses in no_answers {
        let asked = client.once("apply_create", &create("b.txt"), &json!({}));
        let more = json!({"requestState": asked["requestState"], "inputResponses": responses});
        let again = client.once("apply_create", &create("b.txt"), &more);
        let run = |asked: &Value| asked["inputRequests"]["confirm"]["params"]["message"].clone();
        assert_eq!(again["resultType"], "input_required", "{again}");
        assert_eq!(run(&again), run(&asked), "the question is about the same run");
    }
    assert!(!site.path("b.txt").exists() && !site.path("c.txt").exists());
    // The last one that was given out counts, once.
    let asked = client.once("apply_create", &create("b.txt"), &json!({}));
    assert!(client.once("apply_create", &create("b.txt"), &agreed(&state))["error"].is_object());
    let last = asked["requestState"].as_str().unwrap().to_owned();
    assert_eq!(client.once("apply_create", &create("b.txt"), &agreed(&last))["isError"], false);
    assert!(client.once("apply_create", &create("b.txt"), &agreed(&last))["error"].is_object());
    assert_eq!(site.read("b.txt"), b"new\n");
    // A file that has changed since is another one than the person agreed to change.
    let diff = json!({"path": "a.txt", "unified_diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"});
    let asked = client.once("apply_diff", &diff, &json!({}));
    site.write("a.txt", "one\nmore\n");
    let result = client.once("apply_diff", &diff, &agreed(asked["requestState"].as_str().unwrap()));
    assert_eq!(result["structuredContent"]["error"]["code"], "stale_preimage", "{result}");
    assert_eq!(site.read("a.txt"), b"one\nmore\n");
    client.end().exits(0);
}

#[test]
fn a_script_that_asks_goes_on_with_the_word_of_the_client() {
    for version in [OLD, NEW] {
        let site = Site::new(2);
        site.nrv(&["approve", "scripts/migrate_links.rhai", "--yes"]).exits(0);
        site.commit();
        let before = site.tree();
        let mut client = Client::start(&site, &[], version, Word::Accept);
        let call = json!({"script": "scripts/migrate_links.rhai", "args": {"from": ["old.example.com"], "to": "https://new.example.com"}});
        let result = client.tool("run_script", call);
        assert_eq!((&result["isError"], client.asked.len()), (&json!(false), 1), "{result}");
        assert_ne!(site.tree(), before);
        let run = run_of(&result);
        client.done("rollback", json!({"run": run}));
        assert_eq!(site.tree(), before);
        client.end().exits(0);
    }
}

#[test]
fn a_rollback_is_a_persons_where_a_client_decides_nothing() {
    let site = site().policy("[confirm]\nyes_flag = false\n");
    let mut client = Client::start(&site, &[], OLD, Word::Accept);
    let run = run_of(&client.tool("apply_create", create("b.txt")));
    site.nrv(&["resume", &run, "--approve", "c1"]).exits(0);
    let refused = client.fails("rollback", json!({"run": run}), "not_approved");
    assert!(refused["hint"].as_str().unwrap().contains("nrv rollback"), "{refused}");
    assert_eq!(site.read("b.txt"), b"new\n");
    client.end().exits(0);
}

#[test]
fn the_error_of_a_confirmed_call_is_its_own() {
    let site = site();
    site.write("k.js", "const a = \"x\";\n");
    site.commit();
    let mut client = Client::start(&site, &[], OLD, Word::Accept);
    let rewrite = json!({"target": {"glob": "k.js"}, "params": {"pattern": "const a = $B", "fix": "let $B", "lang": "javascript"}});
    let result = client.tool("dta_code_rewrite_apply", rewrite);
    let message = result["structuredContent"]["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("syntax"), "{result}");
    client.end().exits(0);
}
