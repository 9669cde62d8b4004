//! Events: what a record says happened, one struct a kind. A record holds them as canonical JSON.
//!
//! Writing is exact: what a struct does not have can't be recorded. Reading is lenient: members that an earlier release did not write
//! have defaults, members that a later one adds are passed over, and a kind of a later release is [`Event::Other`].

mod adapter;
mod call;
mod change;
mod command;
mod commitment;
mod confirmation;
mod model;
mod named;
mod parts;
mod read;
mod run;
#[cfg(test)]
mod samples;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Error, Value};

pub use self::{
    adapter::{DtaApplied, DtaFailed, DtaProposed, DtaStarted, DtaVerified, SourceFile},
    call::{AnsweredBy, Call, CallTimes, Checked, Cost, ExecTime, How, Intent, Prepared, Prompted, Settled},
    change::{AttemptPutBack, AttemptSetAside, FileRow, Judged, JudgedPatch, Revoked, Transaction, Undoing},
    command::{Confined, Confinement, ExecEnded, ExecStarted, ExecTimes, Output, Program, Ran},
    commitment::{CommitmentMade, CommitmentVerified, Maker, SeenTimes},
    confirmation::{Confirmation, Status},
    model::{LlmCassettes, LlmSeen, LlmSent, LlmTried, Reserved},
    named::named,
    parts::{Free, Shown, Stored},
    run::{
        Asked, AttemptCounts, Changes, Duration, Evaluation, Flags, Input, InputFailed, InputGiven, Place, Question,
        Ruling, RunEnd, RunInterrupted, RunResumed, RunStarted, StaleRead, StaleReads, State, WorkerStarted,
    },
};

/// The data of an event, and its form in a record.
trait Data: Serialize + DeserializeOwned {
    /// Returns the data that is compared between runs.
    fn data(&self) -> Result<Value, Error> {
        serde_json::to_value(self)
    }

    /// Returns the data that differs from run to run or from machine to machine.
    fn volatile(&self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    /// As it stands in a record.
    fn read(data: &str, _volatile: Option<&str>) -> Result<Self, Error> {
        read::read(data)
    }
}

/// Data without anything volatile.
macro_rules! plain {
    ($($type:ty),+ $(,)?) => { $(impl $crate::event::Data for $type {})+ };
}

/// Data with a field `volatile`, which is left out of what is compared.
macro_rules! with_volatile {
    ($($type:ty),+ $(,)?) => { $(
        impl $crate::event::Data for $type {
            fn volatile(&self) -> Result<serde_json::Value, serde_json::Error> {
                serde_json::to_value(&self.volatile)
            }

            fn read(data: &str, volatile: Option<&str>) -> Result<Self, serde_json::Error> {
                let mut read: Self = $crate::event::read::read(data)?;
                if let Some(volatile) = volatile {
                    read.volatile = $crate::event::read::read(volatile)?;
                }
                Ok(read)
            }
        }
    )+ };
}
use {plain, with_volatile};

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident: $variant:ident($type:ty);)+) => {
        /// The kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Kind] = &[$(Kind::$variant,)+];

            /// The name in records.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Kind::$variant => stringify!($name),)+
                }
            }
        }

        /// An event.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $($(#[doc = $doc])+ $variant(Box<$type>),)+
            /// An event of a later release, or one that can't be read.
            Other(Box<Other>),
        }

        impl Event {
            /// The kind; none if the event is of a later release, or can't be read.
            pub fn kind(&self) -> Option<Kind> {
                match self {
                    $(Event::$variant(_) => Some(Kind::$variant),)+
                    Event::Other(_) => None,
                }
            }

            $(
                /// The data of an event of this kind.
                pub fn $name(&self) -> Option<&$type> {
                    match self {
                        Event::$variant(data) => Some(data),
                        _ => None,
                    }
                }
            )+

            /// Returns the data that is compared between runs, as JSON.
            pub(super) fn data(&self) -> Result<Value, Error> {
                match self {
                    $(Event::$variant(data) => Data::data(data.as_ref()),)+
                    Event::Other(_) => Ok(Value::Null),
                }
            }

            /// Returns the data that differs from run to run or from machine to machine, as JSON.
            pub(super) fn volatile(&self) -> Result<Value, Error> {
                match self {
                    $(Event::$variant(data) => Data::volatile(data.as_ref()),)+
                    Event::Other(_) => Ok(Value::Null),
                }
            }

            /// The event of a record.
            pub(super) fn read(kind: &str, data: &str, volatile: Option<&str>) -> Self {
                let read = match kind {
                    $(stringify!($name) => Data::read(data, volatile).map(|data| Event::$variant(Box::new(data))),)+
                    _ => return Event::Other(Box::new(Other { kind: kind.to_owned(), unreadable: None })),
                };
                read.unwrap_or_else(|error| {
                    Event::Other(Box::new(Other { kind: kind.to_owned(), unreadable: Some(error.to_string()) }))
                })
            }
        }
    };
}

/// An event that this release does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The kind in the record.
    pub kind: String,
    /// The reason why it can't be read, if this release knows the kind.
    pub unreadable: Option<String>,
}

events! {
    /// The run started.
    run_started: RunStarted(RunStarted);
    /// The run goes on.
    run_resumed: RunResumed(RunResumed);
    /// The script's process started.
    worker_started: WorkerStarted(WorkerStarted);
    /// A text of a session is about to be evaluated.
    input: Input(InputGiven);
    /// The text before it did not end well.
    input_failed: InputFailed(InputFailed);
    /// A call was answered.
    call: Call(Call);
    /// A call that may have an effect is about to be answered.
    intent: Intent(Intent);
    /// The reply of a call was prepared; it is valid as soon as its transaction stands.
    prepared: Prepared(Prepared);
    /// A change was read back and is what was written.
    checked: Checked(Checked);
    /// A call was settled that was being answered when the run died.
    settled: Settled(Settled);
    /// A command is started.
    exec_started: ExecStarted(ExecStarted);
    /// A command ended.
    exec_ended: ExecEnded(ExecEnded);
    /// Recorded replies of models are used.
    llm_cassettes: LlmCassettes(LlmCassettes);
    /// A request goes to a model.
    llm_sent: LlmSent(LlmSent);
    /// A request is tried.
    llm_tried: LlmTried(LlmTried);
    /// A script has seen a part of a stream.
    llm_seen: LlmSeen(LlmSeen);
    /// Gates judged a change.
    judged: Judged(Judged);
    /// An adapter begins to look.
    dta_started: DtaStarted(DtaStarted);
    /// An adapter proposed a change.
    dta_proposed: DtaProposed(DtaProposed);
    /// A proposal was written.
    dta_applied: DtaApplied(DtaApplied);
    /// A verifier judged a proposal or a change.
    dta_verified: DtaVerified(DtaVerified);
    /// An adapter's call failed.
    dta_failed: DtaFailed(DtaFailed);
    /// The run waits for a confirmation.
    confirmation_pending: ConfirmationPending(Confirmation);
    /// A confirmation was granted.
    confirmation_granted: ConfirmationGranted(Confirmation);
    /// A confirmation was refused.
    confirmation_refused: ConfirmationRefused(Confirmation);
    /// The action that a confirmation grants was begun.
    confirmation_used: ConfirmationUsed(Confirmation);
    /// A commitment was made.
    commitment_made: CommitmentMade(CommitmentMade);
    /// A commitment was looked at.
    commitment_verified: CommitmentVerified(CommitmentVerified);
    /// A change was written.
    committed: Committed(Transaction);
    /// Changes are about to be taken back.
    undoing: Undoing(Undoing);
    /// Files were brought back.
    undone: Undone(Transaction);
    /// A change that a crash left open was undone.
    undone_after_crash: UndoneAfterCrash(Transaction);
    /// A change that could not be recorded was taken back.
    revoked: Revoked(Revoked);
    /// The changes of an open attempt are about to be set aside.
    attempt_set_aside: AttemptSetAside(AttemptSetAside);
    /// The changes of an open attempt are about to be put back.
    attempt_put_back: AttemptPutBack(AttemptPutBack);
    /// The run is over.
    run_finished: RunFinished(RunEnd);
    /// The run waits.
    run_suspended: RunSuspended(RunEnd);
    /// The run's process had died.
    run_interrupted: RunInterrupted(RunInterrupted);
}

impl Event {
    /// The name of its kind.
    pub fn name(&self) -> &str {
        match self {
            Event::Other(other) => &other.kind,
            known => known.kind().map_or("", Kind::as_str),
        }
    }

    /// The reason why it can't be read, if this release knows its kind.
    pub fn unreadable(&self) -> Option<&str> {
        match self {
            Event::Other(other) => other.unreadable.as_deref(),
            _ => None,
        }
    }

    /// Returns the end of a session that stopped by itself.
    pub fn end(&self) -> Option<&RunEnd> {
        self.run_finished().or(self.run_suspended())
    }

    /// A change of files that was written: by a call, or to bring files back.
    pub fn moved(&self) -> Option<&Transaction> {
        self.committed().or(self.undone())
    }

    /// Returns the confirmation of the event with its new status.
    pub fn confirmation(&self) -> Option<(Status, &Confirmation)> {
        match self {
            Event::ConfirmationPending(data) => Some((Status::Pending, data)),
            Event::ConfirmationGranted(data) => Some((Status::Granted, data)),
            Event::ConfirmationRefused(data) => Some((Status::Refused, data)),
            Event::ConfirmationUsed(data) => Some((Status::Used, data)),
            _ => None,
        }
    }

    /// The transaction that the event is about.
    pub fn transaction(&self) -> Option<&str> {
        match self {
            Event::Committed(data) | Event::Undone(data) | Event::UndoneAfterCrash(data) => Some(&data.transaction),
            Event::Revoked(data) => Some(&data.transaction),
            Event::Undoing(data) => Some(&data.transaction),
            Event::AttemptSetAside(data) => Some(&data.transaction),
            Event::AttemptPutBack(data) => Some(&data.transaction),
            Event::Prepared(data) => Some(&data.transaction),
            Event::Checked(data) => Some(&data.transaction),
            Event::DtaApplied(data) => data.transaction.as_deref(),
            _ => None,
        }
    }

    /// True for the kinds from which changes are undone: if they name a secret, the pack holds their exact data.
    pub fn is_exact(&self) -> bool {
        is_exact(self.name())
    }
}

/// See [`Event::is_exact`].
pub(super) fn is_exact(kind: &str) -> bool {
    [Kind::Committed, Kind::Undone, Kind::UndoneAfterCrash, Kind::Revoked].iter().any(|exact| exact.as_str() == kind)
}
