//! The definition of `nrv gate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `nrv gate`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  nrv gate command -- rm -rf dist
  nrv gate command --line 'git push --force && echo done'
  nrv gate edit . --sarif > secrets.sarif
  nrv gate explain command --line 'git reset --hard'

Exit codes:
  0 allow or warn    3 a confirmation is required, or it is blocked    (hook: 2 blocks)"
)]
pub(in crate::face::cli) struct GateArguments {
    /// Answer requests on stdin, one JSON document a line; touches no file
    #[arg(long)]
    pub(super) jsonl: bool,
    /// Block where a command or a secret would need a confirmation
    #[arg(long, global = true)]
    pub(super) locked: bool,
    #[command(subcommand)]
    pub(super) command: Option<Gate>,
}

impl GateArguments {
    /// True for the hook, whose every failure has to block.
    pub(in crate::face::cli) fn is_hook(&self) -> bool {
        matches!(self.command, Some(Gate::Hook { .. }))
    }
}

impl GateArguments {
    /// True for the hook in the process that another process of nrv watches.
    pub(super) fn is_guarded(&self) -> bool {
        matches!(self.command, Some(Gate::Hook { guarded: true }))
    }
}

/// The subject that is judged.
#[derive(Debug, Subcommand)]
pub(super) enum Gate {
    /// Judge a command without starting it
    #[command(after_help = "Example:\n  nrv gate command -- rm -rf dist")]
    Command(CommandArguments),
    /// Judge the use of a tool by its name and params
    #[command(after_help = "Example:\n  echo '{\"command\": \"ls\"}' | nrv gate tool Bash --params -")]
    Tool(ToolArguments),
    /// Judge files, all files of folders, or the new content of a file
    #[command(after_help = "Examples:\n  nrv gate edit a.py --content new.py\n  nrv gate edit src docs --sarif")]
    Edit(EditArguments),
    /// Show the rules that decide, their places, and the ways to change the verdict
    #[command(after_help = "Example:\n  nrv gate explain command --line 'git reset --hard'")]
    Explain {
        #[command(subcommand)]
        subject: Explained,
    },
    /// Answer a coding agent that asks on stdin before it uses a tool
    #[command(after_help = "Example:
  echo '{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\",
         \"tool_input\": {\"command\": \"git push --force\"}}' | nrv gate hook")]
    Hook {
        /// Answer in this process, since another process of nrv waits for it
        #[arg(long, hide = true)]
        guarded: bool,
    },
}

/// The subject that is explained.
#[derive(Debug, Subcommand)]
pub(super) enum Explained {
    /// Explain the verdict on a command
    Command(CommandArguments),
    /// Explain the verdict on the use of a tool
    Tool(ToolArguments),
    /// Explain the verdict on a file
    Edit(EditArguments),
}

/// A command.
#[derive(Debug, Args)]
pub(super) struct CommandArguments {
    /// Program and arguments, after `--`
    #[arg(last = true, required_unless_present = "line", conflicts_with = "line")]
    pub(super) argv: Vec<String>,
    /// Command line of a shell
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    pub(super) line: Option<String>,
}

/// The use of a tool.
#[derive(Debug, Args)]
pub(super) struct ToolArguments {
    /// Tool
    pub(super) name: String,
    /// JSON file with the tool's params, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(super) params: Option<PathBuf>,
}

/// An edit.
#[derive(Debug, Args)]
pub(super) struct EditArguments {
    /// Files, or folders for all files in them that git does not ignore
    #[arg(required = true, value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// File with the new content of PATH, `-` for stdin [default: the present content]
    #[arg(long, value_name = "FILE")]
    pub(super) content: Option<PathBuf>,
    /// Write SARIF 2.1.0 to stdout
    #[arg(long)]
    pub(super) sarif: bool,
}
