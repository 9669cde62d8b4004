//! The form of a commitment that can be made.

use serde_json::Value;

use base::error::{Code, Error};
use service::assertion::{self, Assertion};
use system::policy::{self, Policy};

/// How many characters a description may have.
const MOST_WORDS: usize = 1000;

/// Checks that the assertions of a policy can be used, which the policy itself can't tell.
pub(crate) fn check_policy(policy: &Policy) -> Result<(), Error> {
    for (at, wanted) in policy.settings().commitments.iter().enumerate() {
        well_formed(wanted).map_err(|error| {
            let key = format!("commitments.{at}");
            let wrong = Error::new(Code::InvalidPolicy, format!("{} ({})", error.message(), policy.origin(&key)));
            let wrong = error.details().iter().fold(wrong, |wrong, (key, value)| wrong.detail(key, value.clone()));
            wrong.detail("key", key).hint(error.hint_text().unwrap_or("change the commitment").to_owned())
        })?;
    }
    Ok(())
}

/// The assertion of a commitment that says what it has to say.
pub(super) fn well_formed(wanted: &policy::Commitment) -> Result<Assertion, Error> {
    let wrong = |at: &str, why: String| {
        Err(Error::new(Code::InvalidInput, format!("the commitment can't be made: {why}")).detail("at", at))
    };
    if wanted.description.trim().is_empty() {
        return wrong("/description", "`description` says nothing".to_owned());
    }
    if wanted.description.chars().count() > MOST_WORDS {
        return wrong("/description", format!("`description` has more than {MOST_WORDS} characters"));
    }
    if wanted.timeout_ms == Some(0) {
        return wrong("/timeout_ms", "nothing is seen in 0 milliseconds".to_owned());
    }
    assertion::parse(&wanted.assertion).map_err(|error| {
        let at = format!("/assertion{}", error.details().get("at").and_then(Value::as_str).unwrap_or_default());
        error.detail("at", at.trim_end_matches('/'))
    })
}
