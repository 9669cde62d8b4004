//! What a workflow can ask of the world: every host call with its arguments, as it travels and as it is recorded.
//!
//! Scripts, the command line and embedders make calls; `Host::perform` answers them. A new call is a variant here, a
//! service, a binding and a row of tests.

mod ask;
mod violation;

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    ask::{Ask, Parts},
    violation::{Severity, Violation},
};
use crate::base::{
    change::Stamp,
    error::{Code, Error},
};

/// The calls that are tools by the first word of their names.
const TOOLS: &[&str] = &["apply", "exec", "llm"];

/// A command as it is asked about: its words, or a line for a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// The program and its arguments.
    Argv(Vec<String>),
    /// A line for a shell.
    Line(String),
}

/// A request to the host. The wire form is `{"name": "files.read", "args": {"path": "a.html"}}`.
///
/// ```
/// use nrv::Call;
/// use serde_json::json;
///
/// let wire = json!({"name": "files.read", "args": {"path": "a.html"}});
/// let call: Call = serde_json::from_value(wire)?;
/// assert_eq!(call, Call::FilesRead { path: "a.html".to_owned() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", content = "args", deny_unknown_fields)]
pub enum Call {
    /// Sorted paths of the files that match the globs; `!` excludes.
    #[serde(rename = "files.glob")]
    FilesGlob {
        /// Globs, at least one of them without `!`.
        patterns: Vec<String>,
    },
    /// A file's text.
    #[serde(rename = "files.read")]
    FilesRead {
        /// A path in the workspace.
        path: String,
    },
    /// True if there is a readable file or folder at the path.
    #[serde(rename = "files.exists")]
    FilesExists {
        /// A path in the workspace.
        path: String,
    },
    /// Size, kind, mode and hash.
    #[serde(rename = "files.stat")]
    FilesStat {
        /// A path in the workspace.
        path: String,
    },
    /// A file's hash.
    #[serde(rename = "files.sha256")]
    FilesSha256 {
        /// A path in the workspace.
        path: String,
    },
    /// Lines that match a regular expression.
    #[serde(rename = "files.grep")]
    FilesGrep {
        /// A regular expression without back-references.
        regex: String,
        /// Globs, at least one of them without `!`.
        patterns: Vec<String>,
    },
    /// Applies one unified diff to one file.
    #[serde(rename = "apply.diff")]
    ApplyDiff {
        /// The file; the diff's headers must name it.
        path: String,
        /// The diff as text; this or `unified_diff_b64`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unified_diff: Option<String>,
        /// The diff in base64, if it is not UTF-8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unified_diff_b64: Option<String>,
        /// The hash of the file as it is now. With it the hunks apply exactly where they say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checksum: Option<String>,
        /// Whether anything is written.
        #[serde(default)]
        strategy: Strategy,
    },
    /// Applies the diffs of a plan in their order, all or none.
    #[serde(rename = "apply.plan")]
    ApplyPlan {
        /// `{"diffs": [{"path", "checksum"?, "unified_diff" | "unified_diff_b64"}], "post"?}`.
        plan: Value,
        /// Whether anything is written.
        #[serde(default)]
        strategy: Strategy,
        /// True if every hunk has to apply exactly where it says.
        #[serde(default)]
        strict: bool,
    },
    /// Makes a file where none is.
    #[serde(rename = "apply.create")]
    ApplyCreate {
        /// The new file.
        path: String,
        /// All of its text.
        text: String,
    },
    /// Removes a file.
    #[serde(rename = "apply.remove")]
    ApplyRemove {
        /// The file.
        path: String,
        /// The hash of the file as it is now.
        checksum: String,
    },
    /// Gives a file another path.
    #[serde(rename = "apply.rename")]
    ApplyRename {
        /// The file.
        from: String,
        /// Its path to be, where no file is.
        to: String,
        /// The hash of the file as it is now.
        checksum: String,
    },
    /// Replaces all of a file's text.
    #[serde(rename = "apply.write")]
    ApplyWrite {
        /// The file.
        path: String,
        /// All of its new text.
        text: String,
        /// The hash of the file as it is now.
        checksum: String,
    },
    /// Applies patches of one or several files as git does, all or none.
    #[serde(rename = "apply.patch")]
    ApplyPatch {
        /// The patches in their order.
        patches: Vec<NamedPatch>,
        /// How many leading components of paths are taken off; none: `a/` and `b/` if both sides have them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strip: Option<usize>,
        /// True if the patches are taken back, each from its last file to its first.
        #[serde(default)]
        reverse: bool,
        /// True if the numbers of lines in hunk headers are counted anew.
        #[serde(default)]
        recount: bool,
        /// True if every hunk has to apply exactly where it says, and nothing but diffs may stand in a patch.
        #[serde(default)]
        strict: bool,
        /// Whether anything is written.
        #[serde(default)]
        strategy: Strategy,
    },
    /// Makes exactly the change that was planned: every file from one known content to another.
    #[serde(rename = "apply.planned")]
    ApplyPlanned {
        /// The files, each once.
        files: Vec<PlannedFile>,
    },
    /// Begins an attempt: what is changed until its end is kept or undone as one.
    #[serde(rename = "attempt.begin")]
    AttemptBegin {},
    /// Ends the innermost attempt.
    #[serde(rename = "attempt.end")]
    AttemptEnd {
        /// True if what it changed stays.
        keep: bool,
    },
    /// Makes a commitment of the run: it is done only if all of them hold.
    #[serde(rename = "commit.add")]
    CommitAdd {
        /// What holds, in words.
        description: String,
        /// How that is seen.
        assertion: Value,
        /// How long seeing it may take, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// Runs a program on a view of the tree; what it changes there is judged and committed like any other change.
    #[serde(rename = "exec.run")]
    ExecRun(Box<Run>),
    /// What a provider of language models can do.
    #[serde(rename = "llm.capabilities")]
    LlmCapabilities {
        /// The provider; none: the one that requests go to which name none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    },
    /// Asks a model, and waits for its reply.
    #[serde(rename = "llm.complete")]
    LlmComplete(Box<Ask>),
    /// Asks a model; the events of its reply can be taken as they come.
    #[serde(rename = "llm.stream")]
    LlmStream(Box<Ask>),
    /// Makes a prompt of its parts.
    #[serde(rename = "prompt.compose")]
    PromptCompose(Box<Parts>),
    /// The approved adapters.
    #[serde(rename = "dta.list")]
    DtaList {},
    /// An adapter's schemas and phases.
    #[serde(rename = "dta.describe")]
    DtaDescribe {
        /// The adapter's name.
        tool: String,
    },
    /// Discover and propose: a patch and a plan, no side effect.
    #[serde(rename = "dta.propose")]
    DtaPropose {
        /// The adapter's name.
        tool: String,
        /// The invocation; `tool`, `version`, `mode`, `target.repo_path` and `constraints` are filled in.
        input: Value,
    },
    /// Applies a proposal and verifies it.
    #[serde(rename = "dta.apply")]
    DtaApply {
        /// The adapter's name.
        tool: String,
        /// What `dta.propose` returned, unaltered.
        proposal: Value,
    },
    /// Discover to verify in one call, by the invocation's `mode`.
    #[serde(rename = "dta.run")]
    DtaRun {
        /// The adapter's name.
        tool: String,
        /// The full invocation.
        input: Value,
    },
    /// What the gates say of a command.
    #[serde(rename = "gate.evaluate_command")]
    GateEvaluateCommand {
        /// The command.
        command: Command,
    },
    /// What the gates say of the use of a tool.
    #[serde(rename = "gate.evaluate_tool_use")]
    GateEvaluateToolUse {
        /// The tool.
        tool: String,
        /// What it is given.
        params: Value,
    },
    /// What the gates say of an edit.
    #[serde(rename = "gate.evaluate_edit")]
    GateEvaluateEdit {
        /// The file.
        path: String,
        /// What it is to hold.
        content: String,
        /// How many lines it changes; the host counts them itself and takes the larger number.
        diff_lines: u64,
    },
    /// Approval of a subject by a person or by policy.
    #[serde(rename = "gate.confirm")]
    GateConfirm {
        /// What is asked.
        label: String,
        /// What it is about: a proposal, or any value.
        subject: Value,
    },
    /// A policy assertion: the run is blocked if the condition is false.
    #[serde(rename = "gate.require")]
    GateRequire {
        /// What must hold.
        condition: bool,
        /// What to say if it does not.
        message: String,
    },
    /// Says which step begins.
    #[serde(rename = "ui.step")]
    UiStep {
        /// The step's name.
        label: String,
    },
    /// Starts a progress bar of `total` steps under a label.
    #[serde(rename = "ui.progress")]
    UiProgress {
        /// What is counted.
        label: String,
        /// How many there will be.
        total: u64,
    },
    /// Shows rows as a table.
    #[serde(rename = "ui.table")]
    UiTable {
        /// Maps with the same keys.
        rows: Vec<Value>,
    },
    /// Shows a value, a proposal or an adapter's output.
    #[serde(rename = "ui.show")]
    UiShow {
        /// What to show.
        value: Value,
    },
    /// Budgets, used and left.
    #[serde(rename = "run.budget")]
    RunBudget {},
    /// Metrics of the run so far.
    #[serde(rename = "run.metrics")]
    RunMetrics {},
    /// Records a metric that the script measured.
    #[serde(rename = "run.metric")]
    RunMetric {
        /// The metric's name.
        name: String,
        /// Its value, a number.
        value: Value,
    },
    /// Records a violation that the workflow found by itself.
    #[serde(rename = "run.record_violation")]
    RunViolation(Violation),
    /// A call that the program adds to those above.
    #[serde(rename = "custom")]
    Custom {
        /// The name that the program gave it, such as `tickets.create`.
        name: String,
        /// What its schema asks for.
        params: Value,
    },
}

/// A program that is to be run, with its arguments. No shell takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its name, which is looked for in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The folder of the workspace to run it in; none: the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables beside those that the policy passes on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long it may take, in milliseconds; none: as long as the policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What it reads; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Globs of the files that it may change; `!` excludes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// True if it has failed unless it ends with status 0: then nothing of what it changed stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// True if it is a test: a run whose tests did not all pass is told of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
}

/// Whether an application writes. On the wire `"dry-run"`, `"write"` or `{"write_backup": ".bak"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// Nothing is written; what would be refused is refused.
    #[default]
    #[serde(rename = "dry-run")]
    DryRun,
    /// The files are written.
    #[serde(rename = "write")]
    Write,
    /// The files are written, and what was there before stands beside them, under their names with this suffix.
    #[serde(rename = "write_backup")]
    WriteBackup(String),
}

/// A patch and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPatch {
    /// What messages call it, such as the name of its file.
    pub name: String,
    /// Its bytes.
    pub diff: Blob,
}

/// A file of a change that was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFile {
    /// The file.
    pub path: String,
    /// What it must be; null if it must not exist.
    pub before: Option<Stamp>,
    /// What it is to be; null if it is removed.
    pub after: Option<Stamp>,
    /// The change as a git diff of this file alone; empty if it only changes bits of the mode that git does not keep.
    pub diff: Blob,
}

/// Bytes: `{"text": …}` if they are UTF-8, else `{"base64": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Blob {
    /// UTF-8.
    #[serde(rename = "text")]
    Text(String),
    /// Base64 with padding.
    #[serde(rename = "base64")]
    Base64(String),
}

impl Blob {
    /// Wraps bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Blob::Text(text),
            Err(error) => Blob::Base64(STANDARD.encode(error.as_bytes())),
        }
    }

    /// The bytes; `invalid_input` if they are no base64.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>, Error> {
        match self {
            Blob::Text(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Blob::Base64(text) => STANDARD.decode(text).map(Cow::Owned).map_err(|error| {
                Error::new(Code::InvalidInput, format!("a diff is not base64: {error}"))
                    .hint("encode its bytes in base64 with padding, or give it as text if it is UTF-8")
            }),
        }
    }
}

impl Run {
    /// The program and its arguments.
    pub fn argv(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.args).cloned().collect()
    }
}

impl Call {
    /// True for the calls `apply.*`.
    pub fn applies(&self) -> bool {
        self.name().starts_with("apply.")
    }

    /// True for the calls `files.*`.
    pub fn reads(&self) -> bool {
        self.name().starts_with("files.")
    }

    /// The tool that the call uses, by which lists of tools and ledgers know it; none if it only reads, asks or tells.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Call::DtaDescribe { tool }
            | Call::DtaPropose { tool, .. }
            | Call::DtaApply { tool, .. }
            | Call::DtaRun { tool, .. } => Some(tool),
            Call::Custom { name, .. } => Some(name),
            _ => self.name().split_once('.').map(|(area, _)| area).filter(|area| TOOLS.contains(area)),
        }
    }

    /// The call's name, such as `files.read`.
    pub fn name(&self) -> &'static str {
        match self {
            Call::FilesGlob { .. } => "files.glob",
            Call::FilesRead { .. } => "files.read",
            Call::FilesExists { .. } => "files.exists",
            Call::FilesStat { .. } => "files.stat",
            Call::FilesSha256 { .. } => "files.sha256",
            Call::FilesGrep { .. } => "files.grep",
            Call::ApplyDiff { .. } => "apply.diff",
            Call::ApplyPlan { .. } => "apply.plan",
            Call::ApplyCreate { .. } => "apply.create",
            Call::ApplyRemove { .. } => "apply.remove",
            Call::ApplyRename { .. } => "apply.rename",
            Call::ApplyWrite { .. } => "apply.write",
            Call::ApplyPatch { .. } => "apply.patch",
            Call::ApplyPlanned { .. } => "apply.planned",
            Call::AttemptBegin {} => "attempt.begin",
            Call::AttemptEnd { .. } => "attempt.end",
            Call::CommitAdd { .. } => "commit.add",
            Call::ExecRun(_) => "exec.run",
            Call::LlmCapabilities { .. } => "llm.capabilities",
            Call::LlmComplete(_) => "llm.complete",
            Call::LlmStream(_) => "llm.stream",
            Call::PromptCompose(_) => "prompt.compose",
            Call::DtaList {} => "dta.list",
            Call::DtaDescribe { .. } => "dta.describe",
            Call::DtaPropose { .. } => "dta.propose",
            Call::DtaApply { .. } => "dta.apply",
            Call::DtaRun { .. } => "dta.run",
            Call::GateEvaluateCommand { .. } => "gate.evaluate_command",
            Call::GateEvaluateToolUse { .. } => "gate.evaluate_tool_use",
            Call::GateEvaluateEdit { .. } => "gate.evaluate_edit",
            Call::GateConfirm { .. } => "gate.confirm",
            Call::GateRequire { .. } => "gate.require",
            Call::UiStep { .. } => "ui.step",
            Call::UiProgress { .. } => "ui.progress",
            Call::UiTable { .. } => "ui.table",
            Call::UiShow { .. } => "ui.show",
            Call::RunBudget {} => "run.budget",
            Call::RunMetrics {} => "run.metrics",
            Call::RunMetric { .. } => "run.metric",
            Call::RunViolation(_) => "run.record_violation",
            Call::Custom { .. } => "custom",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_is_name_and_arguments() {
        let call = Call::FilesRead { path: "a".to_owned() };
        let wire = serde_json::json!({"name": "files.read", "args": {"path": "a"}});
        assert_eq!(serde_json::to_value(&call).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Call>(wire).unwrap(), call);
        assert_eq!(call.name(), "files.read");
        assert!(serde_json::from_value::<Call>(serde_json::json!({"name": "dta.list", "args": {"x": 1}})).is_err());
    }

    #[test]
    fn a_strategy_is_a_word_or_names_the_suffix() {
        let suffix = || ".bak".to_owned();
        for (strategy, wire) in [
            (Strategy::DryRun, serde_json::json!("dry-run")),
            (Strategy::Write, serde_json::json!("write")),
            (Strategy::WriteBackup(suffix()), serde_json::json!({"write_backup": ".bak"})),
        ] {
            assert_eq!(serde_json::to_value(&strategy).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Strategy>(wire).unwrap(), strategy);
        }
        let call = serde_json::json!({"name": "apply.plan", "args": {"plan": {}}});
        let Call::ApplyPlan { strategy, strict, .. } = serde_json::from_value(call).unwrap() else { panic!() };
        assert_eq!((strategy, strict), (Strategy::DryRun, false));
    }

    #[test]
    fn bytes_survive_as_text_or_base64() {
        for (bytes, wire) in
            [(&b"a"[..], serde_json::json!({"text": "a"})), (b"\xff", serde_json::json!({"base64": "/w=="}))]
        {
            let blob = Blob::new(bytes.to_vec());
            assert_eq!(serde_json::to_value(&blob).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Blob>(wire).unwrap().bytes().unwrap(), bytes);
        }
        assert_eq!(Blob::Base64("/w".to_owned()).bytes().unwrap_err().code(), Code::InvalidInput);
    }
}
