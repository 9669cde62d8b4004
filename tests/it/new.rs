//! `nrv new`: every template is a script that is right, with a case that holds.

#![expect(clippy::disallowed_methods, reason = "a test takes a policy away")]

use std::fs;

use crate::support::site::Site;

const TEMPLATES: [&str; 9] =
    ["adapter", "call", "command", "front-matter", "header", "links", "model", "schema", "text"];

#[test]
fn every_template_is_right_and_its_case_holds() {
    let site = Site::empty();
    let listed = site.nrv(&["new", "--json"]).exits(0).json();
    let names =
        listed["templates"].as_array().map(|rows| rows.iter().map(|row| row["name"].clone()).collect::<Vec<_>>());
    assert_eq!(names.unwrap_or_default(), TEMPLATES);
    for template in TEMPLATES {
        let name = format!("my_{}", template.replace('-', "_"));
        let written = site.nrv(&["new", template, &name, "--json"]).exits(0).json();
        let file = written["files"][0].as_str().unwrap_or_default().to_owned();
        let checked = site.nrv(&["check", &file]).exits(0);
        assert!(checked.stderr.contains("nothing is wrong"), "{template}: {}", checked.stderr);
        let tested = site.nrv(&["test", &file]).exits(0);
        assert!(tested.stderr.contains("1 held"), "{template}: {}", tested.stderr);
    }
    site.nrv(&["test"]).exits(0);
}

/// The replies belong to the requests of the case, and those of its second pass: nothing is asked, and nothing is missing.
#[test]
fn the_template_of_a_model_answers_from_recordings_and_takes_new_ones() {
    let site = Site::empty();
    site.nrv(&["new", "llm", "mend"]).exits(0).says("nrv llm record scripts/mend.rhai --case first --reply FILE");
    site.write(
        "nrv.toml",
        "[llm.providers.local]\ndialect = 'openai_chat'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9/v1'\n",
    );
    let tested = site.nrv(&["test"]).exits(0);
    fs::remove_file(site.path("nrv.toml")).unwrap();
    assert!(!tested.stdout.contains("second pass"), "{}", tested.stdout);
    site.write("a.md", "Some txet.\n");
    site.nrv(&["run", "scripts/mend.rhai", "--yes"]).exits(1).says("there is no provider");
    let reply = "{\"replacements\": [{\"from\": \"txet\", \"to\": \"text\"}]}";
    site.nrv_with(&["llm", "record", "scripts/mend.rhai", "--reply", "-"], reply).exits(0);
    assert_eq!(site.read("a.md"), b"Some txet.\n");
    site.nrv(&["run", "scripts/mend.rhai", "--yes"]).exits(0);
    assert_eq!(site.read("a.md"), b"Some text.\n");
    // A passage that is not there ends the run, and nothing is written.
    site.write("a.md", "Other words.\n");
    site.nrv_with(&["llm", "record", "scripts/mend.rhai", "--reply", "-"], reply).exits(3).says("stands in a.md once");
}

#[test]
fn a_template_writes_over_nothing_and_says_its_next_steps() {
    let site = Site::empty();
    let told = site.nrv(&["new", "replace", "words"]).exits(0);
    assert!(told.stdout.starts_with("scripts/words.rhai\nscripts/words.test/first/args.json\n"), "{}", told.stdout);
    told.says("nrv test scripts/words.rhai");
    let before = site.tree();
    site.nrv(&["new", "text", "words"]).exits(1).says("`scripts/words.rhai` can't be made");
    site.nrv(&["new", "words"]).exits(2).says("write `nrv new TEMPLATE words`");
    site.nrv(&["new", "texts", "other"]).exits(2).says("did you mean `text`?");
    site.nrv(&["new", "text", "../other"]).exits(2).says("can't be the name of a script");
    assert!(site.tree() == before);
}
