//! Rules that ast-grep publishes, and those of its tests, on their own examples. The matches and edits were recorded from its program.

use serde::Deserialize;

use super::{Found, Pattern, cases, of_pattern, of_texts};
use base::language::Language;

#[derive(Deserialize)]
struct Case {
    id: String,
    source: String,
    language: String,
    path: String,
    text: String,
    /// Rules in YAML.
    rules: Option<Vec<String>>,
    utilities: Vec<String>,
    /// A pattern in place of rules.
    pattern: Option<OfPattern>,
    /// The matches that the program found; none if it refused the rule.
    matches: Option<Vec<Found>>,
}

#[derive(Deserialize)]
struct OfPattern {
    pattern: String,
    selector: Option<String>,
    strictness: Option<String>,
    fix: Option<String>,
}

/// The outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All three agree on the matches and edits.
    Same,
    /// Lines of literals are not indented anew, and everything else is the same.
    Kept,
    /// The libraries refuse the rule.
    Refused,
    /// The libraries panic, in a build with assertions.
    Panics,
}

fn judge(case: &Case) -> Outcome {
    let language = Language::parse(&case.language).unwrap();
    let pair = match (&case.rules, &case.pattern) {
        (Some(rules), _) => of_texts(rules, &case.utilities),
        (None, Some(of)) => {
            let (pattern, selector) = (of.pattern.as_str(), of.selector.as_deref());
            let (strictness, fix) = (of.strictness.as_deref(), of.fix.as_deref());
            of_pattern(language, Pattern { pattern, selector, strictness, fix })
        }
        (None, None) => panic!("{} has no rule", case.id),
    };
    let Ok(pair) = pair else { return Outcome::Refused };
    let Some(found) = pair.matches(&case.path, language, &case.text, &case.id) else { return Outcome::Panics };
    let program = case.matches.clone();
    if program.as_ref() == Some(&found) {
        return Outcome::Same;
    }
    assert_eq!(Some(bare(found)), program.map(bare), "{}: the program", case.id);
    Outcome::Kept
}

/// Matches whose edits have no spaces at the begin of lines.
fn bare(mut found: Vec<Found>) -> Vec<Found> {
    for (.., edit) in &mut found {
        if let Some((.., text)) = edit {
            *text = text.split('\n').map(|line| line.trim_start_matches(' ')).collect::<Vec<_>>().join("\n");
        }
    }
    found
}

/// Judges the cases of a source, and returns the number of cases with the same edits, and the other cases that the program accepts.
fn judge_all(source: &str) -> (usize, Vec<String>) {
    let mut others = Vec::new();
    let mut same = 0;
    for case in cases::<Case>("rules").iter().filter(|case| case.source == source) {
        match judge(case) {
            Outcome::Same => same += 1,
            other if case.matches.is_some() => others.push(format!("{}: {other:?}", case.id)),
            Outcome::Kept | Outcome::Refused | Outcome::Panics => {}
        }
    }
    (same, others)
}

#[test]
fn published_rules_give_the_same_edits_as_the_program() {
    let (same, others) = judge_all("ast-grep/ast-grep.github.io");
    // The rule means to move a literal to the left. It needs a transform for that.
    assert_eq!((same, others), (60, vec!["rust/rewrite-indoc-macro#p36.0: Kept".to_owned()]));
}

#[test]
fn rules_of_the_tests_of_the_program_give_the_same_edits() {
    let (same, others) = judge_all("ast-grep/ast-grep");
    assert_eq!((same, others), (235, Vec::new()));
}
