//! The published schemas, checked against the program's real output.
#![expect(clippy::disallowed_methods, reason = "tests read records and the repository")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use nrv::{
    edit::{self, By, Edit, Tool},
    system::schema::Schema,
};
use serde_json::{Value, json};

use crate::{
    repository,
    support::site::{Site, invocation},
};

/// Fails unless a document fits the schema of that name.
#[track_caller]
fn fits(name: &str, document: &Value) {
    let text = repository::text(&format!("schemas/{name}.schema.json")).unwrap();
    let schema = Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap();
    schema.check(document).unwrap_or_else(|error| panic!("{name}: {error}: {document:#}"));
}

/// Fails if a document still fits when a field more is in it.
#[track_caller]
fn is_closed(name: &str, document: &Value) {
    let text = repository::text(&format!("schemas/{name}.schema.json")).unwrap();
    let schema = Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap();
    let mut more = document.clone();
    more["other"] = json!(1);
    assert!(schema.check(&more).is_err(), "{name} takes anything");
}

fn result_of(site: &Site, body: &str) -> Value {
    let header =
        "const WORKFLOW = #{ name: \"t\", permissions: #{ write: [\"**\"], exec: [\"sh\"], llm: [\"heuristic\"] } };";
    site.script("t.rhai", &format!("{header}\n{body}\n"));
    site.nrv(&["run", "t.rhai", "--yes", "--json"]).exits(0).json()
}

#[test]
fn verdicts_fit_their_schema() {
    let site = Site::new(0);
    for (words, code) in [(&["ls"][..], 0), (&["rm", "-rf", "/"], 3)] {
        let verdict = site.nrv(&[&["gate", "--json", "command", "--"], words].concat()).exits(code).json();
        fits("verdict", &verdict);
        is_closed("verdict", &verdict);
    }
    let result = result_of(&site, "nrv.gate.evaluate_tool_use(\"Bash\", #{ command: \"git push --force\" })");
    fits("verdict", &result["result"]);
}

#[test]
fn outcomes_of_commands_fit_their_schema() {
    let site = Site::new(0).policy("[[exec.allow]]\nprefix = [\"sh\"]\n");
    for script in ["exit 0", "echo a; echo b >&2; exit 3", "kill -9 $$", "echo x > made"] {
        let command = format!("#{{ program: \"sh\", args: [\"-c\", \"{script}\"], writes: [\"made\"] }}");
        let outcome = result_of(&site, &format!("nrv.exec.run({command})"))["result"].clone();
        fits("exec_outcome", &outcome);
        is_closed("exec_outcome", &outcome);
    }
}

#[test]
fn commitments_fit_their_schema() {
    let site = Site::new(0);
    let body = "nrv.commit(#{ description: \"a is there\", assertion: #{ file_exists: \"a.txt\" } });
        nrv.apply.create(\"a.txt\", \"1\\n\"); 1";
    let finished = result_of(&site, body);
    fits("commitments", &finished["commitments"]);
    fs::remove_file(site.path("a.txt")).unwrap();
    let verified = site.nrv(&["verify", "last", "--json"]).exits(4).json();
    fits("commitments", &verified["commitments"]);
    assert_eq!(verified["commitments"][0]["ok"], false);
}

#[test]
fn outcomes_of_edits_fit_their_schema() {
    let site = Site::new(0);
    site.write("a.html", "<p class=\"a\" id=\"b\">c</p>\n");
    site.commit();
    for (edit, status) in [
        ("update_class_name(\"a.html:1\", \"a\", \"d\")", "applied"),
        ("update_class_name(\"a.html:1\", \"a\", \"a\")", "noop"),
        ("update_prop_value(\"a.html:1\", \"id\", \"b\", \"e\")", "applied"),
        ("add_aria_attribute(\"a.html:1\", \"p\", \"role\", \"note\")", "applied"),
    ] {
        let outcome = result_of(&site, &format!("nrv.edit.{edit}"))["result"].clone();
        fits("edit_outcome", &outcome);
        is_closed("edit_outcome", &outcome);
        assert_eq!(outcome["status"], status);
        site.write("a.html", "<p class=\"a\" id=\"b\">c</p>\n");
    }
}

/// With `NRV_BLESS` the schemas are written anew.
#[test]
fn the_parameters_of_edits_have_published_schemas() {
    for tool in Tool::ALL {
        let path = repository::root().join(format!("schemas/{}.schema.json", tool.as_str()));
        let schema = edit::schema(tool);
        if std::env::var_os("NRV_BLESS").is_some() {
            fs::write(&path, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
        }
        let shipped: Value = serde_json::from_slice(&fs::read(&path).unwrap_or_default()).unwrap_or_default();
        assert_eq!(shipped, schema, "{}: NRV_BLESS=1 writes it anew", path.display());
        for by in [By::Line, By::Selector] {
            let one = edit::definition(tool, by)["input_schema"].clone();
            let schema = Schema::compile(&schema).unwrap();
            let params = |kind: &Value| if kind == "integer" { json!(1) } else { json!("x") };
            let fields = one["properties"].as_object().unwrap();
            let all: serde_json::Map<String, Value> =
                fields.iter().map(|(name, field)| (name.clone(), params(&field["type"]))).collect();
            schema.check(&Value::Object(all.clone())).unwrap();
            assert!(Edit::parse(tool, &Value::Object(all)).is_ok(), "{tool:?} {by:?}");
        }
    }
}

#[test]
fn replies_and_events_of_models_fit_their_schemas() {
    let site = Site::new(0);
    let ask = |prompt: &str| format!("#{{ provider: \"heuristic\", prompt: \"{prompt}\", max_tokens: 200 }}");
    let reply = result_of(&site, &format!("nrv.llm.complete({})", ask("Move the links from a.com to b.com.")));
    fits("model_reply", &reply["result"]);
    is_closed("model_reply", &reply["result"]);
    for prompt in ["Move the links from a.com to b.com.", "Sing."] {
        let body = format!("let all = []; for event in nrv.llm.stream({}) {{ all.push(event); }} all", ask(prompt));
        let events = result_of(&site, &body)["result"].clone();
        let events = events.as_array().unwrap();
        events.iter().for_each(|event| fits("model_event", event));
        assert_eq!(events[0]["type"], "started");
        is_closed("model_event", &events[0]);
    }
}

#[test]
fn artefacts_of_adapters_fit_their_schemas() {
    let site = Site::new(3);
    let input = invocation("site/**/*.html", crate::support::site::OLD, crate::support::site::NEW);
    site.nrv_with(&["dta", "run", "link_updater", "--input", "-", "--json", "--yes"], &input.to_string()).exits(0);
    for (pattern, name) in [("baseline", "baseline"), ("proposed", "manifest"), ("applied", "manifest")] {
        let paths = site.recorded(&format!("*/dta/link_updater/*-{pattern}.json"));
        assert_eq!(paths.len(), 1, "{pattern}");
        let document: Value = serde_json::from_slice(&fs::read(&paths[0]).unwrap()).unwrap();
        fits(name, &document);
        is_closed(name, &document);
    }
}

#[test]
fn the_approvals_of_this_repository_fit_their_schema() {
    let text = repository::text("nrv.lock").unwrap();
    let lock = nrv::script::approval::Lock::parse(&text).unwrap();
    let document = serde_json::to_value(&lock).unwrap();
    assert!(!document["scripts"].as_object().unwrap().is_empty());
    fits("lock", &document);
    is_closed("lock", &document);
}

#[test]
fn records_of_commands_and_models_fit_their_schema() {
    let site = Site::new(0).policy("[[exec.allow]]\nprefix = [\"sh\"]\n");
    let body = "nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"echo x\"] });
        try { nrv.llm.complete(#{ provider: \"heuristic\", prompt: \"hello\", max_tokens: 10 }); } catch {} 1";
    result_of(&site, body);
    let events = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    assert!(events.contains("\"exec_ended\"") && events.contains("\"llm_sent\""), "{events}");
    for line in events.lines() {
        fits("record", &serde_json::from_str(line).unwrap());
    }
}

#[test]
fn every_schema_is_a_schema_and_the_pages_name_it() {
    let files = repository::files();
    let pages: String =
        files.iter().filter(|path| path.starts_with("docs/")).filter_map(|path| repository::text(path)).collect();
    for path in files.iter().filter(|path| path.starts_with("schemas/")) {
        let document: Value = serde_json::from_str(&repository::text(path).unwrap()).unwrap();
        Schema::compile(&document).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(pages.contains(path.as_str()), "no page of docs/ names {path}");
    }
}
