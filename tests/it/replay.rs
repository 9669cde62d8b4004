//! `nrv replay`: a record answers its script again, and the first difference is named.
#![expect(clippy::disallowed_methods, reason = "tests build trees and damage records")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod forged;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use nrv::{
    CustomCall, Error,
    script::{Variation, replay},
    system::schema::Schema,
};
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        hold::{PATIENT, held_script, stand_still, stopped_in_transaction},
        site::{MIGRATE, NEW, OLD, Site, invocation, wait_until},
    },
};

const SCHEMA: &str = include_str!("../../schemas/replay.schema.json");

/// A header that permits to write everything.
const HEADER: &str = "const WORKFLOW = #{ name: \"t\", permissions: #{ write: [\"**\"] } };\n";

/// The result of replaying the latest run, which fits its schema.
#[track_caller]
fn replayed(site: &Site, more: &[&str], code: i32) -> Value {
    let replayed = site.nrv(&[&["replay", "last", "--json"], more].concat()).exits(code).json();
    let schema = Schema::compile(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    schema.check(&replayed).unwrap();
    replayed
}

/// Replays the latest run, which must agree to its end; returns the number of positions.
#[track_caller]
fn agrees(site: &Site) -> u64 {
    let replayed = replayed(site, &[], 0);
    assert_eq!((&replayed["agrees"], &replayed["reach"]), (&json!(true), &json!("end")), "{replayed:#}");
    replayed["positions"].as_u64().unwrap()
}

/// A site in which a script has run.
#[track_caller]
fn ran(site: Site, body: &str, more: &[&str], code: i32) -> Site {
    site.script("t.rhai", &format!("{HEADER}{body}"));
    site.nrv(&[&["run", "t.rhai"], more].concat()).exits(code);
    site
}

#[test]
fn the_record_of_every_shipped_migration_agrees() {
    let is_migration = |path: &&String| path.starts_with("scripts/migrate_") && path.ends_with("_links.rhai");
    let scripts: Vec<String> = repository::files().iter().filter(is_migration).cloned().collect();
    assert!(scripts.len() >= 2);
    for script in &scripts {
        let site = Site::new(4);
        site.script(script, &repository::text(script).unwrap());
        site.script("notes.md", "[a](http://old.example.com/a)\n");
        let arguments = [&["run", script.as_str()], &MIGRATE[2..]].concat();
        for more in [&["--dry-run"][..], &[], &["--seed", "7"]] {
            site.nrv(&[&arguments[..], more].concat()).exits(0);
            assert!(agrees(&site) >= 4, "{script}");
            site.commit();
        }
    }
}

#[test]
fn what_a_script_does_and_how_it_ends_agrees() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    for (body, more, code, positions) in [
        ("try { nrv.files.read(\"none\") } catch (e) { nrv.ui.step(e.code) }", &[][..], 0, 2),
        ("nrv.apply.create(\".git/x\", \"1\");", &[], 3, 1),
        ("nrv.gate.require(1 > 2, \"more\");", &[], 3, 1),
        ("nrv.ui.step(\"a\"); throw \"no\";", &[], 1, 1),
        ("throw #{ code: \"x\", message: \"m\" };", &[], 1, 0),
        ("nrv.run.metric(\"m\", 1.0); nrv.ui.show(nrv.run.metrics()); nrv.run.budget()", &[], 0, 4),
        // A script gets the same kind of number in a run and in its replay.
        ("nrv.run.metric(\"m\", 1.0); nrv.ui.step(type_of(nrv.run.metrics().own.m)); nrv.run.metrics().own", &[], 0, 4),
        ("nrv.run.metric(\"m\", 9007199254740993); nrv.ui.step(type_of(nrv.run.metrics().own.m)); 1e19", &[], 0, 3),
        ("try { nrv.dta(\"none\").run(#{ n: 1e19 } + #{}) } catch (e) { nrv.ui.show(e) }", &[], 0, 2),
        ("nrv.apply.create(\"a\", \"1\\n\"); nrv.apply.create(\"a\", \"2\\n\")", &[], 5, 2),
        ("nrv.ui.show(#{ sha256: \"00\", length: 1 }); nrv.ui.show(9223372036854775807); 2.0", &[], 0, 2),
        (
            "let l = []; for i in 0..2000 { l.push(i); } nrv.ui.show(l); nrv.random.int(0, 1000000)",
            &["--seed", "9"],
            0,
            1,
        ),
        (&format!("nrv.ui.step(\"{secret}\"); \"{secret}\""), &[], 0, 1),
        (&format!("nrv.apply.create(\"s\", \"{secret}\\n\");"), &["--yes"], 0, 1),
        ("let r = nrv.gate.evaluate_command(\"git push --force\"); nrv.ui.show(r.decision);", &[], 0, 2),
        ("nrv.gate.evaluate_tool_use(\"Write\", #{ file_path: \".git/config\", content: \"\" })", &[], 0, 1),
        (
            "nrv.apply.create(\"a\", \"1\\n\"); nrv.gate.evaluate_edit(\"a\", \"2\\n\", 0).decision",
            &["--dry-run"],
            0,
            2,
        ),
    ] {
        let site = ran(Site::new(0), body, more, code);
        assert_eq!(agrees(&site), positions, "{body}");
    }
}

#[test]
fn arguments_may_be_any_numbers() {
    let schema = "properties: #{ big: #{ type: \"integer\" }, rate: #{ type: \"number\" } }";
    let text = format!("const WORKFLOW = #{{ name: \"t\", args: #{{ type: \"object\", {schema} }} }};\n");
    for (big, rate) in [("9007199254740993", "1.0"), ("-9223372036854775808", "12345678901234567890.0")] {
        let site = Site::new(0);
        site.script("t.rhai", &format!("{text}nrv.ui.step(`${{args.big}} ${{args.rate / 2}}`);"));
        let given = [format!("big={big}"), format!("rate={rate}")];
        let given = ["--arg", &given[0], "--arg", &given[1]];
        site.nrv(&[&["run", "t.rhai"], &given[..]].concat()).exits(0);
        assert_eq!(agrees(&site), 1, "{big} {rate}");
        site.nrv(&["runs", "verify", "last"]).exits(0);
        site.nrv(&[&["plan", "t.rhai", "-o", "-"], &given[..]].concat()).exits(0);
    }
}

#[test]
fn a_run_that_waits_agrees_as_far_as_it_is() {
    let site = ran(Site::new(0), "nrv.apply.create(\"a\", \"1\\n\"); nrv.gate.confirm(\"b?\", 1);", &[], 7);
    let replayed = replayed(&site, &[], 0);
    assert_eq!((&replayed["reach"], &replayed["positions"]), (&json!("open"), &json!(2)));
    site.nrv(&["replay", "last"]).exits(0).says("has not come to its end by itself; so far the replay agrees");
}

#[test]
fn a_run_that_was_resumed_agrees_as_one() {
    let body = "nrv.apply.create(\"a\", \"1\\n\"); nrv.gate.confirm(\"b?\", 1); nrv.apply.create(\"b\", \"2\\n\");\
                nrv.run.metric(\"m\", 2.0); nrv.ui.show(nrv.run.metrics()); nrv.run.budget()";
    for policy in ["", "[gates.diff_size]\nwarn_lines = 1\n", "[budget]\ncalls = 9\nfiles = 7\n"] {
        let site = ran(Site::new(0), body, &[], 7);
        site.write("nrv.toml", policy);
        if policy.is_empty() {
            site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
        } else {
            // A question that was asked under another policy is asked again.
            site.nrv(&["resume", "last"]).exits(7);
            site.nrv(&["resume", "last", "--approve", "c2"]).exits(0);
        }
        assert_eq!(agrees(&site), 7, "{policy}");
        assert_eq!(replayed(&site, &[], 0)["not_judged"], 0, "{policy}");
    }
    let site = ran(Site::new(0), body, &[], 7);
    site.nrv(&["resume", "last", "--reject", "c1"]);
    let rejected = replayed(&site, &[], 0);
    assert_eq!((&rejected["agrees"], &rejected["positions"]), (&json!(true), &json!(1)), "{rejected:#}");
}

#[test]
fn a_run_that_died_and_was_resumed_agrees() {
    let site = Site::new(3).policy(PATIENT);
    site.script("held.rhai", &held_script("nrv.gate.confirm(\"x\", proposal);", "wait_for(\"end\");", "1"));
    let running = site.start(&["run", "held.rhai", "--yes"]);
    let is_applied = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains("files.exists"));
    wait_until("the run waits for a file", || site.recorded("*/events.jsonl").iter().any(is_applied));
    drop(running);
    site.write("end", "");
    site.nrv(&["resume", "last", "--accept-stale-reads"]).exits(0);
    assert!(agrees(&site) >= 4);
}

#[test]
fn a_run_that_goes_on_or_died_agrees_as_far_as_it_is() {
    let site = Site::new(3).policy(PATIENT);
    site.script("held.rhai", &held_script("nrv.gate.confirm(\"x\", proposal);", "wait_for(\"end\");", "1"));
    let running = site.start(&["run", "held.rhai", "--yes"]);
    let is_applied = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains("files.exists"));
    wait_until("the run waits for a file", || site.recorded("*/events.jsonl").iter().any(is_applied));
    stand_still(&running);
    let now = replayed(&site, &[], 0);
    assert_eq!((&now["reach"], &now["record"]["seal"]), (&json!("open"), &json!("unsealed")), "{now:#}");
    drop(running);
    site.nrv(&["recover"]).exits(0);
    let then = replayed(&site, &[], 0);
    assert_eq!((&then["reach"], &then["record"]["seal"]), (&json!("open"), &json!("sealed")), "{then:#}");
}

#[test]
fn a_change_whose_verification_failed_agrees() {
    let site = Site::new(40);
    site.script("site/a/quiet.html", "<p>a page without old links</p>\n");
    let before = site.tree();
    let running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    site.write("site/a/quiet.html", "<p>edited</p>\n");
    running.signal(rustix::process::Signal::CONT);
    running.end().exits(4);
    assert!(agrees(&site) >= 6);
}

#[test]
fn calls_of_runs_without_a_script_are_judged_again() {
    let site = Site::new(3);
    let input = invocation("site/**/*.html", OLD, NEW).to_string();
    site.nrv_with(&["dta", "run", "link_updater", "--input", "-", "--yes"], &input).exits(0);
    assert_eq!(agrees(&site), 1);
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(agrees(&site), 0);
    site.nrv(&[&["plan"], &MIGRATE[1..6], &["-o", "plan.json"]].concat()).exits(0);
    assert!(agrees(&site) >= 6);
    site.nrv(&["apply", "plan.json", "--yes", "--allow-dirty"]).exits(0);
    assert_eq!(agrees(&site), 1);
    let patch = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+one\n";
    site.nrv_with(&["apply", "--yes", "--allow-dirty", "-"], patch).exits(0);
    assert_eq!(agrees(&site), 1);
    site.nrv(&["replay", "last", "--against", "scripts/migrate_links.rhai"]).exits(2).says("not one of a script");
}

#[test]
fn a_record_of_another_program_is_judged_by_what_that_program_had() {
    let site = Site::new(0);
    site.write("docs/b.md", "no heading");
    site.script("tidy.rhai", &repository::text("examples/embed/tidy.rhai").unwrap());
    let example = Path::new(repository::nrv()).with_file_name("examples").join("embed");
    let embed = || {
        let mut command = Command::new(&example);
        site.tame(&mut command).args([&site.root().display().to_string(), "tidy.rhai"]).output().unwrap()
    };
    assert_eq!(embed().status.code(), Some(0));
    // The last run is the program's own call; the one before is the script's.
    assert_eq!(agrees(&site), 1);
    let runs = site.runs();
    site.nrv(&["replay", runs[0]["run"].as_str().unwrap()]).exits(0);
    // A call that this program would not know either way.
    let header = "const WORKFLOW = #{ name: \"t\", args: #{ type: \"object\", properties: #{ glob: #{} } } };";
    site.script("tidy.rhai", &format!("{header}\nnrv.custom(\"tickets.create\", #{{ title: \"x\" }})"));
    embed();
    let run = site.runs()[2]["run"].as_str().unwrap().to_owned();
    site.nrv(&["replay", &run]).exits(0);
    // Without an effect on anything: the program's answers come from the record.
    let call = CustomCall::new("tickets.create", "never made", json!({}), |_, _| panic!("a replay makes no call"));
    let calls = nrv::Calls::default().with(call).unwrap();
    let program = nrv::Program::Path(repository::nrv().into());
    let options = nrv::Options { calls, program, ..nrv::Options::default() };
    let context = nrv::Context::new(nrv::Workspace::open(&site.root()).unwrap(), options).unwrap();
    let replayed = replay(&context, runs[0]["run"].as_str().unwrap(), Variation::default()).unwrap();
    assert!(replayed.agrees && replayed.exit_code() == 0, "{replayed:?}");
}

/// Replays the migration against a script with one thing changed.
#[track_caller]
fn against(from: &str, to: &str, code: i32) -> (Value, String) {
    let site = Site::new(2);
    site.migrate(&[]).exits(0);
    let text = repository::text("scripts/migrate_links.rhai").unwrap();
    assert!(text.contains(from));
    site.write("changed.rhai", text.replacen(from, to, 1));
    let more = ["--against", "changed.rhai"];
    let said = site.nrv(&[&["replay", "last"][..], &more].concat()).exits(code);
    (replayed(&site, &more, code), format!("{}{}", said.stdout, said.stderr))
}

#[test]
fn one_changed_line_is_named_with_what_differs() {
    let (replayed, said) = against("looking for links", "looking at links", 4);
    let divergence = &replayed["divergence"];
    assert_eq!((&divergence["position"], &divergence["kind"]), (&json!("1"), &json!("call")));
    assert_eq!(divergence["script"], json!({"path": "changed.rhai", "line": 30, "column": 8}));
    assert_eq!(divergence["expected"]["args"]["label"], "looking for links to the old hosts");
    assert_eq!(divergence["actual"]["args"]["label"], "looking at links to the old hosts");
    for words in [
        "error[diverged]: at position 1, the script asks for `ui.step` with other arguments than the record has",
        "--> changed.rhai:30:8",
        "nrv.ui.step(\"looking at links to the old hosts\");\n   |        ^^^^",
        "-    \"label\": \"looking for links to the old hosts\"\n+    \"label\": \"looking at links to the old hosts\"",
        "after 0 positions",
    ] {
        assert!(said.contains(words), "{words:?} is not in: {said}");
    }
}

#[test]
fn a_script_that_asks_the_same_agrees() {
    let (replayed, _) = against("let looked_at =", "// counted\nlet unused = 1 + 1;\nlet looked_at =", 0);
    assert_eq!((&replayed["agrees"], &replayed["positions"]), (&json!(true), &json!(7)));
}

#[test]
fn another_call_more_fewer_and_another_end_are_told_apart() {
    let metric = "nrv.run.metric(\"links_moved\", output.proposed_changes.link_updates);";
    for (from, to, kind, position, line) in [
        ("nrv.ui.show(proposal)", "nrv.ui.step(\"x\")", "call", json!("4"), json!(43)),
        (metric, &format!("{metric} nrv.ui.step(\"x\");"), "longer", json!("8"), json!(48)),
        (metric, "", "shorter", json!("7"), Value::Null),
        ("moved: output", "gone: output", "end", Value::Null, Value::Null),
        (metric, &format!("{metric} throw \"no\";"), "end", Value::Null, json!(48)),
    ] {
        let (replayed, said) = against(from, to, 4);
        let divergence = &replayed["divergence"];
        assert_eq!(divergence["kind"], kind, "{said}");
        assert_eq!((&divergence["position"], &divergence["script"]["line"]), (&position, &line), "{said}");
    }
}

#[test]
fn a_script_that_fails_too_early_says_why() {
    let (replayed, said) = against("nrv.gate.confirm(", "throw \"no luck\"; nrv.gate.confirm(", 4);
    let divergence = &replayed["divergence"];
    assert_eq!(
        (&divergence["kind"], &divergence["actual"]["error"]["code"]),
        (&json!("shorter"), &json!("script_failed"))
    );
    assert!(said.contains("at position 5, the script fails (") && said.contains("no luck"), "{said}");
    assert!(said.contains("), and the record goes on with `gate.confirm`"), "{said}");
}

#[test]
fn a_header_that_permits_less_is_a_decision_that_differs() {
    let (replayed, said) = against("write: [\"**/*.html\", \"**/*.htm\"]", "write: [\"site/a/**\"]", 4);
    let divergence = &replayed["divergence"];
    assert_eq!((&divergence["kind"], &divergence["position"]), (&json!("change"), &json!("6")));
    assert_eq!(divergence["rules"][0]["rule"], "header.permissions.write", "{divergence:#}");
    assert!(said.contains("gates decide `block` of the change, and the record has `allow`"), "{said}");
}

#[test]
fn a_script_that_can_not_be_loaded_is_told_as_when_it_is_run() {
    let site = Site::new(1);
    site.migrate(&[]).exits(0);
    site.write("bad.rhai", "let = 1;");
    site.nrv(&["replay", "last", "--against", "bad.rhai"]).exits(1).says("bad.rhai:1:5");
    site.nrv(&["replay", "last", "--against", "none.rhai"]).exits(1);
    site.nrv(&["replay", "none"]).exits(1).says("there is no run `none`");
}

#[test]
fn a_stricter_policy_names_every_block_with_its_rule_and_line() {
    let site = Site::new(4);
    site.migrate(&[]).exits(0);
    let tried = |policy: &str, code: i32| {
        site.write("other.toml", policy);
        replayed(&site, &["--policy", "other.toml"], code)["differences"].clone()
    };
    let strict = tried("[paths]\n# not these\ndeny = [\"site/b/**\"]\n[budget]\nfiles = 3", 3);
    let (change, budget) = (&strict[0], &strict[1]);
    assert_eq!((&change["position"], &change["subject"]), (&json!("6"), &json!("change")));
    assert_eq!(
        (&change["was"], &change["would"], &change["call"]),
        (&json!("allow"), &json!("block"), &json!("dta.apply"))
    );
    assert_eq!(change["script"], json!({"path": "scripts/migrate_links.rhai", "line": 46, "column": 20}));
    let rule = &change["rules"][0];
    assert_eq!((&rule["gate"], &rule["rule"], &rule["line"]), (&json!("paths"), &json!("paths.deny"), &json!(3)));
    assert_eq!((&budget["rules"][0]["rule"], &budget["rules"][0]["line"]), (&json!("budget.files"), &json!(5)));
    let adapters = tried("[adapters]\napproved = []", 3);
    let positions: Vec<&Value> = adapters.as_array().unwrap().iter().map(|one| &one["position"]).collect();
    assert_eq!(positions, ["2", "6"]);
    let rule =
        "[[gates.secrets.rule]]\nid = 'host'\nregex = 'new[.]example[.]com/p0'\nmatch = ['new.example.com/p0']\n";
    let asked = tried(rule, 7);
    assert_eq!((&asked[0]["rules"][0]["rule"], &asked[0]["rules"][0]["line"]), (&json!("host"), &json!(1)));
    assert_eq!((&asked[0]["would"], asked.as_array().unwrap().len()), (&json!("require-confirmation"), 1));
    let confirmed = tried("[confirm]\nmode = \"policy\"", 7);
    assert_eq!((&confirmed[0]["subject"], &confirmed[0]["position"]), (&json!("confirmation"), &json!("5")));
    assert_eq!(confirmed[0]["rules"][0]["line"], 2, "{confirmed:#}");
    assert_eq!(tried("# nothing\n", 0), json!([]));
    site.nrv_with(&["replay", "last", "--policy", "-"], "[paths]\ndeny = ['site/**']")
        .exits(3)
        .says("1 would be blocked");
    site.nrv_with(&["replay", "last", "--policy", "-"], "[path]\n").exits(1);
}

#[test]
fn a_milder_policy_is_told_and_stops_nothing() {
    let site = Site::new(0).policy("[paths]\ndeny = ['a']");
    let site = ran(site, "nrv.gate.evaluate_command(\"rm -rf /\"); nrv.apply.create(\"a\", \"1\\n\");", &[], 3);
    site.write("other.toml", "[gates.destructive]\nenabled = false");
    let differences = &replayed(&site, &["--policy", "other.toml"], 0)["differences"];
    let seen: Vec<_> = differences.as_array().unwrap().iter().map(|one| (&one["subject"], &one["would"])).collect();
    assert_eq!(seen, [(&json!("answer"), &json!("allow")), (&json!("change"), &json!("allow"))], "{differences:#}");
    assert_eq!(differences[1]["rules"][0]["rule"], "paths.deny");
}

#[test]
fn a_record_that_was_changed_is_not_executed() {
    let site = Site::new(90);
    site.migrate(&[]).exits(0);
    let run = site.last_run();
    for file in ["events.jsonl", "run.json", "packs/replies", "packs/t1/patch", "artifacts/2-link_updater.patch"] {
        let path = run.join(file);
        let was = fs::read(&path).unwrap();
        let mut now = was.clone();
        let middle = now.len() / 2;
        now[middle] ^= 1;
        fs::write(&path, now).unwrap();
        let replayed = replayed(&site, &[], 4);
        assert_eq!((&replayed["reach"], &replayed["positions"]), (&json!("damage"), &json!(0)), "{file}");
        let said = site.nrv(&["replay", "last"]).exits(4).says("is NOT intact");
        assert!(said.stdout.contains(file), "{said:?}");
        fs::write(&path, was).unwrap();
    }
    fs::write(site.path(".runs/heads.jsonl"), "").unwrap();
    let replayed = replayed(&site, &[], 4);
    assert_eq!((&replayed["agrees"], &replayed["record"]["seal"]), (&json!(true), &json!("unsealed")));
    site.nrv(&["replay", "last"]).exits(4).says("The record is unsealed");
}

/// Every file and folder below a folder: mode, time of the last change, and bytes.
fn everything(root: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    let row = |entry: walkdir::DirEntry| {
        let found = entry.metadata().unwrap();
        let bytes = if found.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        (entry.into_path(), (found.mode(), found.mtime(), found.mtime_nsec(), bytes))
    };
    entries.map(row).collect()
}

#[test]
fn a_replay_needs_no_tree_and_writes_nothing() {
    let mut site =
        Site::new(4).policy("[[gates.destructive.rule]]\nid = 'own'\nprefix = ['x']\nreason = 'r'\ndecision = 'block'");
    site.migrate(&[]).exits(0);
    for name in ["site", "scripts", ".git"] {
        fs::remove_dir_all(site.path(name)).unwrap();
    }
    // A policy that can't be read is none of a replay's business.
    site.write("nrv.toml", "[[[");
    let is_plain = site.become_plain_user();
    for entry in walkdir::WalkDir::new(site.root()).into_iter().map(Result::unwrap) {
        let mode = if entry.file_type().is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(entry.path(), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let before = everything(&site.root());
    agrees(&site);
    assert_eq!(everything(&site.root()), before, "as a plain user: {is_plain}");
    for entry in walkdir::WalkDir::new(site.root()).into_iter().map(Result::unwrap) {
        let _ = fs::set_permissions(entry.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755));
    }
}

#[test]
fn a_record_without_contents_is_replayed_as_far_as_it_goes() {
    let imported = |site: &Site, contents: &[&str]| {
        site.nrv(&[&["runs", "export", "last", "-o", "../r.nrv-run"], contents].concat()).exits(0);
        fs::remove_dir_all(site.path(".runs")).unwrap();
        site.nrv(&["runs", "import", "../r.nrv-run"]).exits(0);
        fs::remove_file(site.path("../r.nrv-run")).unwrap();
    };
    let site = Site::new(4);
    site.migrate(&[]).exits(0);
    imported(&site, &["--with-contents"]);
    agrees(&site);
    imported(&site, &[]);
    let partly = replayed(&site, &[], 0);
    assert_eq!((&partly["not_judged"], &partly["positions"]), (&json!(1), &json!(7)), "{partly:#}");
    site.nrv(&["replay", "last"]).exits(0).says("Not judged again: 1 decision");
    let site = ran(Site::new(1), "nrv.ui.step(nrv.files.read(\"site/a/p0.html\"));", &[], 0);
    imported(&site, &[]);
    let left_out = replayed(&site, &[], 1);
    assert_eq!((&left_out["agrees"], &left_out["reach"]), (&json!(false), &json!("left_out")), "{left_out:#}");
    site.nrv(&["replay", "last"]).exits(1).says("the rest was left out of the record");
}

#[test]
fn a_replay_can_be_cancelled() {
    let site = ran(Site::new(0), "nrv.ui.step(\"a\"); 1", &[], 0);
    let context = |cancelled: bool| {
        let cancel = Arc::new(std::sync::atomic::AtomicBool::new(cancelled));
        let program = nrv::Program::Path(repository::nrv().into());
        let options = nrv::Options { cancel, program, ..nrv::Options::default() };
        nrv::Context::new(nrv::Workspace::open(&site.root()).unwrap(), options).unwrap()
    };
    let outcome = |cancelled: bool| replay(&context(cancelled), "last", Variation::default()).map(|done| done.agrees);
    assert!(outcome(false).unwrap());
    assert_eq!(outcome(true).map_err(|error: Error| error.code()).unwrap_err(), nrv::Code::Cancelled);
}
