//! Arguments of the commands that show the reference.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `nrv docs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv docs
  nrv docs nrv.files.read
  nrv docs std/report
  nrv docs errors
  nrv docs exec.allow
  nrv docs gates
  nrv docs secrets in a diff
  nrv docs --json > reference.json")]
pub(in crate::face::cli) struct DocsArguments {
    /// Call, namespace, module, part of the language, key of the policy (`policy` lists all), guide, or words to search for [default: a list
    /// of the reference]
    #[arg(value_name = "NAME")]
    pub(in crate::face::cli) name: Vec<String>,
}

/// Arguments of `nrv definitions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  nrv definitions scripts

Files *.d.rhai are read by Rhai's language server, nrv.json is for all other editors. Beside scripts, those in std/ tell the server
what an import of the standard library brings.")]
pub(in crate::face::cli) struct DefinitionsArguments {
    /// Folder to write them to; create it if missing, and replace files of an earlier version
    #[arg(value_name = "DIR")]
    pub(in crate::face::cli) folder: PathBuf,
}
