//! The links of each format, in spellings that mislead parsers.

use super::*;

const ALL: &[Format] =
    &[Format::Html, Format::Xhtml, Format::Markdown, Format::Mdx, Format::Css, Format::Xml, Format::Text, Format::Json];

fn params(to: &str) -> params::Params {
    let params = json!({"from_hosts": ["old.example.com"], "to_host": to, "include": ["json", "json_ld"]});
    params::Params::parse(&params).unwrap()
}

/// In the text `OLD` is an old origin that moves; `STAYS` is one that must not.
#[track_caller]
fn check(format: Format, text: &str) {
    let before = text.replace("OLD", "http://old.example.com").replace("STAYS", "http://old.example.com");
    let after = text.replace("OLD", "https://new.example.com").replace("STAYS", "http://old.example.com");
    let moved = moved(format, &before, "https://new.example.com");
    assert_eq!(moved.as_deref(), Some(after.as_str()), "{text}");
}

fn moved(format: Format, text: &str, to: &str) -> Option<String> {
    let found = propose::links_and_page_for_tests(format, text.as_bytes(), &params(to));
    found.map(|(_, bytes)| String::from_utf8(bytes).unwrap())
}

#[track_caller]
fn skipped(format: Format, bytes: &[u8], reason: &str) {
    let found = format::scan(format, bytes, &params("https://new.example.com"), &|| Ok(())).unwrap();
    assert_eq!(found.skipped.as_deref(), Some(reason), "{}", String::from_utf8_lossy(bytes));
}

#[test]
fn css_in_pages_moves() {
    for page in [
        "<p style='background:url(OLD/a);mask:url(\"OLD/b\")'>",
        "<p style=\"background:url(&quot;OLD/a&quot;)\">",
        "<style>@import 'OLD/a';b{c:url(OLD/d)}/*url(STAYS)*/</style><p title='url(STAYS)'>url(STAYS)",
        "<noscript><style>a{b:url(OLD/c)}</style></noscript>",
        "<svg><style>a{b:url(STAYS)}</style><g style='fill:url(OLD/a)'/></svg>",
        "<template><style media=print>a{b:image-set('OLD/c' 1x)}</style></template>",
        "<p style='content:\"url(STAYS)\"' STYLE='a:url(STAYS)'>",
        "<style>a{b:url(OLD/a)}</style",
    ] {
        check(Format::Html, page);
    }
    let escaped = "<p style='a:u&#114;l(\\68ttp&#58;//\\6f&#92;6c\\64.example.com\\2f x)'>";
    let moved = moved(Format::Html, escaped, "https://new.example.com").unwrap();
    assert_eq!(moved, "<p style='a:u&#114;l(https://new.example.com\\2f x)'>");
}

#[test]
fn structured_data_moves_on_request() {
    for page in [
        "<script type='application/ld+json'>{\"@id\":\"OLD/a\",\"STAYS\":[\"OLD\"],\"t\":\"see STAYS\"}</script>",
        "<script type=' APPLICATION/LD+JSON ; charset=utf-8'>[\"OLD\"]</script>",
        "<script type='application/ld+json'>{\"a\":\"STAYS\",}</script><a href='OLD'>",
        "<script type='application/ld+json'>[\"STAYS\",\"<!-- <script> \"]</script>",
        "<script type='application/json'>[\"STAYS\"]</script><script>\"STAYS\"</script>",
    ] {
        check(Format::Html, page);
    }
    let page = b"<script type='application/ld+json'>[\"http://old.example.com\"]</script>";
    let plain = json!({"from_hosts": ["old.example.com"], "to_host": "https://new.example.com", "include": ["json"]});
    let plain = params::Params::parse(&plain).unwrap();
    assert!(format::scan(Format::Html, page, &plain, &|| Ok(())).unwrap().values.is_empty());
}

#[test]
fn a_page_whose_css_xml_would_read_otherwise_is_skipped() {
    let reason = "as XML it means something else than as HTML";
    skipped(Format::Xhtml, b"<style>a{b:url(http://old.example.com/?a&amp;b)}</style>", reason);
    check(Format::Xhtml, "<style>/*<![CDATA[*/a>b{c:url(OLD/?a&b)}/*]]>*/</style>");
}

#[test]
fn style_sheets() {
    for css in [
        "a{b:url(OLD/a) url( 'OLD/b' ) URL(\"OLD/c\")}@import 'OLD/d';@import url(OLD)",
        "a{b:image-set('OLD/a' 1x, url(OLD/b) 2x) src('OLD/c')}",
        "/* url(STAYS) */ a{content:'url(STAYS)' \"STAYS\"; b: image('STAYS') attr(STAYS)}",
        "@namespace url(STAYS);@namespace svg 'STAYS';a[href='STAYS']{b:url(OLD)}",
        "a{b:url(OLD/\\)x)}",
        "\u{feff}@import 'OLD'",
        "a{b:url(OLD",
        "a{b:url(STAYS 'x')}c{d:url(OLD)}",
        "a{b:url('STAYS\n);c:url(OLD)}",
    ] {
        check(Format::Css, css);
    }
    let moved = moved(Format::Css, "a{b:url(\\68 ttp:\\/\\/ol\\000064.example.com\\/x)}", "https://new.example.com");
    assert_eq!(moved.unwrap(), "a{b:url(https://new.example.com\\/x)}");
}

#[test]
fn other_encodings_of_css_and_text_are_edited_byte_by_byte() {
    for (format, before, after) in [
        (
            Format::Css,
            &b"/*\xe9*/a{b:url(http://old.example.com/\xe9)}"[..],
            &b"/*\xe9*/a{b:url(https://new.example.com/\xe9)}"[..],
        ),
        (Format::Text, b"\xe9http://old.example.com/\xe9 \xff", b"\xe9https://new.example.com/\xe9 \xff"),
    ] {
        let (_, moved) = propose::links_and_page_for_tests(format, before, &params("https://new.example.com")).unwrap();
        assert_eq!(moved, after);
    }
    for format in [Format::Markdown, Format::Mdx, Format::Xml, Format::Json] {
        skipped(format, b"<svg>\xe9</svg>", "it is not UTF-8");
    }
    for format in ALL {
        skipped(*format, b"\xff\xfea\0", "it is UTF-16");
    }
}

#[test]
fn links_of_markdown() {
    for text in [
        "[a](OLD/x) ![b](OLD/y \"STAYS\") [c](<OLD/z w> 'STAYS') [STAYS](OLD)",
        "[![a](OLD/i)](OLD/j) [a `](STAYS)` b](OLD) [a\\](OLD) [x [y](OLD) z]",
        "[a](OLD/(b)c) [a](OLD/\\)b) [](OLD) [a](\n  OLD\n  'STAYS'\n)",
        "[a]: OLD/x\n[b]: <OLD/y z> 'STAYS'\n[c]:\n  OLD\n  \"[q]: STAYS\"\n\n[a] [unused][c]",
        "[a]: OLD/1\n[a]: OLD/2\n[A]: OLD/3 \"[a]: STAYS\"\n",
        "> - [a]: OLD/1\n> - [a]: OLD/2\n>\n> [b](OLD/3)\n\n1. x\n\n   [c]: OLD/4\n",
        "[^1]: see [a](OLD)\n\n    [b]: OLD\n\n    [b] OLD\n\n[^1]",
        "<OLD/a> <http://x/STAYS> OLD/b, (OLD/c). **OLD/d** ~~OLD/e~~ _OLD_ www.old.example.com",
        "`STAYS` ``[a](STAYS)`` \\`OLD/a\\` <!-- STAYS [a](STAYS) --> OLD",
        "    STAYS\n\n```\n[a](STAYS)\n```\n\n~~~ STAYS\n<STAYS>\n~~~\n",
        "# OLD/a\n\nOLD/b\n====\n\n| a | b |\n|---|---|\n| OLD/c|OLD/d |\n| [a](OLD/e) | `STAYS` |\n",
        "- [ ] OLD/a\n- [x] [a](OLD/b)\n- a\n  OLD/c\n",
        "- [ ] OLD/a\n\n- [X] [x]\n\n- [x]: OLD/b\n- [^]: OLD/c\n",
        "> a <b\n> title='STAYS'> OLD\n",
        "* see [a][]\n* and ![a][], [b][a]\n\n[a]: OLD\n",
        "<a href='OLD/a'>OLD/b</a> <img src=\"OLD/c\"> <b title='STAYS'>\n",
        "<div class=x>\n<a href=\"OLD/a\">STAYS</a>\n<p style='a:url(OLD/b)'>\n</div>\n\n[a](OLD/c)\n",
        "<style>\na{b:url(OLD/a)}\n\n/* url(STAYS) */\n</style>\n\n<!--\n<a href='STAYS'>\n\n[a](STAYS)\n-->\n",
        "<script type='application/ld+json'>\n{\"@id\": \"OLD\", \"STAYS\": 1}\n</script>\n",
        "> <div>\n> <a href='OLD'>\n> </div>\n",
        "> <div title='\n> ' style='a:url(\n> OLD)'>",
        "---\nurl: OLD/a\nother: \"OLD/b\"\n# `OLD/c`\n---\n\n[a](OLD/d)\n",
        "\u{feff}+++\nurl = 'OLD/a'\n+++\n[a](OLD/b)\n\n---\n\nurl: OLD/c\n\n---\n",
        "[a]\\(OLD/a) \\[a](OLD/b) [a] (OLD/c) [a]: OLD/d http:\\//old.example.com",
        "\"OLD/a\" 'OLD/b' OLD/c&amp;d; xSTAYS é OLD",
        "a\r\n[b](OLD)\r\n\r\n[c]: OLD\r\n",
        "[a](OLD){.class} [b](OLD)[c](OLD) ![d][e]\n\n[e]: OLD",
        "Text\n[a]: OLD is no definition here",
    ] {
        check(Format::Markdown, text);
    }
}

#[test]
fn destinations_of_markdown_may_be_escaped() {
    for (before, after) in [
        ("[a](http&#58;//old\\.example&period;com/\\_b)", "[a](https://new.example.com/\\_b)"),
        ("[a](<http:\\/\\/old.example.com>)", "[a](<https://new.example.com>)"),
        ("[a]: http&colon;//old.example.com/&amp;\n\n[a]", "[a]: https://new.example.com/&amp;\n\n[a]"),
        ("http://old.example.com/?a&amp;b\\_c", "https://new.example.com/?a&amp;b\\_c"),
        ("<a href='http&colon;//old.example.com'>", "<a href='https://new.example.com'>"),
    ] {
        assert_eq!(moved(Format::Markdown, before, "https://new.example.com").as_deref(), Some(after), "{before}");
    }
}

#[test]
fn markdown_that_can_not_be_edited_with_certainty_is_skipped() {
    let folded = "a link in its HTML goes over several lines of a quote or a list";
    skipped(Format::Markdown, b"> <div>\n> <a href='http://old.example.com/\n> x'>\n", folded);
    skipped(Format::Markdown, b"> a <a\n> href='http://old.example.com'>", folded);
}

#[test]
fn links_of_mdx() {
    for text in [
        "[a](OLD/x) ![b](OLD/y \"STAYS\") [c](<OLD/z w> 'STAYS') [STAYS](OLD) OLD/b, `STAYS`",
        "import A from 'STAYS'\n\nexport const a = `\n\n[a](STAYS)\n`\n\n[a](OLD)\n\n[b]: OLD/c 'STAYS'\n",
        "{/* STAYS [a](STAYS) */}\n\na {'STAYS'} OLD {b ? <a href='STAYS'>STAYS</a> : null} [a](OLD/b)\n",
        "<A href=\"OLD/a\" b={`STAYS`} title=\"STAYS\" src='OLD/b' {...{href: 'STAYS'}}>\n  OLD/c\n</A>\n",
        "<Tabs>\n    <Tab\n      href=\"OLD/a\"\n    >\n        [a](OLD/b)\n\n        ```\n        STAYS\n        ```\n    \
         </Tab>\n</Tabs>\n",
        "> a {b +\n> 'STAYS'} <a\n> href=\"OLD/a\">OLD/b</a>\n",
        "<video poster=\"OLD/a\"><Video poster=\"STAYS\" to=\"STAYS\"/></video> <p style=\"a:url(OLD/b)\">OLD/c</p>\n",
        "---\nurl: OLD/a\n---\n\n<>OLD/b</> **OLD/c** <b>OLD/d</b>{e}OLD/f\n",
        "    OLD/a\n\n| a |\n|---|\n| <b>OLD/c</b> {`STAYS`} |\n\n- <A href='OLD/d' />\n\n      OLD/e\n",
    ] {
        check(Format::Mdx, text);
    }
}

#[test]
fn mdx_that_does_not_parse_is_skipped_with_its_line() {
    for (text, reason) in [
        ("OLD\n\n<!-- OLD -->\n", "it is not valid MDX: line 3: Unexpected character `!`"),
        ("---\na: b\n---\n\n<A>\n\nOLD\n", "it is not valid MDX: line 8: Expected a closing tag for `<A>` (5:1)"),
        ("OLD {a\n", "it is not valid MDX: line 1: "),
    ] {
        let found = format::scan(Format::Mdx, text.as_bytes(), &params("https://new.example.com"), &|| Ok(())).unwrap();
        let found = found.skipped.unwrap_or_default();
        assert!(found.starts_with(reason), "{text}: {found}");
    }
}

const SITEMAP: &str = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
    xmlns:image='http://www.google.com/schemas/sitemap-image/1.1' xmlns:xhtml='http://www.w3.org/1999/xhtml'>";

#[test]
fn sitemaps_and_feeds() {
    for xml in [
        &format!(
            "<?xml version='1.0'?>\n<!-- STAYS -->{SITEMAP}<url><loc>\n OLD/a?b&amp;c\n</loc><image:loc><![CDATA[OLD/d]]>\
            </image:loc><xhtml:link href='OLD/e' title='STAYS'/><changefreq>STAYS</changefreq></url></urlset>\n"
        ),
        "<sitemapindex><sitemap><loc>OLD</loc></sitemap></sitemapindex>",
        "<rss xmlns:media='http://search.yahoo.com/mrss/' xmlns:atom='http://www.w3.org/2005/Atom'><channel>\
            <link>OLD</link><atom:link href='OLD/f'/><image><url>OLD/i</url></image><docs>OLD/d</docs><item>\
            <link>OLD/1</link><guid>OLD/2</guid><guid isPermaLink='false'>STAYS</guid><comments>OLD/3</comments>\
            <enclosure url='OLD/4'/><source url='OLD/5'>STAYS</source><media:content url='OLD/6'/>\
            <description>STAYS &lt;a href='STAYS'></description><media:title>STAYS</media:title></item></channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='OLD/'><id>STAYS</id><link href='OLD/a'/><icon>OLD</icon>\
            <logo>OLD</logo><generator uri='OLD'>STAYS</generator><entry><id>STAYS</id><author><uri>OLD</uri></author>\
            <content type='html'>&lt;a href=\"STAYS\"&gt;</content><content src='OLD/b'/>\
            <link xmlns='urn:x' href='STAYS'/></entry></feed>",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>\
            <channel rdf:about='STAYS'><link>OLD</link><items rdf:resource='STAYS'/></channel><image><url>OLD</url></image>\
            </rdf:RDF>",
        "<opml><head><title>STAYS</title></head><body><outline text='STAYS' xmlUrl='OLD/a' htmlUrl='OLD/b'/>\
            <outline url='OLD/c'/></body></opml>",
    ] {
        check(Format::Xml, xml);
    }
    let moved = moved(
        Format::Xml,
        "<sitemapindex><loc>&#104;ttp&#x3A;//old.example.com/</loc></sitemapindex>",
        "https://n.example",
    );
    assert_eq!(moved.unwrap(), "<sitemapindex><loc>https://n.example/</loc></sitemapindex>");
}

#[test]
fn drawings() {
    check(
        Format::Xml,
        "<?xml-stylesheet href='STAYS'?><!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/STAYS'>\
        <svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' \
        xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='STAYS' xmlns:o='STAYS'>\
        <style>@import 'OLD/a';b{fill:url(\"OLD/?a&amp;b\")}</style><style><![CDATA[a>b{c:url(OLD/?a&b)}]]></style>\
        <a xlink:href='OLD/c'><text>STAYS</text></a><use href='OLD/d'/><script>'STAYS'</script>\
        <g style='fill:url(&quot;OLD/e#f&quot;)' mask='url(OLD/g)' clip-path='url(OLD/h)' title='url(STAYS)' \
        marker-end=\"url('OLD/i')\" xml:base='OLD/j'/></svg>",
    );
}

#[test]
fn xml_that_is_none_or_another_is_skipped() {
    let broken = "it is no well-formed XML";
    for xml in [
        "",
        "text",
        "<svg>",
        "<svg></g>",
        "<svg/><svg/>",
        "<svg/>x",
        "<svg a=b/>",
        "<svg a='<'/>",
        "<svg a='1' a='2'/>",
        "<svg a='1'b='2'/>",
        "<svg>&nbsp;</svg>",
        "<svg>&amp</svg>",
        "<svg a='&'/>",
        "<svg>]]></svg>",
        "<svg>\u{1}</svg>",
        "<svg><!-- -- --></svg>",
        "<x:svg/>",
        "<svg x:a='b'/>",
        " <?xml version='1.0'?><svg/>",
        "<svg><?xml a?></svg>",
        "<svg/><!DOCTYPE svg>",
        "<!doctype svg><svg/>",
        "<svg><![CDATA[",
        "<svg 1='2'/>",
        "<1/>",
        "<svg a='1",
        "<svg a=",
        "<svg a>",
        "<svg><p:a xmlns:p=''/></svg>",
        "<svg>&#0;</svg>",
        "<:svg/>",
        "<a:b:c xmlns:a='x'/>",
        "]]>",
        "<svg/>&#32;",
        "<svg xmlns:a='x' xmlns:b='x' a:c='1' b:c='2'/>",
        "<svg xmlns:xml='x'/>",
        "<svg xmlns:x='http://www.w3&#46;org/XML/1998/namespace'/>",
        "<svg xmlns:xmlns='x'/>",
    ] {
        skipped(Format::Xml, xml.as_bytes(), broken);
    }
    let foreign = "its root element is none of a sitemap, a feed, OPML or SVG";
    for xml in ["<html/>", "<project/>", "<svg xmlns='urn:x'/>", "<feed xmlns='urn:x'/>", "<Urlset/>"] {
        skipped(Format::Xml, xml.as_bytes(), foreign);
    }
    skipped(Format::Xml, b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>", "it declares entities of its own");
    skipped(
        Format::Xml,
        "<?xml version='1.0' encoding='Shift_JIS'?><svg>é</svg>".as_bytes(),
        "its encoding is not UTF-8",
    );
    let scattered = "the text of one of its links is in several parts";
    skipped(Format::Xml, b"<rss><link>http://old<!-- -->.example.com</link></rss>", scattered);
    skipped(Format::Xml, b"<rss><link>http://<![CDATA[old.example.com]]></link></rss>", scattered);
    check(Format::Xml, "<?xml version='1.0' encoding='Shift_JIS'?><rss><link> <!-- -->OLD</link></rss>");
}

#[test]
fn text_and_json() {
    check(
        Format::Text,
        "See OLD/a, (OLD/b) or <OLD/c>. \"OLD\"! xSTAYS mailto:a@old.example.com [OLD/d]: old.example.com",
    );
    check(
        Format::Json,
        "{\"STAYS\": \"OLD/a\", \"b\": [\"OLD\", \" STAYS\", \"see STAYS\", \"STAYS STAYS\"], \"c\": {\"d\": \"OLD?x=\\u0079\"}}",
    );
    let moved = moved(
        Format::Json,
        r#"["http:\/\/old.example.com\/a","\u0068ttp://old.example.com","//old.example.com/\n"]"#,
        "https://n.example",
    );
    assert_eq!(moved.unwrap(), r#"["https://n.example\/a","https://n.example","//old.example.com/\n"]"#);
    for json in ["{\"a\": \"http://old.example.com\",}", "\u{feff}[]", "// a\n[]", "{'a': 1}", ""] {
        skipped(Format::Json, json.as_bytes(), "it is no valid JSON");
    }
}

#[test]
fn a_path_comes_before_those_of_links_in_every_format() {
    for (format, before, after) in [
        (Format::Html, "<a href=http://old.example.com?q>", "<a href=https://n.example/a/b/?q>"),
        (Format::Css, "a{b:url(http://old.example.com/../c)}", "a{b:url(https://n.example/a/b/c)}"),
        (
            Format::Markdown,
            "<http://old.example.com> http://old.example.com.",
            "<https://n.example/a/b/> https://n.example/a/b/.",
        ),
        (
            Format::Xml,
            "<rss><link>http://old.example.com/&amp;</link></rss>",
            "<rss><link>https://n.example/a/b/&amp;</link></rss>",
        ),
        (Format::Text, "http://old.example.com/c%2f_d", "https://n.example/a/b/c%2f_d"),
        (Format::Json, "[\"http:\\/\\/old.example.com\"]", "[\"https://n.example/a/b/\"]"),
    ] {
        assert_eq!(moved(format, before, "https://n.example/a/b/").as_deref(), Some(after), "{before}");
    }
}
