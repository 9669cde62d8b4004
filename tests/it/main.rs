//! The integration tests, one binary.

mod abuse;
mod command_line;
mod concurrency;
mod crash;
mod determinism;
mod docs;
mod embed;
mod html_cases;
mod json_shapes;
mod planted;
mod refusals;
mod repository;
mod rollback;
mod support;
mod tampering;
mod tidy;
mod worker;
