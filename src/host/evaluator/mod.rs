//! Evaluators: what is to be said of a run as a whole when it ends. Pure functions of its record, its changes and the policy.
//!
//! They change nothing. One that fails, fails the run: what it changed is kept, unless the policy lists it under `evaluators.fail`
//! or says `run.on_failure`.

mod commands;
mod dependencies;
mod diff_quality;
pub(crate) mod evidence;
mod manifest;
pub(crate) mod measure;
mod rate;
mod rework;
mod tests_pass;

use serde_json::Value;

use self::{
    commands::ForbiddenCommandScan, dependencies::ForbiddenDependencyScan, diff_quality::DiffQuality,
    rate::ViolationRate, tests_pass::TestsPass,
};
use super::terms::Terms;
use crate::evaluator::{
    evidence::Ending,
    measure::{Evaluator, Measured},
};
use base::error::{Code, Error};
use record::event::{Changes, Evaluation};

/// Every evaluator, sorted by name.
const EVALUATORS: &[&dyn Evaluator] =
    &[&DiffQuality, &ForbiddenCommandScan, &ForbiddenDependencyScan, &TestsPass, &ViolationRate];

/// The evaluations of a run, and the totals of its changes.
#[derive(Debug, Default)]
pub(super) struct Evaluated {
    pub(super) evaluations: Vec<Evaluation>,
    pub(super) changes: Changes,
}

impl Ending<'_, '_> {
    /// Asks every evaluator.
    pub(super) fn evaluate_run(&self) -> Result<Evaluated, Error> {
        let evidence = self.evidence()?;
        let evaluation = |evaluator: &&dyn Evaluator| {
            let Measured { passed, value, limit, details } =
                evaluator.judge(&evidence, &self.run.policy, &self.run.context.rules)?;
            let Value::Object(details) = details else {
                return Err(Error::new(Code::Internal, format!("`{}` gives no map of details", evaluator.name())));
            };
            Ok(Evaluation { evaluator: evaluator.name().to_owned(), passed, value, limit, details })
        };
        let evaluations = EVALUATORS.iter().map(evaluation).collect::<Result<_, _>>()?;
        Ok(Evaluated { evaluations, changes: evidence.changes })
    }
}

impl Terms<'_> {
    /// The error of a run that an evaluator fails; none if it may stand.
    pub(super) fn evaluated_error(&self, evaluated: &Evaluated) -> Option<Error> {
        let listed = self.policy.settings().evaluators.fail.as_ref();
        let fails = |evaluation: &&Evaluation| listed.is_none_or(|listed| listed.contains(&evaluation.evaluator));
        let failed = evaluated.evaluations.iter().filter(|evaluation| evaluation.passed == Some(false));
        let failed: Vec<&Evaluation> = failed.filter(fails).collect();
        let first = failed.first()?;
        let names: Vec<&str> = failed.iter().map(|evaluation| evaluation.evaluator.as_str()).collect();
        let hint = match listed {
            Some(_) => format!("`evaluators.fail` comes from {}", self.policy.origin("evaluators.fail")),
            None => "`[evaluators] fail` in `nrv.toml` says which evaluators fail a run".to_owned(),
        };
        let error = Error::new(
            Code::VerificationFailed,
            format!("the run as a whole is not as it should be: {}", first.sentence()),
        );
        Some(error.detail("evaluators", names).hint(hint))
    }

    /// True if a run that an evaluator fails keeps what it changed and verified: always, unless the policy or the header says what
    /// becomes of it.
    pub(super) fn keeps_evaluated(&self, rejected: bool) -> bool {
        let says = ["evaluators.fail", "run.on_failure"].iter().any(|key| self.policy.is_set(key));
        self.keeps_changes(rejected) || !says
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use serde_json::json;

    #[test]
    fn the_policy_knows_every_evaluator() {
        let names: Vec<&str> = EVALUATORS.iter().map(|evaluator| evaluator.name()).collect();
        assert_eq!(names, system::policy::EVALUATORS);
        assert!(names.is_sorted());
    }

    #[test]
    fn a_line_says_what_was_counted_and_found() {
        let mut evaluation = Evaluation {
            evaluator: "diff-quality".to_owned(),
            passed: Some(false),
            value: 0.42,
            limit: Some(0.3),
            details: Map::from_iter([("added".to_owned(), json!(50)), ("reworked".to_owned(), json!(21))]),
        };
        assert_eq!(evaluation.sentence(), "diff-quality FAILED: 0.42 of at most 0.3 (50 added, 21 reworked)");
        evaluation.details = Map::from_iter([("found".to_owned(), json!(["a\u{1b}", "b"]))]);
        assert_eq!(evaluation.sentence(), "diff-quality FAILED: 0.42 of at most 0.3: a\\u{1b}, b");
    }

    #[test]
    fn only_what_is_worth_a_word_is_told() {
        let is_trivial = |passed: Option<bool>, value: f64| {
            Evaluation { evaluator: String::new(), passed, value, limit: None, details: Map::new() }.is_trivial()
        };
        assert!(is_trivial(None, 3.0) && is_trivial(Some(true), 0.0));
        assert!(!is_trivial(Some(true), 3.0) && !is_trivial(Some(false), 0.0));
    }
}
