//! The integration tests, one binary.

mod crash;
mod html_cases;
mod support;
mod worker;
