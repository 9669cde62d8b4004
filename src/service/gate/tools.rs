//! The gate `tool-allowlist`: if the list is switched on, runs use only the tools on it.
//!
//! Tools are `apply`, `exec` and `llm`, adapters, the calls that a program adds, and any tool of other programs.

use super::{Decision, Finding, Gate, Rules, Subject};
use base::{error::Code, text::escape};
use system::policy::Policy;

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

/// True if an entry of the list is the name, or its prefix followed by `*`.
fn covers(entry: &str, name: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => entry == name,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{super::decide, *};
    use crate::destructive::Start;
    use base::call::Call;
    use system::policy::FILE;

    #[track_caller]
    fn check(policy: &str, name: &str, expected: Decision) {
        let policy = Policy::parse(policy, FILE).unwrap();
        let rules = Rules::built_in();
        let found = decide(&Subject::ToolUse { name, params: &Value::Null, start: Start::default() }, &policy, rules);
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
    fn changes_commands_and_requests_to_models_are_tools() {
        let rules = |policy: &str, call: &Call| {
            let policy = Policy::parse(policy, FILE).unwrap();
            let verdict =
                decide(&Subject::Call { call, adapters: &[], calls: &[], tool: None }, &policy, Rules::built_in());
            verdict.results.iter().flat_map(|result| result.triggered_rules.clone()).any(|rule| rule == ALLOWED)
        };
        for (name, call) in [
            ("apply", Call::ApplyRemove { path: "a".to_owned(), checksum: String::new() }),
            ("exec", Call::ExecRun(Box::default())),
            ("llm", Call::LlmComplete(Box::default())),
            ("llm", Call::LlmStream(Box::default())),
            ("llm", Call::LlmCapabilities { provider: None }),
        ] {
            assert!(rules("[gates.tools]\nenabled = true", &call), "{name}");
            assert!(rules("[gates.tools]\nenabled = true\nallowed = ['a']", &call), "{name}");
            let named = format!("[gates.tools]\nenabled = true\nallowed = ['{name}']");
            assert!(!rules(&named, &call) && !rules("", &call), "{name}");
        }
        for call in [Call::FilesExists { path: "a".to_owned() }, Call::RunBudget {}, Call::DtaList {}] {
            assert!(!rules("[gates.tools]\nenabled = true", &call), "{call:?}");
        }
    }

    #[test]
    fn adapters_and_calls_of_a_program_are_tools() {
        let policy = Policy::parse("[gates.tools]\nenabled = true\nallowed = ['a']", FILE).unwrap();
        let tool = "link_updater".to_owned();
        for call in [
            Call::Custom { name: "tickets.create".to_owned(), params: Value::Null },
            Call::DtaRun { tool, input: Value::Null },
        ] {
            let subject = Subject::Call { call: &call, adapters: &["link_updater"], calls: &[], tool: None };
            let verdict = decide(&subject, &policy, Rules::built_in());
            assert!(verdict.results.iter().any(|result| result.triggered_rules == [ALLOWED]), "{verdict:?}");
        }
    }
}
