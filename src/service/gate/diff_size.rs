//! The gate `diff-size`: a change too large to review warns or blocks, per file and over the whole run.
//!
//! A limit of N admits exactly N.

use super::{Decision, Finding, Gate, Rules, Subject};
use base::{
    error::Code,
    text::{counted, escape},
};
use system::policy::Policy;

/// See the module's documentation.
pub(super) struct DiffSize;

impl Gate for DiffSize {
    fn name(&self) -> &'static str {
        "diff-size"
    }

    fn doc(&self) -> &'static str {
        "Changes with more lines than a person looks at warn or block, per file and over the whole run."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        let so_far = match subject {
            Subject::Changes { files, run_lines_so_far, .. } => {
                let sizes: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.lines.total())).collect();
                return Some(judge(&sizes, *run_lines_so_far, policy));
            }
            Subject::Edit { run_lines_so_far, .. } => *run_lines_so_far,
            Subject::Call { .. } | Subject::Command { .. } | Subject::ToolUse { .. } | Subject::Text { .. } => 0,
        };
        let edits = subject.edits()?;
        let sizes: Vec<_> = edits.iter().map(|edit| (&*edit.path, edit.diff_lines)).collect();
        Some(judge(&sizes, so_far, policy))
    }
}

fn judge(files: &[(&str, u64)], so_far: u64, policy: &Policy) -> Vec<Finding> {
    let limits = &policy.settings().gates.diff_size;
    let mut findings = Vec::new();
    for (path, lines) in files {
        let (path, lines) = (escape(path), *lines);
        let what = format!("`{path}` changes {}", counted(lines, "line"));
        findings.extend(exceeds(lines, Limit::block("block_lines", limits.block_lines), &what, policy));
        findings.extend(exceeds(lines, Limit::warn("warn_lines", limits.warn_lines), &what, policy));
    }
    let run = files.iter().fold(so_far, |sum, (_, lines)| sum.saturating_add(*lines));
    let what = format!("the run would have changed {}", counted(run, "line"));
    findings.extend(exceeds(run, Limit::block("run_block_lines", limits.run_block_lines), &what, policy));
    // Reported once, for the change that exceeds the limit, and not for those after it.
    if so_far <= limits.run_warn_lines {
        findings.extend(exceeds(run, Limit::warn("run_warn_lines", limits.run_warn_lines), &what, policy));
    }
    findings
}

/// A limit with its key and the decision if it is exceeded.
struct Limit {
    key: &'static str,
    lines: Option<u64>,
    decision: Decision,
}

impl Limit {
    fn block(key: &'static str, lines: Option<u64>) -> Self {
        Limit { key, lines, decision: Decision::Block }
    }

    fn warn(key: &'static str, lines: u64) -> Self {
        Limit { key, lines: Some(lines), decision: Decision::Warn }
    }
}

fn exceeds(lines: u64, limit: Limit, what: &str, policy: &Policy) -> Option<Finding> {
    let most = limit.lines.filter(|most| lines > *most)?;
    let key = format!("gates.diff_size.{}", limit.key);
    let reason = format!("{what}, more than the {most} of `{key}` ({})", policy.origin(&key));
    let remediation = match limit.decision {
        Decision::Allow | Decision::Warn | Decision::RequireConfirmation => "look at the change closely".to_owned(),
        Decision::Block => format!("change less at once, or raise `{key}`"),
    };
    Some(Finding { decision: limit.decision, code: Code::Blocked, rule: key, reason, remediation, place: None })
}

#[cfg(test)]
mod tests {
    use super::{super::decide, *};
    use base::{
        diff::{Lines, Stat},
        path::RepoPath,
    };
    use system::policy::FILE;

    #[track_caller]
    fn check(files: &[(u64, u64)], so_far: u64, expected: Decision, rules: &[&str]) {
        let text = "[gates.diff_size]\nwarn_lines = 10\nblock_lines = 20\nrun_warn_lines = 30\nrun_block_lines = 40";
        let files: Vec<Stat> = files
            .iter()
            .enumerate()
            .map(|(at, (added, removed))| Stat {
                path: RepoPath::parse(&format!("f{at}")).unwrap(),
                lines: Lines { added: *added, removed: *removed },
            })
            .collect();
        let subject =
            Subject::Changes { files: &files, texts: &[], run_lines_so_far: so_far, adapter: None, domains: &[] };
        let verdict = decide(&subject, &Policy::parse(text, FILE).unwrap(), Rules::built_in());
        let found: Vec<&str> =
            verdict.results.iter().flat_map(|one| &one.triggered_rules).map(String::as_str).collect();
        let rules: Vec<String> = rules.iter().map(|rule| format!("gates.diff_size.{rule}")).collect();
        assert_eq!((verdict.decision, found), (expected, rules.iter().map(String::as_str).collect()));
    }

    #[test]
    fn a_limit_for_a_file_admits_exactly_itself() {
        check(&[(5, 5)], 0, Decision::Allow, &[]);
        check(&[(6, 5)], 0, Decision::Warn, &["warn_lines"]);
        check(&[(0, 20)], 0, Decision::Warn, &["warn_lines"]);
        check(&[(1, 20)], 0, Decision::Block, &["block_lines", "warn_lines"]);
    }

    #[test]
    fn a_limit_for_the_run_admits_exactly_itself() {
        check(&[(10, 0), (10, 0), (10, 0)], 0, Decision::Allow, &[]);
        check(&[(10, 0), (10, 0), (10, 0)], 1, Decision::Warn, &["run_warn_lines"]);
        check(&[(10, 0)], 30, Decision::Warn, &["run_warn_lines"]);
        check(&[(5, 0), (6, 0)], 30, Decision::Block, &["run_block_lines", "run_warn_lines"]);
        check(&[(1, 0)], u64::MAX, Decision::Block, &["run_block_lines"]);
    }

    #[test]
    fn that_a_run_goes_beyond_its_limit_is_said_once_unless_it_is_blocked() {
        check(&[(1, 0)], 30, Decision::Warn, &["run_warn_lines"]);
        check(&[(1, 0)], 31, Decision::Allow, &[]);
        check(&[(10, 0)], 31, Decision::Block, &["run_block_lines"]);
        check(&[(10, 0)], 41, Decision::Block, &["run_block_lines"]);
    }

    #[test]
    fn the_defaults_only_warn() {
        let stat = |added| Stat { path: RepoPath::parse("a").unwrap(), lines: Lines { added, removed: 0 } };
        let decision = |added| {
            let files = [stat(added)];
            decide(
                &Subject::Changes { files: &files, texts: &[], run_lines_so_far: 0, adapter: None, domains: &[] },
                &Policy::default(),
                Rules::built_in(),
            )
            .decision
        };
        assert_eq!(
            (decision(300), decision(301), decision(1_000_000)),
            (Decision::Allow, Decision::Warn, Decision::Warn)
        );
    }

    #[test]
    fn a_reason_names_file_numbers_and_source() {
        let files = [Stat { path: RepoPath::parse("a").unwrap(), lines: Lines { added: 2, removed: 1 } }];
        let policy = Policy::parse("[gates.diff_size]\nblock_lines = 2", FILE).unwrap();
        let error = decide(
            &Subject::Changes { files: &files, texts: &[], run_lines_so_far: 0, adapter: None, domains: &[] },
            &policy,
            Rules::built_in(),
        )
        .into_error();
        assert_eq!(
            error.unwrap().message(),
            "`a` changes 3 lines, more than the 2 of `gates.diff_size.block_lines` (line 2 of `nrv.toml`)"
        );
    }
}
