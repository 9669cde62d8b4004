//! Adapters that users write in Rhai, with the real binary: they propose, apply, verify, and can do nothing else.
#![expect(clippy::disallowed_methods, reason = "tests remove and read files")]

mod again;
mod approval;
mod bounded;
mod bounds;
mod cases;
mod program;
mod refused;
mod unverified;

use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

/// An adapter that removes blanks at the ends of lines.
const BLANKS: &str = r#"//! Removes blanks at the ends of lines.
const ADAPTER = #{
    name: "blanks", version: "1.0", summary: "remove blanks at the ends of lines", glob: "**/*.md",
    params: #{ type: "object", additionalProperties: false, properties: #{ keep: #{ type: "integer", minimum: 0 } } },
    counts: #{ lines_with_blanks: "Lines that end with a blank." }, work: "lines_with_blanks",
};

fn discover(input, files) {
    let n = 0;
    for file in files { n += file.text.split("\n").filter(|line| line.ends_with(" ")).len; }
    #{ lines_with_blanks: n }
}

fn stripped(line) {
    while line.ends_with(" ") { line = line.sub_string(0, line.len - 1); }
    line
}

fn propose(input, path, text) {
    let out = "";
    for (line, i) in text.split("\n") {
        if i > 0 { out += "\n"; }
        out += stripped(line);
    }
    out
}

fn measure(input, path, text) {
    let n = 0;
    for line in text.split("\n") { if line.ends_with(" ") { n += 1; } }
    #{ lines_with_blanks: n }
}

fn expect(baseline, after) {
    if after.lines_with_blanks == 0 { true } else { [`${after.lines_with_blanks} lines still end with a blank`] }
}
"#;

/// A site with four pages, three of which have blanks, and this adapter.
fn site_of(source: &str) -> Site {
    let site = Site::new(0);
    for index in 0..3 {
        site.write(&format!("docs/p{index}.md"), format!("# Page {index}  \n\ntext \nmore\n"));
    }
    site.write("docs/clean.md", "clean\n");
    site.script("dta/blanks.rhai", source);
    site
}

fn site() -> Site {
    site_of(BLANKS)
}

fn invocation(mode: &str) -> Value {
    json!({
        "tool": "blanks", "version": "1.0", "mode": mode, "target": {"repo_path": ".", "glob": "docs/**"}, "params": {},
        "constraints": {"max_files": 100, "timeout_ms": 60_000, "seed": 7},
    })
}

fn run(site: &Site, input: &Value, more: &[&str]) -> Ran {
    let arguments = ["dta", "run", input["tool"].as_str().expect("it has a tool"), "--input", "-", "--json"];
    site.nrv_with(&[&arguments[..], more].concat(), &input.to_string())
}

fn apply(site: &Site) -> Ran {
    run(site, &invocation("apply"), &["--yes"])
}

/// Applies this source and expects it to fail with this code and these words; the tree stays as it was.
#[track_caller]
fn fails(source: &str, code: &str, words: &[&str]) {
    let site = site_of(source);
    let before = site.tree();
    let ran = apply(&site);
    assert_ne!(ran.code, 0, "{ran:?}");
    for word in [&[code], words].concat() {
        assert!(ran.stderr.contains(word) || ran.stdout.contains(word), "`{word}`: {ran:?}");
    }
    assert!(site.tree() == before, "{ran:?}");
}

/// The source with a piece replaced.
#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(BLANKS.contains(from), "{from}");
    BLANKS.replace(from, to)
}

#[test]
fn it_is_listed_and_described() {
    let site = site();
    let listed = site.nrv(&["dta", "list", "--json"]).exits(0).json();
    let row = json!({
        "name": "blanks", "version": "1.0", "summary": "remove blanks at the ends of lines", "approved": true,
    });
    assert!(listed.as_array().unwrap().contains(&row), "{listed}");
    let described = site.nrv(&["dta", "describe", "blanks", "--json"]).exits(0).json();
    assert_eq!(described["domain"], json!(["**/*.md"]));
    let params = &described["input_schema"]["properties"]["params"];
    assert_eq!(params["properties"]["keep"], json!({"type": "integer", "minimum": 0}));
    assert_eq!(described["policy"]["max_files"], 5000);
    let counts = &described["output_schema"]["properties"]["baseline"]["properties"];
    assert_eq!(counts["lines_with_blanks"]["description"], "Lines that end with a blank.");
}

#[test]
fn it_applies_and_is_verified_and_its_second_pass_is_empty() {
    let site = site();
    let before = site.tree();
    let output = apply(&site).exits(0).json();
    assert_eq!((&output["ok"], &output["phase"]), (&json!(true), &json!("verify")));
    assert_eq!(output["baseline"]["lines_with_blanks"], 6);
    assert_eq!(output["applied_changes"], json!({"files": 3}));
    let checks = output["verifier"]["checks"].as_array().unwrap();
    assert!(["counts_match", "expectation_met"].iter().all(|check| checks.contains(&json!(check))), "{checks:?}");
    assert_eq!(site.read("docs/p1.md"), b"# Page 1\n\ntext\nmore\n");
    site.last_ended("done");
    site.commit();
    let again = apply(&site).exits(0).json();
    assert_eq!((&again["baseline"]["lines_with_blanks"], &again["applied_changes"]["files"]), (&json!(0), &json!(0)));
    let first = site.runs()[0]["run"].as_str().unwrap().to_owned();
    site.nrv(&["rollback", &first]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn its_output_fits_its_schema() {
    let site = site();
    let described = site.nrv(&["dta", "describe", "blanks", "--json"]).exits(0).json();
    let schema = nrv::system::schema::Schema::compile(&described["output_schema"]).unwrap();
    for mode in ["dry-run", "apply"] {
        let output = run(&site, &invocation(mode), &["--yes"]).exits(0).json();
        schema.check(&output).unwrap();
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let site = site();
    let before = site.tree();
    let output = run(&site, &invocation("dry-run"), &[]).exits(0).json();
    assert_eq!((&output["phase"], &output["ok"]), (&json!("dry-run"), &json!(true)));
    assert_eq!(output["proposed_changes"]["files"], 3);
    assert_eq!(output["applied_changes"]["files"], 0);
    assert!(site.tree() == before);
}

#[test]
fn the_patch_does_not_depend_on_the_number_of_threads() {
    let site = site();
    for index in 0..1200 {
        site.write(&format!("docs/many/{index}.md"), format!("line {index} \n"));
    }
    site.commit();
    let mut input = invocation("dry-run");
    input["constraints"]["max_files"] = json!(5000);
    let patches = ["1", "2", "8"].map(|threads| {
        let output = run(&site, &input, &["--threads", threads]).exits(0).json();
        assert_eq!(output["baseline"]["lines_with_blanks"], 1206);
        std::fs::read(site.last_run().join("artifacts/1-blanks.patch")).unwrap()
    });
    assert!(patches[0].len() > 1200 && patches.iter().all(|patch| *patch == patches[0]));
}

#[test]
fn a_script_uses_it() {
    let site = site();
    let script = "const WORKFLOW = #{ permissions: #{ write: [\"docs/**\"] } };\n\
        let own = nrv.dta(\"blanks\");\nlet proposal = own.propose(#{ target: #{ glob: \"docs/**\" }, params: #{} });\n\
        own.apply(proposal).applied_changes.files\n";
    site.script("scripts/own.rhai", script);
    let ran = site.nrv(&["run", "scripts/own.rhai", "--yes", "--json"]);
    assert_eq!(ran.exits(0).json()["result"], 3);
    assert_eq!(site.read("docs/p2.md"), b"# Page 2\n\ntext\nmore\n");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn its_params_are_checked_by_its_schema() {
    let site = site();
    let mut input = invocation("apply");
    input["params"] = json!({"keep": -1});
    let ran = run(&site, &input, &["--yes"]);
    assert!(ran.code == 1 && ran.stderr.contains("invalid_input"), "{ran:?}");
}

#[test]
fn texts_in_memory_are_answered_line_by_line() {
    let site = site();
    let request = json!({"id": 1, "input": invocation("dry-run"), "files": {"docs/x.md": "a \n", "docs/y.md": "b\n"}});
    let ran = site.nrv_with(&["dta", "run", "blanks", "--jsonl"], &format!("{request}\n"));
    let answer: Value = serde_json::from_str(ran.exits(0).stdout.lines().next().unwrap()).unwrap();
    assert_eq!(answer["files"], json!({"docs/x.md": "a\n"}));
    assert_eq!(answer["output"]["ok"], true);
}

#[test]
fn the_policy_bounds_it_like_any_adapter() {
    let denied = |policy: &str, code: i32, word: &str| {
        let site = site().policy(policy);
        let before = site.tree();
        let ran = apply(&site);
        assert!(ran.code == code && (ran.stderr.contains(word) || ran.stdout.contains(word)), "{policy}: {ran:?}");
        assert!(site.tree() == before);
    };
    denied("[adapters]\napproved = [\"link_updater\"]\n", 3, "not_approved");
    denied("[adapters.blanks]\npaths = [\"docs/p1.md\"]\n", 3, "permission_denied");
    denied("[adapters.blanks]\nmax_files = 2\n", 1, "max_files");
    denied("[adapters.blanks]\nrate_per_min = 0\n", 6, "rate_per_min");
    denied("[paths]\ndeny = [\"docs/**\"]\n", 3, "permission_denied");
}

#[test]
fn under_strict_tools_its_files_are_its_own() {
    let site = site().policy("[adapters]\nstrict_tools = true\n");
    let script =
        "const WORKFLOW = #{ permissions: #{ write: [\"docs/**\"] } };\nnrv.apply.create(\"docs/new.md\", \"x\");\n";
    site.script("scripts/own.rhai", script);
    let ran = site.nrv(&["run", "scripts/own.rhai", "--yes"]);
    assert!(ran.code == 3 && ran.stderr.contains("`blanks`"), "{ran:?}");
    // Of a broken adapter nobody knows which files it owns.
    site.script("dta/blanks.rhai", "fn x( {");
    site.script("scripts/own.rhai", &script.replace("docs/", "notes/").replace(".md", ".txt"));
    let ran = site.nrv(&["run", "scripts/own.rhai", "--yes"]);
    assert!(ran.code == 3 && ran.stderr.contains("`blanks`"), "{ran:?}");
}

#[test]
fn a_file_that_is_no_text_is_left_alone() {
    let site = site();
    site.write("docs/bytes.md", b"\xff \n");
    site.commit();
    let output = apply(&site).exits(0).json();
    assert_eq!((&output["baseline"]["files_scanned"], &output["baseline"]["files_skipped"]), (&json!(4), &json!(1)));
    assert_eq!(site.read("docs/bytes.md"), b"\xff \n");
}

/// As in Git, ignore files have no effect on a tracked file.
#[test]
fn a_tracked_file_below_an_ignore_rule_is_one_of_its_files() {
    let site = site();
    site.write(".gitignore", "docs/p1.md\nlate.md\n");
    site.write("docs/late.md", "text \n");
    site.commit();
    let output = apply(&site).exits(0).json();
    assert_eq!((&output["baseline"]["files_scanned"], &output["applied_changes"]["files"]), (&json!(4), &json!(3)));
    assert_eq!(site.read("docs/p1.md"), b"# Page 1\n\ntext\nmore\n");
    assert_eq!(site.read("docs/late.md"), b"text \n");
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.read("docs/p1.md"), b"# Page 1  \n\ntext \nmore\n");
}

/// Tracked files that are ignored can't be told then.
#[test]
fn an_index_that_cannot_be_read_is_named() {
    let site = site();
    site.write(".git/index", "no index");
    apply(&site).exits(5).says("index");
    let output = run(&site, &invocation("apply"), &["--yes", "--allow-dirty"]).exits(0).json();
    assert_eq!((&output["baseline"]["files_skipped"], &output["applied_changes"]["files"]), (&json!(1), &json!(3)));
    let why = "it can't be read, so tracked files that ignore files cover are not looked at";
    let shown = run(&site, &invocation("apply"), &["--allow-dirty", "--dry-run"]);
    let shown = format!("{}{}", shown.stdout, shown.stderr);
    assert!(shown.contains(".git/index") && shown.contains(why), "{shown}");
}

#[test]
fn where_no_file_matches_nothing_is_wrong() {
    let site = site();
    let mut input = invocation("apply");
    input["target"]["glob"] = json!("nowhere/**");
    for mode in ["apply", "dry-run"] {
        input["mode"] = json!(mode);
        let output = run(&site, &input, &["--yes"]).exits(0).json();
        assert_eq!((&output["ok"], &output["baseline"]["lines_with_blanks"]), (&json!(true), &json!(0)));
    }
}

#[test]
fn files_that_nobody_may_read_are_left_alone() {
    let site = site().policy("[paths]\nread_deny = [\"p1.md\", \"docs/secret/**\"]\n");
    site.write("docs/secret/a.md", "x \n");
    site.commit();
    let output = apply(&site).exits(0).json();
    assert_eq!((&output["baseline"]["files_scanned"], &output["baseline"]["files_skipped"]), (&json!(3), &json!(2)));
    assert_eq!(output["applied_changes"]["files"], 2);
    assert_eq!(site.read("docs/secret/a.md"), b"x \n");
    let throws = with(
        "let n = 0;\n    for file in files {",
        "let n = 0;\n    for file in files { if file.path.contains(\"p1\") { throw file.text; }",
    );
    site.script("dta/blanks.rhai", &throws);
    apply(&site).exits(0);
}

#[test]
fn the_recorded_source_verifies_again() {
    let site = site();
    apply(&site).exits(0);
    site.script("dta/blanks.rhai", &with("after.lines_with_blanks == 0", "false"));
    let ran = site.nrv(&["dta", "verify", "last", "--json"]);
    assert_eq!(ran.exits(0).json()["passed"], true);
    std::fs::remove_file(site.path("dta/blanks.rhai")).unwrap();
    site.nrv(&["dta", "verify", "last"]).exits(0);
    site.write("docs/p1.md", "again \n");
    site.nrv(&["dta", "verify", "last"]).exits(4);
}

#[test]
fn the_policy_may_name_another_file() {
    let site = site().policy("[adapters.blanks]\nscript = \"tools/blanks.rhai\"\n");
    std::fs::remove_file(site.path("dta/blanks.rhai")).unwrap();
    site.script("tools/blanks.rhai", BLANKS);
    apply(&site).exits(0);
    let site = self::site().policy("[adapters.other]\nscript = \"tools/other.rhai\"\n");
    let ran = site.nrv(&["dta", "describe", "other"]);
    assert!(ran.code == 1 && ran.stderr.contains("not_found"), "{ran:?}");
}

#[test]
fn the_readers_of_formats_are_there_on_both_sides() {
    let source = with(
        "let n = 0;\n    for file in files {",
        "let n = 0;\n    for file in files { format.headings(file.text); format.links(file.text, \"markdown\");",
    )
    .replace(
        "fn measure(input, path, text) {",
        "fn measure(input, path, text) {\n    format.headings(text); nrv.json.sha256(text);",
    );
    let site = site_of(&source);
    apply(&site).exits(0);
}

#[test]
fn the_shipped_one_gives_headings_a_capital_letter() {
    let site = Site::new(0);
    site.script("dta/heading_case.rhai", include_str!("../../dta/heading_case.rhai"));
    let page = "# one `x`\n\n## Two\n\nthree\n-----\n\n```\n# four\n```\n\n# `five`\n\n> ## six\n\n# nrv is kept\n";
    site.write("docs/a.md", page);
    site.commit();
    let mut input = invocation("apply");
    input["tool"] = json!("heading_case");
    input["params"] = json!({"keep": ["nrv"]});
    let output = run(&site, &input, &["--yes"]).exits(0).json();
    assert_eq!((&output["baseline"]["headings"], &output["baseline"]["small"]), (&json!(6), &json!(2)));
    let expected = page.replace("# one", "# One").replace("three\n", "Three\n");
    assert_eq!(String::from_utf8(site.read("docs/a.md")).unwrap(), expected);
}

#[test]
fn a_new_one_works_and_its_case_holds() {
    let site = Site::new(0);
    let made = site.nrv(&["dta", "new", "tidy_ends"]).exits(0);
    assert!(
        made.stdout.contains("dta/tidy_ends.rhai") && made.stdout.contains("dta/tidy_ends.test/first/args.json"),
        "{made:?}"
    );
    site.nrv(&["check", "dta/tidy_ends.rhai"]).exits(0);
    site.nrv(&["test", "dta/tidy_ends.rhai"]).exits(0);
    site.write("dta/tidy_ends.test/first/expected/a.txt", "other\n");
    site.nrv(&["test", "dta/tidy_ends.rhai"]).exits(4);
    let again = site.nrv(&["dta", "new", "tidy_ends"]);
    assert!(again.code == 2 && again.stderr.contains("exists already"), "{again:?}");
    site.nrv(&["dta", "new", "No-Name"]).exits(2);
    for (option, file) in [("--python", "dta/other.py"), ("--node", "dta/other.js")] {
        let site = Site::new(0);
        let made = site.nrv(&["dta", "new", "other", option]).exits(0);
        assert!(site.path(file).exists() && made.stderr.contains("[adapters.other]"), "{made:?}");
        assert!(site.path("dta/other.test/first/expected/a.txt").exists(), "{made:?}");
    }
}

#[test]
fn the_output_of_an_undone_change_says_so() {
    let site = site_of(
        &BLANKS
            .replace("if after.lines_with_blanks == 0 { true } else", "if after.lines_with_blanks < 0 { true } else"),
    );
    let before = site.tree();
    let described = site.nrv(&["dta", "describe", "blanks", "--json"]).exits(0).json();
    let schema = nrv::system::schema::Schema::compile(&described["output_schema"]).unwrap();
    for more in [&["--yes"][..], &["--yes", "--keep"]] {
        let output = run(&site, &invocation("apply"), more).exits(4).json();
        schema.check(&output).unwrap();
        assert_eq!((&output["phase"], &output["ok"]), (&json!("verify"), &json!(false)));
        assert_eq!((&output["applied_changes"]["files"], &output["undone"]), (&json!(0), &json!(true)));
        assert_eq!(output["proposed_changes"]["files"], 3);
        assert!(site.tree() == before);
        let shown = site.nrv(&["runs", "show", "last"]).exits(0).stdout;
        assert!(shown.contains("the change was undone") && !shown.contains("files changed               3"), "{shown}");
        let report = site.nrv(&["runs", "report", "last", "--json"]).exits(0).json();
        let counts = report["verifications"][0]["counts"].as_array().unwrap();
        assert_eq!(counts.iter().find(|count| count["name"] == "files changed").unwrap()["after"], 0);
    }
    let output = run(&site, &invocation("dry-run"), &[]).exits(4).json();
    assert!(output.get("undone").is_none() && output["applied_changes"]["files"] == 0, "{output:#}");
}
