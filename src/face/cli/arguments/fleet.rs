//! The command line of `nrv fleet`.

use std::{num::NonZero, path::PathBuf};

use clap::{Args, Subcommand};

use crate::face::fleet::engine::Engine;

/// Commands of `nrv fleet`.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum FleetCommand {
    /// Resolve fleet.toml to a plan: a task a repository, at a commit, with the approved script and the policy
    Plan(FleetPlanArguments),
    /// Do tasks of a plan in private clones, and write their results to the store
    Work(FleetWorkArguments),
    /// Write the job file of an engine beside the plan, and hand it over
    Submit(FleetSubmitArguments),
    /// Tell how many tasks are done
    Status(FleetPlaceArguments),
    /// Verify all records, and write patches, reports and one page over all
    Collect(FleetCollectArguments),
    /// Close change requests and remove the branches that were pushed, where nobody has committed on them
    Rollback(FleetRollbackArguments),
}

/// Arguments of `nrv fleet plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv fleet plan -o plan.jsonl
  gh repo list example --json url | nrv fleet plan --repositories - -o plan.jsonl")]
pub(in crate::face::cli) struct FleetPlanArguments {
    /// The description of the fleet
    #[arg(value_name = "FILE", default_value = "fleet.toml")]
    pub(in crate::face::cli) manifest: PathBuf,
    /// Write the plan to this file, `-` for stdout
    #[arg(short, long, value_name = "FILE", default_value = "plan.jsonl")]
    pub(in crate::face::cli) output: PathBuf,
    /// Further repositories: an address or a JSON object a line, or a JSON array; `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) repositories: Option<PathBuf>,
}

/// A plan, and where its results are.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct FleetPlaceArguments {
    /// The plan that `nrv fleet plan` wrote
    #[arg(value_name = "PLAN")]
    pub(in crate::face::cli) plan: PathBuf,
    /// The store of the results, in place of the one in the plan: a folder or a bucket
    #[arg(long, value_name = "ADDRESS")]
    pub(in crate::face::cli) store: Option<String>,
}

/// Arguments of `nrv fleet work`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv fleet work plan.jsonl
  nrv fleet work plan.jsonl --canary 5
  nrv fleet work plan.jsonl --index-env SLURM_ARRAY_TASK_ID

Without a task, all tasks are done that nobody has begun. The exit code is that of the first run that
failed or waits, and 75 if a task could not be done now: start it again.")]
pub(in crate::face::cli) struct FleetWorkArguments {
    #[command(flatten)]
    pub(in crate::face::cli) place: FleetPlaceArguments,
    /// Do the task of this name or id
    #[arg(long, value_name = "TASK", conflicts_with_all = ["index", "index_env"])]
    pub(in crate::face::cli) task: Option<String>,
    /// Do the task of this number, from 0 on
    #[arg(long, value_name = "N", conflicts_with = "index_env")]
    pub(in crate::face::cli) index: Option<usize>,
    /// Do the task whose number this variable has
    #[arg(long, value_name = "VARIABLE")]
    pub(in crate::face::cli) index_env: Option<String>,
    /// Numbers stand for so many tasks each
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(in crate::face::cli) each: usize,
    /// Do so many tasks first, spread over the plan, then ask before the others
    #[arg(long, value_name = "N", conflicts_with = "task")]
    pub(in crate::face::cli) canary: Option<NonZero<usize>>,
    /// Do the others without a question if no canary has failed
    #[arg(long, requires = "canary")]
    pub(in crate::face::cli) yes: bool,
    /// Take tasks over that another worker has claimed: whoever starts this one knows that no other works on them
    #[arg(long)]
    pub(in crate::face::cli) take_over: bool,
}

/// Arguments of `nrv fleet submit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv fleet submit plan.jsonl --engine slurm --jobs 50
  nrv fleet submit plan.jsonl --engine kubernetes --dry-run")]
pub(in crate::face::cli) struct FleetSubmitArguments {
    /// The plan that `nrv fleet plan` wrote
    #[arg(value_name = "PLAN")]
    pub(in crate::face::cli) plan: PathBuf,
    /// The engine
    #[arg(long, value_enum)]
    pub(in crate::face::cli) engine: Engine,
    /// Tasks that are done at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(in crate::face::cli) jobs: usize,
    /// Do so many tasks, spread over the plan; submitted again without it, the others follow
    #[arg(long, value_name = "N")]
    pub(in crate::face::cli) canary: Option<NonZero<usize>>,
    /// The image of the workers, for Kubernetes
    #[arg(long, value_name = "IMAGE", default_value = concat!("nrv:", env!("CARGO_PKG_VERSION")))]
    pub(in crate::face::cli) image: String,
    /// The claim of the volume that holds plan and store, for Kubernetes, where it is mounted as /fleet
    #[arg(long, value_name = "NAME", default_value = "fleet")]
    pub(in crate::face::cli) volume: String,
    /// Write the file, and hand nothing over
    #[arg(long)]
    pub(in crate::face::cli) dry_run: bool,
}

/// Arguments of `nrv fleet collect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv fleet collect plan.jsonl -o collected
  nrv fleet collect plan.jsonl --apply --approve 4f0e…")]
pub(in crate::face::cli) struct FleetCollectArguments {
    #[command(flatten)]
    pub(in crate::face::cli) place: FleetPlaceArguments,
    /// Write patches, reports, outcomes and the page to this folder
    #[arg(short, long, value_name = "DIR")]
    pub(in crate::face::cli) output: Option<PathBuf>,
    /// Write a bundle of git for each patch as well, with the commit and the branch of the plan
    #[arg(long, requires = "output")]
    pub(in crate::face::cli) bundles: bool,
    /// Push each patch as a commit on a new branch of its repository, and open a change request if the plan says so
    #[arg(long, requires = "approve")]
    pub(in crate::face::cli) apply: bool,
    /// Approve the patches of this hash, which the collection prints
    #[arg(long, value_name = "HASH", requires = "apply")]
    pub(in crate::face::cli) approve: Option<String>,
    /// Try so many tasks at most; the others follow when it is started again
    #[arg(long, value_name = "N", requires = "apply")]
    pub(in crate::face::cli) limit: Option<usize>,
    /// Take deliveries over that another process has begun: you know that it is gone
    #[arg(long, requires = "apply")]
    pub(in crate::face::cli) take_over: bool,
}

/// Arguments of `nrv fleet rollback`.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct FleetRollbackArguments {
    #[command(flatten)]
    pub(in crate::face::cli) place: FleetPlaceArguments,
    /// Take deliveries over that another process has begun: you know that it is gone
    #[arg(long)]
    pub(in crate::face::cli) take_over: bool,
}
