//! Names of scripts that code means without writing them, and blocks that see what other blocks declare.

use super::{evidence::at, *};

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
