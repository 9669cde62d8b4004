//! Fleets: one workflow over many repositories. The work is described as data, an engine that exists starts the workers, and the results
//! come back as records.
//!
//! Nothing here schedules. A task is the hash of its inputs. A worker claims it, does it in a private clone, and writes the result to the
//! store; the first result stands. No repository is changed by a worker.

mod manifest;
mod plan;
mod resolve;

pub use self::{
    manifest::Manifest,
    plan::{Head, Plan, Task},
    resolve::resolve,
};
