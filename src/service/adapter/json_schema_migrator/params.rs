//! The parameters: plain types, and refusals of those that contradict each other.
//!
//! Both sides of the adapter read them, and each interprets them itself.

mod check;
mod wire;

use serde_json::Value;

pub(super) use self::{
    check::tokens,
    wire::{DefaultMode, Draft, Fixes, Format, JSONC_FILES, Params, RemoveMode, Source, Step, Wrap},
};
use base::error::{Code, Error};

impl Params {
    /// Takes the parameters from an invocation. `invalid_input` if fixes contradict each other.
    pub(super) fn parse(params: &Value) -> Result<Self, Error> {
        let params: Params = serde_json::from_value(params.clone())
            .map_err(|error| Error::new(Code::InvalidInput, format!("the params can't be used: {error}")))?;
        check::check(&params)?;
        Ok(params)
    }
}
