//! Random numbers from a seed: the same on every machine, in every version.
//!
//! The stream is SHA-256 of (seed, purpose, counter), so that two purposes never share numbers and nothing depends on a
//! crate's idea of a generator.

use crate::hash::Sha256;

/// A stream of numbers for one purpose of a run.
#[derive(Clone, Debug)]
pub struct Stream {
    key: Sha256,
    counter: u64,
}

impl Stream {
    /// The stream for a purpose, such as `script` or `http_samples`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Stream { key: Sha256::of(format!("nrv seed {seed} for {purpose}").as_bytes()), counter: 0 }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let block = Sha256::of(format!("{} {}", self.key, self.counter).as_bytes());
        self.counter += 1;
        block.as_bytes()[..8].iter().fold(0, |acc, byte| acc << 8 | u64::from(*byte))
    }

    /// A number below `bound`, each equally likely; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Numbers above the last whole multiple of the bound would favour small results.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.next_u64();
            if number < limit {
                return number % bound;
            }
        }
    }

    /// Puts items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = usize::try_from(self.below(i as u64 + 1)).unwrap_or(i);
            items.swap(i, j);
        }
    }
}

/// At most `n` of the items, the same ones in whatever order they come; sorted, none twice.
pub fn choose(seed: u64, purpose: &str, items: Vec<String>, n: u64) -> Vec<String> {
    let key = |item: String| (Sha256::of(format!("nrv seed {seed} for {purpose}: {item}").as_bytes()), item);
    let mut items: Vec<(Sha256, String)> = items.into_iter().map(key).collect();
    items.sort();
    items.dedup();
    items.truncate(usize::try_from(n).unwrap_or(usize::MAX));
    let mut chosen: Vec<String> = items.into_iter().map(|(_, item)| item).collect();
    chosen.sort();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_never_changes() {
        let mut stream = Stream::new(42, "script");
        let numbers: Vec<u64> = (0..3).map(|_| stream.below(1000)).collect();
        assert_eq!(numbers, NUMBERS_OF_42);
        assert_ne!(Stream::new(42, "other").next_u64(), Stream::new(42, "script").next_u64());
    }

    const NUMBERS_OF_42: [u64; 3] = [478, 181, 509];

    #[test]
    fn a_choice_depends_on_the_seed_and_not_on_the_order() {
        let items: Vec<String> = (0..50).map(|n| format!("item {n}")).collect();
        let backwards: Vec<String> = items.iter().chain(&items).rev().cloned().collect();
        let chosen = choose(7, "test", items.clone(), 5);
        assert_eq!(chosen, ["item 15", "item 19", "item 20", "item 3", "item 40"]);
        assert_eq!(choose(7, "test", backwards, 5), chosen);
        assert_ne!(choose(8, "test", items.clone(), 5), chosen);
        assert_eq!(choose(7, "test", items.clone(), 99).len(), 50);
        assert!(choose(7, "test", items, 0).is_empty());
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<u32> = (0..50).collect();
        Stream::new(1, "shuffle").shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
