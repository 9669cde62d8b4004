//! Structural search and rewriting: `nrv.code`, and the adapter `code_rewrite`.

#![expect(clippy::disallowed_methods, reason = "tests read the record and run programs")]

use std::{fs, process::Command};

use nrv::base::error::Code;
use serde_json::{Value, json};

use crate::support::{
    need,
    site::{Ran, Site},
};

const PATTERN: &str = r#"{"pattern": "log($$$A)", "fix": "trace($$$A)"}"#;

fn site() -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    for number in 0..40 {
        site.write(&format!("web/{number}.js"), format!("log({number});\nrun(log(log(\"x\"))); // log(1)\n"));
        site.write(&format!("web/{number}.py"), format!("log({number})\n"));
        site.write(&format!("web/none{number}.js"), "run(1);\n");
    }
    site.write("web/broken.js", "log(1);\nlet = ;\n");
    site.commit();
    site
}

fn rewrite(site: &Site, mode: &str, params: &Value) -> (Ran, Value) {
    let ran = site.adapt("code_rewrite", mode, "web/**", params);
    let output = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| json!({"stderr": ran.stderr}));
    (ran, output)
}

#[test]
fn matches_are_rewritten_verified_and_rolled_back() {
    let site = site();
    let before = site.tree();
    let params: Value = serde_json::from_str(PATTERN).unwrap();
    let (ran, output) = rewrite(&site, "apply", &params);
    assert_eq!(ran.code, 0, "{output:#}");
    assert_eq!((&output["baseline"]["matches"], &output["baseline"]["files_skipped"]), (&json!(160), &json!(1)));
    assert_eq!(
        (&output["applied_changes"]["files"], &output["applied_changes"]["rewrites"]),
        (&json!(80), &json!(160))
    );
    assert_eq!(site.read("web/3.js"), b"trace(3);\nrun(trace(trace(\"x\"))); // log(1)\n");
    assert_eq!(site.read("web/broken.js"), b"log(1);\nlet = ;\n");
    let (_, second) = rewrite(&site, "apply", &params);
    assert_eq!((&second["baseline"]["matches"], &second["applied_changes"]["files"]), (&json!(0), &json!(0)));
    site.nrv(&["rollback", output["run"].as_str().unwrap()]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn scripts_of_pages_are_rewritten_verified_and_rolled_back() {
    let site = site();
    let page =
        |name: &str| format!("<p>é</p>\n<script>\n  {name}(1);\n</script>\n<script lang=ts>{name}(2 as A)</script>\n");
    site.write("web/page.html", page("log"));
    site.write("web/broken.html", "<script>log(1); let = ;</script>\n");
    site.commit();
    let before = site.tree();
    let params = json!({"pattern": "log($$$A)", "fix": "trace($$$A)", "lang": "js"});
    let (ran, output) = rewrite(&site, "apply", &params);
    assert_eq!(ran.code, 0, "{output:#}");
    assert_eq!((&output["baseline"]["matches"], &output["baseline"]["files_skipped"]), (&json!(121), &json!(2)));
    let half = page("log").replacen("log", "trace", 1);
    assert_eq!(site.read("web/page.html"), half.as_bytes());
    site.nrv(&["rollback", output["run"].as_str().unwrap()]).exits(0);
    assert!(site.tree() == before);
    let (_, output) = rewrite(&site, "apply", &json!({"pattern": "log($A)", "fix": "f('</script>')", "lang": "js"}));
    assert!(output.to_string().contains("within code of the page"), "{output:#}");
    assert!(site.tree() == before);
}

#[test]
fn every_number_of_threads_gives_the_same_patch() {
    let site = site();
    let input = json!({
        "tool": "code_rewrite", "version": "1.0", "mode": "dry-run", "target": {"repo_path": ".", "glob": "web/**"},
        "params": serde_json::from_str::<Value>(PATTERN).unwrap(),
        "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 1},
    });
    let patches = ["1", "2", "8"].map(|threads| {
        let ran = site.nrv_with(
            &["--threads", threads, "dta", "run", "code_rewrite", "--input", "-", "--json"],
            &input.to_string(),
        );
        ran.exits(0);
        fs::read(site.last_run().join("artifacts/run.patch")).unwrap()
    });
    assert!(!patches[0].is_empty() && patches[0] == patches[1] && patches[1] == patches[2]);
}

#[test]
fn wrong_parameters_name_the_next_step() {
    let site = site();
    for (params, words) in [
        (json!({"pattern": "log("  , "fix": "x", "lang": "js"}), "pattern"),
        (json!({"pattern": "log($A)", "fix": "f($B)", "lang": "js"}), "B"),
        (json!({"pattern": "log($A)", "fix": "log(log($A))", "lang": "js"}), "matches its own result"),
        (json!({"pattern": "log($A)"}), "input"),
        (json!({"rules": "none"}), "where no `.yml`"),
        (json!({"rules": "../x"}), "x"),
        (json!({"pattern": "log($A)", "fix": "x", "lang": "cobol"}), "cobol"),
    ] {
        let before = site.tree();
        let (ran, output) = rewrite(&site, "apply", &params);
        assert_ne!(ran.code, 0, "{params}: {output}");
        assert!(ran.stderr.contains(words), "{params}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint") || ran.stderr.contains("= "), "{params}: {}", ran.stderr);
        assert!(site.tree() == before, "{params}");
    }
}

#[test]
fn rules_are_tested_and_stay_what_they_are() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("rules/a.yml", "id: a\nlanguage: yaml\nrule: { kind: plain_scalar, regex: ^old$ }\nfix: new\n");
    site.write("data.yml", "name: old\n");
    site.commit();
    let all = site.adapt("code_rewrite", "apply", "**", &json!({"rules": "rules"}));
    all.exits(0);
    assert_eq!(site.read("data.yml"), b"name: new\n");
    site.write("rules/a.yml", "id: old\nlanguage: yaml\nrule: { kind: plain_scalar, regex: ^old$ }\nfix: new\n");
    site.commit();
    let own = site.adapt("code_rewrite", "apply", "**", &json!({"rules": "rules"}));
    assert!(own.code == 1 && own.stderr.contains("would change the file of rules"), "{}", own.stderr);
    site.write("tests/a.yml", "id: old\nvalid: ['name: old']\n");
    let tested = site.adapt("code_rewrite", "apply", "data.yml", &json!({"rules": "rules", "tests": "tests"}));
    assert!(tested.code == 1 && tested.stderr.contains("fails its test"), "{}", tested.stderr);
}

#[test]
fn scripts_find_nodes_with_their_variables() {
    let site = site();
    let script = |query: &str| {
        let text = format!(
            "const WORKFLOW = #{{ name: \"w\" }};\nlet hits = nrv.code.find({query});\nhits.map(|hit| hit.path + \":\" + hit.line + \":\" + hit.variables.A.text)"
        );
        site.write("w.rhai", &text);
        site.nrv(&["run", "w.rhai", "--json", "--allow-dirty"])
    };
    let ran = script("#{ pattern: \"log($A)\", glob: [\"web/1*.js\", \"!web/1?.js\"] }");
    let ran = ran.exits(0);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["result"], json!(["web/1.js:1:1", "web/1.js:2:log(\"x\")", "web/1.js:2:\"x\""]), "{result:#}");
    let broken = script("#{ pattern: \"log($A)\", glob: \"web/*.js\" }");
    assert!(broken.code == 1 && broken.stderr.contains("syntax error in line 2"), "{}", broken.stderr);
    assert!(broken.stderr.contains(Code::Unreadable.as_str()), "{}", broken.stderr);
    script("#{ pattern: \"log($A)\", glob: \"web/*.js\", allow_errors: true }").exits(0);
    let two = script("#{ pattern: \"log($A)\", rule: #{ kind: \"identifier\" }, glob: \"web/*.js\" }");
    assert!(two.code == 1 && two.stderr.contains("either `pattern` or `rule`"), "{}", two.stderr);
}

/// A program that prints every text that it holds, in lines that will move.
const PROGRAMS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "python3",
        "a.py",
        "if go:\n    $$$B",
        "$$$B",
        "go = True\nif go:\n    def f():\n        \"\"\"One.\n\n          Two.\n        \"\"\"\n        return f'''{1 +\n  1}\n        z'''\n    print(repr([f.__doc__, f(),\n        'a\\\n    b', rb'''\n    c''']))\n",
    ),
    (
        "node",
        "a.js",
        "if (go) { $$$B }",
        "$$$B",
        "const go = true;\nif (go) {\n    const f = (x) => `a ${[`\n    b ${x +\n    1}`]}\n        c`;\n    console.log(JSON.stringify([f(1), 'a\\\n    b',\n        String.raw`\n    \\d`]));\n}\n",
    ),
    (
        "node",
        "b.js",
        "print($$$A)",
        "(() => {\n  console.log(\n    JSON.stringify([$$$A]))\n})()",
        "const print = (...all) => console.log(JSON.stringify(all));\n    print(`\n  x`, [\n      `y\n    z`]);\n",
    ),
];

#[test]
fn the_values_of_a_program_stay() {
    for (interpreter, path, pattern, fix, text) in PROGRAMS {
        let site = Site::empty();
        site.git(&["init", "-q", "-b", "main"]);
        site.write(path, text);
        site.commit();
        let run = || Command::new(interpreter).arg(path).current_dir(site.path(".")).output();
        let Ok(before) = run() else {
            need::skip("interpreters");
            continue;
        };
        let params = json!({"pattern": pattern, "fix": fix});
        let ran = site.adapt("code_rewrite", "apply", path, &params);
        ran.exits(0);
        let written = site.read(path);
        assert_ne!(written, text.as_bytes());
        let after = run().unwrap();
        assert!(before.status.success() && after.status.success(), "{}", String::from_utf8_lossy(&written));
        assert_eq!(before.stdout, after.stdout, "{}", String::from_utf8_lossy(&written));
    }
}

#[test]
fn a_match_with_the_form_of_its_fix_stays_and_is_listed() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("web/a.js", "log(1);\nlog(2, ctx);\nlog(log(3));\n");
    site.write("web/a.py", "log(1)\nlog(2, ctx)\n");
    site.commit();
    let params = json!({"pattern": "log($$$A)", "fix": "log($$$A, ctx)", "once": true});
    let (ran, output) = rewrite(&site, "apply", &params);
    assert_eq!(ran.code, 0, "{output:#}");
    assert_eq!((&output["baseline"]["matches"], &output["baseline"]["matches_left"]), (&json!(4), &json!(2)));
    assert_eq!(site.read("web/a.js"), b"log(1, ctx);\nlog(2, ctx);\nlog(log(3, ctx), ctx);\n");
    let listed = site.findings();
    assert_eq!((&listed[0]["line"], &listed[0]["place"]), (&json!(2), &json!("log(2, ctx)")), "{listed:#?}");
    assert!(listed[0]["reason"].as_str().unwrap().contains("has the form of the fix"), "{listed:#?}");
    site.commit();
    let (ran, second) = rewrite(&site, "apply", &params);
    assert_eq!(ran.code, 0, "{second:#}");
    assert_eq!((&second["baseline"]["matches"], &second["applied_changes"]["files"]), (&json!(0), &json!(0)));
    assert_eq!((&second["baseline"]["matches_left"], site.findings().len()), (&json!(6), 6));
    for (params, words) in [
        (json!({"pattern": "log($A, $B)", "fix": "log(f($A), $B)"}), "set `once`"),
        (json!({"pattern": "f($A)", "fix": "f($A)", "once": true, "lang": "js"}), "fits all of them"),
        (json!({"pattern": "f($A)", "fix": "f($A); g()", "once": true, "lang": "js"}), "can't look for the fix"),
    ] {
        let (ran, _) = rewrite(&site, "apply", &params);
        assert!(ran.code != 0 && ran.stderr.contains(words), "{params}: {}", ran.stderr);
    }
}
