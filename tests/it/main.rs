//! The integration tests, one binary.

mod abuse;
mod apply;
mod cancel;
mod command_line;
mod concurrency;
mod crash;
mod determinism;
mod docs;
mod doctor;
mod embed;
mod events;
mod html_cases;
mod init;
mod json_shapes;
mod net;
mod plan;
mod planted;
mod refusals;
mod repository;
mod rollback;
mod scripts;
mod support;
mod tampering;
mod tidy;
mod worker;
