//! Headings as the real generators give them anchors: both readers have exactly those, or say that some are unknown.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    super::{
        page::{self, Kind, Manner},
        params::{Dialect, Params},
        scheme::{Addressed, Scheme},
        verify,
    },
    cases::cases,
};

#[derive(Deserialize)]
struct Rendered {
    page: String,
    /// None for a heading without an anchor.
    ids: Vec<Option<String>>,
}

/// The anchors that a reader knows, and whether there may be others.
type Read = (BTreeSet<String>, bool);

fn proposed(source: &str, dialect: Dialect) -> Read {
    let manner = Manner { params: &Params::default(), scheme: &Scheme::of(dialect), addressed: Addressed::None };
    let page = page::read(Kind::Markdown, source.as_bytes(), manner, &|| Ok(())).unwrap();
    (page.anchors, page.doubt.is_some())
}

/// The share of pages whose anchors a reader knows completely, in percent.
#[track_caller]
fn check(dialect: Dialect, pages: &[Rendered], read: fn(&str, Dialect) -> Read) -> usize {
    let mut certain = 0;
    let mut wrong = Vec::new();
    for Rendered { page: source, ids } in pages {
        let ids: BTreeSet<String> = ids.iter().flatten().cloned().collect();
        let (known, is_open) = read(source, dialect);
        // Ids in the HTML of a page are not among those of headings.
        let known: BTreeSet<String> =
            known.into_iter().filter(|id| !source.contains(&format!("id=\"{id}\""))).collect();
        if !(known == ids || (is_open && known.is_subset(&ids))) {
            wrong.push(format!("{source:?}: {known:?}, not {ids:?}"));
        }
        certain += usize::from(!is_open);
    }
    assert!(wrong.is_empty(), "{dialect:?}, {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    certain * 100 / pages.len()
}

#[track_caller]
fn agree(dialect: Dialect, least: usize) {
    let pages: Vec<Rendered> = cases(&format!("headings/{}", dialect.name()));
    assert!(pages.iter().map(|page| page.ids.len()).sum::<usize>() >= 500);
    let certain = [check(dialect, &pages, proposed), check(dialect, &pages, verify::anchors_of)];
    assert!(certain.iter().all(|certain| *certain >= least), "{dialect:?}: {certain:?} of 100 pages are certain");
    let differ = |page: &&Rendered| proposed(&page.page, dialect).1 != verify::anchors_of(&page.page, dialect).1;
    let differing: Vec<&str> = pages.iter().filter(differ).map(|page| page.page.as_str()).collect();
    assert!(differing.is_empty(), "{dialect:?}: the readers doubt other pages: {differing:#?}");
}

#[test]
fn hugo() {
    agree(Dialect::Hugo, 87);
}

#[test]
fn mdbook() {
    agree(Dialect::Mdbook, 99);
}

#[test]
fn docusaurus() {
    agree(Dialect::Docusaurus, 90);
}

/// Docusaurus reads pages of every extension as MDX.
#[test]
fn docusaurus_as_mdx() {
    let pages: Vec<Rendered> = cases("headings/docusaurus");
    let proposed = |source: &str, dialect| {
        let page = page::read(
            Kind::Mdx,
            source.as_bytes(),
            Manner { params: &Params::default(), scheme: &Scheme::of(dialect), addressed: Addressed::None },
            &|| Ok(()),
        );
        page.map(|page| (page.anchors, page.doubt.is_some())).unwrap()
    };
    let certain =
        [check(Dialect::Docusaurus, &pages, proposed), check(Dialect::Docusaurus, &pages, verify::anchors_of_mdx)];
    assert!(certain.iter().all(|certain| *certain >= 85), "{certain:?} of 100 pages are certain");
}

#[test]
fn vitepress() {
    agree(Dialect::Vitepress, 78);
}

#[test]
fn mkdocs() {
    agree(Dialect::Mkdocs, 64);
}
