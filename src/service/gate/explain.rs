//! Explains a verdict: each rule, its source, its examples, and the changes that would alter the verdict.

use serde::Serialize;

use super::{Decision, Finding, Rules, Subject, findings};
use system::policy::Policy;

/// The finding of one rule on a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The gate.
    pub gate: String,
    /// The rule.
    pub rule: String,
    /// Its decision.
    pub decision: Decision,
    /// The reason, a sentence without final period.
    pub reason: String,
    /// The place that defines the rule.
    pub source: String,
    /// Examples that it matches.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Examples that it does not match.
    pub not_match: Vec<String>,
    /// The changes that would alter the verdict.
    pub would_change: Vec<String>,
}

/// Every rule with a finding on a subject, in the order of the gates.
pub fn explain(subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Vec<Explained> {
    let found = findings(subject, policy, rules);
    let all = found.iter().flat_map(|(gate, findings)| findings.iter().map(|finding| (gate.name(), finding)));
    all.map(|(gate, finding)| explained(gate, finding, policy, rules)).collect()
}

fn explained(gate: &str, finding: &Finding, policy: &Policy, rules: &Rules) -> Explained {
    let described = rules.describe(gate, &finding.rule, policy);
    let mut would_change = Vec::new();
    if finding.decision != Decision::Allow {
        would_change.push(finding.remediation.clone());
        would_change.extend(settings(gate, finding.decision, policy));
        if gate == "destructive-ops"
            && finding.rule != "unparsed"
            && !finding.rule.starts_with("guard.")
            && !finding.remediation.contains('\n')
        {
            would_change.push(format!("an exception in `gates.destructive.allow` for the rule `{}`", finding.rule));
        }
    }
    Explained {
        gate: gate.to_owned(),
        rule: finding.rule.clone(),
        decision: finding.decision,
        reason: finding.reason.clone(),
        source: described.source,
        matches: described.matches,
        not_match: described.not_match,
        would_change,
    }
}

/// The keys of the policy that decide for all rules of a gate.
fn settings(gate: &str, decision: Decision, policy: &Policy) -> Vec<String> {
    let table = match gate {
        "destructive-ops" => "gates.destructive",
        "secrets" => "gates.secrets",
        "tool-allowlist" => return vec![format!("`gates.tools.enabled` ({})", policy.origin("gates.tools.enabled"))],
        _ => return Vec::new(),
    };
    let key = |name: &str| format!("{table}.{name}");
    let mut keys = vec![format!("`{}` ({})", key("enabled"), policy.origin(&key("enabled")))];
    let usual = match gate {
        "secrets" => policy.settings().gates.secrets.decision,
        _ => policy.settings().gates.destructive.decision,
    };
    if decision == Decision::from(usual) {
        keys.push(format!("`{}` ({})", key("decision"), policy.origin(&key("decision"))));
    }
    keys
}
