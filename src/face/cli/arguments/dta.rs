//! The command line of `nrv dta`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Mutation, StrictTools};

/// Commands of `nrv dta`.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum Dta {
    /// List the adapters
    #[command(after_help = "Example:\n  nrv dta list --json")]
    List,
    /// Show an adapter's schemas
    #[command(after_help = "Example:\n  nrv dta describe link_updater --json")]
    Describe {
        /// Adapter
        name: String,
    },
    /// Write a working adapter of your own, to begin with
    New(DtaNewArguments),
    /// Run an adapter
    Run(DtaRunArguments),
    /// Run the verifiers of a run again, against the present tree
    #[command(after_help = "Example:\n  nrv dta verify last")]
    Verify {
        /// Run, or `last`
        run: String,
    },
}

/// Arguments of `nrv dta new`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nrv dta new headings --python")]
pub(in crate::face::cli) struct DtaNewArguments {
    /// Name of the adapter
    pub(in crate::face::cli) name: String,
    /// Write functions in Rhai, with a case; the default
    #[arg(long)]
    pub(in crate::face::cli) rhai: bool,
    /// Write a program in Python
    #[arg(long, conflicts_with = "rhai")]
    pub(in crate::face::cli) python: bool,
    /// Write a program for Node
    #[arg(long, conflicts_with_all = ["rhai", "python"])]
    pub(in crate::face::cli) node: bool,
}

/// Arguments of `nrv dta run`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  nrv dta run link_updater --input - --yes <<'EOF'
  {\"tool\": \"link_updater\", \"version\": \"1.0\", \"mode\": \"apply\",
   \"target\": {\"repo_path\": \".\", \"glob\": \"site/**/*.html\"},
   \"params\": {\"from_hosts\": [\"http://old.example.com\"], \"to_host\": \"https://new.example.com\"},
   \"constraints\": {\"max_files\": 5000, \"timeout_ms\": 300000, \"seed\": 42}}
  EOF")]
pub(in crate::face::cli) struct DtaRunArguments {
    /// Adapter
    pub(in crate::face::cli) name: String,
    /// JSON file with the invocation, `-` for stdin
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    pub(in crate::face::cli) input: Option<PathBuf>,
    /// Answer requests on stdin, one JSON document a line; touches no file
    #[arg(long, conflicts_with_all = ["input", "dry_run", "yes", "allow_dirty", "exit_code", "keep", "events"])]
    pub(in crate::face::cli) jsonl: bool,
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
