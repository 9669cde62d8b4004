//! Approved patches as branches: each once, never over the work of others, and taken back.

use super::*;

pub(super) const FORM: &str =
    "commit = { branch = 'nrv/links', message = 'Move the links', author = 'A Person <person@example.org>' }\n";

/// Runs git in a repository beside the workspace.
fn git(fleet: &Fleet, repository: &str, arguments: &[&str]) -> String {
    let folder = fleet.beside("repositories").join(repository);
    let made = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A fleet whose tasks are done, and the hash of its patches.
fn worked(names: &[&str]) -> (Fleet, String) {
    let fleet = Fleet::new();
    for name in names {
        fleet.repository(name, &[("a b.md", "old.example.com\r\n"), (".gitattributes", "*.md text eol=crlf\n")]);
    }
    fleet.plan(FORM).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    (fleet, hash)
}

fn apply(fleet: &Fleet, hash: &str, more: &[&str]) -> Ran {
    fleet.site.nrv(&[&["fleet", "collect", "plan.jsonl", "--apply", "--approve", hash], more].concat())
}

#[test]
fn approved_patches_are_branches_once_and_can_be_taken_back() {
    let (fleet, hash) = worked(&["a", "b", "c"]);
    apply(&fleet, &"0".repeat(64), &[]).exits(5).says(&hash);
    assert_eq!(git(&fleet, "a", &["branch", "--list", "nrv/links"]), "");
    apply(&fleet, &hash, &["--limit", "1"]).exits(0).says("1 branch pushed. 2 tasks to push");
    apply(&fleet, &hash, &[]).exits(0).says("2 branches pushed, 1 before.");
    apply(&fleet, &hash, &[]).exits(0).says("0 branches pushed, 3 before.");
    let commit = git(&fleet, "a", &["rev-parse", "nrv/links"]);
    assert_eq!(git(&fleet, "a", &["rev-parse", "nrv/links^"]), git(&fleet, "a", &["rev-parse", "main"]));
    assert_eq!(git(&fleet, "a", &["show", "nrv/links:a b.md"]), "new.example.com");
    assert_eq!(
        git(&fleet, "a", &["log", "-1", "--format=%an <%ae> %s", "nrv/links"]),
        "A Person <person@example.org> Move the links"
    );
    assert_eq!(git(&fleet, "a", &["diff", "--name-only", "main", "nrv/links"]), "a b.md");
    // Somebody works on one of the branches.
    let other = git(
        &fleet,
        "b",
        &[
            "-c",
            "user.name=B",
            "-c",
            "user.email=b@example.org",
            "commit-tree",
            "-p",
            "nrv/links",
            "-m",
            "more",
            "nrv/links^{tree}",
        ],
    );
    git(&fleet, "b", &["update-ref", "refs/heads/nrv/links", &other]);
    let rollback = fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(5);
    assert!(
        rollback.stderr.contains("2 branches removed") && rollback.stderr.contains("b: stale_preimage"),
        "{rollback:?}"
    );
    assert_eq!(git(&fleet, "b", &["rev-parse", "nrv/links"]), other);
    assert_eq!(git(&fleet, "a", &["branch", "--list", "nrv/links"]), "");
    // The same approval makes the same commit again.
    apply(&fleet, &hash, &[]);
    assert_eq!(git(&fleet, "a", &["rev-parse", "nrv/links"]), commit);
}

#[test]
fn a_branch_of_others_is_never_written() {
    let (fleet, hash) = worked(&["a", "b"]);
    git(&fleet, "a", &["branch", "nrv/links", "main"]);
    let main = git(&fleet, "a", &["rev-parse", "main"]);
    apply(&fleet, &hash, &[]).exits(5).says("has a branch `nrv/links` at another commit");
    assert_eq!(git(&fleet, "a", &["rev-parse", "nrv/links"]), main);
    assert_ne!(git(&fleet, "b", &["rev-parse", "nrv/links"]), "");
    fleet.plan("").exits(0);
    let unformed = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    apply(&fleet, &unformed, &[]).exits(1).says("a table `[commit]`");
    // A push that was refused is no delivery: another branch takes it.
    fleet.plan(&FORM.replace("nrv/links", "nrv/other")).exits(0);
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    apply(&fleet, &hash, &[])
        .exits(5)
        .says("b: stale_preimage: it was pushed as `nrv/links` with another commit before");
    assert_ne!(git(&fleet, "a", &["branch", "--list", "nrv/other"]), "");
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(5).says("1 branch removed");
    assert_eq!(git(&fleet, "a", &["rev-parse", "nrv/links"]), main);
    assert_eq!(git(&fleet, "a", &["branch", "--list", "nrv/other"]), "");
}

#[test]
fn a_delivery_that_was_begun_with_another_commit_can_be_taken_back() {
    let (fleet, hash) = worked(&["a", "b"]);
    // Another process has the branch at the moment.
    let references = fleet.beside("repositories/a/.git/refs/heads/nrv");
    std::fs::create_dir_all(&references).unwrap();
    std::fs::write(references.join("links.lock"), "").unwrap();
    apply(&fleet, &hash, &[]).exits(75).says("1 branch pushed");
    std::fs::remove_file(references.join("links.lock")).unwrap();
    fleet.plan(&FORM.replace("Move the links", "Move all links")).exits(0);
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    apply(&fleet, &hash, &[])
        .exits(5)
        .says("b: stale_preimage: it was pushed as `nrv/links` with another commit before");
    assert_eq!(git(&fleet, "a", &["log", "-1", "--format=%s", "nrv/links"]), "Move all links");
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("2 branches removed.");
    for name in ["a", "b"] {
        assert_eq!(git(&fleet, name, &["branch", "--list", "nrv/links"]), "");
    }
}

#[test]
fn a_bundle_has_the_commit_that_a_push_would_have() {
    let (fleet, hash) = worked(&["a"]);
    let mut bundles = Vec::new();
    for name in ["one", "two"] {
        let folder = fleet.beside(name);
        let collect = ["fleet", "collect", "plan.jsonl", "--bundles", "-o", folder.to_str().unwrap()];
        fleet.site.nrv(&collect).exits(0);
        bundles.push(folder.join("bundles/a.bundle"));
    }
    assert!(std::fs::read(&bundles[0]).unwrap() == std::fs::read(&bundles[1]).unwrap(), "the same bytes twice");
    let bundle = bundles[0].to_str().unwrap();
    git(&fleet, "a", &["fetch", "-q", bundle, "nrv/links:from-bundle"]);
    apply(&fleet, &hash, &[]).exits(0);
    assert_eq!(git(&fleet, "a", &["rev-parse", "from-bundle"]), git(&fleet, "a", &["rev-parse", "nrv/links"]));
    assert_eq!(git(&fleet, "a", &["show", "from-bundle:a b.md"]), "new.example.com");
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "--bundles", "-o", "x"]).exits(1).says("a table `[commit]`");
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "--bundles"]).exits(2);
}

#[test]
fn each_shard_of_a_repository_has_a_branch_of_its_own() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("one/x.md", "old.example.com\n"), ("two/x.md", "old.example.com\n")]);
    let shards = "[[repository]]\npath = '../repositories/a'\nname = 'parts'\nshards = ['one/**', 'two/**']\n";
    fleet.site.write("fleet.toml", format!("name = 'links'\nstore = '../store'\nscript = 'links.rhai'\nargs = {{ from = 'old.example.com' }}\nshard_arg = 'glob'\n{FORM}{shards}"));
    fleet.site.nrv(&["fleet", "plan"]).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    apply(&fleet, &hash, &[]).exits(0).says("2 branches pushed.");
    for (branch, file) in [("nrv/links-1", "one/x.md"), ("nrv/links-2", "two/x.md")] {
        assert_eq!(git(&fleet, "a", &["diff", "--name-only", "main", branch]), file);
    }
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("2 branches removed.");
}

/// Every hook of git on the side that is pushed to, and settings by which git starts programs there.
fn trap(fleet: &Fleet, name: &str, mark: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let own = fleet.beside("repositories").join(name).join(".git");
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let program = |kind: &str| format!("#!/bin/sh\ntouch '{}-{kind}'\n", mark.display());
    for folder in ["hooks", "other"] {
        for kind in [
            "pre-receive",
            "update",
            "proc-receive",
            "post-receive",
            "post-update",
            "reference-transaction",
            "push-to-checkout",
            "pre-auto-gc",
            "fsmonitor-watchman",
            "sendemail-validate",
        ] {
            write(&own.join(folder).join(kind), &program(&format!("{folder}-{kind}")));
        }
    }
    let start = own.join("start");
    write(&start, &program("setting"));
    let start = start.display().to_string();
    for (key, value) in [
        ("core.hooksPath", own.join("other").display().to_string().as_str()),
        ("core.alternateRefsCommand", &start),
        ("core.fsmonitor", &start),
        ("core.sshCommand", &start),
        ("core.gitProxy", &start),
        ("core.askPass", &start),
        ("core.pager", &start),
        ("credential.helper", &start),
        ("receive.procReceiveRefs", "refs/heads"),
        ("receive.denyCurrentBranch", "updateInstead"),
        ("receive.denyNonFastForwards", "true"),
        ("receive.unpackLimit", "1"),
        ("receive.autogc", "true"),
        ("gc.auto", "1"),
        ("gc.recentObjectsHook", &start),
        ("transfer.hideRefs", "refs/heads/nrv"),
        ("uploadpack.packObjectsHook", &start),
        ("hook.evil.command", &start),
        ("hook.evil.event", "pre-receive"),
        ("filter.evil.smudge", &start),
        ("filter.evil.process", &start),
        ("merge.evil.driver", &start),
        ("diff.external", &start),
        ("gpg.program", &start),
        ("include.path", own.join("included").display().to_string().as_str()),
    ] {
        git(fleet, name, &["config", key, value]);
    }
    std::fs::write(own.join("included"), format!("[core]\n\thooksPath = {}\n", own.join("hooks").display())).unwrap();
    // The objects of another repository, whose references git would list by a command.
    let other = fleet.beside("repositories").join("b/.git/objects");
    std::fs::write(own.join("objects/info/alternates"), format!("{}\n", other.display())).unwrap();
}

#[test]
fn no_hook_and_no_setting_of_a_repository_on_this_machine_counts() {
    let (fleet, hash) = worked(&["a", "b"]);
    let mark = fleet.beside("mark");
    trap(&fleet, "a", &mark);
    let marks = || {
        let names = std::fs::read_dir(mark.parent().unwrap()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("mark-")).collect::<Vec<_>>()
    };
    git(&fleet, "a", &["-c", "core.hooksPath=/dev/null", "pack-refs", "--all"]);
    std::fs::read_dir(mark.parent().unwrap()).unwrap().for_each(|entry| {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("mark-") {
            std::fs::remove_file(path).unwrap();
        }
    });
    apply(&fleet, &hash, &[]).exits(0).says("2 branches pushed.");
    assert_eq!(marks(), [""; 0], "pushed");
    let commit = std::fs::read_to_string(fleet.beside("repositories/a/.git/refs/heads/nrv/links")).unwrap();
    assert_eq!(commit.trim().len(), 40);
    apply(&fleet, &hash, &[]).exits(0).says("0 branches pushed, 2 before.");
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("2 branches removed.");
    assert_eq!(marks(), [""; 0], "rolled back");
    assert!(!fleet.beside("repositories/a/.git/refs/heads/nrv/links").exists());
}

/// Gives a repository a form.
pub(super) fn form(fleet: &Fleet, form: &str) {
    let place = fleet.beside("repositories").join(form);
    let (own, other) = (place.join(".git"), fleet.beside(&format!("other-{form}")));
    let moved = |name: &str| {
        std::fs::rename(own.join(name), &other).unwrap();
        std::os::unix::fs::symlink(&other, own.join(name)).unwrap();
    };
    let pipe = |name: &str| {
        std::fs::remove_file(own.join(name)).unwrap();
        assert!(Command::new("mkfifo").arg(own.join(name)).status().unwrap().success());
    };
    match form {
        "bare" => {
            std::fs::rename(&own, &other).unwrap();
            std::fs::remove_dir_all(&place).unwrap();
            std::fs::rename(&other, &place).unwrap();
        }
        "packed" => drop(git(fleet, form, &["gc", "-q"])),
        "shallow" => std::fs::write(own.join("shallow"), git(fleet, form, &["rev-parse", "main"]) + "\n").unwrap(),
        "worktree" => {
            let other = fleet.beside("other").display().to_string();
            git(fleet, form, &["worktree", "add", "-q", "-b", "other", &other]);
        }
        "linked" => {
            std::fs::rename(&own, &other).unwrap();
            std::fs::write(&own, format!("gitdir: {}\n", other.display())).unwrap();
        }
        "objects" | "refs" => moved(form),
        "packed-refs" => {
            git(fleet, form, &["pack-refs", "--all"]);
            moved(form);
        }
        "pipe" => pipe("config"),
        "head" => std::fs::write(own.join("HEAD"), "ref: refs/heads/main\nref: refs/heads/x\n").unwrap(),
        "head-pipe" => pipe("HEAD"),
        "refs-pipe" => {
            git(fleet, form, &["branch", "x"]);
            pipe("refs/heads/x");
        }
        "reftable" => drop(git(fleet, form, &["config", "extensions.refStorage", "reftable"])),
        "extension" => drop(git(fleet, form, &["config", "extensions.strange", "1"])),
        "unborn" => drop(git(fleet, form, &["symbolic-ref", "HEAD", "refs/heads/nrv/links"])),
        "branch" => std::os::unix::fs::symlink(fleet.beside("store"), own.join("refs/heads/nrv")).unwrap(),
        _ => drop(git(fleet, form, &["checkout", "-q", "-b", "nrv/links"])),
    }
}

#[test]
fn repositories_of_every_form_are_pushed_to_or_refused_with_the_reason() {
    let forms = [
        ("bare", None),
        ("packed", None),
        ("shallow", None),
        ("worktree", None),
        ("linked", Some("it is no repository, or a linked work tree of another one")),
        ("objects", Some("its `objects` is a link or a special file")),
        ("refs", Some("its `refs` is a link")),
        ("packed-refs", Some("its `packed-refs` is a link or a special file")),
        ("pipe", Some("its `config` can't be read")),
        ("refs-pipe", Some("refs/heads/x` is no plain file")),
        ("head", Some("its `HEAD` names no branch and no commit")),
        ("head-pipe", Some("its `HEAD` can't be read")),
        ("reftable", Some("its format has the extension `refstorage=reftable`")),
        ("extension", Some("its format has the extension `strange=1`")),
        ("checked-out", Some("the branch `nrv/links` is checked out in")),
        ("unborn", Some("the branch `nrv/links` is checked out in")),
        ("branch", Some("its `refs/heads/nrv` is a link")),
    ];
    let (fleet, hash) = worked(&forms.map(|(name, _)| name));
    forms.iter().for_each(|(name, _)| form(&fleet, name));
    let ran = apply(&fleet, &hash, &[]);
    for (name, expected) in forms {
        let told = ran.stderr.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let told = told.unwrap_or_else(|| panic!("{name}: {ran:?}"));
        match expected {
            None => assert_eq!(told, "nrv/links", "{name}"),
            Some(why) => assert!(told.contains(why), "{name}: {told}"),
        }
    }
}
