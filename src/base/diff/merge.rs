//! Takes one change of a text back although the text changed afterwards, if both keep to lines of their own, or to words of a line.

use std::ops::Range;

use super::line::{self, Replaced};

/// The result of taking a change back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// The text without the change.
    Text(Vec<u8>),
    /// The text has it no more.
    Already,
    /// Later changes are in the same place, or meet it.
    Conflict,
}

/// Parts of a text and their new contents.
type Patches = Vec<(Range<usize>, Vec<u8>)>;

/// Takes the change from `before` to `after` back in a text that was `after` once.
///
/// Later changes of other lines stay. On the same line they stay if they are about other words.
pub fn take_back(before: &[u8], after: &[u8], now: &[u8]) -> TakenBack {
    let (before, after, now) = (line::split(before), line::split(after), line::split(now));
    // `before` is the side of `after` in both, since both lead away from it.
    let (backward, mut later) = (by_lines(line::compare(&after, &before)), by_lines(line::compare(&after, &now)));
    let open = open(&backward, &later, (&before, &now));
    if open.is_empty() {
        return if backward.is_empty() { TakenBack::Text(now.concat()) } else { TakenBack::Already };
    }
    let is_line = |one: &Replaced| one.before.len() == 1 && one.after.len() == 1;
    let mut patches = Patches::new();
    for one in open {
        let mut met = later.iter().enumerate().filter(|(_, other)| meets(one, other));
        let text = match (met.next(), met.next()) {
            (None, _) => before[one.after.clone()].concat(),
            (Some((at, other)), None) if one.before == other.before && is_line(one) && is_line(other) => {
                let lines = [before[one.after.start], after[one.before.start], now[other.after.start]];
                let Some(line) = take_back_words(lines.map(line::words)) else { return TakenBack::Conflict };
                later.remove(at);
                line
            }
            (Some(_), _) => return TakenBack::Conflict,
        };
        patches.push((one.before.clone(), text));
    }
    patches.extend(later.iter().map(|other| (other.before.clone(), now[other.after.clone()].concat())));
    TakenBack::Text(patched(&after, patches))
}

/// Takes the change of a line back word by word; none if a later change is about the same words, or touches them.
fn take_back_words([before, after, now]: [Vec<&[u8]>; 3]) -> Option<Vec<u8>> {
    let (backward, later) = (line::compare(&after, &before), line::compare(&after, &now));
    let open = open(&backward, &later, (&before, &now));
    let own: Vec<Gone> = Gone::all(&backward, &after).filter(|gone| open.contains(&gone.change)).collect();
    let mut patches: Patches =
        open.iter().map(|one| (one.before.clone(), before[one.after.clone()].concat())).collect();
    for (at, other) in later.iter().enumerate().filter(|(_, other)| other.before.is_empty()) {
        // Every place within its reach describes the same change.
        let (places, length) = (reach(&later, at, &now, |one| &one.after), other.after.len());
        let all: Vec<(usize, &[&[u8]])> = (places.start..=places.end - length)
            .filter_map(|start| {
                Some(((other.before.start + start).checked_sub(other.after.start)?, &now[start..start + length]))
            })
            .collect();
        let is_clear = |own: &Gone<'_>, place: usize| place < own.reach.start || own.reach.end < place;
        let leaves = |own: &Gone<'_>| {
            all.iter().all(|(place, _)| is_clear(own, *place)) || all.iter().any(|one| own.follows(*one, &after))
        };
        let follows = all.iter().find(|one| own.iter().any(|own| own.follows(**one, &after)));
        let (place, added) = follows.or(all.first()).filter(|_| own.iter().all(leaves))?;
        patches.push((*place..*place, added.concat()));
    }
    for other in Gone::all(&later, &after).filter(|other| !other.change.before.is_empty()) {
        if !own.iter().all(|own| own.leaves(&other)) {
            return None;
        }
        patches.push((other.change.before.clone(), now[other.change.after.clone()].concat()));
    }
    Some(patched(&after, patches))
}

/// The words that a change removes or replaces; none if it only adds some.
struct Gone<'r> {
    change: &'r Replaced,
    /// The pieces that it may be about, if it only removes: one of two equal words, for example.
    reach: Range<usize>,
}

impl<'r> Gone<'r> {
    fn all(changes: &'r [Replaced], after: &[&[u8]]) -> impl Iterator<Item = Gone<'r>> {
        changes.iter().enumerate().map(|(at, change)| {
            let reach = match change.after.is_empty() {
                true => reach(changes, at, after, |one| &one.before),
                false => change.before.clone(),
            };
            Gone { change, reach }
        })
    }

    /// True if another change is certainly about other words, which do not touch these.
    fn leaves(&self, other: &Gone<'_>) -> bool {
        let is_clear = |one: &Range<usize>, other: &Range<usize>| one.end < other.start || other.end < one.start;
        if is_clear(&self.reach, &other.reach) {
            return true;
        }
        // Both only remove, and each removes words that the other can't be about.
        let only_remove = self.change.after.is_empty() && other.change.after.is_empty();
        let (one, two) = (&self.change.before, &other.change.before);
        only_remove
            && (one.end <= two.start || two.end <= one.start)
            && self.is_surely_beyond(other)
            && other.is_surely_beyond(self)
    }

    /// True if it certainly removes a piece that is out of the other's reach.
    fn is_surely_beyond(&self, other: &Gone<'_>) -> bool {
        let length = self.change.before.len();
        let sure = self.reach.end.saturating_sub(length)..self.reach.start + length;
        !sure.is_empty() && (sure.start < other.reach.start || other.reach.end < sure.end)
    }

    /// True if these are an attribute, and one is added right before it.
    fn follows(&self, (place, added): (usize, &[&[u8]]), after: &[&[u8]]) -> bool {
        let is_attribute = |pieces: &[&[u8]]| matches!(pieces, [b" " | b"\t", _, b"=", ..]);
        place == self.reach.start && is_attribute(&after[self.reach.clone()]) && is_attribute(added)
    }
}

/// The pieces that a change which only adds or removes may be about: `a b b` is `a b` with the last or the first `b` twice.
fn reach<'r>(
    all: &'r [Replaced],
    at: usize,
    pieces: &[&[u8]],
    side: impl Fn(&'r Replaced) -> &'r Range<usize>,
) -> Range<usize> {
    let Range { mut start, mut end } = side(&all[at]).clone();
    let least = at.checked_sub(1).map_or(0, |before| side(&all[before]).end);
    let most = all.get(at + 1).map_or(pieces.len(), |next| side(next).start);
    let length = end - start;
    while start > least && pieces[start - 1] == pieces[start - 1 + length] {
        start -= 1;
    }
    while end < most && pieces[end] == pieces[end - length] {
        end += 1;
    }
    start..end
}

/// The changes that are not undone already.
fn open<'r>(backward: &'r [Replaced], later: &[Replaced], (before, now): (&[&[u8]], &[&[u8]])) -> Vec<&'r Replaced> {
    let is_done = |one: &&Replaced| {
        let same =
            |other: &Replaced| other.before == one.before && now[other.after.clone()] == before[one.after.clone()];
        !later.iter().any(same)
    };
    backward.iter().filter(is_done).collect()
}

/// The text of the pieces with some replaced.
fn patched(pieces: &[&[u8]], mut patches: Patches) -> Vec<u8> {
    patches.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut at) = (Vec::new(), 0);
    for (range, text) in patches {
        pieces[at..range.start].iter().for_each(|piece| out.extend_from_slice(piece));
        out.extend(text);
        at = range.end;
    }
    pieces[at..].iter().for_each(|piece| out.extend_from_slice(piece));
    out
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

    #[test]
    fn other_words_of_the_line_stay_as_they_are_now() {
        let line = |class: &str, text: &str| format!("<p class=\"{class}\">{text}</p>\n");
        let check_line = |before: (&str, &str), after: (&str, &str), now: (&str, &str), expected: (&str, &str)| {
            let [before, after, now, expected] = [before, after, now, expected].map(|one| line(one.0, one.1));
            check(&before, &after, &now, Ok(&expected));
        };
        check_line(("a b c", "One"), ("x b c", "One"), ("x b z", "One"), ("a b z", "One"));
        check_line(("a b c", "One"), ("a y c", "One"), ("x y z", "First"), ("x b z", "First"));
        check_line(("a b c", "One"), ("a y c", "One"), ("x y z w", "First"), ("x b z w", "First"));
        check_line(("a", "One"), ("a", "First"), ("x", "First"), ("x", "One"));
        check_line(("p-2 m-2", "One"), ("p-4 m-2", "One"), ("p-4 m-4", "One"), ("p-2 m-4", "One"));
        // An attribute before another one, wherever it seems to be added.
        let aria = |names: &[&str]| {
            let all: String = names.iter().map(|name| format!(" aria-{name}=\"x\"")).collect();
            format!("<p{all} id=\"i\">\n")
        };
        check(&aria(&[]), &aria(&["label"]), &aria(&["live", "label"]), Ok(&aria(&["live"])));
        check(&aria(&["label"]), &aria(&["live", "label"]), &aria(&["live"]), Ok(&aria(&[])));
        check("a b\nc\n", "x b\nc\n", "x y\nz\nc\n", Err(TakenBack::Conflict));
    }

    #[test]
    fn the_same_words_are_in_conflict() {
        for (before, after, now) in [
            ("a m\n", "x m\n", "y m\n"),
            ("a m\n", "x m\n", "m x\n"),
            ("a m\n", "x m\n", "m\n"),
            ("a m\n", "x m\n", "xy m\n"),
            ("a m\n", "x m\n", "x y m\n"),
            ("m\n", "m x\n", "m x y\n"),
            // Either of two equal words may be the one that went.
            ("b\n", "b x x\n", "b x\n"),
            ("a x\n", "x x\n", "x\n"),
            ("(a)\n", "(x)\n", "(x(y))\n"),
            ("./a/b\n", "./x/b\n", "./x/y\n"),
        ] {
            check(before, after, now, Err(TakenBack::Conflict));
        }
    }
}
