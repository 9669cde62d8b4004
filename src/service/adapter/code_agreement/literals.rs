//! Lines that begin within literals stay as they are, on both sides.

use super::{Pattern, of_pattern, of_texts};
use base::{error::Code, language::Language};

/// A language, a pattern, its fix, a text, and the text after it.
type Case = (Language, &'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    // A template, its code, and code beside it.
    (
        Language::JavaScript,
        "log($A)",
        "trace({\n  value: $A,\n})",
        "  log(`a\n b ${f(\n   1)}\n    c`);\n",
        "  trace({\n    value: `a\n b ${f(\n   1)}\n    c`,\n  });\n",
    ),
    (
        Language::TypeScript,
        "if (a) { $$$B }",
        "$$$B",
        "if (a) {\n    f(`x\n    y`);\n    g(\n        1);\n}\n",
        "f(`x\n    y`);\ng(\n    1);\n",
    ),
    // Templates within templates.
    (
        Language::JavaScript,
        "if (a) { $$$B }",
        "$$$B",
        "if (a) {\n  f(`x ${g(`\n    deep\n  `)}\n  y`);\n}\n",
        "f(`x ${g(`\n    deep\n  `)}\n  y`);\n",
    ),
    // A string that goes on in the next line.
    (Language::JavaScript, "f($A)", "g(\n  $A)", "    f('a\\\n    b');\n", "    g(\n      'a\\\n    b');\n"),
    // A text in JSX is no literal, an attribute is.
    (
        Language::Tsx,
        "wrap($A)",
        "$A",
        "const a =\n    wrap(<p title=\"x\n    y\">\n      text\n    </p>);\nconst b = [\n  wrap(<b>\n    c\n  </b>)];\n",
        "const a =\n    <p title=\"x\n    y\">\n      text\n    </p>;\nconst b = [\n  <b>\n    c\n  </b>];\n",
    ),
    // A docstring stays while the block around it moves.
    (
        Language::Python,
        "if a:\n    $$$B",
        "$$$B",
        "if a:\n    def f():\n        \"\"\"One.\n\n        Two.\n        \"\"\"\n        return '''x\n        y'''\n",
        "def f():\n    \"\"\"One.\n\n        Two.\n        \"\"\"\n    return '''x\n        y'''\n",
    ),
    (
        Language::Python,
        "f($A)",
        "g(\n    $A\n)",
        "if x:\n    f(f\"\"\"a\n  {b(\n1)}\n        c\"\"\")\n",
        "if x:\n    g(\n        f\"\"\"a\n  {b(\n1)}\n        c\"\"\"\n    )\n",
    ),
    // Parts of one string on several lines are code around literals.
    (
        Language::Python,
        "f($A)",
        "g(\n    $A\n)",
        "if x:\n    f('a'\n      '''b\n      c''')\n",
        "if x:\n    g(\n        'a'\n          '''b\n      c'''\n    )\n",
    ),
    (
        Language::Rust,
        "f($A)",
        "g(\n    $A,\n)",
        "fn m() {\n    f(r#\"a\n  \"b\n    c\"#);\n    f(\"x\n    y\");\n}\n",
        "fn m() {\n    g(\n        r#\"a\n  \"b\n    c\"#,\n    );\n    g(\n        \"x\n    y\",\n    );\n}\n",
    ),
    (
        Language::Go,
        "f($A)",
        "g(\n    $A,\n)",
        "package a\n\nfunc m() {\n    f(`a\n  b`)\n}\n",
        "package a\n\nfunc m() {\n    g(\n        `a\n  b`,\n    )\n}\n",
    ),
    (
        Language::Java,
        "f($A)",
        "g(\n    $A)",
        "class C { void m() {\n    f(\"\"\"\n      a\n    b\"\"\");\n} }\n",
        "class C { void m() {\n    g(\n        \"\"\"\n      a\n    b\"\"\");\n} }\n",
    ),
    (
        Language::Kotlin,
        "f($A)",
        "g(\n    $A)",
        "fun m() {\n    f(\"\"\"a\n  ${b(\n1)}\n    c\"\"\")\n}\n",
        "fun m() {\n    g(\n        \"\"\"a\n  ${b(\n1)}\n    c\"\"\")\n}\n",
    ),
    (
        Language::CSharp,
        "f($A)",
        "g(\n    $A)",
        "class C { void M() {\n    f(@\"a\n  b\");\n    f($@\"a {x}\n  b\");\n    f(\"\"\"\n      a\n      \"\"\");\n} }\n",
        "class C { void M() {\n    g(\n        @\"a\n  b\");\n    g(\n        $@\"a {x}\n  b\");\n    g(\n        \"\"\"\n      a\n      \"\"\");\n} }\n",
    ),
    (
        Language::Cpp,
        "f($A);",
        "g(\n    $A);",
        "int main() {\n    f(R\"x(a\n  b)x\");\n    f(\"a\\\n  b\");\n}\n",
        "int main() {\n    g(\n        R\"x(a\n  b)x\");\n    g(\n        \"a\\\n  b\");\n}\n",
    ),
    (
        Language::Ruby,
        "if a\n  $$$B\nend",
        "$$$B",
        "if a\n    f(<<~EOS, 1)\n      x\n        y\n    EOS\n    g(\n      \"a\n    b\")\nend\n",
        "f(<<~EOS, 1)\n      x\n        y\n    EOS\ng(\n  \"a\n    b\")\n",
    ),
    (
        Language::Php,
        "if (a) { $$$B }",
        "$$$B",
        "if (a) {\n    f(<<<EOS\n      x $y\n      EOS);\n    g(\n        'a\n    b');\n}\n",
        "f(<<<EOS\n      x $y\n      EOS);\ng(\n    'a\n    b');\n",
    ),
    (
        Language::Bash,
        "if a; then\n  $$$B\nfi",
        "$$$B",
        "if a; then\n    cat <<EOS\n    x $y\nEOS\n    echo \"a\n    b\" \\\n        c\nfi\n",
        "cat <<EOS\n    x $y\nEOS\necho \"a\n    b\" \\\n    c\n",
    ),
    // Without the spaces it would be one word.
    (
        Language::Bash,
        "if a; then\n  $$$B\nfi",
        "$$$B",
        "if a; then\n    foo\\\n    bar \\\n    baz\nfi\n",
        "foo\\\n    bar \\\nbaz\n",
    ),
    (
        Language::C,
        "if (a) { $$$B }",
        "{ $$$B }",
        "int f() {\n    if (a) {\n        return\\\n        x;\n    }\n}\n",
        "int f() {\n    { return\\\n        x; }\n}\n",
    ),
    // Text in pages flows, but for some elements.
    (
        Language::Html,
        "<div>$A</div>",
        "<p>$A</p>",
        "<div><b>\n  a\n</b></div>\n  <div><pre>a\n  b</pre></div>\n",
        "<p><b>\n  a\n</b></p>\n  <p><pre>a\n  b</pre></p>\n",
    ),
    // Indentation is syntax in YAML, and moves with a text.
    (
        Language::Yaml,
        "old: $A",
        "new:\n  - $A",
        "old: |\n  a\n   b\nnext: 1\nmore:\n  old: 'a\n    b'\n",
        "new:\n  - |\n    a\n     b\nnext: 1\nmore:\n  new:\n    - 'a\n      b'\n",
    ),
    // Literals of the fix itself.
    (
        Language::JavaScript,
        "log($A)",
        "f(`\n  a\n`, {\n  b: $A,\n})",
        "    log(1);\n",
        "    f(`\n  a\n`, {\n      b: 1,\n    });\n",
    ),
    (
        Language::Python,
        "log($A)",
        "f('''\n  a\n''',\n  $A)",
        "if x:\n    log(1)\n",
        "if x:\n    f('''\n  a\n''',\n      1)\n",
    ),
    // A match in the code of a template is within its lines.
    (
        Language::JavaScript,
        "log($A)",
        "f(\n  $A\n)",
        "    x = `\n    ${log(1)} ${log(`\n  a`)}`;\n",
        "    x = `\n    ${f(\n  1\n)} ${f(\n  `\n  a`\n)}`;\n",
    ),
];

#[test]
fn lines_of_literals_are_not_indented_anew() {
    for (language, pattern, fix, text, after) in CASES {
        let pattern = Pattern { pattern, selector: None, strictness: None, fix: Some(fix) };
        let pair = of_pattern(*language, pattern).unwrap_or_else(|error| panic!("{language:?}: {error}"));
        let found =
            pair.rewritten("a", *language, text).unwrap_or_else(|error| panic!("{language:?}: {error}\n{text}"));
        assert_eq!(found, *after, "{language:?}");
    }
}

#[test]
fn transforms_keep_the_lines_of_literals() {
    let of = |rule: &str, text: &str| {
        of_texts(&[rule.to_owned()], &[]).unwrap().rewritten("a.js", Language::JavaScript, text)
    };
    let inner = "id: a\nlanguage: js\nrule: { pattern: f($A) }\ntransform: { B: { substring: { source: $A, startChar: 1, endChar: -1 } } }\nfix: \"g({\\n  a: `$B`,\\n})\"\n";
    let text = "  f(`a\n    b\n c`);\n";
    assert_eq!(of(inner, text).unwrap(), "  g({\n    a: `a\n    b\n c`,\n  });\n");
    let joined = "id: a\nlanguage: js\nrule: { pattern: f($A) }\ntransform: { B: { replace: { source: $A, replace: '\\n\\s*', by: ' ' } } }\nfix: g($B)\n";
    assert_eq!(of(joined, text).unwrap(), "  g(`a b c`);\n");
    let changed = "id: a\nlanguage: js\nrule: { pattern: f($A) }\ntransform: { B: { replace: { source: $A, replace: '\\n c', by: \"\\nC\" } } }\nfix: \"g(\\n$B)\"\n";
    assert_eq!(of(changed, text).unwrap_err().code(), Code::InvalidInput);
    let rewriters = "id: a\nlanguage: js\nrule: { pattern: f($A) }\nrewriters:\n- id: n\n  rule: { kind: number }\n  fix: \"[\\n  0]\"\ntransform: { B: { rewrite: { source: $A, rewriters: [n] } } }\nfix: \"g({\\n  a: $B,\\n})\"\n";
    let text = "  f([`a\n    b`,\n    1]);\n";
    assert_eq!(of(rewriters, text).unwrap(), "  g({\n    a: [`a\n    b`,\n      [\n        0]],\n  });\n");
}

#[test]
fn a_text_that_would_change_is_refused() {
    let of = |language, (pattern, fix): (&str, &str), text: &str| {
        let pattern = Pattern { pattern, selector: None, strictness: None, fix: Some(fix) };
        of_pattern(language, pattern).unwrap().rewritten("a", language, text)
    };
    // Code becomes a text.
    let pair = ("f($A)", "x = '''$A'''");
    assert_eq!(
        of(Language::Python, pair, "if a:\n    f([\n      1])\n").unwrap(),
        "if a:\n    x = '''[\n      1]'''\n"
    );
    let pair = ("f($A)", "x = [\n    '''$A''']");
    assert_eq!(of(Language::Python, pair, "if a:\n    f([\n      1])\n").unwrap_err().code(), Code::InvalidInput);
    // A text becomes code.
    let rule = "id: a\nlanguage: py\nrule: { pattern: exec($X) }\ntransform: { B: { substring: { source: $X, startChar: 3, endChar: -3 } } }\nfix: $B\n";
    let pair = of_texts(&[rule.to_owned()], &[]).unwrap();
    let code = pair.rewritten("a.py", Language::Python, "if x:\n    exec(\"\"\"a = 1\nb = 2\"\"\")\n");
    assert_eq!(code.unwrap_err().code(), Code::InvalidInput);
    let tab = of(Language::JavaScript, ("f($A)", "g(\n  $A)"), "f(`\u{b}\na`);\n");
    assert_eq!(tab.unwrap_err().code(), Code::InvalidInput);
}
