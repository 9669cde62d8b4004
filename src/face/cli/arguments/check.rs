//! Arguments of `nrv check`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `nrv check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv check scripts/migrate_links.rhai
  nrv check scripts/*.rhai --sarif > check.sarif

Exit codes:
  0 no errors, but perhaps warnings    1 a script can't run    3 a header lacks a permission that is needed")]
pub(in crate::face::cli) struct CheckArguments {
    /// Scripts, modules that scripts import, folders with them, or a policy [default: all scripts]
    #[arg(value_name = "SCRIPT")]
    pub(in crate::face::cli) scripts: Vec<PathBuf>,
    /// Write SARIF 2.1.0 to stdout
    #[arg(long, conflicts_with = "json")]
    pub(in crate::face::cli) sarif: bool,
}
