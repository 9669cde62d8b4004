//! Requests to language models, with the parts of the run that they use.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
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
pub(crate) struct Models {
    /// The providers that were asked for, by name.
    pub(crate) ready: BTreeMap<String, Provider>,
    /// Recorded replies that answer, or are recorded.
    pub(crate) tape: Option<(Tape, Arc<Cassettes>)>,
    /// Replies of a person, which answer in place of providers and are recorded.
    pub(crate) replies: Option<Arc<Replies>>,
    /// How often each request was made.
    pub(crate) counts: BTreeMap<Sha256, u64>,
    pub(crate) streams: Streams,
}

/// Requests to language models, with the parts of the run that they use.
pub(crate) struct Requests<'m, 'a> {
    pub(crate) run: &'m Terms<'a>,
    pub(crate) recorder: &'m mut Recorder<'a>,
    pub(crate) models: &'m mut Models,
    pub(crate) turn: &'m mut Turn,
    pub(crate) sink: &'m mut dyn Sink,
}
