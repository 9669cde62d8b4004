//! Arguments of `nrv runs report`.

use std::path::PathBuf;

use clap::Args;

use crate::face::cli::annotations::Form;

/// Arguments of `nrv runs report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nrv runs report last\n  nrv runs report last -o report.html\n  nrv runs report last --annotations github"
)]
pub(in crate::face::cli) struct ReportArguments {
    /// Run, or `last`
    pub(in crate::face::cli) run: String,
    /// Write one self-contained HTML file, or the annotations, `-` for stdout; replace an existing file
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::face::cli) output: Option<PathBuf>,
    /// Write the HTML to stdout, like `-o -`
    #[arg(long)]
    pub(in crate::face::cli) html: bool,
    /// Write annotations for a code host: on lines that the run changed or would change, and on its failure
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "html")]
    pub(in crate::face::cli) annotations: Option<Form>,
}
