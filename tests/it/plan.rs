//! Plans as files: the output of `nrv plan`, and its use by `nrv apply`.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read what was written")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, os::unix::fs::FileTypeExt, path::Path};

use nrv::{base::hash::Sha256, system::schema::Schema};
use serde_json::{Value, json};

use crate::{
    repository,
    support::site::{MIGRATE, Site, Tree},
};

const PLAN: &str = include_str!("../../schemas/plan.schema.json");
const FINISHED: &str = include_str!("../../schemas/finished.schema.json");

/// `nrv plan` of the shipped workflow, without `-o`.
fn plan<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let script = MIGRATE[1..].iter().copied().filter(|word| *word != "--yes");
    ["plan"].into_iter().chain(script).chain(more.iter().copied()).collect()
}

/// A plan on stdout.
fn planned(site: &Site) -> Value {
    let plan = site.nrv(&plan(&["-o", "-"])).exits(0).json();
    Schema::compile(&serde_json::from_str(PLAN).unwrap()).unwrap().check(&plan).unwrap();
    plan
}

/// The diffs of a plan as one patch.
fn patch_of(plan: &Value) -> String {
    plan["files"].as_array().unwrap().iter().map(|file| file["diff"]["text"].as_str().unwrap()).collect()
}

#[test]
fn a_plan_is_the_same_bytes_whenever_and_on_however_many_threads() {
    let first = Site::new(11).nrv(&plan(&["-o", "-", "--threads", "1"])).exits(0).stdout;
    for threads in ["1", "2", "8"] {
        let site = Site::new(11);
        site.nrv(&plan(&["-o", "other.json"])).exits(0);
        fs::remove_file(site.path("other.json")).unwrap();
        site.nrv(&plan(&["-o", "plan.json", "--threads", threads])).exits(0);
        assert!(site.read("plan.json") == first.as_bytes(), "on {threads} threads");
    }
    let other = Site::new(11).nrv(&plan(&["-o", "-", "--seed", "1"])).exits(0).stdout;
    assert!(other != first);
}

#[test]
fn a_plan_holds_what_the_run_would_do() {
    let site = Site::new(5);
    let before = site.tree();
    let plan = planned(&site);
    assert!(site.tree() == before, "a plan changes nothing");
    assert_eq!((&plan["asked"]["path"], &plan["seed"]), (&json!(MIGRATE[1]), &json!(0)));
    let script = Sha256::of(&site.read(MIGRATE[1]));
    assert_eq!(plan["asked"]["sources"], json!({(MIGRATE[1]): script}));
    assert_eq!(plan["git_head"], site.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(plan["would_ask"][0]["label"], "review the links");
    let patch = patch_of(&plan);
    assert_eq!(plan["patch_sha256"], json!(Sha256::of(patch.as_bytes())));
    assert!(fs::read(site.last_run().join("artifacts/run.patch")).unwrap() == patch.as_bytes());
    site.migrate(&[]).exits(0);
    let files = plan["files"].as_array().unwrap();
    assert_eq!(files.len(), 5);
    for file in files {
        let path = file["path"].as_str().unwrap();
        let (_, mode, bytes) = &before[path];
        assert_eq!(file["before"], json!({"sha256": Sha256::of(bytes), "mode": mode, "length": bytes.len()}));
        let after = site.read(path);
        assert_eq!(file["after"], json!({"sha256": Sha256::of(&after), "mode": mode, "length": after.len()}));
    }
}

#[test]
fn a_plan_keeps_what_gates_and_policy_say() {
    let site = Site::new(3);
    let quiet = planned(&site);
    let site = site.policy("[gates.diff_size]\nwarn_lines = 1\n");
    let warned = planned(&site);
    assert_eq!((&quiet["results"], &warned["results"][0]["gate_name"]), (&json!([]), &json!("diff-size")));
    assert_ne!(quiet["policy_sha256"], warned["policy_sha256"]);
}

#[test]
fn a_plan_that_changes_nothing_is_written_and_says_so() {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    site.commit();
    site.nrv(&plan(&["-o", "plan.json", "--exit-code"])).exits(0).says("changes nothing");
    let plan: Value = serde_json::from_slice(&site.read("plan.json")).unwrap();
    assert_eq!((&plan["files"], &plan["diff_lines"]), (&json!([]), &json!(0)));
}

#[test]
fn the_outcome_of_planning_is_one_document() {
    let site = Site::new(2);
    let told = site.nrv(&plan(&["-o", "plan.json", "--json", "--exit-code"])).exits(8).json();
    Schema::compile(&serde_json::from_str(FINISHED).unwrap()).unwrap().check(&told).unwrap();
    let written: Value = serde_json::from_slice(&site.read("plan.json")).unwrap();
    assert_eq!(told["plan"], json!({"path": "plan.json", "sha256": written["sha256"]}));
    let events = site.nrv(&plan(&["-o", "plan.json", "--events"])).exits(0).stdout;
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["finished"]["plan"]), (&json!("run_finished"), &told["plan"]));
    site.nrv(&plan(&["-o", "-", "--events"])).exits(2).says("stdout");
    site.nrv(&plan(&[])).exits(2).says("--output");
}

#[test]
fn a_run_that_fails_is_no_plan() {
    let site = Site::new(2);
    site.script("throws.rhai", "throw \"no\";");
    site.write("plan.json", "mine");
    site.nrv(&["plan", "throws.rhai", "-o", "plan.json"]).exits(1);
    assert_eq!(site.read("plan.json"), b"mine");
    let told = site.nrv(&["plan", "throws.rhai", "-o", "-"]).exits(1).json();
    assert_eq!(told["error"]["code"], "script_failed");
    let help = site.nrv(&["plan", MIGRATE[1], "--help"]).exits(0).stdout;
    assert!(help.contains("--arg from"), "{help}");
}

#[test]
fn a_plan_replaces_a_file_whole_and_keeps_devices() {
    let site = Site::new(2);
    site.write("out/plan.json", "x".repeat(1 << 20));
    site.nrv(&plan(&["-o", "out/plan.json"])).exits(0);
    serde_json::from_slice::<Value>(&site.read("out/plan.json")).unwrap();
    assert_eq!(fs::read_dir(site.path("out")).unwrap().count(), 1, "nothing is left beside it");
    site.nrv(&plan(&["-o", "/dev/null"])).exits(0);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let piped = site.nrv(&plan(&["-o", "/dev/stdout"])).exits(0);
    assert!(piped.stdout.contains("\"format\": 1"), "a pipe that has no path: {piped:?}");
}

#[test]
fn a_plan_is_not_written_where_no_run_may_write() {
    let site = Site::new(2);
    std::os::unix::fs::symlink(".git", site.path("elsewhere")).unwrap();
    let git = |site: &Site| fs::read_dir(site.path(".git")).unwrap().count();
    let before = git(&site);
    for (output, code) in [
        (".git/plan.json", 3),
        ("elsewhere/plan.json", 1),
        (".runs/plan.json", 3),
        ("nrv.toml", 3),
        ("site", 1),
        ("nowhere/plan.json", 1),
    ] {
        fs::create_dir_all(site.path(".runs")).unwrap();
        site.nrv(&plan(&["-o", output])).exits(code);
    }
    assert!(git(&site) == before && !Path::new(&site.path("nrv.toml")).exists());
    assert_eq!(site.runs(), [] as [Value; 0], "it is told before the work is done");
}

/// A plan in a file, and the tree before it.
fn ready(site: &Site) -> Tree {
    let before = site.tree();
    site.nrv(&plan(&["-o", "plan.json"])).exits(0);
    before
}

#[test]
fn a_plan_is_applied_as_it_was_previewed() {
    let site = Site::new(7);
    site.mode("site/a/p0.html", 0o755);
    site.commit();
    let before = ready(&site);
    let plan: Value = serde_json::from_slice(&site.read("plan.json")).unwrap();
    site.nrv(&["apply", "plan.json"]).exits(7).says("the run waits");
    site.nrv(&["apply", "--dry-run", "--exit-code", "plan.json"]).exits(8).says("7 files would change");
    let ran = site.nrv(&["apply", "plan.json", "--yes"]).exits(0).says("7 files changed");
    assert!(ran.stdout.contains("M site/a/p0.html  +1 −1\n"), "{}", ran.stdout);
    for file in plan["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        let (_, mode, bytes) = &site.tree()[path];
        assert_eq!(file["after"], json!({"sha256": Sha256::of(bytes), "mode": mode, "length": bytes.len()}));
    }
    assert!(fs::read(site.last_run().join("packs/t1/patch")).unwrap() == patch_of(&plan).as_bytes());
    site.last_ended("done");
    let applied = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    let after = site.tree();
    for flags in [&["--yes"][..], &["--dry-run"], &["--json", "--yes"]] {
        let again = site.nrv(&[&["apply", "plan.json"], flags].concat()).exits(0);
        assert!(flags[0] == "--json" || again.stderr.contains("is applied already"), "{}", again.stderr);
        site.nrv(&["replay", "last"]).exits(0);
        assert!(site.tree() == after);
    }
    let kept = site.read("site/a/p0.html");
    site.write("site/a/p0.html", "edited");
    site.nrv(&["apply", "plan.json", "--yes", "--allow-dirty"]).exits(5).says("changed since the plan was made");
    site.write("site/a/p0.html", kept);
    site.nrv(&["rollback", &applied]).exits(0);
    fs::remove_file(site.path("plan.json")).unwrap();
    assert!(site.tree() == before);
}

#[test]
fn a_plan_whose_targets_changed_is_refused_with_their_names() {
    let site = Site::new(9);
    ready(&site);
    site.write("site/a/p2.html", "edited");
    fs::remove_file(site.path("site/b/p3.html")).unwrap();
    let edited = site.tree();
    for flag in ["--yes", "--dry-run"] {
        let told = site.nrv(&["apply", "plan.json", "--allow-dirty", "--json", flag]).exits(5).json();
        assert_eq!(told["error"]["code"], "stale_preimage");
        assert_eq!(told["error"]["details"]["files"], json!(["site/a/p2.html", "site/b/p3.html"]));
    }
    site.nrv(&["apply", "plan.json", "--yes"]).exits(5).says("uncommitted changes");
    assert!(site.tree() == edited, "nothing is changed");
}

#[test]
fn what_stands_in_the_way_of_a_plan_is_named_as_a_change() {
    let site = Site::new(9);
    ready(&site);
    fs::remove_file(site.path("site/a/p2.html")).unwrap();
    fs::create_dir(site.path("site/a/p2.html")).unwrap();
    fs::rename(site.path("site/b"), site.path("moved")).unwrap();
    std::os::unix::fs::symlink("../moved", site.path("site/b")).unwrap();
    let before = site.tree();
    let told = site.nrv(&["apply", "plan.json", "--allow-dirty", "--json", "--yes"]).exits(5).json();
    let files = told["error"]["details"]["files"].to_string();
    assert!(files.contains("site/a/p2.html") && files.contains("site/b/p3.html"), "{told}");
    assert!(site.tree() == before, "nothing is changed");
}

#[test]
fn a_plan_that_was_edited_is_refused() {
    let site = Site::new(3);
    let before = ready(&site);
    let text = String::from_utf8(site.read("plan.json")).unwrap();
    for (from, to) in [("new.example.com", "evil.example.com"), ("\"seed\": 0", "\"seed\": 1"), ("p0.html", "p9.html")]
    {
        let edited = text.replace(from, to);
        assert!(edited != text);
        site.nrv_with(&["apply", "-", "--yes"], &edited).exits(4).says("not as it was written");
    }
    site.nrv_with(&["apply", "-", "--yes"], &text[..text.len() / 2]).exits(1).says("begins as JSON");
    fs::remove_file(site.path("plan.json")).unwrap();
    assert!(site.tree() == before && site.runs().len() == 1, "it is refused before a run starts");
}

#[test]
fn the_policy_of_now_decides_over_a_plan_of_then() {
    let site = Site::new(3);
    ready(&site);
    let site = site.policy("[paths]\nwrite = [\"docs/**\"]\n");
    let before = site.tree();
    let ran = site.nrv(&["apply", "plan.json", "--yes"]).exits(3);
    assert!(ran.stderr.contains("The policy differs from that of the plan") && ran.stderr.contains("paths.write"));
    assert!(site.tree() == before);
    let site = site.policy("[confirm]\nauto = [\"apply\"]\n");
    site.nrv(&["apply", "plan.json"]).exits(0).says("Confirmed by policy");
}

#[test]
fn a_plan_is_applied_by_itself_and_as_it_is() {
    let site = Site::new(2);
    ready(&site);
    site.write("x.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    for more in [&["x.patch"][..], &["--recount"], &["-R"], &["-p1"], &["--strict"], &["--backup", ".bak"]] {
        site.nrv(&[&["apply", "plan.json", "--yes"], more].concat()).exits(2);
    }
    site.nrv(&["apply", "x.patch", "plan.json", "--yes"]).exits(2).says("by itself");
    assert_eq!(site.runs().len(), 1);
}

#[test]
fn the_example_is_moved_by_the_plan_of_the_shipped_workflow() {
    let site = Site::new(0);
    let files = repository::files().into_iter().filter(|path| path.starts_with("examples/site/"));
    files.for_each(|path| site.write(&path, fs::read(repository::root().join(&path)).unwrap()));
    site.commit();
    let before = ready(&site);
    site.nrv(&["apply", "plan.json", "--yes"]).exits(0).says("24 files changed");
    let planned = site.tree();
    site.nrv(&["rollback", "last"]).exits(0);
    site.migrate(&[]).exits(0);
    assert!(site.tree() == planned && planned != before, "the plan does what the workflow does");
}
