//! Numbers from a seed, and settings of random tests.
#![expect(clippy::disallowed_methods, reason = "tests read the environment")]

use std::time::Duration;

/// Numbers from a seed (xorshift).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A number from 0 to below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }

    /// Waits for a moment that is shorter than this one, as loops do that kill a process somewhere in its work.
    pub(crate) fn pause(&mut self, most: Duration) {
        std::thread::sleep(most.mul_f64(self.below(1000) as f64 / 1000.0));
    }
}

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("the setting is a number"))
}
