//! `nrv llm record`: the replies that a person gives, or a provider, as recordings that answer from then on.
#![expect(clippy::disallowed_methods, reason = "tests list and read recordings")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use nrv::llm::Finish;
use serde_json::{Value, json};

use crate::support::{
    model::{
        form,
        server::{Answer, ModelServer},
    },
    site::Site,
};

const CHAT: &str = "openai_chat";

/// Asks for two words, and writes them.
const TWO: &str = r#"
const WORKFLOW = #{ name: "two", permissions: #{ llm: ["*"], write: ["*.txt"] } };
let word = |prompt| nrv.llm.complete(#{ prompt: prompt, max_tokens: 20 }).text;
let text = word.call("Name a colour") + " " + word.call("Name an animal");
nrv.apply.create("out.txt", text);
text
"#;

fn site(script: &str) -> Site {
    let site = Site::empty();
    site.write("s.rhai", script);
    site
}

fn cassettes(site: &Site, folder: &str) -> Vec<Value> {
    let Ok(files) = fs::read_dir(site.path(folder)) else { return Vec::new() };
    files.map(|file| serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap()).collect()
}

#[test]
fn texts_of_a_person_answer_the_requests_in_their_order_and_every_later_run() {
    let site = site(TWO);
    site.write("one.txt.reply", "blue\n");
    let told =
        site.nrv_with(&["llm", "record", "s.rhai", "--reply", "one.txt.reply", "--reply", "-"], "cat\r\n").exits(0);
    assert!(told.stderr.contains("2 replies recorded in `s.llm`"), "{}", told.stderr);
    assert!(fs::metadata(site.path("out.txt")).is_err(), "the script ran dry");
    let labels: Vec<Value> = cassettes(&site, "s.llm").iter().map(|file| file["label"].clone()).collect();
    assert_eq!(labels, ["authored", "authored"]);
    let ran = site.nrv(&["run", "s.rhai", "--yes", "--json"]).exits(0).json();
    assert_eq!(ran["result"], "blue cat");
    // Nothing is left to record, and nothing is asked.
    site.nrv(&["llm", "record", "s.rhai", "--reply", "one.txt.reply"])
        .exits(1)
        .says("of 1 reply given, no request took one: 1 too many");
}

#[test]
fn a_missing_reply_and_one_too_many_record_nothing() {
    let site = site(TWO);
    site.write("a", "blue");
    site.nrv(&["llm", "record", "s.rhai", "--reply", "a"])
        .exits(1)
        .says("request 2, \"Name an animal\", has no reply")
        .says("s.rhai:3:");
    let three = ["llm", "record", "s.rhai", "--reply", "a", "--reply", "a", "--reply", "a"];
    site.nrv(&three).exits(1).says("of 3 replies given, 2 requests took one: 1 too many");
    site.nrv(&["llm", "record", "s.rhai"]).exits(2);
    assert!(cassettes(&site, "s.llm").is_empty());
}

#[test]
fn what_is_recorded_stays_unless_it_is_forced() {
    let site = site(TWO);
    site.write("a", "blue");
    site.write("b", "red");
    site.nrv(&["llm", "record", "s.rhai", "--reply", "a", "--reply", "a"]).exits(0);
    let longer = TWO.replace("text\n", "text + word.call(\"Name a tree\")\n");
    site.write("s.rhai", &longer);
    let told = site.nrv(&["llm", "record", "s.rhai", "--reply", "b", "--json"]).exits(0).json();
    assert_eq!((&told["finished"]["result"], &told["folder"]), (&json!("blue bluered"), &json!("s.llm")));
    assert_eq!(told["recorded"].as_array().unwrap().len(), 1);
    let all = ["llm", "record", "s.rhai", "--force", "--reply", "b", "--reply", "b", "--reply", "b", "--json"];
    let told = site.nrv(&all).exits(0).json();
    assert_eq!((&told["finished"]["result"], cassettes(&site, "s.llm").len()), (&json!("red redred"), 3));
}

#[test]
fn a_reply_has_to_fit_the_schema_and_a_request_with_tools_takes_no_text() {
    let script = r#"
const WORKFLOW = #{ name: "s", permissions: #{ llm: ["*"] } };
let schema = #{ type: "object", required: ["n"], properties: #{ n: #{ type: "integer" } } };
// The script survives the error; the recording does not.
try { nrv.llm.complete(#{ prompt: "Count", max_tokens: 9, MORE }); } catch (e) { }
"#;
    let site = site(&script.replace("MORE", "schema: schema"));
    site.write("good", "{\"n\": 1}\n");
    site.write("bad", "{\"n\": \"one\"}\n");
    site.nrv(&["llm", "record", "s.rhai", "--reply", "bad"]).exits(1).says("reply 1 to \"Count\"");
    assert!(cassettes(&site, "s.llm").is_empty());
    site.nrv(&["llm", "record", "s.rhai", "--reply", "good"]).exits(0);
    let tool = "tools: [#{ name: \"t\", description: \"\", parameters: #{ type: \"object\" } }]";
    site.write("s.rhai", script.replace("MORE", tool));
    site.nrv(&["llm", "record", "s.rhai", "--reply", "good"])
        .exits(1)
        .says("offers tools, and a written reply is a text")
        .says("--from PROVIDER");
}

#[test]
fn a_provider_is_asked_once_where_no_reply_is_recorded() {
    let said = || Answer::stream(&form::events(CHAT, &["green"], Finish::Stop));
    let server = ModelServer::serving(CHAT, [said(), said()]);
    let site = site(TWO);
    let url = server.base_url(CHAT);
    let table = |name: &str, url: &str| {
        format!("[llm.providers.{name}]\ndialect = '{CHAT}'\nmodel = 'm'\nbase_url = '{url}'\n")
    };
    site.write("nrv.toml", [table("local", &url), table("other", "http://127.0.0.1:9/v1")].concat());
    site.nrv(&["llm", "record", "s.rhai", "--from", "locl"]).exits(1).says("did you mean `local`?");
    let told = site.nrv(&["llm", "record", "s.rhai", "--from", "local", "--json"]).exits(0).json();
    assert_eq!(told["finished"]["result"], "green green");
    assert!(cassettes(&site, "s.llm").iter().all(|file| file["label"].is_null()));
    let asked = server.requests().len();
    site.nrv(&["llm", "record", "s.rhai", "--from", "local"]).exits(0).says("Nothing was recorded");
    assert_eq!(server.requests().len(), asked);
    let mut command = site.command(&["llm", "record", "s.rhai", "--from", "local"]);
    assert_eq!(command.env("CI", "true").output().unwrap().status.code(), Some(2));
}

#[test]
fn a_case_has_recordings_of_its_own() {
    let script = r#"
const WORKFLOW = #{ name: "s", permissions: #{ llm: ["*"], write: ["*.txt"] } };
let reply = nrv.llm.complete(#{ prompt: "Name it: " + nrv.files.read("a.txt"), max_tokens: 20 });
if !nrv.files.exists("b.txt") { nrv.apply.create("b.txt", reply.text); }
"#;
    let site = site(script);
    site.write("s.test/one/input/a.txt", "round");
    site.write("reply", "ball\n");
    let told = site.nrv(&["test"]).exits(4);
    assert!(told.stdout.contains("nrv llm record SCRIPT --reply FILE"), "{}", told.stdout);
    site.nrv(&["llm", "record", "s.rhai", "--case", "two", "--reply", "reply"])
        .exits(1)
        .says("there is no case `s.test/two`");
    site.nrv(&["llm", "record", "s.rhai", "--case", "one", "--reply", "reply"]).exits(0);
    assert_eq!(cassettes(&site, "s.test/one/llm").len(), 1);
    site.nrv(&["test", "-u"]).exits(0);
    assert_eq!(site.read("s.test/one/expected/b.txt"), b"ball");
    site.nrv(&["test"]).exits(0);
}

#[test]
fn a_request_without_a_provider_and_a_recording_says_so_and_names_both_ways() {
    let ways = |site: &Site| {
        let ran = site.nrv(&["run", "s.rhai"]);
        assert!(ran.code != 0 && ran.stderr.contains("there is no provider"), "{}", ran.stderr);
        ran.says("[llm.providers.NAME]").says("nrv llm record SCRIPT --reply FILE");
    };
    ways(&site(TWO));
    ways(&site(&TWO.replace("prompt: prompt", "model: \"m\", prompt: prompt")));
    ways(&site(&TWO.replace("llm: [\"*\"]", "llm: [\"local\"]")));
    // Another request is recorded.
    let recorded = site(TWO);
    recorded.write("a", "blue");
    recorded.nrv(&["llm", "record", "s.rhai", "--reply", "a", "--reply", "a"]).exits(0);
    recorded.write("s.rhai", TWO.replace("animal", "insect"));
    ways(&recorded);
}
