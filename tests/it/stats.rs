//! `nrv runs stats`: statistics of many runs, and the suggestions from their violations.
#![expect(clippy::disallowed_methods, reason = "tests write patches")]

use serde_json::{Value, json};

use crate::support::site::Site;

fn run(site: &Site, body: &str, exit: i32) {
    let text = format!("const WORKFLOW = #{{ name: \"t\", permissions: #{{ write: [\"**\"] }} }};\n{body}\n");
    site.script("t.rhai", &text);
    site.nrv(&["run", "t.rhai", "--yes"]).exits(exit);
}

fn stats(site: &Site, more: &[&str]) -> Value {
    site.nrv(&[&["runs", "stats", "--json"], more].concat()).exits(0).json()
}

#[test]
fn runs_are_taken_together_and_what_broke_rules_is_ranked() {
    let site = Site::new(0).policy("[gates.diff_size]\nwarn_lines = 3\n");
    assert_eq!(stats(&site, &[])["runs"], 0);
    run(&site, "nrv.run.metric(\"score\", 4); nrv.apply.create(\"a.txt\", \"1\\n2\\n\");", 0);
    run(&site, "nrv.run.metric(\"score\", 8); nrv.apply.create(\"b.txt\", \"1\\n2\\n3\\n4\\n5\\n6\\n\");", 0);
    run(&site, "nrv.apply.create(\"c.txt\", \"1\\n\"); throw \"no\"", 1);
    run(&site, "nrv.files.exists(\"a.txt\")", 0);
    let one = stats(&site, &[]);
    assert_eq!((&one["runs"], &one["changed"], &one["rolled_back"]), (&json!(4), &json!(3), &json!(1)));
    let changes = json!({
        "lines_per_modification": 3.0, "small_share": 0.666_667, "build_success": null, "calls_per_change": 1.666_667,
        "rollback_frequency": 0.333_333, "rework": 0.333_333,
    });
    assert_eq!(one["changes"], changes);
    assert_eq!(one["metrics"]["score"], json!({"runs": 2, "min": 4.0, "mean": 6.0, "max": 8.0}));
    let row = |stats: &Value| {
        let row = &stats["violations"][0];
        json!([row["rule"], row["gate"], row["count"], row["runs"], row["rework"], row["score"]])
    };
    assert_eq!(row(&one), json!(["gates.diff_size.warn_lines", "diff-size", 1, 1, 0.0, 0.0]));
    // A change that is rolled back later did not last.
    let id = site.runs()[1]["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &id]).exits(0);
    let two = stats(&site, &[]);
    assert_eq!((&two["runs"], &two["rolled_back"]), (&json!(4), &json!(2)));
    assert_eq!(row(&two), json!(["gates.diff_size.warn_lines", "diff-size", 1, 1, 1.0, 1.0]));
    assert_eq!(stats(&site, &["--since", "1"]), two);
    // It lasts again once the rollback is rolled back.
    let rollback = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &rollback]).exits(0);
    assert_eq!(stats(&site, &[])["rolled_back"], 1);
    let text = site.nrv(&["runs", "stats"]).exits(0).stdout;
    for words in ["rollback frequency", "gates.diff_size.warn_lines", "score"] {
        assert!(text.contains(words), "{words} is not in: {text}");
    }
}

#[test]
fn two_workflows_stand_side_by_side_and_beside_a_baseline() {
    let site = Site::new(0);
    let text = |value: u32, name: &str| {
        format!(
            "const WORKFLOW = #{{ name: \"t\", permissions: #{{ write: [\"**\"] }} }};\nnrv.run.metric(\"score\", {value}); nrv.apply.create(\"{name}\", \"1\\n2\\n\");\n"
        )
    };
    for (script, value, name) in [("a.rhai", 4, "1"), ("a.rhai", 6, "2"), ("b.rhai", 9, "3")] {
        site.script(script, &text(value, name));
        site.nrv(&["run", script, "--yes"]).exits(0);
    }
    site.write("given.json", r#"{"score": 0.5, "lines_per_modification": "25 to 139", "other": 3}"#);
    let compared = stats(&site, &["--compare", "a.rhai", "b.rhai", "--baseline", "given.json"]);
    let schema: Value = serde_json::from_str(include_str!("../../schemas/comparison.schema.json")).unwrap();
    assert!(jsonschema::is_valid(&schema, &compared), "{compared}");
    let one = |at: usize| &compared["compared"][at];
    assert_eq!(
        (&one(0)["of"], &one(0)["stats"]["runs"], &one(1)["stats"]["runs"]),
        (&json!("a.rhai"), &json!(2), &json!(1))
    );
    assert_eq!(one(0)["stats"]["metrics"]["score"]["mean"], json!(5.0));
    assert_eq!(compared["baseline"]["lines_per_modification"], "25 to 139");
    let shown =
        site.nrv(&["runs", "stats", "--compare", "a.rhai", "b.rhai", "--baseline", "given.json"]).exits(0).stdout;
    let row = |name: &str| -> Vec<&str> {
        let line = shown.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("{name} is not in: {shown}")).split_whitespace().skip(1).collect()
    };
    assert_eq!((row("score"), row("runs")), (vec!["5.00", "9.00", "0.50"], vec!["2.00", "1.00", "-"]));
    assert_eq!(
        (row("lines_per_modification"), row("other")),
        (vec!["2.00", "2.00", "25", "to", "139"], vec!["-", "-", "3.00"])
    );
    // A run by its id, too.
    let last = site.runs()[2]["run"].as_str().unwrap().to_owned();
    assert_eq!(
        stats(&site, &["--compare", &last, "a.rhai"])["compared"][0]["stats"]["metrics"]["score"]["max"],
        json!(9.0)
    );
    site.nrv(&["runs", "stats", "--compare", "a.rhai", "c.rhai"])
        .exits(1)
        .says("is named `c.rhai`")
        .says("did you mean");
    site.nrv(&["runs", "stats", "--compare", "a.rhai"]).exits(2);
    site.nrv(&["runs", "stats", "--baseline", "given.json"]).exits(2);
    site.write("given.json", "[1]");
    let wrong = ["runs", "stats", "--compare", "a.rhai", "b.rhai", "--baseline", "given.json"];
    site.nrv(&wrong).exits(1).says("can't be read");
    site.write("given.json", r#"{"score": true}"#);
    site.nrv(&wrong).exits(1).says("`score`");
}

#[test]
fn violations_ask_for_a_change_of_the_policy_that_git_takes() {
    let site = Site::new(0).policy("# ours\n[gates.diff_size]\nwarn_lines = 3 # few\n");
    let nothing = site.nrv(&["runs", "stats", "--suggest"]).exits(0).says("There is nothing to suggest.");
    assert_eq!(nothing.stdout, "");
    run(&site, "nrv.apply.create(\"a.txt\", \"1\\n2\\n3\\n4\\n\"); throw \"no\"", 1);
    let exec = "nrv.exec.run(#{ program: \"true\" })";
    for _ in 0..2 {
        let text = format!("const WORKFLOW = #{{ name: \"t\", permissions: #{{ exec: [\"true\"] }} }};\n{exec}\n");
        site.script("e.rhai", &text);
        site.nrv(&["run", "e.rhai", "--yes"]).exits(3);
    }
    let patch = site.nrv(&["runs", "stats", "--suggest"]).exits(0).stdout;
    for line in [
        "+# `gates.diff_size.warn_lines` objected 1 time in 1 run; 100 % of the lines they added did not stand.",
        "+block_lines = 3",
        "+prefix = [\"true\"]",
    ] {
        assert!(patch.contains(&format!("{line}\n")), "{line} is not in: {patch}");
    }
    assert_eq!(site.nrv(&["runs", "stats", "--suggest"]).exits(0).stdout, patch);
    let told = site.nrv(&["runs", "stats", "--suggest", "--json"]).exits(0).json();
    let keys: Vec<&str> =
        told["suggestions"].as_array().unwrap().iter().map(|one| one["key"].as_str().unwrap()).collect();
    assert_eq!((keys, &told["patch"]), (vec!["gates.diff_size.block_lines", "exec.allow"], &json!(patch)));
    let file = site.root().parent().unwrap().join("suggested.patch");
    std::fs::write(&file, &patch).unwrap();
    site.git(&["apply", &file.display().to_string()]);
    site.commit();
    run(&site, "nrv.apply.create(\"b.txt\", \"1\\n2\\n3\\n4\\n\")", 3);
    site.nrv(&["run", "e.rhai", "--yes"]).exits(0);
    site.nrv(&["runs", "stats", "--suggest"]).exits(0).says("There is nothing to suggest.");
}

#[test]
fn without_a_policy_the_suggestion_makes_one() {
    let site = Site::empty();
    site.git(&["init", "-q"]);
    let lines = "1\\n".repeat(400);
    run(&site, &format!("nrv.apply.create(\"a.txt\", \"{lines}\"); throw \"no\""), 1);
    let patch = site.nrv(&["runs", "stats", "--suggest"]).exits(0).stdout;
    assert!(patch.contains("--- /dev/null\n+++ b/nrv.toml\n"), "{patch}");
    let file = site.root().join("suggested.patch");
    std::fs::write(&file, &patch).unwrap();
    site.git(&["apply", "suggested.patch"]);
    let policy = String::from_utf8(site.read("nrv.toml")).unwrap();
    assert!(policy.ends_with("block_lines = 300\n"), "{policy}");
}
