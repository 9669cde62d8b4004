//! `nrv fleet work`: does tasks of a plan, the canaries first if there are to be some.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{Here, arguments::FleetWorkArguments, ask::ask, output::Output, signals},
    Place, summary,
};
use crate::face::fleet::{self, Head, Kind, Outcome, Plan, Task, Worked, Worker, canaries};
use base::{
    error::{Code, Error},
    text::{counted, escape},
};
use script::remote::check_tokens;
use system::{clock, store::Store};

pub(super) fn work(here: &Here, arguments: &FleetWorkArguments, out: &mut Output) -> Result<u8, Error> {
    signals::listen(&here.context.options, &here.meter)?;
    let Place { plan, store } = part(here, arguments)?;
    let worker =
        Worker { head: &plan.head, store: &store, options: &here.context.options, take_over: arguments.take_over };
    check_tokens(&here.context.options.environment)?;
    store.check()?;
    let is_named = is_named(arguments);
    let canary = arguments.canary.filter(|_| !is_named);
    let must_do = is_named || canary.is_some();
    let mut shift = Shift { worker, must_do, code: 0, again: None, rows: Vec::new() };
    let worked = match canary {
        None => shift.all(chosen(&plan, arguments)?, out),
        Some(n) => with_canaries(here, &mut shift, (&plan, &store), (n.get(), arguments.yes), out),
    };
    match worked {
        Err(error) if error.code() == Code::Cancelled => Err(error),
        // What was done is told in any case.
        Err(error) => {
            let code = error.code().exit_code();
            Shift { again: Some(error), ..shift }.conclude(out);
            Ok(code)
        }
        Ok(()) => Ok(shift.conclude(out)),
    }
}

/// Does some tasks first, and the others after a yes.
fn with_canaries(
    here: &Here,
    shift: &mut Shift<'_>,
    (plan, store): (&Plan, &Store),
    (n, yes): (usize, bool),
    out: &mut Output,
) -> Result<(), Error> {
    let numbers: BTreeSet<usize> = canaries(plan.tasks.len(), n).into_iter().collect();
    let (first, others): (Vec<_>, Vec<_>) =
        plan.tasks.iter().cloned().enumerate().partition(|(number, _)| numbers.contains(number));
    let tasks = |numbered: Vec<(usize, Task)>| numbered.into_iter().map(|(_, task)| task).collect::<Vec<_>>();
    let (first, others) = (Plan { head: plan.head.clone(), tasks: tasks(first) }, tasks(others));
    shift.all(&first.tasks, out)?;
    if !shift.is_well() {
        out.say("The other tasks were not begun.");
        return Ok(());
    }
    if others.is_empty() {
        return Ok(());
    }
    approve(here, (store, &first), others.len(), yes, out)?;
    shift.must_do = false;
    shift.all(&others, out)
}

/// Shows what canaries have changed, and asks if the other tasks may be begun; without a yes it is an error.
fn approve(
    here: &Here,
    (store, canaries): (&Store, &Plan),
    others: usize,
    yes: bool,
    out: &mut Output,
) -> Result<(), Error> {
    let mut patches = Vec::new();
    let collected = fleet::collect(store, canaries, &here.context.options, &mut |_, patch, _| {
        patches.extend_from_slice(patch.unwrap_or_default());
        Ok(())
    })?;
    if !out.is_json() {
        out.data(&summary(&collected));
    }
    match yes {
        true => Ok(()),
        false => {
            ask(here, format!("do the other {}", counted(others, "task")), patches, "the others were not begun", out)
        }
    }
}

/// One worker's work.
struct Shift<'w> {
    worker: Worker<'w>,
    /// True if a task that another worker has is to be tried again: there is no other to do.
    must_do: bool,
    /// The code of the first run that failed or waits.
    code: u8,
    /// Why a task is to be tried again.
    again: Option<Error>,
    rows: Vec<Outcome>,
}

impl Shift<'_> {
    /// Does tasks. An error ends the work; one that concerns a task alone is noted.
    fn all(&mut self, tasks: &[Task], out: &mut Output) -> Result<(), Error> {
        for task in tasks {
            match self.worker.work(task) {
                Ok(Worked::Done(outcome, is_new)) => {
                    tell(task, &outcome, is_new, out);
                    self.code = if self.code == 0 { outcome.exit_code } else { self.code };
                    self.rows.push(*outcome);
                }
                Ok(Worked::Busy { until_ms, rests }) => {
                    let until = clock::rfc3339(until_ms);
                    let (what, hint) = match rests {
                        true => ("it rests after a failure", "start it again after that time"),
                        false => (
                            "another worker has it",
                            "start it again later, or with `--take-over` if that worker is gone",
                        ),
                    };
                    out.say(&format!("{}: {what} until {until}", task.name));
                    if self.again.is_none() && (self.must_do || rests) {
                        let error = Error::new(Code::Temporary, format!("`{}` can't be done now: {what}", task.name));
                        self.again = Some(error.hint(hint));
                    }
                }
                Err(error) if matches!(error.code(), Code::Cancelled | Code::BudgetExhausted) => return Err(error),
                Err(error) if Store::is_error_of(&error) => return Err(error),
                // The other tasks have nothing to do with it.
                Err(error) => {
                    out.say(&format!("{}: not done now: {}", task.name, escape(error.message())));
                    self.again.get_or_insert(error);
                }
            }
        }
        Ok(())
    }

    /// True if all tasks are done and none has failed or waits.
    fn is_well(&self) -> bool {
        self.code == 0 && self.again.is_none()
    }

    fn conclude(self, out: &mut Output) -> u8 {
        if out.is_json() {
            out.document(&self.rows);
        }
        let Some(error) = self.again else { return self.code };
        out.explain(&error);
        Code::Temporary.exit_code()
    }
}

/// True if the options name tasks.
fn is_named(arguments: &FleetWorkArguments) -> bool {
    arguments.task.is_some() || arguments.index.is_some() || arguments.index_env.is_some()
}

/// The plan, or the part of it that a number stands for, with its store.
fn part(here: &Here, arguments: &FleetWorkArguments) -> Result<Place, Error> {
    let Some(number) = number(arguments, &here.context.options.environment)? else {
        return Place::open(here, &arguments.place);
    };
    let each = arguments.each.max(1);
    let from = number.saturating_mul(each);
    let numbers = |head: &Head| match arguments.canary {
        None => (from..head.tasks.min(from.saturating_add(each))).collect(),
        Some(n) => canaries(head.tasks, n.get()).into_iter().skip(from).take(each).collect(),
    };
    let place = Place::read(here, &arguments.place, |input| Plan::read_part(input, numbers))?;
    if place.plan.tasks.is_empty() {
        let tasks = match arguments.canary {
            None => counted(place.plan.head.tasks, "task"),
            Some(n) => format!("{} to be done first", counted(canaries(place.plan.head.tasks, n.get()).len(), "task")),
        };
        return Err(Error::new(Code::Usage, format!("there is no task {number}: the plan has {tasks}")));
    }
    Ok(place)
}

/// The number that the options give, or the variable that they name.
fn number(arguments: &FleetWorkArguments, environment: &BTreeMap<String, String>) -> Result<Option<usize>, Error> {
    let Some(name) = &arguments.index_env else { return Ok(arguments.index) };
    let value = environment.get(name).ok_or_else(|| {
        Error::new(Code::Usage, format!("the variable `{}` is not set", escape(name)))
            .hint("the engine sets it where it starts a task")
    })?;
    let number = value
        .parse()
        .map_err(|_| Error::new(Code::Usage, format!("`{}` is no number: {}", escape(name), value.escape_debug())))?;
    Ok(Some(number))
}

/// The task of that name, or all that were read.
fn chosen<'p>(plan: &'p Plan, arguments: &FleetWorkArguments) -> Result<&'p [Task], Error> {
    let Some(name) = &arguments.task else { return Ok(&plan.tasks) };
    let at = plan.tasks.iter().position(|task| task.name == *name || task.id.to_string() == *name);
    let at = at.ok_or_else(|| Error::new(Code::NotFound, format!("the plan has no task `{}`", escape(name))))?;
    Ok(&plan.tasks[at..=at])
}

fn tell(task: &Task, outcome: &Outcome, is_new: bool, out: &mut Output) {
    let before = if is_new { "" } else { ", as was found before" };
    let what = match (&outcome.kind, &outcome.error) {
        (Kind::Changed, _) => format!("{} changed", counted(outcome.files_changed, "file")),
        (kind, Some(error)) => format!("{}: {}: {}", kind.words(), error.code, escape(&error.message)),
        (kind, None) => kind.words().to_owned(),
    };
    out.say(&format!("{}: {what}{before}", task.name));
}
