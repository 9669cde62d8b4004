//! Both sides read every file in the same way, although they share no parser.

use proptest::{sample::select, test_runner::RngSeed};

use super::{properties::format_and_text, *};

fn name(format: Format) -> &'static str {
    match format {
        Format::Html => "a.html",
        Format::Xhtml => "a.xhtml",
        Format::Markdown => "a.md",
        Format::Css => "a.css",
        Format::Xml => "a.xml",
        Format::Text => "a.txt",
        Format::Json => "a.json",
    }
}

/// What the verifier finds wrong with what the other side makes of a file; none if that leaves it as it is.
fn objections(format: Format, text: &str, to: &str) -> Option<Vec<crate::dta::contract::Failure>> {
    let params = json!({"from_hosts": ["old.example.com"], "to_host": to, "include": ["json", "json_ld"]});
    let params = params::Params::parse(&params).unwrap();
    let (_, moved) = propose::links_and_page_for_tests(format, text.as_bytes(), &params)?;
    if moved == text.as_bytes() {
        return Some(verify::left_for_tests(name(format), &moved, &params));
    }
    // A quick look at the bytes would have called for a parser.
    assert!(!verify::left_for_tests(name(format), text.as_bytes(), &params).is_empty(), "{format:?} {text:?}");
    Some(verify::links_and_failures_of_for_tests(name(format), text.as_bytes(), &moved, &params).1)
}

/// Where an HTML block ends that begins with one of these tags is read in several ways.
fn is_unsettled(format: Format, text: &str) -> bool {
    format == Format::Markdown && ["textarea", "script", "style"].iter().any(|name| text.contains(name))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default()
    })]

    #[test]
    fn both_sides_agree_on_files_of_every_format(
        (format, text) in format_and_text(),
        path in select(&["", "/a_b/c"][..]),
    ) {
        if is_unsettled(format, &text) {
            return Ok(());
        }
        // Where a path is written anew, signs of emphasis in it may go.
        let path = if format == Format::Markdown { "" } else { path };
        let found = objections(format, &text, &format!("https://new.example.com{path}"));
        prop_assert!(found.as_ref().is_none_or(Vec::is_empty), "{:?} {:?} {:#?}", format, text, found);
    }
}
