//! How often something may be used in a minute.

use std::collections::{BTreeMap, VecDeque};

/// A minute, in milliseconds.
const MINUTE: u64 = 60_000;

/// When what was used in the last minute.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<String, VecDeque<u64>>);

/// A minute is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    /// How many uses it has seen.
    pub used: u64,
    /// How long until one of them is a minute ago.
    pub(super) retry_after_ms: u64,
}

impl Rates {
    /// Takes one use at a moment. In no minute are there more than `limit`.
    pub(super) fn take(&mut self, key: &str, limit: u64, now_ms: u64) -> Result<(), Full> {
        let uses = self.0.entry(key.to_owned()).or_default();
        while uses.front().is_some_and(|used| now_ms.saturating_sub(*used) >= MINUTE) {
            uses.pop_front();
        }
        let used = uses.len() as u64;
        if used >= limit {
            let oldest = uses.front().copied().unwrap_or(now_ms);
            return Err(Full { used, retry_after_ms: MINUTE.saturating_sub(now_ms.saturating_sub(oldest)) });
        }
        uses.push_back(now_ms);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_admits_exactly_as_many_as_it_may() {
        let mut rates = Rates::default();
        for at in [0, 10_000] {
            rates.take("a", 2, at).unwrap();
        }
        assert_eq!(rates.take("a", 2, 59_999), Err(Full { used: 2, retry_after_ms: 1 }));
        rates.take("b", 2, 59_999).unwrap();
        rates.take("a", 2, 60_000).unwrap();
        assert_eq!(rates.take("a", 2, 60_001), Err(Full { used: 2, retry_after_ms: 9999 }));
        assert_eq!(rates.take("c", 0, 5), Err(Full { used: 0, retry_after_ms: MINUTE }));
    }
}
