//! A handler of one's own: it reads replies of two lines, a path and a text, and has the file created.
//!
//! `cargo run --example handler`
#![expect(clippy::disallowed_methods, reason = "an example makes a workspace of its own")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]

use std::{error::Error as StdError, process::ExitCode};

use nrv::{
    Call, Context, Error, Host, Options, Request, Silent, State, Workspace,
    base::call::Summon,
    flow::{
        Door, RunDoor,
        agent::{Action, ActionHandler, Conversation, Reply, Turn, converse},
    },
};
use serde_json::json;

/// Reads a path in the first line and a text in the second.
struct TwoLines;

impl ActionHandler for TwoLines {
    fn handle(&mut self, reply: &Reply) -> Result<Turn, Error> {
        let Some((path, text)) = reply.text.split_once('\n') else { return Ok(Turn::unread(reply)) };
        let create = json!({"path": path.trim(), "text": format!("{}\n", text.trim())});
        let action = |tool: &str, params| Action { id: tool.to_owned(), tool: tool.to_owned(), params };
        let actions = vec![action("apply_create", create), action("report_done", json!({}))];
        Ok(Turn { message: reply.text.clone(), actions, feedback: None })
    }

    fn instructions(&self) -> String {
        "Reply with a path in the first line, and a text in the second.".to_owned()
    }
}

fn main() -> ExitCode {
    // Its own hidden subcommands look at the commitments.
    nrv::entry::main_if_requested().unwrap_or_else(|| match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

fn show() -> Result<(), Box<dyn StdError>> {
    let folder = tempfile::tempdir()?;
    let model = tempfile::NamedTempFile::new()?;
    // A program in place of a model.
    std::fs::write(model.path(), "{\"reply\": {\"text\": \"page.md\\nA page.\"}}\n")?;
    let program = json!(["sh", "-c", format!("cat >/dev/null; cat {}", model.path().display())]);
    let policy = format!("[llm.providers.fake]\ndialect = 'command'\nmodel = 'm'\nprogram = {program}\n");
    std::fs::write(folder.path().join("nrv.toml"), policy)?;
    let context = Context::new(Workspace::open(folder.path())?, Options::default())?;
    let mut host = Host::start(&context, Request::program(&context, "handler"), &mut Silent)?;
    let outcome = work(&mut RunDoor::new(&mut host, &mut Silent));
    let finished = host.finish(outcome, &mut Silent)?;
    if finished.state != State::Done {
        return Err(format!("{:?}", finished.error).into());
    }
    println!("{}", finished.result.as_str().unwrap_or_default());
    Ok(())
}

fn work(door: &mut dyn Door) -> Result<serde_json::Value, Error> {
    let page = json!({"assignment": "write a page", "tools": ["apply_create"],
        "commitments": [{"description": "there is a page", "assertion": {"file_exists": "page.md"}}]});
    let summon: Summon = serde_json::from_value(page).unwrap_or_default();
    let agent = door.perform(Call::AgentSummon(Box::new(summon)))?;
    let conversation =
        Conversation { request: "Begin.".to_owned(), max_turns: 3, max_actions: 9, max_tokens: 500, schema: None };
    let id = agent["id"].as_str().unwrap_or_default();
    let conversed = converse(door, id, &mut TwoLines, &conversation)?;
    let name = agent["name"].as_str().unwrap_or_default();
    let state = serde_json::to_value(conversed.state).unwrap_or_default();
    Ok(json!(format!("The agent {name} is {} after {} turn.", state.as_str().unwrap_or_default(), conversed.turns)))
}
