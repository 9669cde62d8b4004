//! Events and questions of a run while it goes on. Faces implement [`Sink`]; the library never prints.

use serde::Serialize;
use serde_json::Value;

use super::{Commitment, agents::Agent};
use adapter::Work;
use base::{
    call::Blob,
    diff::{Replacement, Stat},
    hash::Sha256,
};
use gate::GateResult;
use llm::Usage;

/// Something that a run tells.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has a record now.
    RunStarted {
        /// Its id.
        run: String,
    },
    /// A step begins.
    Step {
        /// Its name.
        label: String,
    },
    /// Work of a known size goes on.
    Progress {
        /// The label, which names the unit of the count.
        label: String,
        /// How many are done.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// Rows to be shown as a table.
    Table {
        /// Maps.
        rows: Vec<Value>,
    },
    /// A value to be shown.
    Show {
        /// The value.
        value: Value,
    },
    /// A file to be shown as it is.
    ShowFile {
        /// The file.
        path: String,
        /// The hash of what is shown.
        sha256: Sha256,
        /// True if this is what a dry run proposes, and not what is on the disk.
        proposed: bool,
        /// Its bytes.
        #[serde(flatten)]
        content: Blob,
    },
    /// The reply of a model, to be shown as it was received.
    ShowReply {
        /// The text.
        text: String,
        /// The model that says to have answered.
        model: String,
        /// The provider, if that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// A label that states the origin of the reply, such as `authored`.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// A line that the script printed.
    Print {
        /// The line.
        text: String,
    },
    /// A change by `apply.*` was made.
    Applied {
        /// How many files changed.
        files: usize,
        /// False in a dry run, or if only a preview was asked for.
        written: bool,
    },
    /// A command is about to start.
    CommandStarted {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// A command has ended, with all that it started.
    CommandEnded {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The exit code; none if a signal ended it.
        status: Option<i32>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// The last lines of its output if it failed, for people.
        #[serde(skip)]
        output: Option<String>,
    },
    /// A model was asked.
    ModelAsked {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
    },
    /// A model has answered, or why it has not.
    ModelAnswered {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// The tokens, as far as the server tells.
        usage: Usage,
        /// Why there is no reply.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Where the reply comes from, if not from a model: `authored`.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// True if it was recorded before.
        recorded: bool,
    },
    /// An adapter started.
    DtaStarted {
        /// Its name.
        tool: String,
    },
    /// An adapter is at work on many files. How often this is told depends on how long it takes.
    DtaProgress {
        /// Its name.
        tool: String,
        /// The phase of its work.
        phase: Work,
        /// How many files or questions are done.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// An adapter proposed a change.
    DtaProposed {
        /// Its name.
        tool: String,
        /// The proposal's id.
        proposal: String,
        /// How many files would change.
        files: usize,
        /// The first words that would become others, without secrets.
        replacements: Vec<Replacement>,
    },
    /// An adapter's change was applied.
    DtaApplied {
        /// Its name.
        tool: String,
        /// How many files changed.
        files: usize,
    },
    /// An adapter's change was verified.
    DtaVerified {
        /// Its name.
        tool: String,
        /// The output of the adapter.
        output: Value,
        /// The numbers that the verifier counted.
        after: Value,
    },
    /// An adapter failed.
    DtaFailed {
        /// Its name.
        tool: String,
        /// Why.
        reason: String,
    },
    /// A commitment was looked at.
    CommitmentVerified {
        /// The commitment, with the result.
        commitment: Commitment,
    },
    /// An agent was summoned.
    AgentSummoned {
        /// The agent.
        agent: Agent,
    },
    /// An agent works.
    AgentWorking {
        /// The agent.
        agent: Agent,
    },
    /// An agent says that it is done, and its commitments are looked at.
    AgentVerifying {
        /// The agent.
        agent: Agent,
    },
    /// An agent is done, or has finished without a commitment.
    AgentDone {
        /// The agent.
        agent: Agent,
    },
    /// The run has ended before an agent was done.
    AgentFailed {
        /// The agent.
        agent: Agent,
    },
    /// An agent was dismissed.
    AgentDismissed {
        /// The agent.
        agent: Agent,
    },
    /// A gate has something to say that does not stop the run.
    Warning {
        /// The result of the gate.
        result: GateResult,
    },
    /// A sentence for people.
    Notice {
        /// The sentence.
        text: String,
    },
}

/// A question to a person.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    /// The confirmation's id, such as `c1`.
    pub id: String,
    /// The text of the question.
    pub label: String,
    /// The subject: a proposal's summary or a value.
    pub subject: Value,
    /// The files of the subject's change, with lines added and removed.
    pub files: Vec<Stat>,
    /// The change as a unified diff; empty if the subject is no change.
    #[serde(skip)]
    pub patch: Vec<u8>,
    /// True if it may be answered with [`Answer::All`].
    #[serde(skip)]
    pub may_all: bool,
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Yes,
    /// Go on, with all of this kind that are still to come in this run too; as [`Answer::Yes`] where that may not be said.
    All,
    /// Don't.
    No,
    /// There is no person.
    Nobody,
}

/// Takes what a run tells and asks a person.
pub trait Sink {
    /// Something happened.
    fn event(&mut self, event: Event);

    /// Asks a person. No lock is held meanwhile.
    fn ask(&mut self, question: &Question) -> Answer;

    /// True if a person is there who answers at once. They are asked for changes that a script does not ask for itself.
    fn is_attended(&self) -> bool {
        false
    }

    /// Asks a person whether the programs of a policy may be started, of which `starts` of the subject tells. Only they can say so: whoever
    /// answers everything with yes does not answer this.
    fn ask_trust(&mut self, _question: &Question) -> Answer {
        Answer::Nobody
    }
}

/// Tells nobody, asks nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Sink for Silent {
    fn event(&mut self, _event: Event) {}

    fn ask(&mut self, _question: &Question) -> Answer {
        Answer::Nobody
    }
}
