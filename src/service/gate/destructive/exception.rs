//! Exceptions: a rule that does not apply to one command.
//!
//! An exception is as narrow as possible: one rule, one command, in the folder where the line begins, with the caller's own
//! rights. The rules of the guard have no exceptions.

use super::{Command, examine, program, rule::Rules, runs_what_follows};
use crate::base::error::{Code, Error};

/// The prefix of the rules without exceptions.
const GUARD: &str = "guard.";

/// An exception, as `nrv.toml` gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exception {
    /// The rule.
    pub rule: String,
    /// All words of the command, each with its alternatives; empty if `prefix` or `tokens` describe it.
    pub command: Vec<Vec<String>>,
    /// The first words of the command, each with its alternatives; the rest is free.
    pub prefix: Vec<Vec<String>>,
    /// Words that the command holds anywhere, all of them.
    pub tokens: Vec<String>,
    /// Commands that it must allow.
    pub examples: Vec<String>,
    /// Commands that it must not allow.
    pub counterexamples: Vec<String>,
}

impl Exception {
    /// True if it covers this rule and this command.
    pub(super) fn covers(&self, rule: &str, argv: &[String]) -> bool {
        let is = |words: &Vec<Vec<String>>| {
            let mut pairs = words.iter().zip(argv);
            let fits = pairs.next().is_none_or(|(first, given)| {
                first
                    .iter()
                    .any(|name| name == given || program(name) == name.as_str() && program(given) == name.as_str())
            });
            fits && argv.len() >= words.len() && pairs.all(|(words, given)| words.contains(given))
        };
        self.rule == rule
            && is(&self.prefix)
            && (self.command.is_empty() || is(&self.command) && argv.len() == self.command.len())
            && self.tokens.iter().all(|token| argv.contains(token))
    }

    /// The reason that it can't be used; none if it can.
    fn fault(&self, rules: &Rules) -> Option<(String, &'static str)> {
        let shown = self.rule.escape_debug();
        if self.rule.starts_with(GUARD) {
            let why = format!("is for `{shown}`, a rule that protects the guard itself");
            return Some((why, "leave it out: a person may type the command"));
        }
        if rules.named(&self.rule).is_none() {
            return Some((
                format!("is for `{shown}`, and no rule has that name"),
                "`nrv gate explain` names the rules of a command",
            ));
        }
        if self.command.is_empty() && self.prefix.is_empty() && self.tokens.is_empty() {
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
        if [&self.command, &self.prefix].into_iter().any(|words| !words.is_empty() && open(words)) {
            let why = "is for a program that runs whatever follows it".to_owned();
            return Some((why, "name the program that is run, with its words"));
        }
        None
    }
}

impl Rules {
    /// These rules with exceptions, whose examples are all tried. An error names the exception by its place.
    pub fn except(&self, exceptions: &[Exception]) -> Result<Rules, (usize, Error)> {
        let mut rules = self.clone();
        for (at, exception) in exceptions.iter().enumerate() {
            if let Some((why, hint)) = exception.fault(self) {
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
