//! The gate `llm`: runs use only the providers of language models that the script's header names.
//!
//! A request for a provider's capabilities counts as a request to it. The policy names the provider of a request without one.

use super::{Finding, Gate, Rules, Subject};
use system::policy::Policy;

/// See the module's documentation.
pub(crate) struct Llm;

impl Gate for Llm {
    fn name(&self) -> &'static str {
        "llm"
    }

    fn doc(&self) -> &'static str {
        "Runs ask only the providers of language models that the script's header names."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        let asked = subject.call()?.touches().model?;
        let provider = policy.llm_provider(asked.provider, std::iter::empty());
        Some(policy.llm_refusal(provider).map(Finding::from).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Verdict, decide, explain},
        *,
    };
    use base::{
        call::{Ask, Call},
        error::Code,
    };
    use system::policy::{Ceiling, FILE};

    const TWO: &str = "[llm.providers.local]\ndialect = 'ollama'\nbase_url = 'http://127.0.0.1:1'\n\
                       [llm.providers.far]\ndialect = 'anthropic'\nbase_url = 'https://a.example.com'\n";

    fn policy(text: &str, header: &[&str]) -> Policy {
        let llm = header.iter().map(|name| (*name).to_owned()).collect();
        Policy::parse(text, FILE).unwrap().tightened(&Ceiling { llm, ..Ceiling::default() }).unwrap()
    }

    fn calls(provider: Option<&str>) -> [Call; 3] {
        let provider = provider.map(str::to_owned);
        let ask = || Box::new(Ask { provider: provider.clone(), prompt: Some("hi".to_owned()), ..Ask::default() });
        [Call::LlmComplete(ask()), Call::LlmStream(ask()), Call::LlmCapabilities { provider: provider.clone() }]
    }

    fn judged(call: &Call, policy: &Policy) -> Verdict {
        decide(&Subject::Call { call, adapters: &[], calls: &[], tool: None }, policy, Rules::built_in())
    }

    #[track_caller]
    fn check(policy: &Policy, provider: Option<&str>, expected: Option<&str>) {
        for call in calls(provider) {
            let error = judged(&call, policy).into_error();
            let found = error.as_ref().map(|error| (error.code(), error.hint_text().unwrap_or_default()));
            assert_eq!(found, expected.map(|hint| (Code::PermissionDenied, hint)), "{call:?}");
        }
    }

    #[test]
    fn a_script_asks_the_providers_that_its_header_names() {
        let hint = "add `permissions: #{ llm: [\"far\"] }` to the script's `WORKFLOW`";
        check(&policy(TWO, &["local"]), Some("local"), None);
        check(&policy(TWO, &["*"]), Some("local"), None);
        for header in [&[][..], &["local"], &["f*"]] {
            check(&policy(TWO, header), Some("far"), Some(hint));
        }
        check(&Policy::parse(TWO, FILE).unwrap(), Some("far"), None);
    }

    #[test]
    fn a_request_that_names_none_is_judged_by_the_one_that_it_goes_to() {
        let heuristic = "add `permissions: #{ llm: [\"heuristic\"] }` to the script's `WORKFLOW`";
        check(&policy("", &[]), None, Some(heuristic));
        check(&policy("", &["heuristic"]), None, None);
        check(&policy(TWO, &["local", "far"]), None, Some(heuristic));
        let with_default = format!("[llm]\ndefault = 'far'\n{TWO}");
        check(&policy(&with_default, &["far"]), None, None);
        check(
            &policy(&with_default, &["local"]),
            None,
            Some("add `permissions: #{ llm: [\"far\"] }` to the script's `WORKFLOW`"),
        );
    }

    #[test]
    fn a_name_that_nobody_has_gets_the_nearest() {
        check(&policy(TWO, &["local"]), Some("locl"), Some("did you mean `local`?"));
    }

    #[test]
    fn why_a_request_is_blocked_is_explained_with_where_the_rule_stands() {
        let [call, ..] = calls(None);
        let subject = Subject::Call { call: &call, adapters: &[], calls: &[], tool: None };
        let explained = explain(&subject, &policy("", &[]), Rules::built_in());
        let [one] = explained.as_slice() else { panic!("{explained:?}") };
        assert_eq!((one.gate.as_str(), one.rule.as_str()), ("llm", "header.permissions.llm"));
        assert_eq!(one.source, "the script's header");
        assert!(one.would_change[0].contains("permissions: #{ llm: "));
    }

    #[test]
    fn a_url_that_holds_a_key_is_refused_with_its_line() {
        let key = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
        let text = format!("[llm.providers.a]\ndialect = 'ollama'\nbase_url = 'https://a.example.com/{key}/v1'");
        let error = Rules::of(&Policy::parse(&text, FILE).unwrap()).unwrap_err();
        assert_eq!((error.code(), &error.details()["line"]), (Code::InvalidPolicy, &3.into()));
        assert!(error.message().contains("`llm.providers.a.base_url` (line 3 of `nrv.toml`)"), "{error}");
        assert!(!format!("{error:?}").contains(&key), "{error:?}");
        let account = "0123456789abcdef0123456789abcdef";
        let text = TWO.replace("127.0.0.1:1", &format!("a.example.com/accounts/{account}/v1"));
        Rules::of(&Policy::parse(&text, FILE).unwrap()).unwrap();
    }

    #[test]
    fn other_calls_concern_it_not() {
        let verdict = judged(&Call::PromptCompose(Box::default()), &policy("", &[]));
        assert!(verdict.results.iter().all(|one| one.gate_name != "llm"));
    }
}
