//! The workflow that polishes a design, and the one that it is held against, on the shipped app with its real build.
//!
//! All recommendations: `NRV_POLISH=12 cargo test --test it polish:: -- --nocapture`.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]
#![expect(clippy::print_stdout, reason = "the numbers of both workflows are of interest")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        chance::setting,
        model::llama::Llama,
        need,
        site::{Site, Tree},
    },
};

const APP: &str = "examples/react-app";
const POLISH: &str = "scripts/polish_design.rhai";
const REWRITE: &str = "scripts/rewrite_design.rhai";

/// A workspace with the app, both scripts and their recorded replies, and the first recommendations.
fn workspace(recommendations: usize) -> Site {
    let site = Site::new(0);
    let is_wanted = |path: &&String| {
        path.starts_with(APP)
            || [POLISH, REWRITE]
                .iter()
                .any(|script| path.starts_with(script.trim_end_matches(".rhai")) && !path.contains(".test/"))
    };
    for path in repository::files().iter().filter(is_wanted) {
        site.write(path, fs::read(repository::root().join(path)).unwrap());
    }
    let path = format!("{APP}/design/recommendations.json");
    let mut all: Vec<Value> = serde_json::from_slice(&site.read(&path)).unwrap();
    all.truncate(recommendations);
    site.write(&path, serde_json::to_vec(&all).unwrap());
    site.policy(&repository::text("nrv.toml").unwrap())
}

/// Installs the app's packages; false if there is no npm, or it has no registry.
fn installed(site: &Site) -> bool {
    let mut install = Command::new("npm");
    install.args(["ci", "--silent"]).current_dir(site.path(APP)).stdin(Stdio::null()).stdout(Stdio::null());
    let is_there = install.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !is_there {
        need::skip("npm");
    }
    site.git(&["add", "-A"]);
    site.commit();
    is_there
}

fn run(site: &Site, script: &str, more: &[&str]) -> Value {
    let ran = site.nrv(&[&["run", script, "--yes", "--json"], more].concat()).exits(0).json();
    site.nrv(&["replay", "last"]).exits(0);
    ran
}

#[test]
fn both_workflows_meet_recommendations_on_the_real_app_and_stand_side_by_side() {
    let count = setting("NRV_POLISH", 2);
    let site = workspace(usize::try_from(count).unwrap());
    if !installed(&site) {
        return;
    }
    let source = |site: &Site| -> Tree {
        let tree = site.tree().into_iter();
        tree.filter(|(path, _)| path.starts_with(&format!("{APP}/src"))).collect()
    };
    let before = source(&site);
    let polished = run(&site, POLISH, &[]);
    let kept = |ran: &Value| ran["result"]["kept"].as_array().unwrap().len() as u64;
    let score = |ran: &Value, when: &str| ran["result"]["score"][when].as_f64().unwrap();
    assert_eq!(kept(&polished), count);
    assert!(score(&polished, "after") > score(&polished, "before"), "{polished}");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(source(&site) == before);
    let rewritten = run(&site, REWRITE, &[]);
    assert!(kept(&rewritten) >= count.min(2));
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(source(&site) == before);
    let baseline = format!("{APP}/design/baseline.json");
    let compare = ["runs", "stats", "--compare", POLISH, REWRITE, "--baseline", &baseline];
    println!("{}", site.nrv(&compare).exits(0).stdout);
    let compared = site.nrv(&[&compare[..], &["--json"]].concat()).exits(0).json();
    let mean = |at: usize, name: &str| compared["compared"][at]["stats"]["metrics"][name]["mean"].as_f64();
    assert_eq!(
        (mean(0, "small_changes"), mean(0, "rewrites"), mean(0, "lines_per_change")),
        (Some(1.0), Some(0.0), Some(2.0))
    );
    let calls = mean(0, "tool_calls_per_recommendation").unwrap();
    assert!((2.0..=3.0).contains(&calls), "{calls}");
    assert!(mean(1, "lines_per_change").unwrap() >= 25.0 && mean(1, "tool_calls_per_recommendation").is_none());
    assert_eq!(compared["baseline"]["build_success_rate"], json!(0.8));
}

/// A model of random weights answers; what it says has the right form, and no sense.
#[test]
fn whatever_a_model_says_nothing_is_changed_that_is_no_step_of_a_plan() {
    let Some(server) = Llama::with_context(8192) else { return };
    let site = workspace(1);
    let stands_for = |name: &str, text: &str| {
        site.write(&format!("{APP}/{name}"), text);
        name.to_owned()
    };
    let (build, score) = (stands_for("build.sh", "true\n"), stands_for("score.json", "{\"score\": 7}\n"));
    let more = format!(
        "{}\n[[exec.allow]]\nprefix = ['sh', 'build.sh']\n[[exec.allow]]\nprefix = ['cat', 'score.json']\n\n\
         [llm.providers.local]\ndialect = 'openai_chat'\nmodel = 'tiny'\nbase_url = '{}'\n",
        repository::text("nrv.toml").unwrap(),
        server.base_url("openai_chat")
    );
    let site = site.policy(&more);
    // A request has to fit into the context of the model.
    let recommendation = json!([{"id": "R01", "goal": "The titles must stand above body text.", "files": ["src/components/Notice.tsx"]}]);
    site.write(&format!("{APP}/design/recommendations.json"), recommendation.to_string());
    site.commit();
    let before = site.tree();
    let arguments = [format!("build=[\"sh\", \"{build}\"]"), format!("score=[\"cat\", \"{score}\"]")];
    let more = ["--arg", &arguments[0], "--arg", &arguments[1], "--arg", "max_tokens=200"];
    let ran = run(&site, POLISH, &more);
    assert_eq!(ran["result"]["kept"], json!([]), "{ran}");
    assert!(site.tree() == before);
    let agents = site.nrv(&["runs", "agents", "last", "--json"]).exits(0).json();
    let states: Vec<&str> =
        agents["agents"].as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert!(!states.is_empty() && states.iter().all(|state| *state == "dismissed"), "{states:?}");
    let folder = site.last_run();
    assert!(fs::read_to_string(folder.join("events.jsonl")).unwrap().contains("llm_"));
}
