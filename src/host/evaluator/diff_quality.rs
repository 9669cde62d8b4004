//! `diff-quality`: the rework ratio, lines that a run added and later changed or removed over all lines that it added.

use serde_json::json;

use crate::evaluator::{
    evidence::Evidence,
    measure::{Evaluator, Measured, ratio},
};
use base::error::Error;
use gate::Rules;
use record::event::Changes;
use system::policy::Policy;

/// Judges the rework ratio. What an attempt tried that was undone does not count.
pub(super) struct DiffQuality;

impl Evaluator for DiffQuality {
    fn name(&self) -> &'static str {
        "diff-quality"
    }

    fn judge(&self, evidence: &Evidence, policy: &Policy, _rules: &Rules) -> Result<Measured, Error> {
        let Changes { added, reworked, .. } = evidence.standing;
        let undone = evidence.changes.added.saturating_sub(added);
        let limit = policy.settings().evaluators.max_rework;
        let value = ratio(reworked, added);
        let passed = (added > 0).then_some(value <= limit);
        let mut details = json!({"added": added, "reworked": reworked});
        if undone > 0 {
            details["undone"] = json!(undone);
        }
        Ok(Measured { passed, value, limit: Some(limit), details })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_attempt_tried_that_was_undone_is_told_and_not_judged() {
        let changes = Changes { added: 2, reworked: 2, ..Changes::default() };
        let standing = Changes { added: 1, reworked: 1, ..Changes::default() };
        let evidence = Evidence { changes, standing, ..Evidence::default() };
        let measured = DiffQuality.judge(&evidence, &Policy::default(), Rules::built_in()).unwrap();
        assert_eq!(measured.details, json!({"added": 1, "reworked": 1, "undone": 1}));
        assert_eq!((measured.passed, measured.value), (Some(false), 1.0));
    }
}
