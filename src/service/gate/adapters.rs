//! The gate `adapters`: runs use only approved adapters that exist, which probe no more links than permitted. Under strict
//! tools only an adapter changes its files.

use serde_json::Value;

use super::{Decision, Domain, Finding, Gate, Rules, Subject};
use base::{
    call::Used,
    diff::Stat,
    error::{self, Code},
    path::RepoPath,
};
use system::{policy::Policy, workspace::Globs};

/// The key of the approved list.
const APPROVED: &str = "adapters.approved";

/// The key of strict tools.
const STRICT_TOOLS: &str = "adapters.strict_tools";

/// See the module's documentation.
pub(crate) struct Adapters;

impl Gate for Adapters {
    fn name(&self) -> &'static str {
        "adapters"
    }

    fn doc(&self) -> &'static str {
        "Only adapters that exist and are on the approved list are used, and they try no more links over the network than is permitted; under strict tools nothing else changes their files."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        match subject {
            Subject::Call { call, adapters, .. } => {
                let used = call.touches().adapter?;
                let finding = judge(used.name, adapters, policy).or_else(|| samples(used, policy));
                Some(finding.into_iter().collect())
            }
            Subject::Changes { domains: [], .. } => None,
            Subject::Changes { files, domains, .. } => Some(strict(files, domains, policy)),
            Subject::Command { .. } | Subject::ToolUse { .. } | Subject::Text { .. } | Subject::Edit { .. } => None,
        }
    }
}

/// The files of approved adapters that something else would change.
fn strict(files: &[Stat], domains: &[Domain], policy: &Policy) -> Vec<Finding> {
    let approved = |domain: &&Domain| {
        let list = policy.settings().adapters.approved.as_ref();
        list.is_none_or(|list| list.contains(&domain.adapter))
    };
    let owned: Vec<(&str, Option<Globs>)> = domains
        .iter()
        .filter(approved)
        .map(|domain| (domain.adapter.as_str(), Globs::parse(&domain.globs).ok()))
        .collect();
    // An unreadable glob covers everything, so that it can't open a gap.
    let owns = |path: &RepoPath, globs: &Option<Globs>| globs.as_ref().is_none_or(|globs| globs.matches(path));
    let finding = |file: &Stat| {
        let owners: Vec<&str> =
            owned.iter().filter(|(_, globs)| owns(&file.path, globs)).map(|(adapter, _)| *adapter).collect();
        let named =
            |form: fn(&&str) -> String, between: &str| owners.iter().map(form).collect::<Vec<_>>().join(between);
        let (adapters, calls) =
            (named(|one| format!("`{one}`"), ", "), named(|one| format!("`nrv.dta(\"{one}\")`"), " or "));
        let noun = match owners.len() {
            0 => return None,
            1 => "adapter",
            _ => "adapters",
        };
        Some(Finding {
            decision: Decision::Block,
            code: Code::PermissionDenied,
            rule: STRICT_TOOLS.to_owned(),
            reason: match policy.settings().adapters.strict_tools {
                true => format!(
                    "`{}` belongs to the {noun} {adapters}, and `{STRICT_TOOLS}` lets nothing else change it ({})",
                    file.path,
                    policy.origin(STRICT_TOOLS)
                ),
                false => format!(
                    "`{}` belongs to the {noun} {adapters}, and an agent that has it changes the file by it alone",
                    file.path
                ),
            },
            remediation: match policy.settings().adapters.strict_tools {
                true => format!("use {calls}, or switch `{STRICT_TOOLS}` off"),
                false => format!("use {}", named(|one| format!("`dta_{one}_propose` and `dta_{one}_apply`"), " or ")),
            },
            place: None,
        })
    };
    files.iter().filter_map(finding).collect()
}

/// The reason that a call may not probe as many links over the network as its params or the policy say.
fn samples(used: Used<'_>, policy: &Policy) -> Option<Finding> {
    policy.samples(used.name, used.input?.get("params").unwrap_or(&Value::Null)).err().map(Finding::from)
}

fn judge(tool: &str, existing: &[&str], policy: &Policy) -> Option<Finding> {
    let block = |code: Code, rule: &str, reason: String, remediation: String| {
        Some(Finding { decision: Decision::Block, code, rule: rule.to_owned(), reason, remediation, place: None })
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

    use super::{super::decide, *};
    use base::call::Call;
    use system::policy::FILE;

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
            let verdict = decide(
                &Subject::Call { call: &call, adapters: EXISTING, calls: &[], tool: None },
                &policy,
                Rules::built_in(),
            );
            assert!(verdict.results.iter().any(|result| result.gate_name == "adapters"));
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
    fn under_strict_tools_the_files_of_approved_adapters_are_theirs() {
        let domain = |adapter: &str, glob: &str| Domain { adapter: adapter.to_owned(), globs: vec![glob.to_owned()] };
        let domains = [domain("json_schema_migrator", "**/*.json"), domain("link_updater", "**/*.html")];
        let blocked = |policy: &str, path: &str, domains: &[Domain]| {
            let policy = Policy::parse(policy, FILE).unwrap();
            let files = [Stat { path: RepoPath::parse(path).unwrap(), lines: base::diff::Lines::default() }];
            let subject = Subject::Changes { files: &files, texts: &[], run_lines_so_far: 0, adapter: None, domains };
            decide(&subject, &policy, Rules::built_in())
                .into_error()
                .map(|error| (error.code(), error.message().to_owned()))
        };
        let strict = "[adapters]\nstrict_tools = true";
        let (code, message) = blocked(strict, "a/b.html", &domains).unwrap();
        assert_eq!(code, Code::PermissionDenied);
        assert!(message.contains("`link_updater`") && message.contains("line 2"), "{message}");
        let both = [domain("json_schema_migrator", "a/**"), domain("link_updater", "**/*.html")];
        let (_, message) = blocked(strict, "a/b.html", &both).unwrap();
        assert!(message.contains("the adapters `json_schema_migrator`, `link_updater`"), "{message}");
        assert_eq!(blocked(strict, "a/b.txt", &domains), None);
        assert_eq!(blocked(strict, "a/b.html", &[]), None);
        let one = "[adapters]\nstrict_tools = true\napproved = ['json_schema_migrator']";
        assert_eq!(blocked(one, "a/b.html", &domains), None);
        assert!(blocked(one, "a.json", &domains).is_some());
    }

    #[test]
    fn links_are_tried_only_as_far_as_the_policy_permits() {
        let policy =
            Policy::parse("[adapters.link_updater]\nhttp_samples = 3\n[net]\nhosts = ['a.com']", FILE).unwrap();
        let rule = |policy: &Policy, samples: u64| {
            let input = json!({"params": {"http_samples": samples}});
            let call = Call::DtaRun { tool: "link_updater".to_owned(), input };
            let verdict = decide(
                &Subject::Call { call: &call, adapters: EXISTING, calls: &[], tool: None },
                policy,
                Rules::built_in(),
            );
            verdict.into_error().map(|error| (error.code(), error.hint_text().unwrap_or_default().to_owned()))
        };
        assert_eq!(rule(&policy, 3), None);
        let hint = "ask for fewer, or set `http_samples` in `[adapters.link_updater]` of `nrv.toml`".to_owned();
        assert_eq!(rule(&policy, 4), Some((Code::PermissionDenied, hint.clone())));
        assert_eq!(rule(&Policy::default(), 1), Some((Code::PermissionDenied, hint)));
        assert_eq!(rule(&Policy::default(), 0), None);
    }
}
