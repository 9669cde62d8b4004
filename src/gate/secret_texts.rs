//! The gate `secrets`: nothing that looks like a key, a token or a password is added to a file, a command or a tool's params.
//!
//! What a text held before is not new. A finding names rule, place and the beginning of a hash, never a character of the secret.

use std::collections::BTreeMap;

use super::{
    Decision, Finding, Gate, Place, Rules, Subject,
    secrets::{self, Found},
    subject::Text,
};
use crate::{call::Call, error::Code, path::RepoPath, policy::Policy, text::escape};

/// See the module's documentation.
pub(super) struct SecretTexts;

/// A short value is searched together with its name as well, since `password` says what `hunter2` is.
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
        // An adapter's input is kept as it is beside what it did, since its verifier needs it.
        if matches!(subject, Subject::Call { call: Call::DtaPropose { .. } | Call::DtaRun { .. }, .. }) {
            usual = Decision::Block;
        }
        let judge = |text: &Text<'_>| {
            let found = new(text, rules);
            found.into_iter().map(|found| finding(found, text, usual, policy)).collect::<Vec<_>>()
        };
        Some(subject.texts()?.iter().flat_map(|text| judge(text)).collect())
    }
}

/// What is found in a text that it did not hold before.
fn new(text: &Text<'_>, rules: &Rules) -> Vec<Found> {
    let path = text.place.as_deref().filter(|_| text.is_file);
    let scan = |bytes: &[u8]| secrets::scan(bytes, path, rules.secrets());
    let mut found = scan(&text.after);
    if found.is_empty()
        && !text.is_file
        && text.after.len() <= NAMED
        && let Some(name) = &text.place
    {
        let named = [name.as_bytes(), b" = \"", &text.after, b"\""].concat();
        found = scan(&named);
        found.iter_mut().for_each(|found| found.column = 1);
    }
    if found.is_empty() || text.before.is_empty() {
        return found;
    }
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for old in scan(&text.before) {
        *known.entry((old.rule, old.sha256_prefix)).or_default() += 1;
    }
    found.retain(|one| match known.get_mut(&(one.rule.clone(), one.sha256_prefix.clone())) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    });
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
             write `nrv:allow-secret {rule}` on its line or allow it in `gates.secrets.allow`"
        ),
        rule,
        reason,
        place: path.map(|path| Place { path: path.to_owned(), line, column }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Edit, evaluate_edit, evaluate_tool_use};
    use super::*;
    use crate::policy::FILE;

    /// A token that nobody has, in pieces.
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
