//! Rules that ast-grep publishes, and those of its tests, on their own examples. The matches and edits were recorded from its program.

use serde::Deserialize;

use super::{Found, Pattern, cases, of_pattern, of_texts};
use crate::base::language::Language;

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

/// Judges a case; true if the program accepted its rule.
fn judge(case: &Case) -> bool {
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
    let Ok(pair) = pair else { return false };
    let found = pair.matches(&case.path, language, &case.text, &case.id);
    if let (Some(found), Some(matches)) = (found, &case.matches) {
        assert_eq!(&found, matches, "{}: the program", case.id);
    }
    case.matches.is_some()
}

#[test]
fn published_rules_give_the_same_edits_as_the_program() {
    let all: Vec<Case> = cases("rules");
    let (mut judged, mut edits) = (0, 0);
    for case in all.iter().filter(|case| case.source == "ast-grep/ast-grep.github.io") {
        let is_accepted = judge(case);
        assert_eq!(is_accepted, case.matches.is_some(), "{} is accepted", case.id);
        judged += usize::from(is_accepted);
        edits += case.matches.iter().flatten().filter(|found| found.3.is_some()).count();
    }
    assert!(judged >= 55 && edits >= 60, "{judged} rules, {edits} edits");
}

#[test]
fn rules_of_the_tests_of_the_program_give_the_same_edits() {
    let all: Vec<Case> = cases("rules");
    let judged = all.iter().filter(|case| case.source == "ast-grep/ast-grep").filter(|case| judge(case)).count();
    assert!(judged >= 200, "{judged} rules");
}
