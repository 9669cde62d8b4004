//! Servers of language models: one on the loopback interface that sends exact bytes, and real ones that the tests start.

pub(crate) mod fault;
pub(crate) mod form;
pub(crate) mod llama;
pub(crate) mod server;
