//! `nrv hooks`: git commits no tree in which a run died.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use rustix::process::Signal;

use crate::support::{
    hold::stopped_in_transaction,
    site::{MIGRATE, Ran, Site},
};

/// A real `git commit`, with the built program on the path or without.
fn commit(site: &Site, with_nrv: bool) -> Ran {
    let built = std::path::Path::new(crate::repository::nrv()).parent().expect("it has one").to_owned();
    let path = std::env::var("PATH").expect("there is one");
    let mut command = Command::new("git");
    site.tame(&mut command).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    let path = if with_nrv { format!("{}:{path}", built.display()) } else { path };
    command.args(["commit", "-q", "--allow-empty", "-m", "more"]).env("PATH", path);
    let output = command.output().expect("git is here");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn a_tree_in_which_a_run_died_is_not_committed_until_it_is_recovered() {
    let site = Site::new(200);
    site.nrv(&["hooks", "install", "--yes"]).exits(0).says(".git/hooks/pre-commit");
    commit(&site, true).exits(0);
    site.nrv(&["recover", "--check"]).exits(0).says("Nothing to recover");
    let before = site.tree();
    let running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    running.signal(Signal::KILL);
    drop(running);
    site.nrv(&["recover", "--check"]).exits(5).says("died and are not recovered");
    commit(&site, true).exits(1).says("`nrv recover`");
    // Without nrv the hook says so, and git goes on.
    commit(&site, false).exits(0).says("nrv is not on the PATH");
    site.nrv(&["recover"]).exits(0);
    commit(&site, true).exits(0);
}

#[test]
fn a_hook_is_shown_and_asked_for_and_replaces_none_but_its_own() {
    let site = Site::new(2);
    let hook = site.path(".git/hooks/pre-commit");
    site.nrv(&["hooks", "install", "--dry-run"]).exits(0).says("would be written");
    assert!(!hook.exists());
    site.nrv(&["hooks", "install"]).exits(2).says("there is no person to ask");
    assert!(!hook.exists());
    site.nrv(&["hooks", "install", "--yes"]).exits(0);
    let mode = fs::metadata(&hook).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    site.nrv(&["hooks", "install", "--yes"]).exits(0).says("is there already");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("a hook");
    site.nrv(&["hooks", "install", "--yes"]).exits(1).says("is not nrv's").says("nrv recover --check || exit 1");
    assert_eq!(fs::read(&hook).expect("it is there"), b"#!/bin/sh\nexit 0\n");
    Site::empty().nrv(&["hooks", "install", "--yes"]).exits(1).says("belongs to no git repository");
}

#[test]
fn a_folder_that_a_setting_names_is_told_and_never_written() {
    let site = Site::new(2);
    site.git(&["config", "core.hooksPath", "site"]);
    site.nrv(&["hooks", "install", "--yes"]).exits(1).says("`core.hooksPath`").says("`site`");
    assert!(!site.path("site/pre-commit").exists() && !site.path(".git/hooks/pre-commit").exists());
    site.git(&["config", "--unset", "core.hooksPath"]);
    fs::remove_dir_all(site.path(".git/hooks")).expect("it is there");
    std::os::unix::fs::symlink("../site", site.path(".git/hooks")).expect("a link");
    let ran = site.nrv(&["hooks", "install", "--yes"]);
    assert!(ran.code != 0 && !site.path("site/pre-commit").exists(), "{ran:?}");
}

#[test]
fn a_linked_work_tree_and_a_folder_below_share_the_hook() {
    let site = Site::new(2);
    site.git(&["worktree", "add", "-q", "../linked"]);
    site.nrv(&["hooks", "install", "--yes", "--root", "../linked"]).exits(0);
    assert!(site.path(".git/hooks/pre-commit").exists());
    site.write("it's here/nrv.toml", "");
    site.nrv(&["hooks", "install", "--yes", "--root", "it's here"]).exits(0);
    commit(&site, true).exits(0);
}

#[test]
fn only_its_own_hook_is_removed() {
    let site = Site::new(2);
    let hook = site.path(".git/hooks/pre-commit");
    let status = || site.nrv(&["hooks", "status", "--json"]).exits(0).json()["state"].as_str().unwrap_or("").to_owned();
    assert_eq!(status(), "absent");
    site.nrv(&["hooks", "remove", "--yes"]).exits(1).says("there is no");
    site.nrv(&["hooks", "install", "--yes"]).exits(0);
    assert_eq!(status(), "own");
    site.nrv(&["hooks", "remove"]).exits(2).says("there is no person to ask");
    assert!(hook.exists());
    site.nrv(&["hooks", "remove", "--yes"]).exits(0).says("The hook is removed");
    assert!(!hook.exists() && status() == "absent");

    site.nrv(&["hooks", "install", "--yes"]).exits(0);
    let own = fs::read_to_string(&hook).expect("a hook");
    for edited in [format!("{own}make check\n"), own.replace("--root './.'", "--root './x' --json")] {
        fs::write(&hook, &edited).expect("a hook");
        assert_eq!(status(), "edited");
        site.nrv(&["hooks", "remove", "--yes"]).exits(1).says("was edited since nrv wrote it");
        assert_eq!(fs::read_to_string(&hook).expect("it is there"), edited);
    }
    fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("a hook");
    assert_eq!(status(), "other");
    site.nrv(&["hooks", "remove", "--yes"]).exits(1).says("is not nrv's");
    fs::remove_file(&hook).expect("it is there");
    std::os::unix::fs::symlink("../../site/a/p0.html", &hook).expect("a link");
    assert_eq!(status(), "other");
    site.nrv(&["hooks", "remove", "--yes"]).exits(1).says("is not nrv's");
    assert!(hook.symlink_metadata().is_ok());
    site.git(&["config", "core.hooksPath", "site"]);
    assert_eq!(status(), "elsewhere");
    site.nrv(&["hooks", "remove", "--yes"]).exits(1).says("`site`");
    site.git(&["config", "--unset", "core.hooksPath"]);
    fs::remove_file(&hook).expect("it is there");

    site.write("it's here/nrv.toml", "");
    site.nrv(&["hooks", "install", "--yes", "--root", "it's here"]).exits(0);
    assert_eq!(site.nrv(&["hooks", "status", "--json"]).json()["root"], "it's here");
    site.nrv(&["hooks", "remove", "--yes", "--root", "it's here"]).exits(0);
    assert!(!hook.exists());
}
