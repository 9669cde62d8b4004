//! Events of calls: what was asked, decided and answered.

use serde::{Deserialize, Serialize};

use super::parts::{Free, Shown, Stored, is_zero, present};
use base::{
    error::{Code, Error},
    named::named,
    verdict::{Decision, GateResult},
};

/// A call was answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The name of the call.
    pub call: String,
    /// Its arguments.
    pub args: Stored,
    /// The decision of the gates.
    pub decision: Decision,
    /// The gates that object or remark.
    pub results: Vec<Shown<GateResult>>,
    /// The amounts that the call took of the budgets; none if they are all zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The prompt that `prompt.compose` made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompted>,
    /// Who gave a model's reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnsweredBy>,
    /// The code of the error with which a stream ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Code>,
    /// The reply, without what differs each time.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reply: Option<Stored>,
    /// The error, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The exact error, if the one above lacks a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_exact: Option<Stored>,
    /// The data that differs from run to run.
    #[serde(skip)]
    pub volatile: CallTimes,
}

/// The amounts that a call took of the budgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Files that the run had not changed before.
    #[serde(skip_serializing_if = "is_zero")]
    pub files: u64,
    /// Lines added and removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub diff_lines: u64,
    /// Bytes written.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Milliseconds of programs.
    #[serde(skip_serializing_if = "is_zero")]
    pub exec_ms: u64,
    /// Tokens of models.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost: u64,
    /// Calls of tools of MCP servers.
    #[serde(skip_serializing_if = "is_zero")]
    pub mcp: u64,
}

impl Cost {
    /// The amounts that are not zero, by name.
    pub fn amounts(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let Cost { files, diff_lines, bytes, exec_ms, tokens, cost, mcp } = *self;
        let all = [
            ("files", files),
            ("diff_lines", diff_lines),
            ("bytes", bytes),
            ("exec_ms", exec_ms),
            ("tokens", tokens),
            ("cost", cost),
            ("mcp", mcp),
        ];
        all.into_iter().filter(|(_, amount)| *amount > 0)
    }
}

/// The hash and the length of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompted {
    /// Its hash.
    pub sha256: String,
    /// Its length in tokens, about.
    pub tokens: u64,
}

/// Who gave a model's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnsweredBy {
    /// The provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `cassette` if the reply was recorded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The label of the recorded reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl AnsweredBy {
    /// True if the reply was recorded before.
    pub fn is_recorded(&self) -> bool {
        self.from.as_deref() == Some(super::model::CASSETTE)
    }
}

/// The data of a call that differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallTimes {
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The time that programs took of the budgets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ExecTime>,
    /// The parts of the reply that differ each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Free>,
}

/// How long programs ran for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecTime {
    /// Milliseconds.
    pub exec_ms: u64,
}

impl Call {
    /// Returns the amounts that the call took of the budgets, the time of commands included.
    pub fn whole_cost(&self) -> Cost {
        let cost = self.cost.unwrap_or_default();
        let exec_ms = match self.volatile.cost {
            Some(apart) if cost.exec_ms == 0 => apart.exec_ms,
            _ => cost.exec_ms,
        };
        Cost { exec_ms, ..cost }
    }

    /// The results of gates, without those that lack what a rule on secrets took out.
    pub fn gate_results(&self) -> impl Iterator<Item = &GateResult> {
        self.results.iter().filter_map(Shown::exact)
    }
}

/// A call that may have an effect is about to be answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Intent {
    /// The name of the call.
    pub call: String,
    /// Its arguments, where the record would not say them otherwise.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub args: Option<Stored>,
}

/// The reply of a call of `apply.*`, valid as soon as its transaction stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prepared {
    /// The transaction.
    pub transaction: String,
    /// The reply.
    pub reply: Stored,
}

/// Every file of a change was read back and is what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// The transaction.
    pub transaction: String,
    /// How many files.
    pub files: u64,
}

/// How a call was settled that was being answered when the run died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// How.
    pub how: How,
}

named! {
    /// How a call was settled.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum How {
        /// Its change stands.
        Stands = "stands",
        /// It is made again.
        MadeAgain = "made_again",
        /// A person says that it took effect.
        TakenAsDone = "taken_as_done",
    }
}

super::plain!(Intent, Prepared, Checked, Settled);
super::with_volatile!(Call);
