//! Arguments of `nrv mcp`.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand, builder::PossibleValuesParser};

use super::StrictTools;

/// The clients whose configuration is known, sorted by name.
const CLIENTS: [&str; 8] = ["claude-code", "claude-desktop", "codex", "cursor", "gemini", "vscode", "windsurf", "zed"];

/// Arguments of `nrv mcp`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  nrv mcp
  nrv mcp --dry-run --script scripts/migrate_links.rhai
  nrv mcp --http 127.0.0.1:8123 --token-file ~/.config/nrv/token
  nrv mcp install --client claude-code

Environment:
  NRV_MCP_TOKEN  the token that clients of --http have to bear, unless --token-file names it"
)]
pub(in crate::face::cli) struct McpArguments {
    #[command(subcommand)]
    pub(in crate::face::cli) command: Option<McpCommand>,
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

/// The subcommands of `nrv mcp`.
#[derive(Debug, Subcommand)]
pub(in crate::face::cli) enum McpCommand {
    /// Pin the tools of MCP servers that the policy names in `nrv.lock`
    Approve(McpApproveArguments),
    /// Write the entry of the server into the configuration of a client
    Install(McpInstallArguments),
}

/// Arguments of `nrv mcp approve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv mcp approve
  nrv mcp approve docs --yes
  nrv mcp approve docs --dry-run --json")]
pub(in crate::face::cli) struct McpApproveArguments {
    /// Server of `[mcp.servers.NAME]` in `nrv.toml` [default: all]
    #[arg(value_name = "SERVER")]
    pub(in crate::face::cli) servers: Vec<String>,
    /// Show the definitions, write nothing
    #[arg(long)]
    pub(in crate::face::cli) dry_run: bool,
    /// Write without asking
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
}

/// Arguments of `nrv mcp install`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv mcp install --client claude-code --dry-run
  nrv mcp install --client cursor -- --strict-tools
  nrv mcp install --client codex --user")]
pub(in crate::face::cli) struct McpInstallArguments {
    /// Client
    #[arg(long, value_parser = PossibleValuesParser::new(CLIENTS))]
    pub(in crate::face::cli) client: String,
    /// Write the file of the user, and keep a copy of it as it was; without it, the file of the project
    #[arg(long)]
    pub(in crate::face::cli) user: bool,
    /// Show the change, write nothing
    #[arg(long)]
    pub(in crate::face::cli) dry_run: bool,
    /// Write without asking
    #[arg(long)]
    pub(in crate::face::cli) yes: bool,
    /// Options of `nrv mcp` in the entry
    #[arg(last = true)]
    pub(in crate::face::cli) arguments: Vec<String>,
}
