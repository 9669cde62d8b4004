//! From a reply to a changed tree, by a program: the toolkit's example as it is written, and the whole way.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]

use std::process::Command;

use nrv::{
    Code, Context, Error, Options, Program, Toolkit, Workspace,
    apply::{ApplyStatus, ApplyStrategy},
    llm::{self, Capabilities, LlmRequest, LlmStreamEvent, Model, Orchestrator, Reply, toolkit},
    system::net::Cancel,
};
use serde_json::{Value, json};

use crate::support::site::Site;

const MODEL: &str = "meta-llama/llama-3-70b";

/// Answers every request with the same text, in two pieces.
struct Stub(String);

impl Orchestrator for Stub {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        let model = Model { context_tokens: Some(8192), ..Model::default() };
        Ok(Capabilities::new([(MODEL.to_owned(), model)]))
    }

    fn answer(&self, request: &LlmRequest, _: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        let (head, tail) = self.0.split_at(self.0.len() / 2);
        on_token(head);
        on_token(tail);
        Ok(Reply::of_text(request.model(), self.0.as_str()))
    }
}

/// The example, as it is written.
#[rustfmt::skip]
mod example {
    use nrv::llm::{self, toolkit};
    use nrv::apply::ApplyStrategy;

    pub(super) fn run(my_orchestrator: super::Stub) -> Result<(), nrv::Error> {
        // 1) Create client with your orchestrator impl (omitted)
        let client = llm::client(llm::LlmClientConfig::new(my_orchestrator))?;
        let caps = client.capabilities()?;

        // 2) Build a request (prompt + schema authoring is userland; omitted here)
        let req = llm::LlmRequest::builder(caps)
            .model("meta-llama/llama-3-70b")
            .max_tokens(1024)
            .build()?;

        let handle = client.enqueue(req)?;
        let events: Vec<llm::LlmStreamEvent> = client.stream(&handle)?.collect::<Result<_, _>>()?;

        // 3) Parse final JSON into `ApplyPlan` (userland; placeholders here)
        let plan = toolkit::ApplyPlan { diffs: vec![
            toolkit::ScaffoldDiff { path: "src/main.rs".into(), checksum: None, diff: "...".into() }
        ]};

        // 4) Apply diffs deterministically
        let outcomes = toolkit::apply_plan(&plan, ApplyStrategy::WriteBackup { backup_suffix: ".bak" })?;
        assert!(events.is_empty() && outcomes.is_empty(), "`...` is no diff: this is not reached");
        Ok(())
    }
}

fn project() -> Site {
    let site = Site::new(0);
    site.write("src/main.rs", "hello\n");
    site.commit();
    site
}

/// The current folder belongs to the whole process, so that this one starts itself again in another.
#[test]
fn the_example_is_run_as_it_is_written_and_its_placeholder_is_refused() {
    const INSIDE: &str = "NRV_TEST_INSIDE_A_SCAFFOLD";
    if std::env::var_os(INSIDE).is_some() {
        let error = example::run(Stub("{\"diffs\":[]}".to_owned())).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput, "{error}");
    } else {
        let site = project();
        let before = site.tree();
        let name = "scaffold::the_example_is_run_as_it_is_written_and_its_placeholder_is_refused";
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = site.tame(&mut again).env(INSIDE, "1").args(["--exact", name]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        site.last_ended("failed");
        assert_eq!(site.tree(), before);
    }
}

/// The text that a model's stream comes to.
fn streamed(reply: &Value) -> Result<String, Error> {
    let client = llm::client(llm::LlmClientConfig::new(Stub(reply.to_string())))?;
    let request = LlmRequest::builder(client.capabilities()?)
        .model(MODEL)
        .prompt("greet the world")
        .schema(llm::plan_schema())
        .max_tokens(1024)
        .build()?;
    let mut text = String::new();
    for event in client.stream(&client.enqueue(request)?)? {
        if let LlmStreamEvent::Token { text: piece } = event? {
            text.push_str(&piece);
        }
    }
    Ok(text)
}

#[test]
fn a_plan_goes_from_the_stream_to_the_tree_and_its_commands_are_run() -> Result<(), Error> {
    let site = project().policy("[[exec.allow]]\nprefix = ['grep']\n");
    let reply = json!({
        "diffs": [
            {"path": "src/main.rs", "unified_diff": "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-hello\n+world\n"},
            {"path": "docs/a.md", "unified_diff": "--- /dev/null\n+++ b/docs/a.md\n@@ -0,0 +1 @@\n+a\n"},
        ],
        "post": {"commands": [{"program": "grep", "args": ["world", "src/main.rs"], "timeout_ms": 60_000}]},
    });
    let plan: toolkit::ScaffoldPlan = toolkit::parse_plan(&streamed(&reply)?)?;
    let commands: Vec<toolkit::CommandOptions> = plan.post.commands.into_iter().map(Into::into).collect();
    let plan = toolkit::ApplyPlan { diffs: plan.diffs };

    let options = Options { program: Program::Path(crate::repository::nrv().into()), ..Options::default() };
    let toolkit = Toolkit::with_context(Context::new(Workspace::open(&site.root())?, options)?);
    let before = site.tree();
    let dry = toolkit.apply_plan(&plan, ApplyStrategy::DryRun)?;
    assert!(dry.iter().all(|outcome| outcome.status == ApplyStatus::Applied && !outcome.written));
    assert_eq!(site.tree(), before);

    let outcomes = toolkit.apply_plan(&plan, ApplyStrategy::WriteBackup { backup_suffix: ".bak" })?;
    assert_eq!(outcomes.iter().map(|outcome| outcome.path.as_str()).collect::<Vec<_>>(), ["src/main.rs", "docs/a.md"]);
    assert_eq!((site.read("src/main.rs"), site.read("src/main.rs.bak")), (b"world\n".to_vec(), b"hello\n".to_vec()));
    let [ran] = &toolkit.verify(&commands)?[..] else { panic!("there is one command") };
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "world\n"));
    Ok(())
}

#[test]
fn what_stands_in_the_place_of_left_out_fields_is_left_out() -> Result<(), Error> {
    let diff = toolkit::ScaffoldDiff { path: "a".into(), checksum: None, diff: "d".into() };
    let text = json!({
        "diffs": [{"path": "a", "checksum": null, "unified_diff": "d"}],
        "post": {"commands": [{"program": "true", "args": null, "timeout_ms": null}]},
    });
    let plan: toolkit::ScaffoldPlan = toolkit::parse_plan(&text.to_string())?;
    assert_eq!((&plan.diffs, plan.post.commands[0].args.len()), (&vec![diff], 0));
    let text = json!({"diffs": [], "post": null}).to_string();
    assert_eq!(toolkit::parse_plan::<toolkit::ScaffoldPlan>(&text)?, toolkit::ScaffoldPlan::default());
    Ok(())
}

/// Only the program grants a command's rights, such as its writes.
#[test]
fn a_plan_with_more_than_a_plan_has_is_none() {
    let plan = json!({"diffs": [], "post": {"commands": [{"program": "sh", "writes": ["**"]}]}}).to_string();
    let error = toolkit::parse_plan::<toolkit::ScaffoldPlan>(&plan).unwrap_err();
    assert_eq!((error.code(), llm::kind(&error)), (Code::ModelFailed, Some(llm::Kind::Schema)));
    let violation = &error.details()["violations"][0];
    assert_eq!((&violation["pointer"], &violation["value"]), (&json!("/post/commands/0/writes"), &json!(["**"])),);
    let error = toolkit::parse_plan::<toolkit::ApplyPlan>(&plan).unwrap_err();
    assert_eq!(error.details()["violations"][0]["pointer"], "/post");
    let error = toolkit::parse_plan::<toolkit::ApplyPlan>("```json\n{\"diffs\": []}\n```").unwrap_err();
    assert_eq!(llm::kind(&error), Some(llm::Kind::MalformedJson));
}
