//! `run.json`: what was asked of a run and under which policy, which is enough to run it again.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Asked, Flags, Request};
use base::{
    error::{Code, Error},
    hash::Sha256,
};
use gate::secrets;
use record::{Keeper, RunFolder, named, packed_form};
use system::policy::{self, BudgetCeiling, Policy};

/// The name of the file that says what was asked.
pub(crate) const RUN_FILE: &str = "run.json";

/// The data with which a run was started: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// The run's id.
    pub run: String,
    /// When, as RFC 3339.
    pub created: String,
    /// The version of nrv.
    pub version: String,
    /// The work that the run was asked to do.
    pub asked: Asked,
    /// The seed of everything that is chosen by chance.
    pub seed: u64,
    /// The flags that the user gave.
    pub flags: Flags,
    /// All settings of the policy in force.
    policy: Value,
    /// The source of that policy: the text of its file, and the headers and modes that tightened it.
    policy_source: policy::Recorded,
    /// Its hash.
    pub policy_sha256: Sha256,
    /// The commit that was checked out.
    pub git_head: Option<String>,
    /// The version of the built-in [rules](policy::RULES) that the run was judged by.
    #[serde(default)]
    pub rules: u32,
}

impl Started {
    pub(crate) fn new(folder: &RunFolder, created: String, request: &Request, git_head: Option<String>) -> Self {
        Started {
            run: folder.id().to_owned(),
            created,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            asked: request.asked.clone(),
            seed: request.seed,
            flags: request.flags,
            policy: json!(request.policy.settings()),
            policy_source: request.policy.recorded(),
            policy_sha256: request.policy.sha256(),
            git_head,
            rules: policy::RULES,
        }
    }

    /// Writes the file and returns its bytes. If it would show a secret, the exact document is kept in the pack.
    pub(crate) fn write(&self, folder: &RunFolder, rules: &secrets::Rules) -> Result<Vec<u8>, Error> {
        let internal = |error: serde_json::Error| Error::new(Code::Internal, error.to_string());
        let exact = serde_json::to_value(self).map_err(internal)?;
        let mut shown = exact.clone();
        secrets::redact_json(&mut shown, rules);
        if shown != exact {
            let text = exact.to_string();
            shown["exact"] = packed_form(&Keeper::new(folder).keep(text.as_bytes())?, text.len()).into_form();
        }
        let text = serde_json::to_vec_pretty(&shown).map_err(internal)?;
        folder.write(RUN_FILE, &text)?;
        Ok(text)
    }

    /// Reads the start data of a run from its record. It does not check that the file is unaltered; `record::verify` does.
    ///
    /// `record_damaged` if it is not such a file, or if the exact document was left out of an export.
    pub fn load(folder: &RunFolder) -> Result<Self, Error> {
        let damaged = |error: serde_json::Error| {
            Error::new(Code::RecordDamaged, format!("`{RUN_FILE}` of the run is not what this version writes: {error}"))
        };
        let text = folder.read(RUN_FILE)?;
        let value: Value = serde_json::from_slice(&text).map_err(damaged)?;
        match value.get("exact").and_then(named) {
            Some(exact) => serde_json::from_slice(&folder.pack()?.get(&exact)?).map_err(damaged),
            None => serde_json::from_value(value).map_err(damaged),
        }
    }

    /// True if it took an approved script only.
    pub fn is_locked(&self) -> bool {
        self.policy_source.locked
    }

    /// The budgets that the command line gave in place of the header's.
    pub fn given_budget(&self) -> BudgetCeiling {
        self.policy_source.given()
    }

    /// The policy in force when the run started, tightened by the script's header.
    pub fn policy(&self) -> Result<Policy, Error> {
        let mut policy = match self.rules {
            0 => Policy::restore_earlier(&self.policy_source)?,
            _ => Policy::restore(&self.policy_source)?,
        };
        if policy.sha256() != self.policy_sha256 && self.rules == 0 {
            policy = Policy::restore(&self.policy_source)?;
        }
        if policy.sha256() != self.policy_sha256 {
            return Err(Error::new(
                Code::RecordDamaged,
                "the recorded policy does not have the hash that the record names",
            )
            .hint("a version of nrv with other defaults may have written it; use that version"));
        }
        Ok(policy)
    }
}
