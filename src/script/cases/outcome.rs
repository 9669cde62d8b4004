//! The expected end of a script: success, a certain result, or an error.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Check;
use base::error::{Code, Error};

/// The content of `outcome.json`. Empty: the script has to succeed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcome {
    /// The error's code, if it has to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Code>,
    /// The result, if that is compared.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub(super) result: Option<Value>,
}

/// Null is a result, too.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The end of a script: a result or an error.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) result: Value,
    pub(super) error: Option<Error>,
}

impl Outcome {
    /// Checks the end of a script against this outcome.
    pub(super) fn check(&self, ended: &Ended) -> Check {
        const NAME: &str = "outcome";
        match (self.error, &ended.error) {
            (Some(expected), Some(found)) if expected == found.code() => Check::holds(NAME),
            (Some(expected), Some(found)) => {
                let detail =
                    format!("it failed with `{}`, and should fail with `{}`", found.code().as_str(), expected.as_str());
                Check { error: Some(found.clone()), ..Check::fails(NAME, detail) }
            }
            (Some(expected), None) => {
                Check::fails(NAME, format!("it ended well, and should fail with `{}`", expected.as_str()))
            }
            (None, Some(found)) => {
                let code = found.code().as_str();
                let detail =
                    format!("it failed with `{code}`; if it has to, `outcome.json` is `{{\"error\": \"{code}\"}}`");
                Check { error: Some(found.clone()), ..Check::fails(NAME, detail) }
            }
            (None, None) => match &self.result {
                Some(expected) if *expected != ended.result => {
                    Check::fails(NAME, "the result is another one").values(expected, &ended.result)
                }
                Some(_) | None => Check::holds(NAME),
            },
        }
    }

    /// The outcome that expects this end; none if this one already does.
    ///
    /// An outcome without a result stays without one. A failure makes an outcome only in place of another failure, and a
    /// passing one, such as a lock, makes none.
    pub(super) fn updated(&self, ended: &Ended) -> Option<Outcome> {
        let new = match &ended.error {
            Some(error) if self.error.is_none() || !is_lasting(error.code()) => return None,
            Some(error) => Outcome { error: Some(error.code()), result: None },
            None => {
                let is_compared = self.result.is_some() || self.error.is_some();
                Outcome { error: None, result: is_compared.then(|| ended.result.clone()) }
            }
        };
        (new != *self).then_some(new)
    }
}

/// True for errors that depend on the script or its input only.
pub(super) fn is_lasting(code: Code) -> bool {
    matches!(code.exit_code(), 1 | 3..=6) && !matches!(code, Code::Io)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(value: Value) -> Outcome {
        serde_json::from_value(value).unwrap()
    }

    fn ended(result: Value, error: Option<Code>) -> Ended {
        Ended { result, error: error.map(|code| Error::new(code, "e")) }
    }

    #[track_caller]
    fn check(expected: Value, found: &Ended, holds: bool, updated: Option<Value>) {
        let expected = outcome(expected);
        assert_eq!(expected.check(found).ok, holds);
        assert_eq!(expected.updated(found), updated.map(outcome));
    }

    #[test]
    fn what_is_silent_asks_only_for_a_good_end() {
        check(json!({}), &ended(json!(1), None), true, None);
        check(json!({}), &ended(json!(null), Some(Code::ScriptFailed)), false, None);
    }

    #[test]
    fn a_result_is_compared_if_it_stands_there() {
        check(json!({"result": null}), &ended(json!(null), None), true, None);
        check(json!({"result": 1}), &ended(json!(2), None), false, Some(json!({"result": 2})));
    }

    #[test]
    fn an_error_has_to_be_the_one_that_is_named() {
        let error = json!({"error": "stale_preimage"});
        check(error.clone(), &ended(json!(null), Some(Code::StalePreimage)), true, None);
        check(error.clone(), &ended(json!(2), None), false, Some(json!({"result": 2})));
        check(error.clone(), &ended(json!(null), Some(Code::Blocked)), false, Some(json!({"error": "blocked"})));
        check(error, &ended(json!(null), Some(Code::Cancelled)), false, None);
    }
}
