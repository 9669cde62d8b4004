//! Tools of MCP servers at the door: a call that the policy permits, of a tool as a person approved it.
//!
//! What a server does elsewhere nobody can undo, so that a call is in the record before it is made. A dry run makes it only if the approved
//! definition says that it has no effect.

use serde_json::{Map, Value, json};

use super::{
    exec::recorded_program,
    mcp_session::{Named, Place, Session, Tree},
    server_process::Starting,
};
use crate::{ApprovedTools, budget::Demand, change::pipeline::Pipeline, recorder::Recorder};
use base::{
    call::{Call, tool_of_call},
    error::{Code, Error},
    pulse::Pulse,
    text::{escape, shortened},
};
use record::{
    Note,
    event::{Confined, Event, ExecStarted},
};
use system::{
    clock::Stopwatch,
    mcp_client::{Definition, Reply, failed},
};

/// Characters of the words of a tool that an error shows.
const SHOWN: usize = 2000;

/// The tools of a server that a script may use: each as it was approved.
pub(crate) fn tools(pipeline: &mut Pipeline<'_, '_>, server: &str) -> Result<Value, Error> {
    let run = pipeline.run;
    let named = Named::of(&run.policy, server)?;
    let approved = &run.context.options.tools;
    converse(pipeline, named, |_, session, _| {
        let rows = named.server.tools.iter().map(|name| {
            let tool = as_approved(approved, named, session.tools(), name)?;
            Ok(json!({
                "name": tool.name, "description": tool.description, "input_schema": tool.input_schema,
                "read_only": tool.is_read_only(),
            }))
        });
        rows.collect()
    })
}

/// Calls a tool of a server.
pub(crate) fn call_tool(
    pipeline: &mut Pipeline<'_, '_>,
    call: &Call,
    (name, params): (&str, &Value),
) -> Result<Value, Error> {
    let Some((server, tool)) = tool_of_call(name) else {
        return Err(Error::new(Code::Internal, format!("`{name}` is no tool of a server")));
    };
    let run = pipeline.run;
    let named = Named::of(&run.policy, server)?;
    let approved = &run.context.options.tools;
    let params = match params {
        Value::Object(params) => params.clone(),
        Value::Null => Map::new(),
        _ => return Err(Error::new(Code::InvalidInput, format!("the params of `{name}` are no map"))),
    };
    let one = Demand { mcp: 1, ..Demand::default() };
    run.budget.reserve(one)?;
    pipeline.turn.reserved.demand = one;
    // Before anything is started for it.
    approved.of(server, tool).ok_or_else(|| unapproved(named, tool))?;
    let reply = converse(pipeline, named, |pipeline, session, pulse| {
        let definition = as_approved(approved, named, session.tools(), tool)?;
        if !definition.is_read_only() {
            note_effect(pipeline, call, name)?;
        }
        session.client().call(tool, params, pulse)
    })?;
    told(named, tool, reply)
}

/// Writes a call that may have effects elsewhere to the disk before it is made. An error in a dry run.
fn note_effect(pipeline: &mut Pipeline<'_, '_>, call: &Call, name: &str) -> Result<(), Error> {
    if pipeline.run.flags.dry_run {
        let message = format!("`{name}` may have effects outside and is not made in a dry run");
        let error = Error::new(Code::Blocked, message).detail("gate", "calls");
        return Err(error.hint("a script can ask `nrv.run.mode` first"));
    }
    pipeline.recorder.note_intent(pipeline.position, call)?;
    pipeline.recorder.sync()?;
    pipeline.tally.acted = true;
    Ok(())
}

/// The reply of a tool for a script; an error if the tool says that it failed.
fn told(named: Named<'_>, tool: &str, reply: Reply) -> Result<Value, Error> {
    let text = reply.text();
    if reply.is_error {
        let words = escape(&shortened(text.trim(), SHOWN));
        return Err(failed(named.name, format_args!("says that `{tool}` failed: {words}")).detail("tool", tool));
    }
    let parts = [("text", text.into()), ("content", reply.content.into()), ("structured", reply.structured.into())];
    Ok(Value::Object(parts.map(|(key, part)| (key.to_owned(), part)).into_iter().collect()))
}

/// A tool whose definition is as it was approved.
fn as_approved<'t>(
    approved: &ApprovedTools,
    named: Named<'_>,
    tools: &'t [Definition],
    name: &str,
) -> Result<&'t Definition, Error> {
    let pinned = approved.of(named.name, name).ok_or_else(|| unapproved(named, name))?;
    let tool = tools.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| failed(named.name, format_args!("has no tool `{name}`")))?;
    if tool.sha256()? == pinned {
        return Ok(tool);
    }
    Err(refusal(named, name, "differs from its approval"))
}

fn unapproved(named: Named<'_>, tool: &str) -> Error {
    refusal(named, tool, "is not approved")
}

fn refusal(named: Named<'_>, tool: &str, why: &str) -> Error {
    let server = named.name;
    Error::new(Code::NotApproved, format!("the tool `{tool}` of the MCP server `{server}` {why}"))
        .detail("mcp_server", server)
        .detail("tool", tool)
        .hint(format!("`nrv mcp approve {server}` shows what the server says of its tools, and pins it in `nrv.lock`"))
}

/// Asks a server, after a look at its tools. A conversation begins if there is none, or if the run has changed the tree since. The time is
/// taken from that of programs.
fn converse<'r, 's, T>(
    pipeline: &mut Pipeline<'r, 's>,
    named: Named<'_>,
    ask: impl FnOnce(&mut Pipeline<'r, 's>, &Session, Pulse<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let run = pipeline.run;
    run.trusted(pipeline.sink)?;
    let reserved = run.budget.reserve_exec(named.server.timeout_ms)?;
    let watch = Stopwatch::start();
    let pulse = || {
        run.check_cancelled()?;
        match watch.elapsed_ms() < reserved.exec_ms || reserved.exec_ms == named.server.timeout_ms {
            true => named.in_time(watch),
            false => Err(run.budget.took_the_rest(&format!("the MCP server `{}`", named.name))),
        }
    };
    let asked = session(pipeline, named, &pulse).and_then(|session| match ask(pipeline, &session, &pulse) {
        Err(error) if session.client().is_over() => Err(session.end(error)),
        asked => {
            pipeline.turn.servers.keep(named.name, session);
            asked
        }
    });
    let took = Demand { exec_ms: watch.elapsed_ms(), ..Demand::default() };
    run.budget.settle(reserved, took);
    pipeline.turn.reserved.demand = pipeline.turn.reserved.demand.and(took);
    asked
}

/// The conversation with a server, taken out of those that go on, or begun. Its tools are those of now: a program need not tell that they
/// are others, and a server elsewhere can't.
fn session(pipeline: &mut Pipeline<'_, '_>, named: Named<'_>, pulse: Pulse<'_>) -> Result<Session, Error> {
    let tree = Tree { overlay: &pipeline.draft.overlay, changes: pipeline.ledger.transaction_count };
    if let Some(mut session) = pipeline.turn.servers.take(named.name, &tree) {
        match session.look(named, pulse) {
            Ok(()) => return Ok(session),
            // Servers end sessions that nobody uses: another one begins.
            Err(_) if session.client().is_over() && pulse().is_ok() => {}
            Err(error) => return Err(session.end(error)),
        }
    }
    let run = pipeline.run;
    let (id, position) = (pipeline.recorder.run_id().to_owned(), pipeline.position.as_str());
    let (recorder, acted) = (&mut *pipeline.recorder, &mut pipeline.tally.acted);
    let mut note = |start: &Starting| note_started(recorder, position, start, !named.server.network, acted);
    let place = Place { context: run.context, policy: &run.policy, tree, run: &id, note: &mut note };
    named.begin(place, pulse)
}

/// Records the program that is started and its confinement. One that may have effects elsewhere is on the disk before it starts.
fn note_started(
    recorder: &mut Recorder<'_>,
    position: &str,
    start: &Starting,
    is_alone: bool,
    acted: &mut bool,
) -> Result<(), Error> {
    let Starting { program, confinement } = start;
    let repeatable = confinement.isolated && is_alone;
    let volatile = Confined { program: Some(recorded_program(program)), confinement: confinement.clone() };
    recorder.note(Note::at(position, Event::ExecStarted(ExecStarted { repeatable, volatile }.into())))?;
    if repeatable {
        return Ok(());
    }
    *acted = true;
    recorder.sync()
}
