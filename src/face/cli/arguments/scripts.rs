//! Arguments of `nrv scripts`.

use clap::Args;

/// Arguments of `nrv scripts`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv scripts --json
  nrv scripts --shipped
  nrv scripts --source std:format")]
pub(in crate::face::cli) struct ScriptsArguments {
    /// List the workflows that are shipped with nrv, which `nrv run std:NAME` runs
    #[arg(long)]
    pub(in crate::face::cli) shipped: bool,
    /// Write the text of a shipped workflow to stdout
    #[arg(long, value_name = "std:NAME", conflicts_with = "shipped")]
    pub(in crate::face::cli) source: Option<String>,
}
