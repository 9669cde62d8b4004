//! The gate `secrets`: no change adds a likely key, token or password to a file, a command or a tool's params.
//!
//! The former content of a text is not new. A finding names rule, place and the beginning of a hash, never a character of the
//! secret.

use serde_json::json;

use super::{
    Decision, Finding, Gate, Place, Rules, Subject,
    parts::Text,
    secrets::{self, Found, Moved},
};
use base::{error::Code, path::RepoPath, text::escape};
use system::policy::Policy;

/// See the module's documentation.
pub(super) struct SecretTexts;

/// The bytes up to which a value is also searched together with its name: only `password` makes `hunter2` a secret.
const NAMED: usize = 4096;

impl Gate for SecretTexts {
    fn name(&self) -> &'static str {
        "secrets"
    }

    fn doc(&self) -> &'static str {
        "Keys, tokens and passwords are not added to files, commands and params of tools without a confirmation."
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Option<Vec<Finding>> {
        let settings = &policy.settings().gates.secrets;
        if !settings.enabled {
            return None;
        }
        let mut usual = Decision::from(settings.decision);
        // A record keeps an adapter's input verbatim beside its effects, since the verifier needs it.
        if subject.call().is_some_and(|call| call.touches().adapter.is_some_and(|used| used.input.is_some())) {
            usual = Decision::Block;
        }
        let texts = subject.texts()?;
        let mut moved = moved(texts.iter().map(|text| &**text), policy, rules);
        let judge = |text: &Text<'_>| {
            let found = new(text, rules);
            let found = if is_new(text) { moved.without(found) } else { found };
            found.into_iter().map(|found| finding(found, text, usual, policy)).collect::<Vec<_>>()
        };
        let names = texts.iter().flat_map(|text| {
            secrets::in_name(text.place.as_deref().filter(|_| is_new(text)), rules.secrets())
                .into_iter()
                .map(|found| name_finding(found, usual, policy))
        });
        let names: Vec<Finding> = names.collect();
        Some(names.into_iter().chain(texts.iter().map(|text| &**text).flat_map(judge)).collect())
    }
}

/// True for a file that had no content before, as far as the text shows it.
fn is_new(text: &Text<'_>) -> bool {
    text.is_file && text.before.is_empty()
}

/// The secrets of files that the same change removes. A file that scripts may not read becomes readable by a move.
fn moved<'t>(texts: impl Iterator<Item = &'t Text<'t>>, policy: &Policy, rules: &Rules) -> Moved {
    let goes = |text: &&Text<'_>| text.is_file && text.after.is_empty() && !text.before.is_empty();
    let removed = texts.filter(goes).filter_map(|text| {
        let path = text.place.as_deref()?;
        let is_readable = RepoPath::parse(path).is_ok_and(|path| policy.read_refusal(&path).is_none());
        is_readable.then_some((Some(path), text.before.as_ref()))
    });
    Moved::of(removed, rules.secrets())
}

/// The secrets of a text that its former content does not hold.
fn new(text: &Text<'_>, rules: &Rules) -> Vec<Found> {
    let path = text.place.as_deref().filter(|_| text.is_file);
    let mut found = secrets::added(&text.before, &text.after, path, rules.secrets());
    if found.is_empty()
        && !text.is_file
        && text.after.len() <= NAMED
        && let Some(name) = &text.place
    {
        let named = |value: &[u8]| [name.as_bytes(), b" = \"", value, b"\""].concat();
        let before = if text.before.is_empty() { Vec::new() } else { named(&text.before) };
        found = secrets::added(&before, &named(&text.after), path, rules.secrets());
        found.iter_mut().for_each(|found| found.column = 1);
    }
    found
}

/// The column of a byte, counted from 1 in characters.
fn column(bytes: &[u8], at: usize) -> u32 {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    u32::try_from(String::from_utf8_lossy(line).chars().count()).unwrap_or(u32::MAX).saturating_add(1)
}

fn finding(found: Found, text: &Text<'_>, usual: Decision, policy: &Policy) -> Finding {
    let is_file = text.is_file;
    let column = if is_file { column(&text.after, found.start) } else { found.column };
    let Found { rule, line, sha256_prefix: hash, allowed_by, .. } = found;
    let place = text.place.as_deref().map(escape);
    let path = text.place.as_deref().filter(|_| is_file);
    let repo_path = path.and_then(|path| RepoPath::parse(path).ok());
    let allowed = allowed_by.or_else(|| policy.secret_allowance(&rule, repo_path.as_ref(), &hash));
    let what = match (&place, is_file) {
        (Some(path), true) => format!("a secret in `{path}` at {line}:{column} (rule `{rule}`, hash {hash})"),
        (Some(name), false) => format!("a secret in `{name}` (rule `{rule}`, hash {hash})"),
        (None, _) => format!("a secret at {line}:{column} (rule `{rule}`, hash {hash})"),
    };
    let (decision, reason) = match allowed {
        Some(by) => (Decision::Allow, format!("{what} is allowed by {by}")),
        None => (usual, what),
    };
    Finding {
        decision,
        code: Code::Blocked,
        remediation: format!(
            "take it from the environment or a secret store, and replace it if anybody has seen it; if it is none, \
             write `{} {rule}` on its line or add `{}` to `gates.secrets.allow` in `nrv.toml`",
            secrets::ALLOW,
            allowance(&rule, repo_path.as_ref(), &hash)
        ),
        rule,
        reason,
        place: path.map(|path| Place { path: path.to_owned(), line, column }),
    }
}

/// A finding in the name of a new file. The name is not shown.
fn name_finding(found: Found, usual: Decision, policy: &Policy) -> Finding {
    let Found { rule, sha256_prefix: hash, .. } = found;
    let what = format!("a secret in the name of a new file (rule `{rule}`, hash {hash})");
    let (decision, reason) = match policy.secret_allowance(&rule, None, &hash) {
        Some(by) => (Decision::Allow, format!("{what} is allowed by {by}")),
        None => (usual, what),
    };
    Finding {
        decision,
        code: Code::Blocked,
        remediation: format!(
            "name the file otherwise, since names are shown in listings and records; if it is none, add `{}` to \
             `gates.secrets.allow` in `nrv.toml`",
            allowance(&rule, None, &hash)
        ),
        rule,
        reason,
        place: None,
    }
}

/// The row of `gates.secrets.allow` that permits a finding and nothing else.
pub fn allowance(rule: &str, path: Option<&RepoPath>, hash: &str) -> String {
    let path = path.map(|path| format!("path = {}, ", toml_string(path))).unwrap_or_default();
    format!("{{ rule = \"{rule}\", {path}hash = \"{hash}\" }}")
}

/// A path as a literal glob in a TOML string.
fn toml_string(path: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\');
    let glob: String = path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect();
    json!(escape(&glob)).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{
        super::{Edit, evaluate_edit, evaluate_tool_use},
        *,
    };
    use system::policy::FILE;

    /// A made-up token, in pieces.
    fn token() -> String {
        ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
    }

    fn edit(policy: &str, before: &str, after: &str) -> (Decision, Vec<String>) {
        let edit = Edit {
            path: "a.py".into(),
            before: before.as_bytes().into(),
            after: after.as_bytes().into(),
            diff_lines: 1,
        };
        let verdict = evaluate_edit(&edit, &Policy::parse(policy, FILE).unwrap(), Rules::built_in());
        let result = verdict.results.iter().find(|result| result.gate_name == "secrets");
        (verdict.decision, result.map(|result| result.triggered_rules.clone()).unwrap_or_default())
    }

    #[test]
    fn only_what_was_not_there_before_counts() {
        let line = format!("token = \"{}\"\n", token());
        let asks = (Decision::RequireConfirmation, vec!["github-pat".to_owned()]);
        assert_eq!(edit("", "", &line), asks);
        assert_eq!(edit("", &line, &format!("# first\n{line}")).0, Decision::Allow);
        assert_eq!(edit("", &line, &format!("{line}{line}")), asks, "a copy is new");
    }

    #[test]
    fn what_a_file_held_that_is_moved_is_not_new() {
        let line = format!("token = \"{}\"\n", token());
        let decision = |files: &[(&str, &str, &str)]| {
            let text = |(path, before, after): &(&str, &str, &str)| Text {
                place: Some(path.to_string().into()),
                is_file: true,
                before: before.as_bytes().to_vec().into(),
                after: after.as_bytes().to_vec().into(),
            };
            let texts: Vec<Text<'_>> = files.iter().map(text).collect();
            let subject =
                Subject::Changes { files: &[], texts: &texts, run_lines_so_far: 0, adapter: None, domains: &[] };
            super::super::decide(&subject, &Policy::default(), Rules::built_in()).decision
        };
        let edited = format!("# moved\n{line}");
        assert_eq!(decision(&[("a.py", &line, ""), ("b.py", "", &line)]), Decision::Allow);
        assert_eq!(decision(&[("a.py", "", &edited), ("b.py", &line, "")]), Decision::Allow);
        let asks = Decision::RequireConfirmation;
        assert_eq!(decision(&[("a.py", &line, &line), ("b.py", "", &line)]), asks, "the old one stays");
        assert_eq!(decision(&[("a.py", &line, ""), ("b.py", "", &line), ("c.py", "", &line)]), asks, "a copy is new");
        assert_eq!(decision(&[(".env", &line, ""), ("b.py", "", &line)]), asks, "scripts could not read it");
        let other = line.replace("ghp_Kq3v", "ghp_Kq3w");
        assert_eq!(decision(&[("a.py", &line, ""), ("b.py", "", &other)]), asks, "another value");
    }

    #[test]
    fn an_exception_is_told_and_allows() {
        let told = (Decision::Allow, vec!["github-pat".to_owned()]);
        assert_eq!(edit("", "", &format!("token = \"{}\" # nrv:allow-secret github-pat\n", token())), told);
        let allow = "[gates.secrets]\nallow = [{rule = 'github-pat', path = '*.py'}]";
        assert_eq!(edit(allow, "", &token()), told);
        let other = "[gates.secrets]\nallow = [{rule = 'github-pat', path = '*.rs'}]";
        assert_eq!(edit(other, "", &token()).0, Decision::RequireConfirmation);
    }

    #[test]
    fn a_finding_shows_no_character_of_the_secret() {
        let text = format!("\n  token = \"{}\"\n", token());
        let edit = Edit { path: "a.py".into(), before: b"".into(), after: text.as_bytes().into(), diff_lines: 2 };
        let verdict = evaluate_edit(&edit, &Policy::default(), Rules::built_in());
        let wire = serde_json::to_string(&verdict).unwrap();
        assert!(wire.contains("`a.py` at 2:12 (rule `github-pat`, hash "), "{wire}");
        assert!(!(0..token().len() - 8).any(|at| wire.contains(&token()[at..at + 8])), "{wire}");
    }

    #[test]
    fn params_of_a_tool_are_searched_as_they_are_meant() {
        let decision = |params: Value| evaluate_tool_use("x", &params, &Policy::default(), Rules::built_in()).decision;
        let inner = json!({"deep": {"token": token()}}).to_string();
        for params in [
            json!({"a": [{"b": token()}]}),
            json!({"password": "kJ8#mQ2!vXz9"}),
            json!({"body": inner}),
            json!({"body": json!({"body": inner}).to_string()}),
            json!({token(): 1}),
        ] {
            assert_eq!(decision(params.clone()), Decision::RequireConfirmation, "{params}");
        }
        assert_eq!(decision(json!({"password": "${PASSWORD}", "note": "kJ8#mQ2!vXz9"})), Decision::Allow);
    }
}
