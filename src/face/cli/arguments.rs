//! The definition of the command line. Help, usage errors and completions come from here.

mod check;
mod commit;
mod dag;
mod docs;
mod dta;
mod edit;
mod fleet;
mod llm;
mod mcp;
mod new;
mod planner;
mod repl;
mod report;
mod runs;
mod scripts;
mod seed;
mod stats;
mod trust;

use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

use base::call::LineEnds;
use clap::{
    ArgAction, Args, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
    value_parser,
};
use clap_complete::Shell;

use self::seed::LARGEST_SEED;
pub(super) use self::{
    check::CheckArguments,
    commit::{CommitOptions, CommitRunArguments},
    dag::{DagCommand, DagRunArguments},
    docs::{DefinitionsArguments, DocsArguments},
    dta::{Dta, DtaNewArguments, DtaRunArguments},
    edit::{EditArguments, EditCommand, FindArguments, OneEdit},
    fleet::{
        FleetCollectArguments, FleetCommand, FleetPlaceArguments, FleetPlanArguments, FleetRollbackArguments,
        FleetSubmitArguments, FleetWorkArguments,
    },
    llm::{Llm, LlmArguments, RecordArguments},
    mcp::{McpApproveArguments, McpArguments, McpCommand, McpInstallArguments},
    new::NewArguments,
    planner::{PlannerCommand, PlannerPlanArguments},
    repl::ReplArguments,
    report::ReportArguments,
    runs::Runs,
    scripts::ScriptsArguments,
    stats::StatsOf,
    trust::{AddArguments, ApproveArguments, AttestArguments, TrustArguments},
};
use super::{
    gate::GateArguments,
    mode::{Color, Mode},
    test::TestArguments,
};

/// Run plan → apply → verify workflows that can be trusted
#[derive(Debug, Parser)]
#[command(
    name = "nrv",
    version,
    max_term_width = 100,
    after_help = "Examples:
  nrv run scripts/migrate_links.rhai --arg from=old.example.com --arg to=https://new.example.com --dry-run
  nrv runs list
  nrv rollback last

Exit codes:
  0 done and verified    1 failed               2 usage              3 blocked by a gate or permission
  4 verification failed  5 stale or dirty tree  6 budget exhausted   7 suspended, waits for a confirmation
  70 internal error      75 temporary           130 cancelled"
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Cli {
    /// True if the command line asks for strict tools.
    pub(super) fn has_strict_tools(&self) -> bool {
        let tools = match &self.command {
            Command::Run(RunArguments { script, .. }) | Command::Plan(PlanArguments { script, .. }) => {
                Some(script.tools)
            }
            Command::Apply(arguments) => Some(arguments.tools),
            Command::Dag { command: DagCommand::Run(arguments) } => Some(arguments.tools),
            Command::Dta { command: Dta::Run(arguments) } => Some(arguments.tools),
            Command::Mcp(arguments) => Some(arguments.tools),
            Command::Edit(EditArguments { command: Some(EditCommand::Make(make)), .. }) => Some(make.one().1.tools),
            _ => None,
        };
        tools.is_some_and(|tools| tools.strict_tools)
    }

    /// The provider that the command line names for requests that name none.
    pub(super) fn provider(&self) -> Option<&str> {
        match &self.command {
            Command::Llm(LlmArguments { command: Llm::Record(record) }) => record.from.as_deref(),
            _ => None,
        }
    }

    /// The mode of stdout.
    pub(super) fn mode(&self) -> Mode {
        let events = match &self.command {
            Command::Run(arguments) => arguments.script.events,
            // The plan is the one document that stdout then holds.
            Command::Plan(arguments) if arguments.output.as_deref() == Some(Path::new("-")) => return Mode::Document,
            Command::Plan(arguments) => arguments.script.events,
            Command::Apply(arguments) => arguments.events,
            Command::Resume(arguments) => arguments.events,
            Command::Dag { command: DagCommand::Run(arguments) } => arguments.events,
            Command::Dta { command: Dta::Run(arguments) } => arguments.events,
            Command::Test(arguments) => arguments.watch && self.global.json,
            Command::Add(_)
            | Command::Approve(_)
            | Command::New(_)
            | Command::Check(_)
            | Command::Scripts(_)
            | Command::Trust(_)
            | Command::Repl(_)
            | Command::Dta { .. }
            | Command::Edit(_)
            | Command::Fleet { .. }
            | Command::Gate(_)
            | Command::Llm(_)
            | Command::Mcp(_)
            | Command::Planner { .. }
            | Command::Runs { .. }
            | Command::Replay(_)
            | Command::Verify { .. }
            | Command::Rollback(_)
            | Command::Recover { .. }
            | Command::Hooks { .. }
            | Command::Init { .. }
            | Command::Doctor
            | Command::Docs(_)
            | Command::Definitions(_)
            | Command::Completions { .. }
            | Command::Man { .. } => false,
        };
        match (events, self.global.json) {
            (true, _) => Mode::Lines,
            (false, true) => Mode::Document,
            (false, false) => Mode::Text,
        }
    }
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct Global {
    /// Folder of the workspace [default: nearest parent with nrv.toml or .git]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Threads for reading and parsing; results don't depend on it [default: all processors]
    #[arg(long, global = true, value_name = "N")]
    pub(super) threads: Option<NonZero<usize>>,
    /// Write JSON to stdout
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(super) color: Color,
    /// Tell only errors, warnings, questions and what scripts print
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Write the times of runs, calls, gates and transactions to a file for ui.perfetto.dev
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Log more to stderr; repeat for even more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(super) verbose: u8,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a workflow
    Run(RunArguments),
    /// Write the changes of a workflow to a plan file, for review and `nrv apply`
    Plan(PlanArguments),
    /// Apply a plan or patches, all or nothing
    Apply(ApplyArguments),
    /// Run script tests: output, idempotence, rollback, determinism
    Test(TestArguments),
    /// Trust the programs and requests of nrv.toml
    Trust(TrustArguments),
    /// Pin scripts, their imports and permissions in nrv.lock
    Approve(ApproveArguments),
    /// Copy a pack of adapters and scripts from a folder or a git commit, with its hashes and licence in nrv.lock
    Add(AddArguments),
    /// Write a script to begin with, and a case for it; without arguments, list the templates
    New(NewArguments),
    /// Check scripts for errors without running them
    Check(CheckArguments),
    /// List the workflows of this repository, or those that are shipped
    Scripts(ScriptsArguments),
    /// Try calls and scripts line by line; proposes changes until they are applied
    Repl(ReplArguments),
    /// Run the steps of a plan as a graph
    #[command(after_help = "Example:\n  nrv dag run plan.json --dry-run")]
    Dag {
        #[command(subcommand)]
        command: DagCommand,
    },
    /// Use deterministic tool adapters without a script
    #[command(after_help = "Example:\n  nrv dta describe link_updater")]
    Dta {
        #[command(subcommand)]
        command: Dta,
    },
    /// Change one place on one line: a class, a value, a text, an import
    Edit(EditArguments),
    /// Run one workflow over many repositories, on an engine that exists
    #[command(after_help = "Example:\n  nrv fleet plan -o plan.jsonl && nrv fleet work plan.jsonl")]
    Fleet {
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// Judge commands, tools and edits as runs are judged
    Gate(GateArguments),
    /// Show and probe the providers of language models
    Llm(LlmArguments),
    /// Serve agents by the Model Context Protocol: adapters, gates and transactions as tools
    Mcp(McpArguments),
    /// Plan which adapters a goal needs, and check such plans
    #[command(after_help = "Example:\n  nrv planner plan --goal 'mend the links' --json")]
    Planner {
        #[command(subcommand)]
        command: PlannerCommand,
    },
    /// List, show and export the records of runs
    #[command(after_help = "Example:\n  nrv runs show last")]
    Runs {
        #[command(subcommand)]
        command: Runs,
    },
    /// Resume a run that waits or whose process died; nothing is done twice
    Resume(ResumeArguments),
    /// Replay a run from its record alone, and report differences
    Replay(ReplayArguments),
    /// Check the commitments and verifiers of a run against the present tree
    #[command(after_help = "Example:\n  nrv verify last")]
    Verify {
        /// Run, or `last`
        run: String,
    },
    /// Undo a run exactly, or refuse and name the files that changed since
    Rollback(RollbackArguments),
    /// Finish or undo a change that a crash interrupted; every command that writes does this first
    #[command(after_help = "Example:\n  nrv recover")]
    Recover {
        /// Change nothing; fail with exit code 5 if a run died and is not recovered
        #[arg(long)]
        check: bool,
    },
    /// Install, show or remove a git hook that keeps a half-changed tree from being committed
    Hooks {
        #[command(subcommand)]
        command: Hooks,
    },
    /// Write a policy, a first script and a line of .gitignore; replace nothing
    #[command(after_help = "Example:\n  nrv init --dry-run")]
    Init {
        /// Show the files, write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Check the requirements of nrv, and advise on missing ones
    #[command(after_help = "Example:\n  nrv doctor")]
    Doctor,
    /// Show the reference for scripts: calls of the host, the standard library, the language
    Docs(DocsArguments),
    /// Write definition files for editors
    Definitions(DefinitionsArguments),
    /// Write completions for a shell to stdout
    #[command(after_help = "Example:\n  nrv completions bash > ~/.local/share/bash-completion/completions/nrv")]
    Completions {
        /// Shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the manual page of nrv or of one of its commands to stdout
    #[command(after_help = "Example:\n  nrv man dta run | man -l -")]
    Man {
        /// Command
        command: Vec<String>,
    },
}

/// Options of commands that change files.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct Mutation {
    /// Propose and verify; write only the record
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Answer the confirmations that the policy lets a flag answer
    #[arg(long)]
    pub(super) yes: bool,
    /// Start although the tree has uncommitted changes
    #[arg(long)]
    pub(super) allow_dirty: bool,
    #[command(flatten)]
    pub(super) asked: Asked,
}

/// Exit codes that are asked for, of runs that end well.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct Asked {
    /// In a dry run, exit with 8 if something would change
    #[arg(long)]
    pub(super) exit_code: bool,
    /// Exit with 1 if no adapter finds anything to change
    #[arg(long)]
    pub(super) fail_on_no_match: bool,
}

/// The flag of commands that may change files which an adapter owns.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct StrictTools {
    /// Let only approved adapters change the files that they own
    #[arg(long)]
    pub(super) strict_tools: bool,
}

/// Arguments of `nrv run`.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  nrv run scripts/migrate_links.rhai --help
  nrv run scripts/migrate_links.rhai --arg from=old.example.com --arg to=https://new.example.com --dry-run
  nrv run scripts/migrate_links.rhai --args arguments.json --yes --json"
)]
pub(super) struct RunArguments {
    #[command(flatten)]
    pub(super) script: ScriptArguments,
    #[command(flatten)]
    pub(super) mutation: Mutation,
    /// Keep the changes of a run that fails
    #[arg(long)]
    pub(super) keep: bool,
    #[command(flatten)]
    pub(super) commit: CommitOptions,
}

/// Arguments of `nrv plan`.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "Example:
  nrv plan scripts/migrate_links.rhai --arg from=old.example.com --arg to=https://new.example.com -o plan.json
  nrv apply plan.json"
)]
pub(super) struct PlanArguments {
    #[command(flatten)]
    pub(super) script: ScriptArguments,
    /// File to write the plan to, `-` for stdout; replace an existing one
    #[arg(short, long, value_name = "FILE", required_unless_present = "help")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) asked: Asked,
}

/// Arguments of `nrv apply`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv apply plan.json
  nrv apply --dry-run 0001.patch 0002.patch
  git diff HEAD~1 | nrv apply -R --yes -

A FILE is a plan of `nrv plan`, a plan {\"diffs\": [{\"path\", \"checksum\"?, \"unified_diff\"}]}, or a patch.")]
pub(super) struct ApplyArguments {
    /// Plan, or patches to apply in their order as one change; `-` for stdin
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) mutation: Mutation,
    #[command(flatten)]
    pub(super) tools: StrictTools,
    /// Keep the old version of each file beside the new one, with this suffix
    #[arg(long, value_name = "SUFFIX")]
    pub(super) backup: Option<String>,
    /// Apply each hunk only at its line number, and refuse text around the diffs
    #[arg(long)]
    pub(super) strict: bool,
    /// Count the lines of hunks, and ignore the counts in their headers
    #[arg(long)]
    pub(super) recount: bool,
    /// Line ends of a patch's lines: those of the `diff`, or those of the `file` that it changes
    #[arg(long, value_name = "WHOSE", default_value = "diff", value_parser = whose(), hide_possible_values = true)]
    pub(super) line_ends: LineEnds,
    /// Apply patches in reverse, the last one first
    #[arg(short = 'R', long)]
    pub(super) reverse: bool,
    /// Leading folders that are not part of a patch's paths [default: a/ and b/ where both sides have them]
    #[arg(short = 'p', long = "strip", value_name = "N")]
    pub(super) strip: Option<usize>,
    /// Write events to stdout as JSON lines while they happen, the result last
    #[arg(long)]
    pub(super) events: bool,
}

/// Reads whose line ends the lines of a patch get.
fn whose() -> impl TypedValueParser<Value = LineEnds> {
    PossibleValuesParser::new(["diff", "file"]).map(|word| if word == "file" { LineEnds::File } else { LineEnds::Diff })
}

/// A script, and the options of its run.
#[derive(Debug, Args)]
pub(super) struct ScriptArguments {
    /// Script to run
    #[arg(required_unless_present = "help")]
    pub(super) script: Option<PathBuf>,
    /// Argument of the script; repeat it for lists
    #[arg(long, value_name = "K=V")]
    pub(super) arg: Vec<String>,
    /// JSON file with arguments of the script, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(super) args: Option<PathBuf>,
    /// Seed of the run's random choices
    ///
    /// A larger seed would not survive JSON, the format of a run's record.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u64).range(..=LARGEST_SEED))]
    pub(super) seed: u64,
    /// Budget in place of the one of the script's header, up to that of the policy; repeat it for others
    #[arg(long, value_name = "KEY=LIMIT")]
    pub(super) budget: Vec<String>,
    /// Write events to stdout as JSON lines while they happen, the result last
    #[arg(long)]
    pub(super) events: bool,
    /// Run only an approved script, as it was approved; block where gates would ask, and apply diffs only at their line numbers
    #[arg(long)]
    pub(super) locked: bool,
    #[command(flatten)]
    pub(super) tools: StrictTools,
    /// Record the replies of language models, one JSON file a request
    #[arg(long, value_name = "DIR", conflicts_with = "replay_llm")]
    pub(super) record_llm: Option<PathBuf>,
    /// Answer requests to language models from recorded replies only
    #[arg(long, value_name = "DIR")]
    pub(super) replay_llm: Option<PathBuf>,
    /// Print the script's help, or this help without a script
    #[arg(short, long)]
    pub(super) help: bool,
}

/// Commands of `nrv hooks`.
#[derive(Debug, Subcommand)]
pub(super) enum Hooks {
    /// Write `.git/hooks/pre-commit`, which stops commits until a run that died is recovered
    #[command(after_help = "Example:\n  nrv hooks install --dry-run")]
    Install {
        /// Show the files, write nothing
        #[arg(long)]
        dry_run: bool,
        /// Write it without asking
        #[arg(long)]
        yes: bool,
    },
    /// Show if `.git/hooks/pre-commit` exists and is nrv's own
    #[command(after_help = "Example:\n  nrv hooks status")]
    Status,
    /// Remove `.git/hooks/pre-commit` if it is exactly nrv's own
    #[command(after_help = "Example:\n  nrv hooks remove")]
    Remove {
        /// Remove it without asking
        #[arg(long)]
        yes: bool,
    },
}

/// Arguments of `nrv resume`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv resume last --approve c1 --reason 'looked at the diff'
  nrv resume last --reject c1
  nrv resume 20261121T202000Z-7f3a")]
pub(super) struct ResumeArguments {
    /// Run, or `last` for the latest that can go on
    pub(super) run: String,
    /// Grant the confirmation that it waits for
    #[arg(long, value_name = "GATE", conflicts_with = "reject")]
    pub(super) approve: Option<String>,
    /// Refuse the confirmation that it waits for, and undo the run
    #[arg(long, value_name = "GATE")]
    pub(super) reject: Option<String>,
    /// Name of the person who decides [default: the user's name]
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    /// Reason of the decision
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// With --approve, for a call whose effect is unknown: take it as made, with this reply
    #[arg(long, value_name = "JSON", requires = "approve")]
    pub(super) reply: Option<String>,
    /// Go on although files that the run has read have changed since
    #[arg(long)]
    pub(super) accept_stale_reads: bool,
    /// Answer the confirmations that the policy lets a flag answer
    #[arg(long)]
    pub(super) yes: bool,
    /// Write events to stdout as JSON lines while they happen, the result last
    #[arg(long)]
    pub(super) events: bool,
    #[command(flatten)]
    pub(super) commit: CommitOptions,
}

/// Arguments of `nrv replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nrv replay last
  nrv replay last --against scripts/migrate_links.rhai
  nrv replay last --policy strict.toml

Neither the tree nor the network is looked at, and nothing is written.")]
pub(super) struct ReplayArguments {
    /// Run, or `last`
    pub(super) run: String,
    /// Script to run in place of the recorded one
    #[arg(long, value_name = "SCRIPT")]
    pub(super) against: Option<PathBuf>,
    /// Policy to judge by in place of the recorded one, `-` for stdin; report each decision that differs
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
}

/// Arguments of `nrv rollback`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nrv rollback last\n  nrv rollback last --position 3")]
pub(super) struct RollbackArguments {
    /// Run, or `last` for the latest that changed files
    pub(super) run: String,
    /// Restore only files that have not changed since
    #[arg(long)]
    pub(super) keep_later: bool,
    /// Undo only the change at this position; later changes on other lines stand
    #[arg(long, value_name = "POSITION", conflicts_with = "keep_later")]
    pub(super) position: Option<String>,
    /// Show the files to restore; write only the record
    #[arg(long)]
    pub(super) dry_run: bool,
}
