//! Every later change of a record is found and named.
#![expect(clippy::disallowed_methods, reason = "tests damage records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, path::PathBuf};

use crate::support::site::Site;

/// Changes a file's text, if there is anything to change.
type Tamper = fn(&str) -> String;

fn append(text: &str) -> String {
    format!("{text} ")
}

fn swap_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(2, 3);
    lines.join("\n") + "\n"
}

fn without_last_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[..lines.len() - 1].join("\n") + "\n"
}

fn without_third_line(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(2);
    lines.join("\n") + "\n"
}

fn cut_in_a_line(text: &str) -> String {
    text[..text.len() - 5].to_owned()
}

fn other_value(text: &str) -> String {
    text.replacen("link_updater", "link_upd4ter", 1)
}

fn other_time(text: &str) -> String {
    text.replacen("\"at\":\"2", "\"at\":\"1", 1)
}

fn no_lines(_: &str) -> String {
    String::new()
}

struct Bench {
    site: Site,
    run: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let site = Site::new(90);
        site.migrate(&[]).exits(0);
        site.nrv(&["runs", "verify", "last"]).exits(0).says("is intact");
        site.nrv(&["dta", "verify", "last"]).exits(0);
        let run = site.last_run();
        Bench { site, run }
    }

    fn file(&self, end: &str) -> PathBuf {
        let name = end.rsplit_once('/').map_or("", |(folder, _)| folder);
        let files = walkdir::WalkDir::new(self.run.join(name)).into_iter().filter_map(Result::ok);
        let hit = |path: &PathBuf| path.is_file() && path.display().to_string().ends_with(end);
        files.map(walkdir::DirEntry::into_path).find(hit).unwrap_or_else(|| panic!("no file `{end}`"))
    }

    /// Damages a file of the record; `runs verify` must name it. Then the file is put back.
    #[track_caller]
    fn damaged(&self, end: &str, tamper: Tamper, named: &str) {
        let file = self.file(end);
        let was = fs::read(&file).unwrap();
        let changed = tamper(&String::from_utf8_lossy(&was));
        assert_ne!(was, changed.as_bytes(), "{end}: nothing was damaged");
        fs::write(&file, changed).unwrap();
        let ran = self.site.nrv(&["runs", "verify", "last"]).exits(4).says("is NOT intact");
        assert!(ran.stdout.contains(named), "{named:?} is not in: {}", ran.stdout);
        fs::write(&file, was).unwrap();
        self.site.nrv(&["runs", "verify", "last"]).exits(0);
    }
}

#[test]
fn a_damaged_chain_is_named_by_its_line() {
    let bench = Bench::new();
    bench.damaged("events.jsonl", other_value, "events.jsonl:");
    bench.damaged("events.jsonl", other_time, "events.jsonl:1");
    bench.damaged("events.jsonl", swap_lines, "events.jsonl:3");
    bench.damaged("events.jsonl", without_third_line, "events.jsonl:3");
    bench.damaged("events.jsonl", without_last_line, "ends at record");
    bench.damaged("events.jsonl", cut_in_a_line, "is cut off");
    bench.damaged("events.jsonl", no_lines, "ends at record 0");
}

#[test]
fn every_damaged_file_of_a_record_is_named() {
    let bench = Bench::new();
    for (end, named) in [
        ("run.json", "run.json"),
        ("-baseline.json", "-baseline.json"),
        ("-proposed.json", "-proposed.json"),
        ("-applied.json", "-applied.json"),
        ("-verify.json", "-verify.json"),
        ("artifacts/2-link_updater.patch", "artifacts/2-link_updater.patch"),
        ("packs/t1/manifest.json", "packs/t1/manifest.json"),
        ("packs/t1/patch", "packs/t1/patch"),
        ("packs/t1/pre/2", "packs/t1/pre/2"),
        ("confirmations/c1.json", "confirmations/c1.json"),
        ("packs/replies", "packs/replies"),
    ] {
        bench.damaged(end, append, named);
    }
}

#[test]
fn a_missing_file_of_a_record_is_named() {
    for end in ["events.jsonl", "run.json", "-applied.json", "packs/t1/manifest.json"] {
        let bench = Bench::new();
        fs::remove_file(bench.file(end)).unwrap();
        let ran = bench.site.nrv(&["runs", "verify", "last"]).exits(4);
        assert!(ran.stdout.lines().any(|line| line.contains(end) && line.contains("is missing")), "{}", ran.stdout);
    }
}

#[test]
fn a_run_that_died_before_its_first_record_is_unsealed() {
    let bench = Bench::new();
    fs::remove_file(bench.file("events.jsonl")).unwrap();
    fs::write(bench.site.path(".runs/heads.jsonl"), "").unwrap();
    let report = bench.site.nrv(&["runs", "verify", "last", "--json"]).exits(4).json();
    assert_eq!((&report["seal"], &report["findings"]), (&"unsealed".into(), &serde_json::json!([])));
    assert_eq!(bench.site.runs()[0]["state"], "interrupted");
}

#[test]
fn a_lost_pre_image_is_named() {
    let bench = Bench::new();
    fs::remove_file(bench.file("packs/t1/pre/0")).unwrap();
    let ran = bench.site.nrv(&["runs", "verify", "last"]).exits(4);
    assert!(ran.stdout.contains("packs/t1/pre/0"), "{}", ran.stdout);
    let before = bench.site.tree();
    bench.site.nrv(&["rollback", "last"]).exits(4);
    assert!(bench.site.tree() == before);
}

#[test]
fn an_altered_pre_image_is_never_put_back() {
    let bench = Bench::new();
    let pack = bench.file("packs/t1/pre/0");
    fs::write(pack, "not what it was").unwrap();
    let before = bench.site.tree();
    bench.site.nrv(&["rollback", "last"]).exits(4).says("was altered");
    assert!(bench.site.tree() == before);
}

#[test]
fn a_record_without_its_head_is_unsealed() {
    let bench = Bench::new();
    fs::write(bench.site.path(".runs/heads.jsonl"), "").unwrap();
    let ran = bench.site.nrv(&["runs", "verify", "last"]).exits(4);
    assert!(ran.stderr.contains("no head marks its end"), "{}", ran.stderr);
    assert!(ran.stdout.contains("unsealed"), "{}", ran.stdout);
    let report = bench.site.nrv(&["runs", "verify", "last", "--json"]).exits(4).json();
    assert_eq!((&report["seal"], &report["sound"]), (&"unsealed".into(), &false.into()));
}

#[test]
fn an_edited_target_is_named_by_both_verifications() {
    let bench = Bench::new();
    bench.site.write("site/a/p2.html", "<a href=\"http://old.example.com/back\">back</a>");
    let ran = bench.site.nrv(&["dta", "verify", "last"]).exits(4);
    assert!(ran.stdout.contains("site/a/p2.html"), "{}", ran.stdout);
    let ran = bench.site.nrv(&["runs", "verify", "last"]).exits(0);
    assert!(ran.stdout.contains("site/a/p2.html: changed since the run"), "{}", ran.stdout);
    let report = bench.site.nrv(&["runs", "verify", "last", "--json"]).exits(0).json();
    assert_eq!(report["targets_changed_since"], serde_json::json!(["site/a/p2.html"]));
}

#[test]
fn a_verification_does_not_trust_an_altered_record() {
    for end in ["-applied.json", "-baseline.json"] {
        let bench = Bench::new();
        let file = bench.file(end);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, append(&text)).unwrap();
        let ran = bench.site.nrv(&["dta", "verify", "last"]).exits(4);
        assert!(ran.stdout.contains("intact"), "{}", ran.stdout);
    }
}
