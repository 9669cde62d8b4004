//! The order of a graph: which nodes begin, which are blocked, and how it ends.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ended::{Ended, NodeEnd},
    node::{Functions, Results},
};
use crate::Door;
use base::{
    call::{Call, Node, NodeState, Work, check_nodes},
    error::Error,
};

/// A graph, and what becomes of it when a node fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The nodes, in the order in which those begin that could at the same time.
    pub nodes: Vec<Node>,
    /// True if no node begins after those among which one failed.
    pub fail_fast: bool,
}

/// Runs a graph. It is `invalid_input` before anything runs if its form is wrong, and the error of a gate if that forbids a node.
///
/// The error of a failed node is the error of the graph, with all nodes in `details.nodes`. If none failed and one waits, the graph waits
/// as well: the run stops, and when it goes on the nodes that ended are answered from the record.
pub fn run(door: &mut dyn Door, functions: &mut dyn Functions, graph: &Graph) -> Result<Ended, Error> {
    check_nodes(&graph.nodes)?;
    let begun = door.perform(Call::DagBegin { nodes: graph.nodes.clone() })?;
    let results = Results::new(begun["mode"] == "dry-run");
    let mut course = Course { graph, ends: BTreeMap::new(), visited: Vec::new(), results, named: named(graph)? };
    loop {
        course.settle();
        let ready = course.ready();
        if ready.is_empty() || course.stops(&ready) {
            break;
        }
        for node in ready {
            let end = course.visit(door, functions, node)?;
            course.visited.push(&node.id);
            course.ends.insert(&node.id, end);
        }
    }
    course.end(door)
}

/// The ids of nodes whose proposals others name.
fn named(graph: &Graph) -> Result<BTreeSet<&str>, Error> {
    let works = graph.nodes.iter().map(Node::work).collect::<Result<Vec<_>, Error>>()?;
    let of = |work: Work<'_>| matches!(work, Work::Proposal { .. } | Work::Gate { of: Some(_), .. });
    Ok(graph.nodes.iter().zip(works).filter(|(_, work)| of(work.clone())).filter_map(|(node, _)| node.of()).collect())
}

/// A graph on its way.
struct Course<'g> {
    graph: &'g Graph,
    /// The nodes that have come to an end.
    ends: BTreeMap<&'g str, NodeEnd>,
    /// The nodes that were begun, in that order.
    visited: Vec<&'g str>,
    results: Results,
    named: BTreeSet<&'g str>,
}

impl<'g> Course<'g> {
    /// Blocks the nodes that can't begin any more.
    fn settle(&mut self) {
        loop {
            let hindered = |node: &'g Node| {
                let hinders = |id: &String| self.ends.get(id.as_str())?.hinders(id, node.needs);
                let all: Vec<(NodeState, String)> = node.after.iter().filter_map(hinders).collect();
                // What is blocked does not begin, whatever else it waits for.
                let blocked = all.iter().find(|(state, _)| *state == NodeState::Blocked).or(all.first());
                blocked.map(|(state, reason)| (node.id.as_str(), NodeEnd::unbegun(*state, reason.clone())))
            };
            let open = self.graph.nodes.iter().filter(|node| !self.ends.contains_key(node.id.as_str()));
            let more: Vec<_> = open.filter_map(hindered).collect();
            if more.is_empty() {
                return;
            }
            self.ends.extend(more);
        }
    }

    /// The nodes that can begin, in their order.
    fn ready(&self) -> Vec<&'g Node> {
        let has_ended = |id: &str| self.ends.contains_key(id);
        let may = |node: &&Node| !has_ended(&node.id) && node.after.iter().all(|id| has_ended(id));
        self.graph.nodes.iter().filter(may).collect()
    }

    /// True if no more nodes are to begin, which are blocked then.
    fn stops(&mut self, ready: &[&'g Node]) -> bool {
        let failed = self.ends.iter().find(|(_, end)| end.state == NodeState::Failed).map(|(id, _)| *id);
        let Some(failed) = failed.filter(|_| self.graph.fail_fast) else { return false };
        for node in ready {
            self.ends.insert(&node.id, NodeEnd::unbegun(NodeState::Blocked, format!("`{failed}` failed")));
        }
        self.settle();
        true
    }

    /// Begins a node, does its work, and ends it unless it waits. An error ends the graph.
    fn visit(&mut self, door: &mut dyn Door, functions: &mut dyn Functions, node: &Node) -> Result<NodeEnd, Error> {
        let is_named = self.named.contains(node.id.as_str());
        let begun = door.perform(Call::DagEnter { node: node.id.clone() });
        let error = match begun.and_then(|_| self.results.work(door, functions, node, is_named)) {
            Ok((state, output)) => match door.perform(Call::DagLeave { state, reason: None }) {
                Ok(_) => return Ok(NodeEnd::reached(state, output)),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if error.code().stops() {
            return Err(error.within(format!("node `{}`", node.id)));
        }
        if error.code().waits() {
            return Ok(NodeEnd::stopped(NodeState::Waiting, error));
        }
        door.perform(Call::DagLeave { state: NodeState::Failed, reason: Some(error.message().to_owned()) })?;
        Ok(NodeEnd::stopped(NodeState::Failed, error))
    }

    /// Ends the graph, unless it waits.
    fn end(self, door: &mut dyn Door) -> Result<Ended, Error> {
        let nodes: BTreeMap<String, NodeEnd> = self.ends.into_iter().map(|(id, end)| (id.to_owned(), end)).collect();
        let ok = nodes.values().all(|end| matches!(end.state, NodeState::Verified | NodeState::Done));
        let ended = Ended { ok, nodes };
        let failed = |end: &NodeEnd| end.state == NodeState::Failed;
        if ok || ended.nodes.values().any(failed) {
            let blocked = ended.nodes.iter().filter(|(_, end)| end.state == NodeState::Blocked);
            let blocked = blocked.map(|(id, end)| (id.clone(), end.reason.clone().unwrap_or_default())).collect();
            door.perform(Call::DagEnd { blocked })?;
        }
        match ended.error(self.visited.iter().copied()) {
            Some(error) => Err(error),
            None => Ok(ended),
        }
    }
}
