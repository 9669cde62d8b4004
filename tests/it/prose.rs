//! The words of the project are measured: short sentences in the pages, and nouns at the beginning of doc comments.

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

/// Pages with long sentences. The list only shrinks.
const NOT_YET: &[&str] = &["docs/architecture.md"];

/// Doc comments that begin with "What" or "Whether", by folder or file of `src`. The numbers only shrink.
const REMAINING: &[(&str, usize)] = &[
    ("apply", 20),
    ("assertion", 7),
    ("call", 8),
    ("call.rs", 24),
    ("case", 22),
    ("change.rs", 6),
    ("cli", 70),
    ("diff", 25),
    ("dta", 116),
    ("error", 4),
    ("error.rs", 6),
    ("exec", 25),
    ("frame.rs", 29),
    ("gate", 179),
    ("git", 2),
    ("guest", 60),
    ("host", 297),
    ("journal", 26),
    ("json.rs", 1),
    ("ledger", 24),
    ("llm", 72),
    ("lock", 2),
    ("net", 13),
    ("path", 1),
    ("policy", 63),
    ("process", 59),
    ("prompt", 13),
    ("reference", 7),
    ("report", 99),
    ("schema", 3),
    ("script", 55),
    ("signature", 4),
    ("text.rs", 1),
    ("toolkit.rs", 5),
    ("worker", 5),
    ("workspace", 21),
];

/// The pages of the root and of `docs`; of the changelog, the part that is not released yet.
fn pages() -> BTreeMap<String, String> {
    let is_page = |path: &String| path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'));
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

#[test]
fn sentences_are_short_and_begin_with_a_noun() {
    let mut broken = Vec::new();
    let mut lengths = Vec::new();
    for (path, text) in pages() {
        let found = sentences(&text);
        let complaints: Vec<String> = found.iter().flat_map(|sentence| complaints(&path, sentence)).collect();
        if NOT_YET.contains(&path.as_str()) {
            assert!(!complaints.is_empty(), "{path} has no long sentence any more: take it from the list");
            continue;
        }
        broken.extend(complaints);
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
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for path in repository::files().iter().filter(|path| path.starts_with("src/") && path.ends_with(".rs")) {
        let folder = path.split('/').nth(1).expect("a source lies in `src`");
        let text = repository::text(path).expect("sources are UTF-8");
        let mut before = "";
        for line in text.lines() {
            let is_doc = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
            if avoids.is_match(line) && !is_doc(before) {
                *found.entry(folder.to_owned()).or_default() += 1;
            }
            before = line;
        }
    }
    let permitted: BTreeMap<&str, usize> = REMAINING.iter().copied().collect();
    let rows: String = found.iter().map(|(folder, count)| format!("    (\"{folder}\", {count}),\n")).collect();
    let more = found.iter().find(|(folder, count)| **count > permitted.get(folder.as_str()).copied().unwrap_or(0));
    assert_eq!(more, None, "begin doc comments with a noun or a verb; the counts are now\n{rows}");
}
