//! `json_schema_migrator`: brings JSON, YAML and TOML files to a JSON Schema, and changes no other byte.
//!
//! A valid file is never touched. An invalid one passes the permitted fixes in a fixed order:
//!
//! 1. the steps from its version on, if there are any; each is a stage of its own;
//! 2. rename, move, set, wrap and value maps, at pointers;
//! 3. fixes by the schema, from the outside to the inside: value maps by place, types, unknown members, defaults, parts,
//!    alternatives; this is repeated until nothing changes.
//!
//! It is changed if the result is valid as a whole. Otherwise it stays as it is, and what is left is listed.
//!
//! `verify` and its modules share nothing with the proposing side but `params`, the wire types.

mod kind;
mod library;
mod params;
mod pointer;
mod propose;
mod repair;
mod schema;
mod verify;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees and read corpora")]
mod tests;

use self::params::Format;
use crate::{
    Adapter, Context,
    contract::{Counted, Invocation, Proposal},
    envelope,
    evidence::{Evidence, Measured},
};
use base::error::Error;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct JsonSchemaMigrator;

impl Adapter for JsonSchemaMigrator {
    fn name(&self) -> &str {
        "json_schema_migrator"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "bring JSON, YAML and TOML files to a JSON Schema"
    }

    fn params_schema(&self) -> &str {
        include_str!("params.schema.json")
    }

    fn counts(&self) -> Counted<'_> {
        let own = [
            ("files_valid", "Scanned files that fit the schema."),
            ("files_invalid", "Scanned files that do not, or that are not of their format."),
            ("violations", "Violations, each place of each keyword once."),
            ("violations_*", "Violations of a keyword that occurs, such as `violations_additional_properties`."),
        ];
        let changes = vec![
            envelope::FILES,
            ("fixes", "Fixes."),
            ("fixes_*", "Fixes of a kind that occurs, such as `fixes_defaults`."),
        ];
        Counted { baseline: [&envelope::SURVEYED[..], &own].concat(), changes, work: Some("files_invalid") }
    }

    fn domain(&self) -> Vec<&str> {
        propose::globs(&[Format::Json, Format::Jsonc, Format::Json5, Format::Yaml, Format::Toml].into())
    }

    fn looks_at(&self, input: &Invocation) -> Vec<&str> {
        params::Params::parse(&input.params).map_or_else(|_| self.domain(), |params| propose::globs(&params.formats))
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        propose::propose(ctx, input, &self.looks_at(input))
    }

    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        verify::measure(ctx, input, evidence)
    }
}
