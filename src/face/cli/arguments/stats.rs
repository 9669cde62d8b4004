//! The arguments of `nrv runs stats`.

use std::path::PathBuf;

use clap::Args;

/// The runs that are taken together, and what is shown of them.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct StatsOf {
    /// Only runs of the last DAYS days
    #[arg(long, value_name = "DAYS")]
    pub since: Option<u64>,
    /// Write a change of the policy that the violations suggest, as a diff of `nrv.toml`
    #[arg(long)]
    pub suggest: bool,
    /// Set two side by side: each a script, whose runs are taken together, or a run
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "suggest")]
    pub compare: Vec<String>,
    /// Numbers of a third column: a JSON file, an object of numbers or texts by name
    #[arg(long, value_name = "FILE", requires = "compare")]
    pub baseline: Option<PathBuf>,
}
