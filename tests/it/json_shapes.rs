//! `--json`: exactly one document on stdout, of a known shape, in every case.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use nrv::system::schema::Schema;
use serde_json::{Value, json};

use crate::support::{
    hold::{held_script, stopped_in_transaction},
    site::{MIGRATE, NEW, OLD, Ran, Site, invocation},
};

const RUN: [&str; 7] = ["dta", "run", "link_updater", "--input", "-", "--json", "--yes"];

const OUTPUT: &str = include_str!("../../schemas/link_updater.output.schema.json");
const FINISHED: &str = include_str!("../../schemas/finished.schema.json");
const RECORD: &str = include_str!("../../schemas/record.schema.json");

#[track_caller]
fn fits(document: &Value) {
    fits_schema(OUTPUT, document);
}

#[track_caller]
fn fits_schema(text: &str, document: &Value) {
    let schema = Schema::compile(&serde_json::from_str(text).unwrap()).unwrap();
    schema.check(document).unwrap();
}

fn run(site: &Site, more: &[&str], input: &Value) -> Ran {
    site.nrv_with(&[&RUN[..], more].concat(), &input.to_string())
}

#[test]
fn an_adapters_output_fits_its_schema() {
    let site = Site::new(5);
    let input = invocation("site/**/*.html", OLD, NEW);
    for (more, code) in [(&["--dry-run"][..], 0), (&["--dry-run", "--exit-code"], 8)] {
        let output = run(&site, more, &input).exits(code).json();
        fits(&output);
        assert_eq!((&output["phase"], &output["applied_changes"]["files"]), (&json!("dry-run"), &json!(0)));
        assert_eq!((&output["ok"], &output["proposed_changes"]["files"]), (&json!(true), &json!(5)));
    }
    let mut dry = input.clone();
    dry["mode"] = json!("dry-run");
    fits(&run(&site, &[], &dry).exits(0).json());
    fits(&run(&site, &["--exit-code"], &dry).exits(8).json());
    let output = run(&site, &[], &input).exits(0).json();
    fits(&output);
    assert_eq!((&output["ok"], &output["applied_changes"]["files"]), (&json!(true), &json!(5)));
    // The output names the paths of its artefacts, among them the manifest of the applied changes.
    let folder = site.path(".runs").join(output["run"].as_str().unwrap());
    let paths: Vec<&str> = output["artifacts"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(paths.iter().all(|path| folder.join(path).is_file()), "{paths:?}");
    let manifest = paths.iter().find(|path| path.ends_with("-applied.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.join(manifest)).unwrap()).unwrap();
    assert_eq!(manifest["entries"].as_array().unwrap().len(), 5);
    let output = run(&site, &[], &input).exits(0).json();
    fits(&output);
    assert_eq!((&output["ok"], &output["applied_changes"]["files"]), (&json!(true), &json!(0)));
}

#[test]
fn a_link_whose_scheme_is_spelled_out_moves_to_a_host_of_the_same_scheme() {
    let site = Site::new(1);
    let page = |host: &str| format!("<a href=\"http&#58;//{host}/a\">a</a> <a href='&#104;ttp:&sol;/{host}'>b</a>\n");
    site.script("site/spelled.html", &page("old.example.com"));
    let mut input = invocation("site/spelled.html", "old.example.com", NEW);
    input["params"]["to_host"] = json!("http://new.example.com");
    let output = run(&site, &[], &input).exits(0).json();
    assert_eq!((&output["ok"], &output["applied_changes"]["link_updates"]), (&json!(true), &json!(2)));
    assert_eq!(String::from_utf8(site.read("site/spelled.html")).unwrap(), page("new.example.com"));
}

#[test]
fn an_adapters_output_fits_its_schema_when_the_verifier_fails() {
    let site = Site::new(40);
    site.script("site/a/quiet.html", "<p>a page without old links</p>\n");
    let before = site.tree();
    let file = site.root().parent().unwrap().join("input.json");
    std::fs::write(&file, invocation("site/**/*.html", OLD, NEW).to_string()).unwrap();
    let file = file.display().to_string();
    let arguments = ["dta", "run", "link_updater", "--input", &file, "--json", "--yes"];
    let running = stopped_in_transaction(&site, &arguments, || site.reset(&before));
    site.write("site/a/quiet.html", "<p>edited</p>\n");
    running.signal(rustix::process::Signal::CONT);
    let output = running.end().exits(4).json();
    fits(&output);
    assert_eq!((&output["ok"], &output["verifier"]["passed"]), (&json!(false), &json!(false)));
    let failure = &output["verifier"]["failures"][0];
    assert!(failure.to_string().contains("site/a/quiet.html"), "{output:#}");
}

#[test]
fn what_runs_came_to_and_their_records_fit_their_schemas() {
    let site = Site::new(3);
    site.script("throws.rhai", &held_script("", "", "throw \"no\";"));
    let migrate: Vec<&str> = MIGRATE.iter().copied().filter(|word| *word != "--yes").collect();
    for (arguments, code, state) in [
        (&["run", "throws.rhai", "--yes"][..], 1, "failed"),
        (&migrate, 7, "suspended"),
        (&[&MIGRATE[..], &["--dry-run"]].concat(), 0, "done"),
        (&MIGRATE, 0, "done"),
    ] {
        let finished = site.nrv(&[arguments, &["--json"]].concat()).exits(code).json();
        fits_schema(FINISHED, &finished);
        assert_eq!((&finished["state"], finished.get("error").is_some()), (&json!(state), code != 0), "{finished}");
    }
    let rolled_back = site.nrv(&["rollback", "last", "--json"]).exits(0).json();
    fits_schema(FINISHED, &rolled_back["finished"]);
    let runs = site.runs();
    assert_eq!(runs.len(), 5);
    for run in runs {
        let shown = site.nrv(&["runs", "show", run["run"].as_str().unwrap(), "--json"]).exits(0).json();
        for record in shown["records"].as_array().unwrap() {
            fits_schema(RECORD, record);
        }
    }
}

#[test]
fn a_failure_is_one_document_with_a_code() {
    let site = Site::new(3);
    let good = invocation("site/**/*.html", OLD, NEW);
    let with = |key: &str, value: Value| {
        let mut input = good.clone();
        input[key] = value;
        input
    };
    for (input, more, exit, code) in [
        (with("target", json!({"repo_path": ".."  , "glob": "**"})), &[][..], 1, "invalid_path"),
        (with("params", json!({})), &[], 1, "invalid_input"),
        (with("tool", json!("other")), &[], 1, "invalid_input"),
        (with("surprise", json!(1)), &[], 1, "invalid_input"),
        (with("constraints", json!({"max_files": 1, "timeout_ms": 300_000, "seed": 1})), &[], 1, "invalid_input"),
    ] {
        let ran = run(&site, more, &input);
        let document = ran.json();
        assert_eq!((ran.code, &document["error"]["code"]), (exit, &json!(code)), "{document:#}");
        assert!(document["error"]["message"].is_string() && !ran.stderr.is_empty(), "{document}");
    }
    let asked = site.nrv_with(&RUN[..6], &good.to_string());
    assert_eq!((asked.code, &asked.json()["error"]["code"]), (7, &json!("suspended")));
    let ran = site.nrv_with(&RUN, "not json");
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("invalid_input")));
    let ran = site.nrv_with(&["dta", "run", "nothing", "--input", "-", "--json"], "{}");
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &json!("not_found")));
}

#[test]
fn every_command_writes_exactly_one_document() {
    let site = Site::new(3);
    site.nrv(&["runs", "list", "--json"]).exits(0).json();
    let finished = site.migrate(&["--json"]).exits(0).json();
    for key in ["run", "state", "result", "mode", "files_changed", "diff_lines", "undone", "would_ask", "duration_ms"] {
        assert!(finished.get(key).is_some(), "{key}: {finished}");
    }
    site.script("bad.rhai", "let = ;");
    site.script(
        "noisy.rhai",
        "print(\"to stderr\"); nrv.ui.show(\"text\"); nrv.ui.table([#{ a: 1 }]); nrv.ui.step(\"s\"); 5",
    );
    assert_eq!(site.nrv(&["run", "noisy.rhai", "--json"]).exits(0).json()["result"], 5);
    for (arguments, code) in [
        (&["run", "bad.rhai"][..], 1),
        (&["run", "missing.rhai"], 1),
        (&["run", "scripts/migrate_links.rhai"], 2),
        (&["runs", "list"], 0),
        (&["runs", "show", "last"], 0),
        (&["runs", "show", "last", "--canonical"], 0),
        (&["runs", "show", "nothing"], 1),
        (&["runs", "verify", "last"], 0),
        (&["runs", "verify", "nothing"], 1),
        (&["replay", "last"], 0),
        (&["replay", "nothing"], 1),
        (&["dta", "list"], 0),
        (&["dta", "describe", "link_updater"], 0),
        (&["dta", "describe", "nothing"], 1),
        (&["dta", "verify", "last"], 0),
        (&["plan", "bad.rhai", "-o", "-"], 1),
        (&["plan", "noisy.rhai", "-o", "-"], 0),
        (&["recover"], 0),
        (&["recover", "--check"], 0),
        (&["hooks", "install"], 2),
        (&["hooks", "install", "--dry-run"], 0),
        (&["hooks", "status"], 0),
        (&["hooks", "remove"], 1),
        (&["scripts"], 0),
        (&["init", "--dry-run"], 0),
        (&["doctor"], 0),
        (&["rollback", "last"], 0),
        (&["rollback", "nothing"], 1),
    ] {
        let ran = site.nrv(&[arguments, &["--json"]].concat());
        let document = ran.json();
        assert_eq!(ran.code, code, "{arguments:?}: {document:#}");
        let error = &document["error"];
        assert_eq!(error["code"].is_string(), code != 0, "{arguments:?}: {document:#}");
        assert!(code == 0 || document["exit_code"] == code, "{arguments:?}: {document:#}");
    }
}

/// A page that `link_updater` can't read.
const UNREADABLE: &str =
    "<body><select><option>a<option>b\n<iframe src=\"http://old.example.com/f\"></iframe></body>\n";

#[test]
fn a_skipped_file_is_named_everywhere() {
    let site = Site::new(1);
    site.write("site/broken.html", UNREADABLE);
    site.script(
        "w.rhai",
        "const WORKFLOW = #{ name: \"w\" };
         nrv.dta(\"link_updater\").propose(#{ target: #{ glob: \"site/**\" }, params: #{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" } });",
    );
    site.commit();
    let input = invocation("site/**/*.html", OLD, NEW).to_string();
    let mut error = invocation("site/**/*.html", OLD, NEW);
    error["params"]["on_skip"] = json!("error");
    let links =
        ["run", "std:migrate_all_links", "--arg", "from=old.example.com", "--arg", "to=https://new.example.com"];
    let adapter = ["dta", "run", "link_updater", "--input", "-"];
    let runs: [(Vec<&str>, String, i32); 6] = [
        ([&links[..], &["--arg", "glob=site/**/*.html", "--dry-run"]].concat(), String::new(), 0),
        ([&links[..], &["--arg", "glob=site/broken.html", "--yes"]].concat(), String::new(), 0),
        ([&adapter[..], &["--dry-run"]].concat(), input.clone(), 0),
        ([&adapter[..], &["--yes"]].concat(), error.to_string(), 1),
        (vec!["run", "w.rhai"], String::new(), 0),
        ([&adapter[..], &["--yes"]].concat(), input, 0),
    ];
    for (arguments, input, code) in runs {
        site.nrv_with(&arguments, &input)
            .exits(code)
            .says("not read: `site/broken.html`: what is text and what is markup");
        let shown = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
        assert!(shown.contains("not read: `site/broken.html`: what is text"), "{arguments:?}: {shown}");
        let report = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
        assert!(report.contains("Unread files") && report.contains("`site/broken.html`: what is text"), "{report}");
        let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
        assert_eq!(report["unread"][0]["path"], "site/broken.html", "{arguments:?}");
        for form in
            [&["--html"][..], &["--annotations", "github"], &["--annotations", "gitlab"], &["--annotations", "sarif"]]
        {
            let report = site.nrv(&[&["runs", "report", "last"], form].concat()).exits(0).stdout;
            assert!(report.contains("site/broken.html") && report.contains("what is text"), "{arguments:?} {form:?}");
        }
    }
}

#[test]
fn a_migrator_that_fails_to_apply_answers_in_the_shape_of_its_output() {
    let schema = include_str!("../../schemas/json_schema_migrator.output.schema.json");
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("s/a.json", "{\"n\": \"1\"}\n");
    site.write("s/b.json", "{\n  \"n\": \"x\"\n}\n");
    site.write("s/c.json", "{");
    site.commit();
    let before = site.tree();
    let mut input = json!({
        "tool": "json_schema_migrator", "version": "1.0", "mode": "apply", "target": {"repo_path": ".", "glob": "s/*"},
        "params": {"schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}, "fixes": {"coerce": true}},
        "constraints": {"max_files": 10, "timeout_ms": 60_000, "seed": 0},
    });
    let arguments = ["dta", "run", "json_schema_migrator", "--input", "-", "--json", "--yes"];
    let ran = site.nrv_with(&arguments, &input.to_string()).exits(4);
    let output = ran.json();
    fits_schema(schema, &output);
    assert_eq!((&output["ok"], &output["phase"]), (&json!(false), &json!("dry-run")));
    assert_eq!((&output["proposed_changes"]["files"], &output["applied_changes"]["files"]), (&json!(1), &json!(0)));
    let failures = output["verifier"]["failures"].as_array().unwrap();
    assert_eq!(failures.iter().map(|one| one["path"].as_str().unwrap()).collect::<Vec<_>>(), ["s/b.json", "s/c.json"]);
    assert!(output["run"].is_string() && site.tree() == before);
    site.nrv_with(&arguments[..5], &input.to_string()).exits(4).says("permit more fixes");
    let request = json!({"id": 7, "input": input, "files": {"s/b.json": "{}", "s/a.json": "{\"n\": \"1\"}"}});
    let answer =
        site.nrv_with(&["dta", "run", "json_schema_migrator", "--jsonl"], &request.to_string()).exits(0).json();
    fits_schema(schema, &answer["output"]);
    assert_eq!((&answer["output"]["ok"], &answer["files"]), (&json!(false), &json!({})));
    input["params"]["allow_invalid"] = json!(["s/b.json", "s/c.json"]);
    let output = site.nrv_with(&arguments, &input.to_string()).exits(0).json();
    assert_eq!((&output["ok"], &output["applied_changes"]["files"]), (&json!(true), &json!(1)));
}
