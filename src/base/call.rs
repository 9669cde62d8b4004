//! Host calls with their arguments: the wire form, and the form in records.
//!
//! Scripts, the command line and embedders make calls; `Host::perform` answers them. A new call is a variant here, a
//! service, a binding and a row of tests.

mod agent;
mod ask;
mod graph;
mod mcp;
mod node;
mod patch;
mod run;
mod search;
mod touches;
mod violation;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    agent::{Model, Promise, STANDARD_TOOLS, Spending, Summon},
    ask::{Ask, Parts},
    graph::check_nodes,
    mcp::{call_name, tool_of_call},
    node::{Needs, Node, NodeState, Work},
    patch::{Blob, LineEnds, NamedPatch, PlannedFile, Strategy},
    run::Run,
    search::Search,
    touches::{Asked, Made, Touches, Used},
    violation::{Severity, Violation},
};
use crate::micro::{Edit, Find};

/// The calls that are tools by the first word of their names.
const TOOLS: &[&str] = &["apply", "exec", "llm"];

/// The command that a gate evaluates: its words, or a line for a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// The program and its arguments.
    Argv(Vec<String>),
    /// A line for a shell.
    Line(String),
}

/// A request to the host. The wire form is `{"name": "files.read", "args": {"path": "a.html"}}`.
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
    /// Nodes of code that match a pattern or a rule.
    #[serde(rename = "code.find")]
    CodeFind(Box<Search>),
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
        /// The mode: a dry run, a write, or a write with backups.
        #[serde(default)]
        strategy: Strategy,
        /// The line ends of its lines.
        #[serde(default, skip_serializing_if = "LineEnds::is_diff")]
        line_ends: LineEnds,
    },
    /// Applies the diffs of a plan in their order, all or none.
    #[serde(rename = "apply.plan")]
    ApplyPlan {
        /// `{"diffs": [{"path", "checksum"?, "unified_diff" | "unified_diff_b64", "line_ends"?}], "post"?}`.
        plan: Value,
        /// The mode: a dry run, a write, or a write with backups.
        #[serde(default)]
        strategy: Strategy,
        /// True if every hunk must apply exactly at the position in its header.
        #[serde(default)]
        strict: bool,
    },
    /// Creates a file where none exists.
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
        /// Its new path, where no file may exist.
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
        /// The number of leading path components to remove; if none, `a/` and `b/` if both sides have them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strip: Option<usize>,
        /// True if the patches are reversed, each from its last file to its first.
        #[serde(default)]
        reverse: bool,
        /// True if the line counts of hunk headers are computed again.
        #[serde(default)]
        recount: bool,
        /// True if every hunk must apply exactly at the position in its header, and a patch may hold diffs only.
        #[serde(default)]
        strict: bool,
        /// The mode: a dry run, a write, or a write with backups.
        #[serde(default)]
        strategy: Strategy,
        /// The line ends of its lines.
        #[serde(default, skip_serializing_if = "LineEnds::is_diff")]
        line_ends: LineEnds,
    },
    /// Makes exactly the change that was planned: every file from one known content to another.
    #[serde(rename = "apply.planned")]
    ApplyPlanned {
        /// The files, each once.
        files: Vec<PlannedFile>,
    },
    /// Targets of micro-edits, as handles.
    #[serde(rename = "edit.find")]
    EditFind(Box<Find>),
    /// Makes one micro-edit.
    #[serde(rename = "edit.make")]
    EditMake(Box<Edit>),
    /// The tools of an MCP server that the policy names.
    #[serde(rename = "mcp.tools")]
    McpTools {
        /// The server's name in the policy.
        server: String,
    },
    /// Begins an attempt: its changes are kept or undone together at its end.
    #[serde(rename = "attempt.begin")]
    AttemptBegin {},
    /// Ends the innermost attempt.
    #[serde(rename = "attempt.end")]
    AttemptEnd {
        /// True if its changes stay.
        keep: bool,
    },
    /// Begins a graph of nodes, each of which has a branch of its own in the record.
    #[serde(rename = "dag.begin")]
    DagBegin {
        /// The nodes, each id once.
        nodes: Vec<Node>,
    },
    /// Begins a node of the innermost graph.
    #[serde(rename = "dag.enter")]
    DagEnter {
        /// The node.
        node: String,
    },
    /// Ends the node that was begun last.
    #[serde(rename = "dag.leave")]
    DagLeave {
        /// The state that it reached.
        state: NodeState,
        /// The reason if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Ends the innermost graph.
    #[serde(rename = "dag.end")]
    DagEnd {
        /// The nodes that were not begun, each with the reason.
        blocked: BTreeMap<String, String>,
    },
    /// Summons an agent.
    #[serde(rename = "agent.summon")]
    AgentSummon(Box<Summon>),
    /// The agents that live.
    #[serde(rename = "agent.list")]
    AgentList {},
    /// One agent.
    #[serde(rename = "agent.get")]
    AgentGet {
        /// Its id.
        id: String,
    },
    /// Adds a commitment to an agent: it is done only if all of its commitments hold.
    #[serde(rename = "agent.commit")]
    AgentCommit {
        /// The agent.
        id: String,
        /// The commitment.
        commitment: Promise,
    },
    /// Says that an agent is done: all of its commitments are looked at.
    #[serde(rename = "agent.report")]
    AgentReport {
        /// The agent.
        id: String,
    },
    /// Dismisses an agent, with those that it has summoned.
    #[serde(rename = "agent.dismiss")]
    AgentDismiss {
        /// The agent.
        id: String,
    },
    /// Makes the calls that follow those of an agent.
    #[serde(rename = "agent.act")]
    AgentAct {
        /// The agent.
        id: String,
    },
    /// Ends the calls of the agent that acts.
    #[serde(rename = "agent.rest")]
    AgentRest {
        /// The reason for which it stopped.
        ended: String,
    },
    /// Adds a commitment: the run succeeds only if all its commitments hold.
    #[serde(rename = "commit.add")]
    CommitAdd {
        /// The promise, in words.
        description: String,
        /// The assertion that proves it.
        assertion: Value,
        /// The time limit of the check, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// Runs a program on a view of the tree. Its changes there are checked and committed like any other change.
    #[serde(rename = "exec.run")]
    ExecRun(Box<Run>),
    /// The capabilities of a provider of language models.
    #[serde(rename = "llm.capabilities")]
    LlmCapabilities {
        /// The provider; if none, the default provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    },
    /// Sends a request to a model, and waits for its reply.
    #[serde(rename = "llm.complete")]
    LlmComplete(Box<Ask>),
    /// Sends a request to a model. The events of its reply can be read as they arrive.
    #[serde(rename = "llm.stream")]
    LlmStream(Box<Ask>),
    /// Composes a prompt from its parts.
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
        /// The reply of `dta.propose`, unaltered.
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
    /// The verdict of the gates on a command.
    #[serde(rename = "gate.evaluate_command")]
    GateEvaluateCommand {
        /// The command.
        command: Command,
    },
    /// The verdict of the gates on the use of a tool.
    #[serde(rename = "gate.evaluate_tool_use")]
    GateEvaluateToolUse {
        /// The tool.
        tool: String,
        /// The tool's arguments.
        params: Value,
    },
    /// The verdict of the gates on an edit.
    #[serde(rename = "gate.evaluate_edit")]
    GateEvaluateEdit {
        /// The file.
        path: String,
        /// The new content of the file.
        content: String,
        /// The number of lines that it changes; the host counts them itself and takes the larger number.
        diff_lines: u64,
    },
    /// Approval of a subject by a person or by policy.
    #[serde(rename = "gate.confirm")]
    GateConfirm {
        /// The question.
        label: String,
        /// The subject of the question: a proposal, or any value.
        subject: Value,
    },
    /// A policy assertion: the run is blocked if the condition is false.
    #[serde(rename = "gate.require")]
    GateRequire {
        /// The condition.
        condition: bool,
        /// The message if the condition is false.
        message: String,
    },
    /// Announces the next step.
    #[serde(rename = "ui.step")]
    UiStep {
        /// The step's name.
        label: String,
    },
    /// Starts a progress bar of `total` steps under a label.
    #[serde(rename = "ui.progress")]
    UiProgress {
        /// The name of the items counted.
        label: String,
        /// The total.
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
        /// The value.
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
    /// A call that the program adds to those above, or a tool of an MCP server.
    #[serde(rename = "custom")]
    Custom {
        /// The name that the program gave it, such as `tickets.create`; of a tool `mcp.SERVER.TOOL`.
        name: String,
        /// The parameters, by the call's schema.
        params: Value,
    },
}

impl Call {
    /// True for the calls `apply.*`.
    pub fn applies(&self) -> bool {
        self.name().starts_with("apply.")
    }

    /// True for the calls whose arguments hold texts of files.
    pub fn holds_contents(&self) -> bool {
        self.applies() || matches!(self, Call::EditFind(_) | Call::EditMake(_))
    }

    /// True for the calls `files.*`.
    pub fn reads(&self) -> bool {
        self.name().starts_with("files.")
    }

    /// The tool that the call uses, as lists of tools and ledgers name it; none if it only reads, asks or reports.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Call::DtaDescribe { tool }
            | Call::DtaPropose { tool, .. }
            | Call::DtaApply { tool, .. }
            | Call::DtaRun { tool, .. } => Some(tool),
            Call::Custom { name, .. } => Some(name),
            Call::EditMake(edit) => Some(edit.tool.as_str()),
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
            Call::CodeFind(_) => "code.find",
            Call::ApplyDiff { .. } => "apply.diff",
            Call::ApplyPlan { .. } => "apply.plan",
            Call::ApplyCreate { .. } => "apply.create",
            Call::ApplyRemove { .. } => "apply.remove",
            Call::ApplyRename { .. } => "apply.rename",
            Call::ApplyWrite { .. } => "apply.write",
            Call::ApplyPatch { .. } => "apply.patch",
            Call::ApplyPlanned { .. } => "apply.planned",
            Call::EditFind(_) => "edit.find",
            Call::EditMake(_) => "edit.make",
            Call::McpTools { .. } => "mcp.tools",
            Call::AttemptBegin {} => "attempt.begin",
            Call::AttemptEnd { .. } => "attempt.end",
            #[rustfmt::skip]
            Call::DagBegin { .. } | Call::DagEnter { .. } | Call::DagLeave { .. } | Call::DagEnd { .. } => self.graph_name(),
            Call::AgentSummon(_) => "agent.summon",
            Call::AgentList {} => "agent.list",
            Call::AgentGet { .. } => "agent.get",
            Call::AgentCommit { .. } => "agent.commit",
            Call::AgentReport { .. } => "agent.report",
            Call::AgentDismiss { .. } => "agent.dismiss",
            Call::AgentAct { .. } => "agent.act",
            Call::AgentRest { .. } => "agent.rest",
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
        assert_eq!(Blob::Base64("/w".to_owned()).bytes().unwrap_err().code(), crate::error::Code::InvalidInput);
    }
}
