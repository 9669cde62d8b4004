//! Links whose target another copy of the repository may have: they are listed, never repaired, and never called broken.

use serde_json::{Value, json};

use crate::support::site::Site;

/// A repository with a page `a.md`, some files and a commit.
fn site(page: &str, files: &[(&str, &str)]) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("a.md", page);
    files.iter().for_each(|(name, text)| site.write(name, text));
    site.commit();
    site
}

fn leave_out(site: &Site, patterns: &[&str]) {
    site.git(&[&["sparse-checkout", "set", "--no-cone", "/*"], patterns].concat());
}

/// Repairs the links of the tree by `params`; the output, and the kind and place of each finding.
fn repaired(site: &Site, params: &Value, code: i32) -> (Value, Vec<(String, String)>) {
    let ran = site.adapt("intra_repo_link_fixer", "apply", "**/*.md", params);
    assert_eq!(ran.code, code, "{} {}", ran.stdout, ran.stderr);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = site.findings();
    let findings = findings.iter().map(|found| (text(&found["kind"]), text(&found["place"])));
    (serde_json::from_str(&ran.stdout).expect("it is JSON"), findings.collect())
}

/// Expects that the page stays, that nothing is broken, and that these links are unknown.
#[track_caller]
fn unknown(site: &Site, links: &[&str], params: &Value) {
    let before = site.tree();
    let (output, findings) = repaired(site, params, 0);
    assert_eq!(output["baseline"]["links_broken"], 0, "{output:#}");
    assert_eq!(output["baseline"]["links_unknown"], links.len(), "{output:#}");
    let expected: Vec<_> = links.iter().map(|link| ("unknown".to_owned(), (*link).to_owned())).collect();
    assert_eq!(findings, expected);
    assert!(site.tree() == before);
}

/// As in Git, ignore files have no effect on a tracked file.
#[test]
fn a_tracked_page_below_an_ignore_rule_is_repaired() {
    let site = site("[x](api/b.md)\n", &[(".gitignore", "api/\n/late.md\n")]);
    site.write("api/b.md", "[x](old.md)\n");
    site.write("api/old.md", "# Old\n");
    site.git(&["add", "-f", "api/b.md", "api/old.md"]);
    site.git(&["commit", "-q", "-m", "x"]);
    site.git(&["mv", "api/old.md", "api/new.md"]);
    site.git(&["commit", "-q", "-m", "x"]);
    for name in ["late.md", "api/late.md"] {
        site.write(name, "[x](old.md)\n");
    }
    let (output, findings) = repaired(&site, &json!({"extensions": ["md"]}), 0);
    assert_eq!((output["baseline"]["links_broken"].as_u64(), findings.len()), (Some(1), 0), "{output:#} {findings:?}");
    assert_eq!(output["baseline"]["files_scanned"], 3, "{output:#}");
    assert_eq!(site.read("api/b.md"), b"[x](new.md)\n");
    for name in ["late.md", "api/late.md"] {
        assert_eq!(site.read(name), b"[x](old.md)\n", "{name} is not tracked");
    }
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.read("api/b.md"), b"[x](old.md)\n");
    // A page of that folder moved itself, so that its links begin elsewhere.
    site.write("api/in/x", "");
    site.git(&["mv", "api/b.md", "api/in/b.md"]);
    site.git(&["commit", "-q", "-m", "x"]);
    site.write("api/in/c.md", "[x](old.md)\n");
    site.git(&["add", "-f", "api/in/c.md"]);
    site.git(&["commit", "-q", "-m", "x"]);
    let (output, findings) = repaired(&site, &none(), 0);
    assert_eq!(
        (site.read("api/in/b.md"), site.read("api/in/c.md")),
        (b"[x](../new.md)\n".to_vec(), b"[x](old.md)\n".to_vec())
    );
    assert_eq!(output["baseline"]["links_unknown"], 1, "{findings:?}");
    // A removed one is no longer there.
    site.git(&["rm", "-q", "-f", "api/in/b.md"]);
    let (output, _) = repaired(&site, &json!({"unresolved": "list"}), 0);
    assert_eq!(output["baseline"]["files_scanned"], 3, "{output:#}");
}

fn none() -> Value {
    json!({})
}

#[test]
fn a_file_that_a_sparse_checkout_left_out_is_unknown() {
    for (link, params) in [
        ("src/guide.md", json!({})),
        ("src/guide.md#usage", json!({})),
        ("./src//guide.md?plain=1", json!({})),
        ("src/guide", json!({"extensions": ["md"]})),
        ("src/guide.html", json!({"html_from": ["md"]})),
        ("src/", json!({})),
        ("src", json!({"index": ["guide.md"]})),
        ("/guide.md", json!({"site_root": ["src"]})),
    ] {
        let site = site(&format!("[x]({link})\n"), &[("src/guide.md", "# G\n"), ("docs/guide.md", "# G\n")]);
        leave_out(&site, &["!/src/"]);
        unknown(&site, &[link], &params);
    }
}

#[test]
fn a_folder_kept_as_one_entry_of_the_index_is_unknown() {
    let site = site("[x](src/deep/guide.md)\n", &[("src/deep/guide.md", "# G\n"), ("docs/guide.md", "# G\n")]);
    site.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "docs"]);
    unknown(&site, &["src/deep/guide.md"], &none());
}

#[test]
fn a_page_of_a_folder_that_is_left_out_may_have_the_anchor() {
    let site = site("[x](src/#usage)\n[y](src/)\n", &[("src/README.md", "# Usage\n"), ("src/b.md", "# B\n")]);
    leave_out(&site, &["!/src/README.md"]);
    unknown(&site, &["src/#usage"], &none());
}

/// A file that is left out counts among those of its name, so that no other one is the only one.
#[test]
fn a_file_that_is_left_out_is_a_candidate() {
    for (link, files) in [
        ("old/setup_of_it.md", ["src/setup_of_it.md", "docs/setup_of_it.md"]),
        ("docs/Setup_of_it.md", ["src/setup_of_it.md", "docs/setup_of_it.md"]),
        ("old/setup_of_it.md", ["src/setup_of_it.md", "src/b.md"]),
    ] {
        let site = site(&format!("[x]({link})\n"), &files.map(|file| (file, "# Setup\n")));
        leave_out(&site, &["!/src/"]);
        let before = site.tree();
        let case = link.starts_with("docs");
        let (output, findings) = repaired(&site, &none(), if case { 0 } else { 4 });
        assert_eq!(output["baseline"]["links_broken"], 1, "{output:#}");
        assert_eq!((findings.len(), site.tree() == before), (usize::from(!case), !case), "{link} {findings:?}");
    }
}

#[test]
fn a_renamed_file_that_is_left_out_is_no_target_of_a_repair() {
    let site = site("[x](old/plan.md)\n", &[("old/plan.md", &"some words of it\n".repeat(9))]);
    site.git(&["mv", "old", "src"]);
    site.commit();
    leave_out(&site, &["!/src/"]);
    let before = site.tree();
    let (_, findings) = repaired(&site, &none(), 4);
    assert_eq!((findings.len(), site.tree() == before), (1, true), "{findings:?}");
}

/// A file of that name which another move did not make is another one, also if the moved file is out of sight.
#[test]
fn a_file_that_moved_out_of_sight_is_not_another_of_its_name() {
    let words = "some words of it\n".repeat(9);
    let files = [("docs/plan.md", &*words), ("docs/b/plan.md", "# Another\n"), ("src/c.md", "# C\n")];
    let left_out = site("[x](docs/plan.md)\n", &files);
    left_out.git(&["mv", "docs/plan.md", "src/steps.md"]);
    left_out.commit();
    leave_out(&left_out, &["!/src/"]);
    let (_, findings) = repaired(&left_out, &json!({"unresolved": "list"}), 0);
    assert_eq!((findings.len(), left_out.read("a.md")), (1, b"[x](docs/plan.md)\n".to_vec()), "{findings:?}");
}

/// The old path of a moved page has another file now, so that a link of a page that moved later may mean either.
#[test]
fn a_target_that_another_file_replaced_is_a_candidate() {
    for is_swap in [false, true] {
        let words = "some words of it\n".repeat(9);
        let page = format!("[x](plan.md)\n{}", "other words\n".repeat(9));
        let site = site("", &[("plan.md", &words), ("notes.md", &words.to_uppercase()), ("page.md", &page)]);
        site.write(if is_swap { "notes.md" } else { "steps.md" }, &words);
        site.write("plan.md", if is_swap { words.to_uppercase() } else { "# Another page\n".to_owned() });
        site.commit();
        site.write("sub/b.md", "");
        site.git(&["mv", "page.md", "sub/page.md"]);
        site.commit();
        let (_, findings) = repaired(&site, &json!({"unresolved": "list"}), 0);
        assert_eq!((findings.len(), site.read("sub/page.md")), (1, page.into_bytes()), "{findings:?}");
    }
}

/// More than a name leads to the page, so that the link follows it with its anchor, which stays in doubt.
#[test]
fn a_link_follows_a_page_whose_anchors_are_unknown() {
    let words = format!("# Plan\n{}", "some words of it\n".repeat(9));
    let config = "site_name: x\nplugins:\n- unheard-of\n";
    for (link, params, expected) in [
        ("plan.md#it", json!({}), "steps.md#it"),
        ("Steps.md#it", json!({}), "steps.md#it"),
        ("b/steps.md#it", json!({}), "b/steps.md#it"),
        ("plan.md#it", json!({"repairs": ["name"]}), "plan.md#it"),
    ] {
        let files = [("mkdocs.yml", config), ("docs/plan.md", &*words), ("docs/p.md", &format!("[x]({link})\n"))];
        let site = site("", &files);
        site.git(&["mv", "docs/plan.md", "docs/steps.md"]);
        site.commit();
        let params = [params, json!({"unresolved": "list"})].into_iter().fold(json!({}), |mut all, part| {
            all.as_object_mut().expect("it is an object").extend(part.as_object().expect("it is one").clone());
            all
        });
        let (output, findings) = repaired(&site, &params, 0);
        assert_eq!(site.read("docs/p.md"), format!("[x]({expected})\n").into_bytes(), "{output:#} {findings:?}");
    }
}

#[test]
fn a_target_in_a_submodule_is_unknown() {
    let other = site("# other\n", &[("doc/guide.md", "# G\n")]);
    for (link, is_here) in
        [("sub/doc/guide.md", false), ("sub/doc/guide.md#g", false), ("sub/gone.md", true), ("sub/gone.md", false)]
    {
        let site = site(&format!("[x]({link})\n"), &[("docs/guide.md", "# G\n"), ("docs/gone.md", "# G\n")]);
        let from = other.root();
        let from = from.to_str().expect("it is UTF-8");
        site.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", from, "sub"]);
        site.commit();
        if !is_here {
            site.git(&["submodule", "deinit", "-q", "-f", "sub"]);
        }
        unknown(&site, &[link], &none());
    }
}

#[test]
fn a_missing_target_that_git_ignores_is_unknown() {
    for (ignored, link) in [
        ("dist/\n", "dist/guide.md"),
        ("dist\n", "dist/guide.md#x"),
        ("/made/*\n", "made/deep/guide.md"),
        ("guide.md\n!/docs/guide.md\n", "api/guide.md"),
        ("*\n!*/\n!*.md\n!.gitignore\n", "shot.png"),
    ] {
        let site = site(&format!("[x]({link})\n"), &[(".gitignore", ignored)]);
        site.write("docs/guide.md", "# G\n");
        site.write("docs/shot.png", "");
        site.git(&["add", "-A", "-f"]);
        site.commit();
        unknown(&site, &[link], &none());
    }
    let site = site("[x](api/guide.md)\n", &[("api/.gitignore", "*\n!.gitignore\n"), ("docs/guide.md", "# G\n")]);
    unknown(&site, &["api/guide.md"], &none());
}

#[test]
fn an_ignored_page_is_not_judged_by_its_anchors() {
    let site = site("[x](dist/api.md#usag)\n", &[(".gitignore", "dist/\n")]);
    site.write("dist/api.md", "# Usage\n");
    let (output, findings) = repaired(&site, &none(), 0);
    assert_eq!(output["baseline"]["links_broken"], 0, "{output:#}");
    assert_eq!(findings, [("ignored".to_owned(), "dist/api.md#usag".to_owned())]);
}

/// A shallow clone may not know a move, so a missing move is not evidence.
#[test]
fn a_name_alone_is_no_reason_in_a_shallow_clone() {
    let words = "some words of the plan\n".repeat(9);
    let origin = site("[x](old/plan_of_it.md)\n", &[("old/plan_of_it.md", &words)]);
    origin.git(&["mv", "old/plan_of_it.md", "the_plan.md"]);
    origin.commit();
    origin.write("docs/plan_of_it.md", "# Another one\n");
    origin.write("docs/b.md", "[x](old/plan_of_it.md)\n");
    origin.commit();
    let clone = Site::empty();
    let url = format!("file://{}", origin.root().display());
    clone.git(&["clone", "-q", "--depth=1", &url, "."]);
    let (_, findings) = repaired(&clone, &none(), 4);
    assert_eq!(findings.len(), 2, "{findings:?}");
    let whole = Site::empty();
    whole.git(&["clone", "-q", &url, "."]);
    whole.write("docs/b.md", "# B\n");
    repaired(&whole, &none(), 0);
    assert_eq!(String::from_utf8_lossy(&whole.read("a.md")), "[x](the_plan.md)\n");
}

#[test]
fn what_is_certain_is_repaired_beside_what_is_listed_or_allowed() {
    let page = "[a](docs/Guide.md) [b](docs/gone.md) [c](docs/guide.md#nowhere)\n";
    for params in [json!({"unresolved": "list"}), json!({"allow_broken": ["*"]})] {
        let site = site(page, &[("docs/guide.md", "# Usage\n")]);
        let (output, findings) = repaired(&site, &params, 0);
        let is_list = params.get("unresolved").is_some();
        assert_eq!((findings.len(), &output["applied_changes"]["repairs"]), (if is_list { 2 } else { 0 }, &json!(1)));
        let count = if is_list { "links_broken" } else { "links_allowed" };
        assert_eq!(output["baseline"][count], 3, "{output:#}");
        let expected = page.replacen("Guide", "guide", 1);
        assert_eq!(String::from_utf8_lossy(&site.read("a.md")), expected);
    }
    let site = site(page, &[("docs/guide.md", "# Usage\n")]);
    repaired(&site, &none(), 4);
    assert_eq!(String::from_utf8_lossy(&site.read("a.md")), page);
}
