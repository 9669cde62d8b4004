//! The gate `tool-allowlist`: if the list is switched on, only tools that it names are used.
//!
//! Tools are adapters, the calls that a program adds, and whatever other programs ask about.

use super::{Decision, Finding, Gate, Rules, Subject};
use crate::{error::Code, policy::Policy, text::escape};

/// The key of the list.
const ALLOWED: &str = "gates.tools.allowed";

/// See the module's documentation.
pub(super) struct Tools;

impl Gate for Tools {
    fn name(&self) -> &'static str {
        "tool-allowlist"
    }

    fn doc(&self) -> &'static str {
        "If the list of tools is switched on, only those that it names are used; with an empty list, none is."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        let settings = &policy.settings().gates.tools;
        if !settings.enabled {
            return None;
        }
        let name = subject.tool()?;
        if settings.allowed.iter().any(|entry| covers(entry, name)) {
            return Some(Vec::new());
        }
        let shown = escape(name);
        Some(vec![Finding {
            decision: Decision::Block,
            code: Code::NotApproved,
            rule: ALLOWED.to_owned(),
            reason: match settings.allowed.is_empty() {
                true => {
                    format!("the tool `{shown}` may not be used: `{ALLOWED}` is empty ({})", policy.origin(ALLOWED))
                }
                false => format!("the tool `{shown}` is not in `{ALLOWED}` ({})", policy.origin(ALLOWED)),
            },
            remediation: format!("add `{shown}` to `{ALLOWED}`, if it may be used"),
            place: None,
        }])
    }
}

/// True if an entry of the list is the name, or the beginning of it followed by `*`.
fn covers(entry: &str, name: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => entry == name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::decide;
    use super::*;
    use crate::{call::Call, policy::FILE};

    #[track_caller]
    fn check(policy: &str, name: &str, expected: Decision) {
        let policy = Policy::parse(policy, FILE).unwrap();
        let rules = Rules::built_in();
        let found = decide(&Subject::ToolUse { name, params: &Value::Null }, &policy, rules);
        assert_eq!(found.decision, expected, "{name}");
    }

    #[test]
    fn names_are_exact_or_begin_as_listed() {
        let policy = "[gates.tools]\nenabled = true\nallowed = ['Read', 'mcp__docs__*']";
        check(policy, "Read", Decision::Allow);
        check(policy, "mcp__docs__find", Decision::Allow);
        for other in ["read", "Reader", "mcp__doc", "Write", ""] {
            check(policy, other, Decision::Block);
        }
    }

    #[test]
    fn a_list_that_is_on_and_empty_denies_all() {
        check("[gates.tools]\nenabled = true", "Read", Decision::Block);
        check("[gates.tools]\nenabled = true", "", Decision::Block);
        check("[gates.tools]\nallowed = []", "Read", Decision::Allow);
    }

    #[test]
    fn adapters_and_calls_of_a_program_are_tools() {
        let policy = Policy::parse("[gates.tools]\nenabled = true\nallowed = ['a']", FILE).unwrap();
        let tool = "link_updater".to_owned();
        for call in [
            Call::Custom { name: "tickets.create".to_owned(), params: Value::Null },
            Call::DtaRun { tool, input: Value::Null },
        ] {
            let subject = Subject::Call { call: &call, adapters: &["link_updater"], calls: &[] };
            let verdict = decide(&subject, &policy, Rules::built_in());
            assert!(verdict.results.iter().any(|result| result.triggered_rules == [ALLOWED]), "{verdict:?}");
        }
    }
}
