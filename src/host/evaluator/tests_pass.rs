//! `tests-pass`: whether what ran as a test ended with 0.
//!
//! A test is a command that was marked as one (`exec.run` with `test`), or a call of a program whose reply is
//! `{"test": true, "status": n}`.

use serde_json::{Value, json};

use super::{Evaluator, Evidence, Measured, found};
use crate::{error::Error, gate::Rules, policy::Policy};

/// See the module's documentation.
pub(super) struct TestsPass;

impl Evaluator for TestsPass {
    fn name(&self) -> &'static str {
        "tests-pass"
    }

    /// A test whose status is unknown, since it was killed or never started, has failed.
    fn judge(&self, evidence: &Evidence, _policy: &Policy, _rules: &Rules) -> Result<Measured, Error> {
        let tests: Vec<_> = evidence.calls_made.iter().filter_map(test).collect();
        let failed: Vec<String> = tests.iter().filter(|test| !test.1).map(|test| test.0.clone()).collect();
        let passed = (!tests.is_empty()).then_some(failed.is_empty());
        let (run, n_failed) = (tests.len(), failed.len());
        let details = found(json!({"run": run, "failed": n_failed}), failed);
        Ok(Measured { passed, value: (run - n_failed) as f64, limit: None, details })
    }
}

/// What a test is called, and whether it passed; none if the call is no test.
fn test(data: &Value) -> Option<(String, bool)> {
    let reply = &data["reply"];
    let name = match data["call"].as_str()? {
        "exec.run" if data["args"]["test"] == true => {
            let words = data["args"]["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            data["args"]["program"].as_str().into_iter().chain(words).collect::<Vec<_>>().join(" ")
        }
        "custom" if reply["test"] == true => data["args"]["name"].as_str().unwrap_or_default().to_owned(),
        _ => return None,
    };
    Some((name, reply["status"] == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(calls: Value, passed: Option<bool>, value: f64, details: Value) {
        let calls_made = calls.as_array().unwrap().clone();
        let evidence = Evidence { calls_made, ..Evidence::default() };
        let measured = TestsPass.judge(&evidence, &Policy::default(), Rules::built_in()).unwrap();
        assert_eq!(measured, Measured { passed, value, limit: None, details });
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
        let killed = json!({"call": "exec.run", "args": {"program": "x", "test": true}, "error": {"code": "io"}});
        check(json!([killed]), Some(false), 0.0, json!({"run": 1, "failed": 1, "found": ["x"]}));
    }
}
