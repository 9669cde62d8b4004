//! Rules written for what the published ones leave out.

use serde_json::{Value, json};

use super::{Found, Pattern, of_object, of_pattern, of_texts};
use base::language::Language;

/// A text in every language, with a pattern that it has.
const LANGUAGES: &[(Language, &str, &str)] = &[
    (Language::Bash, "echo $A", "echo a\nif true; then\n  echo b\nfi\n"),
    (Language::C, "x = $A;", "int main() {\n  x = 1;\n  x = f(y = x = 2);\n}\n"),
    (Language::CSharp, "f($A)", "class C { void M() { f(1); f(f(x)); } }\n"),
    (Language::Cpp, "v.push_back($A)", "int main() { v.push_back(1); /* a */ v.push_back(b); }\n"),
    (Language::Css, "a { color: $A }", "a { color: red }\n@media print { a { color: blue; } }\n"),
    (Language::Go, "f($$$A)", "package a\n\nfunc g() {\n\tf(1, 2)\n\tf()\n}\n"),
    (Language::Html, "<b>$A</b>", "<p><b>x</b> <i><b>y</b></i></p>\n"),
    (Language::Java, "f($A)", "class C { int m() { f(1); return f(f(x)); } }\n"),
    (Language::JavaScript, "f($A)", "f(1); x(f(f(2)));\n"),
    (Language::Json, "{\"a\": $A}", "[{\"a\": 1}, {\"a\": [{\"a\": null}]}]\n"),
    (Language::Kotlin, "f($A)", "fun m() {\n    f(1)\n    f(f(x))\n}\n"),
    (Language::Php, "foo($A);", "foo(1);\nfoo(foo(2));\n"),
    (Language::Python, "f($A)", "def g():\n    f(1)\n    if x:\n        f(f(2))\n"),
    (Language::Ruby, "f($A)", "def g\n  f(1)\n  f(f(2)) if x\nend\n"),
    (Language::Rust, "f($A)", "fn g() { f(1); f(f(x)) }\n"),
    (Language::Tsx, "<A b={$A} />", "const a = <div><A b={1} /><A b={<A b={2} />} /></div>;\n"),
    (Language::TypeScript, "f<$T>($A)", "f<number>(1); f<Array<string>>(x);\n"),
    (Language::Yaml, "a: $A", "a: 1\nb:\n  - a: x\n    c: y\n"),
];

#[test]
fn every_language_is_matched() {
    let mut missed = Vec::new();
    for (language, pattern, text) in LANGUAGES {
        let fix = if pattern.contains("$$$A") { "NEW($$$A)" } else { "NEW($A)" };
        let pattern = Pattern { pattern, selector: None, strictness: None, fix: Some(fix) };
        let pair = of_pattern(*language, pattern).unwrap_or_else(|error| panic!("{language:?}: {error}"));
        let found = pair.matches("a", *language, text, language.name()).expect("it does not panic");
        if found.is_empty() {
            missed.push(language);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
    assert_eq!(LANGUAGES.len(), Language::all().count());
}

const CODE: &str = "\
// ast-grep-ignore: other
function f(a, b, ...c) {
  if (a) {
    // why
    g(a, b);
    g(a, a) // ast-grep-ignore: pattern
  } else if (b) { g(); }
  for (const x of [1, 2, 3, 4, 5]) {
    h(x,
      {
        deep: [x, 'y'],
      });
  }
  // ast-grep-ignore
  return new Foo(a.b.c, `t${a}`, aLongName);
}
class K extends L { m = 1; static n() { return this.m; } }
";

#[track_caller]
fn object(rule: &Value) -> Vec<Found> {
    let pair = of_object(Language::JavaScript, rule, None).unwrap_or_else(|error| panic!("{rule}: {error}"));
    pair.matches("a.js", Language::JavaScript, CODE, &rule.to_string()).expect("it does not panic")
}

#[test]
fn rule_objects_give_the_same_matches() {
    let all = [
        json!({"kind": "number", "nthChild": 2}),
        json!({"kind": "number", "nthChild": "2n+1"}),
        json!({"kind": "number", "nthChild": {"position": "-n+2", "reverse": true}}),
        json!({"nthChild": {"position": 1, "ofRule": {"pattern": "$N"}}, "kind": "number"}),
        json!({"nthChild": {"position": 1, "ofRule": {"kind": "number"}}}),
        json!({"kind": "identifier", "inside": {"kind": "call_expression", "field": "function"}}),
        json!({"kind": "identifier", "inside": {"kind": "for_in_statement", "stopBy": "end"}}),
        json!({"kind": "identifier", "inside": {"kind": "program", "stopBy": {"kind": "function_declaration"}}}),
        json!({"kind": "call_expression", "has": {"kind": "arguments", "has": {"pattern": "$A", "nthChild": 1}}}),
        json!({"kind": "call_expression", "has": {"field": "arguments", "pattern": "($$$A)"}}),
        json!({"kind": "call_expression", "has": {"stopBy": {"kind": "object"}, "kind": "string"}}),
        json!({"kind": "for_in_statement", "has": {"field": "body", "stopBy": "end", "regex": "^'y'$"}}),
        json!({"kind": "for_in_statement", "has": {"field": "body", "stopBy": {"kind": "object"}, "kind": "expression_statement"}}),
        json!({"kind": "number", "precedes": {"regex": "^5$", "stopBy": "end"}}),
        json!({"kind": "number", "follows": {"regex": "^1$", "stopBy": {"regex": "^2$"}}}),
        json!({"kind": "number", "follows": {"regex": ","}}),
        json!({"all": [{"pattern": "g($A, $B)"}, {"not": {"pattern": "g($A, $A)"}}]}),
        json!({"any": [{"pattern": "g($A, $A)"}, {"pattern": "h($$$A)"}, {"kind": "ERROR"}]}),
        json!({"all": [], "kind": "number"}),
        json!({"any": []}),
        json!({"kind": "number", "range": {"start": {"line": 7, "column": 19}, "end": {"line": 7, "column": 20}}}),
        json!({"kind": "array > number:nth-child(2n of number), call_expression:has(> arguments:not(:has(number)))"}),
        json!({"kind": "formal_parameters identifier ~ rest_pattern"}),
        json!({"kind": ":is(number, string):nth-last-child(1)"}),
        json!({"pattern": {"context": "class A { $F = $V }", "selector": "field_definition"}}),
        json!({"pattern": {"context": "$O.$P", "selector": "property_identifier"}}),
        json!({"pattern": {"context": "g($A, b)", "strictness": "signature"}}),
        json!({"pattern": {"context": "g($A, $$B", "strictness": "relaxed"}, "kind": "call_expression"}),
        json!({"pattern": {"context": "g(,$$$A)", "strictness": "cst"}}),
        json!({"pattern": {"context": "return new Foo($$$A, $B)", "strictness": "template"}, "kind": "return_statement"}),
        json!({"pattern": "$A", "kind": "comment"}),
        json!({"kind": "statement_block", "has": {"pattern": "$A", "kind": "comment"}, "not": {"has": {"kind": "number"}}}),
    ];
    let found: usize = all.iter().map(|rule| object(rule).len()).sum();
    assert!(found > 40, "{found}");
}

#[test]
fn fixes_keep_the_shape_of_lines() {
    for fix in ["$$$A", "w(() => {\n    $$$A\n})", "(\n$A, $$$A\n  )", "$", "$a $1 $$$ $$$$A", ""] {
        for rule in [json!({"pattern": "h($$$A)"}), json!({"pattern": "if ($A) { $$$B }"}), json!({"pattern": "g($A)"})]
        {
            if let Ok(pair) = of_object(Language::JavaScript, &rule, Some(fix)) {
                pair.matches("a.js", Language::JavaScript, CODE, &format!("{rule} {fix}"));
            }
        }
    }
}

/// Judges rules in YAML on the code, and returns the number of matches.
#[track_caller]
fn texts(rules: &str, utilities: &str) -> usize {
    let utilities = if utilities.is_empty() { Vec::new() } else { vec![utilities.to_owned()] };
    let pair = of_texts(&[rules.to_owned()], &utilities).unwrap_or_else(|error| panic!("{rules}: {error}"));
    let path = "src/deep/a.js";
    pair.matches(path, Language::JavaScript, CODE, rules).expect("it does not panic").len()
}

#[test]
fn suppressions_and_globs_decide_which_matches_count() {
    let rule = |id: &str, rest: &str| format!("id: {id}\nlanguage: js\nrule: {{pattern: 'g($$$A)'}}\n{rest}");
    let n = |id: &str, rest: &str| texts(&rule(id, rest), "");
    assert_eq!([n("pattern", ""), n("free", ""), n("off", "severity: off")], [2, 3, 0]);
    assert_eq!([n("a", "files: ['src/**']"), n("a", "files: ['*.ts']"), n("a", "files: []")], [3, 0, 0]);
    assert_eq!(
        [n("a", "ignores: ['**/DEEP/*']"), n("a", "ignores: [{glob: '**/DEEP/*', caseInsensitive: true}]")],
        [3, 0]
    );
    assert_eq!(texts("id: 7\nlanguage: js\nrule: {kind: new_expression}\n---\n---\n", ""), 0);
}

#[test]
fn named_rules_constraints_and_transforms_give_the_same_edits() {
    let rules = r#"
id: a
language: javascript
utils:
  call: {pattern: $F($$$ARGS)}
  outer: {any: [{matches: call}, {kind: new_expression}]}
  nested: {inside: {any: [{kind: for_in_statement}, {matches: nested}]}}
rule: {matches: outer, not: {matches: nested}}
constraints: {F: {regex: '^[gh]$'}}
transform:
  UPPER: {convert: {source: $F, toCase: upperCase}}
  LAST: substring($UPPER, startChar=-1)
  ALL: {replace: {source: $$$ARGS, replace: '(\w)', by: '<$1>'}}
fix: "$LAST(\n  $ALL\n)"
---
id: words
language: javascript
rule: {kind: identifier, pattern: $A}
transform:
  B: convert($A, toCase=snakeCase)
  C: convert($B, toCase=pascalCase, separatedBy=[underscore, caseChange])
fix: {template: $C, expandEnd: {regex: ',', stopBy: end}, expandStart: {kind: identifier}}
---
id: fixes
language: javascript
rule: {kind: number}
fix: [{title: one, template: 'one'}, {title: two, template: 'two'}]
"#;
    assert!(texts(rules, "") > 20);
}

#[test]
fn rewriters_give_the_same_edits() {
    let rules = r#"
id: a
language: javascript
rule: {pattern: '[$$$ITEMS]'}
rewriters:
- id: number
  rule: {kind: number, pattern: $N}
  fix: n($N)
- id: string
  rule: {kind: string, pattern: $S}
  transform: {T: {rewrite: {source: $S, rewriters: [fragment]}}}
  fix: s($T)
- id: fragment
  rule: {kind: string_fragment}
  fix: z
transform:
  JOINED: {rewrite: {source: $$$ITEMS, rewriters: [number, string], joinBy: ' + '}}
  KEPT: {rewrite: {source: $$$ITEMS, rewriters: [number, string]}}
fix: "$JOINED /* $KEPT */"
"#;
    assert!(texts(rules, "") > 0);
}

#[test]
fn utilities_give_the_same_matches() {
    let utilities = r#"
id: is-call
language: js
utils: {f: {pattern: g($A)}}
rule: {any: [{matches: f}, {pattern: 'g($A, $B)'}]}
constraints: {B: {regex: b}}
---
id: within
language: js
arguments: [OUTER, INNER]
rule: {kind: identifier, matches: INNER, inside: {matches: OUTER, stopBy: end}}
---
id: twice
language: js
arguments: [X]
rule: {kind: identifier, matches: {within: {OUTER: {matches: X}, INNER: {pattern: $V}}}}
"#;
    let rule = |rule: &str| format!("id: a\nlanguage: js\nrule: {rule}\n");
    assert_eq!(texts(&rule("{matches: is-call}"), utilities), 1);
    assert!(texts(&rule("{matches: {within: {OUTER: {pattern: h($$$A)}, INNER: {pattern: $I}}}}"), utilities) > 0);
    assert!(
        texts(
            &(rule("{matches: {within: {OUTER: {kind: arguments}, INNER: {pattern: $I}}}}") + "fix: '[$I]'"),
            utilities
        ) > 0
    );
    assert!(texts(&rule("{matches: {twice: {X: {kind: arguments}}}}"), utilities) > 0);
    let both = "{matches: {within: {OUTER: {kind: arguments}, INNER: {pattern: $I}}, twice: {X: {kind: arguments}}}}";
    assert!(texts(&rule(both), utilities) > 0);
}

#[test]
fn code_with_a_syntax_error_is_not_rewritten() {
    let pattern = Pattern { pattern: "f($A)", selector: None, strictness: None, fix: Some("g(\n  $A)") };
    let pair = of_pattern(Language::JavaScript, pattern).unwrap();
    let text = "f(1);\nlet = ;\nf(`x\n  y);\n";
    assert_eq!(pair.rewritten("a", Language::JavaScript, text).unwrap(), text.replacen("f(1)", "g(\n  1)", 1));
}

#[test]
fn a_variable_that_would_be_left_out_is_refused() {
    for (pattern, fix) in [("f($$$A)", "g($A)"), ("f($A)", "g($$$A)"), ("f($A, $$$B)", "g($A, $B)")] {
        let pattern = Pattern { pattern, selector: None, strictness: None, fix: Some(fix) };
        let error = of_pattern(Language::JavaScript, pattern).err().unwrap();
        assert!(error.message().contains("which is `$"), "{error}");
    }
}

#[test]
fn code_that_a_mark_takes_the_place_of_is_not_lost() {
    let pattern = Pattern { pattern: "if a; then $$$B; fi", selector: None, strictness: None, fix: Some("$$$B") };
    let pair = of_pattern(Language::Bash, pattern).unwrap();
    let of = |text: &str| pair.rewritten("a", Language::Bash, text);
    assert_eq!(of("if a; then b; c; fi\n").unwrap(), "b; c\n");
    assert!(of("if a; then\n  b\n  c\nfi\n").unwrap_err().message().contains("would lose code"));
}
