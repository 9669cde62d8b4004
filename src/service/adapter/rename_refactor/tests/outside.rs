//! Doubt that comes from outside of a thing's own places: code that makes texts of names, reads its callers or runs files, compilers
//! that treat names by their form, and classes that inherit.

use super::{evidence::at, *};

/// Renames the thing at the top of the first file, which has a new name of its own.
#[track_caller]
fn named(files: Files<'_>, (from, to): (&str, &str), reason: &str) {
    let (line, column) = place(files[0].1, from);
    let params = json!({"from": from, "to": to, "scope": {"path": files[0].0, "line": line, "column": column}});
    match ask(files, &params, "**/*") {
        Err(error) => assert!(!reason.is_empty() && error.message().contains(reason), "{files:?} {}", error.message()),
        Ok(answer) => {
            assert!(reason.is_empty() && answer.output.verifier.passed, "{files:?} {:?}", answer.output.verifier)
        }
    }
}

fn place(text: &str, name: &str) -> (u64, u64) {
    let at = text.find(name).unwrap();
    let line = text[..at].matches('\n').count() as u64 + 1;
    (line, (at - text[..at].rfind('\n').map_or(0, |end| end + 1)) as u64 + 1)
}

#[test]
fn texts_that_code_makes_of_names_are_doubt() {
    let reason = "makes other texts or keys";
    let class = ("a.py", "class Csv(Base):\n    pass\n");
    let function = ("a.py", "@plugin\ndef fetch():\n    return 1\n");
    for line in ["r[cls.__name__.lower()] = cls", "re.sub(r'x', '_', type(e).__name__)", "r[cls.__name__] = cls"] {
        named(&[class, ("b.py", &format!("{line}\n"))], ("Csv", "CsvFormat"), reason);
        named(&[function, ("b.py", &format!("{line}\n"))], ("fetch", "load"), "");
        let line = line.replace("cls.", "fn.").replace("type(e)", "fn");
        named(&[class, ("b.py", &format!("{line}\n"))], ("Csv", "CsvFormat"), "");
        named(&[function, ("b.py", &format!("{line}\n"))], ("fetch", "load"), reason);
        named(&[("a.py", "def fetch():\n    return 1\n"), ("b.py", &format!("{line}\n"))], ("fetch", "load"), "");
    }
    for line in ["log(cls.__name__)", "x = cls.__name__", "raise E(f'{cls.__name__} failed')"] {
        named(&[class, ("b.py", &format!("{line}\n"))], ("Csv", "CsvFormat"), "");
    }
    let own = ("b.py", "class Base:\n    def f(self):\n        return type(self).__name__.partition('x')[0]\n");
    named(&[class, own], ("Csv", "CsvFormat"), reason);
    named(&[("a.py", "class Csv(Exception):\n    pass\n"), own], ("Csv", "CsvFormat"), "");
    let list = ("c.py", "from a import fetch\nPLUGINS = [fetch]\n");
    let keys = ("b.py", "x = {f.__name__.removeprefix('cmd_'): f for f in PLUGINS}\n");
    named(&[("a.py", "def fetch():\n    return 1\n"), keys, list], ("fetch", "load"), reason);
    named(&[("a.py", "def fetch():\n    return 1\n"), keys], ("fetch", "load"), "");
    let sorts = ("b.py", "for f in sorted(fs, key=lambda f: f.__name__):\n    f()\n");
    named(&[function, sorts], ("fetch", "load"), reason);
    let plain = ("a.py", "def fetch():\n    return cost()\n");
    named(&[plain, ("b.py", "x = sys._getframe(1).f_code.co_name.split('_')[0]\n")], ("fetch", "load"), reason);
    named(&[("a.py", "class Node:\n    pass\n"), ("b.py", "n._Node__v\n")], ("Node", "Leaf"), reason);
    let script = ("a.mjs", "export class UserService {}\n");
    let container = ("b.mjs", "items.set(target.name.replace(/x/, '').toLowerCase(), 1);\n");
    named(&[script, container], ("UserService", "Service"), reason);
    named(&[script, ("b.mjs", "items.set(C.name.slice(2), 1);\n")], ("UserService", "Service"), reason);
    named(&[script, ("b.mjs", "log(target.name);\n")], ("UserService", "Service"), "");
}

#[test]
fn files_that_reach_names_of_others_are_doubt() {
    let reason = "or runs the file by its path";
    let home = ("conf.py", "port = 1\n");
    for reader in ["import runpy\nx = runpy.run_path(\"conf.py\")\n", "exec(open(\"conf.py\").read(), ns)\n"] {
        named(&[home, ("b.py", reader)], ("port", "gate"), reason);
    }
    let reader = ("b.py", "import sys\ng = sys._getframe(1).f_globals\n");
    named(&[home, reader], ("port", "gate"), "");
    named(&[home, reader, ("t.txt", "At {port}.\n")], ("port", "gate"), "as data");
    let caller = ("a.py", "def f(user):\n    return fill('x')\n");
    named(
        &[caller, ("b.py", "import inspect\nx = inspect.stack()[1].frame.f_locals\n")],
        ("user", "who"),
        "its callers",
    );
    named(&[caller, ("b.py", "x = error.f_locals\n")], ("user", "who"), "");
}

#[test]
fn names_that_are_listed_and_chosen_by_their_form_are_doubt() {
    let home = ("c.py", "def cmd_add():\n    return 1\n");
    for reader in [
        "import c\nx = {n[4:]: f for n, f in vars(c).items() if n.startswith('cmd_')}\n",
        "import c, re\nx = [n for n in dir(c) if re.match(r'cmd_\\w+$', n)]\n",
    ] {
        named(&[home, ("b.py", reader)], ("cmd_add", "cmd_plus"), "by their form");
    }
    let values = ("u.mjs", "import * as m from './m.mjs';\nObject.values(m).map((f) => f());\n");
    named(&[("m.mjs", "export const alpha = () => 1;\n"), values], ("alpha", "omega"), "computes names");
}

#[test]
fn modules_of_the_standard_library_are_not_those_beside_a_file() {
    let files = [("pkg/queue.py", "class Queue:\n    pass\n"), ("pkg/work.py", "from queue import Queue\n")];
    named(&files, ("Queue", "Line"), "is not certain");
    let other = [("pkg/lines.py", "class Queue:\n    pass\n"), ("pkg/work.py", "from lines import Queue\n")];
    named(&other, ("Queue", "Line"), "");
    let top = [("queue.py", "class Queue:\n    pass\n"), ("work.py", "from queue import Queue\n")];
    named(&top, ("Queue", "Line"), "");
}

#[test]
fn compilers_judge_names_by_their_form() {
    for (text, from, to, reason) in [
        ("fn f() { let _guard = g(); }\n", "_guard", "guard", "lints for unused code"),
        ("fn f() { let _guard = g(); h(_guard); }\n", "_guard", "guard", ""),
        ("fn half() {}\n", "half", "halfOf", "another style"),
        ("const MAX_LEN: u8 = 1;\n", "MAX_LEN", "LargestLength", "another style"),
        ("struct Leaf;\n", "Leaf", "Node", ""),
        ("fn halfOf() {}\n", "halfOf", "half", ""),
    ] {
        named(&[("a.rs", text)], (from, to), reason);
    }
    named(&[("a.ts", "export function f(_e: string) {}\n")], ("_e", "e"), "lints for unused code");
    named(&[("a.ts", "export function f(a: string) {}\n")], ("a", "exports"), "meaning of its own");
    let raw = "fn repeat() {}\nfn f() { r#repeat(); }\n";
    named(&[("a.rs", raw)], ("repeat", "again"), "raw identifier");
    named(
        &[("a.rs", "fn f() { let r#again = 1; g(r#again); }\nfn repeat() {}\n")],
        ("repeat", "again"),
        "raw identifier",
    );
}

#[test]
fn what_is_taken_over_or_written_otherwise_is_doubt() {
    let star = ("a.py", "def parse(s):\n    return s\n\n\nfrom extras import *\n");
    named(&[star, ("extras.py", "def load(s):\n    return 1\n")], ("parse", "load"), "may have the new name");
    named(&[star, ("extras.py", "def other(s):\n    return 1\n")], ("parse", "load"), "");
    named(&[("a.py", "def parse(s): ...\nfrom json import *\n")], ("parse", "dumps"), "may have the new name");
    let tried = ("a.py", "def parse(s): ...\ntry:\n    from extras import *\nexcept ImportError:\n    pass\n");
    named(&[tried, ("extras.py", "def load(s):\n    return 1\n")], ("parse", "load"), "may have the new name");
    let any = ("a.py", "def box(width, **opts):\n    return width\n");
    named(&[any, ("b.py", "from a import box\nbox(3, height=4)\n")], ("width", "height"), "takes any keyword");
    named(&[any, ("b.py", "from a import box\nbox(3, depth=4)\n")], ("width", "height"), "");
    let find = ("a.py", "def find(x):\n    return x\n");
    named(&[find, ("b.py", "from a import \u{fb01}nd\n")], ("find", "locate"), "other characters");
    named(&[("a.py", "def put(x): ...\ndef find(x): ...\n")], ("put", "\u{fb01}nd"), "other characters");
    let odd = ("a.py", "def \u{fb01}nd(x): ...\n");
    named(&[odd, ("b.py", "from a import find\n")], ("\u{fb01}nd", "locate"), "other characters");
    let local = ("a.py", "def f():\n    find = 1\n    return \u{fb01}nd\n");
    named(&[local], ("find", "locate"), "other characters");
    let factor = ("a.py", "factor = 2\n");
    named(&[factor, ("b.py", "types.FunctionType(f.__code__, dict(factor=1))\n")], ("factor", "scale"), "runs code");
    let limit = ("a.mjs", "export const limit = 3;\n");
    named(&[limit, ("b.mjs", "runInNewContext('x', { limit: 7 });\n")], ("limit", "most"), "names of their own");
    let typed = ("a.js", "/** @param {number} n */\nexport function inc(n) { return n; }\n");
    let files = [typed, ("tsconfig.json", "{\"compilerOptions\": {\"checkJs\": true}}\n")];
    let params = json!({"from": "n", "to": "count", "scope": {"path": "a.js", "line": 2, "column": 21}});
    let error = ask(&files, &params, "**/*").unwrap_err();
    assert!(error.message().contains("a comment may type it"), "{}", error.message());
    assert!(ask(&[typed], &params, "**/*").unwrap().output.verifier.passed);
}

#[test]
fn what_libraries_and_copies_may_have_is_doubt() {
    let reason = "one thing of several";
    let home = "pub fn biggest(a: i32) -> i32 { a }\n";
    let block = format!("{home}fn run() -> i32 {{ use std::cmp::*; biggest(1) }}\n");
    named(&[("src/main.rs", &block)], ("biggest", "largest"), reason);
    let own = format!("{home}enum E {{ A }}\nfn run() -> i32 {{ use E::*; biggest(1) }}\n");
    named(&[("src/main.rs", &own)], ("biggest", "largest"), "");
    let user = ("src/main.rs", "mod util;\nuse crate::util::*;\nuse std::cmp::*;\nfn run() -> i32 { biggest(2) }\n");
    named(&[("src/util.rs", home), user], ("biggest", "max"), "another thing");
    let library = ("lib.go", "package lib\n\nfunc Greet() {}\n");
    let module = ("go.mod", "module ex.com/lib\n");
    let app = ("app/main.go", "package main\n\nimport \"ex.com/lib\"\n\nfunc main() { lib.Greet() }\n");
    let fork = [("forks/lib/go.mod", "module ex.com/lib\n"), ("forks/lib/l.go", library.1)];
    let replaced = ("app/go.mod", "module app\n\nreplace ex.com/lib => ../forks/lib\n");
    named(&[library, module, app, fork[0], fork[1], replaced], ("Greet", "Salute"), "not certain");
    let vendored = ("app/vendor/ex.com/lib/l.go", library.1);
    named(&[library, module, app, vendored], ("Greet", "Salute"), "not certain");
    named(&[library, module, app], ("Greet", "Salute"), "");
    let generator = ("gen.go", "//go:build ignore\n\npackage main\n\nvar x = id.Name == \"Greet\"\n");
    named(&[library, module, generator], ("Greet", "Salute"), "reads or writes code");
    let script = ("r.sh", "x=$(sed -i 's/^func Greet/func G/' lib.go\n");
    named(&[library, module, script], ("Greet", "Salute"), "no engine reads it");
    let traced = "use pm::traced;\n#[traced]\nfn double(amount: i32) -> i32 { amount }\n";
    let manifest = ("pm/Cargo.toml", "[package]\nname = \"pm\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n");
    named(&[("src/main.rs", traced), manifest], ("amount", "value"), "procedural macro");
    named(&[("src/main.rs", traced)], ("amount", "value"), "");
}

#[test]
fn builds_set_and_make_names() {
    let home = ("main.go", "package main\n\nvar version = \"dev\"\n");
    named(&[home, ("b.sh", "go build -ldflags \"-X $PKG.version=1\"\n")], ("version", "release"), "no engine reads it");
    let script = ("build.rs", "fn main() { let s = format!(\"crate::{}_rate()\", name); }\n");
    named(&[("src/lib.rs", "pub fn base_rate() {}\n"), script], ("base_rate", "rate_of"), "makes names of code");
    named(&[("src/lib.rs", "pub fn base_sum() {}\n"), script], ("base_sum", "sum_of"), "");
    let types = ("m.d.ts", "export as namespace Mini;\nexport interface Request { q: string }\n");
    named(&[types, ("a.ts", "const f = (r: Mini.Request) => r.q;\n")], ("Request", "Req"), "namespace");
}

#[test]
fn classes_of_java_may_inherit_the_new_name() {
    let reason = "may inherit";
    let local = "class M { int f() { int size = 2; return new Base() { int g() { return size; } }.g(); } }\n";
    named(&[("M.java", local)], ("size", "count"), reason);
    let own = "class M { int f(int size) { class L extends Base { int g() { return size; } } return 1; } }\n";
    named(&[("M.java", own)], ("size", "count"), reason);
    let plain = "class M { int f(int size) { class L { int g() { return size; } } return size; } }\n";
    named(&[("M.java", plain)], ("size", "count"), "");
    let helper = ("Helper2.java", "class Helper { static int v() { return 3; } }\n");
    let base = ("Base.java", "class Base { static class Entry { static int v() { return 9; } } }\n");
    let user = ("Main.java", "class Main extends Base { int f() { return Helper.v(); } }\n");
    named(&[helper, base, user], ("Helper", "Entry"), reason);
    named(&[helper, base, user], ("Helper", "Tool"), "");
}

#[test]
fn dotted_lists_of_exports_of_python_are_code() {
    let config = ("app/config.py", "def load():\n    return 1\n");
    let package = ("app/__init__.py", "from .config import load\n\n__all__ = [\"load\"]\n");
    let user = ("u.py", "from app import load\nload()\n");
    let all = [config, package, user];
    let expected = all.map(|(path, text)| (path, text.replace("load", "read")));
    let expected: Vec<_> = expected.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let params = json!({"from": "load", "to": "read", "scope": {"path": "app/config.py", "line": 1, "column": 5}});
    let wanted: Vec<_> = expected.iter().map(|(path, text)| (*path, Some(*text))).collect();
    check(&all, &params, &wanted);
    at(
        &[("a.py", "def old():\n    return 1\n"), ("b.py", "__all__ = [\"old\"]\n")],
        ("a.py", 1, 5),
        Err("a string names it"),
    );
}
