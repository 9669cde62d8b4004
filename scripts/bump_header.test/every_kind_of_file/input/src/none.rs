//! A module without a header.
fn none() {}
