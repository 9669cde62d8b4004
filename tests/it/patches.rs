//! `nrv apply` with patches: its input, its messages, and its changes.

use nrv::system::schema::Schema;
use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

const FINISHED: &str = include_str!("../../schemas/finished.schema.json");

const EDIT: &str = "--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n";
const AGAIN: &str = "--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,4 @@\n one\n zwei\n three\n+four\n";
const MAKE: &str = "diff --git a/new/y.txt b/new/y.txt\nnew file mode 100755\n--- /dev/null\n+++ b/new/y.txt\n\
    @@ -0,0 +1 @@\n+why\n";
const TAKE: &str =
    "diff --git a/z.txt b/z.txt\ndeleted file mode 100644\n--- a/z.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-zed\n";
const MOVE: &str = "diff --git a/m.txt b/n.txt\nsimilarity index 100%\nrename from m.txt\nrename to n.txt\n";

/// A committed tree, and the patches beside it.
fn site() -> Site {
    let site = Site::new(0);
    site.write("x.txt", "one\ntwo\nthree\n");
    site.write("z.txt", "zed\n");
    site.write("m.txt", "em\n");
    site.commit();
    for (name, patch) in [("edit", EDIT), ("again", AGAIN), ("make", MAKE), ("take", TAKE), ("move", MOVE)] {
        site.write(&format!("../{name}.patch"), patch);
    }
    site
}

fn apply(site: &Site, more: &[&str]) -> Ran {
    site.nrv(&[&["apply", "--yes"], more].concat())
}

#[test]
fn several_patches_are_one_change_that_can_be_taken_back() {
    let site = site();
    let before = site.tree();
    let all = ["../edit.patch", "../again.patch", "../make.patch", "../take.patch", "../move.patch"];
    let ran = apply(&site, &all).exits(0).says("5 files changed");
    let lines = "M x.txt  +1 −1\nM x.txt  +1\nA new/y.txt  +1\nD z.txt  −1\nR m.txt → n.txt\n";
    assert_eq!(ran.stdout, lines);
    assert_eq!(site.read("x.txt"), b"one\nzwei\nthree\nfour\n");
    assert_eq!((site.tree()["new/y.txt"].1, site.path("z.txt").exists()), (0o755, false));
    site.last_ended("done");
    assert_eq!(site.runs().last().unwrap()["files_changed"], 5);
    let after = site.tree();
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
    apply(&site, &all).exits(0);
    assert!(site.tree() == after);
    apply(&site, &[&["-R"][..], &all].concat()).exits(0);
    assert!(site.tree() == before, "the last patch is taken back first");
}

/// A part that copies a file as it is, or gives it another path.
fn part(word: &str, from: &str, to: &str) -> String {
    format!("diff --git a/{from} b/{to}\nsimilarity index 100%\n{word} from {from}\n{word} to {to}\n")
}

#[test]
fn a_copy_is_of_the_file_as_it_was_before_the_patch() {
    let site = site();
    site.write("../copy.patch", [EDIT, &part("copy", "x.txt", "copy.txt")].concat());
    let ran = apply(&site, &["../copy.patch"]).exits(0).says("as it was before this patch");
    assert_eq!(ran.stdout, "M x.txt  +1 −1\nC x.txt → copy.txt\n");
    assert_eq!(site.read("copy.txt"), b"one\ntwo\nthree\n");
    assert_eq!(site.read("x.txt"), b"one\nzwei\nthree\n");
    site.write("../next.patch", part("copy", "x.txt", "next.txt"));
    site.commit();
    apply(&site, &["../again.patch", "../next.patch"]).exits(0);
    assert_eq!(site.read("next.txt"), site.read("x.txt"), "a patch begins where the one before it ended");
}

#[test]
fn a_file_that_a_patch_changes_gets_no_other_path_in_it() {
    let site = site();
    let before = site.tree();
    let (first, second) = (part("rename", "m.txt", "n.txt"), part("rename", "n.txt", "o.txt"));
    site.write("../move-again.patch", &second);
    let patches = [[EDIT, &part("rename", "x.txt", "n.txt")].concat(), [first, second].concat()];
    for patch in patches {
        for how in ["--yes", "--dry-run"] {
            let ran = site.nrv_with(&["apply", how, "-"], &patch).exits(1);
            ran.says("patch_rejected").says("an earlier part").says("a patch of its own");
        }
    }
    assert!(site.tree() == before);
    apply(&site, &["../move.patch", "../move-again.patch"]).exits(0);
    assert_eq!(site.read("o.txt"), b"em\n");
}

#[test]
fn files_that_change_places_are_refused_with_a_way_out() {
    let site = site();
    let swap = [part("rename", "m.txt", "z.txt"), part("rename", "z.txt", "m.txt")].concat();
    let ran = site.nrv_with(&["apply", "--yes", "-"], &swap).exits(5);
    ran.says("line 1 of the diff makes `z.txt`, which exists already").says("by way of another path");
}

#[test]
fn one_patch_that_does_not_fit_stops_all_and_shows_where() {
    let site = site();
    site.write("x.txt", "one\ndeux\nthree\n");
    site.commit();
    let before = site.tree();
    let shown = "5 | -two\n  | ^^^^ the file has `deux`";
    apply(&site, &["../make.patch", "../edit.patch"])
        .exits(1)
        .says("../edit.patch")
        .says(shown)
        .says("Nothing was changed");
    let told = apply(&site, &["../make.patch", "../edit.patch", "--json"]).exits(1).json();
    let details = &told["error"]["details"];
    assert_eq!(
        (&told["error"]["code"], &details["hunk"], &details["line"]),
        (&json!("patch_rejected"), &json!(1), &json!(3))
    );
    assert_eq!((&details["expected"], &details["found"]), (&json!("two"), &json!("deux")));
    assert!(site.tree() == before);
    site.last_ended("failed");
}

#[test]
fn the_outcome_of_applying_is_one_document() {
    let site = site();
    let told = apply(&site, &["../edit.patch", "--json", "--backup", ".orig"]).exits(0).json();
    Schema::compile(&serde_json::from_str(FINISHED).unwrap()).unwrap().check(&told).unwrap();
    let outcome = &told["result"][0];
    assert_eq!((&outcome["path"], &outcome["status"]), (&json!("x.txt"), &json!("applied")));
    assert_eq!((&outcome["written"], &outcome["backup"]), (&json!(true), &json!("x.txt.orig")));
    assert_eq!(site.read("x.txt.orig"), b"one\ntwo\nthree\n");
    let events = apply(&site, &["../again.patch", "--events"]).exits(0).stdout;
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["finished"]["files_changed"]), (&json!("run_finished"), &json!(1)));
}

#[test]
fn offsets_are_told_and_refused_where_that_is_asked() {
    let site = site();
    let shifted = EDIT.replace("@@ -1,3 +1,3 @@", "@@ -2,3 +2,3 @@");
    let strict = site.nrv_with(&["apply", "--yes", "--strict", "-"], &shifted).exits(1);
    assert!(strict.stderr.contains("it is at line 1") || strict.stderr.contains("are at line 1"), "{strict:?}");
    assert_eq!(site.read("x.txt"), b"one\ntwo\nthree\n");
    site.nrv_with(&["apply", "--yes", "-"], &shifted).exits(0).says("warning: x.txt: ").says("-1 from where it says");
}

#[test]
fn a_dry_run_refuses_what_applying_refuses_and_writes_nothing() {
    let site = site();
    let before = site.tree();
    let ran = site.nrv(&["apply", "--dry-run", "--exit-code", "../edit.patch", "../make.patch"]).exits(8);
    assert!(ran.stdout.starts_with("M x.txt  +1 −1\nA new/y.txt  +1\n.runs/"), "{}", ran.stdout);
    site.nrv(&["apply", "--dry-run", "../again.patch"]).exits(1);
    site.nrv(&["apply", "--dry-run", "../make.patch"]).exits(0).says("1 file would change (1 line);");
    site.nrv(&["apply", "--exit-code", "../edit.patch"]).exits(2).says("--dry-run");
    assert!(site.tree() == before);
    let patch = site.recorded("*/artifacts/run.patch").remove(0);
    site.git(&["apply", "--check", patch.to_str().unwrap()]);
}

#[test]
fn what_is_patched_must_be_committed_and_nothing_else() {
    let site = site();
    site.write("z.txt", "edited\n");
    site.write("untracked", "new\n");
    apply(&site, &["../edit.patch"]).exits(0);
    apply(&site, &["../again.patch"]).exits(0).says("1 file changed");
    site.write("x.txt", "one\ntwo\nthree\n\n");
    apply(&site, &["../edit.patch"]).exits(5).says("`x.txt`");
    apply(&site, &["--allow-dirty", "../edit.patch"]).exits(0);
    let noted = site.nrv(&["apply", "--dry-run", "../take.patch"]).exits(1);
    assert!(noted.stderr.contains("Applying this would be refused: the tree has uncommitted changes: `z.txt`"));
}

#[test]
fn where_there_is_no_git_the_pre_images_decide() {
    let site = Site::empty();
    site.write("x.txt", "one\ntwo\nthree\n");
    site.write("../edit.patch", EDIT);
    apply(&site, &["../edit.patch"]).exits(0);
    apply(&site, &["../edit.patch"]).exits(1).says("it may have been applied before");
}

#[test]
fn nothing_is_applied_that_nobody_confirmed() {
    let site = site();
    let before = site.tree();
    site.nrv(&["apply", "../edit.patch"]).exits(7);
    let site = site.policy("[confirm]\nmode = \"never\"\n");
    site.nrv(&["apply", "../edit.patch", "--yes"]).exits(3).says("was not confirmed");
    let site = site.policy("[confirm]\nmode = \"policy\"\nauto = [\"apply\"]\n");
    assert_eq!(site.read("x.txt"), before["x.txt"].2);
    site.nrv(&["apply", "../edit.patch"]).exits(0);
}

#[test]
fn files_are_told_apart_by_what_is_in_them() {
    let site = site();
    let plan =
        |checksum: &str| json!({"diffs": [{"path": "x.txt", "checksum": checksum, "unified_diff": EDIT}]}).to_string();
    let now = nrv::base::hash::Sha256::of(b"one\ntwo\nthree\n").to_string();
    let from_stdin = ["apply", "--yes", "-"];
    site.nrv_with(&from_stdin, &plan(&"0".repeat(64))).exits(5);
    site.nrv_with(&["apply", "--yes", "-R", "-"], &plan(&now)).exits(2).says("`--reverse`");
    site.nrv_with(&from_stdin, &plan(&now)).exits(0);
    site.nrv_with(&from_stdin, AGAIN).exits(0);
    site.nrv_with(&from_stdin, "{\"files\": []}").exits(1).says("no plan");
    site.nrv_with(&from_stdin, "{").exits(1).says("begins as JSON");
    site.nrv_with(&from_stdin, "words\n").exits(1);
    site.nrv(&["apply", "--yes", "nowhere.patch"]).exits(1).says("nowhere.patch");
    site.nrv(&["apply", "--yes"]).exits(2);
    assert_eq!(site.read("x.txt"), b"one\nzwei\nthree\nfour\n");
}

#[test]
fn the_level_of_paths_is_guessed_or_given() {
    let site = site();
    site.write("../bare.patch", EDIT.replace("a/x", "x").replace("b/x", "x"));
    site.write("../deep.patch", AGAIN.replace("a/x", "p/q/x").replace("b/x", "p/q/x"));
    apply(&site, &["-p1", "../bare.patch"]).exits(1);
    apply(&site, &["../bare.patch"]).exits(0);
    apply(&site, &["../deep.patch"]).exits(1);
    apply(&site, &["-p2", "../deep.patch"]).exits(0);
}

#[test]
fn a_patch_reaches_nothing_that_no_run_may_write() {
    let site = site();
    let before = site.tree();
    for path in [".git/hooks/post-commit", "nrv.toml", ".runs/x", "../outside", "a/.vscode/tasks.json"] {
        let patch = MAKE.replace("new/y.txt", path);
        let ran = site.nrv_with(&["apply", "--yes", "-"], &patch);
        assert!(matches!(ran.code, 1 | 3), "{path}: {ran:?}");
    }
    assert!(
        site.tree() == before && !site.path("../outside").exists() && !site.path(".git/hooks/post-commit").exists()
    );
}

#[test]
fn a_diff_gets_the_line_ends_of_its_file_where_that_is_asked() {
    let site = site();
    site.write("x.txt", "one\r\ntwo\r\nthree\r\n");
    site.write("y.txt", "one\r\ntwo\nthree\r\n");
    site.commit();
    let before = site.tree();
    apply(&site, &["../edit.patch"]).exits(1).says("`--line-ends file`").says("`nrv.diff.repair`");
    let mixed = EDIT.replace("x.txt", "y.txt");
    site.nrv_with(&["apply", "--yes", "--line-ends", "file", "-"], &mixed).exits(1).says("line 2 ends in LF");
    assert!(site.tree() == before);
    let ran = apply(&site, &["--line-ends", "file", "--json", "../edit.patch"]).exits(0).json();
    assert_eq!(site.read("x.txt"), b"one\r\nzwei\r\nthree\r\n");
    let outcome = &ran["result"][0];
    assert_eq!((&outcome["added"], &outcome["removed"]), (&json!(1), &json!(1)));
    assert_eq!(outcome["warnings"], json!(["4 lines of the diff got the line ends of `x.txt`, CRLF"]));
    // What was judged, and can be applied again, is the converted diff.
    let patch = format!(".runs/{}/packs/t1/patch", ran["run"].as_str().unwrap());
    let patch = String::from_utf8(site.read(&patch)).unwrap();
    assert!(patch.contains("-two\r\n+zwei\r\n"), "{patch}");
    site.nrv(&["replay", "last"]).exits(0);
    apply(&site, &["--line-ends", "file", "-R", "../edit.patch", "--allow-dirty"]).exits(0);
    assert!(site.tree() == before);
    let plan = json!({"diffs": [{"path": "x.txt", "unified_diff": EDIT, "line_ends": "file"}]}).to_string();
    site.nrv_with(&["apply", "--yes", "-"], &plan).exits(0);
    assert_eq!(site.read("x.txt"), b"one\r\nzwei\r\nthree\r\n");
    site.nrv_with(&["apply", "--yes", "--line-ends", "file", "-"], &plan).exits(2).says("means nothing for a plan");
}

#[test]
fn recount_mends_a_last_line_without_a_line_feed() {
    let site = site();
    let cut = EDIT.trim_end();
    let ran = site.nrv_with(&["apply", "--yes", "-"], cut).exits(1).says("`--recount`");
    assert!(!ran.stderr.contains("would be `@@"), "{ran:?}");
    site.nrv_with(&["apply", "--yes", "--recount", "-"], cut).exits(0).says("has no line feed at its end");
    assert_eq!(site.read("x.txt"), b"one\nzwei\nthree\n");
}

/// Applies mails of `git format-patch` of commits without hunks, and compares with `git am`.
#[test]
fn mails_of_commits_without_hunks_apply_as_git_takes_them() {
    let site = site();
    site.write("empty.txt", "");
    site.commit();
    let start = site.git(&["rev-parse", "HEAD"]).trim().to_owned();
    site.mode("x.txt", 0o755);
    site.commit();
    site.write("new.txt", "");
    site.commit();
    site.git(&["mv", "m.txt", "n.txt"]);
    site.commit();
    site.git(&["rm", "-q", "empty.txt"]);
    site.commit();
    let after = site.tree();
    for more in [&[][..], &["--no-stat"], &["--signature=a team\nand its town"], &["--full-index", "--binary"]] {
        let mails = site.git(&[&["format-patch", "--stdout"], more, &[&*start]].concat());
        for mails in [mails.clone(), mails.replace('\n', "\r\n")] {
            site.git(&["reset", "-q", "--hard", &start]);
            site.nrv_with(&["apply", "--yes", "-"], &mails).exits(0).says("5 files changed");
            assert!(site.tree() == after, "{more:?}");
            site.git(&["reset", "-q", "--hard", &start]);
            site.git(&["clean", "-qfd"]);
            site.write("../mails.mbox", &mails);
            site.git(&["am", "-q", "../mails.mbox"]);
            assert!(site.tree() == after, "{more:?}");
        }
    }
}
