//! Compares the fast reader with the exact one: the same answer, and the same page after the move.

use proptest::test_runner::RngSeed;

use super::*;

/// The number of links, and the page with them moved.
type Told = Option<(usize, String)>;

/// The results of the fast reader and the exact one; none where the reader leaves the page alone.
fn both(page: &str) -> (Told, Told) {
    let params = json!({"from_hosts": ["old.example.com", "127.0.0.1"], "to_host": "https://new.example.com"});
    let params = params::Params::parse(&params).unwrap();
    let text = |moved: Vec<u8>| String::from_utf8(moved).unwrap();
    let fast = propose::counted_page_for_tests(page.as_bytes(), &params);
    let exact = propose::links_and_page_for_tests(format::Format::Html, page.as_bytes(), &params);
    (
        fast.map(|(links, moved)| (usize::try_from(links).unwrap(), text(moved))),
        exact.map(|(links, moved)| (links.len(), text(moved))),
    )
}

#[track_caller]
fn check(page: &str, links: Option<usize>) {
    let (fast, exact) = both(page);
    assert_eq!(fast.as_ref().map(|(links, _)| *links), links, "{page}");
    assert!(fast.is_none() || fast == exact, "{page}: {exact:?}");
}

#[test]
fn ordinary_pages_are_counted() {
    check(
        "<!DOCTYPE html><A\nHREF = 'x' Href=y><img src=a srcset=\"b 1x, c 2x\"alt=c><a href=x/><a href></a >",
        Some(5),
    );
    check("<p href=x xlink:href=y data-src=z><base href=''><isindex action=x><form action=y>", Some(2));
    check("<meta content='0;url=x' http-equiv=REFRESH><meta name=og:image content=y><meta name=x content=z>", Some(2));
    check("<a href=' \n'><a href='&#32;'><a href='&Tab;x'><a ping='a b '><blockquote cite=x>", Some(4));
    check("<title><a href=x></title ><textarea><a href=x></textarea><style>a{}</style><xmp><a href=x>", Some(0));
    check("<script src=>'<a href=x>'</script><a href=y><script src=x/>'<a href=x>'</script/><a href=z", Some(2));
    check("<script><!-- <script> </script> <a href=x> --></script><a href=y>", Some(1));
    check("<script><!-- '<a href=x>' </script><a href=y><script><!--> <script></script><a href=z>", Some(2));
    check("<script>a<!--<script></script><a href=x>", Some(0));
    check(
        "<!--><a href=x><!---><a href=x><!-- --!><a href=x><!-- - -- > <a href=y>--><a href=x><!x '><a href=x>",
        Some(5),
    );
    check("</a href='>'><a href=x></><a href=y></ ><a href=z><?php '<a href=v>' ?><a href=w>", Some(4));
    check("<svg><use href=x /><title><a href=y></a></title></svg><p><use href=z><select><option>a</select>", Some(2));
    check(
        "<p style='background: url(x) url(&quot;y&quot;)'><style>a{b:url(z)} @import 'w';</style><svg style=c>",
        Some(4),
    );
    check("<p style='background: url(http://old.example.com)'><a href=http://old.example.com><p style='d'>", Some(2));
    check(
        "<noscript><a href=http://old.example.com></noscript><meta content='0;//old.example.com' http-equiv=refresh style='a:url(//old.example.com)'>",
        Some(3),
    );
    check("<noscript><a href=x><noscript><img src=y></noscript><a href=z><noscript><p></p></noscript>", Some(3));
    check("<noscript>plain</noscript><iframe src=x><a href=y></iframe>", Some(1));
}

#[test]
fn urls_that_stay_are_told_from_those_that_move() {
    for url in [
        "http://example.com/x",
        "HTTPS://Example.com:80?x",
        "//x.org",
        "/old.example.com",
        "http:x",
        "http:///x.org/",
        "h",
        "http",
        "ht\ttp://x.org/",
        "//x.org&#47;",
        "javascript:'http://old.example.com'",
        "http://old.example.com.evil.org/",
        "http://old.example.com:8080/",
        "http://127.0.0.2/",
        "http://b\u{fc}cher.example/",
    ] {
        let page = format!("<a href=\"{url}\">");
        let (fast, exact) = both(&page);
        assert_eq!((fast, exact), (Some((1, page.clone())), Some((1, page))), "{url}");
    }
    for url in [
        "http://OLD.example.com",
        "//old.example.com",
        "\\\\old.example.com",
        "/\\old.example.com",
        "/\t/old.example.com",
        "/&#47;old.example.com",
        "ht\ntp://old.example.com",
        "h&#116;tp://old.example.com",
        "http:/\n/old.example.com",
        "http:&#47;/old.example.com",
        "http://o%6cd.example.com",
        "http://u@old.example.com",
        "http:\\\\old.example.com",
        "&#104;ttp://old.example.com",
        " http://old.example.com",
        "\u{1}http://old.example.com",
        "http://2130706433",
        "http://127.1",
        "http://0x7f.1./",
        "http://ｏｌｄ.example.com",
    ] {
        let page = format!("<a href=\"{url}\"><a href='//OLD.example.com'>");
        let (fast, exact) = both(&page);
        let (links, moved) = fast.clone().unwrap();
        assert!(links == 2 && moved.matches("new.example.com").count() == 2, "{}", url.escape_debug());
        assert_eq!(fast, exact, "{}", url.escape_debug());
    }
}

#[test]
fn what_is_unusual_is_left_to_the_exact_reader() {
    for page in [
        "<noscript><a href=x></noscript>x<noscript><style></noscript>",
        "<noscript><a href=x></a title='</noscript>",
        "<noscript><!--</noscript><a href=x>",
        "<noscript><script src=><!--</script>",
        "<svg><![CDATA[<a href=x>]]></svg>",
        "<svg><path></p><a href=x>",
        "<template><a href=x></template>",
        "<plaintext><a href=x>",
        "<select><style></select>",
        "<svg><a href=x",
        "<svg></svg></p a='<svg>'>",
        "<math><mi>x</mi></math>",
        "<template></template><a href=http://old.example.com>",
        "<a href=http://old.example.com&quot&NotEqualTilde;x><plaintext>",
    ] {
        check(page, None);
    }
}

/// Fragments of style sheets, in elements and attributes.
const CSS: &[&str] =
    &["<p style='", "<svg style=\"", "url(", "URL('", "@import \"", "\\75rl(", "/*", "*/", "{", "}", "src("];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_reader_says_what_the_exact_one_says(
        parts in proptest::collection::vec(proptest::sample::select([FRAGMENTS, CSS].concat()), 0..24),
    ) {
        let page = parts.concat().replace("old.example.com", "other.example.com");
        let (fast, exact) = both(&page);
        prop_assert!(fast.is_none() || fast == exact, "{page:?}: {fast:?}, {exact:?}");
        let (fast, exact) = both(&parts.concat());
        prop_assert!(fast.is_none() || fast == exact, "{parts:?}: {fast:?}, {exact:?}");
    }
}

/// The targets of links, as parts of a value and in their spelling.
const GOALS: &[&str] =
    &["https://new.example.com", "http://b.example:8080", "https://[::1]", "https://x.example/a.b/~c"];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default()
    })]

    #[test]
    fn a_page_that_passes_by_comparison_passes_in_full(
        parts in proptest::collection::vec(proptest::sample::select([FRAGMENTS, CSS].concat()), 0..24),
        goal in proptest::sample::select(GOALS),
    ) {
        let page = parts.concat();
        let params = json!({"from_hosts": ["old.example.com"], "to_host": goal});
        let params = params::Params::parse(&params).unwrap();
        if let Some((twin, failures)) = verify::twin_and_failures_for_tests(page.as_bytes(), &params)
            && twin != page.as_bytes()
        {
            prop_assert!(failures.is_empty(), "{page:?}: {failures:#?}");
        }
    }
}
