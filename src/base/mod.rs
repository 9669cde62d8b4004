//! Plain data that every floor shares: paths, hashes, errors, changes, diffs, calls and the frames in which they travel.
//!
//! Nothing here reads the tree, the clock, the network or a process.

pub mod batch;
pub mod call;
pub mod change;
pub mod diff;
pub mod error;
pub mod frame;
pub mod hash;
pub mod json;
pub mod language;
pub mod micro;
pub mod named;
pub mod output;
pub mod path;
pub mod pulse;
pub mod regular;
pub mod seed;
pub mod span;
pub mod text;
pub mod tokens;
pub mod toml_file;
pub mod verdict;
