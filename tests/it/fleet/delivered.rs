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
    let hook = super::requests::hook(&fleet, "a", "pre-receive", "exit 1");
    apply(&fleet, &hash, &[]).exits(75).says("1 branch pushed");
    std::fs::remove_file(hook).unwrap();
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
