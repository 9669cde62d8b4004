//! An evaluator, and the measure that it takes of a run.

use serde_json::{Value, json};

use crate::evaluator::evidence::Evidence;
use base::error::Error;
use gate::Rules;
use system::policy::Policy;

/// The evaluator that says whether tests passed.
pub(crate) const TESTS_PASS: &str = "tests-pass";

/// One evaluator. Implementations are unit structs in the list of evaluators.
pub(super) trait Evaluator: Sync {
    /// The name in records and in the policy.
    fn name(&self) -> &'static str;

    /// Judges a run by its evidence.
    fn judge(&self, evidence: &Evidence, policy: &Policy, rules: &Rules) -> Result<Measured, Error>;
}

/// The measurement of an evaluator.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(super) passed: Option<bool>,
    pub(super) value: f64,
    pub(super) limit: Option<f64>,
    /// A map.
    pub(super) details: Value,
}

/// How many findings of one kind an evaluation names.
pub(super) const NAMED: usize = 20;

/// A share, and what is left of it when nothing was counted.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    // Six digits say enough, and are written alike by everybody.
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 1e6).round() / 1e6 }
}

/// Counts beside the first of what was found.
pub(crate) fn found(counts: Value, mut found: Vec<String>) -> Value {
    let mut details = counts;
    found.truncate(NAMED);
    if !found.is_empty() {
        details["found"] = json!(found);
    }
    details
}
