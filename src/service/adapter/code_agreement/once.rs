//! With `once`, both sides leave a match that has the form of its fix already.

use super::{Pair, Pattern, of_pattern, of_texts};
use base::{
    error::{Code, Error},
    language::Language,
};

/// A language, a pattern, its fix, a text, and the text after it.
type Case = (Language, &'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    (
        Language::JavaScript,
        "log($$$A)",
        "log($$$A, ctx)",
        "log(a);\nlog(b, ctx);\nlog(ctx);\n",
        "log(a, ctx);\nlog(b, ctx);\nlog(ctx);\n",
    ),
    (Language::JavaScript, "log($A)", "log(wrap($A))", "log(a);\nlog(wrap(b));\n", "log(wrap(a));\nlog(wrap(b));\n"),
    // Each of the matches within each other.
    (Language::JavaScript, "log($A)", "log(wrap($A))", "log(log(x));\n", "log(wrap(log(wrap(x))));\n"),
    (Language::JavaScript, "log($A)", "log(wrap($A))", "log(wrap(log(x)));\n", "log(wrap(log(wrap(x))));\n"),
    (
        Language::TypeScript,
        "log($$$A)",
        "log($$$A, ctx)",
        "log(log(x), log(y, ctx), ctx);\n",
        "log(log(x, ctx), log(y, ctx), ctx);\n",
    ),
    // A match that stays within its new form.
    (
        Language::JavaScript,
        "log($A)",
        "wrap(log($A))",
        "log(a);\nwrap(log(b));\nwrap(c, log(d));\n",
        "wrap(log(a));\nwrap(log(b));\nwrap(c, wrap(log(d)));\n",
    ),
    (Language::JavaScript, "log($A)", "wrap(log($A))", "log(log(a));\n", "wrap(log(wrap(log(a))));\n"),
    (Language::Python, "open($P)", "open($P, mode)", "open(a)\n", "open(a, mode)\n"),
    (
        Language::Python,
        "f($$$A)",
        "f($$$A, timeout=1)",
        "f(a)\nf(b, timeout=1)\nf(c, timeout=2)\n",
        "f(a, timeout=1)\nf(b, timeout=1)\nf(c, timeout=2, timeout=1)\n",
    ),
    (Language::Python, "x = $A", "x = y = $A", "x = 1\nx = y = 2\n", "x = y = 1\nx = y = 2\n"),
    (
        Language::Go,
        "f($$$A)",
        "f(ctx, $$$A)",
        "package a\n\nfunc m() {\n\tf(a)\n\tf(ctx, b)\n\tf(ctx)\n}\n",
        "package a\n\nfunc m() {\n\tf(ctx, a)\n\tf(ctx, b)\n\tf(ctx)\n}\n",
    ),
    (
        Language::Rust,
        "$A.unwrap()",
        "$A.clone().unwrap()",
        "fn m() { a.unwrap(); b.clone().unwrap(); }\n",
        "fn m() { a.clone().unwrap(); b.clone().unwrap(); }\n",
    ),
    (Language::Ruby, "f($A)", "f(g($A))", "f(1)\nf(g(2))\n", "f(g(1))\nf(g(2))\n"),
    (
        Language::Java,
        "f($A)",
        "f(g($A))",
        "class C { void m() { f(1); f(g(2)); } }\n",
        "class C { void m() { f(g(1)); f(g(2)); } }\n",
    ),
    (
        Language::Tsx,
        "<A />",
        "<P><A /></P>",
        "x = <A />;\ny = <P><A /></P>;\n",
        "x = <P><A /></P>;\ny = <P><A /></P>;\n",
    ),
    (
        Language::Css,
        "a { color: $C }",
        "a { color: $C; top: 0 }",
        "a { color: red }\na { color: blue; top: 0 }\n",
        "a { color: red; top: 0 }\na { color: blue; top: 0 }\n",
    ),
    // Names of the fix that are equal have to be equal in the code.
    (Language::JavaScript, "f($A)", "f($A, $A)", "f(a);\nf(b, b);\nf(c, d);\n", "f(a, a);\nf(b, b);\nf(c, d);\n"),
    // A variable that the fix drops, and a fix of nothing.
    (Language::JavaScript, "f($A)", "f(null)", "f(a);\nf(null);\nf(f(b));\n", "f(null);\nf(null);\nf(null);\n"),
    (Language::JavaScript, "debugger;", "", "debugger;\na();\n", "\na();\n"),
    (Language::JavaScript, "not(not($A))", "$A", "not(not(a));\n", "a;\n"),
    (Language::JavaScript, "$A + 1", "$A + 1 + 1", "x = a + 1;\ny = b + 1 + 1;\n", "x = a + 1 + 1;\ny = b + 1 + 1;\n"),
    // Several lines, with a literal.
    (Language::JavaScript, "f($A)", "f({\n  a: $A,\n})", "  f(`x\n y`);\n", "  f({\n    a: `x\n y`,\n  });\n"),
];

/// The rules of both sides, which leave what is done.
fn once(pair: Pair) -> Result<Pair, Error> {
    let proposer = pair.proposer.once()?;
    let verifier = pair.verifier.into_iter().map(|(language, rules)| (language, rules.once().unwrap()));
    Ok(Pair { proposer, verifier: verifier.collect() })
}

fn rewritten((language, pattern, fix): (Language, &str, &str), text: &str) -> Result<String, Error> {
    let texts = Pattern { pattern, selector: None, strictness: None, fix: Some(fix) };
    once(of_pattern(language, texts)?)?.rewritten("a", language, text)
}

#[test]
fn each_match_gets_its_form_once() {
    for (language, pattern, fix, text, after) in CASES {
        let rule = (*language, *pattern, *fix);
        let first = rewritten(rule, text).unwrap_or_else(|code| panic!("{rule:?}: {code}"));
        assert_eq!(first, *after, "{rule:?}");
        assert_eq!(rewritten(rule, &first).unwrap(), first, "{rule:?}");
    }
}

#[test]
fn a_form_that_can_not_be_told_is_refused() {
    for (language, pattern, fix, text) in [
        // Everything that matches has the form.
        (Language::JavaScript, "f($A)", "f($A)", "f(1);\n"),
        (Language::JavaScript, "$A && $B", "$B && $A", "a && b;\n"),
        // The fix is several pieces of code, or none by itself.
        (Language::JavaScript, "f($A)", "f($A); g()", "f(1);\n"),
        (Language::JavaScript, "f($A)", "f($A", "f(1);\n"),
        // The form is not found in the place of the match.
        (Language::JavaScript, "f($$$A)", "f($$$A, b)", "f(b, c);\n"),
    ] {
        let error = rewritten((language, pattern, fix), text).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput, "{pattern} {fix}");
    }
}

#[test]
fn each_rule_has_a_form_of_its_own() {
    let rules = "id: a\nlanguage: js\nrule: { pattern: f($A) }\nfix: f(a, $A)\n---\nid: b\nlanguage: js\nrule: { pattern: g($A) }\nfix: g(f($A))\n---\nid: c\nlanguage: js\nrule: { pattern: h($A) }\ntransform: { B: { convert: { source: $A, toCase: upperCase } } }\nfix: h(k($B))\n";
    let of =
        |text: &str| once(of_texts(&[rules.to_owned()], &[]).unwrap())?.rewritten("a.js", Language::JavaScript, text);
    assert_eq!(of("f(1);\nh(x);\nh(k(y));\nf(a, 3);\n").unwrap(), "f(a, 1);\nh(k(X));\nh(k(y));\nf(a, 3);\n");
    // The call of `f` that the second rule writes is a match of the first one, and the form of the second is lost by that.
    assert_eq!(of("g(2);\n").unwrap_err().code(), Code::InvalidInput);
}

#[test]
fn neighbors_can_not_be_replaced_once() {
    let rule = "id: a\nlanguage: js\nrule: { pattern: f($A) }\nfix: { template: f(a), expandEnd: { regex: ';' } }\n";
    assert_eq!(
        once(of_texts(&[rule.to_owned()], &[]).unwrap()).err().map(|error| error.code()),
        Some(Code::InvalidInput)
    );
}
