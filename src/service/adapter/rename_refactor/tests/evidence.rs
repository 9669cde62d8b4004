//! Places are left only with evidence that they mean another thing, however exactly the caller names the thing.

use super::*;

/// Renames the thing at a place, from `old` to `new`: the files that change, or a part of the refusal.
#[track_caller]
fn at(files: Files<'_>, place: (&str, u64, u64), expected: Result<&[(&str, &str)], &str>) {
    let params = json!({"scope": {"path": place.0, "line": place.1, "column": place.2}});
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

const DEF: (&str, &str) = ("p/m.py", "def old():\n    pass\n");
const FRESH: (&str, &str) = ("p/m.py", "def new():\n    pass\n");

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
fn crates_are_reached_by_their_names() {
    let manifest = ("Cargo.toml", "[package]\nname=\"a-k\"\nversion=\"0.1.0\"\n");
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
    let other =
        ("x/Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\nkay = { path = \"..\", package = \"a-k\" }\n");
    let user =
        [("x/src/main.rs", "fn main() { kay::m::old(); }\n"), ("x/src/main.rs", "fn main() { kay::m::new(); }\n")];
    at(&[manifest, library[0], library[1], other, user[0]], ("src/m.rs", 1, 8), Ok(&[fresh, user[1]]));
    let root = ("Cargo.toml", "[package]\nname = \"k\"\n[lib]\npath = \"src/gone.rs\"\n");
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
