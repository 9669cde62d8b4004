//! Failed verifications: what depends on a change starts only if the change was verified.
//!
//! A call with an effect that ends with `verification_failed` ends the run, as a block of a gate does. Within an attempt a script can catch the
//! error, and the attempt is undone. In a graph it ends the node, and the graph keeps it for its end: nodes that do not depend on it go on.
//! A script whose header says `on_unverified: "continue"` goes on, and its run fails at the end.

use serde_json::Value;

use base::{
    call::{Call, NodeState},
    error::{Code, Error},
};

/// The failed verifications that no undone attempt has taken back.
#[derive(Debug)]
pub(super) struct Unverified {
    /// The run itself, then each open attempt and graph, outermost first.
    levels: Vec<Level>,
    /// True if the script goes on after one.
    goes_on: bool,
    /// False in a session, whose person reads each error.
    counts: bool,
}

/// The run, an attempt or a graph.
#[derive(Debug)]
struct Level {
    kind: Kind,
    /// The first failure; in a graph, of the node that is open.
    error: Option<Error>,
    /// The first failure of the nodes that have ended.
    ended: Option<Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Attempt,
    Graph,
}

impl Unverified {
    pub(super) fn new(goes_on: bool, counts: bool) -> Self {
        Unverified { levels: vec![Level::new(Kind::Run)], goes_on, counts }
    }

    /// Refuses whatever has an effect after a failed verification, an attempt that would keep one, and a node that would not have failed.
    pub(super) fn admit(&self, call: &Call) -> Result<(), Error> {
        if self.goes_on {
            return Ok(());
        }
        let waits =
            self.levels.iter().filter(|level| level.kind != Kind::Attempt).find_map(|level| level.error.as_ref());
        if let Some(error) = waits.filter(|_| call.touches().acts()) {
            let message = format!("`{}` has to wait for a verification that failed: {}", call.name(), error.message());
            return Err(Error::new(Code::VerificationFailed, message).ending_run());
        }
        match (call, self.levels.last().and_then(|level| level.error.as_ref())) {
            (Call::DagLeave { state, .. }, Some(error)) if *state != NodeState::Failed => {
                let message = format!("a node has not succeeded after a failed verification: {}", error.message());
                Err(Error::new(Code::VerificationFailed, message))
            }
            (Call::AttemptEnd { keep: true }, Some(error)) => {
                let message = format!("an attempt can't be kept after a failed verification: {}", error.message());
                let hint = "let the closure of the attempt throw the error, or return `false`";
                Err(Error::new(Code::VerificationFailed, message).hint(hint).ending_run())
            }
            _ => Ok(()),
        }
    }

    /// The answer to a call as its caller gets it: outside of attempts, a failed verification can't be caught.
    pub(super) fn marked(&self, call: &Call, result: Result<Value, Error>) -> Result<Value, Error> {
        let is_caught = self.goes_on || !self.counts || self.levels.len() > 1 || !call.touches().acts();
        result.map_err(|error| match error.code() {
            Code::VerificationFailed if !is_caught => error.ending_run(),
            _ => error,
        })
    }

    /// Notes the answer to a call, be it given now or taken from the record.
    pub(super) fn note(&mut self, call: &Call, result: &Result<Value, Error>) {
        match (call, result) {
            _ if !self.counts => {}
            (Call::AttemptBegin {}, Ok(_)) => self.levels.push(Level::new(Kind::Attempt)),
            (Call::AttemptEnd { keep }, Ok(_)) => {
                let kept = self.close(Kind::Attempt).filter(|_| *keep);
                self.add(kept);
            }
            (Call::DagBegin { .. }, Ok(_)) => self.levels.push(Level::new(Kind::Graph)),
            (Call::DagEnter { .. } | Call::DagLeave { .. }, Ok(_)) => self.end_node(),
            (Call::DagEnd { .. }, Ok(_)) => {
                let failed = self.close(Kind::Graph);
                self.add(failed);
            }
            (call, Err(error)) if error.code() == Code::VerificationFailed && call.touches().acts() => {
                self.add(Some(error.clone()));
            }
            _ => {}
        }
    }

    /// Keeps the failure of the node that ends for the end of its graph.
    fn end_node(&mut self) {
        if let Some(level) = self.levels.last_mut().filter(|level| level.kind == Kind::Graph) {
            let failed = level.error.take();
            level.ended = level.ended.take().or(failed);
        }
    }

    /// Closes the innermost level if it is of this kind; returns its first failure.
    fn close(&mut self, kind: Kind) -> Option<Error> {
        self.end_node();
        let level = self.levels.pop_if(|level| level.kind == kind)?;
        level.ended.or(level.error)
    }

    /// The end of a run: one with a failed verification has failed, however it went on.
    pub(super) fn outcome(&self, outcome: Result<Value, Error>) -> Result<Value, Error> {
        let Some(error) = self.of_run() else { return outcome };
        match outcome {
            Ok(_) => Err(error.clone().detail(UNVERIFIED, true)),
            Err(later) if matches!(later.code(), Code::Cancelled | Code::VerificationFailed) => Err(later),
            Err(later) => Err(error.clone().detail(UNVERIFIED, true).detail(CAUSE, later.message())),
        }
    }

    fn of_run(&self) -> Option<&Error> {
        self.levels.first().and_then(|level| level.error.as_ref())
    }

    fn add(&mut self, error: Option<Error>) {
        if let Some(level) = self.levels.last_mut() {
            level.error = level.error.take().or(error);
        }
    }
}

impl Level {
    fn new(kind: Kind) -> Self {
        Level { kind, error: None, ended: None }
    }
}

/// The detail of the error of a run that went on after a failed verification.
pub(super) const UNVERIFIED: &str = "unverified";

/// The detail that has the message of the error with which the script of such a run ended.
pub(super) const CAUSE: &str = "cause";

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Result<Value, Error> {
        Err(Error::new(Code::VerificationFailed, "it differs"))
    }

    fn create() -> Call {
        Call::ApplyCreate { path: "a".to_owned(), text: String::new() }
    }

    #[test]
    fn after_a_failed_verification_only_reads_are_admitted() {
        let mut unverified = Unverified::new(false, true);
        let answer = unverified.marked(&create(), failed());
        assert!(answer.as_ref().is_err_and(Error::is_final));
        unverified.note(&create(), &answer);
        assert_eq!(unverified.admit(&create()).unwrap_err().code(), Code::VerificationFailed);
        unverified.admit(&Call::FilesRead { path: "a".to_owned() }).unwrap();
        assert!(unverified.outcome(Ok(Value::Null)).is_err(), "whatever the caller says of it");
        let cancelled = Error::new(Code::Cancelled, "stop");
        assert_eq!(unverified.outcome(Err(cancelled)).unwrap_err().code(), Code::Cancelled);
    }

    #[test]
    fn an_attempt_that_is_undone_takes_it_back_and_one_that_is_kept_hands_it_on() {
        for (goes_on, keep, fails) in [(false, false, false), (true, true, true), (true, false, false)] {
            let mut unverified = Unverified::new(goes_on, true);
            unverified.note(&Call::AttemptBegin {}, &Ok(Value::Null));
            let answer = unverified.marked(&create(), failed());
            assert!(!answer.as_ref().is_err_and(Error::is_final));
            unverified.note(&create(), &answer);
            assert_eq!(unverified.admit(&Call::AttemptEnd { keep: true }).is_err(), !goes_on);
            unverified.note(&Call::AttemptEnd { keep }, &Ok(Value::Null));
            assert_eq!(unverified.outcome(Ok(Value::Null)).is_err(), fails, "{goes_on} {keep}");
        }
    }

    #[test]
    fn in_a_graph_other_nodes_go_on_and_the_run_fails_at_its_end() {
        let mut unverified = Unverified::new(false, true);
        let enter = Call::DagEnter { node: "a".to_owned() };
        let leave = |state| Call::DagLeave { state, reason: None };
        unverified.note(&Call::DagBegin { nodes: Vec::new() }, &Ok(Value::Null));
        unverified.note(&enter, &Ok(Value::Null));
        let answer = unverified.marked(&create(), failed());
        assert!(!answer.as_ref().is_err_and(Error::is_final));
        unverified.note(&create(), &answer);
        assert!(unverified.admit(&create()).is_err(), "the node itself does not go on");
        assert!(unverified.admit(&leave(NodeState::Verified)).is_err(), "and has not succeeded");
        unverified.admit(&leave(NodeState::Failed)).unwrap();
        unverified.note(&leave(NodeState::Failed), &Ok(Value::Null));
        unverified.note(&enter, &Ok(Value::Null));
        unverified.admit(&create()).unwrap();
        unverified.note(&leave(NodeState::Verified), &Ok(Value::Null));
        unverified.note(&Call::DagEnd { blocked: std::collections::BTreeMap::new() }, &Ok(Value::Null));
        assert!(unverified.admit(&create()).is_err());
        assert!(unverified.outcome(Ok(Value::Null)).is_err());
    }

    #[test]
    fn a_proposal_that_is_refused_is_no_change() {
        let mut unverified = Unverified::new(false, true);
        let propose = Call::DtaPropose { tool: "a".to_owned(), input: Value::Null };
        let answer = unverified.marked(&propose, failed());
        unverified.note(&propose, &answer);
        assert!(!answer.is_err_and(|error| error.is_final()));
        unverified.admit(&create()).unwrap();
    }

    #[test]
    fn in_a_session_each_error_is_the_business_of_its_person() {
        let mut unverified = Unverified::new(false, false);
        let answer = unverified.marked(&create(), failed());
        unverified.note(&create(), &answer);
        assert!(!answer.is_err_and(|error| error.is_final()));
        unverified.admit(&create()).unwrap();
        unverified.outcome(Ok(Value::Null)).unwrap();
    }
}
