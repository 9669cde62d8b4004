//! Places in a run, and how the calls of a run are numbered.

use std::fmt;

use base::call::Call;

/// A place in a run: `3`, `7.b.2`. What is compared between runs goes by it, not by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(String);

impl Position {
    /// The n-th call of the run itself.
    pub fn nth(n: u64) -> Self {
        Position(n.to_string())
    }

    /// The position as records keep it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Position {
    /// The position that a record names.
    fn from(text: String) -> Self {
        Position(text)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Numbers the calls of a run in the order in which they are made.
///
/// An attempt has a branch of its own: if it begins at `2`, its calls are `2.1`, `2.2`, …, the last of them is its end, and the
/// call after it is `3`. So has each node of a graph: if the graph begins at `3`, its node `b` begins at `3.b`, and the calls of that
/// are `3.b.1`, `3.b.2`, …, whichever node came before it. The end of the graph is `4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    /// The open branches, the run's own first.
    branches: Vec<Branch>,
    /// How many branches were open when each open graph began, the outermost first.
    graphs: Vec<usize>,
}

/// A branch of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    /// The node that it is; none if it is the run or an attempt.
    node: Option<String>,
    /// The number of calls that it has had.
    calls: u64,
}

impl Default for Positions {
    /// Those of a run that has made no call yet.
    fn default() -> Self {
        Positions { branches: vec![Branch::default()], graphs: Vec::new() }
    }
}

impl Positions {
    /// The place of the next call of the innermost branch.
    pub fn next(&self) -> Position {
        let mut next = self.clone();
        if let Some(last) = next.branches.last_mut() {
            last.calls += 1;
        }
        next.here(None)
    }

    /// The place of a call that is made now.
    pub fn take(&mut self, call: &Call) -> Position {
        match call {
            Call::DagEnter { node } => {
                self.leave_node();
                return self.here(Some(node));
            }
            Call::DagEnd { .. } => self.leave_node(),
            _ => {}
        }
        if let Some(last) = self.branches.last_mut() {
            last.calls += 1;
        }
        self.here(None)
    }

    /// True if the call to come is within an attempt or a graph.
    pub fn is_within(&self) -> bool {
        self.branches.len() > 1 || !self.graphs.is_empty()
    }

    /// Returns the positions that follow once no attempt and no graph is open.
    pub fn outermost(&self) -> Self {
        Positions { branches: self.branches.iter().take(1).cloned().collect(), graphs: Vec::new() }
    }

    /// Returns the positions that follow a call that was answered without an error.
    pub fn after(&self, call: &Call) -> Self {
        let mut after = self.clone();
        match call {
            Call::AttemptBegin {} => after.branches.push(Branch::default()),
            Call::AttemptEnd { .. } if after.branches.last().is_some_and(|last| last.node.is_none()) => {
                after.close();
            }
            Call::DagBegin { .. } => after.graphs.push(after.branches.len()),
            Call::DagEnter { node } if !after.graphs.is_empty() => {
                after.leave_node();
                after.branches.push(Branch { node: Some(node.clone()), calls: 0 });
            }
            Call::DagLeave { .. } => after.leave_node(),
            Call::DagEnd { .. } => {
                after.leave_node();
                after.graphs.pop();
            }
            _ => {}
        }
        after
    }

    /// Closes the innermost branch, unless a graph began in it or it is the run's own.
    fn close(&mut self) {
        if self.branches.len() > self.graphs.last().copied().unwrap_or(1) {
            self.branches.pop();
        }
    }

    /// Closes the node that is open, with all that began in it.
    fn leave_node(&mut self) {
        if let Some(open) = self.graphs.last() {
            self.branches.truncate(*open);
        }
    }

    /// The place of the last call, or of a node that begins after it.
    fn here(&self, node: Option<&str>) -> Position {
        let parts =
            self.branches.iter().flat_map(|Branch { node, calls }| node.clone().into_iter().chain([calls.to_string()]));
        Position(parts.chain(node.map(str::to_owned)).collect::<Vec<_>>().join("."))
    }
}

/// The branch of a position: the innermost node of a graph in which it is; empty for the run's own.
///
/// Branches of one graph don't wait for one another, so that each has a last call of its own.
pub(super) fn branch(position: &str) -> &str {
    let mut end = 0;
    let mut at = 0;
    for part in position.split('.') {
        at += part.len();
        if part.parse::<u64>().is_err() {
            end = at;
        }
        at += 1;
    }
    &position[..end]
}

/// Returns the sort key of a position. Two components that are numbers compare as numbers.
pub(crate) fn key(position: &str) -> Vec<(u64, String)> {
    let part = |part: &str| match part.parse() {
        Ok(number) => (number, String::new()),
        Err(_) => (u64::MAX, part.to_owned()),
    };
    position.split('.').filter(|text| !text.is_empty()).map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use base::call::NodeState;

    #[test]
    fn an_attempt_has_a_branch_of_its_own_and_so_has_one_within() {
        let mut positions = Positions::default();
        let (begin, end, other) = (Call::AttemptBegin {}, Call::AttemptEnd { keep: true }, Call::DtaList {});
        let calls = [&end, &begin, &other, &begin, &other, &other, &end, &other, &end, &other];
        let mut taken = Vec::new();
        for call in calls {
            assert_eq!(positions.next(), positions.clone().take(call));
            taken.push(positions.take(call).to_string());
            positions = positions.after(call);
        }
        assert_eq!(taken, ["1", "2", "2.1", "2.2", "2.2.1", "2.2.2", "2.2.3", "2.3", "2.4", "3"]);
    }

    #[test]
    fn each_node_of_a_graph_has_a_branch_whichever_comes_first() {
        let enter = |node: &str| Call::DagEnter { node: node.to_owned() };
        let leave = Call::DagLeave { state: NodeState::Verified, reason: None };
        let (begin, end) = (Call::DagBegin { nodes: Vec::new() }, Call::DagEnd { blocked: BTreeMap::new() });
        let (other, attempt, kept) = (Call::DtaList {}, Call::AttemptBegin {}, Call::AttemptEnd { keep: true });
        let mut positions = Positions::default();
        // The node `b` is not left: it waits.
        let calls = [
            &begin,
            &enter("b"),
            &other,
            &enter("a"),
            &attempt,
            &other,
            &kept,
            &begin,
            &enter("x"),
            &other,
            &leave,
            &end,
            &leave,
            &kept,
            &end,
            &other,
        ];
        let mut taken = Vec::new();
        for call in calls {
            taken.push(positions.take(call).to_string());
            positions = positions.after(call);
        }
        let expected = "1 1.b 1.b.1 1.a 1.a.1 1.a.1.1 1.a.1.2 1.a.2 1.a.2.x 1.a.2.x.1 1.a.2.x.2 1.a.3 1.a.4 2 3 4";
        assert_eq!(taken.join(" "), expected);
        assert!(!positions.is_within());
    }

    #[test]
    fn a_branch_is_named_by_its_innermost_node() {
        for (position, expected) in
            [("", ""), ("3", ""), ("2.1", ""), ("7.b", "7.b"), ("7.b.2.1", "7.b"), ("7.b.2.x.1", "7.b.2.x")]
        {
            assert_eq!(branch(position), expected, "{position}");
        }
    }

    #[test]
    fn positions_compare_as_people_count() {
        let mut positions = ["10", "9", "7.b.2", "7", "", "7.b.10", "7.a", "9.10", "9.2", "9.2.1"];
        positions.sort_by_key(|position| key(position));
        assert_eq!(positions, ["", "7", "7.a", "7.b.2", "7.b.10", "9", "9.2", "9.2.1", "9.10", "10"]);
    }
}
