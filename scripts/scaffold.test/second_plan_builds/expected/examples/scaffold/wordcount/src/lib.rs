//! Counts the words of a text, the most frequent first.

use std::collections::BTreeMap;

/// The words of a text in lower case, without punctuation.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Every word with how often it occurs; of those that occur equally often, the first in the alphabet first.
pub fn count(text: &str) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for word in words(text) {
        *counts.entry(word).or_insert(0) += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1));
    counts
}
