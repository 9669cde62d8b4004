//! Ways to a thing that no name in code tells: modules as values, computed names, global objects, files beside, runners and macros.

use super::{
    evidence::{DEF, FRESH, at},
    *,
};

/// Each case is a set of files, in which the thing at the top of the first is renamed.
#[track_caller]
fn refused(column: u64, cases: &[(Files<'_>, &str)]) {
    for (files, reason) in cases {
        at(files, (files[0].0, 1, column), Err(reason));
    }
}

/// Refuses another new name for a thing.
#[track_caller]
fn refused_as(files: Files<'_>, (from, to): (&str, &str), place: (&str, u64, u64), reason: &str) {
    let params = json!({"from": from, "to": to, "scope": {"path": place.0, "line": place.1, "column": place.2}});
    let error = ask(files, &params, "**/*").unwrap_err();
    assert!(error.message().contains(reason), "{}", error.message());
}

#[test]
fn modules_that_scripts_pass_on_have_the_thing_as_a_member() {
    let home = ("m.mjs", "export function old() {}\n");
    let of = |text: &str| format!("import * as m from './m.mjs';\n{text}");
    let user = ("u.mjs", "import { x } from './v.mjs';\nx.old();\n");
    let reason = "may be a member of a module";
    for value in [
        "export const x = { ...m };\n",
        "export const x = m;\n",
        "export { m as x };\n",
        "const y = m;\nexport let x = [y][0];\n",
    ] {
        at(&[home, ("v.mjs", &of(value)), user], ("m.mjs", 1, 17), Err(reason));
    }
    let whole = ("u.mjs", "import x from './v.mjs';\nx.old();\n");
    at(&[home, ("v.mjs", &of("export default m;\n")), whole], ("m.mjs", 1, 17), Err(reason));
    for load in ["() => import('./m.mjs')", "import('./m.mjs').then((m) => m)", "await import('./m.mjs')"] {
        let value = format!("export const x = {load};\n");
        at(&[home, ("v.mjs", &value), user], ("m.mjs", 1, 17), Err(reason));
    }
    // Here the module stays in its file.
    let fresh = ("m.mjs", "export function fresh() {}\n");
    let other = ("u.mjs", "x.old();\n");
    for value in ["(m).old();\n", "m.old();\n", "m!.old();\n"] {
        let path = if value.contains('!') { "v.ts" } else { "v.mjs" };
        let (text, renamed) = (of(value), of(&value.replace("old", "fresh")));
        at(&[home, (path, &text), other], ("m.mjs", 1, 17), Ok(&[fresh, (path, &renamed)]));
    }
    for value in ["m['other']();\n", "f('./m.mjs');\n", "g(x.split('.'));\n"] {
        at(&[home, ("v.mjs", &of(value)), other], ("m.mjs", 1, 17), Ok(&[fresh]));
    }
}

#[test]
fn names_that_scripts_compute_may_be_any() {
    let home = ("m.mjs", "export function old() {}\n");
    for used in ["m[k]()", "Object.keys(m)", "for (const k in m) f(k)"] {
        let text = format!("import * as m from './m.mjs';\n{used};\n");
        at(&[home, ("u.mjs", &text)], ("m.mjs", 1, 17), Err("computes names"));
    }
    for used in ["import { \"old\" as x } from './m.mjs'", "import * as m from './m.mjs'; m[`old`]()"] {
        at(&[home, ("u.mjs", &format!("{used};\n"))], ("m.mjs", 1, 17), Err("a text names a member"));
    }
    let typed = ("u.ts", "type F = (typeof import('./m'))['old'];\n");
    refused(17, &[(&[("m.ts", "export function old() {}\n"), typed], "a string names it")]);
}

#[test]
fn the_global_object_has_what_scripts_declare() {
    let home = ("a.js", "function old() {}\n");
    for used in ["globalThis.old()", "window.old()", "this.old()", "self.old"] {
        at(&[home, ("b.js", &format!("{used};\n"))], ("a.js", 1, 10), Err("the global object"));
    }
    at(&[home, ("b.js", "f('<a onclick=\"old()\">');\n")], ("a.js", 1, 10), Err("code that calls it"));
    let types = ("b.ts", "declare global { interface old { b: 1 } }\nexport {};\n");
    refused(11, &[(&[("a.d.ts", "interface old { a: 1 }\n"), types], "more than once")]);
}

#[test]
fn files_beside_a_script_may_stand_for_it() {
    for (twin, text) in [
        ("m.d.ts", "export function old(): void;\n"),
        ("m.js", "export function old() {}\n"),
        ("m.d.mts", "export function old(): void;\n"),
    ] {
        at(&[("m.ts", "export function old() {}\n"), (twin, text)], ("m.ts", 1, 17), Err("has it too"));
    }
}

#[test]
fn declarations_of_one_function_have_their_parameters_in_common() {
    for (text, line, column) in [
        ("if x:\n    def f(old): ...\nelse:\n    def f(old): ...\nf(old=1)\n", 4, 11),
        ("class A:\n    def __new__(cls, old): ...\n    def __init__(self, old): ...\nA(old=1)\n", 3, 24),
        ("@overload\ndef f(old: int): ...\ndef f(old): ...\nf(old=1)\n", 3, 7),
        ("def f(**k): ...\ndef f(old): ...\n", 2, 7),
    ] {
        at(&[("a.py", text)], ("a.py", line, column), Err("another declaration of its function"));
    }
    for (text, column) in [
        ("g = lambda a, old: a\ng(1, old=2)\n", 15),
        ("def f(old): ...\nfrom a import g\nfrom b import g\ng(old=1)\n", 7),
        ("def f(old): ...\nclass B(C, old=3): ...\n", 7),
    ] {
        at(&[("m.py", text)], ("m.py", 1, column), Err("it may name the parameter"));
    }
    let before = [("m.py", "def f(old, /, **k): ...\nf(1, old=2)\n")];
    at(&before, ("m.py", 1, 7), Ok(&[("m.py", "def f(new, /, **k): ...\nf(1, old=2)\n")]));
    let inspects = "import inspect\ndef f(old): ...\ng(f)\nh = inspect.signature(x)\n";
    at(&[("m.py", inspects)], ("m.py", 2, 7), Err("looks up the parameters"));
}

#[test]
fn imports_of_everything_decide_by_the_new_name() {
    for (body, to, reason) in [
        ("", "_new", "begin with `_`"),
        ("max(1)", "max", "another thing there"),
        ("from q import new", "new", "another thing there"),
    ] {
        let text = format!("from p.m import *\n{body}\n");
        refused_as(&[DEF, ("u.py", &text)], ("old", to), ("p/m.py", 1, 5), reason);
    }
    at(&[DEF, ("u.py", "from p.m import *\nx.new\n")], ("p/m.py", 1, 5), Ok(&[FRESH]));
}

#[test]
fn modules_of_python_are_reached_through_packages_and_loaders() {
    let package = ("p/__init__.py", "");
    let loader = "import importlib\nx = importlib.import_module(n)\nl('p.m')\n";
    let passed = "passed on as a value";
    let doctest = "def g():\n    \"\"\"\n    >>> old()\n    \"\"\"\n";
    refused(
        5,
        &[
            (&[DEF, package, ("u.py", "import p.m\nq = p\nq.m.old()\n")], passed),
            (&[DEF, package, ("l.py", loader), ("u.py", "y.old()\n")], passed),
            (&[DEF, ("p/__init__.py", "m = 1\n"), ("u.py", "import p\np.m.old()\n")], "binds the name of the module"),
            (&[DEF, package, ("d.py", doctest)], "an example in a comment"),
        ],
    );
}

#[test]
fn test_runners_find_names_by_their_beginnings() {
    for (path, text, to) in [
        ("test_a.py", "def test_it(): ...\n", "check_it"),
        ("test_a.py", "def check_it(): ...\n", "test_it"),
        ("conftest.py", "def pytest_configure(): ...\n", "setup_it"),
    ] {
        let from = &text[4..text.find('(').unwrap()];
        refused_as(&[(path, text)], (from, to), (path, 1, 5), "a test runner");
    }
}

#[test]
fn rust_names_are_captured_linked_and_passed_to_macros() {
    let home = ("src/m.rs", "pub fn old() {}\n");
    let glob = "mod m;\nuse m::*;\nfn f() { info!(\"{old }\"); }\n";
    let nested = "mod m;\nmacro_rules! c { ($x:ident) => { m::$x() } }\nfn f() { println!(\"{}\", c!(old)); }\n";
    let user = |text| [home, ("src/main.rs", text)];
    refused(8, &[(&user(glob), "a format string may capture"), (&user(nested), "stands in a macro")]);
    at(&[("a.rs", "#[no_mangle]\npub fn old() {}\n")], ("a.rs", 2, 8), Err("linked with it"));
    at(&[("a.rs", "fn f() { let old = 1; info!(\"{old }\"); }\n")], ("a.rs", 1, 14), Err("may capture"));
    let local = [("a.rs", "fn f() { let old = 1; g(old); }\n")];
    refused_as(&local, ("old", "None"), ("a.rs", 1, 14), "would be compared");
    let program =
        ("Cargo.toml", "[package]\nname = \"k\"\nedition = \"2021\"\n[[bin]]\nname = \"t\"\npath = \"src/t.rs\"\n");
    let text = "fn old() {}\nfn main() { crate::old(); }\n";
    let files = [("src/lib.rs", "pub fn old() {}\n"), program, ("src/t.rs", text)];
    at(&files, ("src/lib.rs", 1, 8), Ok(&[("src/lib.rs", "pub fn new() {}\n")]));
}

#[test]
fn packages_of_go_may_be_called_otherwise_than_their_folders() {
    for (folder, package) in [("go-util", "util"), ("util/v3", "util"), ("util.go", "util")] {
        let home = [format!("{folder}/u.go"), format!("package {package}\n\nfunc Old() {{}}\n")];
        let user = format!("package m\n\nimport \"m/{folder}\"\n\nfunc f() {{ {package}.Old() }}\n");
        let params = json!({"from": "Old", "to": "New", "scope": {"path": home[0], "line": 3, "column": 6}});
        let (renamed, used) = (home[1].replace("Old", "New"), user.replace("Old", "New"));
        let expected = [("a.go", Some(used.as_str())), (home[0].as_str(), Some(renamed.as_str()))];
        check(&[("go.mod", "module m\n"), (&home[0], &home[1]), ("a.go", &user)], &params, &expected);
    }
}
