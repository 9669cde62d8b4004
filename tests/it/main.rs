//! The integration tests, one binary.

mod html_cases;
mod support;
mod worker;
