//! `nrv add`: packs from folders and commits, their hashes and licences, and what a hostile source can't do.
#![expect(clippy::disallowed_methods, reason = "tests build trees and repositories")]

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
};

use crate::{
    git::{arm, marker},
    support::site::{Ran, Site, finished, wait_until},
};

const SCRIPT: &str = "//! Say hello.\nconst WORKFLOW = #{ name: \"hello\" };\nprint(\"hello\");\n";
const LICENCE: &str = include_str!("../../LICENSE-MIT");

/// A repository with a pack.
fn source() -> Site {
    let source = Site::empty();
    source.git(&["init", "-q"]);
    source.write("scripts/hello.rhai", SCRIPT);
    source.write("scripts/lib/words.rhai", "fn word() { \"hello\" }\n");
    source.write("dta/tool.py", "#!/usr/bin/env python3\nprint(1)\n");
    source.mode("dta/tool.py", 0o755);
    source.write("LICENSE", LICENCE);
    source.write("src/main.c", "int main;\n");
    source.commit();
    source
}

fn commit_of(source: &Site) -> String {
    source.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

fn url_of(source: &Site) -> String {
    format!("file://{}@{}", source.root().display(), commit_of(source))
}

fn add(site: &Site, source: &[&str], more: &[&str]) -> Ran {
    site.nrv(&[&["add", "--name", "rules"], source, more].concat())
}

#[track_caller]
fn shows(ran: Ran, words: &[&str]) {
    for words in words {
        assert!(ran.stdout.contains(words), "{words:?} is not in {}", ran.stdout);
    }
}

#[test]
fn a_pack_of_a_folder_is_copied_pinned_and_kept_up_to_date() {
    let (site, source) = (Site::new(1), source());
    let folder = source.root().display().to_string();
    let before = site.tree();
    let preview = add(&site, &[&folder], &["--dry-run"]).exits(0).says("Nothing was written");
    shows(preview, &["rules: 4 files", "licence MIT", "+++ b/dta/tool.py"]);
    assert_eq!(site.tree(), before);
    add(&site, &[&folder], &[]).exits(2).says("--yes");
    assert_eq!(site.tree(), before);

    let added = add(&site, &[&folder], &["--yes", "--json"]).exits(0).json();
    assert_eq!((&added["pack"], &added["written"]), (&"rules".into(), &true.into()));
    assert_eq!(added["changes"].as_array().unwrap().len(), 4, "{added}");
    assert_eq!(site.read("scripts/vendor/rules/hello.rhai"), SCRIPT.as_bytes());
    assert_eq!(site.read("scripts/vendor/rules/LICENSE"), LICENCE.as_bytes());
    assert!(!site.path("src/main.c").exists());
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    assert!(lock.contains("[packs.rules]") && lock.contains("licence = \"MIT\""), "{lock}");
    add(&site, &[&folder], &["--yes"]).exits(0).says("there already");
    site.commit();
    site.nrv(&["approve", "scripts/vendor/rules/hello.rhai", "--yes"]).exits(0);
    site.commit();
    site.nrv(&["run", "scripts/vendor/rules/hello.rhai", "--locked"]).exits(0);
    site.nrv(&["approve", "--check"]).exits(0);

    // An edit of the workspace is not lost, and shows.
    site.write("dta/tool.py", "print(2)\n");
    site.nrv(&["approve", "--check"]).exits(3).says("`dta/tool.py` was edited").says("nrv add");
    source.write("dta/tool.py", "print(3)\n");
    fs::remove_file(source.path("scripts/lib/words.rhai")).unwrap();
    let tree = site.tree();
    add(&site, &[&folder], &["--yes"]).exits(1).says("`dta/tool.py`").says("--replace");
    assert_eq!(site.tree(), tree);
    add(&site, &[&folder], &["--yes", "--replace"]).exits(0);
    assert_eq!(site.read("dta/tool.py"), b"print(3)\n");
    assert!(!site.path("scripts/vendor/rules/lib/words.rhai").exists(), "a file that left the pack is removed");
    site.nrv(&["approve", "--check"]).exits(0);
}

#[test]
fn a_pack_says_what_is_wrong_with_it() {
    let (site, source) = (Site::new(1), source());
    let folder = source.root().display().to_string();
    let before = site.tree();
    fs::remove_file(source.path("LICENSE")).unwrap();
    add(&site, &[&folder], &["--yes"]).exits(1).says("no licence").says("--licence");
    shows(add(&site, &[&folder], &["--dry-run", "--licence", "MIT"]).exits(0), &["licence MIT"]);
    site.nrv(&["add", "nowhere", "--yes"]).exits(1);
    site.nrv(&["add", ".", "--yes"]).exits(1).says("the workspace itself");
    site.nrv(&["add", &folder, "more", "--yes"]).exits(2).says("--help");
    add(&site, &[&folder], &["--yes", "--name", "x", "--licence", "MIT"]).exits(2);
    site.nrv(&["add", &folder, "--yes", "--licence", "MIT", "--name", "../up"]).exits(1).says("name of a pack");
    let in_ci = site.command(&["add", &folder, "--yes", "--licence", "MIT"]).env("CI", "true").output().unwrap();
    assert_eq!(in_ci.status.code(), Some(3));
    assert_eq!(site.tree(), before);
    site.write("dta/tool.py", "own\n");
    add(&site, &[&folder], &["--yes", "--licence", "MIT"]).exits(1).says("`dta/tool.py`");
    assert_eq!(site.read("dta/tool.py"), b"own\n");
}

#[test]
fn a_commit_is_fetched_without_programs_of_its_repository_or_user() {
    let (site, source) = (Site::new(1), source());
    let (program, marks) = marker(&source);
    arm(&source, ".", &program);
    source.write(".gitattributes", "* filter=x diff=x merge=x\n*.py filter=lfs\n");
    let commit = commit_of(&source);
    // The user's own configuration is off too.
    let home = site.root().parent().unwrap().to_owned();
    let evil = format!(
        "[core]\n\thooksPath = {0}\n\tsshCommand = {1}\n\tfsmonitor = {1}\n[uploadpack]\n\tpackObjectsHook = {1}\n\
         [credential]\n\thelper = {1}\n[url \"ext::{1} \"]\n\tinsteadOf = file://\n[init]\n\ttemplateDir = {0}\n\
         [filter \"lfs\"]\n\tsmudge = {1}\n[protocol \"ext\"]\n\tallow = always\n",
        home.display(),
        program,
    );
    fs::write(home.join(".gitconfig"), evil).unwrap();
    let url = url_of(&source);
    shows(add(&site, &["git", &url], &["--yes"]).exits(0), &[&commit]);
    assert!(!marks.exists(), "{}", fs::read_to_string(marks).unwrap());
    fs::remove_file(home.join(".gitconfig")).unwrap();
    assert_eq!(site.read("scripts/vendor/rules/hello.rhai"), SCRIPT.as_bytes());
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(site.path("dta/tool.py")).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o755);
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    assert!(lock.contains(&format!("commit = \"{commit}\"")), "{lock}");

    let before = site.tree();
    let missing = format!("file://{}@{}", source.root().display(), "0".repeat(40));
    add(&site, &["git", &missing], &["--yes"]).exits(1).says("can't be fetched");
    assert_eq!(site.tree(), before);
}

#[test]
fn a_folder_of_a_repository_is_a_pack_too() {
    let (site, source) = (Site::new(1), source());
    source.write("packs/docs/tidy.rhai", SCRIPT);
    source.write("packs/docs/LICENSE", LICENCE);
    source.commit();
    shows(add(&site, &["git", &url_of(&source)], &["--folder", "packs/docs", "--yes"]).exits(0), &["2 files"]);
    assert!(site.path("scripts/vendor/rules/tidy.rhai").exists() && !site.path("dta").exists());
    site.write("scripts/vendor/rules/tidy.rhai", "edited\n");
    site.nrv(&["approve", "--check"]).exits(3).says("--folder packs/docs");
}

#[test]
fn protocols_options_links_and_submodules_are_refused() {
    let (site, source) = (Site::new(1), source());
    let (program, marks) = marker(&source);
    let before = site.tree();
    let commit = commit_of(&source);
    let root = source.root().display().to_string();
    for url in [
        format!("ext::{program} x"),
        format!("ext://{program}"),
        format!("--upload-pack={program}"),
        format!("-u{program}"),
        format!("fd::{root}"),
        root.clone(),
        format!("http://127.0.0.1:1{root}"),
        format!("ssh://-oProxyCommand={program}/x"),
    ] {
        let source = format!("{url}@{commit}");
        let ran = site.nrv(&["add", "--yes", "--name", "rules", "--", "git", &source]);
        assert!(matches!(ran.code, 1 | 2), "{url}: {ran:?}");
    }
    add(&site, &["git", &format!("file://{root}@main")], &["--yes"]).exits(1).says("full hash");

    let folder = source.root().display().to_string();
    symlink("/etc/passwd", source.path("dta/link.rhai")).unwrap();
    add(&site, &[&folder], &["--yes"]).exits(1).says("`dta/link.rhai` of the pack is no regular file");
    source.commit();
    add(&site, &["git", &url_of(&source)], &["--yes"]).exits(1).says("`dta/link.rhai`").says("link or a submodule");
    fs::remove_file(source.path("dta/link.rhai")).unwrap();
    source.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},dta/module")]);
    source.git(&["commit", "-q", "-m", "module"]);
    add(&site, &["git", &url_of(&source)], &["--yes"]).exits(1).says("link or a submodule");
    source.git(&["rm", "-q", "--cached", "dta/module"]);
    source.write("dta/big.rhai", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    source.commit();
    add(&site, &["git", &url_of(&source)], &["--yes"]).exits(1).says("LFS pointer");
    assert!(!marks.exists() && site.tree() == before);
}

#[test]
fn nothing_of_a_pack_is_left_out_in_silence() {
    let (site, source) = (Site::new(1), source());
    let folder = source.root().display().to_string();
    let before = site.tree();
    let refused = |words: &str| {
        add(&site, &[&folder], &["--yes"]).exits(1).says(words);
        source.commit();
        add(&site, &["git", &url_of(&source)], &["--yes"]).exits(1);
    };
    let odd = source.root().join(OsStr::from_bytes(b"scripts/od\xff"));
    fs::write(&odd, "x").unwrap();
    refused("has a name that is not UTF-8");
    fs::remove_file(&odd).unwrap();
    fs::remove_dir_all(source.path("scripts")).unwrap();
    symlink("/etc", source.path("scripts")).unwrap();
    refused("`scripts` of the pack is no regular file");
    fs::remove_file(source.path("scripts")).unwrap();
    let pipe = source.path("dta/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    add(&site, &[&folder], &["--yes"]).exits(1).says("`dta/pipe` of the pack is no regular file");
    fs::remove_file(&pipe).unwrap();
    add(&site, &[&folder], &["--yes", "--licence", "x\n[scripts]"]).exits(1).says("no SPDX expression");
    add(&site, &["git", &format!("file://example.com{folder}@{}", commit_of(&source))], &["--yes"])
        .exits(1)
        .says("file:///");
    assert_eq!(site.tree(), before);
}

#[test]
fn names_that_differ_only_in_case_are_refused() {
    let (site, source) = (Site::new(1), source());
    let folder = source.root().display().to_string();
    let before = site.tree();
    source.write("scripts/Lib/more.rhai", "fn more() {}\n");
    add(&site, &[&folder], &["--yes"])
        .exits(1)
        .says("`scripts/vendor/rules/Lib` and `scripts/vendor/rules/lib` differ");
    source.commit();
    add(&site, &["git", &url_of(&source)], &["--yes"]).exits(1).says("differ only in case");
    fs::remove_dir_all(source.path("scripts/Lib")).unwrap();
    assert_eq!(site.tree(), before);
    // A file of the workspace, and a pack of a similar name.
    site.write("dta/Tool.py", "own\n");
    add(&site, &[&folder], &["--yes"]).exits(1).says("`dta/tool.py` and `dta/Tool.py` differ only in case");
    fs::remove_file(site.path("dta/Tool.py")).unwrap();
    add(&site, &[&folder], &["--yes"]).exits(0);
    site.nrv(&["add", "--name", "Rules", &folder, "--yes"]).exits(1);
    // A new version may spell a name of the earlier one anew.
    fs::rename(source.path("dta/tool.py"), source.path("dta/TOOL.py")).unwrap();
    add(&site, &[&folder], &["--yes"]).exits(0);
    assert!(site.path("dta/TOOL.py").exists() && !site.path("dta/tool.py").exists());
}

#[test]
fn an_entry_that_names_files_of_others_is_refused() {
    let (site, source) = (Site::new(1), source());
    let folder = source.root().display().to_string();
    site.write("notes.txt", "own\n");
    let hash = nrv::base::hash::Sha256::of(b"own\n");
    let text = "version = 1\n[packs.rules]\nsource = \"x\"\nlicence = \"MIT\"\n[packs.rules.files]\n";
    site.write("nrv.lock", format!("{text}\"notes.txt\" = \"{hash}\"\n"));
    let before = site.tree();
    add(&site, &[&folder], &["--yes"]).exits(1).says("`notes.txt` outside of its folders");
    assert_eq!(site.tree(), before);
}

#[test]
fn a_pin_is_taken_back_with_files_that_could_not_be_copied() {
    let (site, source) = (Site::new(1), source());
    let folder = source.root().display().to_string();
    let site = site.policy("[paths]\ndeny = [\"dta/**\"]\n");
    for lock in [None, Some("version = 1\n")] {
        lock.iter().for_each(|text| site.write("nrv.lock", text));
        let before = site.tree();
        assert_ne!(add(&site, &[&folder], &["--yes"]).code, 0);
        assert_eq!(site.tree(), before);
    }
}

#[test]
fn a_pack_of_the_same_name_from_elsewhere_is_another_pack() {
    let (site, one, other) = (Site::new(1), source(), source());
    let folders = [&one, &other].map(|source| source.root().display().to_string());
    add(&site, &[&folders[0]], &["--yes"]).exits(0);
    let before = site.tree();
    add(&site, &[&folders[1]], &["--yes"]).exits(1).says("from another source").says("--replace");
    assert_eq!(site.tree(), before);
    add(&site, &[&folders[1]], &["--yes", "--replace"]).exits(0);
}

#[test]
fn packs_that_are_added_at_once_are_pinned_or_not_there() {
    let site = Site::new(1);
    let sources: Vec<Site> = (0..4)
        .map(|n| {
            let source = source();
            fs::remove_dir_all(source.path("dta")).unwrap();
            source.write(&format!("scripts/own{n}.rhai"), SCRIPT);
            source
        })
        .collect();
    let start = |(n, source): (usize, &Site)| {
        site.start_heard(&["add", &source.root().display().to_string(), "--yes", "--name", &format!("rules{n}")])
    };
    let running: Vec<_> = sources.iter().enumerate().map(start).collect();
    let ended: Vec<Ran> = running.into_iter().map(|running| running.end()).collect();
    let lock = String::from_utf8(site.read("nrv.lock")).unwrap();
    for (n, ran) in ended.iter().enumerate() {
        let is_pinned = lock.contains(&format!("[packs.rules{n}]"));
        let is_there = site.path(&format!("scripts/vendor/rules{n}/own{n}.rhai")).exists();
        assert!(is_pinned == is_there && is_pinned == (ran.code == 0), "{n}: {ran:?} {lock}");
    }
    assert!(ended.iter().any(|ran| ran.code == 0), "{ended:?}");
    site.nrv(&["approve", "--check"]).exits(0);
}

#[test]
fn a_git_of_the_workspace_is_not_run() {
    let (site, source) = (Site::new(1), source());
    let mark = source.path("mark");
    site.write("bin/git", format!("#!/bin/sh\ntouch {}\nexec /usr/bin/git \"$@\"\n", mark.display()));
    site.mode("bin/git", 0o755);
    let url = url_of(&source);
    let path = format!("{}:/usr/bin:/bin", site.path("bin").display());
    let mut command = site.command(&["add", "git", &url, "--yes"]);
    let ran = finished(command.env("PATH", path).output().unwrap());
    ran.exits(3).says("`git` in `PATH` is a file of the workspace");
    assert!(!mark.exists());
}

#[test]
fn a_fetch_ends_with_nrv() {
    let site = Site::new(1);
    // A server that never answers.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/rules", server.local_addr().unwrap());
    let source = format!("{address}@{}", "0".repeat(40));
    let running = site.start(&["add", "git", &source, "--yes"]);
    let (connection, _) = server.accept().unwrap();
    running.signal(rustix::process::Signal::KILL);
    drop(running.end());
    let is_there = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let words = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        words.into_iter().any(|words| String::from_utf8_lossy(&words).contains(&address))
    };
    wait_until("git is gone", || !is_there());
    drop(connection);
}
