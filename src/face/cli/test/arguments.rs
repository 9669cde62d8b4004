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
  expected/     the files that have to come of it
  args.json     its arguments, if it takes any
  outcome.json  {\"error\": CODE} if it has to fail, {\"result\": …} if its result is compared
  llm/          recorded replies of models, if not those beside the script
  nrv.toml      the policy, if not that of the workspace

Exit codes:
  0 all hold    1 a script or case is broken    2 there is no case    4 a case does not hold    130 cancelled")]
pub(in crate::face::cli) struct TestArguments {
    /// Scripts to be tested, or folders of their cases [default: all that have cases]
    #[arg(value_name = "SCRIPT")]
    pub(super) scripts: Vec<PathBuf>,
    /// Take what comes of the cases as what is expected
    #[arg(short, long)]
    pub(super) update: bool,
    /// Ask models, and keep what they reply for the case
    #[arg(long, requires = "update", conflicts_with = "watch")]
    pub(super) record_llm: bool,
    /// Go on, and run again what depends on files that change
    #[arg(long)]
    pub(in crate::face::cli) watch: bool,
    /// Run only cases that have this text in their path
    #[arg(long, value_name = "TEXT")]
    pub(super) filter: Option<String>,
}
