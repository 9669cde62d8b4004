//! The files whose errors a change may alter.

use std::collections::BTreeSet;

use super::*;
use crate::deadline::Deadline;
use format::name::script::Change as Names;

const HOME: (&str, &str) = ("a.ts", "export class A { old() {} }\n");
const USER: (&str, &str) = ("b.ts", "import { A } from './a';\nexport const f = () => new A();\n");
const OTHER: (&str, &str) = ("other.ts", "import { join } from 'node:path';\nexport const o = join('a');\n");

/// The scripts that a change of `a.ts` may affect.
#[track_caller]
fn check(more: Files<'_>, expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [HOME, USER, OTHER].iter().chain(more) {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (workspace, overlay) = (Workspace::open(folder.path()).unwrap(), Overlay::default());
    let cancel = AtomicBool::new(false);
    let ctx = Context::of_tree(View::new(&workspace, &overlay), 2, &cancel);
    let invocation = parse(&RenameRefactor, &input(&json!({}), "**/*")).unwrap();
    let deadline = Deadline::begin(&invocation, "looking at the files");
    let names = Names { from: "old", to: "new" };
    let world = world::World::new((&ctx, names, &deadline), Vec::new(), BTreeMap::new());
    let found =
        crate::rename_refactor::affected::files(&world, page::Family::Script, &BTreeSet::from(["a.ts"])).unwrap();
    let found: Vec<&str> = found.iter().map(|path| path.as_str()).collect();
    assert_eq!(found, expected);
}

#[test]
fn files_that_import_a_changed_file_are_affected() {
    check(&[], &["a.ts", "b.ts"]);
    let through = ("src/c.ts", "import { f } from '../b';\nexport const g = f;\n");
    let far = ("src/d.tsx", "export const h: typeof import('./c').g = null;\n");
    check(&[through, far], &["a.ts", "b.ts", "src/c.ts", "src/d.tsx"]);
    let styled = ("c.ts", "import './c.css';\nexport {};\n");
    check(&[styled, ("c.css", "")], &["a.ts", "b.ts"]);
}

#[test]
fn files_whose_imports_may_lead_anywhere_are_affected() {
    let built = ("c.ts", "import { x } from './built';\nexport const y = x;\n");
    let user = ("d.ts", "import { y } from './c';\nexport const z = y;\n");
    check(&[built, user], &["a.ts", "b.ts", "c.ts", "d.ts"]);
    let wrong = ("c.ts", "export declare function f() {}\n");
    check(&[wrong], &["a.ts", "b.ts", "c.ts"]);
    let package = ("package.json", "{\"name\": \"own\"}");
    let own = ("c.ts", "import { x } from 'own';\nexport const y = x;\n");
    check(&[package, own], &["a.ts", "b.ts", "c.ts"]);
    let folder = [
        ("lib/index.ts", "export {};\n"),
        ("lib/package.json", "{\"main\": \"x.js\"}"),
        ("c.ts", "export * from './lib';\n"),
    ];
    check(&folder, &["a.ts", "b.ts", "c.ts"]);
    // Compilers may take another file than the first of that name.
    let twins = [("a.js", "export const a = 1;\n"), ("c.ts", "import './a.js';\nexport {};\n")];
    check(&twins, &["a.ts", "b.ts", "c.ts"]);
}

#[test]
fn all_files_are_affected_if_others_need_no_import() {
    let all = ["a.ts", "b.ts", "c.ts", "other.ts"];
    for text in [
        "import { A } from './a';\ndeclare global { const a: A }\n",
        "import { A } from './a';\ndeclare module 'm' { const a: A }\n",
        "declare const a: import('./a').A;\n",
        "export {\n",
    ] {
        check(&[("c.ts", text)], &all);
    }
    check(&[("c.ts", "export {};\n"), ("tsconfig.json", "{\"compilerOptions\": {\"rootDirs\": [\"x\"]}}")], &all);
    // Those that do not lead to the change show nothing of it.
    check(&[("c.ts", "declare const a: number;\n")], &["a.ts", "b.ts"]);
}
