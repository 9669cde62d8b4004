//! The definition of `nrv test`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `nrv test`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv test
  nrv test scripts/migrate_links.rhai --filter relative
  nrv test -u scripts/migrate_links.rhai

A case of scripts/x.rhai is a folder scripts/x.test/NAME:
  input/        the files that the script works on
  expected/     the files that it has to leave
  args.json     its arguments, if it takes any
  outcome.json  {\"error\": CODE} if it has to fail, {\"result\": …} if its result is compared
  llm/          recorded replies of models, if not those beside the script
  nrv.toml      the policy, if not that of the workspace

Exit codes:
  0 all hold    1 a script or case is broken    2 there is no case    4 a case does not hold    130 cancelled")]
pub(in crate::face::cli) struct TestArguments {
    /// Scripts to test, or folders of their cases [default: all with cases]
    #[arg(value_name = "SCRIPT")]
    pub(super) scripts: Vec<PathBuf>,
    /// Update the expectations of cases from their results
    #[arg(short, long)]
    pub(super) update: bool,
    /// Ask models, and record their replies for the case
    #[arg(long, requires = "update", conflicts_with = "watch")]
    pub(super) record_llm: bool,
    /// Keep running: rerun cases when files that they depend on change
    #[arg(long)]
    pub(in crate::face::cli) watch: bool,
    /// Run only cases with this text in their path
    #[arg(long, value_name = "TEXT")]
    pub(super) filter: Option<String>,
}
