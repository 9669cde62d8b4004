//! The words of the project are measured: short sentences in the pages, and nouns at the beginning of doc comments.
#![expect(clippy::disallowed_methods, reason = "pages of another checkout are read, too")]

mod sentences;

use std::collections::BTreeMap;

use crate::{
    prose::sentences::{Place, Sentence, sentences},
    repository,
};

/// The longest sentence of a page, in words.
const MAX_WORDS: usize = 30;

/// The median of all sentences stays below this number of words.
const MEDIAN_BELOW: usize = 15;

/// Pages without prose: one is generated from sources, one is a list of links.
const WITHOUT_PROSE: &[&str] = &["docs/SUMMARY.md", "docs/script-api.md"];

/// The pages of the root and of `docs`, and every README; of the changelog, the part that is not released yet.
fn pages() -> BTreeMap<String, String> {
    let is_read = |path: &str| path.starts_with("docs/") || !path.contains('/') || path.ends_with("/README.md");
    let is_page = |path: &String| path.ends_with(".md") && is_read(path) && !path.contains(".test/");
    let mut pages = BTreeMap::new();
    for path in repository::files().into_iter().filter(is_page).filter(|path| !WITHOUT_PROSE.contains(&path.as_str())) {
        let text = repository::text(&path).expect("pages are UTF-8");
        let text = match path.as_str() {
            "CHANGELOG.md" => unreleased(&text),
            _ => text,
        };
        pages.insert(path, text);
    }
    pages
}

fn unreleased(changelog: &str) -> String {
    let from = changelog.find("\n## [Unreleased]").map_or(0, |at| at + 1);
    let released = changelog[from..].match_indices("\n## [").map(|(at, _)| from + at).next();
    // Lines before the section stay as empty ones, so that the numbers of lines are those of the file.
    let skipped = "\n".repeat(changelog[..from].matches('\n').count());
    skipped + &changelog[from..released.unwrap_or(changelog.len())]
}

fn complaints(path: &str, sentence: &Sentence) -> Vec<String> {
    let (words, line, text) = (sentence.words(), sentence.line, &sentence.text);
    let mut complaints = Vec::new();
    if words > MAX_WORDS {
        complaints.push(format!("{path}:{line}: {words} words, {MAX_WORDS} at most: {text}"));
    }
    if sentence.avoids_its_noun() {
        complaints.push(format!("{path}:{line}: begin with a noun: {text}"));
    }
    complaints
}

/// The median and the greatest number of words of a sentence in the pages of a checkout's root and `docs`.
pub(crate) fn words(checkout: &std::path::Path) -> (usize, usize) {
    let mut lengths = Vec::new();
    for folder in [checkout.to_owned(), checkout.join("docs")] {
        let entries = walkdir::WalkDir::new(folder).max_depth(2).sort_by_file_name();
        for entry in entries.into_iter().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy();
            if name.ends_with(".md") && !WITHOUT_PROSE.iter().any(|page| page.ends_with(&*name)) {
                let bytes = std::fs::read(entry.path()).expect("pages can be read");
                let found = sentences(&String::from_utf8(bytes).expect("pages are UTF-8"));
                lengths.extend(found.iter().filter(|found| found.place == Place::Text).map(Sentence::words));
            }
        }
    }
    lengths.sort_unstable();
    (lengths.get(lengths.len() / 2).copied().unwrap_or_default(), lengths.last().copied().unwrap_or_default())
}

#[test]
fn sentences_are_short_and_begin_with_a_noun() {
    let mut broken = Vec::new();
    let mut lengths = Vec::new();
    for (path, text) in pages() {
        let found = sentences(&text);
        broken.extend(found.iter().flat_map(|sentence| complaints(&path, sentence)));
        lengths.extend(found.iter().filter(|found| found.place == Place::Text).map(Sentence::words));
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().expect("pages have sentences");
    assert!(median < MEDIAN_BELOW, "the median of {} sentences has {median} words", lengths.len());
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let avoids = regex::Regex::new(r"^\s*//[/!] (What|Whether)\b").expect("a pattern");
    let is_doc = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
    let mut found = Vec::new();
    let is_ours = |path: &&String| path.ends_with(".rs") && !path.starts_with("scripts/");
    for path in repository::files().iter().filter(is_ours) {
        let text = repository::text(path).expect("sources are UTF-8");
        let mut before = "";
        for (number, line) in text.lines().enumerate() {
            if avoids.is_match(line) && !is_doc(before) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
            before = line;
        }
    }
    assert!(found.is_empty(), "begin doc comments with a noun or a verb:\n{}", found.join("\n"));
}
