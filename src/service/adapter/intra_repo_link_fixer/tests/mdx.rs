//! MDX: both readers find the same links, or one of them says that it can't read the page.

use proptest::{prelude::*, sample::Index, test_runner::RngSeed};

use super::{
    super::{
        blocks::Blocks,
        page::{self, Kind, Manner, destinations},
        params::{Dialect, Params},
        scheme::{Addressed, Scheme},
        verify,
    },
    Case,
};

/// The links of a page with their places; the error is the reason to leave it alone.
type Links = Result<Vec<(usize, String)>, String>;

fn proposed(source: &str) -> Links {
    let outline = Kind::Mdx.outline(source.as_bytes(), Blocks::default(), &|| Ok(())).unwrap().unwrap();
    let place = |(value, piece, url): (&format::value::Value, std::ops::Range<usize>, String)| {
        let decoded = format::value::Decoded::new(&source.as_bytes()[value.range.clone()], &value.escapes);
        (value.range.start + decoded.raw(piece).start, url)
    };
    let links = destinations(source.as_bytes(), &outline).map(place).collect();
    outline.skipped.clone().map_or(Ok(links), |reason| Err(reason.into_owned()))
}

/// The links of both readers, if both read the page.
#[track_caller]
fn links(source: &str) -> Result<Vec<String>, String> {
    let mut proposed = proposed(source)?;
    let mut verified = verify::links_of(source)?;
    proposed.retain(|(_, url)| !url.is_empty());
    proposed.sort();
    verified.sort();
    assert_eq!(proposed, verified, "{source}");
    Ok(proposed.into_iter().map(|(_, url)| url).collect())
}

#[track_caller]
fn check(source: &str, expected: &[&str]) {
    let found = links(source);
    let found: Vec<&str> =
        found.as_ref().unwrap_or_else(|why| panic!("{why}: {source}")).iter().map(String::as_str).collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn programs_have_no_links() {
    check("{/* a comment\n   over lines [x](a.md)\n*/}\n\n[ok](b.md)\n", &["b.md"]);
    check("{`[x](a.md) ${'}'} {`}\n\n[ok](b.md)\n", &["b.md"]);
    check("export const a = `\n\n[x](a.md)\n\n`\n\n[ok](b.md)\n", &["b.md"]);
    check("import A from './a'\nimport B from './b.md'\n\n[ok](b.md)\n", &["b.md"]);
    check("export const meta = {\n  md: \"[x](a.md)\",\n\n  href: 'a.md',\n}\n\n[ok](b.md)\n", &["b.md"]);
    check("text {'[x](a.md)'} [ok](b.md) {/* [y](c.md) */}\n", &["b.md"]);
    check("{'{'} [ok](b.md) {'}'}\n", &["b.md"]);
    check("\\{ [ok](b.md) \\} \\<a href=\"c.md\"> \\`[d](d.md)\\`\n", &["b.md", "d.md"]);
    check("{list.map((x) => <a href=\"a.md\" key={x}>{x}'s [x](a.md)</a>)}\n\n[ok](b.md)\n", &["b.md"]);
    check("export const C = () => (\n  <a href=\"a.md\">it's</a>\n)\n\n[ok](b.md)\n", &["b.md"]);
}

#[test]
fn components_hold_links() {
    check(
        "<Tabs>\n  <Tab title=\"a\">\n    [ok](b.md)\n\n    ```js\n    [x](a.md)\n    ```\n\n    - item\n\n      [ok](c.md)\n  </Tab>\n</Tabs>\n",
        &["b.md", "c.md"],
    );
    check("<Card>[ok](b.md) *and* ![i](c.png)</Card>\n", &["b.md", "c.png"]);
    check("<Card>\n[ok](b.md)\n</Card>\n", &["b.md"]);
    check("<>\n\n[ok](b.md)\n\n</>\n\n<>[ok](c.md)</>\n", &["b.md", "c.md"]);
    check("<div>\n        # Deep\n\n        [ok](b.md)\n</div>\n", &["b.md"]);
    check("<A.B c:d=\"e\" {...f}>\n\n[ok](b.md)\n\n</A.B>\n", &["b.md"]);
    check("para\n    ```js\n    [x](a.md)\n    ```\n[ok](b.md)\n", &["b.md"]);
    check("    [ok](b.md)\n\n\ttext `[x](a.md)`\n", &["b.md"]);
}

#[test]
fn tags_spell_out_links() {
    check("<a\n  href=\"b.md\"\n  title=\"t\"\n>ok</a>\n", &["b.md"]);
    check("<Link to=\"a.md\" href='b.md' src={c} d={`href=\"e.md\"`} />\n", &["b.md"]);
    check(
        "<A b=\"> href='a.md'\" href=\"b.md\" c={d > e ? '>' : \"href='f.md'\"} src=\"g.png\"/>\n",
        &["b.md", "g.png"],
    );
    check("<a href={`a.md`}>x</a> <a href={'c.md'}>y</a> <a href=\"b.md\">ok</a>\n", &["b.md"]);
    check("<a href=\"b.md\" {...{href: 'a.md'}}>[ok](c.md)</a>\n", &["b.md", "c.md"]);
}

#[test]
fn containers_hold_programs() {
    check("> {a +\n> b}\n>\n> <a\n> href=\"b.md\">ok</a> [ok](c.md)\n", &["b.md", "c.md"]);
    check("> text\nlazy [ok](b.md) {c}\n", &["b.md"]);
    check("- <Card href=\"b.md\">\n\n  [ok](c.md)\n\n  </Card>\n- {d} [ok](e.md)\n", &["b.md", "c.md", "e.md"]);
    check(
        "1. a\n\n   <Tabs>\n     <Tab>\n       ```\n       [x](a.md)\n       ```\n     </Tab>\n   </Tabs>\n\n2. [ok](b.md)\n",
        &["b.md"],
    );
    check("| a | b |\n|---|---|\n| <b>[ok](b.md)</b> | {c} ![d](e.png) |\n", &["b.md", "e.png"]);
    check("-     [ok](b.md)\n\n      [ok](c.md)\n", &["b.md", "c.md"]);
}

#[test]
fn text_beside_programs_has_links() {
    check("https://example.com/x [ok](b.md) www.example.com\n", &["b.md"]);
    check("---\ntitle: \"[x](a.md)\"\n---\n\nimport A from 'a'\n\n[ok](b.md)\n", &["b.md"]);
    check(
        "[a][b] [c]\n\n[b]: d.md 'e {f}'\n[c]: <g h.md>\n\n[ok](<i j.md>) [k](l{m}.md)\n",
        &["d.md", "g h.md", "i j.md", "l{m}.md"],
    );
    check("`{` [ok](b.md) `}` ``<a href=\"c.md\">`` ```[x](a.md)```\n", &["b.md"]);
    check("[`{a}`](b.md) [<b>c</b>](d.md) [{e}](f.md) ![g {h}](i.png)\n", &["b.md", "d.md", "f.md", "i.png"]);
    check("## A {b} [ok](c.md)\n\n## <B/> [ok](d.md)\n\nA\n{e}\n[ok](f.md)\n", &["c.md", "d.md", "f.md"]);
    check("{a}{/* b */}<C/>\n[ok](b.md)\n", &["b.md"]);
    check("important [ok](b.md)\nimport a from 'b'\n", &["b.md"]);
    check("```mdx\n<a href=\"a.md\">\n{[x](a.md)}\n```\n\n~~~\n```\n[x](a.md)\n~~~\n[ok](b.md)\n", &["b.md"]);
    check("<details>\n<summary>a</summary>\n\n[ok](b.md)\n\n</details>\n", &["b.md"]);
    check(
        "<Steps>\n1. a\n   ```sh\n   x {\n   ```\n2. [ok](b.md)\n   <Note>[ok](c.md)</Note>\n</Steps>\n",
        &["b.md", "c.md"],
    );
    check("[^1] [ok](b.md)\n\n[^1]: {a} [ok](c.md)\n", &["b.md", "c.md"]);
    check(
        "{/* prettier-ignore */}\n<Foo\n  a={{\n    b: \"}\",\n\n    c: /[}]/,\n  }}\n>\n  [ok](b.md)\n</Foo>\n",
        &["b.md"],
    );
    check(":::note[{a}]\n\n[ok](b.md)\n\n:::\n", &["b.md"]);
}

#[test]
fn a_page_that_is_no_mdx_is_left_alone_with_its_line() {
    for (source, line, cause) in [
        ("[a](b.md)\n\n<!-- c -->\n", 3, "Unexpected character `!`"),
        ("---\na: b\n---\n\n<A>\n\n[a](b.md)\n", 8, "closing"),
        ("a\n\n<https://a.example>\n", 3, "Unexpected character"),
        ("a {b\n", 1, "corresponding closing brace"),
        ("a {b c}\n\n[d](e.md)\n", 1, "syntax error"),
        ("import a from\n\n[b](c.md)\n", 4, "syntax error"),
        ("<A>\n</B>\n", 2, "Unexpected closing tag"),
        ("a </b>\n", 1, "Unexpected closing"),
    ] {
        let reason = proposed(source).unwrap_err();
        assert!(reason.starts_with("it is not valid MDX: line ") && reason.contains(cause), "{source}: {reason}");
        assert!(reason.contains(&format!("line {line}")), "{source}: {reason}");
    }
    for source in ["a <A", "{a", "<A b={c", "import {a", "<A b='c\n\n[a](b.md)\n", "a {`\n"] {
        assert!(proposed(source).is_err(), "{source}");
        assert!(verify::links_of(source).is_err(), "{source}");
    }
}

#[test]
fn deep_and_long_pages_end_soon() {
    for source in [
        "<a>".repeat(20_000),
        "{".repeat(20_000),
        "> ".repeat(5_000) + "a",
        "- ".repeat(5_000) + "a",
        "{[".to_owned() + &"(".repeat(50_000),
        "{`${".repeat(5_000),
        "*a ".repeat(5_000),
        "![".repeat(5_000) + &"](a)".repeat(5_000),
        "[".repeat(5_000) + &"](a)".repeat(5_000),
        "<a b={".repeat(5_000),
        "{<a>".repeat(2_000),
        format!("{{{}1}}", "- ".repeat(50_000)),
        format!("{{{}1}}", "a=\n".repeat(50_000)),
        format!("{}{}", "<a>\n".repeat(390), "</a>\n".repeat(390)),
        "`a ``b ".repeat(2_000),
        "{a} ".repeat(5_000),
        "<A href=\"b\"/>\n\n".repeat(5_000),
        format!("{{[{}]}}\n", "{a: 1},".repeat(2_000)),
    ] {
        let (one, other) = (proposed(&source), verify::links_of(&source));
        if let (Ok(one), Ok(other)) = (one, other) {
            assert_eq!(one.len(), other.len(), "{}", &source[..20]);
        }
    }
}

fn anchors(source: &str, dialect: Dialect) -> (Vec<String>, bool) {
    let manner = Manner { params: &Params::default(), scheme: &Scheme::of(dialect), addressed: Addressed::None };
    let page = page::read(Kind::Mdx, source.as_bytes(), manner, &|| Ok(())).unwrap();
    let (known, is_open) = verify::anchors_of_mdx(source, dialect);
    assert_eq!((&page.anchors, page.doubt.is_some()), (&known, is_open), "{dialect:?} {source}: {:?}", page.doubt);
    (known.into_iter().collect(), is_open)
}

#[test]
fn headings_and_ids_of_mdx_are_anchors() {
    for (dialect, source, expected, is_open) in [
        (Dialect::Github, "# A `b`\n\n<C id=\"d\">\n## *E*\n</C>\n", &["a-b", "d", "e"][..], false),
        (Dialect::Github, "# A {b}\n\n# C\n", &["c"], true),
        (Dialect::Github, "# A <B/>\n\n<i>D</i>\n===\n", &[], true),
        (
            Dialect::Github,
            "{`\n# A\n`}\n\nexport const a = `\n# B\n\n# C\n`\n\n<D e={`\n# F\n`} />\n\n# G\n",
            &["g"],
            false,
        ),
        (Dialect::Docusaurus, "{`\n# A\n`}\n\nexport const a = `\n# B\n\n# C\n`\n\n# G\n", &["g"], false),
        (
            Dialect::Docusaurus,
            "# A {#b}\n\n# C {/* #d */}\n\n# E \\{#f}\n\nG {/* #h */}\n---\n",
            &["b", "d", "f", "h"],
            false,
        ),
        (Dialect::Docusaurus, "# A {b}\n\n# C\n", &["c"], true),
        (Dialect::Docusaurus, "import B from './_b.mdx'\n\n# C\n", &["c"], true),
        (Dialect::Github, "import B from './_b.mdx'\n\n# C\n", &["c"], true),
        (Dialect::Github, "import {B} from \"./b.md\"\nimport C from './c'\n\n# C\n", &["c"], true),
        (Dialect::Github, "import C from './c.jsx'\n\n# C\n", &["c"], false),
        (Dialect::Github, "{a.map((b) => <h2 id={b}>{b}</h2>)}\n\n# C\n", &["c"], true),
        (Dialect::Github, "<h2 id={b}>c</h2>\n\n<p id=\"e\"/>\n\n# C\n", &["c", "e"], true),
        (Dialect::Github, "export const D = () => <p id=\"e\"/>\n\n# C\n", &["c"], true),
        (Dialect::Docusaurus, "<A>\n\n      # B\n\n   - c\n      # D\n</A>\n", &["b", "d"], false),
        (Dialect::Github, "<!-- a -->\n\n# C\n", &[], true),
    ] {
        let found = if source.starts_with("<!--") {
            let manner =
                Manner { params: &Params::default(), scheme: &Scheme::of(dialect), addressed: Addressed::None };
            let page = page::read(Kind::Mdx, source.as_bytes(), manner, &|| Ok(())).unwrap();
            (page.anchors.into_iter().collect(), page.doubt.is_some())
        } else {
            anchors(source, dialect)
        };
        assert_eq!(
            found,
            (expected.iter().map(ToString::to_string).collect::<Vec<_>>(), is_open),
            "{dialect:?} {source}"
        );
    }
}

#[test]
fn links_of_mdx_are_repaired_and_programs_stay() {
    let page = "export const a = '[x](SUB/p.md)'\n\n{/* [b](SUB/p.md) */}\n\n<A\n  b={`SUB/p.md`}\n  href=\"SUB/p.md\"\n>\n      \
                [c](SUB/p.md)\n</A>\n";
    let expected = page.replace("href=\"SUB/", "href=\"sub/").replace("[c](SUB/", "[c](sub/");
    let (changed, left) = Case::new(&[("docs/a.mdx", page), ("docs/sub/p.md", "# P\n")]).outcome();
    assert_eq!(changed.get("docs/a.mdx"), Some(&expected));
    assert!(left.is_empty(), "{left:?}");
    let failures = |new: &str| verify::failures_of(page, new);
    assert_eq!(failures(&expected), Vec::<String>::new());
    for wrong in [
        expected.replace("'[x](SUB/", "'[x](sub/"),
        expected.replace("[b](SUB/", "[b](sub/"),
        expected.replace("{`SUB/", "{`sub/"),
        expected.replace("      [c]", "    [c]"),
        expected.replace("<A\n", "<B\n"),
    ] {
        assert_ne!(failures(&wrong), Vec::<String>::new(), "{wrong}");
    }
}

/// Parts of pages that are put together in any order.
const PARTS: &[&str] = &[
    "[a](b.md)",
    "![a](c.png)",
    "{d}",
    "{`[x](y.md)`}",
    "{/* [x](y.md) */}",
    "<A>",
    "</A>",
    "<B href=\"e.md\"/>",
    "<>",
    "</>",
    "<C d={`>`} src='f.png'>",
    "</C>",
    "\n",
    "\n\n",
    "\n  ",
    "\n    ",
    "\n> ",
    "\n- ",
    "\n  - ",
    "\n1. ",
    "\n\n      ",
    " ",
    "text",
    "`[x](y.md)`",
    "`",
    "```",
    "\n```\n",
    "\n~~~\n",
    "\n# ",
    "\n---\n",
    "\n| ",
    " | ",
    "\n|---|---|\n",
    "\\",
    "{'{'}",
    "a < b",
    "\nimport a from 'b'\n\n",
    "\n\nexport const a = `\n\n[x](y.md)`\n\n",
    "[g]",
    "\n[g]: h.md\n",
    "[^1]",
    "\n[^1]: a",
    "*",
    "_",
    "**",
    "[<i>j</i>](<k l.md>)",
    "\n<D\n  href=\"m.md\"\n>\n",
    "</D>",
    "\n</D>\n",
    "{[{a: '}'}]}",
    "<E {...f} g=\"[x](y.md)\" />",
    "\n{/*\n# h\n*/}\n",
    "{\n",
    "}",
    "=",
    "\n===\n",
    "https://n.example/o",
    "&amp;",
    "é",
    "\t",
    "\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn both_readers_find_the_same_links(parts in prop::collection::vec(any::<Index>(), 1..24)) {
        let source: String = parts.iter().map(|part| PARTS[part.index(PARTS.len())]).collect();
        if let (Ok(one), Ok(other)) = (proposed(&source), verify::links_of(&source)) {
            // The places that comrak gives behind a definition can be those of an earlier link.
            let urls = |links: Vec<(usize, String)>| {
                let mut urls: Vec<String> = links.into_iter().map(|(_, url)| url).filter(|url| !url.is_empty()).collect();
                urls.sort();
                urls
            };
            prop_assert_eq!(urls(one), urls(other), "{:?}", source);
        }
    }
}

/// The number of random pages.
fn rounds() -> u32 {
    std::env::var("NRV_MDX_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1000)
}
