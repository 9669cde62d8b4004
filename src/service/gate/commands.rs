//! The gate `destructive-ops`: commands that destroy data irrecoverably.
//!
//! A command that can't be parsed needs a confirmation at least.

use std::collections::BTreeSet;

use super::{
    Decision, Finding, Gate, Rules, Subject,
    destructive::{self, Hit, Severity},
    secrets,
};
use base::{error::Code, text::escape};
use system::policy::Policy;

/// See the module's documentation.
pub(super) struct Commands;

/// The number of characters of a command that a reason shows.
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
        let (mut findings, mut rows) = (Vec::new(), Vec::new());
        let commands = subject.commands()?;
        let starts = if commands.is_empty() { Vec::new() } else { subject.starts() };
        for words in commands {
            let Some(command) = words.command() else {
                findings.push(unparsed("the tool starts commands, and nothing in its params says which", usual));
                continue;
            };
            for start in &starts {
                let examined = destructive::examine_from(*start, command, rules.destructive());
                for hit in examined.hits {
                    rows.push(hit.is_permissible.then(|| (hit.rule.clone(), hit.argv.clone())));
                    findings.push(finding(hit, usual, policy, rules));
                }
                findings.extend(examined.unparsed.map(|why| unparsed(&why, usual)));
            }
        }
        advise(&mut findings, &rows, (policy, rules));
        Some(findings)
    }
}

/// Adds to findings that ask the rows of the policy that would permit just these commands: a rule and the words for each hit. Nothing is added if
/// they would not be enough, or would tell a secret.
fn advise(findings: &mut [Finding], rows: &[Option<(String, Vec<String>)>], (policy, rules): (&Policy, &Rules)) {
    if findings.len() != rows.len() || findings.iter().any(|one| one.decision == Decision::Block) {
        return;
    }
    let asks = |finding: &Finding| finding.decision == Decision::RequireConfirmation;
    let asking = findings.iter().zip(rows).filter(|(finding, _)| asks(finding)).map(|(_, row)| row.clone());
    let Some(rows) = asking.collect::<Option<BTreeSet<_>>>().filter(|rows| !rows.is_empty()) else { return };
    let advice = policy.exceptions(&rows);
    if secrets::redact(&advice, rules.secrets()) != advice {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| asks(finding)) {
        finding.remediation = format!("{}. {advice}", finding.remediation);
    }
}

fn finding(hit: Hit, usual: Decision, policy: &Policy, rules: &Rules) -> Finding {
    let decision = match hit.severity {
        _ if hit.allowed.is_some() => Decision::Allow,
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
    let exception = hit.allowed.and_then(|at| Some((at, policy.settings().gates.destructive.allow.get(at)?)));
    let why = match exception {
        Some((at, allowed)) => {
            let place = policy.origin(&format!("gates.destructive.allow.{at}"));
            format!("{}, and {place} allows it: {}", hit.reason, allowed.reason)
        }
        None => hit.reason,
    };
    Finding {
        decision,
        code: Code::Blocked,
        rule: hit.rule,
        reason: if shown.is_empty() { why } else { format!("`{shown}`: {why}") },
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
    use super::{
        super::{destructive::Command, evaluate_command},
        *,
    };
    use system::policy::FILE;

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

    fn advice(policy: &str, line: &str) -> String {
        let policy = Policy::parse(policy, FILE).unwrap();
        let verdict = evaluate_command(Command::Line(line), &policy, &Rules::of(&policy).unwrap());
        verdict.results.into_iter().find_map(|one| one.remediation).unwrap_or_default()
    }

    #[test]
    fn the_advice_has_the_row_that_permits_just_this_command() {
        let lines = [
            "git reset --hard",
            "rm -rf src",
            "/bin/rm -r 'a b' \"it's\" '\"x\\'",
            "(cargo test && git push -f origin main)",
            "docker volume rm data | cat",
            "git clean -fdx; git stash drop; git clean -fdx",
        ];
        for line in lines {
            let advice = advice("", line);
            let row = advice.split_once('\n').unwrap_or_else(|| panic!("{line}: {advice}")).1;
            check(row, line, Decision::Allow);
            check(row, &format!("{line} && rm -rf other"), Decision::RequireConfirmation);
        }
    }

    #[test]
    fn no_row_is_offered_that_would_not_hold_or_would_tell_a_secret() {
        let long = format!("rm -rf {}", "src/".repeat(40));
        for line in [
            "cd src && rm -rf lib",
            "sudo rm -rf src",
            "rm -rf $x",
            "rm -rf *",
            "rm -rf /",
            "rm -rf src; rm -rf $x",
            "cp x nrv.toml",
            "mysql --password=q8Zr2LmX0vTn4Ks9 -e 'drop database shop'",
            &long,
        ] {
            let advice = advice("", line);
            assert!(!advice.contains('\n'), "{line}: {advice}");
        }
        assert!(!advice("[gates.destructive]\ndecision = 'warn'", "rm -rf src").contains('\n'));
    }

    #[test]
    fn an_exception_allows_one_rule_for_one_command_and_is_told() {
        let policy = "[[gates.destructive.allow]]\nrule = 'files.delete-tree'\ncommand = ['rm', '-rf', ['dist', 'out']]\n\
                      reason = 'the build makes it again'\nmatch = ['rm -rf out']\nnot_match = ['rm -rf src']\n";
        let reason = check(policy, "rm -rf dist", Decision::Allow);
        assert!(reason.contains("line 1 of `nrv.toml` allows it: the build makes it again"), "{reason}");
        check(policy, "rm -rf dist src", Decision::RequireConfirmation);
        check(policy, "rm -rf dist && git reset --hard", Decision::RequireConfirmation);
        check(policy, "sudo rm -rf dist", Decision::RequireConfirmation);
        let locked = Policy::parse(policy, FILE).unwrap().locked().unwrap();
        let rules = Rules::of(&locked).unwrap();
        let decided = |line| evaluate_command(Command::Line(line), &locked, &rules).decision;
        assert_eq!((decided("rm -rf dist"), decided("rm -rf src")), (Decision::Allow, Decision::Block));
    }

    #[test]
    fn a_disposable_place_may_be_deleted_below_the_workspace_alone() {
        let policy = "[gates.destructive]\ndisposable = ['dist', 'packages/*/build', 'out/**']\n";
        for line in [
            "rm -rf dist",
            "rm -rf ./dist packages/a/build/x out",
            "rm -rf out/*",
            "cd packages/a && rm -rf build dist",
            "rimraf dist",
            "find dist -name '*.map' -delete",
            "rd /s /q dist",
            "Remove-Item -Recurse -Force dist,out",
        ] {
            check(policy, line, Decision::Allow);
        }
        for line in [
            "rm -rf build",
            "rm -rf dist src",
            "rm -rf ../dist",
            "rm -rf dist/../src",
            "rm -rf ~/dist",
            "cd - && rm -rf dist",
            "sudo rm -rf dist",
            "ssh host rm -rf dist",
            "cd packages && rm -rf build",
            "find . -name '*.map' -delete",
            "rm -rf \"$X/dist\"",
            "rm -rf d*",
            "rm -rf *",
        ] {
            let policy = Policy::parse(policy, FILE).unwrap();
            let rules = Rules::of(&policy).unwrap();
            assert!(evaluate_command(Command::Line(line), &policy, &rules).decision > Decision::Warn, "{line}");
        }
        let all = Policy::parse("[gates.destructive]\n\ndisposable = ['**/*']", FILE).unwrap();
        let error = Rules::of(&all).unwrap_err();
        assert!(error.message().contains("covers too much") && error.details()["line"] == 3, "{error:?}");
    }

    #[test]
    fn a_disposable_place_never_lifts_the_guard_and_needs_both_policies() {
        let policy = |globs: &str| Policy::parse(&format!("[gates.destructive]\ndisposable = {globs}"), FILE).unwrap();
        let decided = |policy: &Policy, line: &str| {
            let rules = Rules::of(policy).unwrap();
            evaluate_command(Command::Line(line), policy, &rules).decision
        };
        assert_eq!(decided(&policy("['.git', 'nrv.toml']"), "rm -rf .git"), Decision::Block);
        let both = |other: &str| Policy::strictest(&policy("['dist', 'out']"), &policy(other)).unwrap();
        assert_eq!(decided(&both("['dist']"), "rm -rf dist"), Decision::Allow);
        assert_eq!(decided(&both("['dist']"), "rm -rf out"), Decision::RequireConfirmation);
        assert_eq!(decided(&both("[]"), "rm -rf dist"), Decision::RequireConfirmation);
    }

    #[test]
    fn an_exception_that_can_not_be_used_is_refused_with_its_line() {
        for (rest, why) in [
            ("rule = 'guard.policy'\ncommand = ['rm', 'nrv.toml']\nreason = 'r'", "protects the guard itself"),
            ("rule = 'files.nothing'\ncommand = ['rm', 'x']\nreason = 'r'", "no rule has that name"),
            ("rule = 'files.delete-tree'\nreason = 'r'", "fits every command"),
            ("rule = 'files.delete-tree'\nprefix = ['sudo']\nreason = 'r'", "runs whatever follows it"),
            (
                "rule = 'files.delete-tree'\nprefix = ['rm']\nreason = 'r'\nmatch = ['ls']",
                "does not hold for its example `ls`",
            ),
        ] {
            let policy = Policy::parse(&format!("\n[[gates.destructive.allow]]\n{rest}\n"), FILE).unwrap();
            let error = Rules::of(&policy).unwrap_err();
            assert!(error.message().contains(why) && error.details()["line"] == 2, "{error:?}");
        }
    }

    #[test]
    fn of_two_policies_both_have_to_make_the_exception() {
        let policy = |allowed: &str| {
            let text = format!(
                "[[gates.destructive.allow]]\nrule = 'files.delete-tree'\ncommand = ['rm', '-rf', '{allowed}']\nreason = 'r'\n"
            );
            Policy::parse(&text, FILE).unwrap()
        };
        let decided = |other: &Policy| {
            let strictest = Policy::strictest(&policy("dist"), other).unwrap();
            let rules = Rules::of(&strictest).unwrap();
            evaluate_command(Command::Line("rm -rf dist"), &strictest, &rules).decision
        };
        assert_eq!(decided(&policy("dist")), Decision::Allow);
        assert_eq!(decided(&policy("out")), Decision::RequireConfirmation);
        assert_eq!(decided(&Policy::default()), Decision::RequireConfirmation);
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
