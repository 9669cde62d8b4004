//! The list of needs agrees with the tests and with CONTRIBUTING.md.

use std::collections::BTreeSet;

use crate::{repository, support::need::NEEDS};

#[test]
fn every_need_is_used_by_a_test_and_explained() {
    let listed: BTreeSet<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
    assert!(NEEDS.is_sorted_by_key(|(name, _)| *name) && listed.len() == NEEDS.len());
    let page = repository::text("CONTRIBUTING.md").expect("the page is UTF-8");
    let explained: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).map(|(name, _)| name).collect();
    let missing: Vec<_> = listed.difference(&explained).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md does not list the needs {missing:?}");
    let files = repository::files();
    let tests: String =
        files.iter().filter(|path| path.ends_with(".rs")).filter_map(|path| repository::text(path)).collect();
    for name in listed {
        let quoted = format!("\"{name}\"");
        assert!(tests.matches(&quoted).count() > 1, "no test needs `{name}`");
    }
}

/// A test that ends early without a need would pass silently.
#[test]
fn a_test_is_skipped_by_its_need_alone() {
    let phrase = ["\"skip", "ped: "].concat();
    let files = repository::files();
    let is_test = |path: &&String| path.ends_with(".rs") && path.contains("test") && !path.ends_with("support/need.rs");
    let own: Vec<_> = files
        .iter()
        .filter(is_test)
        .filter(|path| repository::text(path).is_some_and(|text| text.contains(&phrase)))
        .collect();
    assert!(own.is_empty(), "these print a skip of their own, and can't be required: {own:?}");
}
