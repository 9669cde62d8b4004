//! Places are left only with evidence that they mean another thing, however exactly the caller names the thing.

use super::*;

/// Renames the thing at a place, from `old` to `new`, which is `fresh` in Go and scripts: the files that change, or a part of the refusal.
#[track_caller]
pub(super) fn at(files: Files<'_>, place: (&str, u64, u64), expected: Result<&[(&str, &str)], &str>) {
    let is_script = [".go", ".js", ".mjs", ".ts"].iter().any(|ending| place.0.ends_with(ending));
    let to = if is_script { "fresh" } else { "new" };
    let params = json!({"to": to, "scope": {"path": place.0, "line": place.1, "column": place.2}});
    let answer = ask(files, &params, "**/*");
    match (answer, expected) {
        (Ok(answer), Ok(expected)) => {
            assert!(answer.output.verifier.passed, "{:#?}", answer.output.verifier);
            let expected: BTreeMap<String, Option<String>> =
                expected.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect();
            assert_eq!(answer.files, expected);
        }
        (Err(error), Err(part)) => assert!(error.message().contains(part), "{}", error.message()),
        (Ok(answer), Err(part)) => panic!("it was to be refused as `{part}`: {:#?}", answer.files),
        (Err(error), Ok(_)) => panic!("it was to be renamed: {}", error.message()),
    }
}

pub(super) const DEF: (&str, &str) = ("p/m.py", "def old():\n    pass\n");
pub(super) const FRESH: (&str, &str) = ("p/m.py", "def new():\n    pass\n");

#[test]
fn packages_pass_on_everything_of_their_modules() {
    let user = ("u.py", "from p import old\nold()\n");
    let renamed = ("u.py", "from p import new\nnew()\n");
    for star in ["from .m import *\n", "from p.m import *\n", "from .m  import  *\n"] {
        at(&[DEF, ("p/__init__.py", star), user], ("p/m.py", 1, 5), Ok(&[FRESH, renamed]));
    }
    let steps = [("p/__init__.py", "from .n import *\n"), ("p/n.py", "from .m import *\n")];
    at(&[DEF, steps[0], steps[1], user], ("p/m.py", 1, 5), Ok(&[FRESH, renamed]));
    let member = [("u.py", "import p\np.old()\n"), ("u.py", "import p\np.new()\n")];
    at(&[DEF, ("p/__init__.py", "from .m import *\n"), member[0]], ("p/m.py", 1, 5), Ok(&[FRESH, member[1]]));
}

#[test]
fn an_import_without_a_declaration_is_no_other_thing() {
    let user = ("u.py", "from p import old\nold()\n");
    for package in ["", "def __getattr__(name):\n    return 1\n", "from .gone import *\n"] {
        at(&[DEF, ("p/__init__.py", package), user], ("p/m.py", 1, 5), Err("is not certain"));
    }
    // Here it comes from elsewhere, is a module, or has a declaration of its own.
    for (path, text) in [("p/__init__.py", "from os import *\n"), ("p/old.py", ""), ("p/__init__.py", "old = 1\n")] {
        at(&[DEF, (path, text), ("p/__init__.py", text), user][..], ("p/m.py", 1, 5), Ok(&[FRESH]));
    }
    at(&[DEF, ("u.py", "from json import old\nold()\n")], ("p/m.py", 1, 5), Ok(&[FRESH]));
    at(&[DEF, ("q/u.py", "from .gone import old\nold()\n")], ("p/m.py", 1, 5), Err("is not certain"));
}

#[test]
fn crates_are_reached_by_their_names() {
    let manifest = ("Cargo.toml", "[package]\nname=\"a-k\"\nedition=\"2021\"\n");
    let library = [("src/m.rs", "pub fn old() {}\n"), ("src/lib.rs", "pub mod m;\n")];
    let fresh = ("src/m.rs", "pub fn new() {}\n");
    for path in ["tests/t.rs", "examples/e.rs", "benches/b.rs", "src/main.rs", "src/bin/c.rs"] {
        let user = (path, "use a_k::m::old;\nfn main() { old(); a_k::m::old(); }\n");
        let renamed = (path, "use a_k::m::new;\nfn main() { new(); a_k::m::new(); }\n");
        at(&[manifest, library[0], library[1], user], ("src/m.rs", 1, 8), Ok(&[fresh, renamed]));
    }
    let passed = ("src/lib.rs", "pub mod m;\npub use m::*;\n");
    let user =
        [("tests/t.rs", "use a_k::old;\nfn f() { old(); }\n"), ("tests/t.rs", "use a_k::new;\nfn f() { new(); }\n")];
    at(&[manifest, library[0], passed, user[0]], ("src/m.rs", 1, 8), Ok(&[fresh, user[1]]));
    let listed = ("src/lib.rs", "pub mod m;\npub use crate::m::{self, *};\n");
    at(&[manifest, library[0], listed, user[0]], ("src/m.rs", 1, 8), Ok(&[fresh, user[1]]));
    // A library that is called otherwise, and one of which the root is not certain.
    let other = (
        "x/Cargo.toml",
        "[package]\nname = \"x\"\nedition = \"2021\"\n[dependencies]\nkay = { path = \"..\", package = \"a-k\" }\n",
    );
    let user =
        [("x/src/main.rs", "fn main() { kay::m::old(); }\n"), ("x/src/main.rs", "fn main() { kay::m::new(); }\n")];
    at(&[manifest, library[0], library[1], other, user[0]], ("src/m.rs", 1, 8), Ok(&[fresh, user[1]]));
    let root = ("Cargo.toml", "[package]\nname = \"k\"\nedition = \"2021\"\n[lib]\npath = \"src/gone.rs\"\n");
    at(&[root, library[0], library[1], ("tests/t.rs", "use k::m::old;\n")], ("src/m.rs", 1, 8), Err("not certain"));
}

#[test]
fn modules_of_go_are_reached_by_their_names() {
    let root = ("go.mod", "module ex.com/m\n\nreplace ex.com/z => ./z\n");
    let nested = [("z/go.mod", "module ex.com/z\n"), ("z/p.go", "package z\n\nfunc Old() {}\n")];
    let user = ("b.go", "package m\n\nimport \"ex.com/z\"\n\nfunc X() { z.Old() }\n");
    let params = json!({"from": "Old", "to": "New", "scope": {"path": "z/p.go", "line": 3, "column": 6}});
    let expected = [
        ("b.go", Some("package m\n\nimport \"ex.com/z\"\n\nfunc X() { z.New() }\n")),
        ("z/p.go", Some("package z\n\nfunc New() {}\n")),
    ];
    check(&[root, nested[0], nested[1], user], &params, &expected);
    check(&[("go.work", "go 1.21\nuse ./z\n"), nested[0], nested[1], user], &params, &expected);
    // The path of the import is that of the folder which stands in its place.
    let fork = ("go.mod", "module ex.com/m\nreplace (\n\tex.com/z v1.2.3 => ./z // ours\n)\n");
    check(&[fork, ("z/go.mod", "module ex.com/fork\n"), nested[1], user], &params, &expected);
}

const VALUE: (&str, &str) = ("m.ts", "export const old = 1\n");

#[test]
fn modules_of_scripts_that_are_passed_on_as_values_are_doubt() {
    let refused = |files: Files<'_>| {
        let files = [&[VALUE], files].concat();
        let params = json!({"to": "fresh", "scope": {"path": "m.ts", "line": 1, "column": 14}});
        let error = ask(&files, &params, "**/*").map(|answer| answer.files).unwrap_err();
        assert_eq!(error.code(), Code::VerificationFailed, "{error:?}");
    };
    refused(&[
        ("index.ts", "export * as m from './m'\n"),
        ("u.ts", "import { m } from './index'\nconsole.log(m.old)\n"),
    ]);
    refused(&[("index.ts", "export * as m from './m'\n"), ("u.ts", "import { m } from './index'\nm['old']\n")]);
    refused(&[
        ("index.ts", "export { m } from './n'\n"),
        ("n.ts", "import * as m from './m'\nexport { m }\n"),
        ("u.ts", "import { m as n } from './index'\nconsole.log(n.old)\n"),
    ]);
    refused(&[("u.ts", "import m = require('./m')\nconsole.log(m.old)\n")]);
    refused(&[("u.ts", "import * as m from './m'\nconsole.log(m['old'])\n")]);
    refused(&[("u.ts", "export async function f() { const { old } = await import('./m'); return old }\n")]);
    refused(&[("u.ts", "export function f() { const { old } = require('./m'); return old }\n")]);
    refused(&[("u.ts", "for (const m of Object.values(import.meta.glob('./*.ts'))) console.log(m.old)\n")]);
    refused(&[("u.ts", "declare module './m' { const old: 1 }\n")]);
    refused(&[("u.ts", "import { old } from './gone'\nconsole.log(old)\n")]);
    refused(&[("u.ts", "import * as m from './m'\nexport function f() { const { old } = m; return old }\n")]);
    refused(&[("u.ts", "import * as m from './m'\nconst n = m\nconsole.log(n.old)\n")]);
    refused(&[("u.ts", "import { old } from '#db'\nconsole.log(old)\n")]);
    let config = ("tsconfig.json", "{\"compilerOptions\": {\"paths\": {\"@core\": [\"./m.ts\"]}}}");
    refused(&[config, ("u.ts", "import { old } from '@core'\nconsole.log(old)\n")]);
    refused(&[("u.ts", "import * as m from './m'\njest.spyOn(m, 'old')\n")]);
    refused(&[("u.ts", "import * as m from './m'\nrun(m)\n"), ("v.ts", "export const run = (x: any) => x.old\n")]);
    refused(&[("u.ejs", "<% import { old } from './m' %>\n")]);
}

#[test]
fn members_of_values_are_other_things() {
    let params = json!({"to": "fresh", "scope": {"path": "m.ts", "line": 1, "column": 14}});
    let user = "import { a } from './a'\nimport x from 'x'\nconsole.log(a.old, x.old, { old: 1 }.old, a['old'])\n";
    let files = [VALUE, ("a.ts", "export const a = { old: 1 }\n"), ("u.ts", user)];
    check(&files, &params, &[("m.ts", Some("export const fresh = 1\n"))]);
}

#[test]
fn files_that_nobody_parses_are_doubt() {
    let lib = ("lib.py", "def old(x):\n    return x\n");
    let fresh = ("lib.py", "def new(x):\n    return x\n");
    for (path, text) in [
        ("n.ipynb", "{\"cells\": [{\"source\": [\"from lib import old\\n\"]}]}"),
        ("ext.pyx", "from lib import old\n"),
        ("pyproject.toml", "[project.scripts]\nrun = \"lib:old\"\n"),
        ("setup.cfg", "console_scripts =\n    run = lib:old\n"),
        ("conf.yaml", "handler: lib.old\n"),
        ("Dockerfile", "CMD python -c 'from lib import old; old()'\n"),
    ] {
        at(&[lib, (path, text)], ("lib.py", 1, 5), Err(path));
    }
    // A large notebook is read, too.
    let large = format!("{}from lib import old", " ".repeat(5 << 20));
    at(&[lib, ("n.ipynb", &large)], ("lib.py", 1, 5), Err("n.ipynb"));
    // The word alone is mentioned.
    at(&[lib, ("notes.txt", "the old one, and glib.old\n")], ("lib.py", 1, 5), Ok(&[fresh]));
    let params = json!({"mentions": "list"});
    check(&[lib, ("conf.yaml", "handler: lib.old\n")], &params, &[("lib.py", Some(fresh.1))]);
}

#[test]
fn arguments_are_renamed_in_calls_of_their_function_alone() {
    let run = "import subprocess\n\n\ndef run(cmd, old):\n    subprocess.run(cmd, old=old)\n\n\nrun(1, old=2)\n";
    let renamed = "import subprocess\n\n\ndef run(cmd, new):\n    subprocess.run(cmd, old=new)\n\n\nrun(1, new=2)\n";
    at(&[("a.py", run)], ("a.py", 4, 14), Ok(&[("a.py", renamed)]));
    let f = "def f(old):\n    print(old, dict(old=old))\n";
    let fresh = "def f(new):\n    print(new, dict(old=new))\n";
    at(&[("a.py", f)], ("a.py", 1, 7), Ok(&[("a.py", fresh)]));
    // Other files call it by its own name, or by another one.
    for (user, renamed) in [
        ("from a import f\nf(old=1)\n", "from a import f\nf(new=1)\n"),
        ("from a import f as g\ng(old=1)\n", "from a import f as g\ng(new=1)\n"),
        ("import a\na.f(old=1)\n", "import a\na.f(new=1)\n"),
        ("import a as b\nb.f(old=1)\n", "import a as b\nb.f(new=1)\n"),
    ] {
        at(&[("a.py", f), ("u.py", user)], ("a.py", 1, 7), Ok(&[("a.py", fresh), ("u.py", renamed)]));
    }
    for user in [
        "from a import f\ng = f\ng(old=1)\n",
        "from a import f\nd = {'k': f}\nd['k'](old=1)\n",
        "from functools import partial\nfrom a import f\npartial(f, old=1)\n",
        "class C:\n    def f(self, old): pass\nc = C()\nc.f(old=1)\n",
        "from a import f\nf(**{'old': 1})\n",
        "import json\nfrom a import f\nf(**json.load(1))\n",
        "import a\ngetattr(a, 'f')(old=1)\n",
    ] {
        at(&[("a.py", f), ("u.py", user)], ("a.py", 1, 7), Err("u.py"));
    }
}

#[test]
fn arguments_of_members_are_doubt() {
    let one = "class C:\n    def f(self, old):\n        return old\n\n\ndef g(c):\n    return c.f(old=1)\n";
    at(&[("a.py", one)], ("a.py", 2, 17), Err("it may name the parameter"));
    for call in ["cls(old=1)", "type(self)(old=1)", "self.__class__(old=1)"] {
        let text = format!(
            "class C:\n    def __init__(self, old):\n        self.x = old\n\n    def g(self, cls):\n        return {call}\n"
        );
        at(&[("a.py", &text)], ("a.py", 2, 24), Err("it may name the parameter"));
    }
    let base = "class C:\n    def __init__(self, old):\n        self.x = old\n\n\nclass D(C):\n    def __init__(self):\n        super().__init__(old=1)\n";
    at(&[("a.py", base)], ("a.py", 2, 24), Err("it may name the parameter"));
}

#[test]
fn an_argument_and_a_key_are_no_variables() {
    let text = "old = 10\nfoo = dict(old=old)\nprint(foo['old'])\n";
    at(&[("a.py", text)], ("a.py", 1, 1), Ok(&[("a.py", "new = 10\nfoo = dict(old=new)\nprint(foo['old'])\n")]));
    for use_of in ["import a\nfoo.update(vars(a))\n", "exec(s, foo)\n", "foo = globals()\n", "foo = m.__dict__\n"] {
        at(&[("a.py", &format!("{text}{use_of}"))], ("a.py", 1, 1), Err("a string names it"));
    }
    at(&[("a.py", "old = 10\nprint(globals()['old'])\n")], ("a.py", 1, 1), Err("a string names it"));
    at(&[("a.py", "old = 10\n"), ("b.py", "import a\nvars(a)['old']\n")], ("a.py", 1, 1), Err("a string names it"));
}

#[test]
fn names_of_rust_in_attributes_and_examples_are_doubt() {
    let attribute = "struct C {\n    #[serde(default = \"old\")]\n    p: u16,\n}\nfn old() -> u16 { 80 }\n";
    at(&[("src/c.rs", attribute)], ("src/c.rs", 5, 4), Err("an attribute names it by a text"));
    let inner = "#![doc(test(attr(path = \"a::old\")))]\nfn old() {}\n";
    at(&[("src/c.rs", inner)], ("src/c.rs", 2, 4), Err("an attribute names it by a text"));
    let example = "/// ```\n/// k::old();\n/// ```\npub fn old() {}\n";
    at(&[("src/c.rs", example)], ("src/c.rs", 4, 8), Err("an example in a comment uses it"));
    let prose = "/// Does the old thing.\n///\n/// ```\n/// k::x();\n/// ```\npub fn old() {}\n";
    at(&[("src/c.rs", prose)], ("src/c.rs", 6, 8), Ok(&[("src/c.rs", &prose.replace("fn old", "fn new"))]));
}

#[test]
fn a_pattern_of_rust_gets_no_name_of_a_constant() {
    for item in ["const new: u32 = 1;", "struct new;", "use k::new;", "static new: u32 = 1;", "use crate::k::*;"] {
        let text = format!("{item}\nfn f() -> u32 {{ let old = 3; old }}\n");
        let place = ("src/c.rs", 2, text.lines().nth(1).unwrap().find("old").unwrap() as u64 + 1);
        at(
            &[("src/c.rs", &text), ("src/k.rs", "pub struct new;\n"), ("src/lib.rs", "mod c; mod k;\n")],
            place,
            Err("would mean another thing"),
        );
    }
    let text = "fn g() { let new = 1; drop(new); }\nfn f() -> u32 { let old = 3; old }\n";
    at(&[("src/c.rs", text)], ("src/c.rs", 2, 21), Ok(&[("src/c.rs", &text.replace("old", "new"))]));
}

#[test]
fn modules_of_python_that_are_values_are_doubt() {
    for user in ["PLUGINS = {'k': p.m}\n", "import p.m as m\nPLUGINS = [m]\n", "from p import m\nrun(m)\n"] {
        let user = format!("import p.m\n{user}\ndef g(x):\n    x.old()\n");
        at(&[DEF, ("p/__init__.py", ""), ("u.py", &user)], ("p/m.py", 1, 5), Err("passed on as a value"));
    }
    let user = "from p import m\nm.other(1)\n\ndef g(x):\n    x.old()\n";
    at(&[DEF, ("p/__init__.py", ""), ("u.py", user)], ("p/m.py", 1, 5), Ok(&[FRESH]));
    let twice = "try:\n    from fast import old\nexcept ImportError:\n    from p.m import old\n";
    let fast = ("fast.py", "def old():\n    pass\n");
    at(&[DEF, ("p/__init__.py", ""), fast, ("codec.py", twice)], ("p/m.py", 1, 5), Err("several ways"));
}

#[test]
fn modules_that_a_file_gives_another_name_are_followed() {
    let library =
        [("src/util.rs", "pub fn old() {}\n"), ("Cargo.toml", "[package]\nname = \"k\"\nedition = \"2021\"\n")];
    for root in [
        "mod util;\nuse crate::util as u;\nfn f() { u::old(); }\n",
        "mod util;\nmod prelude { pub use crate::util::old; }\nfn f() { prelude::old(); }\n",
        "mod util;\nuse crate::{util::{self as u}};\nfn f() { u::old(); }\n",
    ] {
        let renamed = root.replace("old", "new");
        let expected = [("src/lib.rs", renamed.as_str()), ("src/util.rs", "pub fn new() {}\n")];
        at(&[library[0], library[1], ("src/lib.rs", root)], ("src/util.rs", 1, 8), Ok(&expected));
    }
    let root = "mod util;\nmod user;\n";
    let user = "use crate::util;\nuse serde::old as other;\nfn f() { util::old(); serde::old(); other(); }\n";
    let known = ("Cargo.toml", "[package]\nname = \"k\"\nedition = \"2021\"\n[dependencies]\nserde = \"1\"\n");
    let renamed = user.replace("util::old", "util::new");
    let expected = [("src/user.rs", renamed.as_str()), ("src/util.rs", "pub fn new() {}\n")];
    at(&[library[0], known, ("src/lib.rs", root), ("src/user.rs", user)], ("src/util.rs", 1, 8), Ok(&expected));
}

#[test]
fn modules_of_python_are_looked_for_where_programs_look() {
    let json = ("app/json.py", "def old():\n    pass\n");
    at(&[json, ("main.py", "import json\njson.old()\n")], ("app/json.py", 1, 5), Err("not certain"));
    let user = "from p import reg\nreg.R.m.old()\n";
    at(&[DEF, ("p/__init__.py", ""), ("p/reg.py", ""), ("u.py", user)], ("p/m.py", 1, 5), Err("not certain"));
}

#[test]
fn keys_of_literals_of_go_are_told_by_their_types() {
    let text = |of: &str, value: &str, own: &str| {
        format!("package a\n\ntype T struct{{ old string }}\n\nfunc f({own} string) {of} {{ return {of}{value} }}\n")
    };
    for (of, before, after) in [
        ("[]T", "{{old: old}}", "{{old: fresh}}"),
        ("[]*T", "{{old: old}}", "{{old: fresh}}"),
        ("map[string]T", "{old: {old: old}}", "{fresh: {old: fresh}}"),
        ("[2]string", "{old: old}", "{fresh: fresh}"),
        ("struct{ old string }", "{old: old}", "{old: fresh}"),
    ] {
        let after = text(of, after, "fresh");
        at(&[("a.go", &text(of, before, "old"))], ("a.go", 5, 8), Ok(&[("a.go", &after)]));
    }
    at(&[("a.go", &text("[]U", "{{old: old}}", "old"))], ("a.go", 5, 8), Err("the key of a literal"));
}

#[test]
fn a_switch_of_go_reads_its_value_before_it_has_a_variable() {
    let text = "package a\n\nfunc f(v any) any {\n\tswitch old := old.(type) {\n\tcase int:\n\t\treturn old\n\t}\n\treturn 1\n}\n";
    let new = text.replacen("switch old", "switch fresh", 1).replace("return old", "return fresh");
    at(&[("a.go", text)], ("a.go", 4, 9), Ok(&[("a.go", &new)]));
}

#[test]
fn classes_of_python_read_the_names_around_them_first() {
    let text = "old = 1\n\n\nclass C:\n    old = old + 1\n    b = old\n";
    let new = "new = 1\n\n\nclass C:\n    old = new + 1\n    b = old\n";
    at(&[("a.py", text)], ("a.py", 1, 1), Ok(&[("a.py", new)]));
    for body in ["    if x:\n        old = 2\n    b = old\n", "    old += 1\n"] {
        at(&[("a.py", &format!("old = 1\n\n\nclass C:\n{body}"))], ("a.py", 1, 1), Err("may bind it, or read it"));
    }
}

#[test]
fn nonlocal_variables_and_class_patterns_of_python_are_followed() {
    let text = "def f():\n    old = 1\n\n    def g():\n        nonlocal old\n        old += 1\n\n    return g, old\n";
    at(&[("a.py", text)], ("a.py", 2, 5), Ok(&[("a.py", &text.replace("old", "new"))]));
    let text = "class old:\n    x = 1\n\n\ndef f(s):\n    match s:\n        case old(x=1):\n            return 1\n";
    at(&[("a.py", text)], ("a.py", 1, 7), Ok(&[("a.py", &text.replace("old", "new"))]));
}

#[test]
fn data_of_python_is_no_name_unless_code_may_look_it_up() {
    let own = "def old():\n    return 1\n";
    for data in [
        "print(\"old\")\n",
        "getattr(self, \"old\")\n",
        "x.set(y, \"old\")\n",
        "x = {\"old\": 1}\n",
        "if x == \"old\": pass\n",
        "x.get(\"old\")\n",
        "y = [\"old\"]\n",
    ] {
        let expected = [("a.py", "def new():\n    return 1\n")];
        at(&[("a.py", own), ("b.py", data)], ("a.py", 1, 5), Ok(&expected));
        for reader in [
            "import a\ngetattr(a, x)\n",
            "load(\"a\")\n",
            "f.__name__\n",
            "import a\nregister(a.old)\n",
            "globals()[x]\n",
        ] {
            at(&[("a.py", own), ("b.py", data), ("c.py", reader)], ("a.py", 1, 5), Err("a string names it"));
        }
        at(&[("a.py", &format!("@app\n{own}")), ("b.py", data)], ("a.py", 2, 5), Err("a string names it"));
    }
    for call in ["ForwardRef(\"old\")\n", "getattr(f(), \"old\")\n", "__all__ = [\"old\"]\n"] {
        at(&[("a.py", own), ("b.py", call)], ("a.py", 1, 5), Err("a string names it"));
    }
}

#[test]
fn receivers_that_hide_an_import_are_no_modules() {
    let import = "from p import m\n";
    for (body, reason) in [
        ("def f(m):\n    return m.old()\n", "passed on as a value"),
        ("def f(c):\n    m = c\n    return m.old()\n", "passed on as a value"),
        ("x = [m.old for m in []]\n", "passed on as a value"),
        ("from q import m\nm.old()\n", "several imports"),
    ] {
        let text = format!("{import}{body}");
        let files = [DEF, ("p/__init__.py", ""), ("q.py", "m = 1\n"), ("u.py", text.as_str())];
        at(&files, ("p/m.py", 1, 5), Err(reason));
    }
    let util = ("util/u.go", "package util\n\nfunc Old() {}\n");
    let user = "package m\n\nimport \"m/util\"\n\nfunc f(util C) { util.Old() }\n";
    let params = json!({"from": "Old", "to": "New", "scope": {"path": "util/u.go", "line": 3, "column": 6}});
    let expected = [("util/u.go", Some("package util\n\nfunc New() {}\n"))];
    check(&[("go.mod", "module m\n"), util, ("a.go", user)], &params, &expected);
}

#[test]
fn names_that_are_made_of_the_name_of_a_class_are_doubt() {
    let own = ("a.py", "class old:\n    pass\n");
    let visitor = "class V:\n    def visit(self, t):\n        return getattr(self, \"visit_\" + type(t).__name__)()\n\n    def visit_old(self):\n        return 1\n";
    at(&[own, ("b.py", visitor)], ("a.py", 1, 7), Err("names of methods"));
    let plain = "def visit_old(x):\n    return x\n";
    at(&[own, ("b.py", plain)], ("a.py", 1, 7), Ok(&[("a.py", "class new:\n    pass\n")]));
    let script = "export class old {}\nexport const v = { visit_old() {}, visit(n) { return this['visit_' + n.constructor.name](); } };\n";
    at(&[("a.js", script)], ("a.js", 1, 14), Err("names of methods"));
}

#[test]
fn functions_that_look_names_up_are_doubt_under_any_name() {
    let own = ("a.py", "def old():\n    return 1\n");
    for text in [
        "import a\nget = vars\nget(a)[\"old\"]\n",
        "import a\nfrom operator import attrgetter as ag\nkey = \"old\"\nag(key)(a)\n",
        "import runpy\nrunpy.run_path(\"a.py\")[\"old\"]\n",
    ] {
        at(&[own, ("b.py", text)], ("a.py", 1, 5), Err("a string names it"));
    }
    let function = "def f(old):\n    return old\n\n\n";
    for text in
        ["partial(f, **{\"old\": 1})\n", "Thread(target=f, kwargs={\"old\": 1})\n", "f.__kwdefaults__[\"old\"]\n"]
    {
        at(&[("a.py", &format!("{function}{text}"))], ("a.py", 1, 7), Err("a string names it"));
    }
    let class = "old = 1\n\n\nclass C:\n    old = 2\n    del old\n    b = old\n";
    at(&[("a.py", class)], ("a.py", 1, 1), Err("a class deletes it"));
}

#[test]
fn scripts_of_pages_that_load_modules_share_their_names() {
    let page = ("index.html", "<button onclick=\"old()\">x</button>\n");
    for text in [
        "function old() {}\nrequire(['app'], run);\n",
        "function old() {}\nif (typeof module !== 'undefined') module.exports = { old };\n",
    ] {
        at(&[("a.js", text), page], ("a.js", 1, 10), Err("index.html"));
    }
    let common = "function old() {}\nmodule.exports = { old };\n";
    at(
        &[("a.js", common), page],
        ("a.js", 1, 10),
        Ok(&[("a.js", "function fresh() {}\nmodule.exports = { old: fresh };\n")]),
    );
}

#[test]
fn classes_of_python_within_functions_read_names_of_the_module() {
    let text = "old = 1\n\n\ndef f():\n    old = 2\n\n    class C:\n        old = old\n";
    at(&[("a.py", text)], ("a.py", 5, 5), Err("a class may bind it"));
    at(&[("a.py", text)], ("a.py", 1, 1), Err("a class may bind it"));
    let deleted = "old = 1\n\n\nclass C:\n    old = 2\n    b = 3\n    del (old, b)\n    c = old\n";
    at(&[("a.py", deleted)], ("a.py", 1, 1), Err("a class deletes it"));
}

#[test]
fn lists_of_exports_and_default_values_of_python_are_doubt() {
    let own = "__all__ = []\n\n\ndef old():\n    return 1\n\n\n";
    for list in [
        "x = __all__\nx.extend([\"old\"])\n",
        "__all__ += [\"old\"]\nprint(__all__)\n",
        "def f():\n    __all__ = [\"old\"]\n",
    ] {
        at(&[("a.py", &format!("{own}{list}"))], ("a.py", 4, 5), Err("a string names it"));
    }
    for list in [
        "__all__.append(\"NAME\")\n",
        "__all__ += [\"NAME\"]\n",
        "__all__: list[str] = [\"NAME\"]\n",
        "__all__ = b.__all__ + (\"NAME\",)\n",
    ] {
        let of = |name: &str| format!("{own}{list}").replace("old", name).replace("NAME", name);
        at(&[("a.py", &of("old"))], ("a.py", 4, 5), Ok(&[("a.py", &of("new"))]));
        let reader = ("c.py", "import a\nfor name in a.__all__:\n    print(name)\n");
        at(&[("a.py", &of("old")), reader], ("a.py", 4, 5), Err("reads names that modules export"));
    }
    for user in
        ["def f(x=locals()):\n    return x\n", "f = lambda x=max(locals()): x\n", "class C(make(vars())):\n    pass\n"]
    {
        at(&[("a.py", &format!("old = 1\n\n\n{user}"))], ("a.py", 1, 1), Err("looks names up"));
    }
    at(
        &[("a.py", "old = 1\n\n\ndef f():\n    return locals()\n")],
        ("a.py", 1, 1),
        Ok(&[("a.py", "new = 1\n\n\ndef f():\n    return locals()\n")]),
    );
}

#[test]
fn a_name_in_backticks_or_of_a_longer_name_is_no_doubt() {
    let own = ("a.py", "def old():\n    return 1\n");
    let reader = ("b.py", "print(type(1).__name__)\n\n\ndef do_old():\n    return 2\n");
    let expected = [("a.py", "def new():\n    return 1\n")];
    at(&[own, reader, ("README.md", "Call `old`.\n")], ("a.py", 1, 5), Ok(&expected));
    at(&[own, reader, ("routes.json", "{\"old\": 1}\n")], ("a.py", 1, 5), Err("as data"));
}

#[test]
fn what_documents_run_and_what_decorators_record_is_doubt() {
    let own = ("lib.py", "def old():\n    return 1\n");
    for (page, text) in [
        ("README.rst", "Title\n=====\n\n>>> import lib\n>>> lib.old()\n1\n"),
        ("README.md", ">>> lib.old()\n1\n"),
        ("README.md", "~~~\nlib.old()\n~~~\n"),
        ("api.rst", ".. autofunction:: lib.old\n"),
    ] {
        at(&[own, (page, text)], ("lib.py", 1, 5), Err("no engine reads it"));
    }
    at(
        &[own, ("README.md", "Call `lib.old` here.\n")],
        ("lib.py", 1, 5),
        Ok(&[("lib.py", "def new():\n    return 1\n")]),
    );
    let class = ("m.ts", "export class old {}\n");
    let reader = ("r.ts", "export const k = 'design:paramtypes';\n");
    for of in ["m.old", "null | m.old"] {
        let user = format!("import * as m from './m';\n@Inject\nclass App {{ constructor(x: {of}) {{}} }}\n");
        at(&[class, reader, ("u.ts", &user)], ("m.ts", 1, 14), Err("decorator metadata"));
    }
    let read = "class old {}\nconsole.log(sizes[new old().constructor.name]);\n";
    let data = ("package.json", "{\"sizes\": {\"old\": 3}}\n");
    at(&[("a.mjs", read), data], ("a.mjs", 1, 7), Err("as data"));
}

#[test]
fn namespaces_and_computed_imports_exist_at_run_time() {
    let merged = "export interface old { x: number }\nexport namespace old { export const zero = 0; }\n";
    let lists = ("u.ts", "import * as m from './m';\nconsole.log(Object.keys(m));\n");
    at(&[("m.ts", merged), lists], ("m.ts", 1, 18), Err("computes names"));
    let erased = ("m.ts", "export interface old { x: number }\n");
    at(&[erased, lists], ("m.ts", 1, 18), Ok(&[("m.ts", "export interface fresh { x: number }\n")]));
    let home = ("b.js", "export function old() {}\n");
    let loads = ("u.js", "const m = await import(`./p/${n}.js`);\nm[k]();\n");
    let passes = ("p/a.js", "module.exports = require('../b.js');\n");
    at(&[home, passes, loads], ("b.js", 1, 17), Err("computes names"));
    let other = ("p/a.js", "module.exports = require('../c.js');\n");
    let files = [home, other, loads, ("c.js", "exports.x = 1;\n")];
    at(&files, ("b.js", 1, 17), Ok(&[("b.js", "export function fresh() {}\n")]));
}

#[test]
fn a_text_of_an_object_may_name_its_class() {
    let home = "class old:\n    pass\n";
    for shown in ["old(x=1)", "old()", "<old.RED: 1>", "[(<old.RED: 3>, 0)]", "<m.old object>", "<old held>"] {
        let user = format!("from m import old\nassert repr(old()) == \"{shown}\"\n");
        at(&[("m.py", home), ("u.py", &user)], ("m.py", 1, 7), Err("the text of an object"));
    }
    for other in ["no old(x)", "the old one", "old (x)", "a < old"] {
        let user = format!("from m import old\nprint(\"{other}\")\n");
        let renamed = user.replace("import old", "import new");
        at(
            &[("m.py", home), ("u.py", &user)],
            ("m.py", 1, 7),
            Ok(&[("m.py", "class new:\n    pass\n"), ("u.py", &renamed)]),
        );
    }
}
