//! Arguments of `nrv llm`.

use clap::{Args, Subcommand};

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
}
