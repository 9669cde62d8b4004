//! Tests of the checks of a source's calls of the host.

use crate::guest::inspect::inspect;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found: Vec<_> = inspect("a.rhai", text, true)
        .errors
        .iter()
        .map(|error| {
            let place = error.location().map_or((0, 0), |place| (place.line, place.column));
            format!("{}:{} {error} ({})", place.0, place.1, error.hint_text().unwrap_or_default())
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn calls_of_the_host_are_known() {
    check("nrv.files.read(\"a\").len; let d = nrv.dta(\"x\").describe(); nrv.run.seed + nrv.dtas()[0].x.y", &[]);
    check("fn f(x) { nrv.files.glob(x)[0].sub_string(1) } [1].map(|x| nrv.files.exists(`${x}`) && args.y)", &[]);
}

#[test]
fn unknown_calls_name_the_nearest() {
    check("let e = \"é\"; nrv.files.raed(\"x\");", &["1:24 `nrv.files.raed` does not exist (did you mean `read`?)"]);
    check("fn f() {\n  nrv.file.read(\"x\")\n}", &["2:7 `nrv.file` does not exist (did you mean `files`?)"]);
    check("nrv.dta(\"x\").propse(#{});", &["1:14 `nrv.dta(name).propse` does not exist (did you mean `propose`?)"]);
    check(
        "nrv.gate.zzzzzzzz();",
        &[
            "1:10 `nrv.gate.zzzzzzzz` does not exist (`nrv.gate` has confirm, evaluate_command, evaluate_edit, evaluate_tool_use, require)",
        ],
    );
}

#[test]
fn wrong_arity_shows_the_form() {
    check(
        "nrv.files.read();",
        &["1:11 `nrv.files.read` does not take 0 arguments (its form is `nrv.files.read(path)`)"],
    );
    check(
        "nrv.files.read;",
        &["1:11 `nrv.files.read` is a function and has to be called (write `nrv.files.read(path)`)"],
    );
    check(
        "nrv.llm.capabilities(); nrv.llm.capabilities(\"a\"); for e in nrv.llm.stream(#{}) {} nrv.llm.stream(#{}, |e| e);",
        &[],
    );
    check(
        "for e in nrv.llm.stream() {}",
        &["1:18 `nrv.llm.stream` does not take 0 arguments (its form is `nrv.llm.stream(request, callback?)`)"],
    );
    check("nrv.run.id();", &["1:9 `nrv.run.id` does not take 0 arguments (its form is `nrv.run.id`)"]);
}

#[test]
fn an_attempt_takes_a_closure_without_parameters() {
    let hint = "(write `nrv.attempt(|| { … })`)";
    let wrong = format!("1:5 the closure of `nrv.attempt` takes no parameters {hint}");
    check("nrv.attempt(|x| x);", &[&wrong]);
    check("nrv.attempt(|x| { let y = args.y; x + y });", &[&wrong]);
    let captures = format!("1:16 the closure of `nrv.attempt` takes no parameters {hint}");
    check("let n = 1; nrv.attempt(|x| n + x);", &[&captures]);
    let literal = format!("1:5 `nrv.attempt` takes a closure {hint}");
    check("nrv.attempt(\"x\");", &[&literal]);
    check("nrv.attempt(#{});", &[&literal]);
    check(
        "let n = 1; nrv.attempt(|| n); nrv.attempt(|| 1).kept; fn f() { 1 } nrv.attempt(Fn(\"f\")); let g = || 2; nrv.attempt(g);",
        &[],
    );
}

#[test]
fn a_function_may_not_take_the_place_of_a_host_call() {
    let hint = "(choose another name, or another number of parameters)";
    check(
        "fn read(path) { path }\nfn read(a, b) { a }",
        &[&format!("1:4 the function `read` would be called in place of `nrv.files.read` {hint}")],
    );
    check(
        "1;\nfn propose (\n  input,\n) {\n  1 }",
        &[&format!("2:4 the function `propose` would be called in place of `nrv.dta(name).propose` {hint}")],
    );
}

#[test]
fn the_hosts_names_stay_its_own() {
    let hint = "(choose another name: a reader must be able to rely on it)";
    for (text, place, name) in [
        ("let nrv = 1;", "1:5", "nrv"),
        ("const args = 1;", "1:7", "args"),
        ("for args in [1] {}", "1:5", "args"),
        ("for (x, nrv) in [1] {}", "1:9", "nrv"),
        ("try { 1; } catch (nrv) {}", "1:19", "nrv"),
        ("import \"x\" as nrv;", "1:15", "nrv"),
        ("fn f(a, nrv) { 1 }", "1:9", "nrv"),
        ("let f = |a, args| a;", "1:13", "args"),
        ("let f = || { nrv = 1 };", "1:14", "nrv"),
        ("args.x = 1;", "1:1", "args"),
        ("args[\"x\"].y += 1;", "1:1", "args"),
    ] {
        check(text, &[&format!("{place} `{name}` is the host's name and can't be redefined {hint}")]);
    }
    check("let f = |a| args[a] + nrv.run.seed; let g = || { let n = 1; || n + args.x };", &[]);
}

#[test]
fn what_ends_one_function_ends_no_other() {
    let text = "fn a() { throw 1 } fn b() { let x = 2; x } fn c() { return 3; 4 } [|| throw 5, |x| b() + x]";
    let warnings = inspect("a.rhai", text, true).warnings;
    let places: Vec<_> = warnings.iter().filter_map(|warning| warning.location().map(|place| place.column)).collect();
    assert_eq!(places, [63], "{warnings:?}");
}

#[test]
fn a_commitment_may_start_a_program() {
    for text in ["nrv.commit(args.what)", "nrv.apply.plan(args.plan, \"write\")"] {
        let uses = inspect("a.rhai", text, true).uses;
        assert!(uses.iter().any(|one| one.permission == "exec" && one.possible), "{text}: {uses:?}");
    }
}

#[test]
fn functions_of_other_languages_have_their_form() {
    for (text, hint) in [
        ("let n = [1].length();", "(write `value.len()`)"),
        ("[1].forEach(|x| x);", "(write `for item in array { … }`)"),
        ("println(1);", "(write `print(value)`)"),
        ("let t = \"a\".replaceAll(\"a\", \"b\");", "(write `nrv.text.replace_all(text, regex, with)`)"),
        ("let t = [\"a\"].join(\",\");", "(the host has it: write `nrv.text.join(items, separator)`)"),
        ("let t = \"a\".lines();", "(the host has it: write `nrv.text.lines(text)`)"),
        ("let t = lines(\"a\");", "(the host has it: write `nrv.text.lines(text)`)"),
    ] {
        let found = inspect("a.rhai", text, true).errors;
        assert!(
            found.iter().any(|error| format!("({})", error.hint_text().unwrap_or_default()) == hint),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn an_escape_between_backticks_is_told_unless_it_is_a_regular_expression() {
    let told = |text: &str| {
        let warnings = inspect("a.rhai", text, true).warnings;
        let told = warnings.iter().filter(|warning| warning.details()["rule"] == "raw_escape");
        told.map(|warning| warning.location().map_or(0, |place| place.column)).collect::<Vec<_>>()
    };
    for (text, columns) in [
        ("print(`a\\nb`);", &[7][..]),
        ("print(`${1}\\t${2}\\n`);", &[7]),
        ("let a = `x\\n` + \"y\\n\";", &[9]),
        ("let a = #{ text: `x\\n` };", &[18]),
        ("nrv.text.split(\"a\", `\\n`);", &[]),
        ("nrv.text.split(`a\\n`, `\\n`);", &[16]),
        ("let a = #{ pattern: `x\\n`, regex: `\\t` };", &[]),
        ("let a = `\\d+\\n`;", &[]),
        ("let a = \"x\\n\"; let b = `x`; let c = `\n`;", &[]),
    ] {
        assert_eq!(told(text), columns, "{text}");
    }
}
