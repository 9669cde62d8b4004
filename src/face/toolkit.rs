//! Diffs from Rust, without a script: every application is a run of its own, under the workspace's policy and in its record.
//!
//! The program's own call is the decision: no confirmation is asked for, and only the gates can stop it.

#[doc(hidden)]
pub mod micro;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use base::{
    call::{Blob, Call, NamedPatch, Run, Strategy},
    error::{Code, Error},
};
use host::{Context, Flags, Host, Options, Position, Request, Silent};
use llm::{Fence, parse_as};
use service::apply::{ApplyOptions, ApplyOutcome, ApplyStrategy};
use system::workspace::Workspace;

/// The error of applying; nothing was applied.
#[doc(hidden)]
pub type ApplyError = Error;

/// The error of a text that is no plan.
#[doc(hidden)]
pub type PlanError = Error;

/// A command, run without a shell.
pub type CommandOptions = Run;

/// The error of running commands.
#[doc(hidden)]
pub type ExecError = Error;

/// The outcome of a command.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ExecOutcome {
    /// The error if it could not be run; the other fields are empty then.
    #[serde(default)]
    pub error: Option<Error>,
    /// The exit code, if it exited.
    pub status: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// Its output on stdout, as text; long output is cut to its head and tail.
    pub stdout: String,
    /// Its output on stderr, in the same way.
    pub stderr: String,
    /// True if its output was cut.
    pub truncated: bool,
    /// True if it ran into its time limit.
    pub timed_out: bool,
    /// The files that it changed, relative to the workspace.
    pub changed: Vec<PathBuf>,
    /// Milliseconds that it took.
    pub duration_ms: u64,
    /// Milliseconds of processor time that it took.
    pub cpu_ms: u64,
    /// Bytes of memory of its largest process.
    pub peak_bytes: u64,
}

/// A unified diff of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaffoldDiff {
    /// The file, relative to the workspace.
    pub path: PathBuf,
    /// The SHA-256 hash of the file before this diff. With it the hunks apply exactly at their line numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The diff; its headers name the file.
    #[serde(rename = "unified_diff")]
    pub diff: String,
}

/// Diffs that are applied in their order, all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyPlan {
    /// The diffs.
    pub diffs: Vec<ScaffoldDiff>,
}

/// A plan as a model writes it: diffs, and commands to run after them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaffoldPlan {
    /// The diffs.
    pub diffs: Vec<ScaffoldDiff>,
    /// The steps after the diffs.
    #[serde(default, deserialize_with = "or_default")]
    pub post: ScaffoldPost,
}

/// The steps after a plan is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaffoldPost {
    /// The commands, in their order.
    #[serde(default, deserialize_with = "or_default")]
    pub commands: Vec<ScaffoldCommand>,
}

/// A command of a plan. The other fields of commands, such as the globs that they may write, are not a model's to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaffoldCommand {
    /// Its name, which is looked for in `PATH`.
    pub program: String,
    /// Its arguments.
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<String>,
    /// Its time limit in milliseconds; none for the limit of the policy.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl From<ScaffoldCommand> for CommandOptions {
    fn from(command: ScaffoldCommand) -> Self {
        let ScaffoldCommand { program, args, timeout_ms } = command;
        CommandOptions { program, args, timeout_ms, ..CommandOptions::default() }
    }
}

/// Reads null as the default: servers that enforce a schema write it for a missing field.
fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Parses a plan of the program's own type, [`ScaffoldPlan`] or [`ApplyPlan`] for instance: JSON and nothing else, no fenced
/// block.
///
/// Text that is not JSON is `model_failed` of the kind `malformed_json`. JSON that is no such plan is of the kind `schema`, with
/// `details.violations`: the JSON Pointer, the error there, and the offending value.
pub fn parse_plan<T: DeserializeOwned>(json: &str) -> Result<T, PlanError> {
    parse_as(json, Fence::Refused)
}

/// Applies diffs to a workspace.
///
/// ```
/// use nrv::{
///     Toolkit, Workspace,
///     apply::ApplyStrategy,
///     toolkit::{ApplyPlan, ScaffoldDiff},
/// };
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.md"), "old\n")?;
/// let diff = "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-old\n+new\n".to_owned();
/// let plan = ApplyPlan { diffs: vec![ScaffoldDiff { path: "a.md".into(), checksum: None, diff }] };
/// let toolkit = Toolkit::new(&Workspace::open(folder.path())?)?;
/// assert_eq!(toolkit.apply_plan(&plan, ApplyStrategy::Write)?.len(), 1);
/// assert_eq!(std::fs::read(folder.path().join("a.md"))?, b"new\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Toolkit {
    context: Context,
}

impl Toolkit {
    /// Makes a toolkit for a workspace under the policy of its `nrv.toml`.
    pub fn new(workspace: &Workspace) -> Result<Self, ApplyError> {
        let workspace = Workspace::open(workspace.root())?;
        Context::new(workspace, Options::default()).map(Toolkit::with_context)
    }

    /// Makes a toolkit with a context of the program's own.
    pub fn with_context(context: Context) -> Self {
        Toolkit { context }
    }

    /// Applies a plan; returns an outcome for each diff, in their order.
    pub fn apply_plan(&self, plan: &ApplyPlan, strategy: ApplyStrategy<'_>) -> Result<Vec<ApplyOutcome>, ApplyError> {
        let plan = serde_json::to_value(plan).map_err(|error| {
            Error::new(Code::InvalidPath, format!("a path of the plan can't be used: {error}"))
                .hint("paths are UTF-8, relative to the workspace")
        })?;
        let written = written(strategy);
        self.run("apply a plan", strategy, Call::ApplyPlan { plan, strategy: written, strict: false })
    }

    /// Applies a patch of one or several files; returns an outcome for each file, in the patch's order.
    pub fn apply_patch(&self, patch: &[u8], options: &ApplyOptions<'_>) -> Result<Vec<ApplyOutcome>, ApplyError> {
        let ApplyOptions { strategy, strict, recount, reverse, strip, line_ends } = *options;
        let patches = vec![NamedPatch { name: "the patch".to_owned(), diff: Blob::new(patch.to_vec()) }];
        let written = written(strategy);
        self.run(
            "apply a patch",
            strategy,
            Call::ApplyPatch { patches, strip, reverse, recount, strict, strategy: written, line_ends },
        )
    }

    /// Runs all commands, one after the other, and reports each. A command that the policy does not allow is an error, as is any
    /// other end of the run; a command that failed or can't be run is an outcome.
    ///
    /// Their changes below their `writes` stay, unless there is an error.
    pub fn verify(&self, commands: &[CommandOptions]) -> Result<Vec<ExecOutcome>, ExecError> {
        let request = Request::program(&self.context, "verify");
        let mut host = Host::start(&self.context, request, &mut Silent)?;
        let mut outcomes = Vec::new();
        for (command, n) in commands.iter().zip(1..) {
            match host.perform(&Position::nth(n), Call::ExecRun(Box::new(command.clone())), &mut Silent) {
                Ok(reply) => outcomes.push(reply),
                Err(error) if error.is_final() => {
                    return host.finish(Err(error.clone()), &mut Silent).and(Err(error));
                }
                Err(error) => outcomes.push(json!({"error": error})),
            }
        }
        let finished = host.finish(Ok(Value::from(outcomes)), &mut Silent)?;
        match finished.error {
            Some(error) => Err(error),
            None => finished.result.as_array().into_iter().flatten().map(outcome).collect(),
        }
    }

    fn run(&self, name: &str, strategy: ApplyStrategy<'_>, call: Call) -> Result<Vec<ApplyOutcome>, ApplyError> {
        let flags = Flags { dry_run: strategy == ApplyStrategy::DryRun, ..Flags::default() };
        let request = Request { flags, ..Request::program(&self.context, name) };
        let mut host = Host::start(&self.context, request, &mut Silent)?;
        let outcome = host.perform(&Position::nth(1), call, &mut Silent);
        let finished = host.finish(outcome, &mut Silent)?;
        match finished.error {
            Some(error) => Err(error),
            None => outcomes(finished.result),
        }
    }
}

fn outcome(reply: &Value) -> Result<ExecOutcome, Error> {
    if let Some(error) = reply.get("error") {
        let error = serde_json::from_value(error.clone()).ok();
        return Ok(ExecOutcome { error, ..ExecOutcome::default() });
    }
    serde_json::from_value(reply.clone())
        .map_err(|error| Error::new(Code::Internal, format!("an outcome can't be read: {error}")))
}

/// Runs commands in the current folder.
pub fn verify(commands: &[CommandOptions]) -> Result<Vec<ExecOutcome>, ExecError> {
    Toolkit::new(&Workspace::open(Path::new("."))?)?.verify(commands)
}

/// Applies a plan to the current folder.
pub fn apply_plan(plan: &ApplyPlan, strategy: ApplyStrategy<'_>) -> Result<Vec<ApplyOutcome>, ApplyError> {
    Toolkit::new(&Workspace::open(Path::new("."))?)?.apply_plan(plan, strategy)
}

/// The strategy of the call: a dry run proposes its changes, so that its patch shows them.
fn written(strategy: ApplyStrategy<'_>) -> Strategy {
    match strategy {
        ApplyStrategy::DryRun => Strategy::Write,
        ApplyStrategy::Write | ApplyStrategy::WriteBackup { .. } => strategy.into(),
    }
}

fn outcomes(reply: Value) -> Result<Vec<ApplyOutcome>, Error> {
    serde_json::from_value(reply)
        .map_err(|error| Error::new(Code::Internal, format!("an outcome can't be read: {error}")))
}
