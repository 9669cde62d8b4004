//! Scripts that try forbidden actions: each ends with its code and line, the host lives, the record is complete.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::support::site::{Site, page};

const LIMITS: &str = "[script.limits]\noperations = 400_000\nmemory = \"192MiB\"\ncpu_s = 2\ncall_depth = 32\n";
const HEADER: &str = "const WORKFLOW = #{ name: \"abuse\", permissions: #{ write: [\"site/**\"] } };\n";
const PROPOSE: &str = "let links = nrv.dta(\"link_updater\");
let p = links.propose(#{ target: #{ glob: \"site/**/*.html\" },
    params: #{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" } });\n";

struct Bench {
    site: Site,
    outside: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let site = Site::new(4).policy(LIMITS);
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "outside").unwrap();
        fs::write(site.root().parent().unwrap().join("x"), "outside").unwrap();
        symlink(outside.path(), site.path("site/folder")).unwrap();
        symlink(outside.path().join("secret"), site.path("site/file")).unwrap();
        site.write(".env", "TOKEN=1");
        site.commit();
        Bench { site, outside }
    }

    /// Runs a script; returns its exit code and its error.
    #[track_caller]
    fn abuse(&self, text: &str) -> (i32, Value) {
        self.site.script("s.rhai", text);
        let before = self.site.tree();
        let known = self.site.runs().len();
        let ran = self.site.nrv(&["run", "s.rhai", "--yes", "--json"]);
        let document = ran.json();
        assert!(self.site.tree() == before, "something changed: {text}");
        let runs = self.site.runs();
        if runs.len() > known {
            let state = if ran.code == 0 { "done" } else { "failed" };
            self.site.last_ended(state);
        } else {
            assert_ne!(ran.code, 0);
        }
        (ran.code, document["error"].clone())
    }

    /// Runs a script that must end with a code, at a line (0: at none).
    #[track_caller]
    fn ends(&self, text: &str, exit: i32, code: &str, line: u64) -> Value {
        let (found, error) = self.abuse(text);
        let at = error["script"]["line"].as_u64().unwrap_or(0);
        assert_eq!((found, error["code"].as_str(), at), (exit, Some(code), line), "{text}\n{error:#}");
        error
    }
}

#[test]
fn scripts_read_nothing_that_is_not_theirs() {
    let bench = Bench::new();
    for (path, exit, code) in [
        ("/etc/passwd", 1, "invalid_path"),
        ("../x", 1, "invalid_path"),
        ("site/../../x", 1, "invalid_path"),
        (".git/config", 3, "protected_path"),
        ("sub/.GIT/config", 3, "protected_path"),
        (".runs/heads.jsonl", 3, "protected_path"),
        (".env", 3, "permission_denied"),
        ("site/file", 1, "invalid_path"),
        ("site/folder/secret", 1, "invalid_path"),
    ] {
        for call in ["read", "sha256"] {
            let error = bench.ends(&format!("\nnrv.files.{call}(\"{path}\")"), exit, code, 2);
            assert!(!error.to_string().contains("outside\""), "{error}");
        }
    }
    for (pattern, exit, code) in [
        (".git/**", 3, "protected_path"),
        (".runs/*.jsonl", 3, "protected_path"),
        ("site/.GIT/**", 3, "protected_path"),
        ("../**", 1, "invalid_path"),
        ("/etc/*", 1, "invalid_path"),
    ] {
        bench.ends(&format!("\nnrv.files.glob([\"{pattern}\"])"), exit, code, 2);
        bench.ends(&format!("\nnrv.files.grep(\".\", [\"{pattern}\"])"), exit, code, 2);
    }
    for pattern in ["**", "**/config", "**/*.jsonl", ".env", "site/folder/**"] {
        let script = format!(
            "nrv.files.glob(\"{pattern}\").filter(|p| p.contains(\".git/\") || p.contains(\".runs\") || p == \".env\"
                || p.contains(\"folder\")).len"
        );
        bench.site.script("s.rhai", &script);
        assert_eq!(bench.site.nrv(&["run", "s.rhai", "--json"]).exits(0).json()["result"], 0, "{pattern}");
    }
    assert_eq!(fs::read_dir(bench.outside.path()).unwrap().count(), 1);
}

#[test]
fn imports_stay_inside() {
    let bench = Bench::new();
    bench.ends("1;\nimport \"/etc/passwd\" as m;", 1, "invalid_path", 2);
    bench.ends("1;\nimport \"../../x\" as m;", 1, "invalid_path", 2);
    bench.ends("1;\nimport \"../x\" as m;", 1, "invalid_path", 2);
    bench.ends("let p = \"lib\";\nimport p + \"/x\" as m;", 1, "script_syntax", 2);
    bench.ends("1;\nimport \"site/folder/secret\" as m;", 1, "invalid_path", 2);
}

#[test]
fn no_glob_reaches_git_or_the_records() {
    let bench = Bench::new();
    let secret = page("x", "old.example.com", "second.example.com");
    fs::write(bench.site.path(".git/x.html"), &secret).unwrap();
    bench.site.migrate(&["--dry-run"]).exits(0);
    fs::write(bench.site.path(".runs/x.html"), &secret).unwrap();
    let header = "const WORKFLOW = #{ name: \"abuse\", permissions: #{ write: [\"**\", \".git/**\", \".runs/**\"] } };";
    for glob in [".git/x.html", ".git/**", ".runs/x.html", ".runs/**/*.html", ".GIT/x.html"] {
        let script = format!(
            "{header}\nnrv.dta(\"link_updater\").run(#{{ target: #{{ glob: \"{glob}\" }}, params: #{{
            from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" }} }}).applied_changes.files"
        );
        bench.site.script("s.rhai", &script);
        let before = bench.site.tree();
        let ran = bench.site.nrv(&["run", "s.rhai", "--yes", "--json"]);
        assert_eq!(ran.exits(3).json()["error"]["code"], "protected_path", "{glob}");
        assert!(bench.site.tree() == before, "{glob}");
        for place in [".git/x.html", ".runs/x.html"] {
            assert_eq!(bench.site.read(place), secret.as_bytes(), "{glob}");
        }
    }
}

#[test]
fn writing_ends_at_the_headers_permissions() {
    let bench = Bench::new();
    for header in [
        "",
        "const WORKFLOW = #{ name: \"x\" };\n",
        "const WORKFLOW = #{ name: \"x\", permissions: #{ write: [\"docs/**\"] } };\n",
        "const WORKFLOW = #{ name: \"x\", permissions: #{ write: [\"site/a/**\"] } };\n",
    ] {
        let line = 4 + header.lines().count() as u64;
        bench.ends(&format!("{header}{PROPOSE}links.apply(p)"), 3, "permission_denied", line);
        bench.ends(&format!("{header}{PROPOSE}try {{ links.apply(p); }} catch {{ }} 1"), 3, "permission_denied", line);
    }
}

#[test]
fn endless_scripts_end_at_their_limits() {
    let bench = Bench::new();
    for text in ["loop {}", "let a = []; a.pad(1000, 1); loop { a.filter(|x| true); }", "try { loop {} } catch {}"] {
        let error = bench.ends(&format!("nrv.ui.step(\"on\");\n{text}"), 1, "script_limit", 2);
        assert_eq!(error["details"]["limit"], "script.limits.operations", "{text}");
    }
    bench.ends("fn f(x) { f(x + 1) }\nf(1)", 1, "script_limit", 2);
}

#[test]
fn a_script_that_kills_its_process_kills_nothing_else() {
    let bench = Bench::new();
    for (text, code) in [
        ("let s = \"x\"; loop { s += s; }", "script_crashed"),
        ("let a = [1]; loop { a += a; }", "script_crashed"),
        ("let f = |a| a; for i in 0..40 { f = f.curry(f); } 1", "script_crashed"),
        ("let a = []; for i in 0..20000 { a = [a]; }", "script_limit"),
    ] {
        // The place is that of the last call.
        bench.ends(&format!("{HEADER}nrv.ui.step(\"last call\");\n{text}"), 1, code, 2);
    }
    let overflow =
        "let f = |x| x; for i in 0..20000 { let g = f; f = |x| g.call(x); }\nnrv.ui.step(\"built\"); f.call(1)";
    let (exit, error) = bench.abuse(overflow);
    assert!(exit == 1 && ["script_crashed", "script_limit"].contains(&error["code"].as_str().unwrap()), "{error}");
}

#[test]
fn a_crash_after_a_change_undoes_it() {
    let bench = Bench::new();
    let text = format!("{HEADER}{PROPOSE}links.apply(p);\nlet s = \"x\"; loop {{ s += s; }}");
    bench.ends(&text, 1, "script_crashed", 5);
    assert_eq!(bench.site.recorded("*/packs/t2/manifest.json").len(), 1, "it was changed and undone");
}

#[test]
fn nobody_takes_the_hosts_place() {
    let bench = Bench::new();
    for text in ["1;\nfn read(path) { \"mine\" }", "1;\nlet nrv = 1;", "1;\nfn apply(p) { p }"] {
        bench.ends(text, 1, "script_syntax", 2);
    }
    bench.ends("1;\neval(\"1\")", 1, "script_syntax", 2);
}

#[test]
fn a_block_can_not_be_caught() {
    let bench = Bench::new();
    let text = "\ntry { nrv.gate.require(false, \"a reason\"); } catch { } nrv.ui.step(\"on\");";
    let error = bench.ends(text, 3, "blocked", 2);
    assert!(error["message"].as_str().unwrap().contains("a reason"), "{error}");
    bench.ends("\ntry { nrv.files.read(\".git/config\"); } catch { } 1", 3, "protected_path", 2);
    let budget =
        "const WORKFLOW = #{ name: \"x\", budget: #{ calls: 2 } };\nloop { try { nrv.ui.step(\"on\"); } catch { } }";
    bench.ends(budget, 6, "budget_exhausted", 2);
    let stopped_by_a_gate = budget.replace("nrv.ui.step(\"on\")", "nrv.files.read(\"../x\")");
    bench.ends(&stopped_by_a_gate, 6, "budget_exhausted", 2);
}

#[test]
fn a_proposal_is_applied_as_it_is_and_once() {
    let bench = Bench::new();
    for change in ["p.files = [];", "p.tool = \"x\";", "p.proposed_changes.files = 0;", "p.extra = 1;"] {
        let (exit, error) = bench.abuse(&format!("{HEADER}{PROPOSE}{change}\nlinks.apply(p)"));
        assert_eq!((exit, error["code"].as_str()), (1, Some("invalid_input")), "{change}");
        let (exit, error) = bench.abuse(&format!("{HEADER}{PROPOSE}{change}\nnrv.gate.confirm(\"x\", p);"));
        assert_eq!((exit, error["code"].as_str()), (1, Some("invalid_input")), "{change}");
    }
    bench.ends(&format!("{HEADER}{PROPOSE}p.id = \"0\";\nlinks.apply(p)"), 1, "not_found", 6);
    bench.ends(&format!("{HEADER}{PROPOSE}links.apply(p);\nlinks.apply(p)"), 1, "not_found", 6);
    assert_eq!(bench.abuse("nrv.dta(\"no_such_tool\").describe()").1["code"], json!("not_found"));
}
