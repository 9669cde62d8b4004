//! Adapters that users write: a file of functions in Rhai beneath `dta/`, or a program that the policy names.
//!
//! The host reads no source itself. One process proposes, the verifier's process measures, and neither has the functions of the
//! other. What both exchange with the host are texts and counts; the host makes the change and its hashes.

mod broken;
mod counts;
mod description;
mod expectation;
mod heap;
mod load;
mod measure;
mod program;
mod propose;
mod rhai;
mod words;

pub use self::{
    description::is_name,
    load::{How, case_script, check, name_at, names_at, program_files, rebuild, with_own},
};
