//! Failed verifications: they end a run, unless an attempt takes them back.

use serde_json::Value;

use super::{site_of, with};
use crate::support::site::{Ran, Site};

/// A site whose adapter never passes its verifier.
fn site() -> Site {
    let site = site_of(&with("if after.lines_with_blanks == 0", "if after.lines_with_blanks == 99"));
    let site = site.policy("[evaluators]\nfail = []\n");
    site.commit();
    site
}

const TRIES: &str = r#"try { nrv.dta("blanks").run(#{ tool: "blanks", version: "1.0", mode: args.mode, target: #{ repo_path: ".", glob: "docs/**" },
        params: #{}, constraints: #{ max_files: 100, timeout_ms: 60000, seed: 7 } }); } catch (error) { caught = error; }"#;

/// A script that writes a file, runs the adapter, and writes another file.
fn script(header: &str, body: &str) -> String {
    format!(
        "const WORKFLOW = #{{ name: \"x\", permissions: #{{ write: [\"**\"] }},{header}\n    args: #{{ type: \"object\", properties: #{{ mode: \
         #{{ \"default\": \"apply\" }} }} }} }};\nlet caught = ();\nnrv.apply.create(\"before.txt\", \"1\\n\");\n{}\n",
        body.replace("TRY", TRIES)
    )
}

fn run(site: &Site, text: &str, more: &[&str]) -> Ran {
    site.script("scripts/x.rhai", text);
    let more = if more.is_empty() { &["--yes"] } else { more };
    site.nrv(&[&["run", "scripts/x.rhai", "--json", "--allow-dirty"], more].concat())
}

/// The positions of the calls of this name in the last run.
fn calls(site: &Site, name: &str) -> usize {
    let shown = site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout;
    let records = shown.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter(|record| record["kind"] == "call" && record["data"]["call"] == name).count()
}

const AFTER: &str = "TRY\nnrv.apply.create(\"after.txt\", \"2\\n\");\ncaught.code";

#[test]
fn a_failed_verification_ends_the_run_though_the_script_catches_it() {
    for mode in ["apply", "dry-run"] {
        let site = site();
        let ran = run(&site, &script("", AFTER), &["--yes", "--arg", &format!("mode={mode}")]).exits(4);
        assert_eq!(ran.json()["error"]["code"], "verification_failed", "{ran:?}");
        assert_eq!(calls(&site, "apply.create"), 1);
        assert!(!site.path("before.txt").exists() && !site.path("after.txt").exists());
        site.nrv(&["replay", "last"]).exits(0);
    }
}

#[test]
fn in_a_graph_independent_nodes_go_on_and_the_run_fails_whatever_the_script_catches() {
    let input = TRIES.split(".run(").nth(1).and_then(|text| text.split("); }").next()).unwrap();
    let nodes = format!(
        "let states = ();\ntry {{ nrv.dag([
            #{{ id: \"bad\", dta: \"blanks\", input: {input} }},
            #{{ id: \"silent\", script: || {{ TRY nrv.apply.create(\"silent.txt\", \"1\\n\"); }} }},
            #{{ id: \"good\", script: || {{ nrv.apply.create(\"good.txt\", \"1\\n\"); }} }},
            #{{ id: \"after\", script: || {{ nrv.apply.create(\"x.txt\", \"1\\n\"); }}, after: [\"bad\"] }},
            #{{ id: \"quiet\", script: || {{ TRY }} }},
        ]); }} catch (error) {{ print(error.details.nodes); }}\nnrv.apply.create(\"later.txt\", \"2\\n\");"
    );
    let site = site();
    let ran = run(&site, &script(" on_failure: \"keep\",", &nodes), &[]).exits(4);
    assert_eq!(ran.json()["error"]["code"], "verification_failed", "{ran:?}");
    let exists = |name: &str| site.path(name).exists();
    assert!(exists("good.txt"), "{ran:?}");
    assert!(!exists("silent.txt") && !exists("x.txt") && !exists("later.txt"), "{ran:?}");
    for (id, state) in
        [("bad", "failed"), ("silent", "failed"), ("quiet", "failed"), ("after", "blocked"), ("good", "verified")]
    {
        let shown = format!("\"{id}\": #{{");
        let of = ran.stderr.split(&shown).nth(1).unwrap_or_else(|| panic!("{id}: {ran:?}"));
        assert!(of.split('}').next().unwrap().contains(state), "{id}: {ran:?}");
    }
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn what_was_changed_before_stays_if_the_header_keeps_it() {
    let site = site();
    run(&site, &script(" on_failure: \"keep\",", AFTER), &[]).exits(4);
    assert!(site.path("before.txt").exists() && !site.path("after.txt").exists());
}

#[test]
fn a_script_that_may_go_on_does_and_its_run_still_fails() {
    let site = site();
    let ran = run(&site, &script(" on_unverified: \"continue\",", AFTER), &[]).exits(4);
    assert_eq!(ran.json()["error"]["details"]["unverified"], true, "{ran:?}");
    assert_eq!(calls(&site, "apply.create"), 2);
    assert!(!site.path("before.txt").exists() && !site.path("after.txt").exists(), "a failed run is undone");
    site.nrv(&["replay", "last"]).exits(0);
    run(&site, &script(" on_unverified: \"continue\", on_failure: \"keep\",", AFTER), &[]).exits(4);
    assert!(site.path("before.txt").exists() && site.path("after.txt").exists());
    site.nrv(&["replay", "last"]).exits(0);
    // The cause of an end that comes later is told, and is not the end's code.
    let throws = format!("{AFTER}; throw \"too late\"").replace("after.txt", "other.txt").replace("caught.code", "()");
    let text = script(" on_unverified: \"continue\",", &throws).replace("before.txt", "third.txt");
    let ran = run(&site, &text, &[]).exits(4);
    assert_eq!(ran.json()["error"]["details"]["cause"], "too late", "{ran:?}");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_run_that_goes_on_in_another_session_still_fails() {
    let site = site();
    let body = format!("{AFTER}; nrv.gate.confirm(\"go on?\", 1);");
    let ran = run(&site, &script(" on_unverified: \"continue\",", &body), &["--arg", "mode=dry-run"]).exits(7);
    let id = ran.json()["run"].as_str().unwrap_or_default().to_owned();
    let ran = site.nrv(&["resume", &id, "--approve", "c1", "--json"]).exits(4);
    assert_eq!(ran.json()["error"]["details"]["unverified"], true, "{ran:?}");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn an_attempt_takes_it_back_and_the_run_goes_on() {
    let site = site();
    let throws = TRIES.replace("try {", "let tried = nrv.attempt(|| {");
    let throws = throws.split(" catch").next().unwrap_or_default().to_owned() + ");";
    let body = format!("{throws} nrv.apply.create(\"after.txt\", \"2\\n\"); [tried.kept, tried.error.code]");
    let ran = run(&site, &script("", &body), &[]).exits(0);
    assert_eq!(ran.json()["result"], serde_json::json!([false, "verification_failed"]), "{ran:?}");
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn an_attempt_that_hides_it_is_not_kept() {
    for (gives, code) in [("true", 4), ("false", 0)] {
        let site = site();
        let inner =
            format!("nrv.attempt(|| {{ let caught = (); TRY nrv.apply.create(\"within.txt\", \"1\\n\"); {gives} }});");
        for body in [inner.clone(), format!("nrv.attempt(|| {{ {inner} true }});")] {
            let ran = run(&site, &script("", &body), &[]).exits(code);
            assert!(!site.path("within.txt").exists(), "{ran:?}");
            assert_eq!(site.path("before.txt").exists(), code == 0);
            site.nrv(&["replay", "last"]).exits(0);
            site.nrv(&["rollback", "last"]);
        }
    }
}
