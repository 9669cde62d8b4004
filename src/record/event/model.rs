//! Events of language models: recorded replies, requests, tries, parts of streams.

use serde::{Deserialize, Serialize};

use super::parts::{Shown, Stored};
use base::{error::Error, hash::Sha256};

/// The value of `from` for a reply that was recorded before.
pub(super) const CASSETTE: &str = "cassette";

/// Recorded replies of models are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmCassettes {
    /// The mode in which they are used, as the policy names it.
    pub mode: String,
    /// Their folder.
    pub folder: String,
    /// How many files.
    pub files: u64,
}

/// A request goes to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmSent {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The request's key, the name of its recorded reply.
    pub request: String,
    /// The most that it may take of the budgets.
    pub reserved: Reserved,
    /// The hash of the schema as it is sent.
    pub wire_schema_sha256: Option<Shown<Sha256>>,
    /// `cassette` if its reply was recorded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl LlmSent {
    /// The value of `from` for a reply that was recorded before, or not.
    pub fn source(is_recorded: bool) -> Option<String> {
        is_recorded.then(|| CASSETTE.to_owned())
    }

    /// True if its reply was recorded before.
    pub fn is_recorded(&self) -> bool {
        self.from.as_deref() == Some(CASSETTE)
    }
}

/// The most that a request may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reserved {
    /// Tokens, in and out.
    pub tokens: u64,
    /// Money, in millionths.
    pub cost: u64,
}

/// A request is tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmTried {
    /// Which try it is.
    pub attempt: u64,
    /// Why the one before failed.
    pub after: Option<Error>,
}

/// A script has seen a part of a stream, before it makes another call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmSeen {
    /// The events.
    pub events: Stored,
}

super::plain!(LlmCassettes, LlmSent, LlmTried, LlmSeen);
