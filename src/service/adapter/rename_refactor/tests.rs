//! Tests of the whole adapter on files in memory: what it renames, what it refuses, and what its verifier finds.

#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod affected;
mod evidence;
mod go;
mod outside;
mod reached;
mod remedies;
mod rust;
mod scripts;

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use serde_json::{Value, json};

use super::*;
use crate::{evidence::Images, jsonl, parse, verify};
use base::{
    change::{Change, ChangeSet, Content},
    error::Code,
    path::RepoPath,
};
use system::workspace::{Overlay, View, Workspace};

type Files<'f> = &'f [(&'f str, &'f str)];

fn input(params: &Value, glob: &str) -> Value {
    let mut all = json!({"from": "old", "to": "new"});
    for (key, value) in params.as_object().unwrap() {
        all[key] = value.clone();
    }
    json!({
        "tool": "rename_refactor", "version": "1.0", "mode": "dry-run", "params": all,
        "target": {"repo_path": ".", "glob": glob},
        "constraints": {"max_files": 100, "timeout_ms": 60_000, "seed": 0},
    })
}

fn in_empty<R>(work: impl FnOnce(&Context<'_>) -> R) -> R {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, overlay) = (Workspace::open(folder.path()).unwrap(), Overlay::default());
    let cancel = AtomicBool::new(false);
    let view = View::new(&workspace, &overlay);
    work(&Context::of_tree(view, 2, &cancel))
}

fn ask(files: Files<'_>, params: &Value, glob: &str) -> Result<jsonl::Answer, Error> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let request = jsonl::Request { id: json!(1), input: input(params, glob), files };
    in_empty(|ctx| jsonl::answer(&RenameRefactor, ctx, &request))
}

/// Renames, and compares the changed files.
#[track_caller]
fn check(files: Files<'_>, params: &Value, expected: &[(&str, Option<&str>)]) -> jsonl::Answer {
    let answer = ask(files, params, "**/*").unwrap();
    assert!(answer.output.verifier.passed, "{:#?}", answer.output.verifier);
    let expected: BTreeMap<String, Option<String>> =
        expected.iter().map(|(path, text)| ((*path).to_owned(), text.map(str::to_owned))).collect();
    assert_eq!(answer.files, expected);
    answer
}

/// Refuses, with a finding of that kind.
#[track_caller]
fn refused(files: Files<'_>, params: &Value, kind: &str) {
    let error = ask(files, params, "**/*").unwrap_err();
    assert_eq!(error.code(), Code::VerificationFailed, "{error:?}");
    let findings = error.details()["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["kind"] == kind), "{findings:#?}");
}

#[test]
fn a_name_is_followed_through_files_that_do_not_hold_it() {
    for star in ["export * from './a';\n", "export type * from './a';\n", "export/* all */*from './a';\n"] {
        let files = [
            ("a.ts", "export interface old {}\n"),
            ("b.ts", "import { old } from './index';\nlet x: old;\n"),
            ("index.ts", star),
            ("other.ts", "export const x = 1;\n"),
        ];
        let expected = [
            ("a.ts", Some("export interface fresh {}\n")),
            ("b.ts", Some("import { fresh } from './index';\nlet x: fresh;\n")),
        ];
        check(&files, &json!({"to": "fresh"}), &expected);
    }
}

#[test]
fn the_only_thing_of_a_name_is_renamed_in_all_files() {
    let files = [
        ("a.ts", "export function old() {} // old\n"),
        ("b.ts", "import { old } from './a';\nold('old');\n"),
        ("c.ts", "const x = 1;\n"),
    ];
    let expected = [
        ("a.ts", Some("export function renamed() {} // old\n")),
        ("b.ts", Some("import { renamed } from './a';\nrenamed('old');\n")),
    ];
    let answer = check(&files, &json!({"to": "renamed"}), &expected);
    let baseline = &answer.output.baseline;
    assert_eq!((baseline["files_scanned"], baseline["occurrences_total"]), (3, 5));
    assert_eq!((baseline["occurrences_to_rename"], baseline["occurrences_comments"]), (3, 1));
}

#[test]
fn strings_comments_and_files_are_renamed_when_asked() {
    let files = [("src/old.ts", "export const old = 'old'; // old\n"), ("src/b.ts", "import { old } from './old';\n")];
    let to = |more: &Value| {
        let mut params = json!({"to": "renamed"});
        more.as_object().unwrap().iter().for_each(|(key, value)| params[key] = value.clone());
        params
    };
    let answer = check(
        &files,
        &to(&json!({"strings": true, "comments": true, "files": true})),
        &[
            ("src/b.ts", Some("import { renamed } from './renamed';\n")),
            ("src/old.ts", None),
            ("src/renamed.ts", Some("export const renamed = 'renamed'; // renamed\n")),
        ],
    );
    let counts = &answer.output.proposed_changes;
    let n = |name: &str| counts[name];
    assert_eq!((n("renames"), n("renames_code"), n("renames_strings")), (6, 2, 2));
    assert_eq!((n("renames_comments"), n("renames_files"), n("rest_code")), (1, 1, 0));
    check(
        &files,
        &to(&json!({"files": true})),
        &[
            ("src/b.ts", Some("import { renamed } from './renamed';\n")),
            ("src/old.ts", None),
            ("src/renamed.ts", Some("export const renamed = 'old'; // old\n")),
        ],
    );
}

#[test]
fn a_class_of_java_takes_its_file_along() {
    let files = [
        ("p/Old.java", "package p; public class Old { Old() { } }\n"),
        ("p/B.java", "package p; class B { Old o; }\n"),
    ];
    let params = json!({"from": "Old", "to": "Fresh"});
    refused(&files, &params, "file");
    check(
        &files,
        &json!({"from": "Old", "to": "Fresh", "files": true}),
        &[
            ("p/B.java", Some("package p; class B { Fresh o; }\n")),
            ("p/Fresh.java", Some("package p; public class Fresh { Fresh() { } }\n")),
            ("p/Old.java", None),
        ],
    );
}

#[test]
fn a_place_chooses_one_of_several_things() {
    let files = [("a.py", "def f(old):\n    return old\n\ndef g():\n    old = 1\n    return old  # old\n")];
    refused(&files, &json!({"to": "fresh"}), "other_meaning");
    let at = |line: u64, column: u64| json!({"to": "fresh", "scope": {"path": "a.py", "line": line, "column": column}});
    let answer = check(
        &files,
        &at(5, 6),
        &[("a.py", Some("def f(old):\n    return old\n\ndef g():\n    fresh = 1\n    return fresh  # old\n"))],
    );
    assert_eq!(answer.output.proposed_changes["rest_code"], 2);
    assert_eq!(answer.output.proposed_changes["rest_comments"], 1);
    let error = ask(&files, &at(4, 1), "**/*").unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let mut kind = at(5, 6);
    kind["kind"] = json!("function");
    refused(&files, &kind, "other_meaning");
}

#[test]
fn a_second_pass_finds_nothing() {
    let files = [("a.rs", "fn fresh() {}\nfn f() { fresh(); }\n")];
    for params in [json!({"to": "fresh"}), json!({"to": "fresh", "scope": {"path": "a.rs", "line": 2, "column": 10}})] {
        let error = ask(&files, &params, "**/*").unwrap_err();
        assert_eq!(error.code(), Code::NoMatch);
        assert!(error.message().contains("`fresh` is declared in `a.rs`:1"), "{error:?}");
    }
    let error = ask(&files, &json!({"from": "fersh", "to": "new"}), "**/*").unwrap_err();
    assert_eq!((error.code(), error.hint_text()), (Code::NoMatch, Some("did you mean `fresh`? nothing was changed")));
}

#[test]
fn an_export_that_other_files_use_is_refused() {
    let files = [("src/a.ts", "export const old = 1;\n"), ("test/b.ts", "import { old } from '../src/a';\nold;\n")];
    let error = ask(&files, &json!({"to": "renamed"}), "src/**").unwrap_err();
    assert!(error.message().contains("outside of the files of the target"), "{error:?}");
    let lexical = ask(&files, &json!({"to": "renamed", "engine": "lexical"}), "src/**").unwrap_err();
    assert!(lexical.message().contains("outside of the files of the target"), "{lexical:?}");
}

#[test]
fn names_that_a_language_refuses_are_invalid_input() {
    for (path, text, to) in [
        ("a.ts", "const old = 1;\n", "class"),
        ("a.py", "old = 1\n", "lambda"),
        ("a.go", "package p\n\nvar old = 1\n", "func"),
        ("a.rs", "fn old() {}\n", "9"),
        ("a.c", "int old;\n", "int"),
    ] {
        let error = ask(&[(path, text)], &json!({"to": to}), "**/*").unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput, "{path}");
    }
    let same = ask(&[("a.ts", "old;\n")], &json!({"to": "old"}), "**/*").unwrap_err();
    assert_eq!(same.code(), Code::InvalidInput);
}

#[test]
fn languages_without_rules_are_renamed_by_tokens_alone() {
    let files = [("a.c", "int old(void) { return 1; }\nint f(void) { return old(); /* old */ }\n")];
    let expected = "int fresh(void) { return 1; }\nint f(void) { return fresh(); /* old */ }\n";
    check(&files, &json!({"to": "fresh"}), &[("a.c", Some(expected))]);
    let bash = [("a.sh", "old=1\necho \"$old ${old}\"\n")];
    check(&bash, &json!({"to": "fresh"}), &[("a.sh", Some("fresh=1\necho \"$fresh ${fresh}\"\n"))]);
    refused(&[("a.sh", "old=1\necho $old old\n")], &json!({"to": "fresh"}), "other_meaning");
    refused(
        &[("a.cs", "class A { int old; int F(A a) { return a.old; } }\n")],
        &json!({"to": "fresh"}),
        "other_meaning",
    );
    refused(&[("a.c", "int old; int fresh;\n")], &json!({"to": "fresh"}), "collision");
    refused(&[("a.c", "int old; int f(int old) { return old; }\n")], &json!({"to": "fresh"}), "other_meaning");
    refused(&[("a.rb", "def old; end\nx.old\n")], &json!({"to": "fresh"}), "other_meaning");
    refused(&[("a.c", "int f(void) { return old; }\n")], &json!({"to": "fresh"}), "unknown");
}

#[test]
fn the_comment_above_a_declaration_is_renamed_with_it() {
    let files = [("a.go", "package a\n\n// old does it.\nfunc old() {} // old\n")];
    let expected = "package a\n\n// fresh does it.\nfunc fresh() {} // old\n";
    check(&files, &json!({"to": "fresh", "comments": "documentation"}), &[("a.go", Some(expected))]);
}

/// Measures a proposal after it was altered.
fn altered(files: Files<'_>, alter: impl FnOnce(&mut Proposal)) -> Vec<String> {
    let input = parse(&RenameRefactor, &input(&json!({"to": "fresh"}), "**/*")).unwrap();
    in_empty(|ctx| {
        let mut overlay = Overlay::default();
        for (path, text) in files {
            let content = Content::new(text.as_bytes().to_vec(), 0o644);
            overlay.insert(RepoPath::parse(path).unwrap(), Some(content));
        }
        let ctx = Context { view: View::new(ctx.view.workspace(), &overlay), ..*ctx };
        let mut proposal = RenameRefactor.propose(&ctx, &input).unwrap();
        alter(&mut proposal);
        let (baseline, manifest) = (proposal.baseline_record(&input), proposal.manifest_record("rename_refactor"));
        let looks_at = RenameRefactor.looks_at(&input);
        let evidence = Evidence::new(looks_at, (&baseline, &manifest), Images::Proposed(&proposal.changes));
        let report = verify::judge(&ctx, &RenameRefactor, evidence).unwrap();
        report.verdict().failures.into_iter().map(|failure| failure.check).collect()
    })
}

/// Replaces the new text of the first file.
fn with_text(proposal: &mut Proposal, text: &str) {
    let Change { path, before, .. } = proposal.changes.changes()[0].clone();
    let after = Some(Content::new(text.as_bytes().to_vec(), 0o644));
    proposal.changes = ChangeSet::new(vec![Change { path, before, after }]).unwrap();
}

#[test]
fn the_verifier_finds_every_other_change() {
    const OLD: &str = "const old = 'old'; // old\nuse(old);\n";
    let files = [("a.js", OLD)];
    assert_eq!(altered(&files, |_| {}), Vec::<String>::new());
    for (text, check) in [
        // Another byte, a string, a comment, a place that was missed, and an error of syntax.
        ("const fresh = 'old'; // old\nuse(fresh) ;\n", "nothing_else_changed"),
        ("const fresh = 'fresh'; // old\nuse(fresh);\n", "ast_count"),
        ("const fresh = 'old'; // fresh\nuse(fresh);\n", "ast_count"),
        ("const fresh = 'old'; // old\nuse(old);\n", "ast_count"),
        ("const old: fresh = 'old'; // old\nuse(fresh);\n", "ast_count"),
        ("const freshly = 'old'; // old\nuse(fresh);\n", "nothing_else_changed"),
    ] {
        let failures = altered(&files, |proposal| with_text(proposal, text));
        assert!(failures.iter().any(|failure| failure == check), "{text}: {failures:?}");
    }
    for name in ["renames", "renames_code", "rest_strings", "files"] {
        let failures = altered(&files, |proposal| *proposal.counts.get_mut(name).unwrap() += 1);
        assert!(failures.iter().any(|failure| failure == "counts_match"), "{name}: {failures:?}");
    }
}

#[test]
fn types_of_python_that_are_texts_are_code() {
    let text = "import typing as t\n\nold = t.TypeVar(\"old\", bound=\"list[old]\")\n\n\n\
        def f(x: \"list[old]\", y: list[\"old | None\"]) -> \"old\":\n    return t.cast(\"old\", x)\n";
    let other = "from a import old\n\nx: \"old\" = 1\n";
    let inert = "import pytest\n\n\n@pytest.mark.parametrize(\"old\", [pytest.param(1, id=\"old\"), \"old:[1]\"])\n\
        def test_it(old):\n    pass\n";
    let own = "\"\"\"import a; a.old\"\"\"\nimport typing as t\n\nold = t.TypeVar(\"old\")\n";
    let files = [("a.py", text), ("b.py", other), ("own.py", own), ("test_a.py", inert)];
    let place = json!({"scope": {"path": "a.py", "line": 3, "column": 1}, "to": "fresh"});
    let expected = [("a.py", Some(&*text.replace("old", "fresh"))), ("b.py", Some(&*other.replace("old", "fresh")))];
    let answer = check(&files, &place, &expected);
    assert_eq!(answer.output.baseline["occurrences_to_rename_strings"], 7);
}

#[test]
fn strings_of_python_that_may_be_data_are_refused() {
    let place = json!({"scope": {"path": "a.py", "line": 1, "column": 5}});
    for text in [
        "def old(): pass\nx = cast(\"old\", 1)\n",
        "from sql import cast\nx = cast(\"old\", 1)\n",
        "x: Annotated[int, \"old\"]\n",
        "x: dict = vars(d)[\"old\"]\n",
        "x = d[\"old\"]\nadd(a.old)\n",
        "x = NewType(\"old\", int)\n",
        "getattr(m, \"o\" + k)\n",
        "k = f\"{x}ld\"\ngetattr(m, k)\n",
        "run(\"\"\"\nimport a\na.old()\n\"\"\")\n",
        "run('from a import old')\n",
        "assert repr(x) == \"<old 1>\"\n",
        "assert repr(x) == \"old(a=1)\"\n",
        "assert repr(x) == \"<class 'a.old'>\"\n",
    ] {
        refused(&[("a.py", "def old(): pass\n"), ("b.py", text)], &place, "unknown");
    }
}

#[test]
fn modules_of_python_are_reached_through_their_package() {
    let place = json!({"scope": {"path": "pkg/a.py", "line": 1, "column": 5}, "to": "fresh"});
    let own = "def old(): pass\n";
    for user in [
        "import pkg\n\npkg.a.old()\n",
        "import pkg.b\n\npkg.a.old()\n",
        "import pkg as p\n\np.a.old()\n",
        "def f():\n    import pkg.a as m\n\n    m.old()\n",
        "try:\n    from pkg import a\nexcept ImportError:\n    pass\na.old()\n",
    ] {
        let files = [("pkg/__init__.py", "from .a import old\n"), ("pkg/a.py", own), ("user.py", user)];
        let expected = [
            ("pkg/__init__.py", Some("from .a import fresh\n")),
            ("pkg/a.py", Some("def fresh(): pass\n")),
            ("user.py", Some(&*user.replace("old", "fresh"))),
        ];
        check(&files, &place, &expected);
    }
    let passed_on = "from .a import old as old\n";
    let files = [("pkg/__init__.py", passed_on), ("pkg/a.py", own), ("user.py", "import pkg\n\npkg.old()\n")];
    let expected = [
        ("pkg/__init__.py", Some("from .a import fresh as fresh\n")),
        ("pkg/a.py", Some("def fresh(): pass\n")),
        ("user.py", Some("import pkg\n\npkg.fresh()\n")),
    ];
    check(&files, &place, &expected);
    // A module under another name, and one whose name is a text.
    for user in
        ["import pkg\n\npkg.other.old()\n", "import importlib\n\nm = importlib.import_module('pkg.a')\nm.old()\n"]
    {
        let files = [("pkg/__init__.py", "from . import a as other\n"), ("pkg/a.py", own), ("user.py", user)];
        refused(&files, &place, "unknown");
    }
}
