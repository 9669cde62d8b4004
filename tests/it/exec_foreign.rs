//! Commands in trees that are shared: files of a secondary group, of a group that the user is not in, and of other users.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    os::unix::fs::{MetadataExt, lchown},
    process::Command,
};

use crate::support::{need, site::Site};

/// A user; beside it, a group that the user is in, and others that the user is not in.
const USER: u32 = 12345;
const TEAM: u32 = 5555;
const OTHER: u32 = 777;

/// Changes files in all ways: by writing, by putting another one in the place, by making one.
const CHANGES: &str = "set -e; sed -i s/a/A/ a.txt; sed -i s/b/B/ sub/b.txt; echo more >> sub/b.txt; echo t >> team/t.txt; \
                       echo new > sub/new; mkdir -p sub/x/y; echo z > sub/x/y/z; rm sub/gone; mv sub/from sub/deep/to; echo 1 > *.log";

/// A tree of the user, in folders of the team that pass the group on, with a folder of another member of it. None if this user may
/// not make one.
fn shared(policy: &str) -> Option<Site> {
    let site = Site::empty();
    for name in ["a.txt", "sub/b.txt", "sub/gone", "sub/from", "sub/deep/c", "team/t.txt", "a.log", "target/old"] {
        site.write(name, format!("{}\n", name.rsplit('/').next().unwrap()));
    }
    site.write("nrv.toml", format!("{policy}\n[[exec.allow]]\nprefix = [\"sh\"]\n"));
    let made = own(&site, USER, TEAM) && lchown(site.path("team"), Some(OTHER), Some(TEAM)).is_ok();
    if !made || as_user(&site, &["--version"]).is_none() {
        need::skip("users");
        return None;
    }
    lchown(site.path("team/t.txt"), Some(OTHER), Some(TEAM)).unwrap();
    Some(site)
}

/// Gives everything to a user and a group, writable by both, with folders that pass the group on.
fn own(site: &Site, user: u32, group: u32) -> bool {
    walkdir::WalkDir::new(site.root().parent().unwrap()).into_iter().all(|entry| {
        let entry = entry.unwrap();
        let given = lchown(entry.path(), Some(user), Some(group)).is_ok();
        let mode = if entry.file_type().is_dir() { 0o2775 } else { 0o664 };
        fs::set_permissions(entry.path(), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        given
    })
}

/// Runs the binary as the user; returns its exit code and its output.
fn as_user(site: &Site, arguments: &[&str]) -> Option<(i32, String)> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &USER.to_string(), "--regid", &USER.to_string()]);
    command.args(["--groups", &format!("{USER},{TEAM}"), crate::repository::nrv()]).args(arguments);
    let output = site.tame(&mut command).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.code()?, String::from_utf8_lossy(&said).into_owned()))
}

fn workflow(line: &str, writes: &str) -> String {
    format!(
        "const WORKFLOW = #{{ permissions: #{{ exec: [\"*\"], write: [\"**\"] }} }};\n\
         let r = nrv.exec.run(#{{ program: \"sh\", args: [\"-c\", \"{line}\"], writes: {writes} }});\nprint(r.stderr); r.status"
    )
}

#[track_caller]
fn changes_all(policy: &str) {
    let Some(site) = shared(policy) else { return };
    site.write("w.rhai", workflow(CHANGES, "[\"**/*.txt\", \"sub/**\"]"));
    own_file(&site, "w.rhai");
    let (code, said) = as_user(&site, &["run", "w.rhai", "--yes"]).unwrap();
    assert!(code == 0 && said.contains("8 files changed"), "{code} {said}");
    let text = |name: &str| String::from_utf8(site.read(name)).unwrap();
    assert_eq!((text("a.txt").as_str(), text("sub/b.txt").as_str()), ("A.txt\n", "B.txt\nmore\n"));
    assert_eq!((text("team/t.txt").as_str(), text("sub/deep/to").as_str()), ("t.txt\nt\n", "from\n"));
    assert_eq!((text("sub/x/y/z").as_str(), text("a.log").as_str()), ("z\n", "a.log\n"));
    assert!(!site.path("sub/gone").exists() && !site.path("sub/from").exists());
    // The folder passes its group on, as without nrv.
    assert_eq!(fs::metadata(site.path("sub/new")).unwrap().gid(), TEAM);
}

fn own_file(site: &Site, name: &str) {
    lchown(site.path(name), Some(USER), Some(TEAM)).unwrap();
}

#[test]
fn files_of_a_secondary_group_are_changed_in_a_view() {
    changes_all("[exec]\nscratch = [\"*.log\"]");
}

#[test]
fn files_of_a_secondary_group_are_changed_without_a_sandbox_too() {
    changes_all("[exec]\nscratch = [\"*.log\"]\nsandbox = \"off\"");
}

#[test]
fn the_view_of_a_shared_tree_is_confined_in_full() {
    changes_all("[exec]\nscratch = [\"*.log\"]\nsandbox = \"require\"");
}

#[test]
fn what_others_keep_for_themselves_is_not_written() {
    let Some(site) = shared("") else { return };
    site.mode("team", 0o2755);
    site.mode("team/t.txt", 0o644);
    site.write("w.rhai", workflow("echo x > team/new; echo x >> team/t.txt; echo fine > a.txt", "[\"**\"]"));
    own_file(&site, "w.rhai");
    let (code, said) = as_user(&site, &["run", "w.rhai", "--yes"]).unwrap();
    assert!(code == 0 && said.contains("1 file changed"), "{code} {said}");
    assert_eq!(said.matches("Permission denied").count(), 2, "{said}");
    assert!(!site.path("team/new").exists());
}

#[test]
fn a_dry_run_changes_scratch_of_a_secondary_group_in_its_view() {
    let Some(site) = shared("[exec]\nscratch = [\"target/**\"]") else { return };
    site.write("w.rhai", workflow("cat target/old >> target/old2; echo x >> target/old; cat target/old >&2", "[]"));
    own_file(&site, "w.rhai");
    let (code, said) = as_user(&site, &["run", "w.rhai", "--dry-run"]).unwrap();
    assert!(code == 0 && said.contains("old\nx\n"), "{code} {said}");
    assert_eq!((site.read("target/old"), site.path("target/old2").exists()), (b"old\n".to_vec(), false));
    // A run writes the folder itself.
    let (code, said) = as_user(&site, &["run", "w.rhai", "--yes"]).unwrap();
    assert!(code == 0 && site.path("target/old2").exists(), "{code} {said}");
}

#[test]
fn what_is_proposed_is_laid_over_a_shared_tree() {
    let Some(site) = shared("") else { return };
    let body = r#"
        nrv.apply.create("sub/made/m.txt", "made\n");
        nrv.apply.write("sub/b.txt", "proposed\n", nrv.files.sha256("sub/b.txt"));
    "#;
    let script = workflow("cat sub/b.txt >&2; sed -i s/made/MADE/ sub/made/m.txt; cat sub/made/m.txt >&2", "[\"**\"]");
    let (header, rest) = script.split_once('\n').unwrap();
    site.write("w.rhai", format!("{header}\n{body}{rest}"));
    own_file(&site, "w.rhai");
    let (code, said) = as_user(&site, &["run", "w.rhai", "--dry-run"]).unwrap();
    assert!(code == 0 && said.contains("proposed\nMADE\n"), "{code} {said}");
}

#[test]
fn the_administrator_changes_files_of_others_that_everybody_may_change() {
    let site = Site::empty();
    for name in ["a.txt", "sub/b.txt", "sub/gone", "sub/from", "sub/deep/c", "team/t.txt", "a.log", "keep/k"] {
        site.write(name, format!("{}\n", name.rsplit('/').next().unwrap()));
    }
    site.write("nrv.toml", "[exec]\nscratch = [\"*.log\"]\n[[exec.allow]]\nprefix = [\"sh\"]\n");
    site.write("w.rhai", workflow(&format!("{CHANGES}; echo x > keep/k"), "[\"**/*.txt\", \"sub/**\", \"keep/**\"]"));
    if !rustix::process::geteuid().is_root() || !own(&site, USER, TEAM) {
        return need::skip("users");
    }
    for entry in walkdir::WalkDir::new(site.root()) {
        let entry = entry.unwrap();
        let mode = if entry.file_type().is_dir() { 0o777 } else { 0o666 };
        fs::set_permissions(entry.path(), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    site.mode("keep", 0o755);
    site.mode("keep/k", 0o644);
    let ran = site.nrv(&["run", "w.rhai", "--yes"]).exits(0);
    assert!(ran.stderr.contains("8 files changed") || ran.stdout.contains("8 files changed"), "{ran:?}");
    // A command of the administrator has no privileges: it can't write a file that only another owner may write.
    assert_eq!(site.read("keep/k"), b"k\n");
}

#[test]
fn the_doctor_changes_a_file_of_each_owner_in_a_view_of_the_tree() {
    let Some(site) = shared("") else { return };
    let (code, said) = as_user(&site, &["doctor"]).unwrap();
    assert!(code == 0 && said.contains("ok    view: a command changed 5 files"), "{code} {said}");
    assert!(!site.path("nrv-trial").exists() && !site.path("sub/nrv-trial").exists());
}
