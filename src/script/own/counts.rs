//! The rules for the counts of a user's adapter: few, by plain names, and small enough for every reader of JSON.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use adapter::{
    contract::Counts,
    envelope,
    survey::{FILES_IGNORED, FILES_SCANNED, FILES_SKIPPED},
};
use base::batch::Phase;

/// A file changes only if the count of its work was above zero.
pub(super) const WORK_BEFORE_CHANGE: &str = "work_before_change";

/// The most counts of an adapter.
pub(super) const MOST: usize = 100;

/// The longest name.
const LONGEST: usize = 64;

/// The largest count: JSON's readers keep larger integers inexactly.
const LARGEST: u64 = 1 << 53;

/// Names of counts that the host gives itself.
const TAKEN: &[&str] = &[envelope::FILES.0, "files_changed", FILES_IGNORED, FILES_SCANNED, FILES_SKIPPED];

/// Counts as a program writes them: each name once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written(pub(super) Counts);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Counts;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("counts by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counts, A::Error> {
                let mut counts = Counts::new();
                while let Some((name, count)) = map.next_entry::<String, u64>()? {
                    let shown: String = name.escape_debug().take(LONGEST).collect();
                    if counts.insert(name, count).is_some() {
                        return Err(A::Error::custom(format!("the count `{shown}` is there twice")));
                    }
                }
                Ok(counts)
            }
        }

        from.deserialize_map(Each).map(Written)
    }
}

/// Adds the counts of a batch to a sum; the error is a sentence about the rule that they break.
pub(super) fn add(sum: &mut Counts, more: &Counts, phase: Phase) -> Result<(), String> {
    let phase = phase.as_str();
    for (name, count) in more {
        if is_taken(name) {
            return Err(format!("`{phase}` gives a count `{name}`, which the host gives itself"));
        }
        if !is_name(name) {
            let name: String = name.escape_debug().take(LONGEST).collect();
            return Err(format!("`{phase}` gives a count `{name}`: names have small letters, digits and `_`"));
        }
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.saturating_add(*count);
        if *entry > LARGEST {
            return Err(format!("`{phase}` counts more than 2⁵³ for `{name}`"));
        }
        if sum.len() > MOST {
            return Err(format!("`{phase}` gives more than {MOST} counts"));
        }
    }
    Ok(())
}

/// True for the name of a count that the host gives.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

fn is_name(name: &str) -> bool {
    name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(batches: &[&[(&str, u64)]], expected: Result<u64, &str>) {
        let mut sum = Counts::new();
        let counts = |batch: &[(&str, u64)]| batch.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let added = batches.iter().try_for_each(|batch| add(&mut sum, &counts(batch), Phase::Discover));
        match expected {
            Ok(total) => assert_eq!((added, sum.values().sum::<u64>()), (Ok(()), total)),
            Err(words) => assert!(added.clone().is_err_and(|why| why.contains(words)), "{added:?}"),
        }
    }

    #[test]
    fn a_program_writes_each_count_once() {
        let read = |text: &str| serde_json::from_str::<Written>(text).map_err(|error| error.to_string());
        assert_eq!(read(r#"{"a": 1, "b": 2}"#).unwrap().0, Counts::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
        assert!(read(r#"{"a": 1, "b": 2, "a": 1}"#).unwrap_err().contains("`a` is there twice"));
        assert!(read("[1]").unwrap_err().contains("expected counts by name"));
    }

    #[test]
    fn counts_add_up_within_their_rules() {
        check(&[&[("a", 1)], &[("a", 2), ("b_2", 3)]], Ok(6));
        check(&[&[("a", LARGEST)]], Ok(LARGEST));
        check(&[&[("a", LARGEST)], &[("a", 1)]], Err("more than 2⁵³"));
        for name in ["", "A", "1", "_", "a-b", "a b", "a\n", "é"] {
            check(&[&[(name, 1)]], Err("names have small letters"));
        }
        check(&[&[(&"a".repeat(65), 1)]], Err("names have small letters"));
        check(&[&[("files_scanned", 1)]], Err("gives itself"));
        let names: Vec<String> = (0..=MOST).map(|n| format!("n{n}")).collect();
        let each: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 0)).collect();
        check(&[&each[1..]], Ok(0));
        check(&[&each], Err("more than 100 counts"));
        check(&[&each[..50], &each[50..]], Err("more than 100 counts"));
    }
}
