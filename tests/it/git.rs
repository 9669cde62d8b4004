//! Repositories are read without a program, and a state that their files do not show is not taken for clean.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]

mod bounds;
mod differential;
mod hooks;
mod nested;
mod renames;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
    sync::{Arc, atomic::AtomicBool},
};

use nrv::{base::error::Error, system::git::State};

use crate::support::site::{OLD, SECOND, Site, page};

/// The state of the site's repository, with the site's folder as home.
fn state(site: &Site) -> Result<State, Error> {
    let home = site.root().parent().expect("it has one").display().to_string();
    let environment = BTreeMap::from([("HOME".to_owned(), home)]);
    nrv::system::git::state(&site.root(), &environment, &Arc::new(AtomicBool::new(false)))
        .map(|state| state.expect("a repository"))
}

#[track_caller]
fn changed(site: &Site) -> Vec<String> {
    state(site).expect("it can be read").changed.keys().map(ToString::to_string).collect()
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
}

/// A program that leaves a mark of every call beside the workspace.
pub(crate) fn marker(site: &Site) -> (String, std::path::PathBuf) {
    let above = site.root().parent().expect("it has one").to_owned();
    let (program, marks) = (above.join("marker"), above.join("marks"));
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", marks.display())).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    (program.display().to_string(), marks)
}

/// Every key of git's that names a program, and attributes that ask for them.
pub(crate) fn arm(site: &Site, folder: &str, program: &str) {
    let keys = [
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "filter.lfs.clean",
        "filter.lfs.process",
        "diff.x.textconv",
        "diff.x.command",
        "diff.external",
        "merge.x.driver",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.gitProxy",
        "credential.helper",
        "gpg.program",
        "gpg.ssh.program",
        "sequence.editor",
        "uploadpack.packObjectsHook",
        "remote.origin.vcs",
        "remote.origin.uploadpack",
        "core.alternateRefsCommand",
        "interactive.diffFilter",
        "trailer.x.command",
        "pager.status",
        "alias.status",
    ];
    let root = site.path(folder);
    let git_dir = site.git(&["-C", folder, "rev-parse", "--absolute-git-dir"]);
    let git_dir = Path::new(git_dir.trim());
    for name in ["included", "conditional"] {
        let text =
            format!("[filter \"x\"]\n\tclean = {program}\n\tprocess = {program}\n[core]\n\tfsmonitor = {program}\n");
        fs::write(git_dir.join(name), text).expect("a configuration");
    }
    let mut config = fs::read_to_string(git_dir.join("config")).expect("a configuration");
    for key in keys {
        let (section, name) = key.rsplit_once('.').expect("a key has a name");
        let header = match section.split_once('.') {
            Some((section, rest)) => format!("[{section} \"{rest}\"]"),
            None => format!("[{section}]"),
        };
        config.push_str(&format!("{header}\n\t{name} = {program}\n"));
    }
    config.push_str("[filter \"x\"]\n\trequired = true\n[remote \"origin\"]\n\turl = ext::x\n\tpromisor = true\n");
    config.push_str("[core]\n\thooksPath = ../hooks\n[include]\n\tpath = included\n[includeIf \"gitdir:**\"]\n\tpath = conditional\n");
    fs::write(git_dir.join("config"), config).expect("a configuration");
    let all = "* filter=x diff=x merge=x\n*.bin filter=lfs\n";
    fs::write(root.join(".gitattributes"), all).expect("attributes");
    fs::create_dir_all(git_dir.join("info")).expect("a folder");
    fs::write(git_dir.join("info/attributes"), all).expect("attributes");
    for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"] {
        for folder in [git_dir.join("hooks"), site.path("hooks")] {
            fs::create_dir_all(&folder).expect("a folder");
            fs::copy(program, folder.join(hook)).expect("a hook");
        }
    }
}

#[test]
fn no_program_starts_that_a_repository_names() {
    let site = Site::new(4);
    for own in ["site/own", "site/module"] {
        site.write(&format!("{own}/p.html"), page("p", OLD, SECOND));
        site.git(&["init", "-q", own]);
        site.git(&["-C", own, "add", "-A"]);
        site.git(&["-C", own, "commit", "-q", "-m", "own"]);
    }
    site.write(".gitmodules", "[submodule \"m\"]\n\tpath = site/module\n\turl = ./m\n\tupdate = !false\n");
    site.git(&["add", "site/module", ".gitmodules"]);
    site.git(&["commit", "-q", "-m", "module"]);
    let (program, marks) = marker(&site);
    for folder in [".", "site/own", "site/module"] {
        arm(&site, folder, &program);
    }
    fs::write(
        site.root().parent().expect("it has one").join(".gitconfig"),
        format!("[filter \"x\"]\n\tclean = {program}\n"),
    )
    .expect("the user's settings");
    fs::copy(&program, site.path("git")).expect("a program called git");
    // As long as it was, so that only its content tells that it changed.
    let mut edited = site.read("site/a/p0.html");
    edited.reverse();
    site.write("site/a/p0.html", &edited);
    site.write("site/module/p.html", page("q", OLD, SECOND));
    let inner = |arguments: &[&str]| {
        let mut command = site.command(arguments);
        let path = format!(":.:{}:{}", site.root().display(), std::env::var("PATH").expect("there is one"));
        command.env("PATH", path).output().expect("it starts")
    };
    for arguments in [
        &["doctor"][..],
        &[
            "run",
            "scripts/migrate_links.rhai",
            "--arg",
            "from=old.example.com",
            "--arg",
            "to=https://n.example.com",
            "--yes",
        ],
        &[
            "run",
            "scripts/migrate_links.rhai",
            "--arg",
            "from=old.example.com",
            "--arg",
            "to=https://n.example.com",
            "--dry-run",
        ],
        &["apply", "--dry-run", "-"],
        &[
            "plan",
            "scripts/migrate_links.rhai",
            "--arg",
            "from=old.example.com",
            "--arg",
            "to=https://n.example.com",
            "-o",
            "p.json",
        ],
        &[
            "run",
            "scripts/migrate_links.rhai",
            "--arg",
            "from=old.example.com",
            "--arg",
            "to=https://n.example.com",
            "--yes",
            "--allow-dirty",
        ],
        &["rollback", "last", "--yes"],
        &["runs", "list"],
        &["recover"],
    ] {
        let output = inner(arguments);
        assert!(!marks.exists(), "{arguments:?}: {}\n{output:?}", fs::read_to_string(&marks).unwrap_or_default());
    }
    let changed = changed(&site);
    assert!(changed.iter().any(|path| path == "site/a/p0.html"), "{changed:?}");
    assert!(!changed.iter().any(|path| path.starts_with("site/own") || path.starts_with("site/module")), "{changed:?}");
}

#[test]
fn a_filter_is_not_run_and_that_is_said() {
    let site = Site::new(2);
    site.write(".gitattributes", "*.html filter=upper\n");
    site.commit();
    assert!(changed(&site).is_empty());
    site.migrate(&["--dry-run"]).exits(0);
    site.write("site/a/p0.html", page("other", OLD, SECOND));
    site.migrate(&[]).exits(5).says("`site/a/p0.html` (it has the filter `upper`, which nrv doesn't run)");
}

#[test]
fn files_of_git_lfs_are_held_against_their_pointers() {
    let site = Site::new(2);
    let content = b"a large file\n".repeat(100);
    let pointer = |content: &[u8]| {
        format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
            nrv::base::hash::Sha256::of(content),
            content.len()
        )
    };
    site.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    // As it is checked out where Git LFS is not installed, and where it is.
    site.write("a.bin", pointer(&content));
    site.commit();
    assert!(changed(&site).is_empty());
    site.write("a.bin", &content);
    assert!(changed(&site).is_empty(), "{:?}", state(&site));
    site.write("a.bin", [&content[..content.len() - 1], b"!"].concat());
    assert_eq!(changed(&site), ["a.bin"]);
    site.write("a.bin", [&content[..], b"!"].concat());
    assert_eq!(changed(&site), ["a.bin"]);
    let state = state(&site).expect("it can be read");
    let reason = state.changed.values().next().expect("one file").clone();
    assert_eq!(reason.as_deref(), Some("it has the filter `lfs`, which nrv doesn't run"));
    // Without the attribute it is a text like any other.
    site.write(".gitattributes", "");
    site.commit();
    site.write("a.bin", pointer(b"x"));
    site.commit();
    site.write("a.bin", "x");
    assert_eq!(changed(&site), ["a.bin"]);
}

#[test]
fn a_pipe_in_place_of_a_file_of_git_is_named_and_not_read() {
    let files = ["index", "config", "info/exclude", "info/attributes", "packed-refs", "refs/heads/main"];
    for name in files {
        let site = Site::new(2);
        let path = site.path(".git").join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        pipe(&path);
        unknown(&site, "is neither file nor folder");
    }
    for name in [".gitignore", "site/.gitignore", ".gitattributes", "site/a/.gitattributes"] {
        let site = Site::new(2);
        pipe(&site.path(name));
        let error = state(&site).expect_err("it can't be told");
        assert!(error.message().contains("is neither file nor folder"), "{error:?}");
    }
    let site = Site::new(2);
    fs::remove_file(site.path(".git/index")).expect("it is there");
    pipe(&site.path(".git/index"));
    site.migrate(&[]).exits(5).says("`--allow-dirty`");
    let ran = site.migrate(&["--allow-dirty", "--dry-run"]).exits(0);
    assert!(ran.stdout.contains("Git's index can't be read"), "{}", ran.stdout);
    let site = Site::new(2);
    fs::create_dir_all(site.path("site/own/.git")).expect("a folder");
    pipe(&site.path("site/own/.git/HEAD"));
    pipe(&site.path("site/other"));
    site.migrate(&[]).exits(0);
}

#[test]
fn files_that_settings_name_count_for_the_user_and_are_never_waited_for() {
    let site = Site::new(2);
    let home = site.root().parent().expect("it has one").to_owned();
    site.write("notes.txt", "x");
    assert_eq!(changed(&site), ["notes.txt"]);
    // The places where git looks for them, and includes of the user's own file.
    fs::create_dir_all(home.join(".config/git")).expect("a folder");
    fs::write(home.join(".config/git/ignore"), "notes.txt\n").expect("a file");
    assert!(changed(&site).is_empty());
    fs::write(home.join("more"), "[core]\n\texcludesFile = ~/mine\n").expect("a file");
    fs::write(home.join(".gitconfig"), "[include]\n\tpath = more\n").expect("a file");
    assert_eq!(changed(&site), ["notes.txt"]);
    fs::write(home.join("mine"), "notes.*\n").expect("a file");
    assert!(changed(&site).is_empty());
    // A repository's own file may be named; a pipe is not waited for, and an include is not followed.
    site.git(&["config", "core.excludesFile", "pipe"]);
    pipe(&site.path("pipe"));
    assert_eq!(changed(&site), ["notes.txt"]);
    site.git(&["config", "core.excludesFile", "scripts/ignored"]);
    site.write("scripts/ignored", "notes.txt\nignored\n");
    assert!(changed(&site).is_empty());
    site.git(&["config", "--unset", "core.excludesFile"]);
    fs::remove_file(home.join(".gitconfig")).expect("it is there");
    fs::remove_file(home.join(".config/git/ignore")).expect("it is there");
    site.write(".git/more", "[core]\n\texcludesFile = scripts/ignored\n\tfileMode = false\n");
    site.git(&["config", "include.path", "more"]);
    assert_eq!(changed(&site), ["notes.txt", "scripts/ignored"]);
}

#[test]
fn variables_that_would_lead_git_elsewhere_lead_nobody() {
    let (site, other) = (Site::new(2), Site::new(3));
    site.write("site/a/p0.html", page("edited", OLD, SECOND));
    let elsewhere = other.path(".git").display().to_string();
    for name in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL"]
    {
        let output = site
            .command(&[
                "run",
                "scripts/migrate_links.rhai",
                "--arg",
                "from=old.example.com",
                "--arg",
                "to=https://new.example.com",
                "--yes",
            ])
            .env(name, &elsewhere)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(5) && said.contains("`site/a/p0.html`"), "{name}: {output:?}");
    }
}

#[test]
fn a_linked_work_tree_is_read_like_any_other() {
    let site = Site::new(2);
    site.git(&["worktree", "add", "-q", "../linked"]);
    let linked = site.root().parent().expect("it has one").join("linked");
    let read = || {
        let state = nrv::system::git::state(&linked, &BTreeMap::new(), &Arc::new(AtomicBool::new(false)));
        state.expect("it can be read").expect("a repository")
    };
    assert_eq!(read().head.as_deref(), Some(site.git(&["rev-parse", "HEAD"]).trim()));
    assert!(read().changed.is_empty());
    fs::write(linked.join("site/a/p0.html"), "x").expect("a file");
    fs::write(linked.join("new"), "x").expect("a file");
    let changed: Vec<String> = read().changed.keys().map(ToString::to_string).collect();
    assert_eq!(changed, ["new", "site/a/p0.html"]);
    assert!(self::changed(&site).is_empty());
    // Its own settings hold for it alone.
    site.git(&["config", "extensions.worktreeConfig", "true"]);
    site.git(&["-C", "../linked", "config", "--worktree", "core.excludesFile", "mine"]);
    fs::write(linked.join("mine"), "new\nmine\n").expect("a file");
    assert_eq!(read().changed.len(), 1);
}

#[test]
fn a_sparse_checkout_is_clean_and_what_is_there_nonetheless_is_compared() {
    for more in [&["--cone", "--no-sparse-index"][..], &["--cone", "--sparse-index"], &["--no-cone"]] {
        let site = Site::new(4);
        site.write("deep/er/x.html", page("x", OLD, SECOND));
        site.commit();
        site.git(&[&["sparse-checkout", "set"], more, &["site/a", "scripts"]].concat());
        assert!(!site.path("deep").exists(), "{more:?}");
        assert!(changed(&site).is_empty(), "{more:?}: {:?}", changed(&site));
        site.write("deep/er/x.html", "edited");
        site.write("deep/er/new", "new");
        site.write("site/a/p0.html", "edited");
        assert_eq!(changed(&site), ["deep/er/new", "deep/er/x.html", "site/a/p0.html"], "{more:?}");
        site.write("deep/er/x.html", page("x", OLD, SECOND));
        assert_eq!(changed(&site), ["deep/er/new", "site/a/p0.html"], "{more:?}");
        site.git(&["add", "site/a"]);
        assert_eq!(changed(&site), ["deep/er/new", "site/a/p0.html"], "{more:?}");
    }
}

#[test]
fn a_partial_clone_fetches_nothing() {
    let site = Site::new(4);
    site.git(&["config", "uploadpack.allowFilter", "true"]);
    for filter in ["blob:none", "tree:0"] {
        let name = format!("../clone-{}", &filter[..4]);
        let url = format!("file://{}", site.root().display());
        site.git(&["clone", "-q", "--filter", filter, &url, &name]);
        let clone = site.root().join(&name).canonicalize().expect("a clone");
        let read = || {
            let state = nrv::system::git::state(&clone, &BTreeMap::new(), &Arc::new(AtomicBool::new(false)));
            state
                .expect("it can be read")
                .expect("a repository")
                .changed
                .keys()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        // Objects that were fetched with the checkout are removed, and there is no remote to fetch them from.
        site.git(&["-C", &name, "config", "remote.origin.url", "file:///nowhere"]);
        let packs = clone.join(".git/objects/pack");
        assert!(read().is_empty(), "{filter}");
        let blobs: BTreeSet<_> = fs::read_dir(&packs).expect("packs").flatten().map(|entry| entry.path()).collect();
        assert!(!blobs.is_empty());
        fs::write(clone.join("site/a/p0.html"), page("qq", OLD, SECOND)).expect("a file");
        fs::write(clone.join(".gitattributes"), "*.html text=auto\n").expect("a file");
        fs::write(clone.join("site/b/p1.html"), page("p1", OLD, SECOND)).expect("a file");
        assert_eq!(read(), [".gitattributes", "site/a/p0.html"], "{filter}");
    }
}

#[test]
fn formats_that_are_not_known_are_refused_by_name() {
    let site = Site::new(2);
    site.git(&["config", "core.repositoryFormatVersion", "1"]);
    site.git(&["config", "extensions.noop", "true"]);
    assert!(changed(&site).is_empty());
    site.git(&["config", "extensions.strange", "true"]);
    unknown(&site, "the extension `strange`");
    let site = Site::new(2);
    fs::write(site.path(".git/config"), "[core]\n\trepositoryformatversion = 2\n").expect("a file");
    unknown(&site, "has format 2");
    let site = Site::new(2);
    fs::write(site.path(".git/config"), "[core]\n\trepositoryformatversion = 0\n\tworktree = ../..\n").expect("a file");
    unknown(&site, "`core.worktree`");
    let site = Site::new(2);
    site.git(&["update-index", "--split-index"]);
    unknown(&site, "the index is split");
    site.git(&["update-index", "--no-split-index"]);
    assert!(changed(&site).is_empty());
    let site = Site::empty();
    let made = Command::new("git").current_dir(site.root()).args(["init", "-q", "--ref-format=reftable"]).output();
    if made.is_ok_and(|made| made.status.success()) {
        unknown(&site, "keeps its references as `reftable`");
    }
}

#[track_caller]
fn unknown(site: &Site, words: &str) {
    let error = state(site).expect_err("it can't be told");
    assert!(error.message().contains(words), "{error:?}");
}

#[test]
fn a_repository_with_sha256_is_read() {
    let site = Site::empty();
    site.git(&["init", "-q", "--object-format=sha256"]);
    site.write("a.txt", "a\n");
    site.commit();
    assert!(changed(&site).is_empty());
    assert_eq!(state(&site).expect("it can be read").head.expect("a commit").len(), 64);
    site.write("a.txt", "b\n");
    assert_eq!(changed(&site), ["a.txt"]);
}

#[test]
fn a_repository_of_somebody_else_is_read_and_not_obeyed() {
    let mut site = Site::new(2);
    assert!(site.become_plain_user() || rustix::process::geteuid().as_raw() != 0);
    // This user is root now, and the folders are not root's: git would refuse.
    assert!(changed(&site).is_empty());
    site.write("site/a/p0.html", "x");
    assert_eq!(changed(&site), ["site/a/p0.html"]);
}

#[test]
fn the_script_that_runs_its_cases_and_recordings_need_not_be_committed() {
    let site = Site::new(2);
    site.write(
        "scripts/own.rhai",
        "import \"part\" as part;\nconst WORKFLOW = #{ name: \"own\", permissions: #{ write: [\"**\"] } };\n\
         nrv.apply.create(\"out.txt\", part::text());\n",
    );
    site.write("scripts/part.rhai", "fn text() { \"x\" }\n");
    site.write("scripts/own.test/one/args.json", "{}");
    site.write("scripts/own.llm/x.json", "{}");
    let ran = site.nrv(&["run", "scripts/own.rhai", "--yes"]);
    assert!(!ran.stderr.contains("uncommitted"), "{ran:?}");
    site.write("scripts/other.rhai", "const WORKFLOW = #{ name: \"other\" };\n");
    site.nrv(&["run", "scripts/own.rhai", "--yes"]).exits(5).says("uncommitted changes: `scripts/other.rhai`");
}

#[test]
fn a_link_in_place_of_an_ignore_file_is_not_followed() {
    let site = Site::new(2);
    site.write("notes.txt", "x");
    let outside = site.root().parent().expect("it has one").join("ignore");
    fs::write(&outside, "notes.txt\n").expect("a file");
    symlink(&outside, site.path(".gitignore")).expect("a link");
    assert_eq!(changed(&site), [".gitignore", "notes.txt"]);
}

/// Compares with git's own listing, in any version of git.
#[test]
fn listings_agree_with_git_where_an_ignore_file_is_a_link() {
    let site = Site::new(0);
    let files =
        ["a.txt", "skip.log", "out/b.txt", "sub/c.txt", "sub/deep/d.txt", "sub/deep/e.tmp", "in/f.txt", "in/g.log"];
    files.iter().for_each(|file| site.write(file, "x\n"));
    fs::create_dir_all(site.path(".git/info")).expect("a folder");
    let script = "const WORKFLOW = #{ name: \"list\" };\nnrv.files.glob([\"**\", \"!**/.gitignore\"])\n";
    site.write("list.rhai", script);
    let agree = |links: &[(&str, &str)], files: &[(&str, &str)]| {
        for path in ["sub/.gitignore", ".gitignore", "in/.gitignore", "sub/deep/.gitignore", "rules"] {
            let _ = fs::remove_file(site.path(path));
        }
        files.iter().for_each(|(path, text)| site.write(path, text));
        links.iter().for_each(|(to, path)| symlink(to, site.path(path)).expect("a link"));
        let told = site.git(&["ls-files", "--cached", "--others", "--exclude-standard", "--", ":!*.gitignore"]);
        let expected: BTreeSet<&str> = told.lines().collect();
        let ran = site.nrv(&["run", "list.rhai", "--json", "--allow-dirty"]).exits(0).json();
        let found: BTreeSet<&str> =
            ran["result"].as_array().expect("a list").iter().filter_map(|path| path.as_str()).collect();
        assert_eq!(found, expected, "{links:?}");
    };
    let all = [("rules", "*\n"), (".gitignore", "*.log\n/out/\n.runs/\n")];
    agree(&[], &all);
    agree(&[("../rules", "sub/.gitignore")], &all);
    agree(&[("../rules", "sub/.gitignore"), ("/nowhere", "in/.gitignore")], &all);
    agree(&[("../../rules", "sub/deep/.gitignore")], &[all[0], all[1], ("sub/.gitignore", "*.tmp\n!deep/\n")]);
    agree(
        &[("../rules", "sub/.gitignore")],
        &[all[0], all[1], ("sub/deep/.gitignore", "d.txt\n"), ("in/.gitignore", "!g.log\n")],
    );
    fs::write(site.path(".git/info/exclude"), ".runs/\nc.txt\n").expect("a file");
    agree(&[("rules", ".gitignore")], &all[..1]);
}
