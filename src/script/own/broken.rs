//! An adapter that can't be used: it has a name and an error.

use adapter::{
    Adapter, Context,
    contract::{Counted, Invocation, Proposal},
    evidence::{Evidence, Measured},
};
use base::error::Error;

/// An adapter that can't be used.
pub(super) struct Broken {
    pub(super) name: String,
    pub(super) error: Error,
}

impl Adapter for Broken {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        ""
    }

    fn summary(&self) -> &str {
        self.error.message()
    }

    fn params_schema(&self) -> &str {
        "{}"
    }

    fn counts(&self) -> Counted<'_> {
        Counted::default()
    }

    // Nobody knows which files it owns, so under strict tools it owns all.
    fn domain(&self) -> Vec<&str> {
        vec!["**"]
    }

    fn check(&self) -> Result<(), Error> {
        Err(self.error.clone())
    }

    fn propose(&self, _: &Context<'_>, _: &Invocation) -> Result<Proposal, Error> {
        Err(self.error.clone())
    }

    fn measure(&self, _: &Context<'_>, _: &Invocation, _: &Evidence<'_>) -> Result<Measured, Error> {
        Err(self.error.clone())
    }
}
