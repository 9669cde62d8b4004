//! nrv runs a team's plan → apply → verify workflows, written in Rhai, and owns every change that they make.
//!
//! A script says *what* is to change. The host decides whether it may, writes all files or none, has the result measured by
//! another process, and can undo it exactly. Everything that a run asked, was answered and changed stands in its record.
//!
//! The modules are floors. Each uses only the floors below it:
//!
//! - [`face`]: the command line, reports and [`toolkit`]. A request becomes calls, and a reply becomes text.
//! - [`script`]: everything about Rhai. [`run_file`] runs a script and is all that most programs need.
//! - [`host`]: the door. [`Host::perform`] judges, pays for, answers and records every [`Call`] of a run.
//! - [`service`]: adapters, diffs, commands, gates, language models, prompts. They compute and perform nothing.
//! - [`record`]: the chain of events of a run, its packs, and their verification.
//! - [`system`]: the sole owners of one effect each, such as the tree, processes and sockets.
//! - [`base`]: plain data, such as [`Error`], [`RepoPath`] and [`ChangeSet`].
//!
//! # In a program of your own
//!
//! The example `embed` adds an adapter and a call, runs a script that uses both, and makes a call without a script. Its
//! adapter and its script are the other files of `examples/embed`; `docs/embedding.md` says what a project needs.
//!
//! ```no_run
//! use std::{path::Path, process::ExitCode};
//!
//! use nrv::{Context, Error, Invocation, Options, Silent, Workspace};
//!
//! fn main() -> ExitCode {
//!     // Scripts and verifiers run in processes of their own, which are this very program: it becomes one here.
//!     if let Some(code) = nrv::entry::main_if_requested() {
//!         return code;
//!     }
//!     run().unwrap_or_else(|error| {
//!         eprintln!("{error}");
//!         ExitCode::from(error.code().exit_code())
//!     })
//! }
//!
//! fn run() -> Result<ExitCode, Error> {
//!     let context = Context::new(Workspace::open(Path::new("."))?, Options::default())?;
//!     let finished = nrv::run_file(&context, "scripts/tidy.rhai", Invocation::default(), &mut Silent)?;
//!     println!("{}", finished.sentence());
//!     Ok(ExitCode::from(finished.exit_code()))
//! }
//! ```

#![deny(missing_docs)]

mod audit;
pub mod base;
pub mod face;
pub mod flow;
mod format;
pub mod host;
pub mod record;
pub mod script;
pub mod service;
pub mod system;

/// Language models: a typed request in, ordered events and a checked reply out; and [`toolkit`], for what a reply proposes.
///
/// The service knows nothing of what stands above it. This is where a program finds both.
pub mod llm {
    pub use crate::{face::toolkit, service::llm::*};
}

/// Micro-edits: requests, handles and outcomes as data, and the toolkit that makes them.
pub mod edit {
    pub use crate::{
        base::micro::*,
        face::toolkit::micro::{MicroChangeToolkit, Target},
        service::edit::{EditOutcome, EditStatus},
    };
}

pub use self::{
    base::{
        call::Call,
        change::{Change, ChangeSet, Content},
        error::{Code, Error},
        path::RepoPath,
    },
    face::{
        entry,
        toolkit::{self, Toolkit, micro::MicroChangeToolkit},
    },
    host::{
        Agent, AgentState, Agents, Answer, ApprovedTools, Calls, Context, CustomCall, CustomContext, Demand, Event,
        Finished, Flags, Host, Options, Position, Positions, Question, Request, Resumption, Ruling, Silent, Sink,
        State,
    },
    script::{Invocation, resume, run_file},
    service::{
        adapter::{Adapter, Adapters},
        apply, gate, prompt,
    },
    system::{
        policy::Policy,
        process::{Isolation, Program},
        workspace::Workspace,
    },
};
