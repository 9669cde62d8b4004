//! Records and their heads: every byte counts, and evaluators have the last word.
#![expect(clippy::disallowed_methods, reason = "tests damage records and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use nrv::{
    Context, Options, Workspace,
    host::{self, Overview},
    record::{self, EVENTS, Head, RunFolder, Runs},
};
use serde_json::{Value, json};

use crate::support::{
    record::{Line, chained},
    site::{Ran, Site},
};

/// True if `NRV_FLIPS=all` asks to flip every byte of a small record and 10,000 of a large one.
fn flips_all() -> bool {
    std::env::var_os("NRV_FLIPS").is_some_and(|value| value == "all")
}

/// A script that may write everything.
fn workflow(body: &str) -> String {
    format!("const WORKFLOW = #{{ name: \"t\", permissions: #{{ write: [\"**\"] }} }};\n{body}\n")
}

fn run(site: &Site, body: &str, more: &[&str]) -> Ran {
    site.script("t.rhai", &workflow(body));
    site.nrv(&[&["run", "t.rhai", "--json", "--yes"], more].concat())
}

fn context(site: &Site) -> Context {
    Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap()
}

/// True if no fault is found in a run's record.
fn is_sound(runs: &Runs, run: &RunFolder) -> bool {
    record::verify(runs, run, 1, &false.into()).is_ok_and(|report| report.is_sound())
        && host::damaged_pre_images(run).is_empty()
}

/// Flips one byte of a file, checks, and restores it.
#[track_caller]
fn flip(path: &Path, at: u64, pattern: u8, is_sound: impl Fn() -> bool) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ pattern], at).unwrap();
    assert!(!is_sound(), "byte {at} of {} ^ {pattern} was not noticed", path.display());
    file.write_all_at(&byte, at).unwrap();
}

/// Pseudorandom numbers, the same each time.
fn chance(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |n| {
        let mut n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        n ^= n >> 29;
        Some(n)
    })
    .skip(1)
}

#[test]
fn any_other_byte_of_a_record_or_of_its_head_is_noticed() {
    let site = Site::new(0);
    site.write("a.txt", "one\n");
    let body = "nrv.gate.confirm(\"go on\", #{ what: 1 });
nrv.apply.write(\"a.txt\", \"two\\n\", nrv.files.sha256(\"a.txt\"));
nrv.files.read(\"a.txt\")";
    run(&site, body, &[]).exits(0);
    let runs = Runs::of(&site.root());
    let folder = runs.open("last").unwrap();
    assert!(is_sound(&runs, &folder));
    let heads = runs.path().join("heads.jsonl");
    let files = folder.files().unwrap();
    for name in
        ["events.jsonl", "run.json", "packs/replies", "packs/t1/patch", "packs/t1/pre/0", "confirmations/c1.json"]
    {
        assert!(files.iter().any(|file| file == name), "{name} is in {files:?}");
    }
    let paths = files.iter().map(|name| folder.path().join(name)).chain([heads]);
    let mut places: Vec<(PathBuf, u64)> = Vec::new();
    for path in paths {
        places.extend((0..fs::metadata(&path).unwrap().len()).map(|at| (path.clone(), at)));
    }
    let step = if flips_all() { 1 } else { places.len() / 400 + 1 };
    for ((path, at), chance) in places.iter().zip(chance(7)).step_by(step) {
        let bit = 1 << (chance % 8);
        flip(path, *at, bit, || is_sound(&runs, &folder));
    }
    assert!(is_sound(&runs, &folder));
}

/// A record of many calls that ended well.
fn large(calls: usize) -> (tempfile::TempDir, Runs, RunFolder) {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::of(folder.path());
    let run = runs.create(0, 1).unwrap();
    let mut lines = Vec::new();
    for n in 0..calls {
        let reply = json!({"text": format!("é {n} \n").repeat(n % 40), "ratio": n as f64 / 8.0});
        let data =
            json!({"call": "custom", "args": {"name": "a.b", "params": {"n": n}}, "decision": "allow", "reply": reply});
        lines.push(Line { volatile: json!({"duration_ms": 1}), ..Line::new(n, "call", data) });
    }
    run.write(EVENTS, chained(&mut lines).as_bytes()).unwrap();
    let last = lines.last().unwrap();
    runs.add_head(&Head::new(run.id(), (last.seq, &last.hash), "done")).unwrap();
    (folder, runs, run)
}

#[test]
fn bytes_of_a_large_record_that_chance_flips_are_noticed() {
    let (_folder, runs, run) = large(if flips_all() { 10_000 } else { 300 });
    assert!(is_sound(&runs, &run));
    let path = run.path().join("events.jsonl");
    let length = fs::metadata(&path).unwrap().len();
    let mut chance = chance(42);
    for _ in 0..if flips_all() { 10_000 } else { 100 } {
        let (at, bit) = (chance.next().unwrap() % length, 1 << (chance.next().unwrap() % 8));
        flip(&path, at, bit, || is_sound(&runs, &run));
    }
    assert!(is_sound(&runs, &run));
}

/// The data of the latest run's last record.
fn end(site: &Site) -> Value {
    let record = Runs::of(&site.root()).open("last").unwrap().last_record().unwrap().unwrap();
    assert_eq!(record.kind(), "run_finished");
    record.data().unwrap().0
}

fn evaluation(finished: &Value, name: &str) -> Value {
    let all = finished["evaluations"].as_array().unwrap();
    all.iter().find(|one| one["evaluator"] == name).unwrap().clone()
}

/// Adds four lines, then changes one of them and removes another.
const REWORK: &str = "nrv.apply.create(\"n.txt\", \"1\\n2\\n3\\n4\\n\");
nrv.apply.write(\"n.txt\", \"1\\nB\\n3\\n\", nrv.files.sha256(\"n.txt\"));";

#[test]
fn evaluators_say_what_a_run_came_to_and_their_words_are_recorded() {
    let site = Site::new(0);
    let finished = run(&site, REWORK, &[]).exits(4).says("diff-quality FAILED").json();
    let quality = evaluation(&finished, "diff-quality");
    assert_eq!((&quality["passed"], &quality["value"]), (&json!(false), &json!(0.4)));
    assert_eq!(quality["details"], json!({"added": 5, "reworked": 2}));
    let end = end(&site);
    assert_eq!(end["evaluations"], finished["evaluations"]);
    let changes = json!({"committed": 2, "modifications": 2, "small": 2, "added": 5, "removed": 2, "reworked": 2});
    assert_eq!(end["changes"], changes);
    let shown = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
    for line in ["2 changes, 1 file, +5 −2 lines, 2 reworked", "diff-quality FAILED: 0.4 of at most 0.3"] {
        assert!(shown.contains(line), "{line:?} is not in: {shown}");
    }
}

#[test]
fn an_evaluator_that_the_policy_lists_fails_the_run_and_undoes_it() {
    let site = Site::new(0).policy("[evaluators]\nfail = [\"diff-quality\"]\n");
    let before = site.tree();
    site.script("t.rhai", &workflow(REWORK));
    let script = site.tree();
    let finished = site.nrv(&["run", "t.rhai", "--json"]).exits(4).says("diff-quality FAILED").json();
    assert!(site.tree() == script && script.len() == before.len() + 1);
    assert_eq!((&finished["state"], &finished["undone"]), (&json!("failed"), &json!(1)));
    assert_eq!(finished["error"]["code"], "verification_failed");
    assert_eq!(finished["error"]["details"]["evaluators"], json!(["diff-quality"]));
    site.last_ended("failed");
    // The same run, with a policy that accepts it.
    let site = site.policy("[evaluators]\nfail = [\"diff-quality\"]\nmax_rework = 0.4\n");
    site.nrv(&["run", "t.rhai"]).exits(0).says("diff-quality passed");
}

#[test]
fn what_a_run_rolls_back_is_rework() {
    let site = Site::new(0);
    let finished = run(&site, "nrv.apply.create(\"n.txt\", \"1\\n2\\n\"); throw \"no\"", &[]).exits(1).json();
    assert_eq!(evaluation(&finished, "diff-quality")["details"], json!({"added": 2, "reworked": 2}));
}

#[test]
fn a_forbidden_dependency_in_a_changed_manifest_is_named() {
    let site = Site::new(0)
        .policy("[evaluators]\nforbidden_dependencies = [\"left-*\"]\nfail = [\"forbidden-dependency-scan\"]\n");
    let create = "nrv.apply.create(\"web/package.json\", `{\"dependencies\": {\"left-pad\": \"^1.3\"}}`);";
    for more in [&[][..], &["--dry-run"]] {
        let finished = run(&site, create, more).exits(4).says("left-pad").json();
        let scan = evaluation(&finished, "forbidden-dependency-scan");
        assert_eq!(scan["details"]["found"], json!(["`left-pad` ^1.3 in `web/package.json` (`left-*`)"]));
        assert!(!site.path("web/package.json").exists());
    }
    let other = create.replace("left-pad", "right-pad");
    let finished = run(&site, &other, &[]).exits(0).json();
    assert_eq!(evaluation(&finished, "forbidden-dependency-scan")["passed"], true);
}

#[test]
fn a_threshold_that_is_exceeded_fails_the_run_and_what_it_changed_stays() {
    let site = Site::new(0);
    let ran =
        run(&site, REWORK, &[]).exits(4).says("1 file changed and read back; they stay, although the run failed.");
    let finished = ran.json();
    assert_eq!((&finished["state"], &finished["files_changed"]), (&json!("failed"), &json!(1)));
    let error = &finished["error"];
    assert_eq!((&error["code"], &error["details"]["kept"]), (&json!("verification_failed"), &json!(true)));
    assert!(site.path("n.txt").exists());
    let id = finished["run"].as_str().unwrap();
    assert!(error["hint"].as_str().unwrap().contains(&format!("nrv rollback {id}")), "{error}");
    site.nrv(&["rollback", id]).exits(0);
    assert!(!site.path("n.txt").exists());
}

#[test]
fn the_policy_and_the_header_say_what_an_exceeded_threshold_does() {
    let told = Site::new(0).policy("[evaluators]\nfail = []\n");
    run(&told, REWORK, &[]).exits(0).says("diff-quality FAILED");
    assert!(told.path("n.txt").exists());
    let undone = Site::new(0).policy("[run]\non_failure = \"undo\"\n");
    run(&undone, REWORK, &[]).exits(4);
    assert!(!undone.path("n.txt").exists());
    let kept = Site::new(0).policy("[run]\non_failure = \"keep\"\n[evaluators]\nfail = [\"diff-quality\"]\n");
    run(&kept, REWORK, &[]).exits(4);
    assert!(kept.path("n.txt").exists());
    let header = Site::new(0);
    let text = workflow(REWORK).replacen("name:", "on_failure: \"undo\", name:", 1);
    header.script("t.rhai", &text);
    header.nrv(&["run", "t.rhai", "--json"]).exits(4);
    assert!(!header.path("n.txt").exists());
}

#[test]
fn a_command_that_a_script_only_asked_about_is_not_forbidden() {
    let site = Site::new(0).policy("[evaluators]\nforbidden_commands = [\"npm publish\"]\n");
    let asked = "nrv.gate.evaluate_command([\"sudo\", \"npm\", \"publish\"]);";
    let finished = run(&site, asked, &[]).exits(0).json();
    let scan = evaluation(&finished, "forbidden-command-scan");
    assert_eq!((&scan["passed"], &scan["details"]["commands"]), (&json!(null), &json!(0)));
}

#[test]
fn a_violation_that_a_script_found_is_told_counted_and_stops_nothing() {
    let site = Site::new(0);
    let body =
        "nrv.run.record_violation(#{ rule: \"style/no-inline\", message: \"a style in the tag\", file: \"a.html\" });
        nrv.run.record_violation(#{ rule: \"style/no-inline\", severity: \"block\", message: \"another\", file: () });
        try { nrv.run.record_violation(#{ rule: \"no rule\", message: \"x\" }); } catch (error) { print(error.code); }
        nrv.apply.create(\"n.txt\", \"1\\n\");";
    let finished = run(&site, body, &[]).exits(0).says("`a.html`: a style in the tag").json();
    let rate = evaluation(&finished, "violation-rate");
    assert_eq!((&rate["value"], &rate["details"]["violations"]), (&json!(0.5), &json!(2)));
    let end = end(&site);
    let violation = &end["violations"][1];
    assert_eq!((&violation["gate_name"], &violation["decision"]), (&json!("recorded"), &json!("block")));
    assert_eq!(end["tools"], json!(["apply"]));
    let stats = site.nrv(&["runs", "stats", "--json"]).exits(0).json();
    assert_eq!(stats["violations"][0]["rule"], "style/no-inline");
    assert_eq!(stats["violations"][0]["count"], 2);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_backup_is_no_added_line() {
    let site = Site::new(0).policy("[gates.diff_size]\nblock_lines = 4\n");
    site.script("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n");
    let diff = "--- a/a.txt\\n+++ b/a.txt\\n@@ -1,2 +1,2 @@\\n-1\\n+one\\n 2\\n";
    let body = format!(
        "nrv.apply.diff(#{{ path: \"a.txt\", unified_diff: \"{diff}\", strategy: #{{ write_backup: \".bak\" }} }});"
    );
    run(&site, &body, &[]).exits(0);
    assert!(site.path("a.txt.bak").exists());
    let changes = json!({"committed": 1, "modifications": 1, "small": 1, "added": 1, "removed": 1, "reworked": 0});
    assert_eq!(end(&site)["changes"], changes);
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(!site.path("a.txt.bak").exists());
}

#[test]
fn a_listing_reads_no_record_of_a_run_that_has_stopped() {
    let site = Site::new(0);
    run(&site, "nrv.apply.create(\"n.txt\", \"1\\n\");", &[]).exits(0);
    run(&site, "throw \"no\"", &[]).exits(1);
    let whole = site.runs();
    assert_eq!(
        (&whole[0]["state"], &whole[0]["files_changed"], &whole[0]["subject"]),
        (&json!("done"), &json!(1), &json!("t.rhai"))
    );
    for run in &whole {
        fs::remove_file(site.path(&format!(".runs/{}/events.jsonl", run["run"].as_str().unwrap()))).unwrap();
    }
    assert_eq!(site.runs(), whole);
    let failed = site.nrv(&["runs", "list", "--state", "failed", "--json"]).exits(0).json();
    assert_eq!(failed, json!([whole[1]]));
    let latest = site.nrv(&["runs", "list", "--limit", "1", "--json"]).exits(0).json();
    assert_eq!(latest, json!([whole[1]]));
    site.nrv(&["runs", "list", "--state", "sleeping"]).exits(2);
}

#[test]
fn a_head_of_an_earlier_version_says_less_and_the_record_is_read() {
    let site = Site::new(0);
    run(&site, "nrv.apply.create(\"n.txt\", \"1\\n\");", &[]).exits(0);
    let whole = site.runs();
    let path = site.path(".runs/heads.jsonl");
    let mut head: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    head.as_object_mut().unwrap().retain(|key, _| key != "overview" && key != "check");
    fs::write(&path, format!("{head}\n")).unwrap();
    assert_eq!(site.runs(), whole);
    site.last_ended("done");
}

#[test]
fn thousands_of_runs_are_listed_at_once() {
    let site = Site::new(0);
    run(&site, "1", &[]).exits(0);
    let context = context(&site);
    let known: Overview = host::overviews(&context).unwrap().remove(0);
    let n = if flips_all() { 10_000 } else { 2000 };
    let mut heads = String::new();
    for at in 0..n {
        let id = format!("20260101T{:02}{:02}{:02}Z-{at:04x}", at / 3600, at / 60 % 60, at % 60);
        fs::create_dir(context.runs.path().join(&id)).unwrap();
        let overview = json!(Overview { run: id.clone(), kept_until: None, ..known.clone() });
        let head = json!({"run": id, "seq": 1, "hash": "0".repeat(64), "state": "done", "overview": overview});
        heads.push_str(&format!("{head}\n"));
    }
    fs::write(context.runs.path().join("heads.jsonl"), heads).unwrap();
    let start = std::time::Instant::now();
    assert_eq!(host::overviews(&context).unwrap().len(), n + 1);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
