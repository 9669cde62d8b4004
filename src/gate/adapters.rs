//! The gate `adapters`: only adapters that exist and are approved are used, and try no more links than is permitted.

use serde_json::Value;

use super::{Decision, Finding, Gate, Subject};
use crate::{
    call::Call,
    error::{self, Code},
    policy::Policy,
};

/// The key of the approved list.
const APPROVED: &str = "adapters.approved";

/// See the module's documentation.
pub(super) struct Adapters;

impl Gate for Adapters {
    fn name(&self) -> &'static str {
        "adapters"
    }

    fn doc(&self) -> &'static str {
        "Only adapters that exist and are on the approved list are used, and they try no more links over the network than is permitted."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Option<Vec<Finding>> {
        match subject {
            Subject::Call { call, adapters, .. } => {
                let tool = tool(call)?;
                let finding = judge(tool, adapters, policy).or_else(|| samples(tool, call, policy));
                Some(finding.into_iter().collect())
            }
            Subject::Changes { .. } => None,
        }
    }
}

/// The adapter that a call uses.
fn tool(call: &Call) -> Option<&str> {
    match call {
        Call::DtaDescribe { tool }
        | Call::DtaPropose { tool, .. }
        | Call::DtaApply { tool, .. }
        | Call::DtaRun { tool, .. } => Some(tool),
        Call::FilesGlob { .. }
        | Call::FilesRead { .. }
        | Call::FilesExists { .. }
        | Call::FilesStat { .. }
        | Call::FilesSha256 { .. }
        | Call::FilesGrep { .. }
        | Call::DtaList {}
        | Call::GateConfirm { .. }
        | Call::GateRequire { .. }
        | Call::UiStep { .. }
        | Call::UiProgress { .. }
        | Call::UiTable { .. }
        | Call::UiShow { .. }
        | Call::RunBudget {}
        | Call::RunMetrics {}
        | Call::RunMetric { .. }
        | Call::Custom { .. } => None,
    }
}

/// Why a call may not have as many links tried over the network as its params or the policy say.
fn samples(tool: &str, call: &Call, policy: &Policy) -> Option<Finding> {
    let (Call::DtaPropose { input, .. } | Call::DtaRun { input, .. }) = call else { return None };
    policy.samples(tool, input.get("params").unwrap_or(&Value::Null)).err().map(Finding::from)
}

fn judge(tool: &str, existing: &[&str], policy: &Policy) -> Option<Finding> {
    let block = |code: Code, rule: &str, reason: String, remediation: String| {
        Some(Finding { decision: Decision::Block, code, rule: rule.to_owned(), reason, remediation })
    };
    if !existing.contains(&tool) {
        let remediation = match error::nearest(tool, existing.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`nrv dta list` shows the adapters that exist".to_owned(),
        };
        let reason = format!("there is no adapter `{}`", tool.escape_debug());
        return block(Code::NotFound, "adapters", reason, remediation);
    }
    let approved = policy.settings().adapters.approved.as_ref()?;
    if approved.iter().any(|name| name == tool) {
        return None;
    }
    let reason = format!("the adapter `{tool}` is not approved by `{APPROVED}` ({})", policy.origin(APPROVED));
    block(Code::NotApproved, APPROVED, reason, format!("add `{tool}` to `{APPROVED}`, if runs may use it"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::decide;
    use super::*;
    use crate::policy::FILE;

    const EXISTING: &[&str] = &["json_schema_migrator", "link_updater"];

    #[track_caller]
    fn check(policy: &str, tool: &str, expected: Option<(Code, &str)>) {
        let policy = Policy::parse(policy, FILE).unwrap();
        let tool = || tool.to_owned();
        for call in [
            Call::DtaDescribe { tool: tool() },
            Call::DtaPropose { tool: tool(), input: Value::Null },
            Call::DtaApply { tool: tool(), proposal: Value::Null },
            Call::DtaRun { tool: tool(), input: Value::Null },
        ] {
            let verdict = decide(&Subject::Call { call: &call, adapters: EXISTING, calls: &[] }, &policy);
            assert_eq!(verdict.results.len(), 1);
            let error = verdict.into_error();
            let found = error.as_ref().map(|error| (error.code(), error.hint_text().unwrap_or_default()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn without_a_list_every_adapter_that_exists_is_approved() {
        check("", "link_updater", None);
    }

    #[test]
    fn a_list_approves_what_it_names() {
        let policy = "[adapters]\napproved = ['link_updater']";
        check(policy, "link_updater", None);
        let hint = "add `json_schema_migrator` to `adapters.approved`, if runs may use it";
        check(policy, "json_schema_migrator", Some((Code::NotApproved, hint)));
    }

    #[test]
    fn an_empty_list_denies_all() {
        let hint = "add `link_updater` to `adapters.approved`, if runs may use it";
        check("[adapters]\napproved = []", "link_updater", Some((Code::NotApproved, hint)));
    }

    #[test]
    fn an_unknown_adapter_names_the_nearest() {
        check("", "link_updatr", Some((Code::NotFound, "did you mean `link_updater`?")));
        check("", "zzz", Some((Code::NotFound, "`nrv dta list` shows the adapters that exist")));
        check(
            "[adapters]\napproved = ['zzz']",
            "zzz",
            Some((Code::NotFound, "`nrv dta list` shows the adapters that exist")),
        );
    }

    #[test]
    fn links_are_tried_only_as_far_as_the_policy_permits() {
        let policy =
            Policy::parse("[adapters.link_updater]\nhttp_samples = 3\n[net]\nhosts = ['a.com']", FILE).unwrap();
        let rule = |policy: &Policy, samples: u64| {
            let input = json!({"params": {"http_samples": samples}});
            let call = Call::DtaRun { tool: "link_updater".to_owned(), input };
            let verdict = decide(&Subject::Call { call: &call, adapters: EXISTING, calls: &[] }, policy);
            verdict.into_error().map(|error| (error.code(), error.hint_text().unwrap_or_default().to_owned()))
        };
        assert_eq!(rule(&policy, 3), None);
        let hint = "ask for fewer, or set `http_samples` in `[adapters.link_updater]` of `nrv.toml`".to_owned();
        assert_eq!(rule(&policy, 4), Some((Code::PermissionDenied, hint.clone())));
        assert_eq!(rule(&Policy::default(), 1), Some((Code::PermissionDenied, hint)));
        assert_eq!(rule(&Policy::default(), 0), None);
    }
}
