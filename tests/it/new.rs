//! `nrv new`: every template is a script that is right, with a case that holds.

use crate::support::site::Site;

const TEMPLATES: [&str; 8] = ["adapter", "call", "command", "front-matter", "header", "links", "schema", "text"];

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
