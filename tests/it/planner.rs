//! `nrv planner` and `nrv.planner`: plans of adapters and their validator, with the real binary.
#![expect(clippy::disallowed_methods, reason = "tests write and read files")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use nrv::{
    Context, Host, Options, Request, Silent, Workspace,
    flow::{RunDoor, planner},
};
use serde_json::{Value, json};

use crate::{
    repository,
    support::site::{NEW, OLD, Ran, Site},
};

fn input() -> Value {
    json!({"target": {"glob": "site/**"}, "params": {"from_hosts": [OLD], "to_host": format!("https://{NEW}")}})
}

fn plan() -> Value {
    json!({
        "goal": "move the site",
        "tool_requests": [{"id": "T1", "tool": "link_updater", "reason": "the host moved", "inputs_ref": "#/inputs/T1"}],
        "inputs": {"T1": input()},
    })
}

fn validate(site: &Site, plan: &Value) -> Ran {
    site.nrv_with(&["planner", "validate", "-", "--json"], &plan.to_string())
}

/// The violations of a plan that is refused, as pointer and message.
#[track_caller]
fn refused(plan: &Value, expected: &[(&str, &str)]) {
    let site = Site::new(1);
    site.write("broken.json", "{");
    let ran = validate(&site, plan).exits(1);
    let error = &ran.json()["error"];
    assert_eq!(error["code"], "invalid_input", "{ran:?}");
    let violations = error["details"]["violations"].as_array().unwrap();
    assert_eq!(violations.len(), expected.len(), "{ran:?}");
    for (violation, (pointer, words)) in violations.iter().zip(expected) {
        assert_eq!(violation["pointer"], *pointer, "{ran:?}");
        assert!(violation["message"].as_str().unwrap().contains(words), "{words}: {ran:?}");
    }
}

#[test]
fn an_adapter_with_work_is_requested_and_the_others_are_listed_with_reasons() {
    let site = Site::new(4);
    let before = site.tree();
    let findings = json!({"link_updater": [input(), {"target": {"glob": "none/**"}, "params": input()["params"]}]});
    let ran = site.nrv_with(&["planner", "plan", "--goal", "move", "--findings", "-"], &findings.to_string()).exits(0);
    let plan = ran.json();
    assert_eq!(plan["tool_requests"].as_array().unwrap().len(), 1, "{ran:?}");
    let request =
        json!({"id": "T1", "tool": "link_updater", "reason": "links_to_update: 4", "inputs_ref": "#/inputs/T1"});
    assert_eq!(plan["tool_requests"][0], request);
    let skipped: Vec<&str> =
        plan["skipped"].as_array().unwrap().iter().filter_map(|one| one["tool"].as_str()).collect();
    assert_eq!(
        skipped,
        ["code_rewrite", "intra_repo_link_fixer", "json_schema_migrator", "link_updater", "rename_refactor"]
    );
    assert!(site.tree() == before, "a plan changes nothing");
    let again = site
        .nrv_with(&["planner", "plan", "--goal", "move", "--findings", "-", "--threads", "1"], &findings.to_string());
    assert_eq!(again.json(), plan, "the same tree has the same plan");
    let checked = validate(&site, &plan).exits(0).json();
    assert_eq!(checked["tool_requests"][0]["input"]["mode"], "dry-run");
    assert!(checked["orders"].as_str().unwrap().contains("Use the link_updater DTA in dry-run mode first."));
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn an_adapter_that_needs_no_parameters_is_asked_without_a_finding() {
    let site = Site::new(0);
    site.write("docs/guide.md", "# Guide\n");
    site.write("docs/index.md", "[guide](guied.md)\n");
    site.commit();
    let plan = site.nrv(&["planner", "plan", "--goal", "mend"]).exits(0).json();
    assert_eq!(plan["tool_requests"][0]["tool"], "intra_repo_link_fixer", "{plan}");
}

#[test]
fn an_input_may_be_a_file_beneath_the_root() {
    let site = Site::new(1);
    site.write("reports/planning/links.json", input().to_string());
    let mut plan = plan();
    plan["tool_requests"][0]["inputs_ref"] = json!("reports/planning/links.json");
    let checked = validate(&site, &plan).exits(0).json();
    assert_eq!(checked["tool_requests"][0]["input_sha256"].as_str().unwrap().len(), 64);
    for path in ["../outside.json", "/etc/passwd", "none.json", "broken.json", "#/other"] {
        let mut wrong = plan.clone();
        wrong["tool_requests"][0]["inputs_ref"] = json!(path);
        refused(&wrong, &[("/tool_requests/0/inputs_ref", "")]);
    }
}

#[test]
fn every_reason_against_a_plan_is_told_with_its_place() {
    let mut wrong = plan();
    let request = wrong["tool_requests"][0].clone();
    wrong["tool_requests"] = json!([request, request, request]);
    wrong["tool_requests"][1]["tool"] = json!("link_updatr");
    wrong["tool_requests"][2]["id"] = json!("T3");
    wrong["tool_requests"][2]["inputs_ref"] = json!("#/inputs/T9");
    refused(
        &wrong,
        &[
            ("/tool_requests/1/id", "two requests have the id `T1`"),
            ("/tool_requests/1/tool", "`link_updatr` is no approved adapter"),
            ("/tool_requests/2/inputs_ref", "the plan has no input `T9`"),
        ],
    );
    let mut wrong = plan();
    wrong["inputs"]["T1"]["params"]["to_hots"] = json!("x");
    refused(&wrong, &[("/tool_requests/0/inputs_ref", "to_hots")]);
    for (key, value) in [("goals", json!("x")), ("tool_requests", json!("x")), ("goal", json!(1))] {
        let mut wrong = plan();
        wrong[key] = value;
        let ran = validate(&Site::new(1), &wrong).exits(1).says("the plan has another form");
        assert!(ran.stdout.contains("violations"), "{ran:?}");
    }
}

#[test]
fn an_adapter_that_is_not_approved_is_named() {
    let site = Site::new(1).policy("[adapters]\napproved = ['rename_refactor']\n");
    validate(&site, &plan())
        .exits(1)
        .says("`link_updater` is no approved adapter")
        .says("approved are: rename_refactor");
    let findings = json!({"link_updater": input()}).to_string();
    site.nrv_with(&["planner", "plan", "--goal", "x", "--findings", "-"], &findings)
        .exits(1)
        .says("`link_updater` is no approved");
}

#[test]
fn a_finding_that_the_adapter_can_not_take_is_an_error() {
    let site = Site::new(1);
    let mut outside = input();
    outside["target"]["glob"] = json!("../x");
    for (finding, words) in [(json!(3), "no map"), (json!({"params": {}}), "target"), (outside, "..")] {
        let findings = json!({"link_updater": finding}).to_string();
        site.nrv_with(&["planner", "plan", "--goal", "x", "--findings", "-"], &findings).exits(1).says(words);
    }
}

#[test]
fn a_plan_of_a_model_passes_the_same_checks() {
    let mut unapproved = plan();
    unapproved["tool_requests"][0]["tool"] = json!("shell");
    for (reply, code) in [(plan().to_string(), 0), (unapproved.to_string(), 1), ("I will do it.".to_owned(), 1)] {
        // Programs of the policy are outside of the tree.
        let outside = tempfile::NamedTempFile::new().unwrap();
        let events = [json!({"token": reply}), json!({"reply": {}})];
        fs::write(outside.path(), events.map(|event| format!("{event}\n")).concat()).unwrap();
        let policy = format!(
            "[llm.providers.fake]\ndialect = 'command'\nmodel = 'm'\nprogram = ['sh', '-c', 'cat >/dev/null; cat {}']\n",
            outside.path().display()
        );
        let site = Site::new(1).policy(&policy);
        let ran = site
            .nrv(&["planner", "plan", "--goal", "move", "--with-model", "--provider", "fake", "--json"])
            .exits(code);
        if code != 0 {
            assert_eq!(ran.json()["error"]["code"], "model_failed", "{ran:?}");
        }
    }
}

#[test]
fn a_script_plans_checks_and_carries_out() {
    let site = Site::new(2);
    let script = format!(
        "const WORKFLOW = #{{ name: \"p\", permissions: #{{ write: [\"site/**\"] }} }};\n\
         let hosts = #{{ from_hosts: [\"{OLD}\"], to_host: \"https://{NEW}\" }};\n\
         let plan = nrv.planner.plan(#{{ goal: \"move\", findings: #{{ link_updater: #{{ target: #{{ glob: \"site/**\" }}, params: hosts }} }} }});\n\
         for request in nrv.planner.validate(plan).tool_requests {{\n\
             let input = request.input;\n    input.mode = \"apply\";\n    nrv.dta(request.tool).run(input);\n}}\n\
         nrv.planner.plan(#{{ goal: \"again\", findings: #{{ link_updater: plan.inputs.T1 }} }}).tool_requests.len()\n"
    );
    site.script("p.rhai", &script);
    let ran = site.nrv(&["run", "p.rhai", "--yes", "--json"]).exits(0);
    assert_eq!(ran.json()["result"], 0, "{ran:?}");
    assert!(String::from_utf8(site.read("site/a/p0.html")).unwrap().contains(NEW));
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_program_plans_at_the_door_of_its_run() {
    let site = Site::new(1);
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "plan"), &mut Silent).unwrap();
    let checked = planner::validate(&mut RunDoor::new(&mut host, &mut Silent), &plan()).unwrap();
    assert_eq!(checked.tool_requests[0].tool, "link_updater");
    host.finish(Ok(Value::Null), &mut Silent).unwrap();
}

/// With `NRV_BLESS` the schema is written anew.
#[test]
fn the_published_schema_is_that_of_the_program() {
    let path = repository::root().join("schemas/tool_plan.schema.json");
    if std::env::var_os("NRV_BLESS").is_some() {
        fs::write(&path, format!("{:#}\n", planner::plan_schema())).unwrap();
    }
    let shipped: Value = serde_json::from_slice(&fs::read(&path).unwrap_or_default()).unwrap_or_default();
    assert_eq!(shipped, planner::plan_schema(), "NRV_BLESS=1 writes it anew");
}
