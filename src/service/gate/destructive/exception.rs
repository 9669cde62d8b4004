//! Exceptions: a rule that does not apply to one command.
//!
//! An exception is as narrow as possible: one rule, one command, in the folder where the line begins, with the caller's own
//! rights. The rules of the guard have no exceptions.

use super::command::program;

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
}
