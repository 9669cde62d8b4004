//! How a run ends: undone if it failed, sealed in any case.

use serde_json::{Value, json};
use tracing::Span;

use super::outcome::listed;
use crate::{
    Agent, Host, Preview, Sink,
    change::{draft::Draft, ledger::Ledger},
    evaluator::Evaluated,
    life::{
        finished::{self, Finished},
        history,
        left::Left,
        request::Origin,
    },
    recorder::Recorder,
    terms::Terms,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    span::span,
};
use gate::GateResult;
use record::{
    FileRef, Head, Note, REPLIES,
    event::{Duration, Event, Free, Kind, RunEnd, Shown, State},
};
use system::journal;

/// The records that say what adapters found, and what they left.
const PROPOSALS: &[Kind] = &[Kind::DtaProposed, Kind::DtaVerified];

/// The records that say which changes stand, and which adapters made them.
const MOVES: &[Kind] = &[Kind::Committed, Kind::Undone, Kind::Revoked, Kind::DtaApplied];

/// The change of a dry run, the file of its patch, and the secrets that were withheld from the patch.
#[derive(Default)]
struct Written {
    preview: Option<Preview>,
    patch: Option<FileRef>,
    withheld: Vec<Value>,
}

impl<'a> Host<'a> {
    /// Ends the run: looks at its commitments if it went well, undoes a failed one, writes the summary, seals the record, frees the
    /// locks.
    pub fn finish(mut self, outcome: Result<Value, Error>, sink: &mut dyn Sink) -> Result<Finished, Error> {
        let _run = self.tally.span.clone().entered();
        let _finish = span!("finish").entered();
        self.recorder.ends = true;
        // A run that goes on and comes to its end before what it did already has done something else.
        let missed = self.recorder.past.as_ref().filter(|past| outcome.is_ok() && past.is_ahead());
        let outcome = if missed.is_some() { Err(history::ended_early()) } else { outcome };
        let goes_on = outcome.as_ref().is_err_and(|error| self.goes_on(error));
        let outcome = if goes_on {
            outcome
        } else {
            self.requests(sink).close_streams().and_then(|()| {
                let keeps = self.run.keeps_changes(self.tally.rejected);
                let draft = self.run.flags.dry_run.then_some(&mut self.draft);
                self.ledger.leave_attempts(&mut self.recorder, draft, outcome, keeps)
            })
        };
        let outcome = outcome.and_then(|result| self.ledger.refuse_unproven(&self.recorder).map(|()| result));
        let outcome = if goes_on { outcome } else { self.tally.unverified.outcome(outcome) };
        let mut verify = || span!("commitments").in_scope(|| self.pledges().verify_commitments(sink));
        let outcome = outcome.and_then(|result| verify().map(|()| result));
        // Those of a client are its own, and it says nothing of their end.
        let has_agents = self.run.origin != Origin::Client;
        let outcome = if goes_on || !has_agents { outcome } else { self.tally.end_agents(outcome, sink) };
        let (outcome, evaluated) = self.evaluate_outcome(outcome);
        self.end(outcome, None, &evaluated)
    }

    /// Writes the summary, seals the record and frees the locks; nothing is undone or judged here. Without a state, the outcome says it.
    pub(crate) fn end(
        mut self,
        outcome: Result<Value, Error>,
        state: Option<State>,
        evaluated: &Evaluated,
    ) -> Result<Finished, Error> {
        self.recorder.ends = true;
        let _run = self.tally.span.clone().entered();
        let _section = (self.ledger.transaction_count > 0).then(|| self.run.context.options.critical.entered());
        // A run ends with a sealed record, whether or not its patch can be rendered again.
        let (outcome, Written { preview, patch, withheld }) =
            match write_patch(&self.run, &self.recorder, &self.draft, &self.tally.violations) {
                Ok(written) => (outcome, written),
                Err(error) => (outcome.and(Err(error)), Written::default()),
            };
        let state =
            state.unwrap_or_else(|| state_of(&outcome, outcome.as_ref().is_err_and(|error| self.goes_on(error))));
        let outcome = match state {
            State::Suspended => outcome
                .map_err(|error| self.ledger.step_back(&mut self.recorder, error))
                .map_err(|error| with_way_on(&self.recorder, error)),
            _ => outcome,
        };
        let (result, error) = outcome.map_or_else(|error| (Value::Null, Some(error)), |result| (result, None));
        let (cassettes, error) = match self.models.recorded_replies() {
            Ok(recorded) => (recorded, error),
            Err(unkept) => (None, error.or(Some(unkept))),
        };
        let applied = || (self.ledger.changed_files(0), self.run.budget.lines());
        let (files_changed, diff_lines) = preview.as_ref().map_or_else(applied, Preview::size);
        let proposals = self.recorder.folder.records_of(PROPOSALS).unwrap_or_default();
        let finished = Finished {
            run: self.recorder.folder.id().to_owned(),
            state,
            result,
            mode: self.run.mode().to_owned(),
            files_changed,
            diff_lines,
            verified_by: self.ledger.verified_by(&self.recorder),
            outcome: finished::outcome(state, files_changed, &proposals),
            left: Left::of(&proposals, error.as_ref(), |path| self.recorder.folder.read(path).ok()),
            undone: self.ledger.undone,
            set_aside: self.ledger.set_aside,
            patch: patch.as_ref().map(|_| format!(".runs/{}/artifacts/run.patch", self.recorder.folder.id())),
            patch_redacted: !withheld.is_empty(),
            withheld,
            would_ask: self.confirmations.would_ask().to_vec(),
            commitments: self.pledges().told_commitments(),
            evaluations: evaluated.evaluations.clone(),
            duration_ms: self.tally.watch.elapsed_ms(),
            error,
            cassettes,
            preview,
        };
        match self.seal(&finished, evaluated, patch) {
            Ok(()) => Ok(finished),
            Err(error) => Err(unsealed(finished, &error)),
        }
    }

    /// Judges the run as a whole, and undoes its changes if it failed and does not keep them.
    ///
    /// A run that failed by itself is undone first, so that the evaluators see which changes were rolled back. A run that goes on
    /// later is not judged.
    fn evaluate_outcome(&mut self, outcome: Result<Value, Error>) -> (Result<Value, Error>, Evaluated) {
        let _span = span!("evaluate").entered();
        let mut keeps = self.run.keeps_changes(self.tally.rejected);
        let (outcome, judged) = match outcome {
            Err(error) if self.goes_on(&error) => return (Err(error), Evaluated::default()),
            Err(error) => (Err(error), None),
            Ok(result) => match self.ending().evaluate_run() {
                Ok(evaluated) => {
                    let stands = !self.run.flags.dry_run && !self.ledger.transactions.is_empty();
                    let outcome = self.run.evaluated_error(&evaluated).map_or(Ok(result), Err);
                    keeps = self.run.keeps_evaluated(self.tally.rejected);
                    (outcome.map_err(|error| with_kept(self.run_id(), error, keeps && stands)), Some(evaluated))
                }
                Err(error) => (Err(error), None),
            },
        };
        let outcome = match outcome {
            Err(error) if !keeps => Err(self.ledger.undo_failed(&mut self.recorder, error)),
            outcome => outcome,
        };
        let evaluated = judged.map_or_else(|| self.ending().evaluate_run(), Ok);
        let evaluated = evaluated.inspect_err(|error| tracing::warn!("the run can't be evaluated: {error}"));
        (outcome, evaluated.unwrap_or_default())
    }

    /// True if a run that stops with this error keeps its changes, and can go on later.
    fn goes_on(&self, error: &Error) -> bool {
        match error.code() {
            Code::Suspended | Code::Uncertain => true,
            // Where nothing was done there is nothing to keep: it can just be started again.
            Code::LockTimeout | Code::ModelUnavailable => {
                !self.run.flags.dry_run
                    && (self.tally.acted || self.recorder.past.is_some() || !self.ledger.transactions.is_empty())
            }
            _ => false,
        }
    }

    fn seal(mut self, finished: &Finished, evaluated: &Evaluated, patch: Option<FileRef>) -> Result<(), Error> {
        let _seal = span!("seal").entered();
        tell_end(&self.tally.span, finished);
        // A suspended run goes on: nothing is to be said of it as a whole yet.
        let is_over = finished.state != State::Suspended;
        let metrics = self.tally.metrics.iter().map(|(name, value)| (name.clone(), Free(value.clone())));
        let end = RunEnd {
            state: finished.state,
            exit_code: Some(finished.exit_code().into()),
            error: finished.error.clone(),
            result: self.recorder.packed(&finished.result, false)?,
            files_changed: finished.files_changed as u64,
            diff_lines: finished.diff_lines,
            undone: finished.undone as u64,
            would_ask: finished.would_ask.clone(),
            tools: self.tally.tools.clone(),
            calls: Some(self.run.budget.calls()),
            metrics: metrics.collect(),
            violations: self.tally.violations.iter().cloned().map(Shown::Exact).collect(),
            set_aside: finished.set_aside as u64,
            attempts: self.ledger.attempts.final_tally().filter(|_| is_over),
            changes: is_over.then_some(evaluated.changes),
            evaluations: is_over.then(|| evaluated.evaluations.clone()),
            volatile: Duration { duration_ms: Some(finished.duration_ms) },
        };
        let agents = write_agents(&self.recorder, self.tally.agents.all())?;
        let mut files: Vec<FileRef> = patch.into_iter().chain(agents).collect();
        if is_over && self.recorder.folder.open_file(REPLIES)?.is_some() {
            files.push(self.recorder.folder.file_ref(REPLIES)?);
        }
        let event = if is_over { Event::RunFinished(end.into()) } else { Event::RunSuspended(end.into()) };
        self.recorder.note(Note::of_run(event).with_files(files))?;
        self.recorder.sync()?;
        let (seq, hash) = self.recorder.chain.tip();
        let head = Head {
            overview: listed(self.run.context, &self.recorder.folder)?,
            ..Head::new(&finished.run, (seq, hash), finished.state.as_str())
        };
        self.run.context.runs.add_head(&head)?;
        match self.ledger.lease.take() {
            // What is still open is found by its lease, which is free now and stays.
            Some(_) if !journal::open_transactions(self.recorder.folder.path())?.is_empty() => Ok(()),
            Some(lease) => lease.retire(),
            None => Ok(()),
        }
    }
}

impl Ledger<'_> {
    /// The adapters whose verified changes stand. A record that can't be read is reported when it is sealed.
    fn verified_by(&self, recorder: &Recorder<'_>) -> Vec<finished::Verified> {
        if self.transactions.is_empty() {
            return Vec::new();
        }
        finished::verified_by(&recorder.folder.records_of(MOVES).unwrap_or_default())
    }

    /// Undoes a run that failed; the error, with what came of undoing it.
    fn undo_failed(&mut self, recorder: &mut Recorder<'_>, error: Error) -> Error {
        match self.undo(recorder, 0) {
            Ok(()) => error,
            Err(undo) if undo.code() == Code::UndoRefused => {
                let hint = format!("`nrv rollback {} --keep-later` brings back the others", recorder.folder.id());
                undo.detail("cause", error.message()).hint(hint)
            }
            Err(undo) => {
                let run = recorder.folder.id();
                let hint = format!(
                    "undoing failed as well: {}; when that is mended, `nrv rollback {run}` brings the files back",
                    undo.message()
                );
                error.detail("undo_error", undo.message()).hint(hint)
            }
        }
    }

    /// The error of a run that stops, once the changes of its open attempts are set aside.
    fn step_back(&mut self, recorder: &mut Recorder<'_>, error: Error) -> Error {
        match self.set_aside(recorder) {
            Ok(files) => {
                self.set_aside = files;
                error
            }
            // They stand, and the run can go on if the files are as it left them.
            Err(refused) => error.detail("set_aside_error", refused.message()),
        }
    }
}

/// The error of a run that stops for what passes, with how it goes on then.
fn with_way_on(recorder: &Recorder<'_>, error: Error) -> Error {
    if error.code() != Code::ModelUnavailable {
        return error;
    }
    let why = error.hint_text().unwrap_or_default();
    let hint = format!("{why}; `nrv resume {}` goes on from here", recorder.folder.id());
    error.hint(hint.trim_start_matches("; ").to_owned())
}

/// How a run that comes to this ends.
fn state_of(outcome: &Result<Value, Error>, goes_on: bool) -> State {
    match outcome {
        Ok(_) => State::Done,
        Err(_) if goes_on => State::Suspended,
        Err(error) => match error.code() {
            Code::Cancelled => State::Cancelled,
            Code::UndoRefused => State::UndoRefused,
            _ => State::Failed,
        },
    }
}

/// The error of a run that an evaluator fails, with what becomes of its changes.
fn with_kept(run: &str, error: Error, keeps: bool) -> Error {
    if !keeps {
        return error;
    }
    let why = error.hint_text().unwrap_or_default().to_owned();
    error.detail("kept", true).hint(format!("`nrv rollback {run}` takes its changes back; {why}"))
}

/// Computes the change of a dry run and writes its patch into the record, with secrets withheld.
///
/// Returns an empty result for any other run.
fn write_patch(
    run: &Terms<'_>,
    recorder: &Recorder<'_>,
    draft: &Draft<'_>,
    violations: &[GateResult],
) -> Result<Written, Error> {
    if !run.flags.dry_run {
        return Ok(Written::default());
    }
    let preview = draft.all_previewed(run, violations)?;
    let path = "artifacts/run.patch";
    let (kept, withheld) = run.redactor().kept_patch(&preview.patch);
    recorder.folder.write(path, &kept)?;
    let patch = FileRef { path: path.to_owned(), sha256: Sha256::of(&kept) };
    Ok(Written { preview: Some(preview), patch: Some(patch), withheld })
}

/// Writes the agents of a run as they are now; none if it has none. Each time that the run stops has a file of its own.
fn write_agents(recorder: &Recorder<'_>, agents: &[Agent]) -> Result<Option<FileRef>, Error> {
    if agents.is_empty() {
        return Ok(None);
    }
    let value = recorder.redacted(json!({"agents": agents}));
    let mut bytes = serde_json::to_vec_pretty(&value).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    bytes.push(b'\n');
    let path = format!("agents/{}.json", recorder.past.as_ref().map_or(1, history::Past::session));
    recorder.folder.write(&path, &bytes)?;
    Ok(Some(FileRef { path, sha256: Sha256::of(&bytes) }))
}

/// Records the end of a run in its span.
fn tell_end(run: &Span, finished: &Finished) {
    run.record("state", finished.state.as_str());
    run.record("files", finished.files_changed);
    run.record("lines", finished.diff_lines);
    if let Some(error) = &finished.error {
        run.record("error", error.code().as_str());
    }
}

/// The error of a run whose record could not be closed.
fn unsealed(finished: Finished, error: &Error) -> Error {
    let hint = "the record is not sealed; `nrv recover` closes it when the cause is gone";
    let message = format!("{} {}", finished.sentence(), error.message());
    let unsealed = Error::new(Code::RecordUnwritable, message).detail("run", finished.run).hint(hint);
    match finished.error {
        Some(cause) => unsealed.detail("cause", cause.message()),
        None => unsealed,
    }
}
