//! Compares a command's output with that on a page.
//!
//! `…` and `[..]` stand for anything: within a line for any characters, alone on a line for any number of lines.

const WILDCARDS: &[&str] = &["…", "[..]"];

/// True if the lines of `actual` are as expected. Space at the end of a line and empty lines at the end don't count.
pub(super) fn matches(expected: &[String], actual: &str) -> bool {
    let actual: Vec<&str> = actual.trim_end().lines().map(str::trim_end).collect();
    let mut expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
    while expected.last().is_some_and(|line| line.is_empty()) {
        expected.pop();
    }
    lines_match(&expected, &actual)
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if WILDCARDS.contains(&first.trim()) => {
            (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..]))
        }
        Some((first, rest)) => {
            actual.split_first().is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others))
        }
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let plain = expected.replace(WILDCARDS[1], WILDCARDS[0]);
    let Some((head, middle)) = plain.split_once(WILDCARDS[0]) else { return expected == actual };
    let (middle, tail) = middle.rsplit_once(WILDCARDS[0]).unwrap_or(("", middle));
    let Some(rest) = actual.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail)) else { return false };
    // The first match is taken: if the pieces fit at all, they fit there.
    let step = |rest: &'_ str, piece: &str| rest.find(piece).map(|at| at + piece.len());
    let mut at = 0;
    middle.split(WILDCARDS[0]).all(|piece| match step(&rest[at..], piece) {
        Some(end) => {
            at += end;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: &str, actual: &str, fits: bool) {
        let lines: Vec<String> = expected.lines().map(str::to_owned).collect();
        assert_eq!(matches(&lines, actual), fits, "{expected:?} against {actual:?}");
    }

    #[test]
    fn plain_lines_are_compared_without_space_at_the_end() {
        check("a\nb", "a  \nb\n\n", true);
        check("a", "a\nb", false);
        check("a\nb", "a", false);
        check(" a", "a", false);
        check("", "", true);
    }

    #[test]
    fn a_wildcard_in_a_line_stands_for_any_characters() {
        check("run … took [..] ms", "run 2026-7f3a took 12 ms", true);
        check("run…", "run", true);
        check("…ms", "12 ms", true);
        check("a…b…c", "a1b2c", true);
        check("a…b…c", "ac", false);
        check("a…a", "a", false);
        check("run …", "ran 1", false);
        check("é…ß", "éxß", true);
    }

    #[test]
    fn a_wildcard_on_a_line_of_its_own_stands_for_any_lines() {
        check("a\n…\nb", "a\nb", true);
        check("a\n[..]\nb", "a\n1\n2\nb\n", true);
        check("…", "", true);
        check("a\n…", "b\n1", false);
        check("…\nb\n…\nb", "b\nx\nb", true);
        check("…\nb\n…\nb", "x\nb", false);
    }
}
