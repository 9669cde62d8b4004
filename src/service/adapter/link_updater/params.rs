//! The parameters on the wire. Plain types only: both sides of the adapter read them, and each interprets them itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::survey::OnSkip;
use base::error::{Code, Error};

/// `params` of an invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// Origins or bare hosts that links leave.
    from_hosts: Option<Vec<String>>,
    /// The new origin, with an optional prefix for their paths.
    to_host: Option<String>,
    /// In place of the two: several moves in one pass.
    moves: Option<Vec<Move>>,
    /// The treatment of a file that can't be read.
    #[serde(default)]
    pub(super) on_skip: OnSkip,
    /// The places where links move only on request.
    #[serde(default)]
    pub(super) include: Vec<Include>,
    /// True if the text of a link that is exactly its destination moves with it.
    #[serde(default)]
    pub(super) link_text: bool,
    /// The number of new links to probe over the network.
    #[serde(default)]
    pub(super) http_samples: Option<u64>,
}

/// A place where links move only on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Include {
    /// String values of JSON files that are a URL from end to end.
    Json,
    /// The same in `<script type="application/ld+json">` of pages.
    JsonLd,
}

/// One move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    /// Origins or bare hosts that links leave.
    pub(super) from_hosts: Vec<String>,
    /// The new origin, with an optional prefix for their paths.
    pub(super) to_host: String,
}

impl Params {
    /// Takes the parameters from an invocation.
    pub(super) fn parse(params: &Value) -> Result<Self, Error> {
        serde_json::from_value(params.clone())
            .map_err(|error| Error::new(Code::InvalidInput, format!("the params can't be used: {error}")))
    }

    /// True if links move there too.
    pub(super) fn includes(&self, place: Include) -> bool {
        self.include.contains(&place)
    }

    /// The moves, in whichever form they were given.
    pub(super) fn moves(&self) -> Result<Vec<Move>, Error> {
        match (&self.from_hosts, &self.to_host, &self.moves) {
            (Some(from_hosts), Some(to_host), None) => {
                Ok(vec![Move { from_hosts: from_hosts.clone(), to_host: to_host.clone() }])
            }
            (None, None, Some(moves)) => Ok(moves.clone()),
            (_, _, _) => Err(Error::new(Code::InvalidInput, "the params don't say what moves where")
                .hint("give either `from_hosts` and `to_host`, or `moves`")),
        }
    }
}
