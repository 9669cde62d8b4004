//! `nrv fleet collect --apply` and `nrv fleet rollback`: approved patches become branches and change requests, and both are taken back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{super::Here, Place, client::Client, exit_code};
use crate::face::{
    cli::{
        arguments::{Cli, FleetRollbackArguments},
        output::Output,
        signals,
    },
    fleet::{Collected, CommitForm, Delivered, Kind, Plan, Row, Task, Worker},
};
use base::{
    error::{Code, Error},
    text::{counted, escape},
};
use script::remote::check_tokens;
use system::store::Store;

/// The branches that were pushed or removed, those that were so before, and those that could not be.
#[derive(Default)]
struct Tally {
    /// How many were tried now.
    tried: usize,
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
        let hint = error.hint_text().map(|hint| format!(" ({hint})")).unwrap_or_default();
        out.say(&format!("{}: {}: {}{hint}", task.name, error.code().as_str(), escape(error.message())));
        self.tried += 1;
        self.rows.push(json!({"name": task.name, "error": error}));
        // What can be tried again says less than what can't.
        let is_first = self.refused.as_ref().is_none_or(|first| first.code() == Code::Temporary);
        if is_first {
            self.refused = Some(error);
        }
        Ok(())
    }

    fn conclude(self, (verb, more): (&str, &str), out: &mut Output) -> u8 {
        let Tally { done, before, rows, refused, .. } = self;
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

fn worker<'w>(here: &'w Here, plan: &'w Plan, store: &'w Store, take_over: bool) -> Worker<'w> {
    let options = &here.context.options;
    Worker { head: &plan.head, store, options, take_over }
}

/// Pushes the branches of a collection whose patches were approved, and opens their requests. The terms are the approved hash, the most tasks
/// that are tried, and whether deliveries of other processes are taken over.
pub(super) fn apply(
    (cli, here): (&Cli, &Here),
    (plan, store): (&Plan, &Store),
    collected: &Collected,
    (approved, limit, take_over): (&str, Option<usize>, bool),
    out: &mut Output,
) -> Result<u8, Error> {
    let form = form(plan)?;
    let patches = collected.patches.to_string();
    if approved != patches {
        let message = format!("the patches are not those that were approved: their hash is {patches}");
        return Err(Error::new(Code::StalePreimage, message).hint("look at what was collected, and approve that hash"));
    }
    check_tokens(&here.context.options.environment)?;
    let mut client = Client::open(cli, here, plan.head.request.as_ref(), out)?;
    let worker = worker(here, plan, store, take_over);
    let mut tally = Tally::default();
    let tasks: BTreeMap<_, _> = plan.tasks.iter().map(|task| (task.id, task)).collect();
    let changed = |row: &&Row| row.outcome.kind == Kind::Changed;
    let mut open = 0;
    for row in collected.rows.iter().filter(changed) {
        let Some(task) = tasks.get(&row.outcome.task) else { continue };
        if limit.is_some_and(|limit| tally.tried >= limit) {
            open += usize::from(!worker.is_delivered((task, row), form).unwrap_or(false));
            continue;
        }
        match worker.deliver((task, row), form, &mut |step, command| client.run(step, command)) {
            Ok((delivered, true)) => {
                (tally.tried, tally.done) = (tally.tried + 1, tally.done + 1);
                out.say(&format!("{}: {}", row.name, delivered.request.as_ref().unwrap_or(&delivered.branch)));
                tally.rows.push(row_of(row, &delivered));
            }
            Ok((delivered, false)) => {
                tally.before += 1;
                tally.rows.push(row_of(row, &delivered));
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

fn row_of(row: &Row, delivered: &Delivered) -> Value {
    json!({"name": row.name, "branch": delivered.branch, "commit": delivered.commit, "request": delivered.request})
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
    let worker = worker(here, plan, store, false);
    let tasks: BTreeMap<_, _> = plan.tasks.iter().map(|task| (task.id, task)).collect();
    for row in collected.rows.iter().filter(|row| row.outcome.kind == Kind::Changed) {
        let Some(task) = tasks.get(&row.outcome.task) else { continue };
        write(&row.name, &worker.bundle(task, row, form)?)?;
    }
    Ok(())
}

/// Closes the requests and removes the branches that were pushed, where nobody has committed on them.
pub(super) fn rollback(cli: &Cli, arguments: &FleetRollbackArguments, out: &mut Output) -> Result<u8, Error> {
    let here = &Here::without_policy(cli)?;
    signals::listen(&here.context.options, &here.meter)?;
    let Place { plan, store } = Place::open(here, &arguments.place)?;
    let form = form(&plan)?;
    check_tokens(&here.context.options.environment)?;
    let worker = worker(here, &plan, &store, arguments.take_over);
    let begun = worker.begun()?;
    if !plan.tasks.iter().any(|task| begun.contains(&task.id.to_string())) {
        return Err(
            Error::new(Code::NotFound, "the store has no branch of this plan").hint("look at the store's address")
        );
    }
    let mut client = Client::open(cli, here, plan.head.request.as_ref(), out)?;
    let mut tally = Tally::default();
    for task in plan.tasks.iter().filter(|task| begun.contains(&task.id.to_string())) {
        match worker.take_back(task, form, &mut |step, command| client.run(step, command)) {
            Ok(None) => {}
            Ok(Some((branch, is_removed))) => {
                *if is_removed { &mut tally.done } else { &mut tally.before } += 1;
                tally.rows.push(json!({"name": task.name, "branch": branch, "removed": is_removed}));
            }
            Err(error) => tally.refuse(task, error, out)?,
        }
    }
    let is_changed = tally.refused.as_ref().is_some_and(|error| error.code() == Code::StalePreimage);
    let more = if is_changed { " Those with other commits stay: `git revert` takes back what was merged." } else { "" };
    Ok(tally.conclude(("removed", more), out))
}
