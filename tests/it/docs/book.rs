//! The pages as a book: each stands in the summary once, and each link leads to a file, and to a heading of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::repository;

/// The table of contents, by which mdBook builds the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The README and the pages of `docs`, without the table of contents.
pub(super) fn pages() -> impl Iterator<Item = String> {
    let is_page = |path: &String| path == "README.md" || path.starts_with("docs/") && path.ends_with(".md");
    repository::files().into_iter().filter(move |path| is_page(path) && path != SUMMARY)
}

/// Targets of links and pictures, and the anchors of headings.
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

fn read(path: &str) -> Page {
    let text = repository::text(path).expect("pages are UTF-8");
    let mut page = Page { links: Vec::new(), anchors: BTreeSet::new() };
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => page.anchors.extend(heading.take().map(|heading| anchor(&heading))),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    page
}

/// The anchor of a heading, as code hosts and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A path relative to the repository, without `..`.
fn resolve(page: &str, target: &str) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(page).parent().expect("a file has a folder").join(target).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "`{target}` of {page} leaves the repository"),
            part => path.push(part),
        }
    }
    path.to_str().expect("links are UTF-8").to_owned()
}

#[test]
fn links_lead_to_files_and_headings() {
    let is_data = |path: &str| path.starts_with("src/") || path.contains(".test/");
    let is_page = |path: &&String| path.ends_with(".md") && !is_data(path);
    let files = repository::files();
    let pages: BTreeMap<&String, Page> = files.iter().filter(is_page).map(|path| (path, read(path))).collect();
    let mut broken = Vec::new();
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains(':')) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { (*path).clone() } else { resolve(path, file) };
            let known = pages.get(&file);
            let has_heading = heading.is_empty() || known.is_some_and(|page| page.anchors.contains(heading));
            if !repository::root().join(&file).exists() || !has_heading {
                broken.push(format!("{path}: `{link}`"));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_summary_has_every_page_once() {
    let mut listed: Vec<String> = read(SUMMARY).links.iter().map(|link| resolve(SUMMARY, link)).collect();
    listed.sort();
    let pages: Vec<String> = pages().filter(|page| page != "README.md").collect();
    assert_eq!(listed, pages);
}

#[test]
fn the_book_is_made_of_the_pages() {
    let settings = repository::text("book.toml").expect("settings are UTF-8");
    let settings: toml_edit::DocumentMut = settings.parse().expect("settings are TOML");
    assert_eq!(settings["book"]["src"].as_str(), Some("docs"));
}

#[test]
fn anchors_are_those_of_code_hosts() {
    assert_eq!(anchor("Policy: `nrv.toml`".replace('`', "").as_str()), "policy-nrvtoml");
    assert_eq!(anchor("Going on: nrv resume"), "going-on-nrv-resume");
}
