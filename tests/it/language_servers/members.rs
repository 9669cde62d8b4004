//! Members of types that belong together: all of them are renamed, or none.

use serde_json::json;

use super::{SERVER, output};
use crate::support::site::{Ran, Site};

/// A tree of Python whose server tells things apart by the comments of lines.
fn site(files: &[(&str, &str)]) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    for (path, text) in files {
        site.write(path, *text);
    }
    site.write("server.py", SERVER);
    site.write(
        "nrv.toml",
        "[language_servers.fake]\ncommand = [\"/usr/bin/python3\", \"server.py\", \"honest\"]\n\
         languages = [\"python\", \"typescript\"]\n",
    );
    site.commit();
    site
}

fn rename(site: &Site, name: &str, path: &str) -> Ran {
    let text = String::from_utf8_lossy(&site.read(path)).into_owned();
    let at = text.find(name).expect("the file has the name");
    let (line, column) =
        (text[..at].matches('\n').count() + 1, at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1);
    let input = json!({
        "tool": "rename_refactor", "version": "1.0", "mode": "apply",
        "params": {"from": name, "to": "sum", "engine": "auto", "scope": {"path": path, "line": line, "column": column}},
        "target": {"repo_path": ".", "glob": "src/**"},
        "constraints": {"max_files": 5000, "timeout_ms": 60_000, "seed": 1},
    });
    let arguments = ["dta", "run", "rename_refactor", "--input", "-", "--json", "--yes", "--allow-dirty"];
    site.nrv_with(&arguments, &input.to_string())
}

#[track_caller]
fn renamed(files: &[(&str, &str)], expected: &[(&str, &str)]) {
    let site = site(files);
    let ran = rename(&site, "total", files[0].0);
    assert!(ran.code == 0, "{} {}", ran.stdout, ran.stderr);
    for (path, text) in expected {
        assert_eq!(String::from_utf8_lossy(&site.read(path)), *text);
    }
}

#[track_caller]
fn refused(files: &[(&str, &str)], name: &str, message: &str) {
    let site = site(files);
    let before = site.tree();
    let ran = rename(&site, name, files[0].0);
    let details = output(&ran)["error"].to_string();
    assert!(details.contains(message), "{details}");
    ran.exits(4);
    assert!(site.tree() == before);
}

const BASE: &str = "class A:\n    def total(self) -> int: # 1\n        return 1\n";

#[test]
fn overridden_members_of_related_classes_are_renamed_together() {
    let between = "from base import A as Z\n\nclass B(Z):\n    pass\n";
    let below = "from between import B\n\nclass C(B):\n    def total(self) -> int: # 2\n        return super().total() # 1 forgotten\n";
    let used = "from below import C\n\nprint(C().total()) # 2\n";
    let files = [("src/base.py", BASE), ("src/below.py", below), ("src/between.py", between), ("src/used.py", used)];
    let expected = [
        ("src/base.py", &*BASE.replace("total", "sum")),
        ("src/below.py", &below.replace("total", "sum")),
        ("src/used.py", &used.replace("total", "sum")),
    ];
    renamed(&files, &expected);
    // From a class below, the one above is renamed too.
    let files = [files[1], files[0], files[2], files[3]];
    renamed(&files, &expected);
}

#[test]
fn classes_that_one_class_inherits_from_are_related() {
    let text = "class A:\n    def total(self): # 1\n        return 1\n\nclass B:\n    total = 2 # 2\n\nclass C(A, B):\n    pass\n\n\
        class D:\n    total = 3 # 3\n";
    let expected = text.replacen("total", "sum", 2);
    renamed(&[("src/a.py", text)], &[("src/a.py", &expected)]);
}

#[test]
fn attributes_of_objects_are_members_of_their_classes() {
    let text = "class A:\n    def __init__(self):\n        self.total = 1 # 1\n\nclass B(A):\n    def put(self):\n        self.total = 2 # 2\n";
    renamed(&[("src/a.py", text)], &[("src/a.py", &text.replace("total", "sum"))]);
}

#[test]
fn members_that_a_library_or_a_value_of_another_type_may_have_are_refused() {
    let with = |more: &str| format!("{BASE}{more}");
    let from_library = "import lib\n\nclass A(lib.Base):\n    def total(self): # 1\n        return 1\n";
    let of_library = BASE.replace("total", "write");
    let of_exception = BASE.replace("class A:", "class A(ValueError):").replace("total", "args");
    let changed = "import attr\n\n@attr.s\nclass A:\n    total: int = 1 # 1\n";
    for (text, name, message) in [
        (from_library, "total", "it inherits from `Base` of elsewhere, which may have the member"),
        (&of_exception, "args", "it inherits from `ValueError` of elsewhere, which may have the member"),
        (&of_library, "write", "libraries and the language call members of that name"),
        (changed, "total", "a decorator or a metaclass may give its fields another meaning"),
        (
            &with("\nclass B(make()):\n    pass\n\nclass C(A, B):\n    pass\n"),
            "total",
            "it inherits from `an expression`",
        ),
        (
            &with("\nfrom typing import Protocol\n\nclass P(Protocol):\n    def total(self): ... # 2\n"),
            "total",
            "it has the member too, and one of both is a protocol",
        ),
        (
            &with("\nclass C:\n    def total(self): # 2\n        return 2\n\nf = lambda x: x.total() # 1+2\n"),
            "total",
            "renames it, though it means another thing",
        ),
        (&with("\nf = lambda x: x.total() # 1 partly\n"), "total", "the type of what has it is known in part only"),
        (&with("\nf = lambda x: x.total() # 0\n"), "total", "the language server does not tell its meaning"),
        (&with("\ngetattr(A(), 'to' + 'tal')\n"), "total", "it looks up names that begin or end like this one"),
        (&with("\ngetattr(A(), 'total')\n"), "total", "a string names it"),
    ] {
        refused(&[("src/a.py", text)], name, message);
    }
}

#[test]
fn types_that_fit_by_their_form_are_refused() {
    let class = "export class Cart {\n  total() {\n    return 1;\n  }\n}\n";
    for (more, message) in [
        (
            "export interface I { total(): number } // other\n",
            "a type declares it too, which a value may have without naming it",
        ),
        (
            "export type T = { total?: number }; // other\n",
            "a type declares it as a member that a value may lack, and stays",
        ),
        ("export const f = (c: any, k: string) => c['to' + k];\n", "it looks up names that begin or end like this one"),
    ] {
        refused(&[("src/cart.ts", class), ("src/more.ts", more)], "total", message);
    }
    let class = class.replace("total", "toString");
    refused(&[("src/cart.ts", &class)], "toString", "the language calls members of that name");
}
