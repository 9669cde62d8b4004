//! Arguments of `nrv llm`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

/// Arguments of `nrv llm`.
#[derive(Debug, Args)]
pub(in crate::face::cli) struct LlmArguments {
    #[command(subcommand)]
    pub(in crate::face::cli) command: Llm,
}

#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum Llm {
    /// Show the models of a provider and their capabilities
    #[command(after_help = "Example:\n  nrv llm capabilities local --json")]
    Capabilities {
        /// Provider [default: the one of requests that name none]
        name: Option<String>,
    },
    /// Ask a provider for its models, and show the response time
    #[command(after_help = "Example:\n  nrv llm ping local")]
    Ping {
        /// Provider [default: the one of requests that name none]
        name: Option<String>,
    },
    /// Send one small request, and show the result
    #[command(after_help = "Example:\n  nrv llm probe local --model tiny")]
    Probe {
        /// Provider [default: the one of requests that name none]
        name: Option<String>,
        /// Model [default: the provider's]
        #[arg(long)]
        model: Option<String>,
    },
    /// Record replies to the requests of a script, given as texts or asked of a provider
    Record(RecordArguments),
}

/// Arguments of `nrv llm record`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("source").args(["reply", "from"]).required(true),
    after_help = "Examples:
  nrv llm record scripts/summary.rhai --reply reply.txt
  nrv llm record scripts/summary.rhai --case first --reply one.txt --reply two.txt
  nrv llm record scripts/summary.rhai --from local --arg path=README.md

The script runs dry. A request that has a recorded reply takes that one."
)]
pub(in crate::face::cli) struct RecordArguments {
    /// Script whose requests are recorded
    pub(in crate::face::cli) script: PathBuf,
    /// File with the text of a reply, `-` for stdin; repeat it in the order of the requests
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) reply: Vec<PathBuf>,
    /// Provider of `nrv.toml` that is asked where a request names none
    #[arg(long, value_name = "PROVIDER")]
    pub(in crate::face::cli) from: Option<String>,
    /// Record for this case, with its input and arguments, into its folder `llm`
    #[arg(long, value_name = "CASE", conflicts_with_all = ["arg", "args"])]
    pub(in crate::face::cli) case: Option<String>,
    /// Argument of the script; repeat it for lists
    #[arg(long, value_name = "K=V")]
    pub(in crate::face::cli) arg: Vec<String>,
    /// JSON file with arguments of the script, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) args: Option<PathBuf>,
    /// Record anew what is recorded already
    #[arg(long)]
    pub(in crate::face::cli) force: bool,
}
