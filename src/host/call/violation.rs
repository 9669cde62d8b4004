//! Violations that a workflow found by itself: recorded beside those of gates, and counted with them. They stop nothing.

use serde_json::Value;

use crate::{Event, Sink, tally::Tally};
use base::{
    call::{Severity, Violation},
    error::{Code, Error},
    hash::Sha256,
    json,
};
use gate::{Decision, GateResult};
use system::policy::Policy;

/// The word in place of a gate's name.
const RECORDED: &str = "recorded";

/// The most characters of a rule's name.
const LONGEST_RULE: usize = 100;

/// The most characters of what is said of a violation, and of a file's path.
const LONGEST_TEXT: usize = 2000;

impl Tally {
    /// Answers `run.record_violation`.
    pub(crate) fn add_violation(
        &mut self,
        policy: &Policy,
        violation: &Violation,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        check(violation)?;
        let result = result(violation, policy);
        self.violations.push(result.clone());
        sink.event(Event::Warning { result });
        Ok(Value::Null)
    }
}

/// A violation as the results of gates are recorded.
pub(crate) fn result(violation: &Violation, policy: &Policy) -> GateResult {
    let Violation { rule, severity, message, file } = violation;
    let decision = match severity {
        Severity::Warn => Decision::Warn,
        Severity::RequireConfirmation => Decision::RequireConfirmation,
        Severity::Block => Decision::Block,
    };
    GateResult {
        decision,
        gate_name: RECORDED.to_owned(),
        reason: file.as_ref().map_or(message.clone(), |file| format!("`{file}`: {message}")),
        triggered_rules: vec![rule.clone()],
        remediation: None,
        config_sha256: policy.sha256(),
        input_sha256: json::sha256(violation).unwrap_or_else(|_| Sha256::of(b"")),
    }
}

fn check(violation: &Violation) -> Result<(), Error> {
    let Violation { rule, message, file, .. } = violation;
    let refuse = |what: String, hint: &str| Err(Error::new(Code::InvalidInput, what).hint(hint));
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
    if rule.is_empty() || rule.len() > LONGEST_RULE || !rule.chars().all(plain) {
        let shown: String = rule.chars().take(LONGEST_RULE).collect();
        return refuse(
            format!("`{}` is no name of a rule", shown.escape_debug()),
            "a rule is up to 100 letters, digits and `. _ - / :`, such as `style/no-inline`",
        );
    }
    let texts = [("message", Some(message)), ("file", file.as_ref())];
    for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        let length = text.chars().count();
        if length == 0 || length > LONGEST_TEXT {
            return refuse(
                format!("`{name}` of the violation `{rule}` has {length} characters"),
                "say it in 1 to 2000 characters",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(rule: &str, message: &str) -> Violation {
        Violation { rule: rule.to_owned(), message: message.to_owned(), ..Violation::default() }
    }

    #[test]
    fn a_violation_is_told_like_the_result_of_a_gate() {
        let mut found = violation("style/no-inline", "a style stands in the tag");
        found.file = Some("a.html".to_owned());
        found.severity = Severity::Block;
        let result = result(&found, &Policy::default());
        assert_eq!((result.decision, result.gate_name.as_str()), (Decision::Block, "recorded"));
        assert_eq!(result.reason, "`a.html`: a style stands in the tag");
        assert_eq!(result.triggered_rules, ["style/no-inline"]);
    }

    #[test]
    fn what_statistics_could_not_count_is_refused() {
        assert!(check(&violation("a", "b")).is_ok());
        for (rule, message) in [("", "b"), ("a b", "b"), ("a\u{1b}", "b"), ("a", ""), (&"a".repeat(101), "b")] {
            assert_eq!(check(&violation(rule, message)).unwrap_err().code(), Code::InvalidInput, "{rule}");
        }
        assert!(check(&violation("a", &"b".repeat(2001))).is_err());
    }
}
