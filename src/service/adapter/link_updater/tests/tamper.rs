//! The verifier alone finds every other change of a file, and no file takes it long.

use super::*;

fn params() -> params::Params {
    let params = json!({
        "from_hosts": ["old.example.com"], "to_host": "https://new.example.com", "include": ["json", "json_ld"],
    });
    params::Params::parse(&params).unwrap()
}

/// The checks that fail.
fn failed(path: &str, before: &str, after: &str) -> Vec<String> {
    let (_, failures) = verify::links_and_failures_of_for_tests(path, before.as_bytes(), after.as_bytes(), &params());
    failures.into_iter().map(|failure| failure.check).collect()
}

/// In the text `OLD` moves and `STAYS` does not. Then each of the pairs is a change that must be found.
#[track_caller]
fn check(path: &str, text: &str, changes: &[(&str, &str)]) {
    let before = text.replace("OLD", "http://old.example.com").replace("STAYS", "http://old.example.com");
    let after = text.replace("OLD", "https://new.example.com");
    assert_eq!(failed(path, &before, &after.replace("STAYS", "http://old.example.com")), [""; 0], "{text}");
    // Links in places where none may move, one by one.
    for (n, _) in after.match_indices("STAYS").enumerate() {
        let mut parts: Vec<&str> = after.split("STAYS").collect();
        let tail = parts.split_off(n + 1).join("http://old.example.com");
        let moved = format!("{}https://new.example.com{tail}", parts.join("http://old.example.com"));
        assert_ne!(failed(path, &before, &moved), [""; 0], "place {n} of {text}");
    }
    let after = after.replace("STAYS", "http://old.example.com");
    for (from, to) in
        [("https://new", "http://new"), ("new.example.com", "other.example.com"), ("\n", "\r\n"), ("\n", "\n\n")]
    {
        assert_ne!(failed(path, &before, &after.replacen(from, to, 1)), [""; 0], "{from:?} {to:?} in {text}");
    }
    for (from, to) in changes {
        let changed = after.replacen(from, to, 1);
        assert_ne!(changed, after, "{from:?} is not in {text}");
        assert_ne!(failed(path, &before, &changed), [""; 0], "{from:?} {to:?} in {text}");
    }
    let twice = after.replacen("https://new.example.com", "http://old.example.com", 1);
    assert!(failed(path, &before, &twice).contains(&"links_to_update_zero".to_owned()), "{text}");
}

#[test]
fn changes_of_pages() {
    check(
        "p.html",
        "<p title='STAYS'  class=a>STAYS &amp; b</p><!-- STAYS -->\n<a href='OLD/1?a&amp;b#c'>STAYS</a><a href=\"OLD/2\">\
         <p style='a:url(OLD/3);b:\"STAYS\"'><style>c{d:url( OLD/4 )} /* url(STAYS) */</style><script>'STAYS'</script>\
         <script type='application/ld+json'>{\"STAYS\": \"OLD/5\", \"a\": 1.0}</script><p data-x=STAYS>\n",
        &[
            ("  class", " class"),
            ("class=a", "class='a'"),
            ("<p ", "<P "),
            ("&amp; b", "& b"),
            ("1?a&amp;b", "1?a&b"),
            ("#c", "#d"),
            ("/1", "/2"),
            ("( https", "(https"),
            ("1.0", "1"),
            ("<a href=\"https://new.example.com/2\">", ""),
            ("com/2\">", "com/2\"><a href='https://new.example.com/6'>"),
        ],
    );
}

#[test]
fn changes_of_plain_pages() {
    check(
        "p.html",
        "<p title='STAYS'  class=a>STAYS &amp; b</p><!-- STAYS -->\n<a href='OLD/1?a&amp;b#c'>STAYS</a><a href=\"OLD/2\">\
         <img srcset='OLD/3 1x, OLD/4 2x' src=OLD/5?c&d><p data-x=STAYS><noscript><a href=/6></noscript>\n",
        &[
            ("  class", " class"),
            ("class=a", "class='a'"),
            ("<p ", "<P "),
            ("&amp; b", "& b"),
            ("1?a&amp;b", "1?a&b"),
            ("#c", "#d"),
            ("/1", "/2"),
            ("1x", "3x"),
            ("/6", "/7"),
            ("<a href=\"https://new.example.com/2\">", ""),
            ("com/2\">", "com/2\"><a href='https://new.example.com/6'>"),
        ],
    );
    check(
        "p.html",
        "<p title='STAYS'>STAYS</p>\n<!-- STAYS --><a href=OLD>STAYS</a><a href=\"OLD/2\">\n",
        &[("com/2", "com/3"), ("<p ", "<P "), ("STAYS".replace("STAYS", "old.example.com</a>").as_str(), "</a>")],
    );
}

#[test]
fn changes_of_markdown() {
    check(
        "p.md",
        "---\na: OLD/0\n---\n# [STAYS](OLD/1 \"STAYS\") `STAYS`\n\n* ![STAYS]( <OLD/2> 'STAYS')  \n* OLD/3, <OLD/4>\n\n\
         ```STAYS\nSTAYS\n```\n\n    STAYS\n\n<!-- STAYS -->\n\n<b title='STAYS'>OLD/5</b>\n\n[STAYS]: OLD/6 'STAYS'\n\
         [a\\]b]: <OLD/7>\n\n| a |\n|:--|\n| OLD/8 | STAYS |\n\n[^1] x\\*y\n\n[^1]: OLD/9 \\\\ y\n\n<p>\nSTAYS <img src=OLD/10>\n",
        &[
            ("* ![", "- !["),
            ("( <", "(<"),
            ("'STAYS')  \n".replace("STAYS", "http://old.example.com").as_str(), "'')  \n"),
            ("  \n*", "\n*"),
            ("a\\]b", "a\\]c"),
            ("|:--|", "|--:|"),
            ("x\\*y", "x*y"),
            ("[^1] x", "[^2] x"),
            ("/7>", "/7> "),
            ("# [", "## ["),
            ("/3, <https://new.example.com/4>", "/4, <https://new.example.com/3>"),
        ],
    );
}

#[test]
fn changes_of_mdx() {
    check(
        "p.mdx",
        "---\na: OLD/0\n---\nimport A from 'STAYS'\n\nexport const b = {\n  c: \"[d](STAYS)\",\n\n  e: `STAYS`,\n}\n\n\
         # [STAYS](OLD/1) `STAYS` {'STAYS'}\n\n{/* STAYS [f](STAYS) */}\n\n<A\n    href=\"OLD/2\" g={`STAYS`} h=\"STAYS\"\n>\n        \
         [i](OLD/3 \"STAYS\")\n\n        ```\n        STAYS\n        ```\n</A>\n\n[j]: OLD/4 'STAYS'\n\n\
         k <B src='OLD/5'>OLD/6</B> {l ? <a href=\"STAYS\">m</a> : 'STAYS'}\n",
        &[
            ("    href", "   href"),
            ("        [i]", "    [i]"),
            ("<A\n", "<C\n"),
            ("b = {", "c = {"),
            ("'>https", "' >https"),
            ("{l ?", "{n ?"),
            ("[j]", "[k]"),
            ("# [", "## ["),
            ("\n\n{/*", "\n{/*"),
            ("import A", "import B"),
        ],
    );
}

#[test]
fn changes_of_style_sheets() {
    check(
        "p.css",
        "@charset \"utf-8\";\n@namespace url(STAYS);\n@import 'OLD/1' screen;\n/* url(STAYS) */ a{b:url( OLD/2 );c:\"STAYS\";d:\\41 }\n\
         e{f:image-set('OLD/3' 1x, url(\"OLD/4\") 2x)}",
        &[
            ("\\41 ", "\\41"),
            ("( https", "(https"),
            ("1x", "1.0x"),
            ("utf-8", "UTF-8"),
            ("screen", "print"),
            ("'https://new.example.com/3'", "\"https://new.example.com/3\""),
        ],
    );
}

#[test]
fn changes_of_xml() {
    check(
        "p.xml",
        "<?xml version=\"1.0\"?>\n<?xml-stylesheet href='STAYS'?>\n<!-- STAYS --><!DOCTYPE feed SYSTEM 'STAYS'>\n\
         <feed xmlns='http://www.w3.org/2005/Atom' xmlns:a='STAYS'  xml:base=\"OLD/0\"><id>STAYS</id>\n<link href='OLD/1?a&amp;b'/>\
         <icon> OLD/2 </icon><logo><![CDATA[OLD/3]]></logo><title>STAYS</title><summary>&lt;a href='STAYS'></summary></feed>\n",
        &[
            ("  xml:base", " xml:base"),
            ("a&amp;b", "a&#38;b"),
            (" </icon>", "</icon>"),
            ("\"1.0\"", "'1.0'"),
            ("<![CDATA[https://new.example.com/3]]>", "https://new.example.com/3"),
        ],
    );
    check(
        "p.svg",
        "<svg xmlns='http://www.w3.org/2000/svg'>\n<a href='OLD/1'/><g style='a:url(OLD/2)' fill='url(OLD/3)' id='STAYS'/>\
         <style>a{b:url(OLD/4)} /* STAYS */</style><text>STAYS</text></svg>",
        &[("<g ", "<g  "), ("'/><g", "' /><g")],
    );
}

#[test]
fn changes_of_text_and_json() {
    check(
        "p.txt",
        "a OLD/1, (OLD/2) xSTAYS STAYS.mirror.org\n  aSTAYS \t old.example.com",
        &[
            ("  ", " "),
            ("\t", " "),
            (", (", ",("),
            ("/1", "/1 "),
            ("/1, (https://new.example.com/2", "/2, (https://new.example.com/1"),
        ],
    );
    check(
        "p.json",
        "{\"STAYS\": \"OLD/1\",\n \"a\": [1.0, 1e400, \"see STAYS\", \"\\u0041\", \"OLD\\/2\"], \"a\": \"OLD/3\"}",
        &[
            ("1.0", "1.00"),
            ("1e400", "1E400"),
            ("\\u0041", "A"),
            ("\\/2", "/2"),
            ("\n \"a\"", "\n \"b\""),
            ("}", ", \"b\": 1}"),
            ("[1.0, 1e400", "[1e400, 1.0"),
        ],
    );
}

#[test]
fn what_can_be_read_in_several_ways_was_to_be_left_alone() {
    for (path, text) in [
        ("p.json", "{\"a\": \"OLD\",}"),
        ("p.xml", "<rss><link>OLD</link>"),
        ("p.xml", "<html><a href='OLD'/></html>"),
        ("p.xml", "<!DOCTYPE rss [<!ENTITY a 'b'>]><rss><link>OLD</link></rss>"),
        ("p.xml", "<rss><link>OLD<![CDATA[/a]]></link></rss>"),
        ("p.md", "<div><svg><path></div><textarea><a href='OLD'></textarea>\n"),
    ] {
        let [before, after] = ["http://old.example.com", "https://new.example.com"].map(|url| text.replace("OLD", url));
        assert!(failed(path, &before, &after).contains(&"nothing_else_changed".to_owned()), "{text}");
    }
}

#[test]
fn json_is_looked_at_on_request_only() {
    let changed = |name: &str, include: Value| {
        let input = invocation(|input| input["params"]["include"] = include.clone());
        let recorded = Recorded::new(&[(name, b"{\"a\": \"http://old.example.com/\"}")], &input, true);
        verify(&LinkUpdater, &recorded.request)
    };
    assert_eq!(changed("a.json", json!(["json"])).counts["updates_json"], 1);
    assert_eq!(changed("a.json", json!([])).counts["files_ignored"], 1);
}

#[test]
fn counts_of_a_format_are_measured_again() {
    let files: &[(&str, &[u8])] = &[("a.html", A), ("b.css", b"a{b:url(http://old.example.com)}"), ("c.md", b"")];
    for name in ["files_css", "updates_css", "files_markdown", "links_css"] {
        let mut lying = Recorded::new(files, &invocation(|_| {}), true);
        let report = verify(&LinkUpdater, &lying.request);
        assert!(report.passed && report.counts.contains_key(name), "{report:#?}");
        lying.rewrite("baseline.json", |baseline: &mut BaselineRecord| {
            let count = baseline.counts.get_mut(name).unwrap();
            *count = 1 - *count.min(&mut 1);
        });
        lying.fails("counts_match", None);
    }
}

#[test]
fn samples_are_new_urls_and_the_same_for_any_number_of_threads() {
    let page = (0..50)
        .map(|n| format!("<a href='//old.example.com/{n}#f'><a href='http://old.example.com/{n}'>"))
        .collect::<String>();
    let files: &[(&str, &[u8])] = &[("a.html", page.as_bytes()), ("b.html", A), ("c.html", C)];
    let samples = |n: u64, seed: u64, threads: usize| {
        let input = invocation(|input| {
            input["params"]["http_samples"] = json!(n);
            input["constraints"]["seed"] = json!(seed);
        });
        let mut recorded = Recorded::new(files, &input, true);
        recorded.request.threads = threads;
        let report = verify(&LinkUpdater, &recorded.request);
        assert!(report.passed, "{report:#?}");
        report.samples
    };
    assert_eq!(samples(0, 1, 1), [""; 0]);
    let all = samples(1000, 1, 1);
    assert!(all.len() == 51 && all.is_sorted() && all.iter().all(|url| url.starts_with("https://new.example.com/")));
    assert!(all.iter().all(|url| !url.contains('#')));
    let some = samples(7, 1, 1);
    assert_eq!((some.len(), &some), (7, &samples(7, 1, 4)));
    assert_ne!(some, samples(7, 2, 1));
}

/// Parts that take a parser long if there are many of them.
const REPEATED: &[(&str, &[&str])] = &[
    (
        "p.md",
        &[
            "[",
            "![",
            "[a](",
            "[a]: ",
            "[a]:\n",
            "[a]: b\n",
            "]: ",
            "[a]: [b]:",
            "*a ",
            "> ",
            "- ",
            "1. ",
            "<",
            "<a ",
            "<http://a",
            "&",
            "\\&",
            "`",
            "http://old.example.com/ ",
            "http://a_",
            "http://a;",
            "|a|\n|-|\n",
            "<svg>",
            "[^a]: ",
            "\n",
            "http://old.example.com/x&amp;",
        ],
    ),
    (
        "p.css",
        &[
            "url(",
            "url('",
            "a{",
            "image-set(",
            "\\",
            "/*",
            "@import ",
            "url(http://old.example.com/x) ",
            "'\\\n",
            "url( x y ",
            "-",
            "#",
        ],
    ),
    ("p.txt", &["http://", "http://old.example.com/x ", "http://a)", "http://a.", "(http://", "1http://"]),
    (
        "p.html",
        &[
            "<p style='a:url(",
            "<style>",
            "<p style='a:url(http://old.example.com/x)'>",
            "<a href='http://old.example.com/x'>",
            "<svg>",
            "&",
        ],
    ),
];
proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_of_any_bytes_is_read_and_equals_itself(
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        text in "[\\PC\n\t]{0,60}",
        (_, fragments) in super::properties::format_and_text(),
    ) {
        for path in ["a.html", "a.md", "a.mdx", "a.css", "a.xml", "a.txt", "a.json"] {
            for bytes in [&bytes[..], text.as_bytes(), fragments.to_lowercase().replace("example", "sample").as_bytes()] {
                let (_, failures) = verify::links_and_failures_of_for_tests(path, bytes, bytes, &params());
                let doubts = failures.iter().filter(|failure| failure.reason.ends_with("it was to be left alone"));
                prop_assert_eq!(doubts.count(), failures.len(), "{} {:?} {:#?}", path, bytes, failures);
            }
        }
    }
}

#[test]
fn the_time_for_a_file_of_any_format_grows_with_its_length_only() {
    let long = |part: &str| part.repeat(100_000 / part.len());
    let deep = |n: usize| (0..n).map(|n| format!("<a xmlns:p{n}='x'>")).collect::<String>();
    let attributes = (0..30_000).map(|n| format!(" a{n}=''")).collect::<String>();
    let mut files: Vec<(&str, String)> =
        REPEATED.iter().flat_map(|(path, parts)| parts.iter().map(|part| (*path, long(part)))).collect();
    for root in ["rss", "svg", "urlset"] {
        for inside in [
            &long("<a>"),
            &long("<link>http://old.example.com/x</link>"),
            &deep(20_000),
            &long("&amp;"),
            &long("<![CDATA[]]>"),
        ] {
            files.push(("p.xml", format!("<{root}>{inside}</{root}>")));
        }
        files.push(("p.xml", format!("<{root}{attributes}/>")));
    }
    for inside in ["[", "{\"a\":", "\"\\", "\"http://old.example.com/x\","] {
        files.push(("p.json", long(inside)));
        files.push(("p.json", format!("[{}1]", long(inside))));
    }
    for (path, text) in files {
        let clock = system::clock::Stopwatch::start();
        let moved = text.replace("http://old.example.com", "https://new.example.com");
        verify::links_and_failures_of_for_tests(path, text.as_bytes(), moved.as_bytes(), &params());
        verify::left_for_tests(path, text.as_bytes(), &params());
        assert!(clock.elapsed_ms() < 60_000, "{} ms for {path} {:?}", clock.elapsed_ms(), &text[..40]);
    }
}
