//! nrv runs a team's plan → apply → verify workflows, written in Rhai, and owns every change that they make.

pub mod call;
pub mod change;
pub mod cli;
pub mod clock;
pub mod diff;
pub mod dta;
pub mod entry;
pub mod error;
pub mod frame;
pub mod gate;
pub mod guest;
pub mod hash;
pub mod host;
pub mod journal;
pub mod json;
pub mod ledger;
pub mod lock;
pub mod path;
pub mod policy;
pub mod process;
pub mod schema;
pub mod script;
pub mod seed;
pub mod text;
pub mod worker;
pub mod workspace;
