//! Places in a run, and how the calls of a run are numbered.

use std::fmt;

use crate::base::call::Call;

/// A place in a run: `3`, `7.b.2`. What is compared between runs goes by it, not by time.
///
/// ```
/// use nrv::Position;
///
/// assert_eq!(Position::nth(3).as_str(), "3");
/// ```
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
/// call after it is `3`.
///
/// ```
/// use nrv::{Call, Positions};
///
/// let mut positions = Positions::default();
/// assert_eq!(positions.take().as_str(), "1");
/// let mut within = positions.after(&Call::AttemptBegin {});
/// assert_eq!(within.take().as_str(), "1.1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    /// How many calls each open branch has had, the run's own first.
    branches: Vec<u64>,
}

impl Default for Positions {
    /// Those of a run that has made no call yet.
    fn default() -> Self {
        Positions { branches: vec![0] }
    }
}

impl Positions {
    /// The place of the call to come.
    pub fn next(&self) -> Position {
        let mut numbers = self.branches.clone();
        if let Some(last) = numbers.last_mut() {
            *last += 1;
        }
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Position(numbers.join("."))
    }

    /// The place of the call that is made now.
    pub fn take(&mut self) -> Position {
        let position = self.next();
        if let Some(last) = self.branches.last_mut() {
            *last += 1;
        }
        position
    }

    /// True if the call to come is within an attempt.
    pub fn is_within(&self) -> bool {
        self.branches.len() > 1
    }

    /// Returns the positions that follow once no attempt is open.
    pub fn outermost(&self) -> Self {
        Positions { branches: self.branches.iter().take(1).copied().collect() }
    }

    /// Returns the positions that follow a call that was answered without an error.
    pub fn after(&self, call: &Call) -> Self {
        let mut after = self.clone();
        match call {
            Call::AttemptBegin {} => after.branches.push(0),
            Call::AttemptEnd { .. } if after.branches.len() > 1 => drop(after.branches.pop()),
            _ => {}
        }
        after
    }
}

/// Returns the sort key of a position. Two components that are numbers compare as numbers.
pub(super) fn key(position: &str) -> Vec<(u64, String)> {
    let part = |part: &str| match part.parse() {
        Ok(number) => (number, String::new()),
        Err(_) => (u64::MAX, part.to_owned()),
    };
    position.split('.').filter(|text| !text.is_empty()).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_has_a_branch_of_its_own_and_so_has_one_within() {
        let mut positions = Positions::default();
        let (begin, end, other) = (Call::AttemptBegin {}, Call::AttemptEnd { keep: true }, Call::DtaList {});
        let calls = [&end, &begin, &other, &begin, &other, &other, &end, &other, &end, &other];
        let mut taken = Vec::new();
        for call in calls {
            assert_eq!(positions.next(), positions.clone().take());
            taken.push(positions.take().to_string());
            positions = positions.after(call);
        }
        assert_eq!(taken, ["1", "2", "2.1", "2.2", "2.2.1", "2.2.2", "2.2.3", "2.3", "2.4", "3"]);
    }

    #[test]
    fn positions_compare_as_people_count() {
        let mut positions = ["10", "9", "7.b.2", "7", "", "7.b.10", "7.a", "9.10", "9.2", "9.2.1"];
        positions.sort_by_key(|position| key(position));
        assert_eq!(positions, ["", "7", "7.a", "7.b.2", "7.b.10", "9", "9.2", "9.2.1", "9.10", "10"]);
    }
}
