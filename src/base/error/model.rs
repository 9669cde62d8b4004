//! Failures of models: the kind of an error, and its retriability.
//!
//! It stands below the room that talks to models, since a script's process also reports replies that do not fit.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Code, Error},
    named::named,
};

named! {
    /// The kind of failure: `details.kind` of an error.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Kind {
        /// The server does not know the key, or does not let it.
        Authentication = "authentication",
        /// The request has more tokens than the model can take.
        ContextOverflow = "context_overflow",
        /// Text that should be JSON is not.
        MalformedJson = "malformed_json",
        /// The server is overloaded.
        Overloaded = "overloaded",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The model, or a filter, refuses to answer.
        Refusal = "refusal",
        /// The reply is JSON that does not fit the schema.
        Schema = "schema",
        /// The server failed, or does not accept the request.
        Server = "server",
        /// Nothing came for too long.
        Timeout = "timeout",
        /// The model did not call the required tools, or called others.
        ToolChoice = "tool_choice",
        /// The end of the reply is missing.
        Truncated = "truncated",
        /// There is no connection to the server.
        Unreachable = "unreachable",
    }
}

impl Kind {
    fn hint(self, retriable: bool) -> &'static str {
        match self {
            Kind::Authentication => "check the provider's key, and what it is allowed to do",
            Kind::ContextOverflow => "send less, or take a model with a larger context",
            Kind::MalformedJson => "ask again, or give a schema to a server that enforces it",
            Kind::Overloaded => "try again later",
            Kind::RateLimit if retriable => "wait as long as the server says, or ask for retries with `retry`",
            Kind::RateLimit => "the server names no time to wait, so this may be a spending limit: look at the account",
            Kind::Refusal => "ask differently; the same request will be refused again",
            Kind::Schema => "ask again with the violations, or make the schema simpler",
            Kind::Server if retriable => "try again later",
            Kind::Server => "check the request, the model's name and `base_url`",
            Kind::Timeout => "try again, or allow more time",
            Kind::ToolChoice => "ask again, or take a model that calls tools",
            Kind::Truncated if retriable => "try again",
            Kind::Truncated => "allow more with `max_tokens`, or ask for less",
            Kind::Unreachable => "check `base_url`, and whether the server is running",
        }
    }
}

/// The kind of a model error; none if the error is not about a model.
pub fn kind(error: &Error) -> Option<Kind> {
    Kind::deserialize(error.details().get("kind")?).ok()
}

/// True if the reply of a model is to blame, and not its server: another reply may hold.
pub fn is_of_reply(error: &Error) -> bool {
    error.code() == Code::ModelFailed
        && matches!(kind(error), Some(Kind::MalformedJson | Kind::Refusal | Kind::Schema | Kind::Truncated))
}

/// An error that a retry of the same request would meet again.
pub fn lasting(kind: Kind, message: impl Into<String>) -> Error {
    of_kind(kind, false, message)
}

/// An error that a retry may not meet.
pub fn passing(kind: Kind, message: impl Into<String>) -> Error {
    of_kind(kind, true, message)
}

/// An error of a kind, with a hint.
pub fn of_kind(kind: Kind, retriable: bool, message: impl Into<String>) -> Error {
    let code = if retriable { Code::ModelUnavailable } else { Code::ModelFailed };
    Error::new(code, message).detail("kind", kind.as_str()).detail("retriable", retriable).hint(kind.hint(retriable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_wire() {
        for one in [Kind::RateLimit, Kind::MalformedJson, Kind::ContextOverflow, Kind::ToolChoice, Kind::Truncated] {
            assert_eq!(serde_json::to_value(one).unwrap(), one.as_str());
        }
    }
}
