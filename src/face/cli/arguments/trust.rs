//! Arguments of the commands by which a person vouches for policies, scripts and records.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `nrv trust`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv trust
  nrv trust --list
  nrv trust --forget

A policy that starts programs, by [[exec.allow]], a provider of dialect `command` or the command of a
commitment, or that sends requests to a server of language models, is not obeyed before somebody has
said so here. A server on this machine that gets no key needs nothing. A change of these tables asks
again. Where CI is set nrv.lock decides. The folders in NRV_TRUSTED_PATHS, with colons between, are trusted with
all that is below them.")]
pub(in crate::face::cli) struct TrustArguments {
    /// Policies to trust [default: nrv.toml and those of cases]
    pub(in crate::face::cli) files: Vec<PathBuf>,
    /// Do not ask
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
    /// List the trusted policies of all workspaces
    #[arg(long, conflicts_with_all = ["files", "yes", "forget"])]
    pub(in crate::face::cli) list: bool,
    /// Forget the trusted policies of this workspace
    #[arg(long, conflicts_with_all = ["files", "yes"])]
    pub(in crate::face::cli) forget: bool,
}

/// Arguments of `nrv approve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv approve scripts/migrate_links.rhai
  nrv approve scripts/migrate_links.rhai --grant 'review the links' --grant dta.apply
  nrv approve --check

Commit nrv.lock. Where CI is set, or with `nrv run --locked`, only what it holds is run.")]
pub(in crate::face::cli) struct ApproveArguments {
    /// Scripts to approve, or none to pin the permissions of policies; with --check, scripts to check, or none for all approved ones
    pub(in crate::face::cli) scripts: Vec<PathBuf>,
    /// Write nothing; fail if a script differs from its approval
    #[arg(long, conflicts_with_all = ["grant", "no_grants", "remove", "yes"])]
    pub(in crate::face::cli) check: bool,
    /// Grant a confirmation of these scripts: its label, its kind (gate.confirm, dta.apply, gates), or `*` for all but those of gates
    #[arg(long, value_name = "LABEL", conflicts_with = "remove")]
    pub(in crate::face::cli) grant: Vec<String>,
    /// Revoke the grants of these scripts
    #[arg(long, conflicts_with = "remove")]
    pub(in crate::face::cli) no_grants: bool,
    /// Revoke the approval of these scripts
    #[arg(long)]
    pub(in crate::face::cli) remove: bool,
    /// Show the approval, write nothing
    #[arg(long)]
    pub(in crate::face::cli) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
}

/// Arguments of `nrv add`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv add ../our-rules
  nrv add git https://example.com/team/rules@0123456789abcdef0123456789abcdef01234567
  nrv add git ssh://git@example.com/rules@0123456789abcdef0123456789abcdef01234567 --folder packs/docs")]
pub(in crate::face::cli) struct AddArguments {
    /// A folder, or `git` and URL@COMMIT: https, ssh or file, and the full hash
    #[arg(required = true, num_args = 1..=2, value_names = ["SOURCE", "URL@COMMIT"])]
    pub(in crate::face::cli) source: Vec<String>,
    /// The pack's name, which is the folder below scripts/vendor [default: the last part of the source]
    #[arg(long, value_name = "NAME")]
    pub(in crate::face::cli) name: Option<String>,
    /// The folder of the repository that holds the pack
    #[arg(long, value_name = "DIR", default_value = "", hide_default_value = true)]
    pub(in crate::face::cli) folder: String,
    /// The SPDX expression of the licence, if the pack does not state it
    #[arg(long, value_name = "SPDX")]
    pub(in crate::face::cli) licence: Option<String>,
    /// Replace files that were edited or come from elsewhere
    #[arg(long)]
    pub(in crate::face::cli) replace: bool,
    /// Show the files, write nothing
    #[arg(long)]
    pub(in crate::face::cli) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
}

/// Arguments of `nrv runs attest`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv runs attest last --key ~/.ssh/id_ed25519 -o attestation.json
  nrv runs attest --verify attestation.json --signer alice@example.com")]
pub(in crate::face::cli) struct AttestArguments {
    /// Run, or `last`
    #[arg(required_unless_present = "verify")]
    pub(in crate::face::cli) run: Option<String>,
    /// SSH key to sign with, as `ssh-keygen -Y sign -f` takes it
    #[arg(long, value_name = "FILE")]
    pub(in crate::face::cli) key: Option<PathBuf>,
    /// File to write, `-` for stdout; replace an existing one [default: -]
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::face::cli) output: Option<PathBuf>,
    /// Verify that --signer, whose key is in .nrv/allowed_signers, signed an attestation
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "key", "output"], requires = "signer")]
    pub(in crate::face::cli) verify: Option<PathBuf>,
    /// Expected signer of the attestation
    #[arg(long, value_name = "NAME", requires = "verify")]
    pub(in crate::face::cli) signer: Option<String>,
}
