//! The workflow that polishes a design, and the one that it is held against, on the shipped app with its real build.
//!
//! Its build takes packages of npm, so that it belongs to the long tier; `NRV_POLISH` chooses the number of recommendations.
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
        long,
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
    if !long::is_long() {
        return need::skip("long");
    }
    let count = setting("NRV_POLISH", 12);
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
    if !long::is_long() {
        return need::skip("long");
    }
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

const LINE: &str =
    "<nav className=\"text-sm flex\" title=\"x\" style={{ color: \"red\", background: \"red\" }}>hi there</nav>";

/// A small app whose model gives each role its reply.
fn small(step: &Value, editor: &Value, validator: &Value) -> Site {
    let site = Site::new(0);
    site.write("app/src/a:b.tsx", format!("export const A = () => (\n  {LINE}\n);\n"));
    site.write("app/build.sh", "true\n");
    site.write("app/score.json", "{\"score\": 7}\n");
    let recommendations = json!([{"id": "R1", "goal": "Larger.", "files": ["src/a:b.tsx"]}]);
    site.write("app/design/recommendations.json", recommendations.to_string());
    site.script(POLISH, &repository::text(POLISH).unwrap());
    let folder = site.root().parent().unwrap().join("replies");
    fs::create_dir(&folder).unwrap();
    let said =
        |name: &str, reply: &Value| fs::write(folder.join(name), format!("{}\n", json!({"reply": reply}))).unwrap();
    said("planner", &json!({"text": json!([step]).to_string()}));
    said("editor", editor);
    said("validator", validator);
    let program = format!(
        "cd {}; case $(cat) in *'micro-change plan'*) cat planner ;; *'Execute single'*) cat editor ;; *) cat validator ;; esac",
        folder.display()
    );
    site.policy(&format!(
        "[llm.providers.fake]\ndialect = 'command'\nmodel = 'm'\nprogram = {}\n[[exec.allow]]\nprefix = ['sh', 'build.sh']\n\
         [[exec.allow]]\nprefix = ['cat', 'score.json']\n[evaluators]\nfail = []\n",
        json!(["sh", "-c", program])
    ))
}

/// Runs the workflow on the small app; what was kept, and the file.
fn polished(site: &Site) -> (Value, String) {
    site.commit();
    let arguments = ["app=app", "build=[\"sh\", \"build.sh\"]", "score=[\"cat\", \"score.json\"]", "rounds=1"];
    let more: Vec<&str> = arguments.iter().flat_map(|argument| ["--arg", *argument]).collect();
    let ran = run(site, POLISH, &more);
    (ran["result"]["kept"].clone(), String::from_utf8(site.read("app/src/a:b.tsx")).unwrap())
}

fn edits(tool: &str, members: &Value) -> Value {
    let mut params = json!({"file_path": "app/src/a:b.tsx", "line_number": 2});
    params.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let actions =
        json!([{"id": "1", "tool": tool, "params": params}, {"id": "2", "tool": "report_done", "params": {}}]);
    json!({"text": json!({"message": "m", "actions": actions}).to_string()})
}

#[test]
fn an_editor_that_does_anything_else_than_its_step_is_undone() {
    let valid = json!({"text": "{\"valid\": true, \"reasoning\": \"r\"}"});
    let step = |members: Value| {
        let mut step = json!({"target": "app/src/a:b.tsx:2"});
        step.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        step
    };
    let class = step(json!({"action": "updateClassName", "from": "text-sm", "to": "text-base"}));
    let ok = edits("update_class_name", &json!({"old_class_name": "text-sm", "new_class_name": "text-base"}));
    let (kept, text) = polished(&small(&class, &ok, &valid));
    assert_eq!(kept, json!(["R1"]));
    assert!(text.contains("text-base flex"), "{text}");
    let label =
        step(json!({"action": "addAriaAttribute", "element": "nav", "attribute": "aria-label", "value": "Main"}));
    let title = step(json!({"action": "updatePropValue", "prop": "title", "from": "x", "to": "y"}));
    let colour = step(json!({"action": "updateStyleValue", "property": "color", "from": "red", "to": "blue"}));
    let words = step(json!({"action": "updateTextContent", "from": "hi there", "to": "hello"}));
    let others = [
        (&class, edits("update_class_name", &json!({"old_class_name": "flex", "new_class_name": "text-base"}))),
        (&label, edits("add_aria_attribute", &json!({"element": "nav", "attribute": "aria-hidden", "value": "true"}))),
        (
            &title,
            edits("update_prop_value", &json!({"prop": "className", "old_value": "text-sm flex", "new_value": "y"})),
        ),
        (
            &colour,
            edits("update_style_value", &json!({"property": "background", "old_value": "red", "new_value": "blue"})),
        ),
        (&words, edits("update_text_content", &json!({"old_text": "hi", "new_text": "hello"}))),
    ];
    for (step, editor) in others {
        let (kept, text) = polished(&small(step, &editor, &valid));
        assert_eq!(kept, json!([]), "{editor}");
        assert!(text.contains(LINE), "{text}");
    }
}

#[test]
fn a_model_that_fails_undoes_its_recommendation_and_not_the_run() {
    let class =
        json!({"action": "updateClassName", "target": "app/src/a:b.tsx:2", "from": "text-sm", "to": "text-base"});
    let ok = edits("update_class_name", &json!({"old_class_name": "text-sm", "new_class_name": "text-base"}));
    let valid = json!({"text": "{\"valid\": true, \"reasoning\": \"r\"}"});
    let calls = json!({"text": "", "tool_calls": [{"id": "1", "name": "x", "arguments": {}}]});
    for (editor, validator) in [(&calls, &valid), (&ok, &calls), (&json!({"text": "```\nno\n```"}), &valid)] {
        let (kept, text) = polished(&small(&class, editor, validator));
        assert_eq!(kept, json!([]), "{editor} {validator}");
        assert!(text.contains(LINE), "{text}");
    }
    // A plan that changes nothing is none.
    let same = json!({"action": "updateClassName", "target": "app/src/a:b.tsx:2", "from": "text-sm", "to": "text-sm"});
    assert_eq!(polished(&small(&same, &ok, &valid)).0, json!([]));
}

#[test]
fn wrong_recommendations_are_an_error_before_any_model_is_asked() {
    let one = |id: &str, file: &str| json!({"id": id, "goal": "g", "files": [file]});
    let there = "src/a:b.tsx";
    for (wrong, words) in [
        (json!({}), "array"),
        (json!([{"id": "R1", "files": [there]}]), "goal"),
        (json!([one("R1", there), one("R1", there)]), "the id R1 twice"),
        (
            json!([one("R1", there), one("R2", "src/none.tsx")]),
            "R2 of app/design/recommendations.json names app/src/none.tsx",
        ),
        (json!([{"id": "R1", "goal": "g", "files": []}]), "files"),
    ] {
        let site = small(&json!({}), &json!({}), &json!({}));
        site.write("app/design/recommendations.json", wrong.to_string());
        site.commit();
        let arguments =
            ["--arg", "app=app", "--arg", "build=[\"sh\", \"build.sh\"]", "--arg", "score=[\"cat\", \"score.json\"]"];
        let ran = site.nrv(&[&["run", POLISH, "--yes"][..], &arguments].concat()).exits(1);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
        assert!(!fs::read_to_string(site.last_run().join("events.jsonl")).unwrap().contains("llm_sent"));
    }
}
