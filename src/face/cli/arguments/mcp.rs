//! Arguments of `nrv mcp`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::StrictTools;

/// Arguments of `nrv mcp`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv mcp
  nrv mcp --dry-run --script scripts/migrate_links.rhai
  nrv mcp --http 127.0.0.1:8123 --token-file ~/.config/nrv/token

Environment:
  NRV_MCP_TOKEN  the token that clients of --http have to bear, unless --token-file names it")]
pub(in crate::face::cli) struct McpArguments {
    /// Serve HTTP at an address and port; without it, one client on stdin and stdout
    #[arg(long, value_name = "ADDR")]
    pub(in crate::face::cli) http: Option<SocketAddr>,
    /// File with the token that clients have to bear [default: a new one, in a file that is named on stderr]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(in crate::face::cli) token_file: Option<PathBuf>,
    /// Certificate chain in PEM, for addresses that other machines reach
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(in crate::face::cli) tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", requires = "http")]
    pub(in crate::face::cli) tls_key: Option<PathBuf>,
    /// Name by which clients may call the server, beside those of this machine; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(in crate::face::cli) host: Vec<String>,
    /// Approved script that clients may run; repeatable [default: all approved scripts]
    #[arg(long, value_name = "SCRIPT")]
    pub(in crate::face::cli) script: Vec<String>,
    /// Propose changes, write nothing
    #[arg(long)]
    pub(in crate::face::cli) dry_run: bool,
    /// Answer the confirmations that the policy lets a flag answer
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
    #[command(flatten)]
    pub(in crate::face::cli) tools: StrictTools,
}
