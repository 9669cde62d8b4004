//! `code_rewrite`: rewrites code by patterns and rules of ast-grep, and changes nothing outside of their matches.
//!
//! `propose` uses ast-grep's libraries. `verify` finds the matches again by a matcher of its own and compares the files. Both know
//! `params`, which has the texts of rules too.

mod params;
mod propose;
mod verify;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tampering;

use crate::{
    Adapter, Context,
    contract::{Counted, Invocation, Proposal},
    envelope,
    evidence::{Evidence, Measured},
};
use base::error::Error;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct CodeRewrite;

impl Adapter for CodeRewrite {
    fn name(&self) -> &str {
        "code_rewrite"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "rewrite code by patterns and rules of ast-grep"
    }

    fn params_schema(&self) -> &str {
        include_str!("params.schema.json")
    }

    fn counts(&self) -> Counted<'_> {
        let own = [
            ("matches", "Matches that are rewritten, also within each other."),
            (
                "matches_left",
                "Matches that stay: of rules without a fix, and with `once` those that have the form of the fix. The baseline artefact lists them.",
            ),
        ];
        Counted {
            baseline: [&envelope::SURVEYED[..], &own].concat(),
            changes: vec![envelope::FILES, ("rewrites", "Edits, of all passes.")],
            work: Some("matches"),
        }
    }

    /// It owns no files.
    fn domain(&self) -> Vec<&str> {
        Vec::new()
    }

    fn looks_at(&self, input: &Invocation) -> Vec<&str> {
        params::globs(&input.params)
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        propose::propose(ctx, input, &self.looks_at(input))
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        verify::measure(ctx, input, evidence)
    }
}
