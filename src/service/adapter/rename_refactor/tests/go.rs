//! Names of Go: what files of a package share, and what uses a name without having it.

use super::{evidence::at, *};

/// Renames `old` to `fresh` at the place after `§` of the first file, everywhere.
#[track_caller]
fn renamed(files: Files<'_>) {
    let after: Vec<(&str, String)> = files.iter().map(|(path, text)| (*path, text.replace("‹old›", "fresh"))).collect();
    let changed: Vec<(&str, &str)> = after
        .iter()
        .zip(files)
        .filter(|(_, (_, text))| text.contains("‹old›"))
        .map(|((path, text), _)| (*path, text.as_str()))
        .collect();
    at_sign(files, Ok(&changed));
}

#[track_caller]
fn refused(files: Files<'_>, reason: &str) {
    at_sign(files, Err(reason));
}

#[track_caller]
fn at_sign(files: Files<'_>, expected: Result<&[(&str, &str)], &str>) {
    let before: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (*path, text.replace(['§', '‹', '›'], ""))).collect();
    let before: Vec<(&str, &str)> = before.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let above = files[0].1.split('§').next().unwrap().replace(['‹', '›'], "");
    let line = above.rsplit('\n').next().unwrap();
    let place = (files[0].0, 1 + above.matches('\n').count() as u64, 1 + line.chars().count() as u64);
    let expected: Result<Vec<(&str, String)>, &str> =
        expected.map(|changed| changed.iter().map(|(path, text)| (*path, text.replace('§', ""))).collect());
    match expected {
        Ok(changed) => {
            let changed: Vec<(&str, &str)> = changed.iter().map(|(path, text)| (*path, text.as_str())).collect();
            at(&before, place, Ok(&changed));
        }
        Err(reason) => at(&before, place, Err(reason)),
    }
}

/// Refuses an exported function `Old` of a package `num` under another name.
#[track_caller]
fn refused_export((from, to): (&str, &str), others: Files<'_>, reason: &str) {
    let home = format!("package num\n\nfunc {from}() {{}}\n");
    let files = [&[("go.mod", "module m\n"), ("num/num.go", home.as_str())], others].concat();
    let params = json!({"from": from, "to": to, "scope": {"path": "num/num.go", "line": 3, "column": 6}});
    let error = ask(&files, &params, "**/*").unwrap_err();
    assert!(error.message().contains(reason), "{}", error.message());
}

const HOME: (&str, &str) = ("a.go", "package a\n\nfunc §old() int { return 1 }\n");

#[test]
fn a_name_of_a_package_has_one_meaning_in_all_its_files() {
    let reason = "means another thing in a file of its package";
    for text in [
        "package a\n\nimport \"fresh\"\n\nvar x = fresh.X()\n",
        "package a\n\nimport \"k/go-pack\"\n\nvar x = fresh.X()\n",
        "package a\n\nimport fresh \"strings\"\n\nvar x = fresh.X()\n",
        "package a\n\nimport . \"strings\"\n\nvar x = fresh()\n",
        "package a\n\ntype fresh int\n",
    ] {
        refused(&[HOME, ("b.go", text)], reason);
    }
    for text in [
        "package a\n\nfunc f(fresh int) int { return x.fresh + fresh }\n",
        "package a_test\n\nfunc fresh() {}\n",
        "package a\n\nimport \"strings\"\n\nvar x = strings.fresh\n",
    ] {
        let home = ("a.go", "package a\n\nfunc §‹old›() int { return 1 }\n");
        renamed(&[home, ("b_test.go", text)]);
    }
}

#[test]
fn imports_of_everything_may_bring_a_second_thing() {
    let star = ("main.go", "package main\n\nimport . \"m/num\"\n\nfunc f() { Other() }\n");
    let other = ("b.go", "package main\n\nfunc New() {}\n");
    refused_export(("old", "New"), &[star, other], "means another thing in a file of its package");
    let two = ("main.go", "package main\n\nimport . \"m/num\"\nimport . \"math\"\n\nfunc f() { Other() }\n");
    refused_export(("Old", "New"), &[two], "takes everything of a package");
    let own = ("num/b.go", "package num\n\nimport . \"math\"\n\nvar x = Sin(1)\n");
    refused_export(("old", "Pi"), &[own], "takes everything of a package");
    let user = ("main.go", "package main\n\nimport . \"m/num\"\n\nfunc f() { Old() }\n");
    refused_export(("Old", "hidden"), &[user], "which can't see the new name");
}

#[test]
fn a_return_without_values_uses_the_results() {
    let text = |name: &str, body: &str| format!("package a\n\nfunc f(x int) ({name} int) {{\n{body}\n\treturn 1\n}}\n");
    for body in [
        "if §old := x; old > 1 { return }",
        "for §old := range y { return }",
        "switch §old := x.(type) { case int: return }",
    ] {
        refused(&[("a.go", &text("fresh", body))], "in use in the same scope");
    }
    refused(&[("a.go", &text("§old", "if fresh := x; fresh > 1 { return }"))], "in use in the same scope");
    for body in ["if §‹old› := x; ‹old› > 1 { return 2 }", "go func() { §‹old› := 1; g(‹old›); return }()"]
    {
        renamed(&[("a.go", &text("fresh", body))]);
    }
}

#[test]
fn bindings_are_seen_from_their_declarations_on() {
    for body in [
        "x := ‹old›; fresh := x; g(fresh)",
        "if fresh := 3; fresh > 2 { g(fresh) }; g(‹old›)",
        "func() { fresh := 1; g(fresh) }(); g(‹old›)",
    ] {
        renamed(&[("a.go", &format!("package a\n\nconst §‹old› = 1\n\nfunc f() {{ {body} }}\n"))]);
    }
    for body in [
        "fresh := 1; g(old, fresh)",
        "if fresh := 3; fresh > 2 { g(old) }",
        "const ( a = old + iota; fresh; b )",
        "g(func(fresh int) int { return old })",
        "g(fresh); g(old)",
    ] {
        refused(
            &[("a.go", &format!("package a\n\nconst §old = 1\n\nfunc f() {{ {body} }}\n"))],
            "in use in the same scope",
        );
    }
    let method = "package a\n\ntype §‹old› int\n\ntype B[T any] struct{ v T }\n\nfunc (b *B[fresh]) M(x fresh) {}\nfunc (b B[old]) N(x old) {}\n";
    renamed(&[("a.go", method)]);
}

#[test]
fn keys_of_structures_of_other_files_are_fields() {
    let home = ("a.go", "package a\n\nvar §‹old› = 1\n\ntype m map[int]int\n");
    let user = ("b.go", "package a\n\nvar x = s{old: ‹old›}\n");
    renamed(&[home, user, ("c.go", "package a\n\ntype s struct{ old int }\n")]);
    let home = ("a.go", "package a\n\nvar §old = 1\n\ntype m map[int]int\n");
    for value in ["m{old: 1}", "gone{old: 1}", "m{fresh: 1}"] {
        let user = format!("package a\n\nvar x = {value}\n");
        refused(&[home, ("b.go", &user)], "the key of a literal");
    }
}

#[test]
fn texts_of_go_name_things_for_code_that_reads_names() {
    let home = ("a.go", "package a\n\ntype §old int\n");
    for text in ["\"old.Call\"", "\"main.old\"", "`old`"] {
        for word in ["import \"net/rpc\"", "import \"encoding/gob\"", "import \"reflect\"\n\nvar y = reflect.X"] {
            let user = format!("package a\n\n{word}\n\nvar x = {text}\n");
            refused(&[home, ("b.go", &user)], "a string or key is the name");
        }
        let plain = ("a.go", "package a\n\ntype §‹old› int\n");
        renamed(&[plain, ("b.go", &format!("package a\n\nvar x = {text}\n"))]);
    }
    let reader = "package a\n\nvar x = Trim(runtime.FuncForPC(p).Name(), \"m/a.ol\")\n";
    refused(&[HOME, ("b.go", reader)], "the beginning of its name");
    let other = reader.replace("m/a.", "m/b.");
    renamed(&[("a.go", "package a\n\nfunc §‹old›() {}\n"), ("b.go", &other)]);
    refused(&[HOME, ("a_amd64.s", "TEXT ·old(SB), 4, $0\n\tRET\n")], "not read");
    let embedded = ("a.go", "package a\n\n//go:embed old.txt\nvar §‹old› string\n");
    renamed(&[embedded]);
    refused(&[("old/a.go", "package §old\n")], "the name of a package");
}
