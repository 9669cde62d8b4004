//! The outcome of a graph and of each node.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use base::{
    call::{Needs, NodeState},
    error::{Code, Error},
    text::counted,
};

/// The outcome of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ended {
    /// True if no node failed, is blocked or waits.
    pub ok: bool,
    /// The nodes, by id.
    pub nodes: BTreeMap<String, NodeEnd>,
}

/// The outcome of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeEnd {
    /// The state that it reached.
    pub state: NodeState,
    /// The reply of its work; none if it has none.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// The reason if it failed, is blocked or waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The error with which it failed or waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

impl NodeEnd {
    /// The end of a node whose work came to its end without an error.
    pub(super) fn reached(state: NodeState, output: Value) -> Self {
        NodeEnd { state, output, reason: None, error: None }
    }

    /// The end of a node whose work ended with an error, or waits.
    pub(super) fn stopped(state: NodeState, error: Error) -> Self {
        NodeEnd { state, output: Value::Null, reason: Some(error.message().to_owned()), error: Some(error) }
    }

    /// The end of a node that was not begun.
    pub(super) fn unbegun(state: NodeState, reason: String) -> Self {
        NodeEnd { state, output: Value::Null, reason: Some(reason), error: None }
    }

    /// The state and reason of a node that waits for this one and can't begin; none if it may begin.
    pub(super) fn hinders(&self, id: &str, needs: Needs) -> Option<(NodeState, String)> {
        let blocked = |why: &str| Some((NodeState::Blocked, format!("`{id}` {why}")));
        match self.state {
            state if needs.suits(state) => None,
            NodeState::Verified | NodeState::Done => blocked("ended, and nothing says that it succeeded"),
            NodeState::Failed => blocked("failed"),
            NodeState::Blocked => blocked("is blocked"),
            NodeState::Waiting => Some((NodeState::Waiting, format!("`{id}` waits"))),
        }
    }
}

impl Ended {
    /// The error of a graph in which a node failed, or waits if none failed, or is blocked for another reason; none if each succeeded.
    ///
    /// It is that of the first such node in the order in which they were begun, with all nodes in its details.
    pub(super) fn error<'n>(&'n self, mut begun: impl Iterator<Item = &'n str> + Clone) -> Option<Error> {
        let of = |id: &'n str, state| self.nodes.get(id).filter(|node| node.state == state).map(|node| (id, node));
        let failed = begun.clone().find_map(|id| of(id, NodeState::Failed));
        let stopped = failed.or_else(|| begun.find_map(|id| of(id, NodeState::Waiting)));
        let blocked = || {
            self.nodes.iter().map(|(id, node)| (id.as_str(), node)).find(|(_, node)| node.state == NodeState::Blocked)
        };
        let (id, node) = stopped.or_else(blocked)?;
        let error = node.error.clone().unwrap_or_else(|| {
            let reason = node.reason.as_deref().unwrap_or_default();
            Error::new(Code::VerificationFailed, format!("it was not begun: {reason}"))
        });
        let count = |state| self.nodes.values().filter(|node| node.state == state).count();
        let named = match node.state {
            NodeState::Failed if count(NodeState::Failed) + count(NodeState::Blocked) > 1 => format!(
                "node `{id}` ({} failed, {} blocked)",
                counted(count(NodeState::Failed), "node"),
                count(NodeState::Blocked)
            ),
            _ => format!("node `{id}`"),
        };
        let row = |node: &NodeEnd| match &node.reason {
            Some(reason) => json!({"state": node.state, "reason": reason}),
            None => json!({"state": node.state}),
        };
        let rows: BTreeMap<&str, Value> = self.nodes.iter().map(|(id, node)| (id.as_str(), row(node))).collect();
        Some(error.within(named).detail("node", id).detail("nodes", json!(rows)))
    }
}
