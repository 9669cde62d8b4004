//! The rewriting of a text by rules, until nothing is left to rewrite.

use std::ops::Range;

use super::{
    file::{File, Found},
    scan::{Edit, Match},
};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

/// A match within a match is rewritten after the outer one; deeper nesting is refused.
const MOST_PASSES: usize = 32;

/// A rule that doubles its matches would fill the memory long before the last pass: no text grows by more bytes and this factor.
const MOST_GROWTH: (usize, usize) = (1 << 17, 8);

/// A rewritten text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The new text.
    pub text: String,
    /// The number of edits of all passes.
    pub edits: u64,
}

/// Rewrites the matches of a text of a file. Of overlapping matches the outer one is rewritten first, and the result is searched again.
/// None if nothing changes. `invalid_input` if the rules would go on for ever, or would end a script within a page.
pub fn rewrite(
    file: &File<'_>,
    (before, matches): (&str, &[Match]),
    pulse: Pulse<'_>,
) -> Result<Option<Rewritten>, Error> {
    let mut edits = 0;
    let mut text = before.to_owned();
    let mut found = matches.to_vec();
    for _ in 0..MOST_PASSES {
        let (next, made) = pass(file.path(), &text, &found)?;
        if made == 0 {
            return Ok((text != before).then_some(Rewritten { text, edits }));
        }
        edits += made;
        if next.len() > before.len() * MOST_GROWTH.1 + MOST_GROWTH.0 {
            break;
        }
        text = String::from_utf8(next).map_err(|_| Error::new(Code::Internal, "an edit has cut a character"))?;
        // Most rules take away a word that they need, and then the new text is not parsed.
        found = match file.find(&text, true, pulse)? {
            Found::Matches(found) => found,
            Found::Broken(_) => Vec::new(),
        };
    }
    let rule = found.first().map(|found| found.rule.clone()).unwrap_or_default();
    let path = file.path();
    let (why, hint) = match file.is_once() {
        false => (
            "matches its own result",
            "set `once` to leave code that has the form of the fix, or narrow the rule so that the new text does not match",
        ),
        true => (
            "does not find the form of its fix in its own result",
            "narrow the rule so that the new text does not match, for example by `not` or by a constraint on a variable",
        ),
    };
    let message =
        format!("the rule `{rule}` {why}: `{path}` would grow, or be rewritten more than {MOST_PASSES} times");
    Err(Error::new(Code::InvalidInput, message).detail("rule", rule).hint(hint))
}

/// Makes the edits of one pass, without those that begin within an earlier one or change nothing. Returns their number.
fn pass(path: &str, text: &str, found: &[Match]) -> Result<(Vec<u8>, u64), Error> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut made) = (0, 0);
    for (found, Edit { range, text }) in found.iter().filter_map(|found| Some((found, found.effect(text)?))) {
        if range.start < at || range.end > bytes.len() {
            continue;
        }
        out.extend_from_slice(&bytes[at..range.start]);
        if let Some(end) = found.ends.iter().find(|end| is_ended(end, (&out, text), (bytes, range))) {
            return Err(ended(path, &found.rule, end));
        }
        out.extend_from_slice(text);
        at = range.end;
        made += 1;
    }
    out.extend_from_slice(&bytes[at..]);
    Ok((out, made))
}

/// True if an edit, between the new text before it and the old one after it, makes a text that ends its script.
fn is_ended(end: &str, (out, new): (&[u8], &[u8]), (bytes, range): (&[u8], &Range<usize>)) -> bool {
    let after = &bytes[range.end..(range.end + end.len()).min(bytes.len())];
    let count = |before: &[u8], text: &[u8]| {
        let near = &before[before.len().saturating_sub(end.len())..];
        let all = [near, text, after].concat();
        all.windows(end.len()).filter(|window| window.eq_ignore_ascii_case(end.as_bytes())).count()
    };
    count(out, new) > count(&bytes[..range.start], &bytes[range.clone()])
}

fn ended(path: &str, rule: &str, end: &str) -> Error {
    Error::new(
        Code::InvalidInput,
        format!("the rule `{rule}` writes `{end}` within code of the page `{path}`, where that has a meaning for HTML"),
    )
    .detail("rule", rule)
    .hint("write `<\\/` for `</`, or `<\\!` for `<!`, in strings of the new text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::rule::{PatternText, Rules};
    use base::language::Language;

    /// The text after a pattern of one language has been rewritten in a file of another one.
    fn within(
        (host, language): (Language, Language),
        (pattern, fix): (&str, &str),
        text: &str,
    ) -> Result<Option<String>, Error> {
        let rules =
            Rules::of_pattern(PatternText { language, pattern, selector: None, strictness: None, fix: Some(fix) })?;
        let file = File::new("a", host, |wanted| Ok((wanted == language).then_some(&rules)))?;
        let Found::Matches(found) = file.find(text, true, &|| Ok(()))? else { panic!() };
        Ok(rewrite(&file, (text, &found), &|| Ok(()))?.map(|rewritten| rewritten.text))
    }

    fn rewritten(language: Language, pattern: &str, fix: &str, text: &str) -> Result<Option<String>, Error> {
        within((language, language), (pattern, fix), text)
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
    fn code_within_a_page_is_rewritten_in_its_place() {
        let check = |language, rule, page: &str, after: &str| {
            let found = within((Language::Html, language), rule, page).unwrap();
            assert_eq!(found.as_deref().unwrap_or(page), after);
        };
        let rule = ("foo($A)", "bar($A)");
        let page = "<p>é foo(0)</p>\n<script>\n  foo(foo(1));\n</script>\n<script lang=ts>foo(2)</script>\n<script>foo(3)</script>\n";
        let after = "<p>é foo(0)</p>\n<script>\n  bar(bar(1));\n</script>\n<script lang=ts>foo(2)</script>\n<script>bar(3)</script>\n";
        check(Language::JavaScript, rule, page, after);
        check(
            Language::TypeScript,
            rule,
            "<script lang=ts>foo<A>(1); foo(2)</script>",
            "<script lang=ts>foo<A>(1); bar(2)</script>",
        );
        check(
            Language::Css,
            ("a {color: $A}", "a {background: $A}"),
            "<style>a {color: red}</style>",
            "<style>a {background: red}</style>",
        );
        check(
            Language::Html,
            ("<b>$A</b>", "<i>$A</i>"),
            "<b>x</b><script>'<b>x</b>'</script>",
            "<i>x</i><script>'<b>x</b>'</script>",
        );
    }

    #[test]
    fn a_rule_that_ends_the_script_of_a_page_is_refused() {
        let pair = (Language::Html, Language::JavaScript);
        let page = "<script>f('a', 1 < b)</script>";
        for fix in ["f('</script>')", "f('</SCRIPT x>')", "f('<!--', $A)", "$A</script"] {
            let error = within(pair, ("f($A, $$$)", fix), page).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{fix}: {error}");
            assert!(error.message().contains("within code of the page"), "{error}");
        }
        let joined = within(pair, ("b", "/script"), "<script>x = 1 <b</script>").unwrap_err();
        assert!(joined.message().contains("`</script`"), "{joined}");
        let kept = within(pair, ("f($A, $$$)", "g('<\\/script>', $A)"), page).unwrap();
        assert_eq!(kept.as_deref(), Some("<script>g('<\\/script>', 'a')</script>"));
        let other = within(pair, ("f($A, $B)", "g('</style>', $A, $B)"), page).unwrap();
        assert!(other.is_some());
        assert!(rewritten(Language::JavaScript, "f($A)", "g('</script>', $A)", "f(1)").unwrap().is_some());
        let styles = (Language::Html, Language::Css);
        let error =
            within(styles, ("a {color: $A}", "a {color: '</style'}"), "<style>a {color: red}</style>").unwrap_err();
        assert!(error.message().contains("`</style`"), "{error}");
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
    fn a_comma_at_the_end_of_a_list_is_not_doubled() {
        let rule = ("f($$$A)", "g($$$A, x)");
        check(Language::TypeScript, rule, "f(\n  a,\n  b,\n)", "g(a,\nb, x)");
        check(Language::Python, rule, "f(a, b,)\nf(c)\n", "g(a, b, x)\ng(c, x)\n");
        check(Language::Go, ("f($$$A)", "g($$$A , $$$A)"), "func h() { f(a,) }", "func h() { g(a , a) }");
        check(Language::JavaScript, ("f($$$A)", "g($$$A)"), "f(a,)", "g(a,)");
        check(Language::JavaScript, ("f($$$A)", "g([$$$A], $$$A, 1)"), "f(a,)", "g([a], a, 1)");
        check(
            Language::Rust,
            ("S { $$$A }", "T { $$$A, z: 1 }"),
            "fn f() { S { a, b, } }",
            "fn f() { T { a, b, z: 1 } }",
        );
    }

    #[test]
    fn a_match_whose_comment_would_take_in_code_stays() {
        let stays = |language, rule, text: &str| check(language, rule, text, text);
        let rule = ("f($$$A)", "g(\n  $$$A, x\n)");
        stays(Language::TypeScript, rule, "f(\n  a // why\n)");
        stays(Language::Python, rule, "f(\n  a,  # why\n)\n");
        stays(Language::JavaScript, ("if (a) { $$$B }", "$$$B"), "if (a) {\n  b() // why\n} c()");
        stays(Language::JavaScript, ("f($$$A)", "g($$$A)"), "f(\n  a // why\n)");
        check(Language::JavaScript, ("if (a) { $$$B }", "$$$B"), "if (a) {\n  b() // why\n}\nc()", "b() // why\nc()");
        check(Language::TypeScript, rule, "f(\n  a /* why */\n)", "g(\n  a /* why */, x\n)");
        check(Language::TypeScript, ("f($$$A)", "g(\n  $$$A\n)"), "f(\n  a // why\n)", "g(\n  a // why\n)");
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
