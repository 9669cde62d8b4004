//! `rename_refactor` with a language server: an honest one is obeyed as far as its proposal can be proved, and any other changes
//! nothing.

#![expect(clippy::disallowed_methods, reason = "tests read records")]

#[path = "language_servers/members.rs"]
mod members;

use serde_json::{Value, json};

use crate::support::{
    long,
    site::{Ran, Site},
};

/// A server that does what its argument says.
const SERVER: &str = include_str!("language_servers/server.py");

/// A tree in which a method is used by another file, and in which another thing has its name.
fn site(mode: &str) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("src/cart.ts", "export class Cart {\n  total(): number {\n    return 1;\n  }\n}\n");
    site.write(
        "src/[id]/use.ts",
        "import { Cart } from '../cart';\n\nconst icon = '🛒'; console.log('🛒', new Cart().total()); // total\n",
    );
    site.write("src/other.ts", "export const o = { total: 1 }; // other\nconsole.log(o.total); // other\n");
    site.write("server.py", SERVER);
    site.write(
        "nrv.toml",
        format!(
            "[language_servers.fake]\ncommand = [\"/usr/bin/python3\", \"server.py\", \"{mode}\"]\nlanguages = [\"typescript\"]\n\
             settings = '{{\"fake\": {{\"depth\": 3}}}}'\n"
        ),
    );
    site.commit();
    site
}

fn invocation(engine: &str, timeout_ms: u64) -> Value {
    json!({
        "tool": "rename_refactor", "version": "1.0", "mode": "apply",
        "params": {"from": "total", "to": "sum", "engine": engine, "scope": {"path": "src/cart.ts", "line": 2, "column": 3}},
        "target": {"repo_path": ".", "glob": "src/**"},
        "constraints": {"max_files": 5000, "timeout_ms": timeout_ms, "seed": 1},
    })
}

fn rename(site: &Site, engine: &str, timeout_ms: u64) -> Ran {
    let arguments = ["dta", "run", "rename_refactor", "--input", "-", "--json", "--yes", "--allow-dirty"];
    site.nrv_with(&arguments, &invocation(engine, timeout_ms).to_string())
}

fn output(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

#[test]
fn the_proposal_of_a_server_is_the_change() {
    for mode in long::sample(["honest", "utf8", "growing", "busy", "asks", "writes", "versions", "stays", "wrong"], 4) {
        let site = site(mode);
        let before = site.tree();
        let renamed = output(&rename(&site, "auto", 60_000).exits(0));
        assert_eq!(renamed["applied_changes"]["renames_code"], 2, "{mode}");
        assert_eq!(renamed["applied_changes"]["rest_code"], 2, "{mode}");
        assert!(String::from_utf8_lossy(&site.read("src/cart.ts")).contains("  sum(): number {"), "{mode}");
        let used = site.read("src/[id]/use.ts");
        assert!(String::from_utf8_lossy(&used).ends_with("new Cart().sum()); // total\n"), "{mode}");
        assert!(String::from_utf8_lossy(&site.read("src/other.ts")).contains("total"), "{mode}");
        site.nrv(&["rollback", "last"]).exits(0);
        assert!(site.tree() == before, "{mode}");
    }
}

#[test]
fn no_server_is_started_for_a_replay_or_if_nothing_is_left_to_do() {
    let site = site("honest");
    rename(&site, "auto", 60_000).exits(0);
    site.write("server.py", "raise SystemExit(9)\n");
    site.nrv(&["replay", "last"]).exits(0);
    let after = site.tree();
    rename(&site, "auto", 60_000).exits(1).says("no_match");
    assert!(site.tree() == after);
}

#[test]
fn the_record_names_the_server_with_its_version_and_hash() {
    let site = site("honest");
    rename(&site, "lsp", 60_000).exits(0);
    let baseline = &site.recorded("**/*-baseline.json")[0];
    let baseline: Value = serde_json::from_slice(&std::fs::read(baseline).expect("it is there")).expect("it is JSON");
    let engine = &baseline["engine"];
    assert_eq!((&engine["name"], &engine["server"]["server"]), (&json!("lsp"), &json!("fake")), "{baseline}");
    assert_eq!((&engine["server"]["name"], &engine["server"]["version"]), (&json!("fake"), &json!("1.2")));
    assert_eq!(engine["server"]["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_server_that_does_not_do_its_work_changes_nothing() {
    let modes = [
        ("dies", 1, "ended before it had answered"),
        ("killed", 1, "ended before it had answered"),
        ("garbage", 1, "wrote no message of the protocol"),
        ("form", 1, "gave an answer of another form"),
        ("hangs", 6, "took longer than `constraints.timeout_ms`"),
        ("floods", 6, "took longer than `constraints.timeout_ms`"),
        ("refuses", 4, "You cannot rename this element."),
        ("nothing", 4, "the language server does not rename this place"),
        ("partial", 4, "it means the same thing, and the language server leaves it"),
        ("nowhere", 4, "the language server does not tell its meaning"),
        ("http", 4, "the language server does not tell its meaning"),
        ("itself", 4, "the language server does not tell its meaning"),
        ("annotates", 4, "another form than its syntax asks for"),
        ("ignorant", 4, "the language server does not tell its meaning"),
        ("outside", 4, "wants to edit `file:///etc/hosts`, which is outside of the workspace"),
        ("above", 4, "which is outside of the workspace"),
        ("protected", 4, "`.git/config`: the language server changes it, and it does not hold the name"),
        ("overlap", 4, "that overlap"),
        ("stale", 4, "in a version that is not the one it was given"),
        ("moves", 4, "wants to create, move or remove files"),
        ("more", 4, "changes more here than the name"),
        ("beyond", 4, "at a place that it does not have"),
        ("backwards", 4, "whose end comes before its beginning"),
        ("breaks", 4, "line 3 has another error after the change, `2741`"),
        ("silent", 4, "it declares the member too, and the language server tells no errors"),
    ];
    for (mode, exit, message) in long::sample(modes, 4) {
        let site = site(mode);
        let before = site.tree();
        let timeout_ms = if exit == 6 { 2000 } else { 60_000 };
        let ran = rename(&site, "auto", timeout_ms);
        let error = output(&ran)["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(message), "{mode}: {error}");
        ran.exits(exit);
        assert!(site.tree() == before, "{mode}");
    }
}

#[test]
fn errors_count_in_every_file_that_leads_to_the_change() {
    let far = |import: &str| {
        let site = site("far");
        site.write("src/between.ts", "export * from './cart';\n");
        site.write("src/far.ts", format!("import {{ Cart }} from '{import}';\n\nexport const f = (c: Cart) => c;\n"));
        site.commit();
        rename(&site, "auto", 60_000)
    };
    let message = output(&far("./between").exits(4))["error"]["message"].to_string();
    assert!(message.contains("`src/far.ts`: line 3 has another error after the change"), "{message}");
    // The import of a file that is not there may lead anywhere.
    far("./built").exits(4);
    far("elsewhere").exits(0);
}

#[test]
fn the_phases_of_a_server_are_told() {
    let site = site("honest");
    let arguments = ["dta", "run", "rename_refactor", "--input", "-", "--events", "--yes", "--allow-dirty"];
    let ran = site.nrv_with(&arguments, &invocation("auto", 60_000).to_string()).exits(0);
    let events = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    let mut phases: Vec<String> = events.filter_map(|event| Some(event["phase"].as_str()?.to_owned())).collect();
    phases.dedup();
    let expected = ["start_server", "load_project", "ask_rename", "ask_places", "ask_errors", "apply", "verify"]
        .map(str::to_owned);
    assert!(phases.ends_with(&expected), "{phases:?}");
}

#[test]
fn reasons_that_no_server_knows_stay() {
    let site = site("honest");
    site.write("src/cart.ts", "\nexport function total() {}\n");
    site.write("src/App.vue", "<script>\nimport { total } from './cart';\n</script>\n");
    site.commit();
    let before = site.tree();
    for engine in ["auto", "lsp"] {
        let mut input = invocation(engine, 60_000);
        input["params"]["scope"]["column"] = json!(17);
        input["target"]["glob"] = json!(["src/cart.ts", "src/[[]id]/**"]);
        let arguments = ["dta", "run", "rename_refactor", "--input", "-", "--json", "--yes", "--allow-dirty"];
        let refused = output(&site.nrv_with(&arguments, &input.to_string()).exits(4));
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("its scripts are not read"), "{engine}: {message}");
        assert!(site.tree() == before);
    }
}

#[test]
fn a_name_without_a_place_means_one_thing_or_is_refused() {
    let site = site("honest");
    site.write("src/cart.ts", "export class Cart {\n  total() {}\n}\nexport const o = { total: 1 }; // other\n");
    site.commit();
    let before = site.tree();
    for scope in [json!("glob"), json!({"file": "src/cart.ts"})] {
        let mut input = invocation("auto", 60_000);
        input["params"]["scope"] = scope;
        let arguments = ["dta", "run", "rename_refactor", "--input", "-", "--json", "--yes", "--allow-dirty"];
        let refused = output(&site.nrv_with(&arguments, &input.to_string()).exits(4));
        let findings = refused["error"]["details"]["findings"].to_string();
        assert!(findings.contains("several things have the name, and this is another one"), "{findings}");
        assert!(site.tree() == before);
    }
}

#[test]
fn a_server_starts_only_by_a_trusted_policy() {
    let site = site("honest");
    let before = site.tree();
    let untrusted = |engine: &str| {
        std::fs::write(site.path("input.json"), invocation(engine, 60_000).to_string()).expect("it can be written");
        let mut command = site.command(&["dta", "run", "rename_refactor", "--input", "input.json", "--json", "--yes"]);
        let ran = command.env_remove("NRV_TRUSTED_PATHS").output().expect("nrv starts");
        std::fs::remove_file(site.path("input.json")).expect("it is there");
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    let (code, said) = untrusted("auto");
    assert!(code == Some(3) && said.contains("no person has trusted it"), "{said}");
    // Engines without a server need no trust.
    let (code, said) = untrusted("scope");
    assert!(code == Some(4) && said.contains("can't be renamed"), "{said}");
    assert!(site.tree() == before);
}

#[test]
fn without_a_server_the_engine_says_what_to_configure() {
    let site = site("honest");
    site.write("nrv.toml", "");
    let refused = output(&rename(&site, "lsp", 60_000));
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("`typescript`")), "{refused}");
    assert!(
        refused["error"]["hint"].as_str().is_some_and(|text| text.contains("[language_servers.NAME]")),
        "{refused}"
    );
}
