//! The command line of `nrv planner`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands of `nrv planner`.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum PlannerCommand {
    /// Write a plan: requests of adapters with their inputs
    #[command(after_help = "Examples:
  nrv planner plan --goal 'mend the links' > plan.json
  nrv planner plan --goal 'move the site' --findings findings.json
  nrv planner plan --goal 'move the links to new.example.com' --with-model --provider local

FINDINGS has inputs by adapter: {\"link_updater\": {\"target\": {\"glob\": \"site/**\"}, \"params\": {…}}}.")]
    Plan(PlannerPlanArguments),
    /// Check a plan, and print the orders to whoever carries it out
    #[command(after_help = "Example:\n  nrv planner validate plan.json")]
    Validate {
        /// JSON file with the plan, `-` for stdin
        #[arg(value_name = "FILE")]
        plan: PathBuf,
    },
}

/// Arguments of `nrv planner plan`.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct PlannerPlanArguments {
    /// Goal, in words
    #[arg(long)]
    pub(in crate::face::cli) goal: String,
    /// JSON file with inputs by adapter, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) findings: Option<PathBuf>,
    /// Let a model choose adapters and parameters; its reply is checked like any plan
    #[arg(long)]
    pub(in crate::face::cli) with_model: bool,
    /// Provider of the model [default: that of the policy]
    #[arg(long, requires = "with_model")]
    pub(in crate::face::cli) provider: Option<String>,
    /// Model [default: that of the provider]
    #[arg(long, requires = "with_model")]
    pub(in crate::face::cli) model: Option<String>,
}
