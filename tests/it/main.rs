//! The integration tests, one binary.

mod abuse;
mod concurrency;
mod crash;
mod html_cases;
mod refusals;
mod support;
mod tampering;
mod worker;
