//! The gate `destructive-ops`: commands that destroy what can't be brought back.
//!
//! What can't be parsed needs a confirmation at least.

use super::{
    Decision, Finding, Gate, Rules, Subject,
    destructive::{self, Hit, Severity},
    secrets,
};
use crate::{error::Code, policy::Policy, text::escape};

/// See the module's documentation.
pub(super) struct Commands;

/// Characters of a command that a reason shows.
const SHOWN: usize = 80;

impl Gate for Commands {
    fn name(&self) -> &'static str {
        "destructive-ops"
    }

    fn doc(&self) -> &'static str {
        "Commands that destroy what can't be brought back need a confirmation or are blocked; so do those that can't be parsed."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Option<Vec<Finding>> {
        let settings = &policy.settings().gates.destructive;
        if !settings.enabled {
            return None;
        }
        let usual = Decision::from(settings.decision);
        let mut findings = Vec::new();
        for words in subject.commands()? {
            let Some(command) = words.command() else {
                findings.push(unparsed("the tool starts commands, and nothing in its params says which", usual));
                continue;
            };
            let examined = destructive::examine(command, rules.destructive());
            findings.extend(examined.hits.into_iter().map(|hit| finding(hit, usual, rules)));
            findings.extend(examined.unparsed.map(|why| unparsed(&why, usual)));
        }
        Some(findings)
    }
}

fn finding(hit: Hit, usual: Decision, rules: &Rules) -> Finding {
    let decision = match hit.severity {
        Severity::Warn => Decision::Warn,
        Severity::Confirm => usual,
        Severity::Block => Decision::Block,
    };
    let command = hit.argv.join(" ");
    let command = escape(&secrets::redact(&command, rules.secrets()));
    let shown = match command.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command,
    };
    Finding {
        decision,
        code: Code::Blocked,
        rule: hit.rule,
        reason: if shown.is_empty() { hit.reason } else { format!("`{shown}`: {}", hit.reason) },
        remediation: hit.remediation,
        place: None,
    }
}

fn unparsed(why: &str, usual: Decision) -> Finding {
    Finding {
        decision: usual.max(Decision::RequireConfirmation),
        code: Code::Blocked,
        rule: "unparsed".to_owned(),
        reason: format!("the command can't be parsed, so that nobody knows what it does: {}", escape(why)),
        remediation: "write it in a simpler way, or as words instead of a shell line".to_owned(),
        place: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{destructive::Command, evaluate_command};
    use super::*;
    use crate::policy::FILE;

    #[track_caller]
    fn check(policy: &str, line: &str, expected: Decision) -> String {
        let policy = Policy::parse(policy, FILE).unwrap();
        let rules = Rules::of(&policy).unwrap();
        let verdict = evaluate_command(Command::Line(line), &policy, &rules);
        assert_eq!(verdict.decision, expected, "{line}");
        verdict
            .results
            .into_iter()
            .find(|one| one.gate_name == "destructive-ops")
            .map_or(String::new(), |one| one.reason)
    }

    #[test]
    fn the_policy_says_what_follows_unless_the_rule_blocks() {
        let line = "git reset --hard";
        check("", line, Decision::RequireConfirmation);
        check("[gates.destructive]\ndecision = 'warn'", line, Decision::Warn);
        check("[gates.destructive]\ndecision = 'block'", line, Decision::Block);
        check("[gates.destructive]\nenabled = false", line, Decision::Allow);
        check("[gates.destructive]\ndecision = 'warn'", "rm -rf /", Decision::Block);
    }

    #[test]
    fn what_can_not_be_parsed_needs_a_confirmation_at_least() {
        check("[gates.destructive]\ndecision = 'warn'", "echo 'open", Decision::RequireConfirmation);
        check("[gates.destructive]\ndecision = 'block'", "echo 'open", Decision::Block);
    }

    #[test]
    fn a_reason_shows_the_command_without_secrets_and_not_all_of_a_long_one() {
        let token = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
        let policy = "[gates.secrets]\nenabled = false";
        let reason =
            check(policy, &format!("git push --force https://x:{token}@example.org"), Decision::RequireConfirmation);
        assert!(reason.starts_with("`git push --force ") && !reason.contains(&token), "{reason}");
        let reason = check("", &format!("rm -rf {}", "x".repeat(500)), Decision::RequireConfirmation);
        assert!(reason.contains('…') && reason.len() < 300, "{reason}");
    }
}
