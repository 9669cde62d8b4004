//! Changes of scripts that don't ask: whoever is at the terminal is asked for them.
#![expect(clippy::disallowed_methods, reason = "tests look at records")]

use serde_json::{Value, json};

use crate::{
    confirm::typed,
    support::{
        site::{Site, Tree},
        terminal::on_a_terminal,
    },
};

/// A script that makes three changes.
const MAKES: &str = "const WORKFLOW = #{ permissions: #{ write: [\"**\"] } };
for n in 0..3 { nrv.apply.create(`new/${n}.txt`, \"x\\n\"); }
";

/// A script that asks for one of its changes, and makes another one beside it.
const REVIEWS: &str = "const WORKFLOW = #{ permissions: #{ write: [\"**\"] } };
import \"std/plan\" as plan;
let one = plan::of(#{ \"a.txt\": \"a\\n\" });
plan::review(\"make a page\", one);
nrv.apply.plan(one, \"write\");
OTHER
";

fn site(text: &str) -> (Site, Tree) {
    let site = Site::new(2);
    site.script("make.rhai", text);
    let before = site.tree();
    (site, before)
}

/// Who granted the confirmations of the latest run, with their kinds.
fn granted(site: &Site) -> Vec<Value> {
    let events = std::fs::read_to_string(site.last_run().join("events.jsonl")).unwrap_or_default();
    let records = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let granted = records.filter(|record| record["kind"] == "confirmation_granted");
    granted.map(|record| json!([record["data"]["kind"], record["data"]["by"]])).collect()
}

#[test]
fn a_person_is_asked_for_each_change_or_for_all_that_come() {
    let (site, before) = site(MAKES);
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "make.rhai"]), "y\na\n") else { return };
    let ran = ran.exits(0);
    assert_eq!(ran.stdout.matches("write 1 file?").count(), 2, "{ran:?}");
    assert!(ran.stdout.contains("new/0.txt") && site.path("new/2.txt").exists(), "{ran:?}");
    assert_eq!(granted(&site), vec![json!(["writes", "person"]); 3]);
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn a_change_that_is_not_confirmed_undoes_the_run() {
    let (site, before) = site(MAKES);
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "make.rhai"]), "y\nn\n") else { return };
    let ran = ran.exits(3);
    assert!(ran.stdout.contains("`write 1 file` was not confirmed"), "{ran:?}");
    assert!(site.tree() == before);
}

#[test]
fn nobody_is_asked_by_a_flag_a_policy_or_without_a_terminal() {
    for (policy, arguments, on_terminal) in [
        ("", &["run", "make.rhai"][..], false),
        ("", &["run", "make.rhai", "--yes"], true),
        ("[confirm]\nwrites = \"script\"\n", &["run", "make.rhai"], true),
        ("[confirm]\nauto = [\"writes\"]\n", &["run", "make.rhai"], true),
    ] {
        let (site, _) = site(MAKES);
        let site = site.policy(policy);
        match on_terminal {
            true => match on_a_terminal(&site, arguments) {
                Some(running) => drop(running.end().exits(0)),
                None => continue,
            },
            false => drop(site.nrv(arguments).exits(0)),
        }
        assert!(site.path("new/2.txt").exists(), "{policy} {arguments:?}");
        assert!(granted(&site).iter().all(|one| one[1] == "policy"), "{policy} {arguments:?}");
    }
}

#[test]
fn a_change_that_the_script_asked_for_is_asked_for_once() {
    let (site, _) = site(&REVIEWS.replace("OTHER", ""));
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "make.rhai"]), "y\n") else { return };
    ran.exits(0);
    assert_eq!(granted(&site), [json!(["gate.confirm", "person"])]);
    let (site, before) = self::site(&REVIEWS.replace("OTHER", "nrv.apply.create(\"b.txt\", \"b\\n\");"));
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "make.rhai"]), "y\nn\n") else { return };
    ran.exits(3);
    assert_eq!(granted(&site), [json!(["gate.confirm", "person"])]);
    assert!(site.tree() == before);
}

#[test]
fn an_edit_that_no_confirmation_has_shown_is_asked_for_also_in_a_file_that_one_has_shown() {
    let other = "nrv.apply.write(\"a.txt\", \"something else\\n\", nrv.files.sha256(\"a.txt\"));";
    let (site, before) = site(&REVIEWS.replace("OTHER", other));
    let Some(ran) = typed(&site, on_a_terminal(&site, &["run", "make.rhai"]), "y\nn\n") else { return };
    ran.exits(3);
    assert_eq!(granted(&site), [json!(["gate.confirm", "person"])]);
    assert!(site.tree() == before);
}

/// A workflow that formats by a command, whose change is to be confirmed.
const FORMATS: &str = "const WORKFLOW = #{ permissions: #{ write: [\"**\"], exec: [\"sh\"] } };
let done = nrv.exec.check(#{ program: \"sh\", args: [\"-c\", \"echo formatted > a.txt\"], writes: [\"**\"], confirm: \"keep the format\" });
done.changed
";

/// A site whose policy allows the shell, with that workflow.
fn formats() -> (Site, Tree) {
    let site = Site::new(2).policy("[[exec.allow]]\nprefix = ['sh']\n");
    site.script("format.rhai", FORMATS);
    let before = site.tree();
    (site, before)
}

#[test]
fn a_change_of_a_command_waits_for_its_confirmation_before_it_is_made() {
    let (site, before) = formats();
    let dry = site.nrv(&["run", "format.rhai", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((&dry["result"], site.tree() == before), (&json!(["a.txt"]), true), "{dry}");
    let waits = site.nrv(&["run", "format.rhai", "--json"]).exits(7).json();
    let (details, run) = (&waits["error"]["details"], waits["run"].as_str().unwrap_or_default().to_owned());
    assert_eq!((&details["label"], &details["kind"]), (&json!("keep the format"), &json!("exec")), "{waits}");
    assert!(site.tree() == before, "the change was made before it was confirmed");
    let done = site.nrv(&["resume", &run, "--approve", "c1", "--json"]).exits(0).json();
    assert_eq!((&done["files_changed"], site.read("a.txt")), (&json!(1), b"formatted\n".to_vec()), "{done}");
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn a_rejected_change_of_a_command_is_never_made_and_a_flag_confirms_one() {
    let (site, before) = formats();
    let run =
        site.nrv(&["run", "format.rhai", "--json"]).exits(7).json()["run"].as_str().unwrap_or_default().to_owned();
    site.nrv(&["resume", &run, "--reject", "c1"]).exits(3);
    assert!(site.tree() == before);
    site.nrv(&["run", "format.rhai", "--yes"]).exits(0);
    assert_eq!(granted(&site), [json!(["exec", "--yes"])]);
    assert_eq!(site.read("a.txt"), b"formatted\n".to_vec());
}
