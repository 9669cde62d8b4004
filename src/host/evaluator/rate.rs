//! `violation-rate`: how often gates objected, over the calls of the run.

use serde_json::json;

use super::{
    evidence::Evidence,
    measure::{Evaluator, Measured, ratio},
};
use base::error::Error;
use gate::Rules;
use system::policy::Policy;

/// See the module's documentation.
pub(super) struct ViolationRate;

impl Evaluator for ViolationRate {
    fn name(&self) -> &'static str {
        "violation-rate"
    }

    fn judge(&self, evidence: &Evidence, policy: &Policy, _rules: &Rules) -> Result<Measured, Error> {
        let (violations, calls) = (evidence.violations, evidence.calls);
        let limit = policy.settings().evaluators.max_violation_rate;
        // What objects before the first call, such as to a rollback, is one objection to one thing that was asked.
        let value = ratio(violations, calls.max(1));
        let passed = limit.map(|limit| value <= limit);
        Ok(Measured { passed, value, limit, details: json!({"calls": calls, "violations": violations}) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::policy::FILE;

    #[track_caller]
    fn check(policy: &str, calls: u64, violations: u64, passed: Option<bool>, value: f64) {
        let policy = Policy::parse(policy, FILE).unwrap();
        let evidence = Evidence { calls, violations, ..Evidence::default() };
        let measured = ViolationRate.judge(&evidence, &policy, Rules::built_in()).unwrap();
        assert_eq!((measured.passed, measured.value), (passed, value));
    }

    #[test]
    fn a_limit_admits_exactly_that_rate() {
        check("", 4, 3, None, 0.75);
        check("[evaluators]\nmax_violation_rate = 0.5", 4, 2, Some(true), 0.5);
        check("[evaluators]\nmax_violation_rate = 0.5", 4, 3, Some(false), 0.75);
        check("[evaluators]\nmax_violation_rate = 0", 0, 0, Some(true), 0.0);
        check("[evaluators]\nmax_violation_rate = 0", 0, 1, Some(false), 1.0);
    }
}
