//! The services that answer calls: a typed request in, plain data or a change set out.
//!
//! No service performs a change, and none knows another.

pub mod apply;
pub mod assertion;
pub mod code;
pub mod edit;
pub mod exec;
pub mod prompt;
