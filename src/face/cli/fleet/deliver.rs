//! `nrv fleet collect --apply` and `nrv fleet rollback`: approved patches become branches and change requests, and both are taken back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{super::Here, Place, client::Client, exit_code};
use crate::{
    base::{
        error::{Code, Error},
        text::{counted, escape},
    },
    face::{
        cli::{
            arguments::{Cli, FleetPlaceArguments},
            output::Output,
            signals,
        },
        fleet::{Collected, CommitForm, Kind, Plan, Row, Task, Worker},
    },
    script::remote::check_tokens,
    system::store::Store,
};

/// The branches that were pushed or removed, those that were so before, and those that could not be.
#[derive(Default)]
struct Tally {
    done: usize,
    before: usize,
    rows: Vec<Value>,
    refused: Option<Error>,
}

impl Tally {
    /// Notes an error of one task; an error that concerns all is returned.
    fn refuse(&mut self, task: &Task, error: Error, out: &mut Output) -> Result<(), Error> {
        if error.code() == Code::Cancelled {
            return Err(error);
        }
        out.say(&format!("{}: {}: {}", task.name, error.code().as_str(), escape(error.message())));
        self.rows.push(json!({"name": task.name, "error": error}));
        // What can be tried again says less than what can't.
        let is_first = self.refused.as_ref().is_none_or(|first| first.code() == Code::Temporary);
        if is_first {
            self.refused = Some(error);
        }
        Ok(())
    }

    fn conclude(self, (verb, more): (&str, &str), out: &mut Output) -> u8 {
        let Tally { done, before, rows, refused } = self;
        if out.is_json() {
            out.document(&json!({"branches": rows, "done": done, "before": before}));
        }
        let before = if before > 0 { format!(", {before} before") } else { String::new() };
        out.say(&format!("{} {verb}{before}.{more}", counted_branches(done)));
        refused.map_or(0, |error| error.code().exit_code())
    }
}

fn counted_branches(n: usize) -> String {
    if n == 1 { "1 branch".to_owned() } else { format!("{n} branches") }
}

fn worker<'w>(here: &'w Here, plan: &'w Plan, store: &'w Store) -> Worker<'w> {
    let options = &here.context.options;
    Worker { head: &plan.head, store, options, take_over: false }
}

/// Pushes the branches of a collection whose patches were approved, and opens their requests.
pub(super) fn apply(
    (cli, here): (&Cli, &Here),
    (plan, store): (&Plan, &Store),
    collected: &Collected,
    (approved, limit): (&str, Option<usize>),
    out: &mut Output,
) -> Result<u8, Error> {
    let form = form(plan)?;
    let patches = collected.patches.to_string();
    if approved != patches {
        let message = format!("the patches are not those that were approved: their hash is {patches}");
        return Err(Error::new(Code::StalePreimage, message).hint("look at what was collected, and approve that hash"));
    }
    check_tokens(&here.context.options.environment)?;
    let mut client = Client::open(cli, plan.head.request.as_ref(), out)?;
    let worker = worker(here, plan, store);
    let mut tally = Tally::default();
    let tasks: BTreeMap<_, _> = plan.tasks.iter().map(|task| (task.id, task)).collect();
    let changed = |row: &&Row| row.outcome.kind == Kind::Changed;
    let mut open = 0;
    for row in collected.rows.iter().filter(changed) {
        let Some(task) = tasks.get(&row.outcome.task) else { continue };
        if limit.is_some_and(|limit| tally.done >= limit) {
            open += usize::from(!is_delivered(&worker, task)?);
            continue;
        }
        match deliver(&worker, (task, row), form, &mut client) {
            Ok((delivered, is_new)) => {
                *if is_new { &mut tally.done } else { &mut tally.before } += 1;
                tally.rows.push(delivered);
            }
            Err(error) => tally.refuse(task, error, out)?,
        }
    }
    let more = if open > 0 { format!(" {} to push: start it again.", counted(open, "task")) } else { String::new() };
    let verb = if plan.head.request.is_some() { "pushed and requested" } else { "pushed" };
    let code = tally.conclude((verb, &more), out);
    // A collection that lacks tasks or has failures is no success, whatever was pushed.
    Ok(if code == 0 { exit_code(collected) } else { code })
}

/// The form of the plan's commits.
fn form(plan: &Plan) -> Result<&CommitForm, Error> {
    plan.head.commit.as_ref().ok_or_else(|| {
        Error::new(Code::InvalidInput, "the plan says nothing of branches and commits")
            .hint("give `fleet.toml` a table `[commit]` with `branch`, `message` and `author`, and plan again")
    })
}

/// Makes a bundle of each patch, and gives it to `write` with the task's name.
pub(super) fn bundles(
    here: &Here,
    (plan, store): (&Plan, &Store),
    collected: &Collected,
    write: impl Fn(&str, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let form = form(plan)?;
    check_tokens(&here.context.options.environment)?;
    let worker = worker(here, plan, store);
    let tasks: BTreeMap<_, _> = plan.tasks.iter().map(|task| (task.id, task)).collect();
    for row in collected.rows.iter().filter(|row| row.outcome.kind == Kind::Changed) {
        let Some(task) = tasks.get(&row.outcome.task) else { continue };
        write(&row.name, &worker.bundle(task, row, form)?)?;
    }
    Ok(())
}

/// Pushes one branch and opens its request; its row, and false if both was done before.
fn deliver(
    worker: &Worker<'_>,
    (task, row): (&Task, &Row),
    form: &CommitForm,
    client: &mut Client,
) -> Result<(Value, bool), Error> {
    let (delivered, is_pushed) = worker.deliver(task, row, form)?;
    let told = json!({"name": row.name, "branch": delivered.branch, "commit": delivered.commit});
    let Some(request) = &worker.head.request else { return Ok((told, is_pushed)) };
    let (address, is_opened) =
        worker.request((task, &delivered), (form, request), &mut |command| client.run(command))?;
    if is_opened {
        client.rest();
    }
    let mut told = told;
    told["request"] = json!(address);
    Ok((told, is_pushed || is_opened))
}

/// True if nothing of a task's delivery is left to do.
fn is_delivered(worker: &Worker<'_>, task: &Task) -> Result<bool, Error> {
    let is_requested = worker.head.request.is_none() || worker.requested(task.id)?.is_some();
    Ok(is_requested && worker.delivered(task.id)?.is_some())
}

/// Closes the requests and removes the branches that were pushed, where nobody has committed on them.
pub(super) fn rollback(cli: &Cli, arguments: &FleetPlaceArguments, out: &mut Output) -> Result<u8, Error> {
    let here = &Here::without_policy(cli)?;
    signals::listen(&here.context.options, &here.meter)?;
    let Place { plan, store } = Place::open(here, arguments)?;
    check_tokens(&here.context.options.environment)?;
    let mut client = Client::open(cli, plan.head.request.as_ref(), out)?;
    let worker = worker(here, &plan, &store);
    let mut tally = Tally::default();
    for task in &plan.tasks {
        let Some(delivered) = worker.delivered(task.id)? else { continue };
        match worker.take_back(task, &delivered, &mut |command| client.run(command)) {
            Ok(is_removed) => {
                *if is_removed { &mut tally.done } else { &mut tally.before } += 1;
                tally.rows.push(json!({"name": task.name, "branch": delivered.branch, "removed": is_removed}));
                client.rest();
            }
            Err(error) => tally.refuse(task, error, out)?,
        }
    }
    let more =
        if tally.refused.is_some() { " The others were merged or changed: `git revert` takes them back." } else { "" };
    Ok(tally.conclude(("removed", more), out))
}
