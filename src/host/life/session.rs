//! A session's interface to its run beside calls: the start and end of a text, the changes so far, and those as a plan.

use std::sync::{Arc, atomic::Ordering};

use serde_json::Value;

use crate::{
    Asked, Context, Flags, Host, Plan, Position, Request, Sink,
    budget::{Budget, Deadline},
    call::llm::route,
    change::restored::restore_targets,
};
use base::{
    call::Call,
    error::{Code, Error},
};
use record::{
    Note,
    event::{Event, InputFailed, InputGiven},
};
use system::clock::Stopwatch;

impl Request {
    /// A run of texts that a person gives, under the policy of the workspace.
    ///
    /// The files that the texts will write are not known, so no file has to be clean.
    pub fn session(context: &Context, name: &str, seed: u64, flags: Flags) -> Self {
        Request {
            asked: Asked::Session { name: name.to_owned() },
            policy: context.policy.clone(),
            seed,
            flags,
            writes: None,
        }
    }
}

/// Time in which nothing is to be done, and which no budget counts.
pub struct Rest {
    budget: Arc<Budget>,
    watch: Stopwatch,
}

impl Rest {
    /// Counts time from now on.
    pub fn end(self) {
        self.budget.forgive(self.watch);
    }
}

impl Host<'_> {
    /// Stops counting time, since nothing is to be done.
    pub fn rest(&self) -> Rest {
        self.run.budget.pause();
        Rest { budget: Arc::clone(&self.run.budget), watch: Stopwatch::start() }
    }

    /// Begins a text: it is recorded.
    pub fn begin_input(&mut self, position: &Position, name: &str, text: &str) -> Result<(), Error> {
        let input = InputGiven { name: name.to_owned(), text: text.to_owned() };
        self.recorder.note(Note::at(position.as_str(), Event::Input(input.into())))
    }

    /// Takes a wish to stop back: it was about what was done when it came.
    pub fn take_back_cancel(&mut self) {
        let stop = &self.run.context.options.cancel;
        if stop.swap(false, Ordering::Relaxed) {
            match Deadline::start(self.run.budget.wall(), Arc::clone(stop)) {
                Ok(deadline) => self.run.deadline = deadline,
                // Nobody would say when to stop: nothing is done until there is a thread for that.
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    tracing::warn!("{error}");
                }
            }
        }
    }

    /// Ends a text: of attempts that it left open nothing stays.
    pub fn end_input(&mut self, position: &Position, error: Option<&Error>, sink: &mut dyn Sink) -> Result<(), Error> {
        while self.ledger.attempts.is_open() {
            self.pipeline(position, sink).end_attempt(false)?;
        }
        let Some(error) = error else { return Ok(()) };
        let failed = InputFailed { error: error.clone() };
        self.recorder.note(Note::at(position.as_str(), Event::InputFailed(failed.into())))
    }

    /// A call as gates judge it: one to a language model names the provider that it goes to.
    pub fn as_judged(&self, call: &Call) -> Call {
        route::judged(&self.run.policy, &self.run.context.options.orchestrators, call).into_owned()
    }

    /// Returns the used and the remaining amount of each budget, in the form that scripts see.
    pub fn describe_budget(&self) -> Value {
        self.run.budget.describe()
    }

    /// How many files are proposed, or changed.
    pub fn files_so_far(&self) -> usize {
        if self.run.flags.dry_run { self.draft.proposed.len() } else { self.ledger.changed_files(0) }
    }

    /// Returns the changes that are proposed or made so far, as a patch without secrets.
    pub fn patch_so_far(&self) -> Result<Vec<u8>, Error> {
        let patch = match self.run.flags.dry_run {
            true => self.draft.all_previewed(&self.run, &self.tally.violations)?.patch,
            false => {
                restore_targets(&self.recorder.folder, &self.ledger.transactions, true)?.patch(self.run.context)?
            }
        };
        Ok(self.run.redactor().shown_patch(&patch).into_owned())
    }

    /// Returns the changes that a dry run proposes so far, as a plan.
    ///
    /// `verification_failed` if a commitment does not hold then, `invalid_input` if the run is no dry run.
    pub fn plan_so_far(&mut self, sink: &mut dyn Sink) -> Result<Plan, Error> {
        if !self.run.flags.dry_run {
            return Err(Error::new(
                Code::InvalidInput,
                "changes are made at once here, so that there is nothing to apply",
            ));
        }
        self.pledges().verify_commitments(sink)?;
        let preview = self.draft.all_previewed(&self.run, &self.tally.violations)?;
        Plan::of_preview(self.run.context, self.recorder.folder.id(), &preview, self.confirmations.would_ask())
    }
}
