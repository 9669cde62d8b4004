//! Counts the words of a text, the most frequent first. `rustc wordcount.rs && ./wordcount < text`

use std::collections::BTreeMap;
use std::io::{self, Read};

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn count(text: &str) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for word in words(text) {
        *counts.entry(word).or_insert(0) += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1));
    counts
}

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    for (word, count) in count(&text) {
        println!("{count:>6} {word}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_come_first() {
        let expected = vec![("the".to_string(), 2), ("cat".to_string(), 1), ("hat".to_string(), 1)];
        assert_eq!(count("The cat, the hat."), expected);
    }

    #[test]
    fn no_text_has_no_words() {
        assert!(count(" \n").is_empty());
    }
}
