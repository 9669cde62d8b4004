//! The place of a call in a replay, and why a replay goes no further.

use serde_json::Value;

use crate::{
    Position,
    replay::divergence::{Divergence, Parting},
};
use base::{
    call::Call,
    error::{Error, Location},
};

/// Where a call is made.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) position: &'p Position,
    pub(super) at: Option<&'p Location>,
    pub(super) call: &'p Call,
}

/// Why a replay goes no further.
#[derive(Debug)]
pub(super) enum Stop {
    Diverged(Box<Divergence>),
    Open,
    LeftOut,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

pub(super) fn parted(kind: Parting, reason: impl Into<String>, expected: Value, actual: Value) -> Stop {
    Stop::Diverged(Box::new(Divergence::new(kind, reason, expected, actual)))
}
