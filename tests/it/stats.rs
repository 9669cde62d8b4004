//! `nrv runs stats`: what many runs came to.

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
    // What is rolled back later did not stand.
    let id = site.runs()[1]["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &id]).exits(0);
    let two = stats(&site, &[]);
    assert_eq!((&two["runs"], &two["rolled_back"]), (&json!(4), &json!(2)));
    assert_eq!(row(&two), json!(["gates.diff_size.warn_lines", "diff-size", 1, 1, 1.0, 1.0]));
    assert_eq!(stats(&site, &["--since", "1"]), two);
    // And stands again once that is rolled back.
    let rollback = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &rollback]).exits(0);
    assert_eq!(stats(&site, &[])["rolled_back"], 1);
    let text = site.nrv(&["runs", "stats"]).exits(0).stdout;
    for words in ["rollback frequency", "gates.diff_size.warn_lines", "score"] {
        assert!(text.contains(words), "{words} is not in: {text}");
    }
}
