//! Adapters that are wrong, that lie, or that want more than they have: each ends with a code, and nothing is changed.

use super::{BLANKS, apply, fails, invocation, run, site, site_of, with};

#[test]
fn a_source_that_does_not_parse_names_file_and_line() {
    fails(&with("let out = \"\";", "let out = ;"), "script_syntax", &["dta/blanks.rhai", "\"line\": 20"]);
}

#[test]
fn every_function_has_to_be_there() {
    for name in ["discover", "propose", "measure", "expect"] {
        let source = BLANKS.replace(&format!("fn {name}("), &format!("fn {name}_not("));
        fails(&source, "script_syntax", &[&format!("has no `fn {name}(")]);
    }
    fails(&with("fn expect(baseline, after)", "fn expect(after)"), "script_syntax", &["takes 2 parameters, not 1"]);
}

#[test]
fn a_header_is_checked() {
    for (from, to, words) in [
        ("name: \"blanks\"", "name: \"other\"", "its name is `other`"),
        ("glob: \"**/*.md\"", "glob: \"../x\"", "glob can't be used"),
        ("glob: \"**/*.md\"", "globs: \"**/*.md\"", "did you mean `glob`?"),
        ("version: \"1.0\"", "version: 1", "version"),
        ("params: #{ type: \"object\"", "params: #{ type: \"array\"", "do not describe an object"),
        ("work: \"lines_with_blanks\"", "work: \"lines_with_blank\"", "did you mean `lines_with_blanks`?"),
        ("counts: #{", "counts: #{ files_scanned: \"x\",", "the host gives the count `files_scanned` itself"),
        ("const ADAPTER = #{", "let ADAPTER = #{", "must be a constant"),
        ("fn stripped", "print(\"x\");\nfn stripped", "only literal constants and functions"),
        ("fn stripped", "import \"std/text\" as t;\nfn stripped", "imports nothing"),
    ] {
        fails(&with(from, to), "script_syntax", &[words]);
    }
}

#[test]
fn the_two_sides_share_no_function() {
    for call in ["stripped(text);", "let f = Fn(\"stripped\"); f.call(text);", "[text].map(|one| stripped(one));"] {
        let source = with("fn measure(input, path, text) {", &format!("fn measure(input, path, text) {{ {call}"));
        fails(&source, "script_syntax", &["`stripped` is reached from the proposing side and from the verifying side"]);
    }
    // A computed name finds no function of the other side.
    let source =
        with("fn measure(input, path, text) {", "fn measure(input, path, text) { Fn(\"strip\" + \"ped\").call(text);");
    fails(&source, "verification_failed", &["stripped"]);
}

#[test]
fn it_has_no_host() {
    for (call, words) in [
        ("nrv.files.read(\"/etc/passwd\");", "an adapter has no `nrv.files`"),
        ("nrv.exec.run(#{ program: \"id\" });", "an adapter has no `nrv.exec`"),
        ("let x = nrv; x.files.read(\"/etc/passwd\");", "files"),
        ("open(\"/etc/passwd\");", "the function `open` does not exist"),
        ("eval(\"1\");", "eval"),
        ("args.x;", "args"),
    ] {
        let source = with("fn propose(input, path, text) {", &format!("fn propose(input, path, text) {{ {call}"));
        fails(&source, "script_", &[words]);
        let source = with("fn measure(input, path, text) {", &format!("fn measure(input, path, text) {{ {call}"));
        fails(&source, "", &[]);
    }
    let source =
        with("fn propose(input, path, text) {", "fn propose(input, path, text) { import \"/etc/passwd\" as p;");
    fails(&source, "script_syntax", &[]);
}

#[test]
fn results_of_a_wrong_type_are_named() {
    fails(&with("    out\n}", "    7\n}"), "script_failed", &["`propose` of `dta/blanks.rhai` gives a string"]);
    fails(
        &with("    #{ lines_with_blanks: n }\n}\n\nfn stripped", "    n\n}\n\nfn stripped"),
        "script_failed",
        &["gives a map of counts"],
    );
    fails(
        &with("#{ lines_with_blanks: n }\n}\n\nfn stripped", "#{ lines_with_blanks: -1 }\n}\n\nfn stripped"),
        "script_failed",
        &["whole number"],
    );
    fails(&with("{ true } else", "{ 7 } else"), "verification_failed", &["`expect` of `dta/blanks.rhai` gives `true`"]);
    fails(
        &with(
            "#{ lines_with_blanks: n }\n}\n\nfn stripped",
            "#{ lines_with_blanks: n, files_scanned: 1 }\n}\n\nfn stripped",
        ),
        "script_failed",
        &["files_scanned"],
    );
}

#[test]
fn a_throw_names_the_place_and_the_file() {
    let source = with("let out = \"\";", "if path.ends_with(\"p1.md\") { throw \"not this one\"; } let out = \"\";");
    fails(&source, "script_failed", &["not this one", "docs/p1.md", "\"line\": 20"]);
}

#[test]
fn a_loop_ends_at_its_limit() {
    let policy = "[script.limits]\noperations = 100000\ncpu_s = 5\n";
    for function in ["propose", "measure"] {
        let head = format!("fn {function}(input, path, text) {{");
        let site = site_of(&with(&head, &format!("{head} loop {{ }}"))).policy(policy);
        let before = site.tree();
        let ran = apply(&site);
        let code = if function == "propose" { "script_limit" } else { "verification_failed" };
        assert!(ran.code != 0 && ran.stderr.contains(code) && ran.stderr.contains("operations"), "{ran:?}");
        assert!(site.tree() == before);
    }
}

#[test]
fn memory_without_end_ends_the_process_alone() {
    for function in ["propose", "measure"] {
        let head = format!("fn {function}(input, path, text) {{");
        let grow = format!("{head} let x = \"xxxxxxxxxxxxxxxx\"; loop {{ x += x; }}");
        let site = site_of(&with(&head, &grow)).policy("[script.limits]\nmemory = \"256MiB\"\n");
        let before = site.tree();
        let ran = apply(&site);
        let code = if function == "propose" { "script_crashed" } else { "verification_failed" };
        assert!(ran.code != 0 && ran.stderr.contains(code), "{ran:?}");
        assert!(site.tree() == before);
    }
}

#[test]
fn time_is_bounded() {
    let head = "fn propose(input, path, text) {";
    let site =
        site_of(&with(head, &format!("{head} loop {{ }}"))).policy("[script.limits]\noperations = 100000000000\n");
    let mut input = invocation("apply");
    input["constraints"]["timeout_ms"] = 300.into();
    let ran = run(&site, &input, &["--yes"]);
    assert!(ran.code == 6 && ran.stderr.contains("timeout_ms"), "{ran:?}");
}

#[test]
fn a_second_pass_must_be_empty() {
    fails(
        &with("    out\n}", "    out + \"x\"\n}"),
        "verification_failed",
        &["is not idempotent", "second_pass_empty"],
    );
}

#[test]
fn a_file_that_changes_without_work_in_it_is_named() {
    let more = with(
        "    out\n}",
        "    if path == \"docs/clean.md\" && out == \"clean\\n\" { out = \"cleaner\\n\"; }\n    out\n}",
    );
    fails(
        &more,
        "verification_failed",
        &["work_before_change: `docs/clean.md` it changes, and had no `lines_with_blanks` before"],
    );
}

#[test]
fn a_measure_that_lies_is_caught() {
    let lies = with("if line.ends_with(\" \") { n += 1; }", "");
    fails(&lies, "verification_failed", &["the baseline says 6 for `lines_with_blanks`, measured are 0"]);
    let silent = with(
        "    #{ lines_with_blanks: n }\n}\n\nfn expect(baseline, after) {",
        "    #{}\n}\n\nfn expect(baseline, after) { return true;",
    );
    fails(&silent, "verification_failed", &["no count in common"]);
}

#[test]
fn errors_of_the_verifying_side_have_their_place() {
    let head = "fn expect(baseline, after) {";
    fails(&with(head, &format!("{head} throw \"boo\";")), "verification_failed", &["`expect`: boo (dta/blanks.rhai:"]);
    let negative =
        with("    #{ lines_with_blanks: n }\n}\n\nfn expect(", "    #{ lines_with_blanks: -1 }\n}\n\nfn expect(");
    fails(&negative, "verification_failed", &["gives `-1` for the count", "a count is a whole number from 0"]);
}

#[test]
fn what_is_not_expected_is_undone_with_the_reason() {
    let partly = with("        out += stripped(line);", "        out += if i == 0 { stripped(line) } else { line };");
    fails(&partly, "verification_failed", &["3 lines still end with a blank"]);
}

#[test]
fn a_broken_one_leaves_other_commands_alone() {
    let site = site();
    site.script("dta/broken.rhai", "const ADAPTER = #{");
    apply(&site).exits(0);
    let listed = site.nrv(&["dta", "list", "--json"]).exits(0).json();
    let broken = listed.as_array().unwrap().iter().find(|row| row["name"] == "broken").unwrap();
    assert_eq!(broken["error"]["code"], "script_syntax");
    site.nrv(&["runs", "list"]).exits(0);
}

#[test]
fn a_check_shows_every_error_in_its_place() {
    let site = site();
    site.nrv(&["check", "dta/blanks.rhai"]).exits(0);
    site.script(
        "dta/blanks.rhai",
        &with(
            "fn measure(input, path, text) {",
            "fn measure(input, path, text) { stripped(text); nrv.files.glob(\"*\");",
        ),
    );
    let ran = site.nrv(&["check", "dta/blanks.rhai", "--json"]);
    assert_eq!(ran.code, 1);
    let errors = ran.json()["scripts"][0]["errors"].clone();
    let rules: Vec<&str> =
        errors.as_array().unwrap().iter().filter_map(|error| error["details"]["rule"].as_str()).collect();
    assert!(rules.contains(&"shared_function") && rules.contains(&"adapter_call"), "{errors}");
    site.script("dta/link_updater.rhai", BLANKS);
    let ran = site.nrv(&["check", "dta/link_updater.rhai"]);
    assert!(ran.code == 1 && ran.stderr.contains("its name is `blanks`"), "{ran:?}");
    assert!(ran.stderr.contains("`link_updater` is an adapter of nrv"), "{ran:?}");
}
