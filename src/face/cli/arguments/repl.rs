//! Arguments of `nrv repl`.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::seed::LARGEST_SEED;

/// Arguments of `nrv repl`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv repl
  nrv repl --arg glob='site/**'
  nrv repl --json <<'EOF'
  let pages = nrv.files.glob(\"site/**\");
  pages.len()
  EOF")]
pub(in crate::face::cli) struct ReplArguments {
    /// Argument, which is a text in `args`; repeat it for more
    #[arg(long, value_name = "K=V")]
    pub(in crate::face::cli) arg: Vec<String>,
    /// JSON file with arguments, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) args: Option<PathBuf>,
    /// Make changes at once instead of proposing them
    #[arg(long)]
    pub(in crate::face::cli) apply: bool,
    /// Seed of the session's random choices
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..=LARGEST_SEED))]
    pub(in crate::face::cli) seed: u64,
    /// Answer the confirmations that the policy lets a flag answer
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
    /// Apply although the tree has uncommitted changes
    #[arg(long)]
    pub(in crate::face::cli) allow_dirty: bool,
}
