//! Pages that browsers must repair, and pages that take long.

use super::*;

#[test]
fn a_page_that_browsers_must_mend_is_left_alone() {
    for page in [
        "<a href='/'><svg><path d='x'></a><script>var s='<a href=\"http://old.example.com/\">';</script>",
        "<div><svg viewBox='0 0 1 1'><path d='x'></div><style>a{}/*<a href='http://old.example.com/'>*/</style>",
        "<div><svg><path></div><textarea><a href='http://old.example.com/'></textarea>",
        "<table><tr><td><svg><path></td></tr></table><script>'<img src=\"http://old.example.com/x\">'</script>",
        "<svg><path></p><script>'<a href=http://old.example.com/>'</script>",
        "<h1><svg></h2><script>'<a href=http://old.example.com/>'</script>",
        "<svg><svg><p><script>'<a href=http://old.example.com/>'</script>",
        "<svg><math></svg><script>'<a href=http://old.example.com/>'</script>",
        "<svg><desc><b></desc><style><a href=http://old.example.com/></style>",
        "<svg><desc><![CDATA[ > <a href=http://old.example.com/> ]]></desc></svg>",
        "<math><mi><mglyph><style><!--</style><a href=http://old.example.com/>",
        "<select><svg></select><script>'<a href=http://old.example.com/>'</script>",
        "<select><style></select><script>'</style><a href=http://old.example.com/>'</script>",
        "<select><template></select></template><style></select><script>'</style><a href=http://old.example.com/>'",
        "<frameset><style></frameset><a href=http://old.example.com/>",
        "<b><svg></b><![CDATA[<a href='http://old.example.com/'>",
        "<noscript><!--</noscript><noscript>--><a href='http://old.example.com/'></noscript>",
        "<noscript><style></noscript><noscript></style><a href='http://old.example.com/'></noscript>",
        "<noscript><p title='</noscript><noscript><a href=\"http://old.example.com/\">'</noscript>",
        "<noscript><select></noscript><noscript><style></select><a href='http://old.example.com/'></noscript>",
        "<template><col><style></template><script>'</style><a href=http://old.example.com/>'</script>",
    ] {
        let (moved, proposal, report) = in_memory(page.as_bytes());
        assert_eq!(String::from_utf8_lossy(&moved), page);
        assert!(proposal.baseline.skipped.len() == 1 && report.passed, "{page}\n{report:#?}");
        // The verifier detects it without the other side.
        let changed = page.replace("http://old.example.com", "https://new.example.com");
        let params = json!({"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"});
        let params = params::Params::parse(&params).unwrap();
        let (_, failures) = verify::links_and_failures_for_tests(page.as_bytes(), changed.as_bytes(), &params);
        assert!(!failures.is_empty(), "{page}");
    }
}

#[test]
fn the_streaming_parser_is_not_believed_where_it_sees_another_tree() {
    let page = b"<svg><svg><head><noscript></svg><a href='http://old.example.com/'></noscript>";
    let (moved, proposal, _) = in_memory(page);
    assert_eq!((moved.as_slice(), proposal.baseline.skipped.len()), (&page[..], 1));
}

/// Calls both sides on one page, where the questions after the first `pulses` are answered with an error.
fn stopped_after(pulses: u32, page: &[u8]) -> [Option<Code>; 2] {
    let asked = std::cell::Cell::new(0);
    let pulse = || {
        asked.set(asked.get() + 1);
        if asked.get() > pulses { Err(Error::new(Code::Cancelled, "stop")) } else { Ok(()) }
    };
    let proposing = format::html::scan(page, false, &pulse).err();
    asked.set(0);
    let verifying = verify::read_for_tests(page, &pulse).err();
    [proposing, verifying].map(|error| error.map(|error| error.code()))
}

#[test]
fn one_page_can_be_stopped_while_it_is_read() {
    let page = "<p><a href=x>".repeat(20_000);
    assert_eq!(stopped_after(2, page.as_bytes()), [Some(Code::Cancelled); 2]);
    assert_eq!(stopped_after(u32::MAX, page.as_bytes()), [None; 2]);
    let island = format!("<noscript>{page}</noscript>");
    assert_eq!(stopped_after(2, island.as_bytes()), [Some(Code::Cancelled); 2]);
}

#[test]
fn the_time_for_a_page_grows_with_its_length_only() {
    let names = (0..60_000).map(|n| format!(" a{n}=x href{n}")).collect::<String>();
    for page in [
        "<noscript><a href=http://old.example.com/><p title='x'>".repeat(60_000),
        format!("<a{names} href=http://old.example.com/>"),
        format!("<a {} >", "href=http://old.example.com/ ".repeat(60_000)),
        format!("<meta {} >", "content=http://old.example.com/ ".repeat(60_000)),
        format!("<svg>{}{}", "<g>".repeat(60_000), "</x>".repeat(60_000)),
        format!("<svg>{}{}", "<desc><b>".repeat(40_000), "</x>".repeat(60_000)),
        format!("<!-- {} --><a href=http://old.example.com/>", "> ".repeat(500_000)),
        format!("<a title='{}' href=http://old.example.com/>", "=> ".repeat(300_000)),
        format!("<noscript><a title='{}' href=http://old.example.com/>", "=> ".repeat(300_000)),
        "<svg><".repeat(100_000),
    ] {
        let clock = system::clock::Stopwatch::start();
        let (_, _, report) = in_memory(page.as_bytes());
        assert!(report.passed, "{:#?}", report.failures);
        assert!(clock.elapsed_ms() < 60_000, "{} ms for {}", clock.elapsed_ms(), &page[..40]);
    }
}

#[test]
fn a_page_whose_foreign_parts_are_closed_is_moved() {
    for page in [
        "<div><svg><path d='x'><g></svg></div><script>'<a href=x>'</script><a href=http://old.example.com/>",
        "<svg><title>a</title><desc><p>b</p></desc></path></svg><style>a</style><a href=http://old.example.com/>",
        "<svg><foreignObject><div>a<br><a href=x>b</a></div></foreignObject></svg><a href=http://old.example.com/>",
        "<p><svg><g><p><script>'<a href=x>'</script><a href=http://old.example.com/>",
        "<math><mi>x</mi><mo>&lt;</mo></math><a href=http://old.example.com/>",
        "<svg><!-- </p> --><![CDATA[</p>]]></svg><a href=http://old.example.com/>",
        "<select><option>a</select><svg/><style>a</style><a href=http://old.example.com/>",
        "<table><colgroup><col></colgroup></table><template><svg></svg></template><a href=http://old.example.com/>",
        "<svg><path></body></html><a href=http://old.example.com/>",
        "<svg><use xlink:href=http://old.example.com/></svg>",
    ] {
        let (moved, proposal, report) = in_memory(page.as_bytes());
        assert_eq!(String::from_utf8_lossy(&moved), page.replace("http://old", "https://new"));
        assert!(proposal.baseline.skipped.is_empty() && report.passed, "{page}\n{report:#?}");
    }
}
