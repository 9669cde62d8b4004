//! The description of a rule: its place, and its examples.

use super::rule::{FILES, Rules};

/// The description of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its file among the built-in rules, and its line; none for a team's own.
    pub place: Option<(String, usize)>,
    /// Commands that it matches.
    pub examples: Vec<String>,
    /// Commands that it does not match.
    pub counterexamples: Vec<String>,
}

impl Rules {
    /// The description of a rule by its id.
    pub fn describe(&self, id: &str) -> Option<Described> {
        let body = self.named(id)?.body();
        let (examples, counterexamples) = (body.examples.clone(), body.counterexamples.clone());
        Some(Described { place: place(id), examples, counterexamples })
    }
}

fn place(id: &str) -> Option<(String, usize)> {
    let line = |text: &str| text.lines().position(|line| heads(line, id));
    FILES.iter().find_map(|(name, text)| Some((format!("{name}.toml"), line(text)? + 1)))
}

/// True for the line that names a rule.
fn heads(line: &str, id: &str) -> bool {
    line.strip_prefix("id = \"").and_then(|rest| rest.strip_suffix('"')) == Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_rule_has_its_place() {
        let rules = Rules::built_in();
        for rule in rules.all() {
            assert!(rules.describe(&rule.id).unwrap().place.is_some(), "{}", rule.id);
        }
        assert_eq!(rules.describe("no such rule"), None);
    }
}
