//! A team's own rules and exceptions: they hold once all of their examples have been tried.

use super::{
    command::Command,
    examine::examine,
    exception::Exception,
    rule::{OwnRule, Rules},
    run::runs_what_follows,
};
use base::error::{Code, Error};
use system::policy::Disposable;

/// The prefix of the rules without exceptions.
const GUARD: &str = "guard.";

impl Rules {
    /// The built-in rules and a team's own, whose examples are all tried.
    pub fn with(own: &[OwnRule]) -> Result<Rules, Error> {
        let mut rules = Rules::built_in().clone();
        for rule in own {
            let refuse =
                |why: String| Error::new(Code::InvalidPolicy, format!("the rule `{}` {why}", rule.id.escape_debug()));
            let hint = "give `prefix = [\"program\", [\"one\", \"other\"]]` or `tokens = [\"word\"]`";
            if rule.id.trim().is_empty() || rules.named(&rule.id).is_some() {
                return Err(refuse("has no name of its own".to_owned()).hint("give it an `id` that no other rule has"));
            }
            if rule.prefix.is_empty() && rule.tokens.is_empty() || rule.prefix.iter().any(Vec::is_empty) {
                return Err(refuse("fits every command".to_owned()).hint(hint));
            }
            rules.add_own(rule);
        }
        for rule in own {
            rules.try_examples(&rule.id)?;
        }
        Ok(rules)
    }

    /// Tries the examples of one rule.
    pub(super) fn try_examples(&self, id: &str) -> Result<(), Error> {
        let Some(rule) = self.named(id) else { return Ok(()) };
        let hits = |line: &String| examine(Command::Line(line), self).hits.iter().any(|hit| hit.rule == id);
        let wrong = |line: &str, what: &str| {
            let error = Error::new(Code::InvalidPolicy, format!("the rule `{}` {what} `{line}`", id.escape_debug()));
            Err(error.hint("correct the rule or its example"))
        };
        if let Some(line) = rule.body().examples.iter().find(|line| !hits(line)) {
            return wrong(line, "does not hit its example");
        }
        match rule.body().counterexamples.iter().find(|line| hits(line)) {
            Some(line) => wrong(line, "hits what it must not:"),
            None => Ok(()),
        }
    }

    /// These rules with places that commands may delete.
    pub fn disposing(&self, disposable: Disposable) -> Rules {
        let mut rules = self.clone();
        rules.disposable = disposable;
        rules
    }

    /// These rules with exceptions, whose examples are all tried. An error names the exception by its place.
    pub fn except(&self, exceptions: &[Exception]) -> Result<Rules, (usize, Error)> {
        let mut rules = self.clone();
        for (at, exception) in exceptions.iter().enumerate() {
            if let Some((why, hint)) = fault(exception, self) {
                let error = Error::new(Code::InvalidPolicy, format!("the exception {why}"));
                return Err((at, error.hint(hint)));
            }
        }
        rules.exceptions = exceptions.to_vec();
        for (at, exception) in exceptions.iter().enumerate() {
            rules.try_exception(at, exception).map_err(|error| (at, error))?;
        }
        Ok(rules)
    }

    fn try_exception(&self, at: usize, exception: &Exception) -> Result<(), Error> {
        let holds = |line: &String| examine(Command::Line(line), self).hits.iter().any(|hit| hit.allowed == Some(at));
        let wrong = |line: &str, what: &str| {
            let error = Error::new(Code::InvalidPolicy, format!("the exception {what} `{}`", line.escape_debug()));
            Err(error.hint("correct the exception or its example"))
        };
        if let Some(line) = exception.examples.iter().find(|line| !holds(line)) {
            return wrong(line, "does not hold for its example");
        }
        match exception.counterexamples.iter().find(|line| holds(line)) {
            Some(line) => wrong(line, "holds for what it must not:"),
            None => Ok(()),
        }
    }
}

/// The reason that it can't be used; none if it can.
fn fault(exception: &Exception, rules: &Rules) -> Option<(String, &'static str)> {
    let shown = exception.rule.escape_debug();
    if exception.rule.starts_with(GUARD) {
        let why = format!("is for `{shown}`, a rule that protects the guard itself");
        return Some((why, "leave it out: a person may type the command"));
    }
    if rules.named(&exception.rule).is_none() {
        return Some((
            format!("is for `{shown}`, and no rule has that name"),
            "`nrv gate explain` names the rules of a command",
        ));
    }
    if exception.command.is_empty() && exception.prefix.is_empty() && exception.tokens.is_empty() {
        let hint = "give `command = [\"program\", \"one\"]` for that command alone, or `prefix` or `tokens`";
        return Some(("fits every command".to_owned(), hint));
    }
    // Each alternative of a word, beside the first ones of the other words.
    let open = |words: &Vec<Vec<String>>| {
        let first: Vec<String> = words.iter().filter_map(|words| words.first().cloned()).collect();
        let swapped = |at: usize, word: &String| {
            let mut swapped = first.clone();
            swapped[at].clone_from(word);
            runs_what_follows(&swapped)
        };
        words.iter().enumerate().any(|(at, words)| words.iter().any(|word| swapped(at, word)))
    };
    if [&exception.command, &exception.prefix].into_iter().any(|words| !words.is_empty() && open(words)) {
        let why = "is for a program that runs whatever follows it".to_owned();
        return Some((why, "name the program that is run, with its words"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<Vec<String>> {
        words.iter().map(|word| word.split('|').map(str::to_owned).collect()).collect()
    }

    fn delete(command: &[&str]) -> Exception {
        Exception { rule: "files.delete-tree".to_owned(), command: words(command), ..Exception::default() }
    }

    fn objects(exception: Exception, line: &str) -> bool {
        let rules = Rules::built_in().except(&[exception]).unwrap();
        examine(Command::Line(line), &rules).hits.iter().any(|hit| hit.allowed.is_none())
    }

    #[test]
    fn an_exception_holds_for_its_command_alone() {
        let exception = || delete(&["rm", "-rf", "dist|out"]);
        for line in ["rm -rf dist", "rm -rf out", "make && /bin/rm -rf dist", "sh -c 'rm -rf out'"] {
            assert!(!objects(exception(), line), "{line}");
        }
        for line in [
            "rm -rf dist src",
            "rm -rf src",
            "rm -r -f dist",
            "sudo rm -rf dist",
            "ssh host 'rm -rf dist'",
            "cd .. && rm -rf dist",
            "cd \"$X\" && rm -rf dist",
            "rm -rf dist; rm -rf src",
            "git reset --hard",
        ] {
            assert!(objects(exception(), line), "{line}");
        }
    }

    #[test]
    fn a_command_with_the_rights_of_somebody_else_is_named_with_what_gives_them() {
        let exception = || delete(&["sudo", "rm", "-rf", "dist"]);
        let both = |line: &str| {
            let elsewhere = Exception { rule: "files.delete-elsewhere".to_owned(), ..exception() };
            let rules = Rules::built_in().except(&[exception(), elsewhere]).unwrap();
            examine(Command::Line(line), &rules).hits.iter().any(|hit| hit.allowed.is_none())
        };
        assert!(
            !both("sudo rm -rf dist")
                && both("sudo rm -rf src")
                && both("sudo sudo rm -rf dist")
                && both("rm -rf dist")
        );
    }

    #[test]
    fn an_exception_that_is_too_wide_is_refused() {
        let refused = |exception: Exception| Rules::built_in().except(&[exception]).unwrap_err().1.message().to_owned();
        assert!(refused(delete(&[])).contains("fits every command"));
        assert!(refused(delete(&["sudo"])).contains("runs whatever follows"));
        assert!(refused(delete(&["rm|env", "-rf"])).contains("runs whatever follows"));
        let named = |rule: &str| Exception { rule: rule.to_owned(), ..delete(&["rm", "nrv.toml"]) };
        assert!(refused(named("guard.policy")).contains("protects the guard"));
        assert!(refused(named("files.no-such")).contains("no rule has that name"));
        let example = Exception { examples: vec!["rm -rf src".to_owned()], ..delete(&["rm", "-rf", "dist"]) };
        assert!(refused(example).contains("does not hold for its example"));
        let counter = Exception { counterexamples: vec!["rm -rf dist".to_owned()], ..delete(&["rm", "-rf", "dist"]) };
        assert!(refused(counter).contains("holds for what it must not"));
    }
}
