//! Scripts, seen from the host: their headers, imports, permissions, runs and errors.
//!
//! The host never parses the language: a worker does, and answers with JSON.

pub mod approval;
pub mod arguments;
mod calls;
pub mod cases;
pub mod check;
pub mod diagnostic;
pub mod foreseen;
pub mod guest;
mod header;
pub mod help;
pub mod interactive;
pub mod library;
mod list;
mod load;
pub mod own;
pub mod pack;
mod plan;
mod probe;
mod recordings;
pub mod reference;
pub mod remote;
mod replay;
mod resume;
mod run;
pub mod session;
pub mod shipped;
pub mod worker;

pub use self::{
    arguments::complete,
    check::{Checked, check},
    header::Header,
    help::{help, permissions},
    library::STDLIB_VERSION,
    list::{Listed, list, list_shipped, scripts_below},
    load::{Loaded, Loader, Rejected, load},
    plan::load_plan,
    probe::probe,
    recordings::{Tapes, folder as tape_folder, read as read_tape},
    replay::{Variation, replay},
    resume::resume,
    run::{Invocation, load_script, run, run_file},
};
