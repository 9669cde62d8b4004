//! Facts that are known before a run begins: budgets of the command line, and what the policy refuses of a header.

use serde_json::{Value, json};

use crate::support::site::Site;

/// A script that makes two files, and may make fewer by its header.
const MAKES: &str = "const WORKFLOW = #{ permissions: #{ write: [\"**\"] }, budget: #{ files: 1 } };
nrv.apply.create(\"a.txt\", \"a\\n\");
nrv.gate.confirm(\"go on\", #{});
nrv.apply.create(\"b.txt\", \"b\\n\");
";

fn site(policy: &str, text: &str) -> Site {
    let site = Site::new(0).policy(policy);
    site.script("make.rhai", text);
    site
}

#[test]
fn a_budget_of_the_command_line_takes_the_place_of_the_headers() {
    let site = site("[budget]\nfiles = 2\n", MAKES);
    site.nrv(&["run", "make.rhai", "--yes"]).exits(6).says("`--budget files=");
    site.nrv(&["run", "make.rhai", "--yes", "--budget", "files=2"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    site.nrv(&["run", "make.rhai", "--yes", "--budget", "files=2", "--budget", "calls=1"]).exits(6).says("limit 1");
    // A run that waits goes on with the budget that it began with.
    site.nrv(&["run", "make.rhai", "--budget", "files=2"]).exits(7);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.path("b.txt").exists());
}

#[test]
fn a_budget_above_the_policy_or_of_another_form_is_refused_before_the_run() {
    let site = site("[budget]\nfiles = 2\n", MAKES);
    let runs = site.runs().len();
    for (budget, code, words) in [
        ("files=3", 3, "is above the limit 2"),
        ("files=many", 2, "must be"),
        ("files", 2, "must be"),
        ("file=3", 2, "did you mean `files`?"),
    ] {
        site.nrv(&["run", "make.rhai", "--budget", budget]).exits(code).says(words);
    }
    site.nrv(&["approve", "make.rhai", "--yes"]).exits(0);
    site.commit();
    site.nrv(&["run", "make.rhai", "--locked", "--budget", "files=2"])
        .exits(3)
        .says("the header of an approved script");
    assert_eq!(site.runs().len(), runs, "nothing ran");
}

#[test]
fn a_run_that_goes_on_locked_has_the_budget_of_its_header() {
    let site = site("budget.files = 2\nci.confirm = 'ask'\n", MAKES);
    site.nrv(&["approve", "make.rhai", "--yes"]).exits(0);
    site.commit();
    let before = site.tree();
    site.nrv(&["run", "make.rhai", "--budget", "files=2"]).exits(7);
    let locked = |arguments: &[&str]| {
        let output = site.command(arguments).env("CI", "true").output().unwrap_or_else(|error| panic!("{error}"));
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default())
    };
    // The policy differs, so that it is asked again.
    assert_eq!(locked(&["resume", "last", "--json"]).0, Some(7));
    let (code, ended) = locked(&["resume", "last", "--approve", "c2", "--json"]);
    assert_eq!((code, &ended["error"]["details"]["limit"]), (Some(6), &json!(1)), "{ended}");
    assert!(site.tree() == before, "its first change is undone");
}

#[test]
fn all_that_the_policy_refuses_of_a_header_is_said_at_once_before_anything_starts() {
    let header = "const WORKFLOW = #{ permissions: #{ exec: [\"npx\", \"make\"], write: [\"docs/**\", \"out/x\"], calls: [\"mcp.a.b\"], llm: [\"far\"] },
    budget: #{ files: 100 } };
nrv.exec.run(#{ program: \"npx\", args: [\"prettier\"] }); nrv.exec.run(#{ program: \"make\" }); nrv.llm.complete(#{ provider: \"far\", prompt: \"x\" });
nrv.apply.create(\"docs/a\", \"a\");
";
    let policy = "budget.files = 10\npaths.deny = ['out/**']\n[[exec.allow]]\nprefix = [['make', 'ninja'], 'all']\n\
                  [llm.providers.near]\nbase_url = 'http://127.0.0.1:1'\ndialect = 'openai_chat'\nmodel = 'm'\n";
    let site = site(policy, header);
    let checked: Value = site.nrv(&["check", "make.rhai", "--json"]).json();
    let warnings = checked["scripts"][0]["warnings"].as_array().cloned().unwrap_or_default();
    let beyond: Vec<&Value> =
        warnings.iter().filter(|one| one["details"]["rule"] == "beyond_policy").map(|one| &one["message"]).collect();
    assert_eq!(
        json!(beyond),
        json!([
            "`npx` may not be started: no rule of `exec.allow` begins so (line 3 of `nrv.toml`)",
            "`out/x` may not be written: `out/**` of `paths.deny` covers it (line 2 of `nrv.toml`)",
            "the policy has no tool `mcp.a.b`",
            "the policy has no provider `far`",
            "`budget.files` of the header is 100, and the policy allows 10",
        ])
    );
    let ran = site.nrv(&["run", "make.rhai"]).exits(3);
    let place = |words: &str| ran.stderr.find(words).unwrap_or(usize::MAX);
    assert!(place("the policy allows 10") < place("error[permission_denied]"), "{}", ran.stderr);
}

#[test]
fn a_quiet_run_tells_only_what_scripts_print_and_what_is_wrong() {
    let site = site(
        "",
        "const WORKFLOW = #{ permissions: #{ write: [\"*.txt\"] } };\nprint(\"mine\");\nnrv.ui.step(\"loud\");\nnrv.apply.create(\"a.txt\", \"a\\n\");\n",
    );
    let ran = site.nrv(&["run", "make.rhai", "--yes", "--quiet"]).exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "mine\n"));
    let failed = site.nrv(&["run", "make.rhai", "--yes", "-q"]).exits(5);
    assert!(failed.stderr.starts_with("mine\nerror[") && !failed.stderr.contains("(run "), "{}", failed.stderr);
}
