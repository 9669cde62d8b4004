//! The two tiers of tests. `cargo test` runs the short one: every feature once, and one round of each random test.
//!
//! `NRV_LONG=1` runs the long one: more rounds, whole corpora, and the tests that call `need::skip("long")` in the short tier.
#![expect(clippy::disallowed_methods, reason = "tests read the environment")]

/// True in the long tier.
pub(crate) fn is_long() -> bool {
    std::env::var_os("NRV_LONG").is_some()
}

/// The value of this tier.
pub(crate) fn pick<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// All items in the long tier, and every `n`th in the short one. Each is a path through the whole program that other tests take apart.
pub(crate) fn sample<T>(items: impl IntoIterator<Item = T>, n: usize) -> impl Iterator<Item = T> {
    items.into_iter().step_by(pick(n, 1))
}

/// The number of rounds in this tier, unless a variable of the environment sets another one.
pub(crate) fn rounds(variable: &str, short: u64, long: u64) -> u64 {
    super::chance::setting(variable, pick(short, long))
}
