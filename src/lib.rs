//! nrv runs a team's plan → apply → verify workflows, written in Rhai, and owns every change that they make.
//!
//! A script says *what* is to change. The host decides whether it may, writes all files or none, has the result measured by
//! another process, and can undo it exactly. Everything that a run asked, was answered and changed stands in its record.
//!
//! - [`cli`] turns a command line into calls; [`script`] runs a script: [`run_file`] is all that most programs need.
//! - [`host`] is the one door: [`Host::perform`] judges, pays for, answers and records every [`Call`] of a run.
//! - [`toolkit`] applies diffs without a script, and [`report`] tells from a run's record what it did.
//! - [`dta`] has the adapters, which propose and measure, [`apply`] turns diffs into changes, and [`gate`] has the gates; all
//!   only compute. [`prompt`] makes prompts of their parts.
//! - [`workspace`] reads the tree, [`journal`] writes it, [`ledger`] keeps the records; the other rooms beside them own one
//!   effect or one format each, above plain data such as [`error`], [`path`] and [`change`].
//! - [`guest`] is what runs inside a script's process. [`entry`] makes a program become one.
//!
//! # In a program of your own
//!
//! The example `embed` adds an adapter and a call, runs a script that uses both, and makes a call without a script. Its
//! adapter and its script are the other files of `examples/embed`; `docs/embedding.md` says what a project needs.
//!
//! ```ignore
#![doc = include_str!("../examples/embed/main.rs")]
//! ```

pub mod apply;
pub mod assertion;
pub mod call;
pub mod case;
pub mod change;
pub mod cli;
pub mod clock;
pub mod diff;
pub mod dta;
pub mod entry;
pub mod error;
pub mod exec;
pub mod frame;
pub mod gate;
pub mod git;
pub mod guest;
pub mod hash;
pub mod host;
pub mod journal;
pub mod json;
pub mod ledger;
pub mod lock;
pub mod net;
pub mod path;
pub mod plain;
pub mod policy;
pub mod process;
pub mod prompt;
pub mod reference;
pub mod report;
pub mod schema;
pub mod script;
pub mod seed;
pub mod signature;
pub mod text;
pub mod threads;
pub mod toolkit;
pub mod worker;
pub mod workspace;

/// Language models: a typed request in, ordered events and a checked reply out; and [`toolkit`], for what a reply proposes.
///
/// The room below knows nothing of what stands above it. This is where a program finds both.
pub mod llm {
    #[path = "mod.rs"]
    mod room;

    pub use self::room::*;
    pub use crate::toolkit;
}

pub use self::{
    call::Call,
    change::{Change, ChangeSet, Content},
    dta::{Adapter, Adapters},
    error::{Code, Error},
    host::{
        Answer, Calls, Context, CustomCall, CustomContext, Demand, Event, Finished, Flags, Host, Options, Position,
        Positions, Question, Request, Resumption, Ruling, Silent, Sink, State,
    },
    path::RepoPath,
    policy::Policy,
    process::{Isolation, Program},
    script::{Invocation, resume, run_file},
    toolkit::Toolkit,
    workspace::Workspace,
};
