//! The graphs of a run that are open: which nodes have begun, which have ended, and which begin together.

use std::collections::BTreeMap;

use serde_json::Value;

use base::{
    call::{Call, Node, NodeState},
    error::{Code, Error},
};

/// The open graphs, outermost first.
#[derive(Debug, Default)]
pub(super) struct Graphs {
    open: Vec<Graph>,
    /// The number of attempts that calls so far have begun and not ended.
    attempts: usize,
}

/// A graph that is open.
#[derive(Debug)]
struct Graph {
    nodes: Vec<Node>,
    /// The nodes that were begun, and the state of those that have ended.
    begun: BTreeMap<String, Option<NodeState>>,
    /// The node that was begun last and has not ended.
    open: Option<String>,
    /// The nodes that begin together: those that could when the first of them did.
    together: Vec<usize>,
    /// The number of attempts that were open when it began.
    attempts: usize,
}

impl Graph {
    fn new(nodes: &[Node], attempts: usize) -> Self {
        Graph { nodes: nodes.to_vec(), begun: BTreeMap::new(), open: None, together: Vec::new(), attempts }
    }

    /// The nodes that begin together with the one that begins now.
    fn together(&self) -> impl Iterator<Item = &Node> {
        self.together.iter().filter_map(|at| self.nodes.get(*at))
    }

    /// Begins a node; true if it is the first of those that begin together.
    fn begin(&mut self, id: &str) -> bool {
        let is_first = !self.together().any(|node| node.id == id);
        if is_first {
            let ended = |node: &Node, id: &String| {
                self.begun.get(id).copied().flatten().is_some_and(|state| node.needs.suits(state))
            };
            let ready = |node: &Node| !self.begun.contains_key(&node.id) && node.after.iter().all(|id| ended(node, id));
            self.together = self.nodes.iter().enumerate().filter(|(_, node)| ready(node)).map(|(at, _)| at).collect();
        }
        self.begun.insert(id.to_owned(), None);
        self.open = Some(id.to_owned());
        is_first
    }
}

impl Graphs {
    /// Notes the answer to a call, be it given now or taken from the record.
    pub(super) fn note(&mut self, call: &Call, answer: &Result<Value, Error>) {
        if answer.is_err() {
            return;
        }
        match call {
            Call::AttemptBegin {} => self.attempts += 1,
            Call::AttemptEnd { .. } => self.attempts = self.attempts.saturating_sub(1),
            Call::DagBegin { nodes } => self.open.push(Graph::new(nodes, self.attempts)),
            Call::DagEnd { .. } => drop(self.open.pop()),
            Call::DagEnter { node } => {
                if let Some(graph) = self.open.last_mut().filter(|graph| !graph.begun.contains_key(node)) {
                    graph.begin(node);
                }
            }
            Call::DagLeave { state, .. } => {
                if let Some(graph) = self.open.last_mut()
                    && let Some(node) = graph.open.take()
                {
                    graph.begun.insert(node, Some(*state));
                }
            }
            _ => {}
        }
    }

    /// Begins a node of the innermost graph; true if it is the first of those that begin together.
    ///
    /// It waits if an attempt is open in another node, which waits itself: what comes now would belong to that attempt.
    pub(super) fn enter(&mut self, id: &str) -> Result<bool, Error> {
        let Some(graph) = self.open.last_mut() else { return Err(no_graph()) };
        if !graph.nodes.iter().any(|node| node.id == id) {
            return Err(Error::new(Code::InvalidInput, format!("the graph has no node `{}`", id.escape_debug())));
        }
        if self.attempts > graph.attempts {
            return Err(Error::new(Code::Suspended, "an attempt is open in a node that waits")
                .hint("the run goes on when that node does"));
        }
        Ok(graph.begin(id))
    }

    /// The nodes that begin together with the one that begins now.
    pub(super) fn together(&self) -> Vec<Node> {
        self.open.last().map(|graph| graph.together().cloned().collect()).unwrap_or_default()
    }

    /// Checks that a graph is open.
    pub(super) fn check_open(&self) -> Result<(), Error> {
        if self.open.is_empty() { Err(no_graph()) } else { Ok(()) }
    }
}

fn no_graph() -> Error {
    Error::new(Code::InvalidInput, "no graph was begun").hint("`dag.begin` comes first")
}
