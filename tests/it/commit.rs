//! `nrv run --commit`: one commit of exactly what the run changed, made by the user's git.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

/// A script that changes a page, adds one, removes one and writes one that git ignores.
const CHANGES: &str = "//! Renews the pages.
const WORKFLOW = #{ permissions: #{ write: [\"pages/**\", \"out/**\"] } };
let text = nrv.files.read(\"pages/a.md\");
nrv.apply.write(\"pages/a.md\", text + \"more\\n\", nrv.files.sha256(\"pages/a.md\"));
nrv.apply.create(\"pages/new [1].md\", \"new\\n\");
nrv.apply.remove(\"pages/b.md\", nrv.files.sha256(\"pages/b.md\"));
nrv.apply.create(\"out/log.txt\", \"log\\n\");
";

fn site() -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.git(&["config", "user.name", "A Person"]);
    site.git(&["config", "user.email", "person@example.org"]);
    site.write(".gitignore", ".runs/\nout/\n");
    site.write("pages/a.md", "a\n");
    site.write("pages/b.md", "b\n");
    site.write("other.md", "other\n");
    site.script("renew.rhai", CHANGES);
    site
}

fn run(site: &Site, options: &[&str]) -> Ran {
    site.nrv(&[&["run", "renew.rhai", "--yes"], options].concat())
}

fn head(site: &Site) -> String {
    site.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

/// A hook that is not there yet.
fn hook(site: &Site, name: &str, text: &str) {
    let path = format!(".git/hooks/{name}");
    site.write(&path, format!("#!/bin/sh\n{text}\n"));
    site.mode(&path, 0o755);
}

#[test]
fn a_run_is_one_commit_of_its_files_with_its_id() {
    let site = site();
    site.write("other.md", "edited\n");
    hook(&site, "pre-commit", "exit 1");
    hook(&site, "post-commit", "echo ran >> ../ran");
    site.git(&["config", "format.signOff", "true"]);
    let outcome: Value = serde_json::from_str(&run(&site, &["--commit", "--json"]).exits(0).stdout).unwrap_or_default();
    let id = head(&site);
    assert_eq!(outcome["commit"], json!({"id": id, "branch": "main", "files": 3, "ignored": ["out/log.txt"]}));
    let run_id = outcome["run"].as_str().unwrap_or_default();
    let message = site.git(&["log", "-1", "--format=%an%n%B"]);
    let expected =
        format!("A Person\nRenews the pages\n\nNrv-Run: {run_id}\nSigned-off-by: A Person <person@example.org>\n");
    assert_eq!(message.trim_end(), expected.trim_end());
    let files = site.git(&["show", "--name-status", "--format=", "--no-renames", "HEAD"]);
    assert_eq!(files, "M\tpages/a.md\nD\tpages/b.md\nA\tpages/new [1].md\n");
    assert_eq!(site.git(&["status", "--short"]), " M other.md\n", "other work stays as it is, and nothing is staged");
    assert!(!site.path("../ran").exists(), "no hook runs");
    site.nrv(&["runs", "commit", "last"]).exits(0).says("committed already");
    assert_eq!(head(&site), id);
}

#[test]
fn a_rollback_names_the_commit_and_is_committed_itself() {
    let site = site();
    run(&site, &["--commit=Renew\n\nAll of it.", "--branch", "renew"]).exits(0).says("on renew");
    assert!(site.git(&["log", "-1", "--format=%B"]).starts_with("Renew\n\nAll of it.\n\nNrv-Run: "));
    let commit = head(&site);
    let back = site.nrv(&["rollback", "last"]).exits(0);
    assert!(back.stderr.contains(&format!("git revert {}", &commit[..12])), "{}", back.stderr);
    site.nrv(&["runs", "commit", "last"]).exits(0);
    assert_eq!(site.git(&["diff", "main", "HEAD"]), "", "both commits together change nothing");
    assert_eq!(site.git(&["rev-list", "--count", "main..HEAD"]).trim(), "2");
}

#[test]
fn nothing_else_comes_into_the_commit() {
    let site = site();
    let first = head(&site);
    site.write("staged.md", "x\n");
    site.git(&["add", "staged.md"]);
    let refused = run(&site, &["--commit"]).exits(5);
    assert!(refused.stderr.contains("`staged.md`") && !site.path("out").exists(), "{}", refused.stderr);
    site.git(&["reset", "-q"]);
    site.write("pages/a.md", "edited\n");
    run(&site, &["--commit", "--allow-dirty"]).exits(5).says("`pages/a.md`");
    assert_eq!(site.read("pages/a.md"), b"edited\n", "it is refused before the run begins");
    // A run that changed a file with other changes is not committed afterwards either.
    run(&site, &["--allow-dirty"]).exits(0);
    site.nrv(&["runs", "commit", "last"]).exits(5).says("before the run");
    site.nrv(&["rollback", "last"]).exits(0);
    site.git(&["checkout", "-q", "."]);
    run(&site, &[]).exits(0);
    site.write("pages/a.md", "later\n");
    site.nrv(&["runs", "commit", "last"]).exits(5).says("changed since run");
    assert_eq!(head(&site), first);
    assert_eq!(site.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn what_stands_in_the_way_is_said_before_the_run() {
    let site = site();
    let refused = |options: &[&str], code: i32, words: &str| {
        run(&site, options).exits(code).says(words);
        assert!(!site.path("out").exists(), "nothing ran");
    };
    refused(&["--commit", "--branch", "main"], 1, "there is a branch `main` already");
    refused(&["--commit", "--branch", "a..b"], 1, "no name of a branch");
    refused(&["--branch", "x"], 2, "--commit");
    site.write(".git/MERGE_HEAD", head(&site));
    refused(&["--commit"], 5, "a merge is not finished");
    std::fs::remove_file(site.path(".git/MERGE_HEAD")).unwrap_or_default();
    run(&site, &["--commit", "--dry-run", "--branch", "x"]).exits(0).says("A commit would be made on a new branch x");
    assert_eq!(site.git(&["branch", "--list", "x"]), "");
    let bare = Site::empty();
    bare.write("renew.rhai", CHANGES);
    bare.nrv(&["run", "renew.rhai", "--commit"]).exits(1).says("git init");
}

#[test]
fn a_commit_that_git_refuses_leaves_the_change_and_can_be_made_later() {
    let site = site();
    site.git(&["config", "commit.gpgSign", "true"]);
    site.git(&["config", "gpg.program", "/bin/false"]);
    let first = head(&site);
    let failed = run(&site, &["--commit", "--branch", "renew"]).exits(1);
    assert!(
        failed.stderr.contains("`git commit` failed") && failed.stderr.contains("nrv runs commit"),
        "{}",
        failed.stderr
    );
    assert_eq!(site.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!((head(&site), site.git(&["branch", "--list", "renew"])), (first, String::new()));
    assert_eq!(site.git(&["diff", "--cached", "--name-only"]), "", "nothing stays staged");
    assert_eq!(site.read("pages/new [1].md"), b"new\n");
    site.git(&["config", "commit.gpgSign", "false"]);
    site.nrv(&["runs", "commit", "last", "--message", "Later"]).exits(0);
    assert_eq!(site.git(&["log", "-1", "--format=%s"]).trim(), "Later");
}

#[test]
fn hooks_run_confined_if_they_are_asked_for() {
    let site = site();
    hook(
        &site,
        "pre-commit",
        "git diff --cached --quiet && exit 3; echo x > ../escaped; echo x > .git/escaped; exit 0",
    );
    hook(&site, "commit-msg", "echo 'Change-Id: I1' >> \"$1\"");
    run(&site, &["--commit", "--with-hooks"]).exits(0);
    assert!(site.git(&["log", "-1", "--format=%B"]).contains("\nChange-Id: I1\n"));
    assert!(!site.path("../escaped").exists() && !site.path(".git/escaped").exists());
    site.nrv(&["rollback", "last"]).exits(0);
    let commit = |words: &str| {
        site.nrv(&["runs", "commit", "last", "--with-hooks"]).exits(1).says(words);
        assert_eq!(site.git(&["diff", "--cached", "--name-only"]), "");
    };
    hook(&site, "pre-commit", "echo 'not this way' >&2; exit 1");
    commit("not this way");
    hook(&site, "pre-commit", "echo formatted >> pages/a.md");
    commit("it would change `pages/a.md`");
    assert_eq!(site.read("pages/a.md"), b"a\n");
    hook(&site, "pre-commit", "exit 0");
    hook(&site, "commit-msg", "echo mine > \"$1\"");
    commit("took the line that names the run out");
}

#[test]
fn a_waiting_run_is_committed_when_it_goes_on() {
    let site = site();
    let asks = CHANGES.replace("nrv.apply.create(\"out", "nrv.gate.confirm(\"go on\", #{});\nnrv.apply.create(\"out");
    site.script("renew.rhai", &asks);
    let first = head(&site);
    site.nrv(&["run", "renew.rhai", "--commit"]).exits(7).says("--approve c1 --commit` commits it");
    assert_eq!(head(&site), first);
    site.nrv(&["run", "renew.rhai", "--dry-run", "--allow-dirty"]);
    let resumed = site.nrv(&["resume", "last", "--approve", "c1", "--commit", "--json"]);
    let outcome: Value = serde_json::from_str(&resumed.stdout).unwrap_or_default();
    assert_eq!((resumed.code, &outcome["commit"]["files"]), (0, &json!(3)), "{}", resumed.stderr);
    assert_ne!(head(&site), first);
}

#[test]
fn a_commit_removes_no_file_of_others_and_leaves_none_of_the_run_out() {
    let site = site();
    site.write("out.md/kept", "theirs\n");
    site.commit();
    let first = head(&site);
    std::fs::remove_dir_all(site.path("out.md")).unwrap_or_default();
    site.script(
        "new.rhai",
        "const WORKFLOW = #{ permissions: #{ write: [\"out.md\"] } };\nnrv.apply.create(\"out.md\", \"mine\\n\");\n",
    );
    site.git(&["reset", "-q", "--soft", &first]);
    site.git(&["reset", "-q"]);
    site.nrv(&["run", "new.rhai", "--yes", "--commit"]).exits(5).says("would remove `out.md/kept`");
    assert_eq!((head(&site), site.git(&["diff", "--cached", "--name-only"])), (first, String::new()));
    let site = self::site();
    site.git(&["update-index", "--assume-unchanged", "pages/a.md"]);
    run(&site, &["--commit"]).exits(0).says("Committed 3 files");
}

#[test]
fn a_content_that_is_staged_alone_is_not_lost() {
    let site = site();
    run(&site, &[]).exits(0);
    let left = site.read("pages/a.md");
    site.write("pages/a.md", "staged alone\n");
    site.git(&["add", "pages/a.md"]);
    site.write("pages/a.md", left);
    site.nrv(&["runs", "commit", "last"]).exits(5).says("`pages/a.md`");
    assert_eq!(site.git(&["show", ":pages/a.md"]), "staged alone\n");
}

/// Runs the binary with this `git` before the others in `PATH`.
fn with_git(site: &Site, text: &str, arguments: &[&str]) -> Output {
    let folder = site.root().with_file_name("own");
    let git = String::from_utf8_lossy(&Command::new("which").arg("git").output().unwrap().stdout).trim().to_owned();
    site.write("../own/git", format!("#!/bin/sh\n{text}\nexec '{git}' \"$@\"\n"));
    site.mode("../own/git", 0o755);
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    site.command(arguments).env("PATH", path).output().unwrap()
}

#[test]
fn an_index_that_can_not_be_completed_is_an_error_with_the_way_on() {
    let site = site();
    let failing = "for word; do [ \"$word\" = reset ] && { echo 'fatal: no' >&2; exit 128; }; done";
    let made = with_git(&site, failing, &["run", "renew.rhai", "--yes", "--commit", "--json"]);
    let outcome: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!((made.status.code(), &outcome["commit"]["unsettled"]["code"]), (Some(1), &json!("command_failed")));
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(said.contains("nrv runs commit") && !said.contains('\x1b'), "{said}");
    assert_ne!(site.git(&["diff", "--cached", "--name-only"]), "");
    site.nrv(&["runs", "commit", "last"]).exits(0);
    assert_eq!(site.git(&["status", "--short"]), "");
}

#[test]
fn a_lock_of_another_git_and_a_name_without_room_are_said_before_the_run() {
    let site = site();
    site.write(".git/index.lock", "");
    run(&site, &["--commit"]).exits(5).says("index.lock");
    std::fs::remove_file(site.path(".git/index.lock")).unwrap();
    site.git(&["branch", "a/b"]);
    run(&site, &["--commit", "--branch", "a"]).exits(1).says("leaves no room for `a`");
    run(&site, &["--commit", "--branch", "a/b/c"]).exits(1).says("leaves no room");
    assert!(!site.path("out").exists(), "nothing ran");
}

/// A folder with a `git` that kills the process that called it: at its call of that number, before or after its work.
fn deadly_git(site: &Site, at: usize, after: bool) -> std::path::PathBuf {
    let folder = site.root().with_file_name("deadly");
    let git = String::from_utf8_lossy(&Command::new("which").arg("git").output().unwrap().stdout).trim().to_owned();
    let (count, kill) = (folder.join("count"), format!("[ $n = {at} ] && kill -9 $PPID"));
    let (first, last) = if after { ("", kill.as_str()) } else { (kill.as_str(), "") };
    let text = format!(
        "#!/bin/sh\necho x >> '{0}'\nn=$(wc -l < '{0}')\n{first}\n'{git}' \"$@\"\ncode=$?\n{last}\nexit $code\n",
        count.display()
    );
    site.write("../deadly/git", text);
    site.mode("../deadly/git", 0o755);
    folder
}

#[test]
fn a_commit_that_is_killed_at_any_call_of_git_is_made_once() {
    let step = crate::support::long::pick(12, 1);
    for after in [false, true] {
        for at in (1..200).step_by(step) {
            let site = site();
            let path = format!("{}:{}", deadly_git(&site, at, after).display(), std::env::var("PATH").unwrap());
            let killed = site.command(&["run", "renew.rhai", "--yes", "--commit"]).env("PATH", path).output().unwrap();
            if let Some(code) = killed.status.code() {
                assert!(code == 0 && at > 10, "{at} {after}: {}", String::from_utf8_lossy(&killed.stderr));
                break;
            }
            site.nrv(&["recover"]).exits(0);
            if !site.path("out").exists() {
                site.nrv(&["run", "renew.rhai", "--yes"]).exits(0);
            }
            site.nrv(&["runs", "commit", "last"]).exits(0);
            assert_eq!(site.git(&["rev-list", "--count", "--grep=Nrv-Run", "HEAD"]).trim(), "1", "{at} {after}");
            assert_eq!(site.git(&["status", "--short"]), "", "{at} {after}");
            let left = std::fs::read_dir(site.path(".git")).unwrap().flatten();
            let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("nrv-index"));
            assert_eq!(left.count(), 0, "{at} {after}");
            let files = site.git(&["show", "--name-status", "--format=", "--no-renames", "HEAD"]);
            assert_eq!(files, "M\tpages/a.md\nD\tpages/b.md\nA\tpages/new [1].md\n", "{at} {after}");
        }
    }
}
