//! Deterministic tool adapters: they discover, propose, and, in a separate process, measure again.
//!
//! An adapter reads through a [`Context`] and returns data; it never writes. The host judges, applies and records.

pub mod code_rewrite;
pub mod contract;
pub mod counts;
pub mod deadline;
pub mod envelope;
pub mod evidence;
pub mod intra_repo_link_fixer;
pub mod json_schema_migrator;
pub mod jsonl;
pub mod link_updater;
pub mod listing;
pub mod rename_refactor;
pub mod source;
pub mod survey;
pub mod verify;

mod adapters;
mod context;
mod record_files;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "corpora are files of the repository, and rounds a setting of its tests")]
mod code_agreement;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the suite is a file of the repository")]
mod toml_agreement;

use serde_json::Value;

pub use self::{
    adapters::Adapters,
    context::{Context, Work},
};
use crate::{
    contract::{Counted, Invocation, Proposal},
    evidence::{Evidence, Measured},
    source::Source,
};
use base::error::{Code, Error};
use system::schema::Schema;

/// The reason to leave a file alone that is no code of its language.
const SYNTAX_ERROR: &str = "it has a syntax error";

/// Every built-in adapter, sorted by name.
pub const ADAPTERS: &[&dyn Adapter] = &[
    &code_rewrite::CodeRewrite,
    &intra_repo_link_fixer::IntraRepoLinkFixer,
    &json_schema_migrator::JsonSchemaMigrator,
    &link_updater::LinkUpdater,
    &rename_refactor::RenameRefactor,
];

/// A tool whose changes are deterministic and provable.
pub trait Adapter: Send + Sync {
    /// The name in invocations.
    fn name(&self) -> &str;

    /// The version in invocations.
    fn version(&self) -> &str;

    /// One line for listings.
    fn summary(&self) -> &str;

    /// JSON Schema of the parameters, as text: an object. [`envelope`] makes the schemas of input and output from it.
    fn params_schema(&self) -> &str;

    /// The counts of the baseline and of the changes.
    fn counts(&self) -> Counted<'_>;

    /// Globs of the files that only this adapter may change under strict tools; none if it owns no files.
    fn domain(&self) -> Vec<&str>;

    /// Globs of the files that it reads for this input; it ignores all others under the target.
    fn looks_at(&self, _input: &Invocation) -> Vec<&str> {
        self.domain()
    }

    /// The source that the verifier's process makes it of; none if it is a part of the program.
    fn source(&self) -> Option<&Source> {
        None
    }

    /// An error if it can't be used; it has a name then and nothing else.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// True if it asks language servers for this input; the policy that names them has to be trusted.
    fn asks_servers(&self, _input: &Invocation) -> bool {
        false
    }

    /// Reads the target and returns the changes. No side effect.
    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error>;

    /// Measures a change or a proposal again, by code that `propose` does not use.
    fn measure(&self, ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error>;
}

/// Takes an invocation from JSON, checked against the adapter's own schema. Reads nothing.
pub fn parse(adapter: &dyn Adapter, input: &Value) -> Result<Invocation, Error> {
    Schema::compile(&envelope::input_schema(adapter)?)?.check(input).map_err(|error| {
        let wrong = Error::new(Code::InvalidInput, format!("the input of `{}` is wrong: {error}", adapter.name()))
            .hint(format!("`nrv dta describe {}` shows the schema", adapter.name()));
        error.details().iter().fold(wrong, |wrong, (key, value)| wrong.detail(key, value.clone()))
    })?;
    serde_json::from_value(whole_numbers(adapter, input.clone())?).map_err(|error| {
        Error::new(Code::InvalidInput, format!("the input of `{}` can't be used: {error}", adapter.name()))
    })
}

/// Writes `1.0` as `1` in the constraints: to a JSON Schema both are integers.
fn whole_numbers(adapter: &dyn Adapter, mut input: Value) -> Result<Value, Error> {
    let constraints = input.get_mut("constraints").and_then(Value::as_object_mut);
    for (name, value) in constraints.into_iter().flatten() {
        let Some(number) = value.as_f64().filter(|_| !value.is_u64()) else { continue };
        // Larger integers are not all exact in this type.
        if number.fract() != 0.0 || !(0.0..=9_007_199_254_740_992.0).contains(&number) {
            let wrong = format!("the input of `{}` is wrong: `{value}` is no whole number", adapter.name());
            return Err(Error::new(Code::InvalidInput, wrong)
                .detail("pointer", format!("/constraints/{name}"))
                .hint("give an integer from 0 to 9007199254740992"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range and whole")]
        let whole = number as u64;
        *value = Value::from(whole);
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input() -> Value {
        json!({
            "tool": "link_updater", "version": "1.0", "mode": "apply",
            "target": {"repo_path": ".", "glob": ["site/**/*.html", "!site/old/**"]},
            "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"},
            "constraints": {"max_files": 10, "timeout_ms": 1000, "seed": 1},
        })
    }

    #[track_caller]
    fn refused(pointer: &str, value: Value) {
        let mut input = input();
        match input.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                input.pointer_mut(parent).unwrap()[key] = value;
            }
        }
        assert_eq!(parse(&link_updater::LinkUpdater, &input).unwrap_err().code(), Code::InvalidInput, "{input}");
    }

    #[test]
    fn an_integer_may_have_a_fraction_of_zero() {
        let mut input = input();
        input["constraints"] = json!({"max_files": 1e3, "timeout_ms": 1000.0, "seed": 1.0});
        let parsed = parse(&link_updater::LinkUpdater, &input).unwrap().constraints;
        assert_eq!((parsed.max_files, parsed.timeout_ms, parsed.seed), (1000, 1000, 1));
        refused("/constraints/seed", json!(1.5));
        refused("/constraints/seed", json!(1e300));
        input["constraints"]["seed"] = json!(-1.5);
        let error = whole_numbers(&link_updater::LinkUpdater, input).unwrap_err();
        assert!(error.details().iter().any(|(name, at)| name == "pointer" && *at == json!("/constraints/seed")));
    }

    #[test]
    fn invocations_are_checked_before_anything_is_read() {
        assert!(parse(&link_updater::LinkUpdater, &input()).is_ok());
        refused("/version", json!("2.0"));
        refused("/mode", json!("verify"));
        refused("/extra", json!(1));
        refused("/target/glob", json!([]));
        refused("/target/x", json!(1));
        refused("/params/from_hosts", json!([]));
        refused("/params/moves", json!([]));
        refused("/params/on_skip", json!("ignore"));
        refused("/constraints/max_files", json!(0));
        refused("/constraints/seed", json!(-1));
    }
}
