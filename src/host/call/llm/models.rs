//! Requests to language models, with the parts of the run that they use.

use std::{collections::BTreeMap, sync::Arc};

use crate::host::{
    Sink,
    call::llm::{provider::Provider, streams::Streams, tape::Tape},
    recorder::Recorder,
    terms::Terms,
    turn::Turn,
};
use base::hash::Sha256;
use llm::{Cassettes, Replies};

/// Who answers requests of a run, and what is on its way.
#[derive(Default)]
pub(in crate::host) struct Models {
    /// The providers that were asked for, by name.
    pub(in crate::host) ready: BTreeMap<String, Provider>,
    /// Recorded replies that answer, or are recorded.
    pub(in crate::host) tape: Option<(Tape, Arc<Cassettes>)>,
    /// Replies of a person, which answer in place of providers and are recorded.
    pub(in crate::host) replies: Option<Arc<Replies>>,
    /// How often each request was made.
    pub(in crate::host) counts: BTreeMap<Sha256, u64>,
    pub(in crate::host) streams: Streams,
}

/// Requests to language models, with the parts of the run that they use.
pub(in crate::host) struct Requests<'m, 'a> {
    pub(in crate::host) run: &'m Terms<'a>,
    pub(in crate::host) recorder: &'m mut Recorder<'a>,
    pub(in crate::host) models: &'m mut Models,
    pub(in crate::host) turn: &'m mut Turn,
    pub(in crate::host) sink: &'m mut dyn Sink,
}
