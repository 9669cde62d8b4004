//! Remedies that refusals name.

use super::*;

/// Refuses, with these ways out and none of the others.
#[track_caller]
fn check(files: Files<'_>, params: &Value, (glob, ways): (&str, &[&str])) {
    const WAYS: &[&str] = &[
        "by hand where a text",
        "choose another `params.to`",
        "language server",
        "name one of the things",
        "no parameter",
        "set `params.strings`",
        "widen `target.glob`",
        "write the new name by hand in each string",
    ];
    let error = ask(files, params, glob).unwrap_err();
    let hint = error.hint_text().unwrap();
    for way in WAYS {
        assert_eq!(hint.contains(way), ways.contains(way), "{way}: {hint} ({})", error.message());
    }
}

const PYTHON: (&str, &str) = ("p/m.py", "def old():\n    pass\n");

#[test]
fn the_hint_names_what_helps_at_the_places_in_doubt() {
    let two = "function f() { let old = 1; return old; }\nfunction g() { let old = 2; return old; }\n";
    check(&[("a.ts", two)], &json!({"to": "fresh"}), ("**/*", &["name one of the things"]));
    let taken = "let old = 1;\nlet fresh = 2;\nexport {};\n";
    check(&[("a.ts", taken)], &json!({"to": "fresh"}), ("**/*", &["choose another `params.to`"]));
    let files = [("a.ts", "export const old = 1;\n"), ("b.ts", "import { old } from './a';\nold;\n")];
    check(&files, &json!({"to": "fresh"}), ("a.ts", &["widen `target.glob`"]));
    let member = "class A { old() {} }\nnew A().old();\n";
    check(&[("a.ts", member)], &json!({"to": "fresh"}), ("**/*", &["language server"]));
}

#[test]
fn strings_are_named_only_if_each_of_them_looks_the_thing_up() {
    let patch = "from unittest.mock import patch\n\nwith patch('p.m.old'):\n    pass\n";
    let by_hand = "write the new name by hand in each string";
    check(&[PYTHON, ("t.py", patch)], &json!({}), ("**/*", &["set `params.strings`"]));
    for other in ["x = 'm.old'\n", "log('p.m.old')\n", "patch('q.old')\n"] {
        let test = format!("{patch}{other}");
        check(&[PYTHON, ("t.py", &test)], &json!({}), ("**/*", &[by_hand]));
    }
    check(&[PYTHON, ("t.py", "getattr(x.y, 'old')\n")], &json!({}), ("**/*", &[by_hand]));
}

#[test]
fn texts_that_nothing_parses_are_left_to_people() {
    let example = ("p/m.py", "def old():\n    \"\"\"Old.\n\n    >>> old()\n    \"\"\"\n");
    check(&[example], &json!({}), ("**/*", &["by hand where a text"]));
}
