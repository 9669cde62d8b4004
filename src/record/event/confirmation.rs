//! Events of confirmations: asked for, granted, refused, used.

use serde::{Deserialize, Serialize};

use super::parts::{Shown, Stored, is_false, present};
use base::hash::Sha256;

/// The data of an event about a confirmation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confirmation {
    /// Its id, such as `c1`.
    pub id: String,
    /// The text of the question.
    pub label: String,
    /// The call that asks, which policy may grant by its name.
    pub kind: String,
    /// A proposal's id, or the hash of a value.
    pub subject: String,
    /// The hash of the change as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_sha256: Option<Shown<Sha256>>,
    /// The hash of the policy under which it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<Shown<Sha256>>,
    /// Who answered: `policy`, `--yes`, `person`, or a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// True if the answer is for all of this kind.
    #[serde(skip_serializing_if = "is_false")]
    pub all: bool,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reply that the call is taken to have given.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reply: Option<Stored>,
    /// The proof of the answer: `signature`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// The fingerprint of the key that signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// How a confirmation stands, as an event says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nobody has answered yet.
    Pending,
    /// Somebody said yes.
    Granted,
    /// Somebody said no.
    Refused,
    /// The granted action was begun.
    Used,
}

impl Status {
    /// As reports have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Granted => "granted",
            Status::Refused => "refused",
            Status::Used => "used",
        }
    }
}

super::plain!(Confirmation);
