//! The check of `nrv doctor` on command rules: their number, and those that allow more than they seem to.

use base::text::counted;
use gate::destructive::runs_what_follows;
use system::policy::{AllowedCommand, Policy};

/// The advice on rules that allow everything.
pub(super) const ADVICE: &str =
    "name in `prefix` what the program is to start, as in [\"npx\", \"eslint\"], and in `exec.read` single folders";

/// The most combinations of words of one rule that are tried.
const MOST: usize = 1000;

/// Folders that no command needs as a whole.
const WIDE: &[&str] = &["/", "~", "~/", "~/.ssh"];

/// The permissions of the rules as text; an error if they allow everything.
pub(super) fn told(policy: &Policy) -> Result<String, String> {
    let exec = &policy.settings().exec;
    let open = exec.allow.iter().enumerate().filter_map(|(at, rule)| {
        let words = allowing(rule)?;
        let place = policy.origin(&format!("exec.allow.{at}"));
        Some(format!("`{}` ({place}) runs any command after it", words.join(" ")))
    });
    let wide = exec.read.iter().filter(|folder| WIDE.contains(&folder.as_str()));
    let wide = wide.map(|folder| format!("commands may read all of `{folder}` ({})", policy.origin("exec.read")));
    let wide: Vec<String> = open.chain(wide).collect();
    match (wide.as_slice(), exec.allow.len()) {
        ([], 0) => Ok("no rule of `exec.allow`: runs start none".to_owned()),
        ([], n) => Ok(format!("{} of `exec.allow`", counted(n, "rule"))),
        (wide, _) => Err(wide.join("; ")),
    }
}

/// The words of a rule that allow any arguments after them.
fn allowing(rule: &AllowedCommand) -> Option<Vec<String>> {
    let mut all = vec![Vec::new()];
    for either in &rule.prefix {
        let longer = all.iter().flat_map(|words: &Vec<String>| {
            either.iter().map(move |word| words.iter().chain([word]).cloned().collect::<Vec<String>>())
        });
        all = longer.take(MOST).collect();
    }
    all.into_iter().find(|words| runs_what_follows(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::policy::FILE;

    #[track_caller]
    fn check(rule: &str, expected: Result<&str, &str>) {
        let found = told(&Policy::parse(rule, FILE).unwrap());
        assert_eq!(found.as_ref().map(String::as_str).map_err(String::as_str), expected);
    }

    #[test]
    fn rules_that_allow_everything_are_told() {
        check("", Ok("no rule of `exec.allow`: runs start none"));
        check("exec.allow = [{prefix = ['cargo', 'test']}]", Ok("1 rule of `exec.allow`"));
        check("exec.allow = [{prefix = ['make']}, {prefix = ['npm', ['test', 'ci']]}]", Ok("2 rules of `exec.allow`"));
        check(
            "exec.allow = [{prefix = ['ls']},\n{prefix = ['npm', ['test', 'exec']]}]",
            Err("`npm exec` (line 2 of `nrv.toml`) runs any command after it"),
        );
        check("exec.read = ['/opt', '~']", Err("commands may read all of `~` (line 1 of `nrv.toml`)"));
    }
}
