//! Tests of the readers of sites.

use super::*;
use base::micro::Kind;

/// Each site as `kind name text`; what a program computes in brackets.
#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    let (sites, _) = read(text, Format::of_path(path).unwrap(), &|| Ok(())).unwrap();
    assert_eq!(sites.errors, 0, "{text}");
    let mut all: Vec<&Site> = sites.sites.iter().filter(|site| site.kind != Kind::Element).collect();
    all.sort_by_key(|site| (site.range.start, site.kind));
    let shown = |site: &&Site| {
        let part = text[site.range.clone()].trim();
        let part = if site.spelling == Spelling::Computed { format!("[{part}]") } else { part.to_owned() };
        format!("{} {} {part}", site.kind.as_str(), site.name).replace("  ", " ")
    };
    assert_eq!(all.iter().map(shown).collect::<Vec<_>>(), expected);
}

#[test]
fn jsx_has_props_classes_styles_and_text() {
    check(
        "a.jsx",
        "<A className=\"x y\" n={3} f={go} {...rest}>Hi {name} there {'you'}</A>",
        &["class x y", "prop className x y", "prop n 3", "prop f [{go}]", "text Hi", "text there", "text you"],
    );
    check(
        "a.tsx",
        "<A className={cn('a', on ? 'b' : \"c\", { 'd': on, e: 1 }, x === 'f')} />",
        &[
            "prop className [{cn('a', on ? 'b' : \"c\", { 'd': on, e: 1 }, x === 'f')}]",
            "class a",
            "class b",
            "class c",
            "class d",
        ],
    );
    check(
        "a.jsx",
        "<A className={`a ${b}`} style={{ color: 'red', marginTop: -4, top: y }} />",
        &[
            "class [a ${b}]",
            "prop className [a ${b}]",
            "prop style [{{ color: 'red', marginTop: -4, top: y }}]",
            "style color red",
            "style margin-top -4",
            "style top [y]",
        ],
    );
    check("a.ts", "const buttonStyle = { color: 'red' }; const other = { color: 'blue' };", &["style color red"]);
}

#[test]
fn programs_have_imports() {
    let text = "import a from 'b'; export * from \"c\"; import('d'); require('e'); import f = require('g'); x('h');";
    check("a.ts", text, &["import b", "import c", "import d", "import e", "import g"]);
}

#[test]
fn pages_have_attributes_text_styles_and_programs() {
    check(
        "a.html",
        "<p class=a title='b c' hidden>d &amp; e<br>f {{ g }}<!-- h --> i</p>",
        &["class a", "prop class a", "prop title b c", "text d &amp; e", "text f", "text i"],
    );
    check(
        "a.html",
        "<style>a { color: red }</style><script>import './b'</script><p style=\"top: 1px; left: 2px\">",
        &["style color red", "import ./b", "prop style top: 1px; left: 2px", "style top 1px", "style left 2px"],
    );
    check(
        "a.vue",
        "<template><p :class=\"['a', { 'b': c }]\" :title=\"d\">{{ e }} f</p></template>",
        &["prop :class [['a', { 'b': c }]]", "class a", "class b", "prop :title [d]", "text f"],
    );
    check(
        "a.svelte",
        "<p class=\"a {b}\" on:click={() => c > 1}>d {#if e}f{/if}</p>",
        &["class [a {b}]", "prop class [a {b}]", "prop on:click [{() => c > 1}]", "text d", "text f"],
    );
}

#[test]
fn sheets_have_declarations_and_imports() {
    check(
        "a.css",
        "@import url(a.css); @charset 'b'; c { d: e !important; f: url(g;h); --i: { j: k } } @media (l: m) { n { o: p } }",
        &["import a.css", "style d e", "style f url(g;h)", "style --i { j: k }", "style o p"],
    );
    check(
        "a.scss",
        "@use 'a'; $b: 1px !default; // $c: d;\ne { &:f { g: h } i: #{$b} + 2; @include j($k: l) { m: n } }",
        &["import a", "style $b 1px", "style g h", "style i #{$b} + 2", "style m n"],
    );
    check(
        "a.less",
        "@import (reference) 'a'; @b: 1px; .c { .d(@e; 1px); f: ~\"@{b}\"; }",
        &["import a", "style @b 1px", "style f ~\"@{b}\""],
    );
}

#[test]
fn nested_rules_have_whole_selectors() {
    let rules = |path: &str, text: &str| read(text, Format::of_path(path).unwrap(), &|| Ok(())).unwrap().0.rules;
    assert_eq!(
        rules("a.scss", ".a, .b { &:hover {} > .c {} .d & {} }").concat(),
        [".a", ".b", ".a:hover", ".b:hover", ".a > .c", ".b > .c", ".d .a", ".d .b",]
    );
    assert_eq!(rules("a.css", "@media print { a>b {} }").concat(), ["a > b"]);
}

#[test]
fn what_is_broken_is_counted() {
    let errors = |path: &str, text: &str| read(text, Format::of_path(path).unwrap(), &|| Ok(())).unwrap().0.errors;
    for (path, text) in [("a.css", "a { b: c"), ("a.css", "a { b: 'c }"), ("a.css", "}"), ("a.jsx", "<a b=\"c>d</a>")] {
        assert!(errors(path, text) > 0, "{text}");
    }
    assert!(read("<p>{a</p>", Format::Markup(Markup::Svelte), &|| Ok(())).is_err());
    assert!(Format::of_path("a.py").is_err() && Format::of_path("Makefile").is_err());
}
