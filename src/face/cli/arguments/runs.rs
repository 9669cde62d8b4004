//! Commands of `nrv runs`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{AttestArguments, CommitRunArguments, ReportArguments, StatsOf};

/// The states of a run.
const STATES: [&str; 7] = ["running", "done", "failed", "cancelled", "suspended", "undo_refused", "interrupted"];

/// Commands of `nrv runs`.
#[derive(Debug, Subcommand)]
pub(in super::super) enum Runs {
    /// List all runs, oldest first
    #[command(after_help = "Examples:\n  nrv runs list --json\n  nrv runs list --state suspended --limit 20")]
    List {
        /// Only runs in this state: running, done, failed, cancelled, suspended, undo_refused or interrupted
        #[arg(long, value_name = "STATE", value_parser = STATES)]
        state: Option<String>,
        /// Only the latest N of them
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Show statistics of runs: violations, size and fate of changes, metrics
    #[command(
        after_help = "Examples:\n  nrv runs stats --since 30\n  nrv runs stats --compare scripts/a.rhai scripts/b.rhai"
    )]
    Stats(StatsOf),
    /// Show a run
    #[command(after_help = "Example:\n  nrv runs show last --canonical")]
    Show {
        /// Run, or `last`
        run: String,
        /// Write the form for comparing runs: by position, without times, run id and hashes of the chain
        #[arg(long)]
        canonical: bool,
    },
    /// List the agents of a run
    #[command(after_help = "Example:\n  nrv runs agents last")]
    Agents {
        /// Run, or `last`
        run: String,
    },
    /// Report the requests, decisions, changes, checks and costs of a run, as text or as a page
    Report(ReportArguments),
    /// Verify that a record is unchanged
    #[command(after_help = "Example:\n  nrv runs verify last")]
    Verify {
        /// Run, or `last`
        run: String,
    },
    /// Write a run's record to one file, with the head that marks its end
    #[command(after_help = "Example:\n  nrv runs export last -o run.nrv-run --with-contents")]
    Export {
        /// Run, or `last`
        run: String,
        /// File to write; it must not exist [default: RUN.nrv-run]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Include the contents of files before and after, which a rollback needs [default: for a run that waits]
        #[arg(long)]
        with_contents: bool,
        /// Leave them out, also of a run that waits
        #[arg(long, conflicts_with = "with_contents")]
        without_contents: bool,
    },
    /// Commit what a run changed to git, and nothing else
    Commit(CommitRunArguments),
    /// Write an in-toto statement about a run in a DSSE envelope, signed by an SSH key
    Attest(AttestArguments),
    /// Import a record that `nrv runs export` wrote, after verifying it
    #[command(after_help = "Example:\n  nrv runs import run.nrv-run")]
    Import {
        /// File to read, `-` for stdin
        file: PathBuf,
    },
    /// Remove the records of runs; what they changed stays, and can't be rolled back any more
    #[command(after_help = "Example:\n  nrv runs remove last --dry-run")]
    Remove {
        /// Runs, or `last`
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        /// List the runs to remove, remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Remove them without asking
        #[arg(long)]
        yes: bool,
    },
    /// Remove the records of old runs, by `[retention]` in the policy
    #[command(after_help = "Example:\n  nrv runs gc --dry-run")]
    Gc {
        /// List the runs to remove, remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}
