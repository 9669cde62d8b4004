//! Regular expressions that users write: every search takes linear time.

use regex::Regex;

use super::error::{Code, Error};

/// The compiled form of a regular expression. `invalid_input`, with the place of the fault, if it can't be used.
pub fn compile(pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern).map_err(|error| {
        Error::new(Code::InvalidInput, format!("the regular expression can't be used: {error}"))
            .hint("back-references and look-around are not available, so that every search takes linear time")
    })
}
