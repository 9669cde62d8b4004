//! What several areas' tests share.

pub(crate) mod script;
