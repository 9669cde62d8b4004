//! `rename_refactor` on a tree: the same bytes and record with any number of threads, nothing to do in a second pass, and the way back.
#![expect(clippy::disallowed_methods, reason = "the patches that are compared are read as they are")]

use serde_json::{Value, json};

use crate::support::site::{Ran, Site};

/// A tree in which one function is used by many files.
fn site() -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write(
        "src/total.ts",
        "/** The total. */\nexport function total(items: number[]) {\n  return items.length;\n}\n",
    );
    site.write("src/index.ts", "export * from './total';\n");
    for index in 0..40 {
        let text = format!(
            "import {{ total }} from '../index';\n\nexport const n{index} = {{ total }}.total([{index}]); // total\n"
        );
        site.write(&format!("src/parts/p{index}.ts"), text);
    }
    site.write("src/other.ts", "export function f(total: number) {\n  return total;\n}\n");
    site.commit();
    site
}

fn place() -> Value {
    json!({"from": "total", "to": "sum", "scope": {"path": "src/total.ts", "line": 2, "column": 17}})
}

fn output(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

#[test]
fn a_rename_is_the_same_with_any_number_of_threads_and_can_be_undone() {
    let (mut trees, mut records) = (Vec::new(), Vec::new());
    for threads in ["1", "2", "8"] {
        let site = site();
        let before = site.tree();
        let input = json!({
            "tool": "rename_refactor", "version": "1.0", "mode": "apply", "params": place(),
            "target": {"repo_path": ".", "glob": "src/**"},
            "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 1},
        });
        let arguments =
            ["dta", "run", "rename_refactor", "--input", "-", "--json", "--yes", "--allow-dirty", "--threads", threads];
        let ran = site.nrv_with(&arguments, &input.to_string()).exits(0);
        let renamed = output(&ran);
        assert_eq!(renamed["applied_changes"]["files"], 41);
        assert_eq!(renamed["applied_changes"]["renames_code"], 81);
        // The members and the parameter of another file mean other things.
        assert_eq!(renamed["applied_changes"]["rest_code"], 40 * 2 + 2);
        assert_eq!(renamed["verifier"]["passed"], true);
        let part = site.read("src/parts/p7.ts");
        let expected = "import { sum } from '../index';\n\nexport const n7 = { total: sum }.total([7]); // total\n";
        assert_eq!(String::from_utf8_lossy(&part), expected);
        let patch = site.recorded("*/packs/t1/patch").pop().expect("there is a change");
        let canonical = site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout;
        records.push((canonical, std::fs::read(patch).expect("it can be read")));
        trees.push(site.tree());
        site.adapt("rename_refactor", "apply", "src/**", &place()).exits(1).says("no_match");
        assert!(site.tree() == *trees.last().expect("it was pushed"));
        site.nrv(&["rollback", "last"]).exits(0);
        assert!(site.tree() == before);
    }
    assert!(trees.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(records.windows(2).all(|pair| pair[0] == pair[1]), "the records and patches are the same");
}

#[test]
fn a_refusal_lists_the_places_and_changes_nothing() {
    let site = site();
    let before = site.tree();
    let ran = site.adapt("rename_refactor", "apply", "src/**", &json!({"from": "total", "to": "sum"})).exits(4);
    let refused = output(&ran);
    let findings = refused["error"]["details"]["findings"].as_array().expect("places are listed");
    assert!(
        findings.iter().any(|finding| finding["path"] == "src/parts/p0.ts" && finding["line"] == 3),
        "{findings:#?}"
    );
    assert!(site.tree() == before);
}

/// A tree with a function of Python, and a checker that fails without a name, or always.
fn checked(text: &str) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    let site = site.policy("[[exec.allow]]\nprefix = [\"sh\", \"check.sh\"]\n");
    site.write("a.py", "def total():\n    return 1\n");
    site.write("b.py", "from a import total\n\ntotal()\n");
    site.write("check.sh", text);
    site.commit();
    site.nrv(&["trust", "--yes"]).exits(0);
    site
}

#[test]
fn a_rename_after_which_the_checker_reports_a_new_error_is_taken_back() {
    let by = |name: &str| format!("grep -q '{name}' a.py && exit 0\necho 'a.py:1:5: error: no {name}'\nexit 1\n");
    let line =
        ["run", "std:rename_symbol", "--arg", "from=total", "--arg", "to=sum_of", "--arg", "glob=[ab].py", "--yes"];
    let checker = ["--arg", "check=[\"sh\", \"check.sh\"]"];
    let site = checked(&by("def total"));
    let before = site.tree();
    site.nrv(&[&line[..], &checker].concat()).exits(3).says("reports no new error, such as: a.py:1:5: error");
    site.nrv(&[&line[..], &checker, &["--keep"]].concat()).exits(3);
    assert!(site.tree() == before);
    // The same error before and after is none of the rename.
    let site = checked(&by("class"));
    site.nrv(&[&line[..], &checker].concat()).exits(0).says("2 files changed and verified by rename_refactor");
    // A checker that fails without a place judges nothing, and that is said.
    let site = checked("exit 126\n");
    site.nrv(&[&line[..], &checker].concat()).exits(0).says("it judges nothing");
}

#[test]
fn a_checker_that_nothing_permits_is_named() {
    let site = checked("");
    site.write("go.mod", "module a\n");
    site.commit();
    let line =
        ["run", "std:rename_symbol", "--arg", "from=total", "--arg", "to=sum_of", "--arg", "glob=[ab].py", "--yes"];
    site.nrv(&line).exits(0).says("lets \"go vet ./...\" judge this rename");
}

#[test]
fn files_that_git_tracks_count_though_they_are_ignored_or_left_out() {
    let site = site();
    site.write("local/use.ts", "import { total } from '../src/total';\n\ntotal([]);\n");
    site.write(".gitignore", "local\n");
    site.git(&["add", ".gitignore"]);
    site.git(&["add", "-f", "local/use.ts"]);
    site.git(&["commit", "-qm", "A local file"]);
    let rename = || site.adapt("rename_refactor", "apply", "src/**", &place());
    rename().exits(4).says("local/use.ts").says("outside of the files of the target");
    for way in [&["--cone", "--no-sparse-index"][..], &["--cone", "--sparse-index"], &["--no-cone"]] {
        site.git(&[&["sparse-checkout", "set"], way, &["src"]].concat());
        rename().exits(4).says("a sparse checkout left it out");
        site.git(&["sparse-checkout", "disable"]);
    }
    // What only lies there is not a part of the repository.
    site.git(&["rm", "-q", "--cached", "local/use.ts"]);
    site.git(&["commit", "-qm", "Without the local file"]);
    rename().exits(0);
}
