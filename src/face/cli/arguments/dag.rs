//! The command line of `nrv dag`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Mutation, StrictTools};

/// Commands of `nrv dag`.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum DagCommand {
    /// Run the steps of a plan, each as soon as those that it waits for have succeeded
    Run(DagRunArguments),
}

/// Arguments of `nrv dag run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv dag run plan.json --dry-run
  nrv planner plan --goal 'mend the links' | nrv dag run - --yes")]
pub(in crate::face::cli) struct DagRunArguments {
    /// JSON file with the plan, `-` for stdin
    #[arg(value_name = "FILE")]
    pub(in crate::face::cli) plan: PathBuf,
    /// Begin no further steps after one has failed
    #[arg(long)]
    pub(in crate::face::cli) fail_fast: bool,
    #[command(flatten)]
    pub(in crate::face::cli) mutation: Mutation,
    #[command(flatten)]
    pub(in crate::face::cli) tools: StrictTools,
    /// Keep the changes if the run fails
    #[arg(long)]
    pub(in crate::face::cli) keep: bool,
    /// Write events to stdout as JSON lines while they happen, the result last
    #[arg(long)]
    pub(in crate::face::cli) events: bool,
}
