//! Requests of scripts to language models: budgets, streams, records, recorded replies, and resumed runs.
#![expect(clippy::disallowed_methods, reason = "tests read records and make folders")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, path::Path};

use nrv::{Code, llm::Finish};
use serde_json::{Value, json};

use crate::support::{
    model::{
        form,
        server::{Answer, ModelServer},
    },
    site::{Ran, Site, wait_until},
};

const CHAT: &str = "openai_chat";

/// A streamed reply in these pieces. The server reports 10 tokens of input and 5 of output.
fn streamed(pieces: &[&str]) -> Answer {
    Answer::stream(&form::events(CHAT, pieces, Finish::Stop))
}

/// A workspace whose provider is this server.
fn site(server: &ModelServer, more: &str) -> Site {
    let policy = format!(
        "[llm.providers.local]\ndialect = '{CHAT}'\nbase_url = '{}'\nprices = {{input = 2.0, output = 10.0}}\n{more}",
        server.base_url(CHAT)
    );
    Site::new(0).policy(&policy)
}

/// Runs a script that may ask any provider.
fn run(site: &Site, body: &str, more: &[&str]) -> Ran {
    script(site, body);
    site.nrv(&[&["run", "ask.rhai", "--json"], more].concat())
}

fn script(site: &Site, body: &str) {
    let header = "const WORKFLOW = #{ name: \"ask\", permissions: #{ llm: [\"*\"], write: [\"*.txt\"] } };";
    site.script("ask.rhai", &format!("{header}\n{body}\n"));
}

fn records(site: &Site, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|record| record["kind"] == kind).collect()
}

/// The record is sealed and whole, and a replay of it agrees.
#[track_caller]
fn is_sound(site: &Site) {
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0).says("agrees");
}

#[test]
fn a_reply_says_who_gave_it_and_what_it_took() {
    let server = ModelServer::serving(CHAT, [streamed(&["he", "llo"])]);
    let site = site(&server, "");
    let ran = run(&site, "nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 })", &[]).exits(0);
    let reply = &ran.json()["result"];
    assert_eq!(
        (&reply["text"], &reply["provider"], &reply["finish"]),
        (&json!("hello"), &json!("local"), &json!("stop"))
    );
    assert_eq!((&reply["usage"]["input_tokens"], &reply["usage"]["output_tokens"]), (&json!(10), &json!(5)));
    // 10 at 2 and 5 at 10 for a million.
    assert_eq!(reply["cost_millionths"], 70);
    let sent = &records(&site, "llm_sent")[0]["data"];
    assert_eq!((&sent["request"], &sent["model"]), (&reply["request"], &json!("m")));
    assert_eq!(records(&site, "call")[0]["data"]["cost"], json!({"tokens": 15, "cost": 70}));
    is_sound(&site);
}

#[test]
fn what_a_request_may_take_is_reserved_before_it_is_sent() {
    for (budget, name) in [("tokens = 60", "tokens"), ("cost = 0.0004", "cost")] {
        let server = ModelServer::serving(CHAT, [streamed(&["x"])]);
        let site = site(&server, &format!("[budget]\n{budget}\n"));
        let ask = |tokens: u64| format!("nrv.llm.complete(#{{ prompt: \"hi\", max_tokens: {tokens} }});");
        // It took less than it might have: the second one fits as well, the third one might not.
        let ran = run(&site, &format!("{}\n{}\n{}", ask(30), ask(20), ask(40)), &[]).exits(6);
        assert_eq!(ran.json()["error"]["details"]["budget"], name);
        assert_eq!(server.requests().len(), 2, "{name}");
        is_sound(&site);
    }
}

#[test]
fn a_request_without_a_bound_is_not_sent() {
    let server = ModelServer::serving(CHAT, [streamed(&["x"])]);
    let site = site(&server, "");
    for (request, field) in [
        ("#{ prompt: \"hi\" }", "max_tokens"),
        ("#{ max_tokens: 5 }", "messages"),
        ("#{ prompt: \"a\", messages: [#{ role: \"user\", content: \"b\" }], max_tokens: 5 }", "prompt"),
        ("#{ prompt: \"a\", model: \"other\", max_tokens: 5 }", "model"),
        ("#{ prompt: \"a\", workload: \"chatt\", max_tokens: 5 }", "workload"),
    ] {
        let error = run(&site, &format!("nrv.llm.complete({request})"), &[]).exits(1).json()["error"].clone();
        assert_eq!((&error["code"], &error["details"]["field"]), (&json!("invalid_input"), &json!(field)), "{error}");
    }
    assert!(server.requests().is_empty());
}

#[test]
fn every_try_is_in_the_record() {
    let busy = || Answer::json("529 Overloaded", "", &json!({"error": {"message": "busy"}}));
    let server = ModelServer::serving(CHAT, [busy(), busy(), streamed(&["x"])]);
    let site = site(&server, "");
    let retry = "retry: #{ on: [\"overloaded\"], max: 2, wait_ms: 1 }";
    run(&site, &format!("nrv.llm.complete(#{{ prompt: \"hi\", max_tokens: 50, {retry} }}).text"), &[]).exits(0);
    let tried = records(&site, "llm_tried");
    let tried: Vec<_> = tried.iter().map(|r| (&r["data"]["attempt"], &r["data"]["after"]["details"]["kind"])).collect();
    assert_eq!(
        tried,
        [(&json!(1), &Value::Null), (&json!(2), &json!("overloaded")), (&json!(3), &json!("overloaded"))]
    );
    // A server that is too busy to answer takes nothing.
    assert_eq!(records(&site, "call")[0]["data"]["cost"]["tokens"], 15);
    is_sound(&site);
}

#[test]
fn a_stream_that_is_left_is_recorded_as_far_as_it_was_read() {
    let pieces: Vec<String> = (0..40).map(|n| format!("{n} ")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    for body in [
        "let seen = []; for e in nrv.llm.stream(REQUEST) { if e.type == \"token\" { seen.push(e.text); } if seen.len() == 3 { break; } } seen",
        "let seen = []; nrv.llm.stream(REQUEST, |e| { if e.type == \"token\" { seen.push(e.text); } seen.len() == 3 }); seen",
    ] {
        let server = ModelServer::serving(CHAT, [streamed(&pieces)]);
        let site = site(&server, "");
        let body = body.replace("REQUEST", "#{ prompt: \"hi\", max_tokens: 100 }");
        let ran = run(&site, &body, &["--record-llm", "rec"]).exits(0);
        assert_eq!(ran.json()["result"], json!(["0 ", "1 ", "2 "]));
        let reply = &records(&site, "call")[0]["data"]["reply"];
        assert_eq!((&reply["text"], &reply["closed"]), (&json!("0 1 2 "), &json!(true)));
        is_sound(&site);
        // Its recorded replies answer the same script, and no server is asked.
        let asked = server.requests().len();
        let again = run(&site, &body, &["--replay-llm", "rec", "--allow-dirty"]).exits(0);
        assert_eq!((again.json()["result"].clone(), server.requests().len()), (json!(["0 ", "1 ", "2 "]), asked));
    }
}

/// A command on the last run writes these words to stdout.
#[track_caller]
fn prints(site: &Site, command: &str, words: &str) {
    let ran = site.nrv(&["runs", command, "last"]).exits(0);
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

#[test]
fn a_reader_of_the_record_sees_who_replied_and_what_it_took() {
    let long = "x".repeat(5000);
    let server = ModelServer::serving(CHAT, [streamed(&[&long]), streamed(&["one"])]);
    let site = site(&server, "");
    let ask = "#{ prompt: \"hi\", max_tokens: 50 }";
    let body = format!("nrv.llm.complete({ask}); nrv.llm.stream({ask}, |e| e.type == \"token\"); ()");
    run(&site, &body, &["--record-llm", "rec"]).exits(0);
    let models = || site.nrv(&["runs", "report", "last", "--json"]).exits(0).json()["models"].clone();
    let live = models();
    let rows = live.as_array().unwrap().iter();
    let rows: Vec<_> = rows.map(|row| (&row["model"], &row["requests"], &row["recorded"])).collect();
    // The stream was left before the server named its model.
    assert_eq!(rows, [(&json!("m"), &json!(1), &json!(false)), (&json!("served"), &json!(1), &json!(false))]);
    assert!(live.as_array().unwrap().iter().all(|row| row["cost"].as_u64().unwrap() > 0), "{live}");
    prints(&site, "show", "llm.complete `served` of `local`\n");
    for file in fs::read_dir(site.path("rec")).unwrap() {
        let file = file.unwrap().path();
        let mut cassette: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        cassette["label"] = json!("authored");
        fs::write(&file, cassette.to_string()).unwrap();
    }
    site.commit();
    run(&site, &body, &["--replay-llm", "rec"]).exits(0);
    let call = &records(&site, "call")[0]["data"];
    assert!(call["reply"]["sha256"].is_string(), "the reply itself is in the pack: {call}");
    let by = json!({"provider": "local", "model": "served", "from": "cassette", "label": "authored"});
    assert_eq!(call["answered_by"], by);
    prints(&site, "show", "llm.complete `served` of `local`, recorded, `authored`\n");
    prints(&site, "report", "a recorded reply, `authored`");
    let played = models();
    let row = |row: &Value| (row["recorded"] == true, row["label"].clone(), row["cost"].clone());
    assert_eq!(row(&played[0]), (true, Value::Null, json!(0)), "the stream that was left");
    assert_eq!(row(&played[1]), (true, json!("authored"), json!(0)));
    is_sound(&site);
}

#[test]
fn replies_that_were_recorded_answer_without_a_server_and_a_miss_says_what_differs() {
    let server = ModelServer::serving(CHAT, [streamed(&["one"]), streamed(&["two"])]);
    let site = site(&server, "");
    let ask = "nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 }).text";
    let body = format!("[{ask}, {ask}]");
    let ran = run(&site, &body, &["--record-llm", "rec"]).exits(0);
    assert_eq!(ran.json()["result"], json!(["one", "two"]));
    assert_eq!(fs::read_dir(site.path("rec")).unwrap().count(), 2, "each of two identical requests has its file");
    site.commit();
    let asked = server.asked().len();
    let ran = run(&site, &body, &["--replay-llm", "rec", "--allow-dirty"]).exits(0);
    assert_eq!((&ran.json()["result"], server.asked().len()), (&json!(["one", "two"]), asked));
    assert_eq!(records(&site, "call")[0]["data"]["cost"], json!({"tokens": 15}), "tokens count, money does not");
    is_sound(&site);
    let other = body.replace("hi", "ho");
    let error = run(&site, &other, &["--replay-llm", "rec", "--allow-dirty"]).exits(1).json()["error"].clone();
    assert_eq!((&error["code"], &error["details"]["differences"][0]["asked"]), (&json!("not_found"), &json!("ho")));
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn without_a_provider_the_replies_beside_the_script_answer_and_a_machine_alone_asks_nobody() {
    let server = ModelServer::serving(CHAT, [streamed(&["one"])]);
    let one = site(&server, "");
    let body = "nrv.llm.complete(#{ model: \"m\", prompt: \"hi\", max_tokens: 50 }).text";
    run(&one, body, &["--record-llm", "ask.llm"]).exits(0);
    let asked = server.asked().len();
    // The policy has a provider, which may not be asked.
    let ci = |more: &[&str]| {
        let mut command = one.command(&[&["run", "ask.rhai", "--json", "--allow-dirty"], more].concat());
        let output = command.env("CI", "true").output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let approve = || drop(one.nrv(&["approve", "ask.rhai", "--yes"]).exits(0));
    approve();
    assert_eq!(ci(&[]).0, 0);
    assert_eq!(ci(&["--record-llm", "x"]).0, 2);
    script(&one, &body.replace("hi", "ho"));
    approve();
    let (code, told) = ci(&[]);
    assert!(code == 1 && told.contains("not_found"), "{told}");
    // No policy: the folder beside the script is enough.
    let bare = Site::new(0);
    fs::create_dir(bare.path("ask.llm")).unwrap();
    for file in fs::read_dir(one.path("ask.llm")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), bare.path("ask.llm").join(file.file_name())).unwrap();
    }
    assert_eq!(run(&bare, body, &["--allow-dirty"]).exits(0).json()["result"], "one");
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn a_run_that_no_model_could_answer_goes_on_there_later() {
    let down = Answer::json("503 Service Unavailable", "", &json!({}));
    let server = ModelServer::serving(CHAT, [down, streamed(&["x"])]);
    let site = site(&server, "");
    let body = "nrv.apply.create(\"one.txt\", \"1\\n\");\n\
                let text = nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 }).text;\n\
                nrv.apply.create(\"two.txt\", text);";
    let error = run(&site, body, &[]).exits(75).json()["error"].clone();
    assert!(error["hint"].as_str().unwrap().contains("`nrv resume "), "{error}");
    assert!(site.path("one.txt").exists() && !site.path("two.txt").exists());
    site.nrv(&["resume", "last"]).exits(0);
    assert_eq!((site.read("two.txt"), server.requests().len()), (b"x".to_vec(), 2));
    is_sound(&site);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("one.txt").exists());
}

/// Begins a run that reads a stream which does not end, and kills it when it has read that much.
fn killed(body: &str) -> (Site, ModelServer) {
    killed_with(body, &[streamed(&["whole"])])
}

/// The same with the answers to later requests.
fn killed_with(body: &str, more: &[Answer]) -> (Site, ModelServer) {
    let begun = Answer::begun(&[form::token(CHAT, "a"), form::token(CHAT, "b")]).then_hold();
    let server = ModelServer::serving(CHAT, [begun].into_iter().chain(more.iter().cloned()));
    let site = site(&server, "");
    script(&site, body);
    let running = site.start(&["run", "ask.rhai"]);
    let events = || site.recorded("**/events.jsonl").pop().map(|path| fs::read_to_string(path).unwrap());
    wait_until("the script has read", || {
        !server.requests().is_empty() && events().is_some_and(|events| events.contains("run.metric"))
    });
    running.signal(rustix::process::Signal::KILL);
    assert_ne!(running.end().code, 0);
    (site, server)
}

#[test]
fn a_stream_of_which_something_was_done_is_told_again_and_broken_off_after_a_crash() {
    let body = "let seen = \"\";\n\
                for e in nrv.llm.stream(#{ prompt: \"hi\", max_tokens: 50 }) {\n\
                    if e.type == \"token\" { seen += e.text; }\n\
                    if seen == \"ab\" && e.type == \"token\" { nrv.run.metric(\"read\", 2); }\n\
                    if e.type == \"error\" { seen += `!${e.error.details.kind}`; }\n\
                }\n\
                nrv.apply.create(\"out.txt\", seen);";
    let (site, server) = killed(body);
    site.nrv(&["resume", "last"]).exits(0);
    assert_eq!((site.read("out.txt"), server.requests().len()), (b"ab!truncated".to_vec(), 1));
    is_sound(&site);
}

#[test]
fn what_a_lost_request_may_have_taken_counts_when_the_run_goes_on() {
    let body = "for e in nrv.llm.stream(#{ prompt: \"hi\", max_tokens: 50 }) {\n\
                    if e.type == \"token\" && e.text == \"b\" { nrv.run.metric(\"read\", 2); }\n\
                }\n\
                nrv.apply.create(\"out.txt\", `${nrv.run.budget().tokens.used}`);";
    let (site, _server) = killed(body);
    let reserved = records(&site, "llm_sent")[0]["data"]["reserved"]["tokens"].as_u64().unwrap();
    site.nrv(&["resume", "last"]).exits(0);
    assert_eq!(site.read("out.txt"), reserved.to_string().into_bytes());
    is_sound(&site);
}

#[test]
fn a_request_that_is_made_again_keeps_its_key() {
    let ask = "#{ prompt: \"hi\", max_tokens: 50 }";
    let body = format!(
        "let first = true;\n\
         for e in nrv.llm.stream({ask}) {{\n\
             if e.type == \"token\" && first {{ first = false; nrv.llm.complete({ask}); }}\n\
             if e.type == \"token\" && e.text == \"b\" {{ nrv.run.metric(\"read\", 2); }}\n\
         }}\n\
         nrv.llm.complete({ask});"
    );
    let (site, _server) = killed_with(&body, &[streamed(&["one"]), streamed(&["two"])]);
    site.nrv(&["resume", "last"]).exits(0);
    let keys: Vec<_> = records(&site, "llm_sent").iter().map(|sent| sent["data"]["request"].clone()).collect();
    let ends: Vec<_> = keys
        .iter()
        .map(|key| key.as_str().unwrap().trim_start_matches(|c: char| c.is_ascii_hexdigit()).to_owned())
        .collect();
    assert_eq!(ends, ["", "-2", "-3"]);
}

#[test]
fn a_stream_that_is_left_after_a_call_failed_is_in_the_record() {
    let down = Answer::json("503 Service Unavailable", "", &json!({}));
    let server = ModelServer::serving(CHAT, [streamed(&["a", "b"]), down]);
    let site = site(&server, "");
    let body = "nrv.apply.create(\"one.txt\", \"1\\n\");\n\
                for e in nrv.llm.stream(#{ prompt: \"hi\", max_tokens: 50 }) {\n\
                    if e.type != \"token\" { continue; }\n\
                    try { nrv.llm.complete(#{ prompt: \"ho\", max_tokens: 50 }); } catch {}\n\
                    break;\n\
                }";
    run(&site, body, &[]).exits(0);
    let calls: Vec<_> = records(&site, "call").iter().map(|call| call["data"]["call"].clone()).collect();
    assert_eq!(calls, ["apply.create", "llm.complete", "llm.stream"]);
    is_sound(&site);
}

#[test]
fn a_request_of_which_nothing_was_done_is_made_again_after_a_crash() {
    let body = "nrv.run.metric(\"read\", 1);\n\
                let reply = nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 });\n\
                nrv.apply.create(\"out.txt\", reply.text);";
    let (site, server) = killed(body);
    site.nrv(&["resume", "last"]).exits(0);
    assert_eq!(site.read("out.txt"), b"whole");
    assert_eq!(server.requests().len(), 2);
    is_sound(&site);
}

#[test]
fn cancelling_a_run_ends_it_whatever_a_server_is_at() {
    let begun = || Answer::begun(&[form::token(CHAT, "a")]).then_hold();
    // One is asked for a reply, the other for its capabilities.
    for server in [ModelServer::serving(CHAT, [begun()]), ModelServer::answering(begun())] {
        let site = site(&server, "");
        script(&site, "nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 })");
        let running = site.start(&["run", "ask.rhai", "--json"]);
        wait_until("the server is asked", || !server.asked().is_empty());
        running.signal(rustix::process::Signal::INT);
        let ran = running.end();
        assert_eq!(ran.code, i32::from(Code::Cancelled.exit_code()), "{ran:?}");
        site.nrv(&["runs", "verify", "last"]).exits(0);
    }
}

#[test]
fn where_there_are_several_providers_and_no_default_a_request_has_to_name_one() {
    let server = ModelServer::serving(CHAT, [streamed(&["x"])]);
    let other = format!("[llm.providers.other]\ndialect = '{CHAT}'\nbase_url = 'http://127.0.0.1:9/v1'\n");
    let site = site(&server, &other);
    let ask = |more: &str| format!("nrv.llm.complete(#{{ prompt: \"hi\", max_tokens: 50{more} }}).text");
    let error = run(&site, &ask(""), &[]).exits(1).json()["error"].clone();
    assert!(error["hint"].as_str().unwrap().contains("heuristic, local, other"), "{error}");
    assert_eq!(run(&site, &ask(", provider: \"local\""), &[]).exits(0).json()["result"], "x");
}

#[test]
fn the_table_of_patterns_answers_where_nothing_is_configured() {
    let site = Site::new(0);
    let body = "let reply = nrv.llm.complete(#{ prompt: \"Move the links from old.example.com to new.example.com\", max_tokens: 50 });\n\
                nrv.llm.parse(reply.text, ()).tool_requests[0].tool";
    assert_eq!(run(&site, body, &[]).exits(0).json()["result"], "link_updater");
    let error = run(&site, "nrv.llm.complete(#{ prompt: \"Write a poem\", max_tokens: 50 })", &[]).exits(1);
    assert_eq!(error.json()["error"]["details"]["kind"], "refusal");
    assert!(!Path::new(&site.path("ask.llm")).exists());
}

#[test]
fn the_table_of_patterns_answers_by_its_name_whatever_was_asked_before() {
    let site = Site::new(0);
    fs::create_dir(site.path("rec")).unwrap();
    let table = "nrv.llm.complete(#{ provider: \"heuristic\", prompt: \"old.example.com is now new.example.com\", max_tokens: 50 })";
    let body =
        format!("try {{ nrv.llm.complete(#{{ prompt: \"x\", max_tokens: 50 }}); }} catch {{}}\n{table}.provider");
    assert_eq!(run(&site, &body, &["--replay-llm", "rec"]).exits(0).json()["result"], "heuristic");
}

#[test]
fn recorded_replies_alone_answer_a_run_that_goes_on_on_a_machine_alone_or_under_such_a_policy() {
    let body = "nrv.run.metric(\"read\", 1);\nnrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 });";
    let is_refused = |site: &Site, server: &ModelServer, ci: &str| {
        site.nrv(&["approve", "ask.rhai", "--yes"]).exits(0);
        let output = site.command(&["resume", "last"]).env("CI", ci).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && told.contains("recorded replies alone may answer"), "{told}");
        assert_eq!(server.requests().len(), 1);
    };
    let (site, server) = killed(body);
    is_refused(&site, &server, "true");
    let (site, server) = killed(body);
    let policy = String::from_utf8(site.read("nrv.toml")).unwrap();
    fs::write(site.path("nrv.toml"), format!("[llm]\ncassettes = 'replay'\n{policy}")).unwrap();
    is_refused(&site, &server, "false");
}

#[test]
fn replies_are_recorded_through_no_link_and_into_no_folder_that_runs_may_not_write() {
    let server = ModelServer::serving(CHAT, [streamed(&["one"])]);
    let body = "nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 }).request";
    let one = site(&server, "");
    let key = run(&one, body, &["--record-llm", "rec"]).exits(0).json()["result"].as_str().unwrap().to_owned();
    let asked = server.requests().len();
    for folder in [".git/rec", ".runs/rec", "ask.rhai"] {
        run(&one, body, &["--allow-dirty", "--record-llm", folder]).exits(i32::from(Code::ProtectedPath.exit_code()));
    }
    assert!(!one.path(".git/rec").exists());
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), one.path("out")).unwrap();
    run(&one, body, &["--allow-dirty", "--record-llm", "out"]).exits(i32::from(Code::ProtectedPath.exit_code()));
    assert_eq!(server.requests().len(), asked, "it is found out before a model is asked");
    // The author of a script knows the names of its cassettes.
    let mine = outside.path().join("mine");
    fs::write(&mine, "mine").unwrap();
    fs::create_dir(one.path("in")).unwrap();
    std::os::unix::fs::symlink(&mine, one.path(&format!("in/{key}.json"))).unwrap();
    run(&one, body, &["--allow-dirty", "--record-llm", "in"]).exits(i32::from(Code::ProtectedPath.exit_code()));
    assert_eq!(fs::read(&mine).unwrap(), b"mine");
    // The same with the folder beside the script.
    let two = site(&server, "[llm]\ncassettes = 'record'\n");
    std::os::unix::fs::symlink(outside.path(), two.path("ask.llm")).unwrap();
    run(&two, body, &["--allow-dirty"]).exits(1).says("no folder");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_of_recorded_replies_with_a_pipe_in_it_is_refused() {
    let site = Site::new(0);
    fs::create_dir(site.path("rec")).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, site.path("rec/a.json"), pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    let ran = run(&site, "nrv.llm.complete(#{ prompt: \"hi\", max_tokens: 50 })", &["--replay-llm", "rec"]).exits(1);
    assert!(ran.stderr.contains("is no cassette"), "{ran:?}");
}

#[test]
fn each_try_counts_among_the_requests_of_a_minute() {
    let busy = || Answer::json("529 Overloaded", "", &json!({"error": {"message": "busy"}}));
    let server = ModelServer::serving(CHAT, [busy(), busy(), busy(), streamed(&["x"])]);
    let site = site(&server, "rate_per_min = 2\n");
    let retry = "retry: #{ on: [\"overloaded\"], max: 5, wait_ms: 1 }";
    let ran = run(&site, &format!("nrv.llm.complete(#{{ prompt: \"hi\", max_tokens: 50, {retry} }})"), &[]).exits(6);
    assert_eq!(ran.json()["error"]["details"]["budget"], "llm.providers.local.rate_per_min");
    assert_eq!(server.requests().len(), 2);
    is_sound(&site);
}

#[test]
fn a_recorded_beginning_counts_as_much_as_the_stream_that_was_left() {
    let begun = Answer::begun(&[form::token(CHAT, "a"), form::token(CHAT, "b")]).then_hold();
    let server = ModelServer::serving(CHAT, [begun]);
    let site = site(&server, "");
    let body = "for e in nrv.llm.stream(#{ prompt: \"hi\", max_tokens: 50 }) { if e.type == \"token\" { break; } }\n\
                nrv.run.budget().tokens.used";
    let took = run(&site, body, &["--record-llm", "rec"]).exits(0).json()["result"].clone();
    assert!(took.as_u64().unwrap() > 50);
    assert_eq!(run(&site, body, &["--replay-llm", "rec", "--allow-dirty"]).exits(0).json()["result"], took);
}
