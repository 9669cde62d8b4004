//! YAML: reading with byte ranges, and edits of blocks.
//!
//! `granit-parser` reads YAML 1.2 and tells the bytes of every scalar and comment. Plain scalars have the core schema, so that
//! `no` and `12:30` are strings. Merge keys (`<<`) are merged, as most programs do. Keys are strings.

pub(super) mod block;
pub(super) mod build;
mod place;
pub(super) mod scalar;
mod text;
