//! TOML: reading with byte ranges, and edits of its statements.
//!
//! `toml_edit` reads the text and checks it; the events of `toml_parser` tell the bytes of every key and value. A date or a
//! time is a string as RFC 3339 writes it.

pub(super) mod build;
pub(super) mod layout;
mod plan;
pub(super) mod scalar;
pub(super) mod write;
