//! Fleets: one workflow over many repositories. The work is described as data, an engine that exists starts the workers, and the results
//! come back as records.
//!
//! Nothing here schedules. A task is the hash of its inputs. A worker claims it, does it in a private clone, and writes the result to the
//! store; the first result stands. No repository is changed by a worker.

mod changes;
mod claim;
mod clone;
mod collect;
mod deliver;
pub mod engine;
mod form;
mod manifest;
mod outcome;
mod page;
mod plan;
mod request;
mod resolve;
mod result;
mod work;

pub use self::{
    collect::{Collected, Group, Keep, Row, Standing, collect, status},
    deliver::{Command, Delivered, Step},
    form::{CommitForm, RequestForm},
    manifest::Manifest,
    outcome::{Failure, Kind, Outcome, Volatile},
    page::page,
    plan::{Head, Plan, Task, canaries},
    resolve::resolve,
    work::{Worked, Worker},
};
