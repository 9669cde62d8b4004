//! What several areas' tests share.

pub(crate) mod hold;
pub(crate) mod script;
pub(crate) mod site;
pub(crate) mod terminal;
