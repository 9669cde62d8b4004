//! The comparison of two texts outside of the places that may differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Atom, Document, Syntax};

/// A place that may differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cut {
    /// A member or item with its name and all that it holds.
    Member(String),
    /// A value with all that it holds.
    Value(String),
    /// A scalar in place of another one: all around it stays.
    Scalar(String),
    /// The name of a member.
    Name(String),
}

/// The cuts of a text, to be found by pointer.
#[derive(Default)]
struct Index<'c> {
    members: BTreeSet<&'c str>,
    values: BTreeSet<&'c str>,
    scalars: BTreeSet<&'c str>,
    names: BTreeSet<&'c str>,
    headers: &'c [String],
}

/// The cuts that hold a key or scalar.
struct Held {
    by_member: bool,
    by_scalar: bool,
    by_other: bool,
}

impl<'c> Index<'c> {
    fn new(cuts: &'c [Cut], headers: &'c [String]) -> Self {
        let mut index = Index { headers, ..Index::default() };
        for cut in cuts {
            match cut {
                Cut::Member(place) => index.members.insert(place),
                Cut::Value(place) => index.values.insert(place),
                Cut::Scalar(place) => index.scalars.insert(place),
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
            by_member: self.members.contains(member) || around(&self.members),
            by_scalar: value(&self.scalars),
            by_other: value(&self.values) || is_named || is_header,
        }
    }
}

/// The byte of the new text at which it differs from the old one outside of the cuts; none if it does not.
///
/// Keys and scalars that stay have to be spelled as before and in the same order. All between two of them has to be the same too,
/// unless a cut lies there; then it may be different punctuation and space. No comment may be new, and none may go but those
/// behind a member that goes, on its last line.
pub(crate) fn outside(
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
    let differs = old.kept.iter().zip(&new.kept).find(|(old, new)| old.text != new.text);
    if let Some((_, new)) = differs {
        return Some(new.start);
    }
    if old.kept.len() != new.kept.len() {
        return Some(after.len());
    }
    let mut comments = BTreeMap::<&str, (i64, i64)>::new();
    for (old, new) in old.gaps.iter().zip(&new.gaps) {
        let is_cut = old.pieces.len() + new.pieces.len() > 2;
        let is_exact = old.pieces.len() == new.pieces.len() && !old.is_loose && !new.is_loose;
        if (!is_cut || is_exact) && old.pieces != new.pieces {
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
                    let is_behind = piece.follows_member && !piece.text[..at].contains('\n');
                    *free += i64::from(step > 0 && is_behind);
                }
            }
        }
        if rests[0] != rests[1] {
            return Some(new.start);
        }
    }
    comments.values().any(|(left, free)| *left < 0 || left > free).then_some(after.len())
}

/// Adds the names of tables of TOML that lose or get all that they hold by a member that goes or comes. Returns those that lose
/// or get their header.
fn tables(cuts: &mut Vec<Cut>, document: &Document, other: &Document) -> Vec<String> {
    let has_header =
        |document: &Document, table: &str| document.atoms.iter().any(|atom| atom.owner.as_deref() == Some(table));
    let is_empty = |document: &Document, table: &str| match document.value.pointer(table) {
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => false,
    };
    let parent = |cut: &Cut| match cut {
        Cut::Member(place) => place.rsplit_once('/').map(|(parent, _)| parent.to_owned()),
        Cut::Value(_) | Cut::Scalar(_) | Cut::Name(_) => None,
    };
    let parents: BTreeSet<String> = cuts.iter().filter_map(parent).collect();
    let lost = parents.iter().filter(|table| is_empty(document, table) != is_empty(other, table));
    let keys = document.atoms.iter().filter(|atom| atom.is_key && atom.owner.is_none()).map(|atom| &atom.pointer);
    let got = keys.filter(|table| is_empty(document, table) && !is_empty(other, table));
    let names: Vec<Cut> = lost.chain(got).cloned().map(Cut::Name).collect();
    cuts.extend(names);
    parents.into_iter().filter(|table| has_header(document, table) && !has_header(other, table)).collect()
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
#[derive(PartialEq, Eq)]
struct Piece<'t> {
    text: &'t str,
    /// True if a part of a member that goes or comes stands before it.
    follows_member: bool,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str, document: &Document, (cuts, headers): (&[Cut], &[String])) -> Self {
        let index = Index::new(cuts, headers);
        let mut parts = Parts { kept: Vec::new(), gaps: Vec::new() };
        let (mut at, mut gap, mut follows_member) = (0, Gap::default(), false);
        for atom in &document.atoms {
            let start = atom.range.start.max(at);
            gap.pieces.push(Piece { text: text.get(at..start).unwrap_or_default(), follows_member });
            let end = atom.range.end.max(start);
            let held = index.held(atom);
            let stays = !(held.by_member || held.by_scalar || held.by_other);
            follows_member = held.by_member;
            // A value that is nothing, as null may be in YAML, has its space before it.
            gap.is_loose |= held.by_member || held.by_other || (!stays && start == end);
            if stays {
                parts.kept.push(Kept { text: text.get(start..end).unwrap_or_default(), start });
                parts.gaps.push(std::mem::replace(&mut gap, Gap { start: end, ..Gap::default() }));
            }
            at = end;
        }
        gap.pieces.push(Piece { text: text.get(at..).unwrap_or_default(), follows_member });
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
