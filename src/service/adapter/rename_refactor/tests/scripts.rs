//! Names of scripts that code means without writing them, and blocks that see what other blocks declare.

use super::{evidence::at, *};

/// Renames `old` to another name than `fresh`.
#[track_caller]
fn to(name: &str, files: Files<'_>, (path, line, column): (&str, u64, u64), part: &str) {
    let params = json!({"to": name, "scope": {"path": path, "line": line, "column": column}});
    let error = ask(files, &params, "**/*").map(|answer| answer.files).unwrap_err();
    assert!(error.message().contains(part), "{}", error.message());
}

const BLOCK: &str = "another block of its namespace, enum or module";

#[test]
fn blocks_of_a_namespace_or_an_enumeration_see_each_other() {
    for text in [
        "const old = 5;\nnamespace N { export const fresh = 1; }\nnamespace N { export const f = old; }\n",
        "const old = 5;\nnamespace N { export const old = 1; }\nnamespace N { export const f = () => old; }\n",
        "const old = 5;\nenum E { fresh = 1 }\nenum E { B = old + 1 }\n",
        "const old = 5;\nenum E { old = 1 }\nenum E { B = old + 1 }\n",
        "const old = 5;\nnamespace N.M { export const fresh = 1; }\nnamespace N.M { export const f = old; }\n",
    ] {
        let text = format!("{text}export {{}};\n");
        at(&[("a.ts", &text)], ("a.ts", 1, 7), Err(BLOCK));
    }
    let other =
        "const old = 5;\nnamespace N { export const fresh = 1; }\nnamespace M { export const f = old; }\nexport {};\n";
    at(&[("a.ts", other)], ("a.ts", 1, 7), Ok(&[("a.ts", &other.replace("old", "fresh"))]));
}

#[test]
fn blocks_of_several_files_see_each_other() {
    let user = ("b.ts", "namespace N { export const f = () => old; }\n");
    let other = ("b.ts", "namespace M { export const f = () => old; }\n");
    for name in ["fresh", "old"] {
        let own = format!("const old = 5;\nnamespace N {{ export const {name} = 1; }}\n");
        at(&[("a.ts", &own), user], ("a.ts", 1, 7), Err(BLOCK));
    }
    let own = "const old = 5;\nnamespace N { export const x = 1; }\n";
    at(&[("a.ts", own), user, ("c.ts", "namespace N { export const fresh = 2; }\n")], ("a.ts", 1, 7), Err(BLOCK));
    let expected = [("a.ts", own.replace("old", "fresh")), ("b.ts", other.1.replace("old", "fresh"))]
        .map(|(path, text)| (path, text));
    let expected = expected.each_ref().map(|(path, text)| (*path, text.as_str()));
    at(&[("a.ts", own), other], ("a.ts", 1, 7), Ok(&expected));
}

#[test]
fn declarations_that_are_added_to_a_module_see_its_exports() {
    let own = ("a.ts", "export type old = 1;\nexport interface Opts {}\n");
    let adds = "export {};\ndeclare module './a' {\n  interface Opts { m: old }\n}\n";
    at(&[own, ("u.ts", adds)], ("a.ts", 1, 13), Err(BLOCK));
    let local = format!("type old = 2;\n{adds}");
    at(&[("a.ts", "export type fresh = 1;\nexport interface Opts {}\n"), ("u.ts", &local)], ("u.ts", 1, 6), Err(BLOCK));
    let taken = "type fresh = 2;\nexport {};\ndeclare module './a' {\n  interface Opts { m: fresh }\n}\n";
    at(&[own, ("u.ts", taken)], ("a.ts", 1, 13), Err("adds declarations"));
    let apart = "type old = 2;\nexport {};\ndeclare module './b' {\n  interface Opts { m: old }\n}\n";
    let files = [("b.ts", "export interface Opts {}\n"), ("u.ts", apart)];
    at(&files, ("u.ts", 1, 6), Ok(&[("u.ts", &apart.replace("old", "fresh"))]));
}

#[test]
fn a_variable_in_a_block_is_not_assigned_to_an_inner_binding() {
    for body in ["catch (fresh) { var old = 1; }", "catch (fresh) { for (var old of [5]) ; }"] {
        let text = format!("function f() {{\n  try {{}} {body}\n  return old;\n}}\nexport {{}};\n");
        at(&[("a.js", &text)], ("a.js", 3, 10), Err("an inner binding of the new name"));
    }
    let text = "export function f() {\n  try {} catch (old) { var fresh = 1; }\n  return fresh;\n}\n";
    at(&[("a.js", text)], ("a.js", 2, 17), Err("it would take a place"));
    let text = "export function f() {\n  try {} catch (e) { var old = 1; }\n  return old;\n}\n";
    at(&[("a.js", text)], ("a.js", 3, 10), Ok(&[("a.js", &text.replace("old", "fresh"))]));
}

#[test]
fn files_without_imports_share_their_names() {
    let own = ("a.ts", "interface old {}\n");
    let shares = "it has the new name for a thing that all files share";
    for text in ["interface fresh {}\n", "const x: fresh = 1;\n", "export {};\ndeclare global { interface fresh {} }\n"]
    {
        at(&[own, ("b.ts", text)], ("a.ts", 1, 11), Err(shares));
    }
    at(&[own, ("b.ts", "export interface fresh {}\n")], ("a.ts", 1, 11), Ok(&[("a.ts", "interface fresh {}\n")]));
    for name in ["PropertyKey", "Set", "HTMLElement", "process"] {
        to(name, &[own], ("a.ts", 1, 11), "the standard library has the new name");
    }
    let inner = ("b.js", "function f() {\n  const fresh = 1;\n  return old;\n}\n");
    at(&[("a.js", "var old = 1;\n"), inner], ("a.js", 1, 5), Err("the new name is in use"));
    let run = ("main.js", "const vm = require('vm');\nvm.runInContext(text, c);\n");
    at(&[("a.js", "function old() {}\n"), run], ("a.js", 1, 10), Err("code runs script files by their text"));
}

#[test]
fn a_value_that_is_only_declared_is_defined_elsewhere() {
    let ambient = "it only declares a value";
    for (path, text) in [
        ("env.d.ts", "declare const old: string;\n"),
        ("env.d.ts", "declare function old(): void;\n"),
        ("env.d.ts", "export declare let   old: string;\n"),
        ("a.ts", "declare const old: string;\nexport {};\n"),
    ] {
        let column = text.find("old").unwrap() as u64 + 1;
        at(&[(path, text)], (path, 1, column), Err(ambient));
    }
    for text in [
        "declare const old: unique symbol;\nexport {};\n",
        "declare function old(x: 1): void;\nfunction old(x: any) {}\nexport {};\n",
        "declare const enum old { A }\nexport {};\n",
        "declare interface old {}\nexport {};\n",
        "declare function f(old: 1): void;\nexport {};\n",
    ] {
        let column = text.find("old").unwrap() as u64 + 1;
        at(&[("a.ts", text)], ("a.ts", 1, column), Ok(&[("a.ts", &text.replace("old", "fresh"))]));
    }
    let global = "declare global { var old: number }\nexport {};\n";
    at(&[("a.ts", global)], ("a.ts", 1, 22), Err("`declare global` adds it"));
    let module = "declare module '*/t.js' { export function old(): void }\n";
    at(&[("a.d.ts", module)], ("a.d.ts", 1, 43), Err("`declare module` declares it"));
}

const MARKUP: &str = "JSX compiles to calls";

#[test]
fn markup_calls_what_it_does_not_name() {
    let own = ("h.ts", "export const old = 1;\n");
    let user = ("main.tsx", "import { old } from './h';\nexport const x = <b>{old}</b>;\n");
    let expected = [
        ("h.ts", "export const fresh = 1;\n"),
        ("main.tsx", "import { fresh } from './h';\nexport const x = <b>{fresh}</b>;\n"),
    ];
    at(&[own, user], ("h.ts", 1, 14), Ok(&expected));
    for (path, text) in [
        ("tsconfig.json", "{\"compilerOptions\": {\"jsxFactory\": \"old\"}}\n"),
        ("tsconfig.json", "{\"compilerOptions\": {\"jsxFragmentFactory\":\"fresh\"}}\n"),
        (".babelrc", "{\"pragma\": \"dom.old\"}\n"),
        ("package.json", "{\"scripts\": {\"b\": \"esbuild --jsx-factory=old\"}}\n"),
        ("b.tsx", "/** @jsx old */\nexport const y = <b/>;\n"),
    ] {
        at(&[own, user, (path, text)], ("h.ts", 1, 14), Err(MARKUP));
    }
    let config = ("tsconfig.json", "{\"compilerOptions\": {\"jsxFactory\": \"old\"}}\n");
    let local = "export function f() {\n  const old = 1;\n  return old;\n}\n";
    let files = [config, ("a.ts", local), ("b.tsx", "export const y = <b/>;\n")];
    at(&files, ("a.ts", 2, 9), Ok(&[("a.ts", &local.replace("old", "fresh"))]));
    to("React", &[own, user], ("main.tsx", 1, 10), MARKUP);
    to("createElement", &[own, user], ("h.ts", 1, 14), MARKUP);
    let params = json!({"to": "createElement"});
    check(&[own], &params, &[("h.ts", Some("export const createElement = 1;\n"))]);
}

#[test]
fn texts_that_programs_run_are_doubt() {
    let own = ("lib.mjs", "export function old() {}\n");
    let used = "it names `old` of its module";
    for (path, text) in [
        ("run.sh", "node -e \"import('./lib.mjs').then((m) => console.log(m.old(2)))\"\n"),
        ("run.sh", "node --input-type=module <<'EOF'\nimport * as m from './lib.mjs';\nm.old();\nEOF\n"),
        ("run.sh", "echo \"import('./lib.mjs').then((m) => m['old'](2))\" | node\n"),
        ("run.sh", "node \\\n  -e \"import('./lib.mjs').then((m) => m.old())\"\n"),
        ("tool", "#!/usr/bin/env node\nconst { old } = require('./lib.mjs');\n"),
        ("Dockerfile", "CMD [\"node\", \"-e\", \"import('./lib.mjs').then(({ old }) => old())\"]\n"),
    ] {
        at(&[own, (path, text)], ("lib.mjs", 1, 17), Err(used));
    }
    let fresh = [("lib.mjs", "export function fresh() {}\n")];
    for text in ["node main.js\necho the old (1)\n", "node -e 'run()' # the old one\n", "echo x.old\n"] {
        at(&[own, ("run.sh", text)], ("lib.mjs", 1, 17), Ok(&fresh));
    }
}

#[test]
fn modules_begin_in_the_base_of_a_configuration() {
    let config = ("tsconfig.json", "{\"compilerOptions\": {\"lib\": [\"dom\"], \"baseUrl\": \"src\"}}\n");
    let own = ("src/lib/w.ts", "export const old = 1;\n");
    let other = ("src/app/lib/w.ts", "export const old = 2;\n");
    let user = "import { old } from 'lib/w';\nimport { old as plus } from './lib/w';\nconsole.log(old, plus);\n";
    let renamed = "import { fresh } from 'lib/w';\nimport { old as plus } from './lib/w';\nconsole.log(fresh, plus);\n";
    let expected = [("src/app/main.ts", renamed), ("src/lib/w.ts", "export const fresh = 1;\n")];
    at(&[config, own, other, ("src/app/main.ts", user)], ("src/lib/w.ts", 1, 14), Ok(&expected));
    at(&[own, other, ("src/app/main.ts", user)], ("src/lib/w.ts", 1, 14), Err("not certain"));
    let passes = ("src/index.ts", "export { old } from './lib/w';\n");
    let params = json!({"to": "fresh"});
    let files = [own, passes, ("src/u.ts", "import { old } from './index';\nold;\n")];
    let error = ask(&files, &params, "**/*").map(|answer| answer.files).unwrap_err();
    assert!(error.message().contains("what another file passes on by that name"), "{}", error.message());
}

#[test]
fn a_name_that_is_written_with_escapes_is_refused() {
    let text = "let old = 1;\nfunction f() {\n  return ++\\u006fld;\n}\nconsole.log(f(), old);\n";
    at(&[("a.js", text)], ("a.js", 1, 5), Err("other characters"));
}
