//! The comparison of two texts outside of the places that may differ.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde_json::Value;

use super::{Atom, Document, Syntax};

/// A place that may differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// A member or item with its name and all that it holds.
    Member(String),
    /// A member that went elsewhere: the comments in it went along.
    Moved(String),
    /// A value with all that it holds.
    Value(String),
    /// A scalar in place of another one: all around it stays.
    Scalar(String),
    /// An object that became the item of an array: its keys, scalars and comments stay, the space between them may differ.
    Wrapped(String),
    /// The name of a member.
    Name(String),
}

/// The cuts of a text, to be found by pointer.
#[derive(Default)]
struct Index<'c> {
    members: BTreeSet<&'c str>,
    moved: BTreeSet<&'c str>,
    values: BTreeSet<&'c str>,
    scalars: BTreeSet<&'c str>,
    wrapped: BTreeSet<&'c str>,
    names: BTreeSet<&'c str>,
    headers: &'c [String],
}

/// The cuts that hold a key or scalar.
struct Held {
    by_member: bool,
    by_scalar: bool,
    by_other: bool,
    /// True if it stays, and the space around it may differ.
    is_wrapped: bool,
}

impl<'c> Index<'c> {
    fn new(cuts: &'c [Cut], headers: &'c [String]) -> Self {
        let mut index = Index { headers, ..Index::default() };
        for cut in cuts {
            match cut {
                Cut::Member(place) => index.members.insert(place),
                Cut::Moved(place) => index.moved.insert(place),
                Cut::Value(place) => index.values.insert(place),
                Cut::Scalar(place) => index.scalars.insert(place),
                Cut::Wrapped(place) => index.wrapped.insert(place),
                Cut::Name(place) => index.names.insert(place),
            };
        }
        index
    }

    fn held(&self, atom: &Atom) -> Held {
        let Atom { pointer, is_key, owner, .. } = atom;
        let member = owner.as_ref().unwrap_or(pointer).as_str();
        let around = |places: &BTreeSet<&str>| {
            !places.is_empty() && member.match_indices('/').any(|(end, _)| places.contains(&member[..end]))
        };
        let has_value = !is_key || owner.is_some();
        let value = |places: &BTreeSet<&str>| around(places) || has_value && places.contains(member);
        let is_named = *is_key && self.names.contains(pointer.as_str());
        let is_header = owner.as_ref().is_some_and(|owner| self.headers.contains(owner));
        Held {
            by_member: [&self.members, &self.moved].iter().any(|places| places.contains(member) || around(places)),
            by_scalar: value(&self.scalars),
            by_other: value(&self.values) || is_named || is_header,
            is_wrapped: around(&self.wrapped) || owner.is_some() && self.wrapped.contains(member),
        }
    }

    /// The outermost value that goes as a whole and holds a key or scalar.
    fn gone<'a>(&self, atom: &'a Atom) -> Option<&'a str> {
        let member = atom.owner.as_ref().unwrap_or(&atom.pointer).as_str();
        let above = member.match_indices('/').map(|(end, _)| &member[..end]);
        let is_gone = |place: &&str| self.members.contains(place) || self.values.contains(place);
        let is_itself = self.members.contains(member) || atom.owner.is_some() && self.values.contains(member);
        above.into_iter().find(is_gone).or(is_itself.then_some(member))
    }

    /// The outermost value that goes elsewhere and holds a key or scalar.
    fn moved<'a>(&self, atom: &'a Atom) -> Option<&'a str> {
        above(atom.owner.as_ref().unwrap_or(&atom.pointer)).find(|place| self.moved.contains(place))
    }

    /// True if a container goes as a whole.
    fn takes(&self, container: &str) -> bool {
        above(container).any(|place| self.members.contains(place) || self.values.contains(place))
    }

    /// True if a container goes elsewhere.
    fn moves(&self, container: &str) -> bool {
        !self.moved.is_empty() && above(container).any(|place| self.moved.contains(place))
    }
}

/// The places of the values around a value, from the outside, and its own.
fn above(place: &str) -> impl Iterator<Item = &str> {
    place.match_indices('/').map(|(end, _)| &place[..end]).chain([place])
}

/// The byte of the new text at which it differs from the old one outside of the cuts; none if it does not.
///
/// Keys and scalars that stay have to be spelled as before and in the same order. All between two of them has to be the same too,
/// unless a cut lies there; then it may be different punctuation and space. No comment may be new, and none may go but those
/// within a value that goes, and behind a member that goes, on its last line.
pub fn outside(
    syntax: Syntax,
    (before, old, old_cuts): (&str, &Document, &[Cut]),
    (after, new, new_cuts): (&str, &Document, &[Cut]),
) -> Option<usize> {
    let (mut old_cuts, mut new_cuts) = (old_cuts.to_vec(), new_cuts.to_vec());
    let (mut old_headers, mut new_headers) = (Vec::new(), Vec::new());
    if syntax == Syntax::Toml {
        old_headers = tables(&mut old_cuts, old, new);
        new_headers = tables(&mut new_cuts, new, old);
    }
    let old = Parts::of(before, old, (&old_cuts, &old_headers));
    let new = Parts::of(after, new, (&new_cuts, &new_headers));
    let differs = old.kept.iter().zip(&new.kept).find(|(old, new)| !old.is_same(new));
    if let Some((_, new)) = differs {
        return Some(new.start);
    }
    if old.kept.len() != new.kept.len() {
        return Some(after.len());
    }
    let mut comments = BTreeMap::<&str, (i64, i64)>::new();
    for (old, new) in old.gaps.iter().zip(&new.gaps) {
        let is_exact = old.pieces.len() == new.pieces.len() && !old.is_loose && !new.is_loose;
        if is_exact && old.pieces.iter().zip(&new.pieces).any(|(old, new)| old.text != new.text) {
            return Some(new.start);
        }
        let mut rests = [String::new(), String::new()];
        for ((gap, step), whole) in [(old, 1), (new, -1)].into_iter().zip(&mut rests) {
            for piece in &gap.pieces {
                let (found, rest) = split_comments(syntax, piece.text);
                whole.extend(rest.chars().filter(|c| !is_soft(*c)));
                for (at, comment) in found {
                    let (left, free) = comments.entry(comment).or_default();
                    *left += step;
                    *free += i64::from(step > 0 && piece.may_lose(at));
                }
            }
        }
        if rests[0] != rests[1] {
            return Some(new.start);
        }
    }
    comments.values().any(|(left, free)| *left < 0 || left > free).then_some(after.len())
}

/// The writing of a table of TOML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// A member of its own, in one place.
    Key,
    Header,
    /// By parts of other keys, or not at all.
    Implicit,
}

impl Writing {
    fn of(document: &Document, table: &str) -> Writing {
        let mut writing = Writing::Implicit;
        for atom in &document.atoms {
            match &atom.owner {
                Some(owner) if owner == table => return Writing::Header,
                None if atom.is_key && atom.pointer == table => writing = Writing::Key,
                _ => {}
            }
        }
        writing
    }
}

/// Adds the names of tables of TOML that lose or get all that they hold by a member that goes or comes, and those that are
/// written otherwise since their value is another one. Returns those that lose or get their header.
fn tables(cuts: &mut Vec<Cut>, document: &Document, other: &Document) -> Vec<String> {
    let writings = |table: &str| (Writing::of(document, table), Writing::of(other, table));
    let is_empty = |document: &Document, table: &str| match document.value.pointer(table) {
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => false,
    };
    let parent = |cut: &Cut| match cut {
        Cut::Member(place) | Cut::Moved(place) => place.rsplit_once('/').map(|(parent, _)| parent.to_owned()),
        Cut::Value(_) | Cut::Scalar(_) | Cut::Wrapped(_) | Cut::Name(_) => None,
    };
    let parents: BTreeSet<String> = cuts.iter().filter_map(parent).collect();
    let lost = parents.iter().filter(|table| is_empty(document, table) != is_empty(other, table));
    let keys = document.atoms.iter().filter(|atom| atom.is_key && atom.owner.is_none()).map(|atom| &atom.pointer);
    let got = keys.filter(|table| is_empty(document, table) && !is_empty(other, table));
    let values = cuts.iter().filter_map(|cut| match cut {
        Cut::Value(place) if Writing::of(document, place) == Writing::Key => Some(place),
        _ => None,
    });
    let is_otherwise = |table: &&String| {
        let (writing, other) = writings(table);
        writing != other || writing == Writing::Implicit
    };
    let names: Vec<Cut> = lost.chain(got).chain(values).filter(is_otherwise).cloned().map(Cut::Name).collect();
    cuts.extend(names);
    let loses_header = |table: &String| {
        let (writing, other) = writings(table);
        writing == Writing::Header && other != Writing::Header
    };
    parents.into_iter().filter(loses_header).collect()
}

/// A text as what stays and what lies between.
struct Parts<'t> {
    kept: Vec<Kept<'t>>,
    gaps: Vec<Gap<'t>>,
}

/// A key or scalar that stays.
struct Kept<'t> {
    text: &'t str,
    start: usize,
    is_wrapped: bool,
}

impl Kept<'_> {
    /// True if two are spelled alike, but for the indentation of lines within an object that became an item.
    fn is_same(&self, new: &Kept<'_>) -> bool {
        let is_moved = self.is_wrapped && new.is_wrapped;
        self.text == new.text
            || is_moved && self.text.lines().map(str::trim_start).eq(new.text.lines().map(str::trim_start))
    }
}

/// The text between two of them; each cut divides it into two pieces.
#[derive(Default)]
struct Gap<'t> {
    start: usize,
    pieces: Vec<Piece<'t>>,
    /// True if a cut in it is more than a scalar in place of another.
    is_loose: bool,
}

/// A text without keys and scalars.
struct Piece<'t> {
    text: &'t str,
    /// True if a part of a member that goes stands before it.
    follows_member: bool,
    /// True if parts of one value that goes stand on both sides of it.
    is_within: bool,
    /// True if a value that goes begins in it.
    enters: bool,
    /// The parts of it within brackets that go.
    within: Vec<Range<usize>>,
    /// The ends of brackets that go or move.
    ends: Vec<usize>,
}

impl Piece<'_> {
    /// True if the comment at a place may go.
    fn may_lose(&self, at: usize) -> bool {
        let ended = self.ends.iter().copied().filter(|end| *end <= at).max().unwrap_or_default();
        let is_behind = self.follows_member && !self.text[ended..at].contains('\n');
        // The dash of an item in YAML goes with the item.
        let begun = self.text[..at].trim_end_matches([' ', '\t']);
        let is_in_item = self.enters && begun.ends_with('-');
        is_behind || is_in_item || self.is_within || self.within.iter().any(|range| range.contains(&at))
    }
}

/// The brackets that go as a whole.
struct Brackets<'d> {
    places: BTreeSet<&'d str>,
    /// The outermost ones, in the order of the text.
    ranges: Vec<Range<usize>>,
    /// The ends of all that go or move, in the order of the text.
    ends: Vec<usize>,
}

impl<'d> Brackets<'d> {
    fn of(document: &'d Document, index: &Index<'_>) -> Self {
        let gone = document.brackets.iter().filter(|(place, _)| index.takes(place));
        let (places, mut all): (BTreeSet<&str>, Vec<Range<usize>>) =
            gone.map(|(place, range)| (place.as_str(), range.clone())).unzip();
        all.sort_by_key(|range| range.start);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for range in all {
            if ranges.last().is_none_or(|last| last.end <= range.start) {
                ranges.push(range);
            }
        }
        let shut = document.brackets.iter().filter(|(place, _)| index.takes(place) || index.moves(place));
        let mut ends: Vec<usize> = shut.map(|(_, range)| range.end).collect();
        ends.sort_unstable();
        Brackets { places, ranges, ends }
    }

    /// The ends in a range.
    fn ends(&self, range: &Range<usize>) -> &[usize] {
        let first = self.ends.partition_point(|end| *end <= range.start);
        let behind = self.ends.partition_point(|end| *end <= range.end);
        self.ends.get(first..behind).unwrap_or_default()
    }

    /// Those that share bytes with a range.
    fn over(&self, range: &Range<usize>) -> &[Range<usize>] {
        let first = self.ranges.partition_point(|around| around.end <= range.start);
        let behind = self.ranges.partition_point(|around| around.start < range.end);
        self.ranges.get(first..behind).unwrap_or_default()
    }
}

impl<'t> Parts<'t> {
    fn of(text: &'t str, document: &Document, (cuts, headers): (&[Cut], &[String])) -> Self {
        let index = Index::new(cuts, headers);
        let brackets = Brackets::of(document, &index);
        let piece = |range: Range<usize>, [before, moved]: [Option<&str>; 2], [after, next]: [Option<&str>; 2]| {
            // A value without brackets ends with the line of its last part.
            let ends_line = |gone: &str| index.members.contains(gone) || !brackets.places.contains(gone);
            let follows_member = before.is_some_and(ends_line) || moved.is_some() && moved != next;
            let shifted = |at: usize| at.clamp(range.start, range.end) - range.start;
            let within = brackets.over(&range).iter().map(|around| shifted(around.start)..shifted(around.end));
            Piece {
                text: text.get(range.clone()).unwrap_or_default(),
                follows_member,
                is_within: before.is_some() && before == after,
                enters: after.is_some() && before != after,
                within: within.filter(|range| !range.is_empty()).collect(),
                ends: brackets.ends(&range).iter().map(|end| end - range.start).collect(),
            }
        };
        let mut parts = Parts { kept: Vec::new(), gaps: Vec::new() };
        let (mut at, mut before) = (0, [None, None]);
        let mut gap = Gap { is_loose: index.values.contains(""), ..Gap::default() };
        for atom in &document.atoms {
            let start = atom.range.start.max(at);
            let now = [index.gone(atom), index.moved(atom)];
            gap.pieces.push(piece(at..start, before, now));
            let end = atom.range.end.max(start);
            let held = index.held(atom);
            let stays = !(held.by_member || held.by_scalar || held.by_other);
            before = now;
            // A value that is nothing, as null may be in YAML, has its space before it.
            gap.is_loose |= held.by_member || held.by_other || held.is_wrapped || (!stays && start == end);
            if stays {
                let text = text.get(start..end).unwrap_or_default();
                parts.kept.push(Kept { text, start, is_wrapped: held.is_wrapped });
                let next = Gap { start: end, is_loose: held.is_wrapped, ..Gap::default() };
                parts.gaps.push(std::mem::replace(&mut gap, next));
            }
            at = end;
        }
        gap.pieces.push(piece(at..text.len(), before, [None, None]));
        parts.gaps.push(gap);
        parts
    }
}

fn is_soft(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}' || ",:=[]{}-?|>+.".contains(c)
}

/// The comments in a text between keys and scalars with their places, and the rest of it.
fn split_comments(syntax: Syntax, text: &str) -> (Vec<(usize, &str)>, String) {
    let (mut comments, mut rest, mut at) = (Vec::new(), String::new(), 0);
    let is_json = matches!(syntax, Syntax::Json | Syntax::Jsonc | Syntax::Json5);
    while let Some(c) = text.get(at..).and_then(|text| text.chars().next()) {
        let tail = &text[at..];
        let line = || tail.find('\n').unwrap_or(tail.len());
        let length = match is_json {
            true if tail.starts_with("//") => line(),
            true if tail.starts_with("/*") => tail.find("*/").map_or(tail.len(), |end| end + 2),
            false if c == '#' => line(),
            _ => {
                rest.push(c);
                at += c.len_utf8();
                continue;
            }
        };
        comments.push((at, tail[..length].trim_end()));
        at += length;
    }
    (comments, rest)
}
