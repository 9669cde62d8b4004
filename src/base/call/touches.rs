//! The resources that a call reaches: what it reads, writes, starts, uses and sends. Gates judge these, and no gate lists calls.

use serde_json::Value;

use super::{Ask, Call, Run};

/// The resources that a call reaches, apart from the run itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touches<'a> {
    /// The paths that it names and reads; none if it can't name any. Calls with globs read the listing of `workspace`, which asks the
    /// policy file by file. A displayed value is a path only if it may be read.
    pub reads: Option<Vec<&'a str>>,
    /// True if it changes files of the tree itself; a program that it starts may change some, too.
    pub writes: bool,
    /// The program that it starts.
    pub starts: Option<&'a Run>,
    /// The adapter that it uses.
    pub adapter: Option<Used<'a>>,
    /// The provider of language models that it asks.
    pub model: Option<Asked<'a>>,
    /// The call of an embedding program that it makes.
    pub custom: Option<Made<'a>>,
}

impl Touches<'_> {
    /// True if the call may have an effect: it writes, starts a program, or sends something.
    pub fn acts(&self) -> bool {
        self.writes
            || self.starts.is_some()
            || self.custom.is_some()
            || self.model.is_some_and(|asked| asked.sends.is_some())
    }
}

/// An adapter that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used<'a> {
    /// Its name.
    pub name: &'a str,
    /// The invocation that it is given; none if it only describes itself, or applies what it proposed.
    pub input: Option<&'a Value>,
}

/// A provider of language models that is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked<'a> {
    /// The provider that the call names.
    pub provider: Option<&'a str>,
    /// The request that is sent; none if the call only asks for the provider's capabilities.
    pub sends: Option<&'a Ask>,
}

/// A call of an embedding program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Made<'a> {
    /// Its name.
    pub name: &'a str,
    /// The parameters that it is given.
    pub params: &'a Value,
}

impl Call {
    /// The resources that it reaches.
    pub fn touches(&self) -> Touches<'_> {
        let none = Touches::default();
        match self {
            Call::FilesRead { path }
            | Call::FilesExists { path }
            | Call::FilesStat { path }
            | Call::FilesSha256 { path } => Touches { reads: Some(vec![path]), ..none },
            Call::PromptCompose(parts) => {
                // A prompt for a model is compared with the model's capabilities.
                let asked = Asked { provider: parts.provider.as_deref(), sends: None };
                let model = parts.is_for_a_model().then_some(asked);
                Touches { reads: Some(parts.paths().collect()), model, ..none }
            }
            Call::ApplyDiff { .. }
            | Call::ApplyPlan { .. }
            | Call::ApplyCreate { .. }
            | Call::ApplyRemove { .. }
            | Call::ApplyRename { .. }
            | Call::ApplyWrite { .. }
            | Call::ApplyPatch { .. }
            | Call::ApplyPlanned { .. } => Touches { writes: true, ..none },
            Call::EditMake(edit) => Touches { reads: Some(vec![&edit.path]), writes: true, ..none },
            Call::DtaDescribe { .. } | Call::DtaPropose { .. } => Touches { adapter: self.adapter(), ..none },
            Call::DtaApply { .. } | Call::DtaRun { .. } => Touches { writes: true, adapter: self.adapter(), ..none },
            Call::ExecRun(run) => Touches { starts: Some(run), ..none },
            Call::LlmCapabilities { provider } => {
                Touches { model: Some(Asked { provider: provider.as_deref(), sends: None }), ..none }
            }
            Call::LlmComplete(ask) | Call::LlmStream(ask) => {
                Touches { model: Some(Asked { provider: ask.provider.as_deref(), sends: Some(ask) }), ..none }
            }
            Call::Custom { name, params } => Touches { custom: Some(Made { name, params }), ..none },
            #[rustfmt::skip]
            Call::FilesGlob { .. } | Call::FilesGrep { .. } | Call::CodeFind(_) | Call::EditFind(_) | Call::DtaList {}
            | Call::GateEvaluateCommand { .. } | Call::GateEvaluateToolUse { .. } | Call::GateEvaluateEdit { .. }
            | Call::GateConfirm { .. } | Call::GateRequire { .. } | Call::UiStep { .. } | Call::UiProgress { .. }
            | Call::UiTable { .. } | Call::UiShow { .. } | Call::RunBudget {} | Call::RunMetrics {} | Call::RunMetric { .. }
            | Call::RunViolation(_) | Call::McpTools { .. } | Call::AttemptBegin {} | Call::AttemptEnd { .. } | Call::AgentSummon(_) | Call::AgentList {}
            | Call::AgentGet { .. } | Call::AgentCommit { .. } | Call::AgentReport { .. } | Call::AgentDismiss { .. }
            | Call::AgentAct { .. } | Call::AgentRest { .. } | Call::DagBegin { .. } | Call::DagEnter { .. }
            | Call::DagLeave { .. } | Call::DagEnd { .. } | Call::CommitAdd { .. } => none,
        }
    }

    /// The adapter that it uses.
    fn adapter(&self) -> Option<Used<'_>> {
        match self {
            Call::DtaPropose { tool, input } | Call::DtaRun { tool, input } => {
                Some(Used { name: tool, input: Some(input) })
            }
            Call::DtaDescribe { tool } | Call::DtaApply { tool, proposal: _ } => Some(Used { name: tool, input: None }),
            _ => None,
        }
    }
}
