//! The integration tests, one binary.

mod concurrency;
mod crash;
mod html_cases;
mod support;
mod worker;
