//! `tests-pass`: whether what ran as a test ended with 0.
//!
//! A test is a command that was marked as one (`exec.run` with `test`), or a call of a program whose reply is
//! `{"test": true, "status": n}`. What an attempt tried that was undone says nothing of the run: its tests don't count.

use serde_json::{Value, json};

use super::{
    evidence::{Evidence, MadeCall},
    measure::{Evaluator, Measured, found},
};
use base::error::Error;
use gate::Rules;
use system::policy::Policy;

/// See the module's documentation.
pub(super) struct TestsPass;

impl Evaluator for TestsPass {
    fn name(&self) -> &'static str {
        super::measure::TESTS_PASS
    }

    /// A test whose status is unknown, since it was killed or never started, has failed.
    fn judge(&self, evidence: &Evidence, _policy: &Policy, _rules: &Rules) -> Result<Measured, Error> {
        let all = evidence.calls_made.iter().enumerate().filter_map(|(at, call)| Some((at, test(call)?)));
        let (undone, tests): (Vec<_>, Vec<_>) = all.partition(|(at, _)| evidence.undone.contains(at));
        let tests: Vec<_> = tests.into_iter().map(|(_, test)| test).collect();
        let failed: Vec<String> = tests.iter().filter(|test| !test.1).map(|test| test.0.clone()).collect();
        let passed = (!tests.is_empty()).then_some(failed.is_empty());
        let (run, n_failed) = (tests.len(), failed.len());
        let mut counts = json!({"run": run, "failed": n_failed});
        if !undone.is_empty() {
            counts["undone"] = json!(undone.len());
        }
        let details = found(counts, failed);
        Ok(Measured { passed, value: (run - n_failed) as f64, limit: None, details })
    }
}

/// Returns the name of a test, and true if the test passed; none if the call is no test.
fn test(call: &MadeCall) -> Option<(String, bool)> {
    let (args, reply) = (&call.args, call.reply.as_ref().unwrap_or(&Value::Null));
    let name = match call.name.as_str() {
        "exec.run" if args["test"] == true => {
            let words = args["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            args["program"].as_str().into_iter().chain(words).collect::<Vec<_>>().join(" ")
        }
        "custom" if reply["test"] == true => args["name"].as_str().unwrap_or_default().to_owned(),
        _ => return None,
    };
    Some((name, reply["status"] == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(calls: Value, passed: Option<bool>, value: f64, details: Value) {
        let calls_made = calls.as_array().unwrap().iter().map(MadeCall::read).collect();
        let evidence = Evidence { calls_made, ..Evidence::default() };
        let measured = TestsPass.judge(&evidence, &Policy::default(), Rules::built_in()).unwrap();
        assert_eq!(measured, Measured { passed, value, limit: None, details });
    }

    #[test]
    fn tests_of_attempts_that_were_undone_do_not_count() {
        let exec = |status: u64| json!({"call": "exec.run", "args": {"program": "t", "test": true}, "reply": {"status": status}});
        let evidence = Evidence {
            calls_made: [exec(1), exec(0)].iter().map(MadeCall::read).collect(),
            undone: std::collections::BTreeSet::from([0]),
            ..Evidence::default()
        };
        let measured = TestsPass.judge(&evidence, &Policy::default(), Rules::built_in()).unwrap();
        assert_eq!((measured.passed, measured.value), (Some(true), 1.0));
        assert_eq!(measured.details, json!({"run": 1, "failed": 0, "undone": 1}));
    }

    #[test]
    fn only_what_is_marked_is_a_test() {
        let exec = |test: bool, status: u64| json!({"call": "exec.run", "args": {"program": "cargo", "args": ["test"], "test": test}, "reply": {"status": status}});
        let custom =
            |reply: Value| json!({"call": "custom", "args": {"name": "ci.check", "params": {}}, "reply": reply});
        check(json!([]), None, 0.0, json!({"run": 0, "failed": 0}));
        check(json!([exec(false, 1), custom(json!({"status": 1}))]), None, 0.0, json!({"run": 0, "failed": 0}));
        check(
            json!([exec(true, 0), custom(json!({"test": true, "status": 0}))]),
            Some(true),
            2.0,
            json!({"run": 2, "failed": 0}),
        );
        check(
            json!([exec(true, 101), custom(json!({"test": true, "status": 0})), custom(json!({"test": true}))]),
            Some(false),
            1.0,
            json!({"run": 3, "failed": 2, "found": ["cargo test", "ci.check"]}),
        );
        let killed = json!({"call": "exec.run", "args": {"program": "x", "test": true}, "error": {"code": "io", "message": "m"}});
        check(json!([killed]), Some(false), 0.0, json!({"run": 1, "failed": 1, "found": ["x"]}));
    }
}
