//! A repository that was made to keep its reader busy does not keep nrv waiting.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    process::Stdio,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use nrv::{base::error::Code, system::git::Bringing};

use super::{changed, pipe, state};
use crate::support::site::Site;

#[test]
fn a_pipe_of_a_repository_keeps_neither_a_hook_nor_a_commit_waiting() {
    for name in ["HEAD", "index", "refs/heads/other", "logs/HEAD", "info/grafts"] {
        let site = Site::new(2);
        site.git(&["branch", "other"]);
        site.script(
            "new.rhai",
            "const WORKFLOW = #{ permissions: #{ write: [\"**\"] } }; nrv.apply.create(\"n\", \"\");",
        );
        let path = site.path(&format!(".git/{name}"));
        let _ = fs::remove_file(&path);
        pipe(&path);
        let found = nrv::system::git::brought(&site.root(), "other", Bringing::Tree, &|_| true);
        assert_eq!(found.is_some(), name.contains("logs") || name.contains("grafts"), "{name}");
        let ran = site.nrv(&["run", "new.rhai", "--commit", "--yes", "--allow-dirty"]);
        ran.exits(5).says(name).says("is neither file nor folder");
    }
}

#[test]
fn folders_of_objects_that_lead_to_a_pipe_are_named() {
    let site = Site::new(2);
    site.write("../other/objects/x", "");
    let other = site.root().join("../other").canonicalize().expect("a folder");
    fs::create_dir(other.join("info")).expect("a folder");
    site.write(".git/objects/info/alternates", format!("{}\n", other.display()));
    assert!(changed(&site).is_empty());
    pipe(&other.join("info/alternates"));
    let error = state(&site).expect_err("it can't be read");
    assert!(error.code() == Code::DirtyTree && error.message().contains("info/alternates"), "{error}");
}

#[test]
fn a_pattern_that_tries_every_folder_again_and_again_is_named() {
    for name in [".gitignore", ".gitattributes", ".git/info/exclude"] {
        let site = Site::new(2);
        site.write(name, format!("*.log\n{}x\n", "**/".repeat(40)));
        let error = state(&site).expect_err("it can't be read");
        assert!(error.message().contains(name) && error.message().contains("line 2"), "{error}");
    }
}

/// The name of an object that git takes in.
fn object(site: &Site, kind: &str, text: &[u8]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["hash-object", "-w", "--stdin", "--literally", "-t", kind]).current_dir(site.root());
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git");
    child.stdin.take().expect("a pipe").write_all(text).expect("a text");
    String::from_utf8(child.wait_with_output().expect("a name").stdout).expect("hex digits").trim().to_owned()
}

#[test]
fn a_few_trees_that_stand_for_more_files_than_there_is_room_for_end_with_the_signal() {
    let site = Site::new(2);
    let bytes = |name: &str| -> Vec<u8> {
        (0..20).map(|at| u8::from_str_radix(&name[2 * at..2 * at + 2], 16).expect("hex digits")).collect()
    };
    let mut name = object(&site, "blob", b"x");
    for level in 0..12 {
        let mode = if level == 0 { "100644" } else { "40000" };
        let row = |n: u32| [format!("{mode} {n:02}\0").as_bytes(), &bytes(&name)].concat();
        name = object(&site, "tree", &(0..20).flat_map(row).collect::<Vec<u8>>());
    }
    let who = "a <a@a.example> 1 +0000";
    let commit = object(&site, "commit", format!("tree {name}\nauthor {who}\ncommitter {who}\n\nx\n").as_bytes());
    site.git(&["update-ref", "HEAD", &commit]);
    let stop = Arc::new(AtomicBool::new(true));
    let watch = Instant::now();
    let error = nrv::system::git::state(&site.root(), &BTreeMap::new(), &stop).expect_err("it was stopped");
    assert!(error.code() == Code::Cancelled && watch.elapsed() < Duration::from_secs(5), "{error}");
}
