//! The gate `exec`: runs start only commands that a rule of the policy and the script's header allow.
//!
//! It judges only calls of runs. Other questions about a command concern its destructiveness, not nrv's permission to start it.

use super::{Finding, Gate, Rules, Subject};
use system::policy::Policy;

/// See the module's documentation.
pub(crate) struct Exec;

impl Gate for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn doc(&self) -> &'static str {
        "Runs start only commands that begin as a rule of the policy says, of programs that the script's header names."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        let run = subject.call()?.touches().starts?;
        Some(policy.exec_rule(&run.argv()).err().map(Finding::from).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Decision, Verdict, decide, destructive, evaluate_command, explain},
        *,
    };
    use base::{
        call::{Call, Run},
        error::Code,
    };
    use system::policy::FILE;

    const POLICY: &str = "[[exec.allow]]\nprefix = ['git']\n";

    fn run(line: &str) -> Call {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().unwrap();
        Call::ExecRun(Box::new(Run { program, args: words.collect(), ..Run::default() }))
    }

    fn judged(policy: &str, line: &str) -> Verdict {
        let policy = Policy::parse(policy, FILE).unwrap();
        decide(&Subject::Call { call: &run(line), adapters: &[], calls: &[], tool: None }, &policy, Rules::built_in())
    }

    #[test]
    fn a_command_that_no_rule_allows_is_blocked_with_the_rule_that_would() {
        let error = judged(POLICY, "cargo test").into_error().unwrap();
        assert_eq!(error.code(), Code::PermissionDenied);
        assert_eq!(error.details()["rules"], serde_json::json!(["exec.allow"]));
        assert!(error.message().contains("line 1 of `nrv.toml`"), "{error}");
        let hint = error.hint_text().unwrap();
        assert!(hint.ends_with(":\n[[exec.allow]]\nprefix = [\"cargo\", \"test\"]"), "{hint}");
    }

    #[test]
    fn a_command_that_is_allowed_may_need_a_confirmation_or_be_blocked_all_the_same() {
        let verdict = judged(POLICY, "git status");
        let seen: Vec<_> = verdict.results.iter().map(|one| (one.gate_name.as_str(), one.decision)).collect();
        let allow = Decision::Allow;
        assert_eq!(seen, [("destructive-ops", allow), ("exec", allow), ("secrets", allow)]);
        assert_eq!(judged(POLICY, "git reset --hard").decision, Decision::RequireConfirmation);
        assert_eq!(judged("[[exec.allow]]\nprefix = ['rm']", "rm -rf /").decision, Decision::Block);
    }

    #[test]
    fn why_a_command_is_blocked_is_explained_with_the_line_of_the_rules() {
        let policy = Policy::parse(POLICY, FILE).unwrap();
        let call = run("cargo test");
        let subject = Subject::Call { call: &call, adapters: &[], calls: &[], tool: None };
        let explained = explain(&subject, &policy, Rules::built_in());
        let [one] = explained.as_slice() else { panic!("{explained:?}") };
        assert_eq!((one.gate.as_str(), one.rule.as_str()), ("exec", "exec.allow"));
        assert_eq!(one.source, "line 1 of `nrv.toml`");
        assert!(one.would_change[0].contains("[[exec.allow]]"));
    }

    #[test]
    fn who_only_asks_about_a_command_is_not_told_what_runs_may_start() {
        let argv = ["cargo".to_owned(), "test".to_owned()];
        let verdict = evaluate_command(destructive::Command::Argv(&argv), &Policy::default(), Rules::built_in());
        assert_eq!(verdict.decision, Decision::Allow);
        assert!(verdict.results.iter().all(|one| one.gate_name != "exec"));
    }
}
