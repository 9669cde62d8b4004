//! `prompt.compose` at the door: a prompt of its parts, with the files that it names as a script may read them.

use serde_json::Value;

use super::{adapter::approved, files::Files, llm::models::Requests};
use crate::{reply::as_value, reply_size::too_large};
use base::{call::Parts, error::Error};
use service::prompt::{self, Composed};

/// The detail of an error that a prompt met after it was made: the prompt's hash.
pub(crate) const MADE: &str = "prompt_sha256";

impl Files<'_> {
    /// Makes a prompt.
    pub(crate) fn compose(&self, parts: &Parts) -> Result<Composed, Error> {
        let adapters = approved(self.context, self.policy);
        let names: Vec<&str> = adapters.iter().map(|adapter| adapter.name()).collect();
        let mut size = 0;
        prompt::compose(parts, &names, &mut |path| {
            let text = self.read_text(path)?;
            // One file may be named many times.
            size += text.len() as u64;
            if size > self.most {
                return Err(too_large("the prompt", size, self.most).hint("leave parts out, or use shorter ones"));
            }
            Ok(text)
        })
    }
}

impl Requests<'_, '_> {
    /// A prompt that was made. It has to fit its model if it says which that is.
    pub(crate) fn fit(&mut self, parts: &Parts, composed: &Composed) -> Result<Value, Error> {
        self.check_fit(parts, composed.tokens).map_err(|error| error.detail(MADE, composed.sha256.to_string()))?;
        as_value(composed)
    }

    fn check_fit(&mut self, parts: &Parts, tokens: u64) -> Result<(), Error> {
        if !parts.is_for_a_model() {
            return Ok(());
        }
        match self.context_tokens(parts.provider.as_deref(), parts.model.as_deref())? {
            Some(context) => prompt::check_fit(tokens, parts.max_tokens.unwrap_or_default(), context),
            None => Ok(()),
        }
    }
}
