//! The end of a replay: nothing is left of the record, and the script ended as it did.

use serde_json::{Value, json};

use super::{
    super::{Asked, reply::Recorded, unverified::UNVERIFIED},
    Parting, Reach, Replay, Replayed,
    check::same,
    place::{Stop, parted},
    steps::Step,
};
use base::error::{Code, Error};
use gate::secrets;
use record::event::RunEnd;

/// True for an error of the run as a whole, which is not the script's doing.
fn is_judgement(error: &Error) -> bool {
    ["commitments", "evaluators"].iter().any(|by| error.details().get(*by).is_some_and(Value::is_array))
        || went_on(error)
}

/// True for the error of a run that went on after a failed verification.
fn went_on(error: &Error) -> bool {
    error.details().get(UNVERIFIED) == Some(&Value::Bool(true))
}

impl Replay<'_> {
    /// Ends the replay and returns its result. `outcome` is the result of the script, if there was one.
    ///
    /// An error means that the replay could not be done, such as `cancelled`.
    pub fn finish(mut self, outcome: Option<Result<Value, Error>>) -> Result<Replayed, Error> {
        let stop = match self.stop.take() {
            Some(stop) => Some(stop),
            None => self.check_end(outcome)?.err(),
        };
        let (reach, divergence) = match stop {
            None => (Reach::End, None),
            Some(Stop::Open) => (Reach::Open, None),
            Some(Stop::LeftOut) => (Reach::LeftOut, None),
            Some(Stop::Diverged(divergence)) => (Reach::Divergence, Some(*divergence)),
            Some(Stop::Failed(error)) => return Err(error),
        };
        let waits = self.steps.end.is_none() || self.steps.is_suspended;
        Ok(Replayed {
            run: self.folder.id().to_owned(),
            agrees: matches!(reach, Reach::End | Reach::Open),
            positions: self.positions,
            reach: if reach == Reach::End && waits { Reach::Open } else { reach },
            not_judged: self.not_judged,
            version: self.started.version,
            divergence,
            differences: self.tried.is_some().then_some(self.differences),
            record: self.report,
            sources: std::collections::BTreeMap::new(),
            rules: std::sync::Arc::clone(&self.law.rules),
        })
    }

    fn check_end(&self, outcome: Option<Result<Value, Error>>) -> Result<Result<(), Stop>, Error> {
        if let Some(Err(error)) = &outcome
            && error.code() == Code::Cancelled
            && self.context.cancelled().is_some()
        {
            return Err(error.clone());
        }
        if let Some(step) = self.steps.next() {
            return Ok(Err(self.shorter(step, outcome)));
        }
        let (Some(end), Some(outcome)) = (&self.steps.end, outcome) else {
            return Ok(if self.steps.end.is_none() { Err(Stop::Open) } else { Ok(()) });
        };
        // Whoever embeds nrv makes of its calls what it wants, and so does a person.
        if matches!(
            self.started.asked,
            Asked::Session { .. } | Asked::Program { .. } | Asked::Client { .. } | Asked::Rollback { .. }
        ) {
            return Ok(Ok(()));
        }
        let agrees = match &outcome {
            // What evaluators make of the whole is not the script's doing, nor whether its commitments hold.
            Ok(_) if end.error.as_ref().is_some_and(is_judgement) => true,
            Ok(result) => end.error.is_none() && same(end.result.form(), result),
            Err(error) => end.error.as_ref().is_some_and(|recorded| self.is_error(recorded, error)),
        };
        if agrees {
            return Ok(Ok(()));
        }
        if self.is_cut_short() {
            return Ok(Err(Stop::Open));
        }
        Ok(Err(self.another_end(end, outcome)))
    }

    /// The script ended, and the record goes on.
    fn shorter(&self, step: &Step, outcome: Option<Result<Value, Error>>) -> Stop {
        let Some(next) = step.made.last().map(|made| Recorded::of(&made.call)) else { return Stop::Open };
        let (how, actual) = match &outcome {
            Some(Err(error)) => (format!("the script fails ({})", error.message()), json!({"error": error})),
            Some(Ok(_)) | None => ("the script ends".to_owned(), Value::Null),
        };
        let reason = format!("{how}, and the record goes on with `{}`", next.name);
        let mut stop = parted(Parting::Shorter, reason, self.shown_call(&next), actual);
        if let Stop::Diverged(divergence) = &mut stop {
            divergence.position = Some(step.position.clone());
            divergence.script = outcome.and_then(Result::err).and_then(|error| error.location().cloned());
        }
        stop
    }

    /// The same error, but for what undoing the run added to it.
    fn is_error(&self, recorded: &Error, error: &Error) -> bool {
        let mut now = json!(error);
        secrets::redact_json(&mut now, self.law.rules.secrets());
        if (recorded.code() == Code::UndoRefused || went_on(recorded))
            && recorded.details().get("cause") == Some(&now["message"])
        {
            return true;
        }
        // The lines of another script may be others.
        let place = |error: &Value| if self.against { Value::Null } else { error["script"].clone() };
        let recorded = json!(recorded);
        recorded["code"] == now["code"] && recorded["message"] == now["message"] && place(&recorded) == place(&now)
    }

    fn another_end(&self, end: &RunEnd, outcome: Result<Value, Error>) -> Stop {
        let expected = match &end.error {
            None => json!({"result": self.pack.value(&end.result).unwrap_or_else(|_| end.result.form().clone())}),
            Some(error) => json!({"error": error}),
        };
        let reason = match (end.error.is_none(), &outcome) {
            (true, Ok(_)) => "the script ends with another result than the record has",
            (true, Err(_)) => "the script fails, and the record has a result",
            (false, Ok(_)) => "the script ends well, and the record has an error",
            (false, Err(_)) => "the script ends with another error than the record has",
        };
        let place = outcome.as_ref().err().and_then(|error| error.location().cloned());
        let actual = match outcome {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": error}),
        };
        let mut stop = parted(Parting::End, reason, expected, actual);
        if let Stop::Diverged(divergence) = &mut stop {
            divergence.script = place;
        }
        stop
    }
}
