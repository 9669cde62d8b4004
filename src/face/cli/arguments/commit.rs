//! Options of commits, and the arguments of `nrv runs commit`.

use clap::Args;

/// Options of commands that can commit the changes of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Commit")]
pub(in super::super) struct CommitOptions {
    /// Commit the run's changes to git, and nothing else [default message: the script's summary]
    #[arg(long, value_name = "MESSAGE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(in super::super) commit: Option<String>,
    /// Commit on a new branch, and switch to it
    #[arg(long, value_name = "NAME", requires = "commit")]
    pub(in super::super) branch: Option<String>,
    /// Run the hooks of git, confined like commands; without it none runs
    #[arg(long, requires = "commit")]
    pub(in super::super) with_hooks: bool,
}

/// Arguments of `nrv runs commit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv runs commit last
  nrv runs commit last --message 'Move the links' --branch move-links")]
pub(in super::super) struct CommitRunArguments {
    /// Run, or `last` for the latest that changed files
    pub(in super::super) run: String,
    /// Message of the commit
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Commit on a new branch, and switch to it
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Run the hooks of git, confined like commands; without it none runs
    #[arg(long)]
    with_hooks: bool,
}

impl CommitRunArguments {
    /// As options of a run.
    pub(in super::super) fn options(&self) -> CommitOptions {
        let message = self.message.clone().unwrap_or_default();
        CommitOptions { commit: Some(message), branch: self.branch.clone(), with_hooks: self.with_hooks }
    }
}
