//! Takes one change of a text back although the text changed afterwards, if both keep to lines of their own.

use super::line::{self, Replaced};

/// The result of taking a change back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// The text without the change.
    Text(Vec<u8>),
    /// The text has it no more.
    Already,
    /// Later changes are on the same lines, or meet them.
    Conflict,
}

/// Takes the change from `before` to `after` back in a text that was `after` once.
pub fn take_back(before: &[u8], after: &[u8], now: &[u8]) -> TakenBack {
    let (before, after, now) = (line::split(before), line::split(after), line::split(now));
    let (backward, later) = (by_lines(line::compare(&after, &before)), by_lines(line::compare(&after, &now)));
    // `before` is the side of `after` in both, since both lead away from it.
    let is_done = |one: &Replaced| {
        let same =
            |other: &Replaced| other.before == one.before && now[other.after.clone()] == before[one.after.clone()];
        later.iter().any(same)
    };
    let open: Vec<&Replaced> = backward.iter().filter(|one| !is_done(one)).collect();
    if open.is_empty() {
        return if backward.is_empty() { TakenBack::Text(now.concat()) } else { TakenBack::Already };
    }
    if open.iter().any(|one| later.iter().any(|other| meets(one, other))) {
        return TakenBack::Conflict;
    }
    let mut all: Vec<(&Replaced, &[&[u8]])> = open.iter().map(|one| (*one, &before[one.after.clone()])).collect();
    all.extend(later.iter().map(|one| (one, &now[one.after.clone()])));
    all.sort_by_key(|(one, _)| (one.before.start, one.before.end));
    let (mut out, mut at) = (Vec::new(), 0);
    for (one, lines) in all {
        after[at..one.before.start].iter().chain(lines).for_each(|line| out.extend_from_slice(line));
        at = one.before.end;
    }
    after[at..].iter().for_each(|line| out.extend_from_slice(line));
    TakenBack::Text(out)
}

/// The changes line by line, where each line has one in its place.
fn by_lines(changes: Vec<Replaced>) -> Vec<Replaced> {
    let single = |one: Replaced| {
        let n = if one.before.len() == one.after.len() { one.before.len() } else { 1 };
        let line = move |at: usize| match n {
            1 => Replaced { before: one.before.clone(), after: one.after.clone() },
            _ => {
                let (before, after) = (one.before.start + at, one.after.start + at);
                Replaced { before: before..before + 1, after: after..after + 1 }
            }
        };
        (0..n).map(line)
    };
    changes.into_iter().flat_map(single).collect()
}

/// True if two changes share a line, or if one of them inserts where the other begins or ends.
fn meets(one: &Replaced, other: &Replaced) -> bool {
    let (one, other) = (&one.before, &other.before);
    let touches = one.start <= other.end && other.start <= one.end;
    let shares = one.start < other.end && other.start < one.end;
    shares || touches && (one.is_empty() || other.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, now: &str, expected: Result<&str, TakenBack>) {
        let found = match take_back(before.as_bytes(), after.as_bytes(), now.as_bytes()) {
            TakenBack::Text(text) => Ok(String::from_utf8(text).unwrap()),
            other => Err(other),
        };
        assert_eq!(found.as_deref().map_err(Clone::clone), expected);
    }

    #[test]
    fn other_lines_stay_as_they_are_now() {
        check("1\n2\n3\n", "1\ntwo\n3\n", "one\ntwo\nthree\n4\n", Ok("one\n2\nthree\n4\n"));
        check("1\n2\n", "1\ntwo\n", "1\ntwo\n", Ok("1\n2\n"));
        check("a\n", "a\nb\n", "0\na\nb\n", Ok("0\na\n"));
        check("1\n2", "1\ntwo", "one\ntwo", Ok("one\n2"));
    }

    #[test]
    fn the_same_lines_are_in_conflict() {
        check("1\n2\n3\n", "1\ntwo\n3\n", "1\ntwo!\n3\n", Err(TakenBack::Conflict));
        check("a\nc\n", "a\nb\nc\n", "a\nb\nB\nc\n", Err(TakenBack::Conflict));
        check("1\n2\n", "1\n", "", Err(TakenBack::Conflict));
    }

    #[test]
    fn what_is_gone_is_not_taken_back_again() {
        check("1\n2\n3\n", "1\ntwo\n3\n", "1\n2\nthree\n", Err(TakenBack::Already));
        check("1\n2\n", "1\ntwo\n", "1\n2\n", Err(TakenBack::Already));
        check("1\n2\n3\n", "1\ntwo\nthree\n", "1\n2\nthree\n", Ok("1\n2\n3\n"));
    }
}
