//! Pages with scripts and style sheets. The expected places are those of the program `ast-grep`, but for data blocks.

use serde_json::json;

use super::{Pattern, of_object, of_pattern, of_texts};
use base::language::Language;

const PAGE: &str = "\
<!DOCTYPE html>
<p title=\"f(0)\">é f(0)</p>
<script>
  // ast-grep-ignore
  f(1); f('<b>')
  if (a) { f(f(2)) }
</script>
<script lang=\"ts\">f(3 as A); const x: number = f(4)</script>
<SCRIPT type=module>f(5)</SCRIPT>
<script lang='tsx'>f(<b c={f(6)} />)</script>
<script type=\"application/json\">{\"a\": \"f(7)\"}</script>
<script lang=coffee>f(8)</script><script type=\"text/x-template\"><b>f(9)</b></script>
<style>.é, a { color: red; } /* f(10) */</style>
<style lang=scss>a { b { color: red } }</style>
<style media=print>@media x { a { color: red } }</style>
<!-- <script>f(11)</script> -->
<script src=a.js></script>
";

/// The texts of the matches of a pattern of one language in the page, by the number of their line.
#[track_caller]
fn check(language: Language, pattern: &str, expected: &[(usize, &str)]) {
    let of = Pattern { pattern, selector: None, strictness: None, fix: Some("g($A)") };
    let pair = of_pattern(language, of).unwrap();
    let found = pair.matches("a.html", Language::Html, PAGE, pattern).unwrap();
    let place = |start: usize| PAGE[..start].matches('\n').count() + 1;
    let found: Vec<(usize, &str)> =
        found.iter().map(|(_, start, end, _)| (place(*start), &PAGE[*start..*end])).collect();
    assert_eq!(found, expected, "{language:?} {pattern}");
}

#[test]
fn both_sides_find_the_code_of_pages() {
    check(Language::JavaScript, "f($A)", &[(5, "f(1)"), (5, "f('<b>')"), (6, "f(f(2))"), (6, "f(2)"), (9, "f(5)")]);
    check(Language::TypeScript, "f($A)", &[(8, "f(3 as A)"), (8, "f(4)")]);
    check(Language::Tsx, "f($A)", &[(10, "f(<b c={f(6)} />)"), (10, "f(6)")]);
    check(Language::Css, "a { color: $A }", &[(15, "a { color: red }")]);
    check(Language::Html, "<script lang=coffee>$A</script>", &[(12, "<script lang=coffee>f(8)</script>")]);
    check(Language::Python, "f($A)", &[]);
}

#[test]
fn rules_and_comments_hold_within_pages() {
    let rules = "id: js\nlanguage: js\nrule: {pattern: f($A), not: {inside: {kind: if_statement, stopBy: end}}}\nfix: g($A)\n\
                 ---\nid: css\nlanguage: css\nrule: {kind: property_name, regex: ^color$}\nfix: background\n\
                 ---\nid: html\nlanguage: html\nrule: {kind: tag_name, regex: ^p$}\nfix: div\n";
    let pair = of_texts(&[rules.to_owned()], &[]).unwrap();
    let found = pair.matches("a.html", Language::Html, PAGE, rules).unwrap();
    let found: Vec<(&str, &str)> =
        found.iter().map(|(rule, start, end, _)| (rule.as_str(), &PAGE[*start..*end])).collect();
    let expected = [("html", "p"), ("html", "p"), ("js", "f(5)"), ("css", "color"), ("css", "color")];
    assert_eq!(found, expected);
    assert_eq!(pair.matches("a.js", Language::JavaScript, "f(1)", "js").unwrap().len(), 1);
}

#[test]
fn both_sides_know_what_is_broken() {
    let pair = of_object(Language::JavaScript, &json!({"pattern": "f($A)"}), Some("g($A)")).unwrap();
    for page in [
        "<script>f(1); let = ;</script>",
        "<script>f(1)</script><script>let = ;</script>",
        "<script>f(1)</script><style>{{{</style>",
        "<script>f(1)</script><p <></p>",
        "<script>let = ;</script><p>f(1)</p>",
        "<p <></p><script>g(1)</script>f(1)",
        "<script>f(1)</p>",
        "<script>f(`</script>`)</script>",
        "<script>\n<!--\nf(1)\n-->\n</script>",
        "<script>f('{{ a }}'); {% if b %} f(2) {% endif %}</script>",
        "<svg><style>a{}</style><script>f(1)</script></svg>",
        "<textarea><script>f(1)</script></textarea>",
        "<script lang>f(1)</script><script lang=''>f(2)</script><script LANG=ts>f(3)</script><script lang=ts lang=js>f(4)</script>",
        "\u{feff}<script>\r\n\tf(1)\r\n</script>\r\n",
    ] {
        pair.matches("a.html", Language::Html, page, page).unwrap();
    }
    let ends = of_object(Language::JavaScript, &json!({"pattern": "f($A)"}), Some("g('</script>')")).unwrap();
    ends.matches("a.html", Language::Html, "<script>f(1)</script>", "ends").unwrap();
}
