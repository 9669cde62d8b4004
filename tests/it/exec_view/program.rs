//! The choice of the program, its folder and its environment.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use nrv::{
    base::{change::Content, error::Code, path::RepoPath},
    system::workspace::Overlay,
};

use super::command::{self, Setting, WAYS, Way};

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_name_is_looked_for_in_the_path_that_is_passed_on() {
    let setting = Setting::new();
    assert!(setting.command("sh", &[]).found().unwrap().ends_with("bin/sh"));
    let error = setting.command("gerp", &[]).found().unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let hint = error.hint_text().unwrap();
    assert!(hint.contains("did you mean `grep`?") && hint.contains("`/usr/bin`"), "{hint}");
    assert_eq!(setting.command("/usr/bin/nothing", &[]).found().unwrap_err().code(), Code::NotFound);
    assert_eq!(setting.command("/etc/passwd", &[]).found().unwrap_err().code(), Code::InvalidInput);
    assert_eq!(setting.command("", &[]).found().unwrap_err().code(), Code::InvalidInput);
}

#[test]
fn a_program_of_the_workspace_is_run_only_if_the_rule_says_so() {
    for way in WAYS {
        let setting = Setting::new();
        program(&setting.root().join("tool/x"), "#!/bin/sh\necho \"$0\" | sed 's|.*/tool/|tool/|'\n");
        symlink("../tool/x", setting.root().join("sub/alias")).unwrap();
        let outside = setting.place().join("bin");
        fs::create_dir(&outside).unwrap();
        symlink(setting.root().join("tool/x"), outside.join("x")).unwrap();
        let absolute = setting.root().join("tool/x");
        for name in ["tool/x", "./tool/x", "sub/alias", absolute.to_str().unwrap(), outside.join("x").to_str().unwrap()]
        {
            let refused = setting.command(name, &[]).found().unwrap_err();
            assert_eq!(refused.code(), Code::PermissionDenied, "{way:?} {name}");
            let done = setting.command(name, &[]).of_the_workspace().run(way).unwrap();
            assert_eq!(done.ended.status, Some(0), "{way:?} {name} {:?}", done.ended);
        }
        assert_eq!(setting.command("a.txt", &[]).found().unwrap_err().code(), Code::NotFound);
        assert_eq!(setting.command("./a.txt", &[]).of_the_workspace().found().unwrap_err().code(), Code::InvalidInput);
        assert_eq!(setting.command("sub/../x", &[]).of_the_workspace().found().unwrap_err().code(), Code::InvalidPath);
    }
}

#[test]
fn a_proposed_program_is_the_one_that_is_run() {
    let mut overlay = Overlay::new();
    let tool = RepoPath::parse("tool/x").unwrap();
    overlay.insert(tool, Some(Content::new(b"#!/bin/sh\necho proposed\n".to_vec(), 0o755)));
    for way in WAYS {
        let setting = Setting::new();
        let done = setting.command("tool/x", &[]).of_the_workspace().over(&overlay).dry_run().run(way).unwrap();
        assert_eq!(command::text(&done), "proposed\n", "{way:?}");
    }
}

#[test]
fn it_runs_in_its_folder_with_what_is_passed_on_and_nothing_else() {
    for way in WAYS {
        let setting = Setting::new();
        let script = "pwd | sed 's|.*/||'; basename \"$PWD\"; echo \"$SECRET$CALL\"; echo x > \"$TMPDIR/t\" && cat \"$TMPDIR/t\"";
        let done = setting.shell(script).cwd("sub/deep/").env("CALL", "call").run(way).unwrap();
        assert_eq!(command::text(&done), "deep\ndeep\ncall\nx\n", "{way:?}");
    }
    let setting = Setting::new();
    symlink("sub", setting.root().join("folder")).unwrap();
    for (cwd, code) in [
        ("../x", Code::InvalidPath),
        ("/", Code::InvalidPath),
        ("none", Code::NotFound),
        ("a.txt", Code::InvalidInput),
        ("folder", Code::InvalidPath),
        ("folder/deep", Code::InvalidPath),
        (".git", Code::ProtectedPath),
    ] {
        assert_eq!(setting.shell("true").cwd(cwd).run(Way::Stage).unwrap_err().code(), code, "{cwd}");
    }
    let loader = setting.shell("true").env("LD_PRELOAD", "x.so").run(Way::Stage).unwrap_err();
    assert_eq!(loader.code(), Code::PermissionDenied);
}

#[test]
fn git_works_where_the_home_is_closed() {
    let setting = Setting::new();
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git").args(args).current_dir(setting.root()).status().unwrap();
        assert!(status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "a.txt"]);
    let home = setting.place().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".gitconfig"), "[status]\n  short = true\n").unwrap();
    let command = setting.shell("git status --short a.txt; echo \"$GIT_CONFIG_GLOBAL\"").home(&home);
    assert_eq!(command::text(&command.run(Way::Stage).unwrap()), "A  a.txt\n/dev/null\n");
    let command = setting.shell("git status a.txt; echo \"$GIT_CONFIG_GLOBAL\"").home(&home).reads(&["~/.gitconfig"]);
    assert_eq!(command::text(&command.run(Way::Stage).unwrap()), "A  a.txt\n\n");
}
