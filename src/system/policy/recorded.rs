//! The parts of a policy that records keep. The policy is made of them again, with the defaults of the release that wrote the record.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{BudgetCeiling, Ceiling, Origin, Policy, hash};
use base::{error::Error, hash::Sha256};

/// The version of what is built in: defaults, and names that are protected. Records name it; those of the release before name none, which
/// stands for 0.
pub const RULES: u32 = 1;

/// The parts of a policy, as records keep them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The name of the file.
    pub file: String,
    /// Its text; empty if there was none.
    pub text: String,
    /// The ceilings of the headers that tightened it, in their order.
    pub headers: Vec<Ceiling>,
    /// True if it was locked down.
    pub locked: bool,
    /// True if its tools were made strict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_tools: bool,
    /// True if it was tightened as where `CI` is set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ci: bool,
    /// The confirmations that the approval of the script grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
}

impl Recorded {
    /// The budgets that a command line gave.
    pub fn given(&self) -> BudgetCeiling {
        self.headers.last().map(|header| header.given).unwrap_or_default()
    }
}

impl Policy {
    /// The parts of this policy, from which [`Policy::restore`] makes it again.
    pub fn recorded(&self) -> Recorded {
        Recorded {
            file: self.file.clone(),
            text: self.text.clone(),
            headers: self.headers.clone(),
            locked: self.locked,
            strict_tools: self.origins.get("adapters.strict_tools") == Some(&Origin::StrictTools),
            ci: self.ci,
            granted: self.settings.confirm.granted.clone(),
        }
    }

    /// The policy that a record was written under; `invalid_policy` if this version does not know what it says.
    pub fn restore(recorded: &Recorded) -> Result<Policy, Error> {
        Policy::parse(&recorded.text, &recorded.file)?.tightened_as(recorded)
    }

    /// As [`Policy::restore`], with the defaults of the release before records named their [rules](RULES).
    pub fn restore_earlier(recorded: &Recorded) -> Result<Policy, Error> {
        let mut policy = Policy::parse(&recorded.text, &recorded.file)?;
        let is_open = |key: &str| !policy.origins.contains_key(key);
        let (calls, processes, fail) = (is_open("budget.calls"), is_open("exec.processes"), is_open("evaluators.fail"));
        if calls {
            policy.settings.budget.calls = 10_000;
        }
        if processes {
            policy.settings.exec.processes = None;
        }
        if fail {
            policy.settings.evaluators.fail = Some(Vec::new());
        }
        policy.earlier_defaults = true;
        policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        policy.tightened_as(recorded)
    }

    /// As [`Policy::restore`], with the defaults that this policy has, and the protected names that hold for it.
    pub fn restore_like(&self, recorded: &Recorded) -> Result<Policy, Error> {
        let policy = if self.earlier_defaults { Policy::restore_earlier(recorded) } else { Policy::restore(recorded) };
        Ok(Policy { earlier_names: self.earlier_names, ..policy? })
    }

    /// This policy as it decided when the record was written: the names hold that were protected then. For replays alone; what is done
    /// now is judged by the names of now.
    #[must_use]
    pub fn as_then(self) -> Policy {
        Policy { earlier_names: self.earlier_defaults, ..self }
    }

    /// True if a hash is that of this policy, as this release or the one before makes it.
    pub fn is_named_by(&self, sha256: Sha256) -> bool {
        self.sha256 == sha256 || Policy::restore_earlier(&self.recorded()).is_ok_and(|then| then.sha256 == sha256)
    }

    /// True if its defaults are those of an earlier release, which began the run.
    pub fn has_earlier_defaults(&self) -> bool {
        self.earlier_defaults
    }

    /// True if it decides as an earlier release did, as far as that is known.
    pub fn is_of_earlier_rules(&self) -> bool {
        self.earlier_names
    }

    /// True if a policy of now differs from this recorded one in nothing but defaults that have changed since.
    pub fn is_still(&self, now: &Policy) -> Result<bool, Error> {
        if !self.earlier_defaults || self.locked != now.locked {
            return Ok(false);
        }
        Ok(self.restore_like(&now.recorded())?.sha256 == self.sha256)
    }

    /// The keys whose values are other ones in a policy of now, such as `budget.calls`; defaults that have changed since do not count.
    pub fn keys_that_differ(&self, now: &Policy) -> Result<Vec<String>, Error> {
        let like = if self.earlier_defaults { self.restore_like(&now.recorded())? } else { now.clone() };
        let mut keys = Vec::new();
        compare("", &json!(self.settings), &json!(like.settings), &mut keys);
        if self.permissions() != like.permissions() {
            keys.push("the permissions of the header".to_owned());
        }
        Ok(keys)
    }

    /// Tightened by all that tightened it when the record was written.
    fn tightened_as(self, recorded: &Recorded) -> Result<Policy, Error> {
        let mut policy = self;
        for header in &recorded.headers {
            policy = policy.tightened(header)?;
        }
        if recorded.strict_tools {
            policy = policy.strict()?;
        }
        if recorded.locked {
            policy = policy.locked()?;
        }
        if recorded.ci {
            policy = policy.in_ci()?;
        }
        if recorded.granted.is_empty() { Ok(policy) } else { policy.granting(&recorded.granted) }
    }
}

/// The keys of two tables whose values differ.
fn compare(key: &str, one: &Value, other: &Value, keys: &mut Vec<String>) {
    let (Value::Object(table), Value::Object(others)) = (one, other) else {
        if one != other {
            keys.push(key.to_owned());
        }
        return;
    };
    for name in table.keys().chain(others.keys()).collect::<BTreeSet<_>>() {
        let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        let value = |table: &serde_json::Map<String, Value>| table.get(name).cloned().unwrap_or_default();
        compare(&inner, &value(table), &value(others), keys);
    }
}

#[cfg(test)]
mod tests {
    use super::super::FILE;
    use super::*;

    #[test]
    fn a_policy_is_made_again_of_what_a_record_says_of_it() {
        let header = serde_json::json!({
            "permissions": {"write": ["a/**"], "calls": ["tickets.create"], "exec": ["make"], "llm": ["local"], "network": ["example.com"]},
            "budget": {"files": 3}, "on_failure": "keep",
        });
        let header = Ceiling::from_header(&header).unwrap();
        let policy = Policy::parse("# why\n[budget]\ncalls = 7\n[paths]\ndeny = ['b']", "other.toml").unwrap();
        for policy in [
            policy.clone(),
            policy.strict().unwrap(),
            policy.tightened(&header).unwrap(),
            policy.tightened(&header).unwrap().locked().unwrap(),
            policy.in_ci().unwrap(),
            policy.locked().unwrap().in_ci().unwrap().granting(&["review".to_owned()]).unwrap(),
        ] {
            let recorded = serde_json::to_value(policy.recorded()).unwrap();
            let restored = Policy::restore(&serde_json::from_value(recorded).unwrap()).unwrap();
            assert_eq!(
                (&restored, restored.sha256(), restored.is_locked()),
                (&policy, policy.sha256(), policy.is_locked())
            );
            assert_eq!(restored.origin("budget.calls"), "line 3 of `other.toml`");
        }
    }

    #[test]
    fn an_earlier_policy_differs_from_that_of_now_by_its_text_alone() {
        let text = "[budget]\nfiles = 7\n";
        let parse = |text: &str| Policy::parse(text, FILE).unwrap();
        let then = Policy::restore_earlier(&parse(text).recorded()).unwrap();
        assert_ne!(then.sha256(), parse(text).sha256());
        assert!(then.is_still(&parse(text)).unwrap() && !then.is_still(&parse("")).unwrap());
        assert!(!then.is_still(&parse(text).locked().unwrap()).unwrap());
        assert_eq!(then.keys_that_differ(&parse(text)).unwrap(), Vec::<String>::new());
        let other = parse("[budget]\nfiles = 8\ncalls = 3\n[paths]\nallow_protected = ['.envrc']");
        let keys = ["budget.calls", "budget.files", "paths.allow_protected"];
        assert_eq!(then.keys_that_differ(&other).unwrap(), keys);
        assert_eq!(parse(text).keys_that_differ(&other).unwrap(), keys);
    }

    #[test]
    fn names_of_then_hold_only_for_what_was_decided_then() {
        let then = Policy::restore_earlier(&Policy::default().recorded()).unwrap();
        let refusal = |policy: &Policy, path: &str| {
            policy.write_refusal(&base::path::RepoPath::parse(path).unwrap()).map(|refusal| refusal.reason)
        };
        assert!(refusal(&then, ".envrc").is_some());
        let then = then.as_then();
        assert_eq!(refusal(&then, ".envrc"), None);
        let words = "`a/.BASHRC` is protected and never written by a run: a shell runs it when it starts";
        assert_eq!(refusal(&then, "a/.BASHRC").as_deref(), Some(words));
        assert!(refusal(&then, ".git/config").is_some() && refusal(&then, "a/.nrv-1").is_some());
        assert!(refusal(&Policy::default().as_then(), ".envrc").is_some());
    }
}
