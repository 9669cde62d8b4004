//! The form of a graph: which ids its nodes have, and which of them wait for which.

use std::collections::{BTreeMap, BTreeSet};

use super::{Call, Node, Work};
use crate::error::{Code, Error, nearest};

/// The most nodes that a graph has.
const MOST: usize = 10_000;

/// The most bytes of an id.
const LONGEST: usize = 64;

impl Call {
    /// The name of a call `dag.*`.
    pub(super) fn graph_name(&self) -> &'static str {
        match self {
            Call::DagEnter { .. } => "dag.enter",
            Call::DagLeave { .. } => "dag.leave",
            Call::DagEnd { .. } => "dag.end",
            _ => "dag.begin",
        }
    }
}

/// Checks the nodes of a graph. `invalid_input` names the first one that is wrong: an id that can't be or stands twice, a node that it
/// waits for and that does not exist, a cycle, no work or several, a proposal of a node that comes later or makes none.
pub fn check_nodes(nodes: &[Node]) -> Result<(), Error> {
    if nodes.len() > MOST {
        return Err(Error::new(Code::InvalidInput, format!("the graph has {} nodes, not {MOST}", nodes.len())));
    }
    let mut known: BTreeMap<&str, &Node> = BTreeMap::new();
    for node in nodes {
        if !is_id(&node.id) {
            let hint = format!("an id is a letter, then letters, digits, `_` or `-`, {LONGEST} bytes at most");
            return Err(node.wrong("has an id that can't be").hint(hint));
        }
        if known.insert(&node.id, node).is_some() {
            return Err(node.wrong("stands there twice").hint("each node has an id of its own"));
        }
        node.work()?;
    }
    for node in nodes {
        for id in &node.after {
            if known.contains_key(id.as_str()) {
                continue;
            }
            let error = node.wrong(&format!("waits for `{}`, which does not exist", id.escape_debug()));
            return Err(match nearest(id, known.keys().copied()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("the nodes are {}", named(known.keys().copied()))),
            });
        }
    }
    let before = ancestors(nodes, &known)?;
    nodes.iter().try_for_each(|node| check_of(node, &known, &before))
}

fn is_id(id: &str) -> bool {
    let may = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    id.len() <= LONGEST && id.starts_with(|first: char| first.is_ascii_alphabetic()) && id.bytes().all(may)
}

/// The nodes that come before each one. An error names a cycle.
fn ancestors<'n>(
    nodes: &'n [Node],
    known: &BTreeMap<&'n str, &'n Node>,
) -> Result<BTreeMap<&'n str, BTreeSet<&'n str>>, Error> {
    let mut before: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    while before.len() < nodes.len() {
        let ready: Vec<&Node> = nodes
            .iter()
            .filter(|node| !before.contains_key(node.id.as_str()))
            .filter(|node| node.after.iter().all(|id| before.contains_key(id.as_str())))
            .collect();
        if ready.is_empty() {
            return Err(cycle(nodes, known, &before));
        }
        for node in ready {
            let mut all: BTreeSet<&str> = node.after.iter().map(String::as_str).collect();
            all.extend(node.after.iter().filter_map(|id| before.get(id.as_str())).flatten());
            before.insert(&node.id, all);
        }
    }
    Ok(before)
}

/// The error of nodes that wait for themselves. Each node that is left waits for one that is left.
fn cycle(nodes: &[Node], known: &BTreeMap<&str, &Node>, before: &BTreeMap<&str, BTreeSet<&str>>) -> Error {
    let left = |id: &&String| !before.contains_key(id.as_str());
    let mut path: Vec<&str> = Vec::new();
    let mut at = nodes.iter().map(|node| &node.id).find(left).map(String::as_str);
    while let Some(id) = at {
        if let Some(first) = path.iter().position(|seen| *seen == id) {
            path.drain(..first);
            break;
        }
        path.push(id);
        at = known.get(id).and_then(|node| node.after.iter().find(left)).map(String::as_str);
    }
    // From the least id on, so that it is told in one way.
    let least = path.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(at, _)| at);
    path.rotate_left(least);
    path.extend(path.first().copied());
    Error::new(Code::InvalidInput, format!("nodes wait for themselves: {}", path.join(" → ")))
        .detail("cycle", path)
        .hint("each node waits for nodes that can end before it begins")
}

/// Checks that the node whose proposal is confirmed or applied comes before.
fn check_of(node: &Node, known: &BTreeMap<&str, &Node>, before: &BTreeMap<&str, BTreeSet<&str>>) -> Result<(), Error> {
    let work = node.work()?;
    let (of, tool) = match &work {
        Work::Proposal { of, tool } => (*of, Some(*tool)),
        Work::Gate { of: Some(of), .. } => (*of, None),
        _ => return Ok(()),
    };
    if !before.get(node.id.as_str()).is_some_and(|ids| ids.contains(of)) {
        return Err(node
            .wrong(&format!("names `{}`, for which it does not wait", of.escape_debug()))
            .hint(format!("add `{}` to its `after`", of.escape_debug())));
    }
    let source = known.get(of).map(|source| source.work()).transpose()?;
    match (tool, source) {
        (Some(tool), Some(Work::Adapter { tool: other, .. })) if tool == other => Ok(()),
        (Some(tool), _) => Err(node.wrong(&format!("applies a proposal of `{of}`, which makes none of `{tool}`"))),
        (None, _) => Ok(()),
    }
}

fn named<'n>(ids: impl Iterator<Item = &'n str>) -> String {
    ids.map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn refused(nodes: Value, words: &str) {
        let nodes: Vec<Node> = serde_json::from_value(nodes).unwrap();
        let error = check_nodes(&nodes).unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput);
        assert!(error.message().contains(words), "{error}");
        assert!(error.hint_text().is_some() || !words.contains("which"), "{error}");
    }

    fn gate(id: &str, after: &[&str]) -> Value {
        json!({"id": id, "gate": "go on?", "after": after})
    }

    #[test]
    fn a_graph_is_refused_before_anything_begins() {
        refused(json!([gate("a", &["c"]), gate("b", &["a"]), gate("c", &["b"])]), "a → c → b → a");
        refused(json!([gate("x", &["a"]), gate("a", &["a"])]), "a → a");
        refused(json!([gate("a", &[]), gate("a", &[])]), "`a` stands there twice");
        refused(json!([gate("build", &[]), gate("b", &["biuld"])]), "waits for `biuld`, which does not exist");
        for id in ["", "1", "a.b", "a b", "ä", &"a".repeat(65)] {
            refused(json!([gate(id, &[])]), "has an id that can't be");
        }
        refused(json!([{"id": "a"}]), "has no work");
        refused(json!([{"id": "a", "gate": "g", "dta": "link_updater"}]), "has `dta` and `gate`");
        refused(json!([{"id": "a", "exec": []}]), "has an empty command");
        refused(json!([{"id": "a", "exec": ["ls"], "input": {"writs": []}}]), "unknown field `writs`");
        refused(json!([{"id": "a", "exec": ["ls"], "input": {"program": "rm"}}]), "has `program` twice");
        refused(json!([{"id": "a", "gate": "g", "input": {"off": "b"}}]), "has an input that no gate takes");
        let dta = json!({"id": "a", "dta": "link_updater", "input": {}});
        let apply =
            |tool: &str, of: &str, after: &[&str]| json!({"id": "b", "dta": tool, "input": {"of": of}, "after": after});
        refused(json!([dta, apply("link_updater", "a", &[])]), "names `a`, for which it does not wait");
        refused(json!([dta, apply("code_rewrite", "a", &["a"])]), "makes none of `code_rewrite`");
        refused(json!([gate("a", &[]), apply("link_updater", "a", &["a"])]), "makes none of `link_updater`");
        let nodes: Vec<Node> = serde_json::from_value(json!([dta, apply("link_updater", "a", &["a"])])).unwrap();
        check_nodes(&nodes).unwrap();
    }
}
