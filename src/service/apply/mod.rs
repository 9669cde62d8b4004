//! Turns proposals of people and models into changes: diffs, plans of diffs, whole files.
//!
//! A [`Request`] is parsed from a call and checked. [`propose`] carries it out on a private overlay and returns a change set
//! with an outcome for each step. All steps succeed, or none takes effect. Nothing is written here.

mod backup;
mod draft;
mod effect;
mod outcome;
mod patch;
mod proposed;
mod request;
mod step;

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
};

use self::{draft::Draft, effect::Effect, step::Step};
pub use self::{
    outcome::{AppliedHunk, ApplyOptions, ApplyOutcome, ApplyStatus, ApplyStrategy, LineEnds},
    proposed::{Part, Proposed},
    request::Request,
};
use base::error::{Code, Error};
use system::workspace::{View, parallel_map};

/// The surroundings of an application.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The tree, read only.
    pub view: View<'a>,
    /// The number of threads that it may use; the result does not depend on it.
    pub threads: usize,
    /// True as soon as it must stop.
    pub cancel: &'a AtomicBool,
}

/// Carries a request out on a private overlay. Steps run in sequence: each finds the results of those before it.
///
/// An error of one step is an error of all, and names the step.
pub fn propose(ctx: &Context<'_>, request: &Request) -> Result<Proposed, Error> {
    let mut draft = Draft::new(ctx.view);
    let mut outcomes = Vec::with_capacity(request.steps().len());
    let steps = match done_before(request, &draft, &mut outcomes)? {
        true => &[],
        false => request.steps(),
    };
    for batch in batches(steps) {
        let effects = parallel_map(ctx.threads, batch, |step| {
            if ctx.cancel.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "the run was cancelled"));
            }
            step.carry_out(&draft)
        });
        if request.is_planned()
            && let Some(error) = patch::stale_files(effects.iter().filter_map(|effect| effect.as_ref().err()))
        {
            return Err(error);
        }
        for (step, effect) in batch.iter().zip(effects) {
            let Effect { seen, made, part, outcome } = effect?;
            draft.merge(seen, made, part, step.patch());
            outcomes.push(outcome);
        }
    }
    draft.check_folders()?;
    if let Some(suffix) = request.backup_suffix() {
        let backups = backup::make(&mut draft, suffix)?;
        for outcome in &mut outcomes {
            outcome.backup = backups.get(outcome.from.as_ref().unwrap_or(&outcome.path)).cloned();
        }
    }
    draft.into_proposed(outcomes)
}

/// True if every file of a plan is as the plan makes it: then there is nothing to do, whatever the files were before.
fn done_before(request: &Request, draft: &Draft<'_>, outcomes: &mut Vec<ApplyOutcome>) -> Result<bool, Error> {
    if !request.is_planned() {
        return Ok(false);
    }
    let mut done = Vec::with_capacity(request.steps().len());
    for step in request.steps() {
        match step.done_before(draft)? {
            Some(effect) => done.push(effect.outcome),
            None => return Ok(false),
        }
    }
    outcomes.extend(done);
    Ok(true)
}

/// Steps that may run in parallel: within a batch, no file occurs twice.
fn batches(mut steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    std::iter::from_fn(move || {
        let mut named = BTreeSet::new();
        let mut length = 0;
        for step in steps {
            let paths = step.paths();
            if paths.iter().any(|path| named.contains(path)) {
                break;
            }
            named.extend(paths);
            length += 1;
        }
        let (batch, rest) = steps.split_at(length);
        steps = rest;
        (!batch.is_empty()).then_some(batch)
    })
}
