//! Names of scripts that code means without writing them, and blocks that see what other blocks declare.

use super::{evidence::at, *};

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
    let config = ("tsconfig.json", "{\"compilerOptions\": {\"baseUrl\": \"src\"}}\n");
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
