//! `forbidden-dependency-scan`: dependencies that the run added to manifests and that nobody wants.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    evidence::Evidence,
    manifest,
    measure::{Evaluator, Measured, found},
};
use crate::evaluator::manifest::Manifest;
use base::error::{Code, Error};
use gate::Rules;
use system::policy::{DependencyRule, Policy};

/// See the module's documentation.
pub(super) struct ForbiddenDependencyScan;

impl Evaluator for ForbiddenDependencyScan {
    fn name(&self) -> &'static str {
        "forbidden-dependency-scan"
    }

    /// A manifest that can't be read may add anything, and fails if anything is forbidden.
    fn judge(&self, evidence: &Evidence, policy: &Policy, _rules: &Rules) -> Result<Measured, Error> {
        let texts = &policy.settings().evaluators.forbidden_dependencies;
        let rules = texts.iter().map(rule).collect::<Result<Vec<_>, Error>>()?;
        let mut added = 0;
        let mut broken = Vec::new();
        for Manifest { path, before, after } in &evidence.manifests {
            let Some(now) = after.as_ref().and_then(|text| manifest::dependencies(path, text)) else {
                broken.push(format!("`{path}` can't be read"));
                continue;
            };
            let was = before.as_ref().and_then(|text| manifest::dependencies(path, text));
            let was: BTreeSet<_> = was.unwrap_or_default();
            for (name, asked) in now.difference(&was) {
                added += 1;
                let hits = rules.iter().filter(|(_, rule)| rule.forbids(name, asked));
                let asked = if asked.is_empty() { String::new() } else { format!(" {asked}") };
                broken.extend(hits.map(|(text, _)| format!("`{name}`{asked} in `{path}` (`{text}`)")));
            }
        }
        let is_judged = !rules.is_empty() && !evidence.manifests.is_empty();
        let value = broken.len() as f64;
        let details = found(json!({"manifests": evidence.manifests.len(), "added": added}), broken);
        Ok(Measured { passed: is_judged.then_some(value == 0.0), value, limit: None, details })
    }
}

/// A rule with its text.
fn rule(text: &String) -> Result<(&String, DependencyRule), Error> {
    let rule = DependencyRule::parse(text).map(|rule| (text, rule));
    rule.map_err(|why| {
        Error::new(Code::InvalidPolicy, format!("`evaluators.forbidden_dependencies` has `{text}`, which {why}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use base::path::RepoPath;
    use system::policy::FILE;

    #[track_caller]
    fn check(policy: &str, before: Option<&str>, after: Option<&str>, passed: Option<bool>, details: Value) {
        let policy = Policy::parse(policy, FILE).unwrap();
        let bytes = |text: &str| text.as_bytes().to_vec();
        let path = RepoPath::parse("a/package.json").unwrap();
        let manifests = vec![Manifest { path, before: before.map(bytes), after: after.map(bytes) }];
        let evidence = Evidence { manifests, ..Evidence::default() };
        let measured = ForbiddenDependencyScan.judge(&evidence, &policy, Rules::built_in()).unwrap();
        assert_eq!((measured.passed, measured.details), (passed, details));
    }

    #[test]
    fn only_what_the_run_added_is_looked_at() {
        let policy = "[evaluators]\nforbidden_dependencies = ['left-*', 'openssl@<1']";
        let before = Some(r#"{"dependencies": {"left-pad": "1", "a": "1"}}"#);
        let same = r#"{"dependencies": {"left-pad": "1", "a": "2", "openssl": "1.1"}}"#;
        check(policy, before, Some(same), Some(true), json!({"manifests": 1, "added": 2}));
        let worse = r#"{"dependencies": {"left-pad": "1"}, "devDependencies": {"openssl": "^0.9"}}"#;
        let found = ["`openssl` ^0.9 in `a/package.json` (`openssl@<1`)"];
        check(policy, before, Some(worse), Some(false), json!({"manifests": 1, "added": 1, "found": found}));
        let found = ["`left-pad` 1 in `a/package.json` (`left-*`)"];
        let new = r#"{"dependencies": {"left-pad": "1"}}"#;
        check(policy, None, Some(new), Some(false), json!({"manifests": 1, "added": 1, "found": found}));
        let any = r#"{"dependencies": {"left-pad": ""}}"#;
        let found = ["`left-pad` in `a/package.json` (`left-*`)"];
        check(policy, None, Some(any), Some(false), json!({"manifests": 1, "added": 1, "found": found}));
        check("", None, Some(new), None, json!({"manifests": 1, "added": 1}));
    }

    #[test]
    fn a_manifest_that_can_not_be_read_may_add_anything() {
        let policy = "[evaluators]\nforbidden_dependencies = ['x']";
        let details = json!({"manifests": 1, "added": 0, "found": ["`a/package.json` can't be read"]});
        for after in [Some("{"), None] {
            check(policy, None, after, Some(false), details.clone());
        }
    }
}
