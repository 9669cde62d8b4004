//! Commands on a view of a tree, by an overlay of the kernel and by a copy: their changes are read back exactly, and none
//! reaches the tree.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod command;
mod program;
mod property;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use nrv::{
    base::{change::Content, error::Code, path::RepoPath},
    system::workspace::{Overlay, Workspace},
};

use self::command::{Setting, WAYS, Way};

/// The changes of a shell script that may write everything, as lines.
#[track_caller]
fn check(script: &str, expected: &[&str]) {
    for way in WAYS {
        let setting = Setting::new();
        let before = setting.snapshot();
        let done = setting.shell(script).writes(&["**"]).run(way).unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert_eq!(command::lines(&done), expected, "{way:?}: {}", String::from_utf8_lossy(&done.ended.stderr.head));
        assert_eq!(setting.snapshot(), before, "{way:?}: the tree was written");
        assert_eq!(setting.private_folders(), Vec::<String>::new(), "{way:?}");
    }
}

#[track_caller]
fn fails(script: &str, writes: &[&str], code: Code, named: &str) {
    for way in WAYS {
        let setting = Setting::new();
        let before = setting.snapshot();
        let error = setting.shell(script).writes(writes).run(way).unwrap_err();
        assert_eq!(error.code(), code, "{way:?}: {error:?}");
        assert!(error.message().contains(named), "{way:?}: {error}");
        assert!(error.hint_text().is_some(), "{way:?}: {error}");
        assert_eq!(setting.snapshot(), before, "{way:?}: the tree was written");
    }
}

#[test]
fn files_are_made_changed_and_removed() {
    check("echo new > n; echo more >> a.txt; rm sub/b.txt", &["a.txt: A+more", "n: new", "sub/b.txt: -"]);
    check("mkdir -p x/y; echo 1 > x/y/z; chmod 755 a.txt", &["a.txt: A 755", "x/y/z: 1"]);
    check("ln -s a.txt l; ln -sfn sub link", &["l: -> a.txt", "link: -> sub"]);
    check("cat a.txt > c; echo x >> c; mv c a.txt", &["a.txt: A+x"]);
}

#[test]
fn a_folder_is_removed_with_all_files_that_git_ignores_too() {
    check("rm -r sub", &["sub/b.txt: -", "sub/deep/c.txt: -", "sub/ignored: -"]);
    check(
        "mv sub moved",
        &[
            "moved/b.txt: B",
            "moved/deep/c.txt: C",
            "moved/ignored: I",
            "sub/b.txt: -",
            "sub/deep/c.txt: -",
            "sub/ignored: -",
        ],
    );
}

#[test]
fn a_folder_that_was_removed_and_made_again_holds_what_was_put_there() {
    check("rm -r sub; mkdir -p sub/deep; echo C > sub/deep/c.txt", &["sub/b.txt: -", "sub/ignored: -"]);
    check("rm -r sub; echo file > sub", &["sub: file", "sub/b.txt: -", "sub/deep/c.txt: -", "sub/ignored: -"]);
    check("rm a.txt; mkdir a.txt; echo x > a.txt/y", &["a.txt: -", "a.txt/y: x"]);
    check("rm link; mkdir link; echo x > link/y", &["link: -", "link/y: x"]);
    check("rm -r sub; ln -s other sub", &["sub: -> other", "sub/b.txt: -", "sub/deep/c.txt: -", "sub/ignored: -"]);
}

#[test]
fn what_is_as_before_is_no_change() {
    check("touch a.txt; mkdir empty; cp a.txt c; rm a.txt; mv c a.txt", &[]);
    check("mv sub x; mv x sub; chmod 700 sub; chmod 600 a.txt; chmod 644 a.txt; echo x > n; rm n", &[]);
}

#[test]
fn a_change_outside_of_writes_is_refused_and_named() {
    let script = "echo x > a.txt; echo x > sub/new; rm sub/b.txt";
    fails(script, &["a.txt"], Code::PermissionDenied, "changed `sub/b.txt`, `sub/new`, which its `writes`");
    fails("echo x > n", &[], Code::PermissionDenied, "`n`");
    fails("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo > n$n; done", &["a.txt"], Code::PermissionDenied, "and 2 more");
    fails("rm -r sub", &["**", "!**/c.txt"], Code::PermissionDenied, "`sub/deep/c.txt`");
}

#[test]
fn what_is_protected_is_not_changed_whatever_writes_says() {
    fails("echo x > nrv.toml", &["**"], Code::ProtectedPath, "`nrv.toml`");
    fails("mkdir -p new/.git; echo x > new/.git/config", &["**"], Code::ProtectedPath, "`new/.git/config`");
    fails("echo x > .nrv-1-2", &["**"], Code::ProtectedPath, "`.nrv-1-2`");
}

#[test]
fn what_no_change_set_can_hold_is_an_error_that_names_it() {
    fails("mkfifo pipe", &["**"], Code::Unwritable, "`pipe`");
    fails("echo x > \"$(printf 'a\\377b')\"", &["**"], Code::InvalidPath, "`a\u{fffd}b`");
}

#[test]
fn set_id_bits_are_no_change_of_a_command() {
    check("chmod u+s a.txt; chmod 2755 sub/b.txt; echo x > n; chmod g+s n", &["n: x"]);
    for way in WAYS {
        let setting = Setting::new();
        let error = setting.shell("chmod u+s a.txt").writes(&["**"]).unconfined().run(way).unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (Code::Unwritable, "the command gave `a.txt` the mode 4644"),
            "{way:?}"
        );
    }
}

#[test]
fn nothing_is_read_that_no_memory_holds() {
    fails("truncate -s 1T n", &["a.txt"], Code::PermissionDenied, "`n`");
    fails("truncate -s 1T n", &["**"], Code::Unreadable, "1099511627776 bytes");
    fails("truncate -s 2G n", &["**"], Code::Unreadable, "`n` is too large");
}

#[test]
fn a_file_that_somebody_changes_meanwhile_is_stale() {
    for way in WAYS {
        for (file, is_stale) in [("a.txt", true), ("sub/b.txt", false), ("new.txt", true), (".nrv-a.txt", false)] {
            let setting = Setting::new();
            let meddle = || fs::write(setting.root().join(file), "meddled").unwrap();
            let command = setting.shell("echo x > c.txt").writes(&["*.txt"]);
            let result = command.run_with(way, &mut |_| {
                meddle();
                Ok(())
            });
            let code = result.map(|_| ()).map_err(|error| error.code());
            assert_eq!(code, if is_stale { Err(Code::StalePreimage) } else { Ok(()) }, "{way:?} {file}");
        }
    }
}

#[test]
fn a_command_that_was_ended_or_had_to_succeed_changes_nothing() {
    for way in WAYS {
        let setting = Setting::new();
        let slow = setting.shell("echo x > n; sleep 60").writes(&["**"]).timeout(300).run(way).unwrap();
        assert!(slow.ended.timed_out && slow.changes.is_empty(), "{way:?}");
        let killed = setting.shell("echo x > n; kill -9 $$").writes(&["**"]).run(way).unwrap();
        assert_eq!((killed.ended.signal, killed.changes.len()), (Some(9), 0), "{way:?}");
        let failed = setting.shell("echo x > n; exit 3").writes(&["**"]).run(way).unwrap();
        assert_eq!((failed.ended.status, failed.changes.len()), (Some(3), 1), "{way:?}");
        let checked = setting.shell("echo x > n; exit 3").writes(&["**"]).checked().run(way).unwrap();
        assert_eq!((checked.ended.status, checked.changes.len()), (Some(3), 0), "{way:?}");
    }
}

#[test]
fn scratch_is_written_as_it_is_and_never_reported() {
    for way in WAYS {
        let setting = Setting::new();
        let script =
            "cat target/old; echo x > target/new; mkdir -p p/node_modules; echo x > p/node_modules/m; echo x > y.log";
        let command = setting.shell(script).scratch(&["target/**", "**/node_modules/**", "*.log", "out/**"]);
        assert_eq!(command.missing_scratch(), ["out"]);
        let done = command.run(way).unwrap();
        assert_eq!((command::text(&done).as_str(), command::lines(&done)), ("old\n", vec![]), "{way:?}");
        assert_eq!(fs::read_to_string(setting.root().join("target/new")).unwrap(), "x\n", "{way:?}");
        assert!(!setting.root().join("p").exists() && !setting.root().join("y.log").exists(), "{way:?}");
    }
}

#[test]
fn a_scratch_folder_that_is_made_in_time_is_written() {
    for way in WAYS {
        let setting = Setting::new();
        let command = setting.shell("echo x > out/new").scratch(&["out/**"]);
        let done = command.run_after_preparing(way, || fs::create_dir(setting.root().join("out")).unwrap()).unwrap();
        assert_eq!((done.ended.status, done.changes.len()), (Some(0), 0), "{way:?}");
        assert!(setting.root().join("out/new").exists(), "{way:?}");
    }
}

#[test]
fn in_a_dry_run_scratch_is_thrown_away() {
    for way in WAYS {
        let setting = Setting::new();
        let before = setting.snapshot();
        let command =
            setting.shell("cat target/old; echo x > target/new; rm target/old").scratch(&["target/**"]).dry_run();
        let done = command.run(way).unwrap();
        assert_eq!((command::text(&done).as_str(), command::lines(&done)), ("old\n", vec![]), "{way:?}");
        assert_eq!(setting.snapshot(), before, "{way:?}");
    }
}

#[test]
fn a_dry_run_works_on_what_the_run_proposes() {
    let mut overlay = Overlay::new();
    let path = |text: &str| RepoPath::parse(text).unwrap();
    overlay.insert(path("a.txt"), Some(Content::new(b"proposed\n".to_vec(), 0o755)));
    overlay.insert(path("made/deep/x"), Some(Content::new(b"X\n".to_vec(), 0o644)));
    overlay.insert(path("made/gone"), Some(Content::new(b"G\n".to_vec(), 0o644)));
    overlay.insert(path("sub/b.txt"), None);
    overlay.insert(path("never"), None);
    overlay.insert(path("l"), Some(Content::link(b"a.txt".to_vec())));
    for way in WAYS {
        let setting = Setting::new();
        let script = "cat l; ls sub made/deep; echo more >> made/deep/x; rm made/gone; echo B > sub/b.txt; rm l";
        let done = setting.shell(script).writes(&["**"]).over(&overlay).dry_run().run(way).unwrap();
        assert_eq!(command::text(&done), "proposed\nmade/deep:\nx\n\nsub:\ndeep\nignored\n", "{way:?}");
        assert_eq!(command::lines(&done), ["l: -", "made/deep/x: X+more", "made/gone: -", "sub/b.txt: B"], "{way:?}");
        let before: Vec<bool> = done.before.iter().map(Option::is_some).collect();
        assert_eq!(before, [true, true, true, false], "{way:?}");
    }
}

#[test]
fn repositories_are_read_only_and_records_are_hidden() {
    let setting = Setting::new();
    for folder in [".git", "module/.git", ".runs/r1"] {
        fs::create_dir_all(setting.root().join(folder)).unwrap();
        fs::write(setting.root().join(folder).join("config"), "kept").unwrap();
    }
    let before = setting.snapshot();
    let script =
        "cat .git/config module/.git/config; echo x > .git/hook; rm module/.git/config; ls .runs; echo x >> a.txt";
    let done = setting.shell(script).writes(&["**"]).run(Way::Stage).unwrap();
    assert_eq!((command::text(&done).as_str(), command::lines(&done)), ("keptkept", vec!["a.txt: A+x".to_owned()]));
    let done = setting.shell("ls -A . module; echo x >> a.txt").writes(&["**"]).run(Way::Copy).unwrap();
    assert!(command::text(&done).lines().all(|name| name != ".git" && name != ".runs"));
    assert_eq!(command::lines(&done), ["a.txt: A+x"]);
    assert_eq!(setting.snapshot(), before);
}

#[test]
fn a_copy_says_what_it_is_and_is_refused_where_all_is_required() {
    let setting = Setting::new();
    let mut told = None;
    let done = setting.shell("true").run_with(Way::Copy, &mut |confinement| {
        told = Some(confinement.clone());
        Ok(())
    });
    let confinement = done.unwrap().ended.confinement;
    assert_eq!(Some(&confinement), told.as_ref());
    assert!(!confinement.staged && confinement.missing.iter().any(|missing| missing.starts_with("no overlay: ")));
    assert_ne!(confinement.state, nrv::system::process::sandbox::State::Enforced);
    let error = setting.shell("true").require().run(Way::Copy).unwrap_err();
    assert_eq!((error.code(), error.message().contains("no overlay")), (Code::PermissionDenied, true), "{error}");
}

#[test]
fn a_copy_keeps_modes_and_times() {
    let setting = Setting::new();
    let root = setting.root();
    fs::set_permissions(root.join("sub/deep"), fs::Permissions::from_mode(0o555)).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::open(root.join("a.txt")).unwrap().set_modified(old).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let script = "stat -c '%a %Y %F' a.txt; stat -c '%a' sub/deep; readlink dangling";
    for way in WAYS {
        let done = setting.shell(script).run(way).unwrap();
        assert_eq!(command::text(&done), "644 1000000000 regular file\n555\nnowhere\n", "{way:?}");
    }
}

#[test]
fn a_command_may_refuse_to_start() {
    for way in WAYS {
        let setting = Setting::new();
        let refuse = |_: &_| Err(nrv::base::error::Error::new(Code::Blocked, "not like that"));
        let error =
            setting.shell("echo x > target/ran").scratch(&["target/**"]).run_with(way, &mut { refuse }).unwrap_err();
        assert_eq!(error.code(), Code::Blocked, "{way:?}");
        assert!(!setting.root().join("target/ran").exists(), "{way:?}");
    }
}

#[test]
fn private_folders_of_a_dead_run_are_cleared() {
    let setting = Setting::new();
    let folder = setting.place().join("nrv-r1-dead");
    fs::create_dir_all(folder.join("work/work")).unwrap();
    fs::set_permissions(folder.join("work/work"), fs::Permissions::from_mode(0o000)).unwrap();
    nrv::service::exec::clear("r1", &setting.environment()).unwrap();
    assert!(!folder.exists());
    assert!(Workspace::open(setting.root()).is_ok());
}
