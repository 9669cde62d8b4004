//! The comparison of two texts outside of the places that may differ.

use std::collections::BTreeMap;

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

impl Cut {
    fn holds(&self, atom: &Atom) -> bool {
        let Atom { pointer, is_key, owner, .. } = atom;
        let member = owner.as_ref().unwrap_or(pointer);
        let below = |place: &str| member.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
        match self {
            Cut::Member(place) => member == place || below(place),
            Cut::Value(place) | Cut::Scalar(place) => (member == place && (!is_key || owner.is_some())) || below(place),
            Cut::Name(place) => pointer == place && *is_key,
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
    let old = Parts::of(before, old, old_cuts);
    let new = Parts::of(after, new, new_cuts);
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
    fn of(text: &'t str, document: &Document, cuts: &[Cut]) -> Self {
        let mut parts = Parts { kept: Vec::new(), gaps: Vec::new() };
        let (mut at, mut gap, mut follows_member) = (0, Gap::default(), false);
        for atom in &document.atoms {
            let start = atom.range.start.max(at);
            gap.pieces.push(Piece { text: text.get(at..start).unwrap_or_default(), follows_member });
            let end = atom.range.end.max(start);
            let cut = cuts.iter().filter(|cut| cut.holds(atom));
            let mut cut = cut.peekable();
            let stays = cut.peek().is_none();
            let cut: Vec<&Cut> = cut.collect();
            follows_member = cut.iter().any(|cut| matches!(cut, Cut::Member(_)));
            // A value that is nothing, as null may be in YAML, has its space before it.
            gap.is_loose |= cut.iter().any(|cut| !matches!(cut, Cut::Scalar(_))) || (!stays && start == end);
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
