//! Seeds as arguments.

/// The largest integer up to which JSON numbers are exact everywhere, 2^53.
pub(in crate::face::cli) const LARGEST_SEED: u64 = 1 << 53;
