//! The rewriting of a text by rules, until nothing is left to rewrite.

use super::{
    rule::Rules,
    scan::{Edit, Match, scan},
    tree::{self, Tree},
};
use crate::base::{
    error::{Code, Error},
    language::Language,
    pulse::Pulse,
};

/// A match within a match is rewritten after the outer one; deeper nesting is refused.
const MOST_PASSES: usize = 32;

/// A rule that doubles its matches would fill the memory long before the last pass: no text grows by more bytes and this factor.
const MOST_GROWTH: (usize, usize) = (1 << 17, 8);

/// A rewritten text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// The new text.
    pub(crate) text: String,
    /// The number of edits of all passes.
    pub(crate) edits: u64,
}

/// Rewrites the matches of a text. Of overlapping matches the outer one is rewritten first, and the result is searched again.
/// None if nothing changes. `invalid_input` if the rules would go on for ever.
pub(crate) fn rewrite(
    rules: &Rules,
    (path, language): (&str, Language),
    (tree, matches): (&Tree, &[Match]),
    pulse: Pulse<'_>,
) -> Result<Option<Rewritten>, Error> {
    let mut edits = 0;
    // The root's text would begin at the first word.
    let before = tree.source().to_owned();
    let mut text = before.clone();
    let mut found = matches.to_vec();
    for _ in 0..MOST_PASSES {
        let (next, made) = pass(&text, &found);
        if made == 0 {
            return Ok((text != before).then_some(Rewritten { text, edits }));
        }
        edits += made;
        if next.len() > before.len() * MOST_GROWTH.1 + MOST_GROWTH.0 {
            break;
        }
        text = String::from_utf8(next).map_err(|_| Error::new(Code::Internal, "an edit has cut a character"))?;
        found = scan(rules, path, language, &tree::parse(language, &text, pulse)?);
    }
    let rule = found.first().map(|found| found.rule.clone()).unwrap_or_default();
    Err(Error::new(
        Code::InvalidInput,
        format!(
            "the rule `{rule}` matches its own result: `{path}` would grow, or be rewritten more than {MOST_PASSES} times"
        ),
    )
    .detail("rule", rule)
    .hint("narrow it so that the new text does not match, for example by `not` or by a constraint on a variable"))
}

/// Makes the edits of one pass, without those that begin within an earlier one or change nothing. Returns their number.
fn pass(text: &str, found: &[Match]) -> (Vec<u8>, u64) {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut made) = (0, 0);
    for Edit { range, text } in found.iter().filter_map(|found| found.effect(text)) {
        if range.start < at || range.end > bytes.len() {
            continue;
        }
        out.extend_from_slice(&bytes[at..range.start]);
        out.extend_from_slice(text);
        at = range.end;
        made += 1;
    }
    out.extend_from_slice(&bytes[at..]);
    (out, made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::code::rule::PatternText;

    fn rewritten(language: Language, pattern: &str, fix: &str, text: &str) -> Result<Option<String>, Error> {
        let rules =
            Rules::of_pattern(PatternText { language, pattern, selector: None, strictness: None, fix: Some(fix) })?;
        let tree = tree::parse(language, text, &|| Ok(()))?;
        let found = scan(&rules, "a", language, &tree);
        Ok(rewrite(&rules, ("a", language), (&tree, &found), &|| Ok(()))?.map(|rewritten| rewritten.text))
    }

    #[track_caller]
    fn check(language: Language, (pattern, fix): (&str, &str), text: &str, after: &str) {
        let found = rewritten(language, pattern, fix, text).unwrap();
        assert_eq!(found.as_deref().unwrap_or(text), after);
    }

    #[test]
    fn matches_are_replaced_also_within_each_other() {
        let rule = ("foo($A)", "bar($A)");
        check(Language::JavaScript, rule, "foo(1); x(foo(foo(2)));\n", "bar(1); x(bar(bar(2)));\n");
        check(Language::Python, rule, "foo(1)\nif x:\n    foo(foo(2))\n", "bar(1)\nif x:\n    bar(bar(2))\n");
        check(Language::Rust, rule, "fn f() { foo(1) }", "fn f() { bar(1) }");
    }

    #[test]
    fn blank_lines_before_the_first_word_stay() {
        check(Language::Go, ("g($A)", "h($A)"), "\n\nfunc f() { g(1) }\n", "\n\nfunc f() { h(1) }\n");
    }

    #[test]
    fn indentation_and_comments_follow() {
        let rule = ("if ($C) { $$$B }", "when($C, () => {\n  $$$B\n})");
        let text = "function f() {\n  if (a) {\n    // why\n    b();\n  }\n}\n";
        let after = "function f() {\n  when(a, () => {\n    // why\n    b();\n  })\n}\n";
        check(Language::JavaScript, rule, text, after);
    }

    #[test]
    fn a_rule_that_matches_its_result_is_refused() {
        let error = rewritten(Language::JavaScript, "f($A)", "f(g($A))", "f(1)").unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(error.message().contains("matches its own result"), "{error}");
        let error = rewritten(Language::JavaScript, "f(", "g(", "f(1)").unwrap_err();
        assert!(error.message().contains("syntax error") || error.message().contains("pattern"), "{error}");
    }

    #[test]
    fn a_rule_that_doubles_its_matches_is_refused_before_the_memory_is_full() {
        let error = rewritten(Language::JavaScript, "f($A)", "[f($A), f($A)]", "f(1)").unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
    }

    #[test]
    fn a_fix_with_an_unknown_variable_is_refused() {
        let error = rewritten(Language::JavaScript, "f($A)", "g($B)", "f(1)").unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(error.message().contains('B'), "{error}");
    }
}
