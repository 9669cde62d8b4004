//! The list of corpora and their sources in `tests/corpora/README.md` agrees with the files.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{repository, support::corpora};

#[derive(Deserialize)]
struct Case {
    source: String,
    licence: String,
}

/// The cells of every row of the README's tables, by the name in the first one.
fn rows() -> BTreeMap<String, Vec<String>> {
    let text = repository::text("tests/corpora/README.md").expect("the README is UTF-8");
    let cells = |line: &str| -> Option<(String, Vec<String>)> {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::to_owned);
        let first = cells.next()?;
        let name = first.split(']').next()?.trim_matches(['[', '`']).to_owned();
        Some((name, cells.collect()))
    };
    text.lines().filter_map(cells).collect()
}

#[test]
fn every_corpus_and_every_source_stands_in_the_readme_with_its_licence() {
    let rows = rows();
    let files = repository::files();
    let corpora: BTreeSet<&str> =
        files.iter().filter_map(|path| path.strip_prefix("tests/corpora/")?.strip_suffix(".jsonl.gz")).collect();
    // The table of corpora has a column more than the one of sources.
    let listed: BTreeSet<&str> =
        rows.iter().filter(|(_, cells)| cells.len() == 3).map(|(name, _)| name.as_str()).collect();
    let listed: BTreeSet<&str> =
        listed.into_iter().filter(|name| *name != "corpus" && !name.starts_with("---")).collect();
    assert_eq!(corpora, listed);
    for name in corpora {
        let cases: Vec<Case> = corpora::require(name);
        assert_eq!(rows[name][0].replace(',', ""), cases.len().to_string(), "{name}");
        for case in cases {
            let licence = rows.get(&case.source).map(|cells| cells[0].as_str());
            assert_eq!(licence, Some(case.licence.as_str()), "{name}: {}", case.source);
        }
    }
}
