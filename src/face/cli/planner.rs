//! `nrv planner`: plans of adapters, from their own counts or from a model. They change nothing.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    arguments::{PlannerCommand, PlannerPlanArguments},
    here::Here,
    output::Output,
    run::{parse_json, summarise},
    terminal::Terminal,
};
use base::{
    error::{Code, Error},
    text::counted,
};
use flow::{
    Door, RunDoor,
    planner::{self, Planner, Request as PlanRequest},
};
use host::{Flags, Host, Request};

pub(super) fn planner(here: &Here, command: &PlannerCommand, out: &mut Output) -> Result<u8, Error> {
    match command {
        PlannerCommand::Plan(arguments) => plan(here, arguments, out),
        PlannerCommand::Validate { plan } => validate(here, plan, out),
    }
}

/// The plan is the data of the command: it goes to stdout as JSON in any case.
fn plan(here: &Here, arguments: &PlannerPlanArguments, out: &mut Output) -> Result<u8, Error> {
    let PlannerPlanArguments { goal, findings, with_model, provider, model } = arguments;
    let findings = match findings {
        Some(file) => Deserialize::deserialize(parse_json(&here.read_input(file)?, file)?).map_err(|error| {
            Error::new(Code::InvalidInput, format!("`{}` has no inputs by adapter: {error}", file.display()))
        })?,
        None => std::collections::BTreeMap::new(),
    };
    let request = PlanRequest { goal: goal.clone(), findings };
    let planner = Planner { provider: provider.clone(), model: model.clone(), max_tokens: None };
    let made = within_run(here, "planner plan", out, |door| match with_model {
        true => planner::plan_with_model(door, &request, &planner),
        false => planner::plan(door, &request),
    })?;
    let plan = match made {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    out.document(&plan);
    out.say(&format!("{}.", counted(requests(&plan), "request")));
    Ok(0)
}

fn validate(here: &Here, file: &Path, out: &mut Output) -> Result<u8, Error> {
    let plan = parse_json(&here.read_input(file)?, file)?;
    let made = within_run(here, "planner validate", out, |door| planner::validate(door, &plan))?;
    let checked = match made {
        Ok(checked) => checked,
        Err(code) => return Ok(code),
    };
    if out.is_json() {
        out.document(&checked);
        return Ok(0);
    }
    for request in checked["tool_requests"].as_array().into_iter().flatten() {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        out.line(&format!("{}  {}  {}", text("id"), text("tool"), text("reason")));
    }
    if requests(&checked) > 0 {
        out.line("");
        out.line(checked["orders"].as_str().unwrap_or_default());
    }
    out.say(&format!("The plan holds: {}.", counted(requests(&checked), "request")));
    Ok(0)
}

fn requests(plan: &Value) -> usize {
    plan["tool_requests"].as_array().map_or(0, Vec::len)
}

/// The result of a protocol in a run of its own that changes nothing, or the exit code of the run.
fn within_run<T: Serialize>(
    here: &Here,
    name: &str,
    out: &mut Output,
    protocol: impl FnOnce(&mut dyn Door) -> Result<T, Error>,
) -> Result<Result<Value, u8>, Error> {
    let flags = Flags { dry_run: true, allow_dirty: true, ..Flags::default() };
    let request = Request { flags, ..Request::program(&here.context, name) };
    let mut terminal = Terminal::new(here, out)?;
    let mut host = Host::start(&here.context, request, &mut terminal)?;
    let outcome = protocol(&mut RunDoor::new(&mut host, &mut terminal)).and_then(|result| {
        serde_json::to_value(result)
            .map_err(|error| Error::new(Code::Internal, format!("no plan can be written: {error}")))
    });
    let finished = host.finish(outcome, &mut terminal)?;
    drop(terminal);
    if let Some(error) = &finished.error {
        if out.is_json() {
            out.document(&json!({"error": error, "exit_code": finished.exit_code(), "run": finished.run}));
        }
        summarise(&finished, out);
        return Ok(Err(finished.exit_code()));
    }
    Ok(Ok(finished.result))
}
