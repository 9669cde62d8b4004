//! A repository within the repository is not opened, and its files are not changed unless that is permitted.

use std::fs;

use serde_json::Value;

use super::changed;
use crate::support::site::{NEW, OLD, SECOND, Site, page};

/// A repository of its own within the site, with one committed page.
fn nested() -> Site {
    let site = Site::new(4);
    site.write("site/own/deep/p.html", page("p", OLD, SECOND));
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "own"]] {
        site.git(&[&["-C", "site/own"], arguments].concat());
    }
    site
}

#[track_caller]
fn is_refused(site: &Site) {
    assert!(changed(site).is_empty());
    let why = "`site/own` is a repository of its own";
    site.migrate(&["--dry-run"]).exits(0).says(why);
    let before = site.tree();
    site.migrate(&[]).exits(5).says(why).says("`--root site/own`");
    assert!(site.tree() == before);
    site.migrate(&["--arg", "glob=site/a/*.html"]).exits(0);
    site.migrate(&["--allow-dirty"]).exits(0);
    assert!(String::from_utf8_lossy(&site.read("site/own/deep/p.html")).contains(NEW));
}

#[test]
fn a_change_in_a_repository_within_the_repository_is_refused() {
    is_refused(&nested());
}

#[test]
fn a_change_in_a_submodule_is_refused() {
    let site = nested();
    site.commit();
    is_refused(&site);
}

#[test]
fn whatever_is_called_git_in_a_folder_makes_it_a_repository_of_its_own() {
    for make in [
        (|site: &Site| site.write("site/own/.git", "gitdir: /dev/zero\n")) as fn(&Site),
        |site| fs::create_dir_all(site.path("site/own/.git")).expect("a folder"),
        |site| {
            fs::create_dir_all(site.path("site/own")).expect("a folder");
            std::os::unix::fs::symlink("/nowhere", site.path("site/own/.git")).expect("a link");
        },
        |site| {
            fs::create_dir_all(site.path("site/own")).expect("a folder");
            super::pipe(&site.path("site/own/.git"));
        },
    ] {
        let site = Site::new(4);
        make(&site);
        site.write("site/own/deep/p.html", page("p", OLD, SECOND));
        is_refused(&site);
    }
}

#[test]
fn the_rule_holds_for_diffs_and_for_commands() {
    let site = nested().policy("[[exec.allow]]\nprefix = ['touch']\nwrites = ['**']\n");
    let diff = "--- /dev/null\n+++ b/site/own/new.txt\n@@ -0,0 +1 @@\n+x\n";
    let ran = site.nrv_with(&["apply", "--yes", "-"], diff);
    ran.exits(5).says("`site/own` is a repository of its own");
    site.write(
        "scripts/touch.rhai",
        "const WORKFLOW = #{ name: \"touch\", permissions: #{ write: [\"**\"], exec: [\"touch\"] } };\n\
         nrv.exec.run(#{ program: \"touch\", args: [\"site/own/new.txt\"], writes: [\"**\"] });\n",
    );
    let ran = site.nrv(&["run", "scripts/touch.rhai", "--yes", "--json"]);
    let said = ran.exits(5).json();
    assert_eq!(said["error"]["code"], Value::from("dirty_tree"), "{said}");
    assert!(!site.path("site/own/new.txt").exists());
}

#[test]
fn policy_permits_it_and_nothing_is_asked_outside_of_a_repository() {
    let site = nested().policy("[run]\nallow_dirty = true\n");
    site.migrate(&[]).exits(0);
    let site = nested();
    fs::remove_dir_all(site.path(".git")).expect("it is there");
    site.migrate(&["--root", "."]).exits(0);
}
