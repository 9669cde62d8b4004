//! When a script has ended well: every commitment is looked at, each by a process of its own, whatever becomes of the others.

use super::{Pledge, Pledges, command, hidden, outcome::Commitment, request};
use crate::{Demand, Event, Sink, call::verifier::ask_process, commitment::command::Seen};
use base::error::{Code, Error};
use record::{
    Note,
    event::{self, CommitmentVerified, SeenTimes},
};
use service::assertion::{self, Assertion, Verdict};
use system::{clock::Stopwatch, workspace::Proposed};

/// The hidden subcommand that looks at an assertion.
pub(super) const SUBCOMMAND: &str = "__check";

impl Pledges<'_, '_> {
    /// Looks at every commitment, and tells of each. `verification_failed` names those that do not hold.
    ///
    /// Any other error means that they could not all be looked at, such as `cancelled`.
    pub(crate) fn verify_commitments(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let told = self.look_at_those_of(None, &mut || false, sink)?;
        refusal(told.iter()).map_or(Ok(()), Err)
    }

    /// Looks at every commitment of an agent, or of the run itself, until `stop` says so; those that were looked at, with the result.
    pub(crate) fn look_at_those_of(
        &mut self,
        agent: Option<&str>,
        stop: &mut dyn FnMut() -> bool,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Commitment>, Error> {
        let is_of = |pledge: &Pledge| pledge.told.agent.as_deref() == agent;
        let of: Vec<usize> = (0..self.commitments.len()).filter(|at| is_of(&self.commitments[*at])).collect();
        if of.is_empty() {
            return Ok(Vec::new());
        }
        if of.iter().any(|at| self.commitments[*at].starts_program()) {
            self.run.trusted(sink)?;
        }
        let folder = "packs/commitments-proposed";
        let overlay = self.draft.write_overlay(&self.recorder.folder, folder)?;
        let mut seen = of.into_iter().take_while(|_| !stop());
        let looked = seen.try_fold(Vec::new(), |mut told, at| {
            self.look_at(at, &overlay, sink)?;
            told.push(self.commitments[at].told.clone());
            Ok::<_, Error>(told)
        });
        self.recorder.folder.remove_folder(folder)?;
        let told = looked?;
        self.recorder.sync()?;
        Ok(told)
    }

    fn look_at(&mut self, at: usize, overlay: &[Proposed], sink: &mut dyn Sink) -> Result<(), Error> {
        self.run.check_cancelled()?;
        let pledge = self.commitments[at].clone();
        let watch = Stopwatch::start();
        let Seen { verdict: Verdict { ok, reason }, output, ran } = self.see_to(&pledge, overlay)?;
        let reason = self.recorder.without_secrets(reason);
        let output = output.map(|output| self.recorder.without_secrets(output));
        let duration_ms = watch.elapsed_ms();
        let volatile = SeenTimes { duration_ms: Some(duration_ms), output: output.clone(), ran };
        let seen = CommitmentVerified { id: pledge.told.id.clone(), ok, reason: reason.clone(), volatile };
        self.recorder.note(Note::of_run(event::Event::CommitmentVerified(seen.into())))?;
        let told =
            Commitment { ok: Some(ok), reason: Some(reason), output, duration_ms: Some(duration_ms), ..pledge.told };
        self.commitments[at].told = told.clone();
        sink.event(Event::CommitmentVerified { commitment: told });
        Ok(())
    }

    fn see_to(&mut self, pledge: &Pledge, overlay: &[Proposed]) -> Result<Seen, Error> {
        let source = pledge.told.source;
        match assertion::parse(&pledge.assertion)? {
            Assertion::Command(command) => self.see_command(pledge, &command),
            Assertion::FileExists(_) | Assertion::Count(_) | Assertion::JsonValid(_) | Assertion::TreeUnchanged(_) => {
                let request = || {
                    let request =
                        request(self.run.context, &self.recorder.folder, pledge, hidden(source, &self.run.policy));
                    Ok(assertion::check::Request { overlay: overlay.to_vec(), ..request })
                };
                let timeout_ms = pledge.timeout_ms(&self.run.policy);
                let answer = ask_process(self.run.context, SUBCOMMAND, request, timeout_ms, self.run.deadline.stop())?;
                Ok(answer.unwrap_or_else(Verdict::fails).into())
            }
        }
    }

    /// Runs the command of a commitment on a view of the tree that is thrown away, and returns the result.
    fn see_command(&mut self, pledge: &Pledge, command: &assertion::Command) -> Result<Seen, Error> {
        let timeout_ms = pledge.timeout_ms(&self.run.policy);
        let reserved = match self.run.budget.reserve_exec(timeout_ms) {
            Ok(reserved) => reserved,
            Err(error) => return Ok(Verdict::fails(error.message()).into()),
        };
        let (policy, rules) = self.judges(pledge.told.source);
        let bench = command::Bench {
            context: self.run.context,
            policy,
            rules,
            view: self.draft.view(),
            run: self.recorder.folder.id(),
            dry_run: self.run.flags.dry_run,
            timeout_ms: reserved.exec_ms,
            short: reserved.exec_ms < timeout_ms,
            stop: self.run.deadline.stop(),
        };
        let watch = Stopwatch::start();
        let seen = bench.see(command);
        self.run.budget.settle(reserved, Demand { exec_ms: watch.elapsed_ms(), ..Demand::default() });
        seen
    }
}

/// The error that names the commitments that do not hold; none if all do.
fn refusal<'c>(commitments: impl Iterator<Item = &'c Commitment> + Clone) -> Option<Error> {
    let all = commitments.clone().count();
    let failed: Vec<&Commitment> = commitments.filter(|one| one.ok != Some(true)).collect();
    let first = failed.first()?;
    let names: Vec<&str> = failed.iter().map(|one| one.id.as_str()).collect();
    let what = match (failed.len(), all) {
        (1, 1) => "what the run committed to does not hold".to_owned(),
        (1, all) => format!("1 of {all} commitments does not hold"),
        (n, all) => format!("{n} of {all} commitments do not hold"),
    };
    let reason = first.reason.as_deref().unwrap_or("nobody has looked");
    let message = format!("{what}: `{}`, {}: {reason}", first.id, first.description);
    Some(Error::new(Code::VerificationFailed, message).detail("commitments", names).hint(
        "the run is not done until every commitment holds, whatever it says itself; mend what is wrong and run it again",
    ))
}
