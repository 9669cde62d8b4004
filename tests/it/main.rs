//! The integration tests, one binary.

mod abuse;
mod concurrency;
mod crash;
mod determinism;
mod html_cases;
mod json_shapes;
mod refusals;
mod rollback;
mod support;
mod tampering;
mod worker;
