//! Properties of any file in any format: no panic, only links change, idempotence, and linear time.

use proptest::{collection::vec, sample::select};

use super::*;

/// Fragments of one or several formats that, in any order, make files of the kind that confuse parsers.
const FRAGMENTS: &[(&[Format], &[&str])] = &[
    (
        &[Format::Markdown],
        &[
            "[a](",
            "![",
            "](",
            ")",
            "[",
            "]",
            "[a]: ",
            "[^1]: ",
            "<http://old.example.com/x>",
            "<",
            ">",
            "`",
            "``",
            "```\n",
            "~~~",
            "    ",
            "\t",
            "\n",
            "\n\n",
            "\r\n",
            "> ",
            "- ",
            "1. ",
            "* ",
            "*",
            "**",
            "_",
            "~~",
            "| a | b |\n|---|---|\n| ",
            "|",
            "# ",
            "---\n",
            "+++\n",
            "===\n",
            "<a href=\"",
            "<div>\n",
            "</div>",
            "<!--",
            "-->",
            "<style>",
            "</style>",
            "<script type=application/ld+json>",
            "</script>",
            "<b style='a:url(",
            "\\",
            "&amp;",
            "&#47;",
            "&colon;",
            "\"",
            "'",
            "(",
            "[ ] ",
            "\u{feff}",
            "é",
            "www.",
            "x",
            ".",
            ":",
            "<svg>",
            "<textarea>",
            "=",
        ],
    ),
    (
        &[Format::Css],
        &[
            "a{b:url(http://old.example.com/a)}",
            "url( 'HTTP://old.example.com' )",
            "@import \"//old.example.com/x\";",
            "image-set('http://old.example.com/?a' 1x)",
            "url(\\68 ttp:\\/\\/old.example.com\\",
            "url(",
            "URL( ",
            "src(",
            "image-set(",
            "@import ",
            "@namespace ",
            ")",
            "(",
            "[",
            "]",
            "{",
            "}",
            ";",
            ":",
            ",",
            "\"",
            "'",
            "/*",
            "*/",
            "\\",
            "\\68 ",
            "\\\n",
            "\n",
            " ",
            "\t",
            "a",
            "<!--",
            "-->",
            "u",
            "\\75 rl(",
            "é",
            "#",
            "1x",
            "\u{1}",
        ],
    ),
    (
        &[Format::Xml],
        &[
            "<link>http://old.example.com/</link>",
            "<link><![CDATA[http://old.example.com]]></link>",
            "<url> ",
            "</url>",
            "<style>a{b:url(http://old.example.com/?a&amp;b)}</style>",
            "<style><![CDATA[@import '//old.example.com'",
            "]]></style>",
            "<a href='http&#58;//old.example.com'/>",
            "<g style=\"a:url(&quot;http://old.example.com/x&quot;)\">",
            "</g>",
            "<x:y xmlns:x='z' xml:base=\"//old.example.com\"/>",
            "<!-- <link>http://old.example.com</link> -->",
            "<?x http://old.example.com?>",
            "<guid>http://old.example.com<b/>",
            "</guid>",
            "&amp;",
            "&#47;",
            "<g fill='url(",
            ")'/>",
            " ",
            "\n",
            "é",
            "<![CDATA[",
            "]]>",
            "<",
            "'",
        ],
    ),
    (
        &[Format::Text, Format::Json],
        &[
            "\",\"http://old.example.com/a",
            "\",\"\\u0068ttp:\\/\\/old.example.com\\/",
            "\"",
            "\\",
            "\\\"",
            "\\/",
            "\\u0068",
            "\\ud83d",
            "[",
            "]",
            "{",
            "}",
            ":",
            ",",
            "1",
            "null",
            "\n",
            " ",
            "\"a\":\"",
            "\",\"",
            "\"]",
            "[\"",
            "(",
            ")",
            ".",
            "!",
            "'",
            "<",
            ">",
            "`",
            "x",
            "é",
            "\u{3000}",
            "\u{7f}",
        ],
    ),
    (
        &[Format::Html, Format::Xhtml],
        &[
            "<style>a{b:url(http://old.example.com/a)}</style>",
            "<p style=\"a:url('http&#58;//old.example.com')\">",
            "<a href=http://old.example.com/&copy>",
            "<script type='application/ld+json'>[\"http:\\/\\/old.example.com\"]</script>",
            "<style>",
            "</style>",
            "<p style='",
            "<p style=\"a:url(",
            "url(",
            "@import ",
            "'",
            "\"",
            ")",
            ">",
            "\\68 ",
            "&#92;",
            "&quot;",
            "&",
            ";",
            "<script type='application/ld+json'>",
            "</script>",
            "[\"",
            "\"]",
            "<!--",
            "-->",
            "<svg>",
            "</svg>",
            "<noscript>",
            "</noscript>",
            "<![CDATA[",
            "]]>",
            "/*",
            "*/",
            "\n",
            " ",
            "<a href=",
            "é",
            "{",
            "}",
            "<script>",
        ],
    ),
];

/// Fragments of URLs, for every format.
const URLS: &[&str] = &[
    "http://old.example.com",
    "http://old.example.com/",
    "http://old.example.com/a_b?c&d",
    "HTTPS://OLD.example.com:443/../x",
    "//old.example.com/x",
    "http&#58;//old.example.com",
    "http:\\/\\/old.example.com\\/",
    "http://u:p@old.example.com",
    "http://%6fld.example.com\\",
    "http://old.example.com.evil.org/",
    "https://new.example.com/x",
];

pub(super) fn format_and_text() -> impl Strategy<Value = (Format, String)> {
    let any_text = select(FRAGMENTS).prop_flat_map(|(formats, fragments)| {
        let fragment = prop_oneof![3 => select(fragments), 1 => select(URLS)];
        (select(formats), vec(fragment, 0..24).prop_map(|parts| parts.concat()), select(&["svg", "rss"][..]))
    });
    any_text.prop_map(|(format, text, root)| match format {
        Format::Xml => (format, format!("<{root}>{text}</{root}>")),
        Format::Json => (format, format!("[\"{text}\"]")),
        _ => (format, text),
    })
}

fn params(to: &str) -> params::Params {
    let params = json!({"from_hosts": ["old.example.com"], "to_host": to, "include": ["json", "json_ld"]});
    params::Params::parse(&params).unwrap()
}

/// The bytes outside of the values with URLs.
fn outside(format: Format, bytes: &[u8], params: &params::Params) -> Vec<Vec<u8>> {
    let values = format::scan(format, bytes, params, &|| Ok(())).unwrap().values;
    let ends = values.iter().map(|value| value.range.start).chain([bytes.len()]);
    let starts = [0].into_iter().chain(values.iter().map(|value| value.range.end));
    starts.zip(ends).map(|(start, end)| bytes[start..end].to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_links_change_and_twice_is_once((format, text) in format_and_text(), path in select(&["", "/a_b/c"][..])) {
        let params = params(&format!("https://new.example.com{path}"));
        let found = propose::links_and_page_for_tests(format, text.as_bytes(), &params);
        let Some((links, moved)) = found else { return Ok(()) };
        let shown = String::from_utf8_lossy(&moved);
        prop_assert_eq!(outside(format, text.as_bytes(), &params), outside(format, &moved, &params), "{} {}", text, shown);
        let (again, twice) = propose::links_and_page_for_tests(format, &moved, &params).unwrap();
        prop_assert_eq!((again.len(), &*twice), (links.len(), &*moved), "{} {}", text, shown);
    }

    #[test]
    fn any_bytes_are_scanned(bytes in vec(any::<u8>(), 0..200), text in "\\PC{0,80}") {
        for (_, format) in format::GLOBS {
            for bytes in [&bytes[..], text.as_bytes()] {
                let found = format::scan(*format, bytes, &params("https://new.example.com"), &|| Ok(())).unwrap();
                prop_assert!(found.values.is_sorted_by(|a, b| a.range.end <= b.range.start), "{:?}", found.values);
            }
        }
    }
}

/// Texts that hurt a parser when repeated.
const HOSTILE: &[(Format, &[&str])] = &[
    (
        Format::Markdown,
        &[
            "[",
            "![",
            "![[[",
            "[a](",
            "[a](<",
            "[a]: ",
            "[a]: x\n",
            "[a]: x\n[a]: y \"",
            "](",
            "*",
            "_*",
            "**a ",
            "`",
            "`a``",
            "<",
            "<a ",
            "<a href=x>",
            "<style>",
            "<p =\n\n",
            "<!--",
            "<![CDATA[",
            "<?",
            "> ",
            "- ",
            "> - ",
            "1. a\n",
            "    ",
            "| a ",
            "|-\n",
            "a|\n-|\n",
            "http://",
            "http://a.b)",
            "http://a.b/;",
            "http://a.b/&a;",
            "\\",
            "&",
            "&#",
            "&a;",
            "[^a]",
            "[^a]: ",
            "---\n",
            "```\n",
            "~~",
            "\r",
            "\t",
            "http://old.example.com/ ",
            "[a](http://old.example.com) ",
            "[a]: http://old.example.com\n\n",
            "<http://old.example.com>",
            "> <div title='\n",
        ],
    ),
    (
        Format::Css,
        &[
            "url(",
            "url(x)",
            "url( ",
            "url('",
            "src(",
            "(",
            "[",
            "{",
            "{}",
            "@import ",
            "@namespace ",
            "'",
            "\\",
            "\\6",
            "/*",
            "/**/",
            "image-set(",
            "image-set('x'",
            ")",
            "a{b:url(http://old.example.com)}",
            "url(\\",
            "\\(",
            "@",
            "u",
        ],
    ),
    (
        Format::Text,
        &[
            "http://",
            "http://a)",
            "http://(",
            "http://a ",
            "://",
            ")",
            "http://old.example.com ",
            "hhttp://",
            "http://a.",
        ],
    ),
    (Format::Json, &["[", "{\"a\":", "\"", "\\", "\"a\",", " "]),
    (
        Format::Html,
        &[
            "<style>",
            "<style></style>",
            "<p style='url('>",
            "<p style=url(x)>",
            "<p style='&#40;'>",
            "<script type=application/ld+json>",
        ],
    ),
    (
        Format::Xml,
        &[
            "<svg>",
            "<![CDATA[",
            "<!--",
            "<?",
            "<!DOCTYPE [",
            "&",
            "&amp;",
            "&#1",
            "<a b='c' ",
            "<svg a=\"",
            "<svg xmlns:a='b'>",
            "]]>",
            "<svg",
            "</svg>",
            "<rss><link>",
        ],
    ),
];

#[test]
fn the_time_for_a_file_grows_with_its_length_only() {
    let most = 1 << 19;
    let cases =
        HOSTILE.iter().flat_map(|(format, parts)| parts.iter().map(|part| (*format, part.repeat(most / part.len()))));
    let names: String = (0..70_000).map(|n| format!(" a{n}='x'")).collect();
    let spaces: String = (0..30_000).map(|n| format!("<a xmlns:b{n}='x'>")).collect();
    let more = [
        (Format::Xml, format!("<svg{names}/>")),
        (Format::Xml, format!("<svg>{spaces}{}</svg>", "</a>".repeat(30_000))),
        (Format::Xml, format!("<rss><link>{}</link></rss>", "&amp;".repeat(200_000))),
        (Format::Xml, format!("<rss>{}</rss>", "<link>http://old.example.com</link>".repeat(30_000))),
        (Format::Xml, format!("<svg>{}</svg>", "<style>url(http://old.example.com)</style>".repeat(20_000))),
        (Format::Json, format!("[{}0]", "\"http://old.example.com\",".repeat(40_000))),
        (Format::Json, format!("{}{}", "[".repeat(500_000), "]".repeat(500_000))),
        (Format::Text, format!("http://{}", ")".repeat(most))),
        (Format::Markdown, format!("http://{}", ")".repeat(most))),
        (Format::Css, format!("url({})", "\\61 ".repeat(200_000))),
    ];
    for (format, text) in cases.chain(more) {
        let clock = system::clock::Stopwatch::start();
        propose::links_and_page_for_tests(format, text.as_bytes(), &params("https://new.example.com"));
        let head: String = text.chars().take(20).collect();
        assert!(clock.elapsed_ms() < 60_000, "{} ms for {head:?}", clock.elapsed_ms());
    }
}
