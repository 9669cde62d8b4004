//! Arguments of `nrv new`.

use clap::Args;

/// Arguments of `nrv new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv new
  nrv new call rename_logger")]
pub(in crate::face::cli) struct NewArguments {
    /// Template, and the name of the script
    #[arg(num_args = 0..=2, value_names = ["TEMPLATE", "NAME"])]
    pub(in crate::face::cli) words: Vec<String>,
}
