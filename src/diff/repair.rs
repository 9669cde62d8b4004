//! Repairs what is wrong with the form of a diff, and says each time what it did. It never guesses contents.

use super::{ParseOptions, Prose, Strip, parse};
use crate::error::Error;

/// A diff after its repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The diff, which parses without any leniency.
    pub text: Vec<u8>,
    /// What was done, a sentence each; empty if nothing was wrong.
    pub repairs: Vec<String>,
}

pub(super) fn repair(text: &[u8]) -> Result<Repaired, Error> {
    parse::parse(text, &ParseOptions { strip: Strip::Guess, recount: false, prose: Prose::Refuse })?;
    Ok(Repaired { text: text.to_vec(), repairs: Vec::new() })
}
