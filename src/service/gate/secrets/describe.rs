//! The description of a built-in rule: its line in the file of rules, and its examples.

use super::rules::{BUILT_IN, head};

/// The description of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// Its line in `rules.txt`, counted from 1.
    pub line: usize,
    /// Texts in which it finds something. Omit `·` and read `⏎` as a line feed; they hide the texts from scanners.
    pub examples: Vec<String>,
    /// Texts in which it finds nothing.
    pub counterexamples: Vec<String>,
}

/// The description of a built-in rule by its id.
pub fn describe(id: &str) -> Option<Described> {
    let at = BUILT_IN.lines().position(|line| head(line).is_some_and(|(of, _)| of == id))?;
    let mut described = Described { line: at + 1, ..Described::default() };
    for line in BUILT_IN.lines().skip(at + 1).take_while(|line| head(line).is_none()) {
        if let Some(text) = line.strip_prefix("match ") {
            described.examples.push(text.to_owned());
        } else if let Some(text) = line.strip_prefix("not ") {
            described.counterexamples.push(text.to_owned());
        }
    }
    Some(described)
}
