//! Shared support of the tests.

pub(crate) mod answer;
pub(crate) mod browser;
pub(crate) mod chance;
pub(crate) mod corpora;
pub(crate) mod hold;
pub(crate) mod keys;
pub(crate) mod long;
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod need;
pub(crate) mod record;
pub(crate) mod script;
pub(crate) mod site;
pub(crate) mod template;
pub(crate) mod terminal;
pub(crate) mod toolchain;
pub(crate) mod typist;
