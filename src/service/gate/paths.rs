//! The gate `paths`: runs write nothing protected, denied or unpermitted, and read no secret.

use super::{Decision, Finding, Gate, Rules, Subject, destructive::is_in_store};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::escape,
};
use system::policy::Policy;

/// See the module's documentation.
pub(super) struct Paths;

impl Gate for Paths {
    fn name(&self) -> &'static str {
        "paths"
    }

    fn doc(&self) -> &'static str {
        "Only paths that the policy, the script's header and the adapter's settings allow are written or read."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, _rules: &Rules) -> Option<Vec<Finding>> {
        match subject {
            Subject::Call { call, .. } => {
                Some(call.touches().reads?.into_iter().filter_map(|path| judge_read(path, policy)).collect())
            }
            Subject::Changes { files, adapter, .. } => {
                let refusal =
                    |path: &RepoPath| policy.write_refusal(path).or_else(|| policy.adapter_refusal((*adapter)?, path));
                Some(files.iter().filter_map(|file| refusal(&file.path)).map(Finding::from).collect())
            }
            Subject::Command { .. } | Subject::Text { .. } => None,
            Subject::ToolUse { .. } | Subject::Edit { .. } => {
                let edits = subject.edits()?;
                let edits = edits.iter().filter_map(|edit| judge_edit(&edit.path, policy));
                let reads = subject.reads().unwrap_or_default().into_iter();
                Some(edits.chain(reads.filter_map(|path| judge_tool_read(path, policy))).collect())
            }
        }
    }
}

fn judge_read(path: &str, policy: &Policy) -> Option<Finding> {
    match RepoPath::parse(path) {
        Ok(path) => policy.read_refusal(&path).map(Finding::from),
        // A path that can't be parsed is refused.
        Err(error) => Some(unusable(&error)),
    }
}

/// A tool may read paths that are closed to scripts, such as the repository's history, but nothing that the policy denies to
/// readers.
fn judge_tool_read(path: &str, policy: &Policy) -> Option<Finding> {
    if path.starts_with(['/', '~']) && is_in_store(path) {
        let why = "it has the key by which nrv knows whom a person trusts";
        return Some(elsewhere(path, "read", (Decision::Block, Code::ProtectedPath, "protected", why)));
    }
    let path = RepoPath::parse(path.trim_start_matches(['/', '~'])).ok()?;
    policy.read_refusal(&path).filter(|refusal| refusal.code != Code::ProtectedPath).map(Finding::from)
}

/// An edit may concern a file outside the workspace, which the policy does not cover. Protected paths are protected there too;
/// any other path needs a confirmation.
fn judge_edit(path: &str, policy: &Policy) -> Option<Finding> {
    let outside = path.starts_with(['/', '~']) || path.split('/').next().is_some_and(|part| part.ends_with(':'));
    let parsed = match RepoPath::parse(path.trim_start_matches('/')) {
        Ok(parsed) => parsed,
        Err(error) => return Some(unusable(&error)),
    };
    if !outside {
        return policy.write_refusal(&parsed).map(Finding::from);
    }
    let of_trust = is_in_store(path).then_some("it says whom and what a person trusts");
    let protected = protected::write_refusal(&parsed).or(of_trust);
    let protected = protected.map(|why| (Decision::Block, Code::ProtectedPath, "protected", why));
    let outside = (Decision::RequireConfirmation, Code::Blocked, "outside", "it is outside of the workspace");
    Some(elsewhere(path, "written", protected.unwrap_or(outside)))
}

/// The finding about a path outside of the workspace.
fn elsewhere(path: &str, done: &str, (decision, code, rule, why): (Decision, Code, &str, &str)) -> Finding {
    Finding {
        decision,
        code,
        rule: rule.to_owned(),
        reason: format!("`{}` is not {done} without more ado: {why}", escape(path)),
        remediation: "give a path inside the workspace".to_owned(),
        place: None,
    }
}

fn unusable(error: &Error) -> Finding {
    Finding {
        decision: Decision::Block,
        code: error.code(),
        rule: "path".to_owned(),
        reason: error.message().to_owned(),
        remediation: error.hint_text().unwrap_or_default().to_owned(),
        place: None,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{GateResult, decide},
        *,
    };
    use base::{
        call::Call,
        diff::{Lines, Stat},
        error::Code,
    };
    use system::policy::{Ceiling, FILE};

    fn policy() -> Policy {
        let text = "[paths]\nwrite = ['site/**']\ndeny = ['old']\n[adapters.link]\npaths = ['**/*.html']";
        let ceiling = Ceiling { write: vec!["site/**".to_owned(), "!site/x/**".to_owned()], ..Ceiling::default() };
        Policy::parse(text, FILE).unwrap().tightened(&ceiling).unwrap()
    }

    #[track_caller]
    fn write(path: &str, adapter: Option<&str>, expected: Option<(&str, Code)>) {
        let files = [Stat { path: RepoPath::parse(path).unwrap(), lines: Lines::default() }];
        let verdict = decide(
            &Subject::Changes { files: &files, texts: &[], run_lines_so_far: 0, adapter, domains: &[] },
            &policy(),
            Rules::built_in(),
        );
        let result = verdict.results.iter().find(|result| result.gate_name == "paths").unwrap();
        let found = verdict.code.map(|code| (result.triggered_rules[0].as_str(), code));
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn each_rule_of_writing_blocks() {
        write("site/a.html", Some("link"), None);
        write("site/a.css", None, None);
        write("site/a.css", Some("other"), None);
        write("site/a.css", Some("link"), Some(("adapters.link.paths", Code::PermissionDenied)));
        write("site/.git/a.html", Some("link"), Some(("protected", Code::ProtectedPath)));
        write("site/old/a.html", None, Some(("paths.deny", Code::PermissionDenied)));
        write("doc/a.html", None, Some(("paths.write", Code::PermissionDenied)));
        write("site/x/a.html", None, Some(("header.permissions.write", Code::PermissionDenied)));
    }

    #[test]
    fn many_refused_files_are_counted_and_rules_named_once() {
        let stat = |path: &str| Stat { path: RepoPath::parse(path).unwrap(), lines: Lines::default() };
        let files = [stat("a"), stat("b"), stat("site/old/c"), stat("site/ok")];
        let verdict = decide(
            &Subject::Changes { files: &files, texts: &[], run_lines_so_far: 0, adapter: None, domains: &[] },
            &policy(),
            Rules::built_in(),
        );
        let result: &GateResult = verdict.results.iter().find(|result| result.gate_name == "paths").unwrap();
        assert_eq!(result.triggered_rules, ["paths.deny", "paths.write"]);
        assert!(result.reason.starts_with("`a` may not be written") && result.reason.ends_with("(and 2 more like it)"));
    }

    #[track_caller]
    fn read(path: &str, expected: Option<Code>) {
        let path = || path.to_owned();
        for call in [
            Call::FilesRead { path: path() },
            Call::FilesExists { path: path() },
            Call::FilesStat { path: path() },
            Call::FilesSha256 { path: path() },
        ] {
            assert_eq!(
                decide(
                    &Subject::Call { call: &call, adapters: &[], calls: &[], tool: None },
                    &policy(),
                    Rules::built_in()
                )
                .code,
                expected
            );
        }
    }

    #[test]
    fn each_rule_of_reading_blocks() {
        read("anything/else.txt", None);
        read("nrv.toml", None);
        read("a/.env", Some(Code::PermissionDenied));
        read(".git/config", Some(Code::ProtectedPath));
        read("../x", Some(Code::InvalidPath));
    }
}
