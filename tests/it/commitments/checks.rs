//! Each kind of assertion on trees.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{commit, events, run, told};
use crate::support::site::Site;

/// Checks an assertion of a script in a site: true if it holds, and the reason.
#[track_caller]
fn look(site: &Site, assertion: &str) -> (bool, String) {
    let finished = run(site, &commit("it holds", assertion), &[]).json();
    assert!(finished["commitments"].is_array(), "{finished}");
    let (_, ok, reason) = told(&finished).pop().unwrap_or_else(|| panic!("{finished}"));
    (ok.unwrap(), reason)
}

#[track_caller]
fn check(site: &Site, assertion: &str, ok: bool, reason: &str) {
    assert_eq!(look(site, assertion), (ok, reason.to_owned()), "{assertion}");
}

#[test]
fn a_file_exists_if_it_is_a_regular_file() {
    let site = Site::new(2);
    std::os::unix::fs::symlink("c.rhai", site.path("link")).unwrap();
    check(&site, "file_exists: \"site/a/p0.html\"", true, "`site/a/p0.html` exists");
    check(&site, "file_exists: \"none\"", false, "`none` does not exist");
    check(&site, "file_exists: \"site\"", false, "`site` is a folder, not a regular file");
    check(&site, "file_exists: \"link\"", false, "`link` is a link, not a regular file");
}

#[test]
fn matches_are_counted_in_text() {
    let site = Site::new(0);
    site.write("t/a.txt", "x xx\nx");
    site.write("t/b.txt", "none");
    site.write("t/c.bin", b"x\xff");
    let count = |rest: &str| format!("count: #{{ pattern: \"x\", glob: [\"t/**\"], {rest} }}");
    let reason = "the pattern occurs 4 times in 3 files (`t/a.txt`); 1 is not UTF-8 and passed over";
    check(&site, &count("equals: 4"), true, reason);
    check(&site, &count("at_least: 4"), true, reason);
    check(&site, &count("at_most: 4"), true, reason);
    check(&site, &count("equals: 3"), false, &format!("{reason}, not 3"));
    check(&site, &count("at_least: 5"), false, &format!("{reason}, not at least 5"));
    check(&site, &count("at_most: 3"), false, &format!("{reason}, not at most 3"));
    check(&site, &count("at_least: 1, at_most: 3"), false, &format!("{reason}, not 1 to 3"));
    check(
        &site,
        "count: #{ pattern: \"x\", glob: \"none/**\", equals: 0 }",
        true,
        "the pattern occurs nowhere in 0 files",
    );
}

#[test]
fn every_file_has_to_be_json_and_there_has_to_be_one() {
    let site = Site::new(0);
    check(&site, "json_valid: \"d/*.json\"", false, "no file matches");
    site.write("d/a.json", "{\"a\": [1, 2.5, \"\\u00e4\"]}\n");
    check(&site, "json_valid: \"d/*.json\"", true, "1 file is JSON");
    site.write("d/b.json", "{\"a\": }");
    site.write("d/c.json", b"\"\xff\"");
    let reason = "`d/b.json` is not JSON (line 1, column 7), `d/c.json` is not UTF-8";
    check(&site, "json_valid: \"d/*.json\"", false, reason);
    check(&site, "json_valid: [\"d/*.json\", \"!d/[bc].json\"]", true, "1 file is JSON");
}

#[test]
fn a_tree_is_unchanged_since_the_run_started() {
    let site = Site::new(4);
    site.write("site/x.txt", "x");
    let unchanged = commit("pages stay", "tree_unchanged: \"site/**\"");
    let page = |name: &str| format!("site/{name}.html");
    let write = |path: &str| format!("nrv.apply.write(\"{path}\", \"n\\n\", nrv.files.sha256(\"{path}\"));\n");
    let remove = |path: &str| format!("nrv.apply.remove(\"{path}\", nrv.files.sha256(\"{path}\"));\n");
    let (a, b) = (page("a/p0"), page("b/p1"));
    let reason = |body: &str| told(&run(&site, body, &[]).json())[0].2.clone();
    assert_eq!(reason(&unchanged), "5 files are what they were when the run started");
    let changes = write(&a) + remove(&b).as_str() + "nrv.apply.create(\"site/new.html\", \"n\\n\");\n";
    let expected = "`site/a/p0.html` has changed, `site/b/p1.html` is gone, `site/new.html` is new";
    assert_eq!(reason(&format!("{unchanged}{changes}")), expected);
    // The changes of the run before the commitment count as well.
    assert_eq!(reason(&format!("{changes}{unchanged}")), expected);
    // A change that is made and taken back is none.
    let back = format!("nrv.apply.create(\"site/new.html\", \"n\\n\");\n{unchanged}{}", remove("site/new.html"));
    assert_eq!(reason(&back), "5 files are what they were when the run started");
    // An ignored file counts as well.
    let ignored = format!("{unchanged}{}nrv.apply.create(\"site/.gitignore\", \"*\\n\");", write("site/x.txt"));
    assert!(reason(&ignored).contains("`site/x.txt` has changed"), "{}", reason(&ignored));
}

#[test]
fn what_scripts_may_not_read_tells_them_nothing() {
    let site = Site::new(0).policy(
        "[[commitments]]\ndescription = \"it is set\"\nassertion = { count = { pattern = \"canary\", glob = \"**\", at_least = 1 } }\n",
    );
    site.write(".env", "TOKEN=canary\n");
    site.write("k/server.key", "canary\n");
    let body =
        commit("no canary", "count: #{ pattern: \"TOKEN=canary|^canary\", glob: [\"**\", \"!c.rhai\"], equals: 0 }")
            + commit("one file", "tree_unchanged: [\".env\", \"k/**\"]").as_str();
    let finished = run(&site, &body, &[]).exits(0).json();
    let reasons = told(&finished);
    // The policy's looks at all files, the script's does not.
    assert!(reasons[0].2.contains("`.env`") && reasons[0].2.contains("`k/server.key`"), "{reasons:?}");
    assert!(reasons[1].2.starts_with("the pattern occurs nowhere in "), "{reasons:?}");
    assert_eq!(reasons[2].2, "0 files are what they were when the run started");
    for (assertion, code) in [
        ("file_exists: \".env\"", "permission_denied"),
        ("file_exists: \".git/HEAD\"", "protected_path"),
        ("json_valid: \".runs/**\"", "protected_path"),
        ("file_exists: \"../x\"", "invalid_path"),
    ] {
        let error = &run(&site, &commit("x", assertion), &[]).json()["error"];
        assert_eq!(error["code"], code, "{assertion}: {error}");
    }
}

#[test]
fn no_secret_of_a_commitment_stands_in_the_record() {
    let site = Site::new(0);
    let secret = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
    site.write("a.txt", format!("{secret}\n"));
    let body =
        commit(&format!("no {secret}"), &format!("count: #{{ pattern: \"{secret}\", glob: \"a.txt\", equals: 0 }}"));
    let ran = run(&site, &body, &[]).exits(4);
    let events = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
    let shown = site.nrv(&["runs", "report", "last"]).exits(0).stdout;
    for text in [&events, &ran.stdout, &ran.stderr, &shown] {
        assert!(!text.contains(&secret), "{text}");
    }
    // It is counted all the same, and later, too.
    assert!(told(&ran.json())[0].2.contains("occurs once"));
    assert!(site.nrv(&["verify", "last", "--json"]).exits(4).stdout.contains("occurs once"));
}

#[test]
fn a_commitment_that_takes_too_long_does_not_hold() {
    let site = Site::new(0);
    // On a busy machine, a quick check could be done before anybody looks at the clock.
    site.write("many.txt", "x".repeat(8 << 20));
    let count = "#{ count: #{ pattern: \"x\", glob: \"many.txt\", at_least: 1 } }";
    let body = format!("nrv.commit(#{{ description: \"soon\", assertion: {count}, timeout_ms: 1 }});\n")
        + commit("later", "file_exists: \"c.rhai\"").as_str();
    let finished = run(&site, &body, &[]).exits(4).json();
    let seen = told(&finished);
    assert_eq!(seen[0], ("k1".to_owned(), Some(false), "it took longer than 1 ms".to_owned()));
    assert_eq!(seen[1].1, Some(true));
    assert_eq!(events(&site, "commitment_made")[0]["data"]["timeout_ms"], json!(1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The count of a tree is the sum of what a naive search counts in each of its files that are text and match.
    #[test]
    fn a_count_is_the_sum_over_the_files_that_match(
        files in prop::collection::btree_map("[ab]{1,2}(/[ab]{1,2})?\\.(txt|md)", prop::collection::vec(prop::sample::select(vec![b'x', b'y', b' ', 0xff]), 0..12), 0..6),
        needle in "[xy]{1,2}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in &files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let counted = |bytes: &Vec<u8>| std::str::from_utf8(bytes).map_or(0, |text| text.matches(&needle).count());
        let expected: usize = files.iter().filter(|(path, _)| path.ends_with(".txt")).map(|(_, bytes)| counted(bytes)).sum();
        let workspace = nrv::Workspace::open(folder.path()).unwrap();
        let overlay = nrv::system::workspace::Overlay::default();
        let view = nrv::system::workspace::View::new(&workspace, &overlay);
        let sight = nrv::service::assertion::Sight { view, hidden: None, threads: 2 };
        let holds = |form: Value| {
            let mut count = json!({"pattern": needle, "glob": "**/*.txt"});
            count.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
            let assertion = nrv::service::assertion::parse(&json!({"count": count})).unwrap();
            nrv::service::assertion::measure(sight, &assertion, None).ok
        };
        let (equal, more) = (json!({"equals": expected}), json!({"equals": expected + 1}));
        let (least, most) = (json!({"at_least": expected + 1}), json!({"at_most": expected.saturating_sub(1)}));
        let seen = [equal, more, least, most].map(holds);
        prop_assert_eq!(seen, [true, false, false, expected == 0]);
    }
}
