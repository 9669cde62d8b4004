//! The comparison of two texts outside of the places that may differ.

use std::{collections::BTreeSet, iter::once};

use serde_json::Value;

use super::{
    Atom, Document, Syntax,
    attached::stray,
    cut::{Cut, Departure, Side},
    remark::comments,
};

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
}

/// The first place of the new text at which it differs from the old one outside of the cuts; none if it does not.
///
/// Keys and scalars that stay have to be spelled as before and in the same order. All between two of them has to be the same too,
/// unless a cut lies there; then it may be different punctuation and space. Every comment stays with its member: `ways` are the old
/// and new pointers of values that went elsewhere, in the order in which they went.
pub fn outside(syntax: Syntax, old: Side<'_>, new: Side<'_>, ways: &[(String, String)]) -> Option<Departure> {
    let changed = |at: usize| Some(Departure { at, reason: "it differs where nothing had to change" });
    let (mut old_cuts, mut new_cuts) = (old.cuts.to_vec(), new.cuts.to_vec());
    let (mut old_headers, mut new_headers) = (Vec::new(), Vec::new());
    if syntax == Syntax::Toml {
        old_headers = tables(&mut old_cuts, old.document, new.document);
        new_headers = tables(&mut new_cuts, new.document, old.document);
    }
    let before = Parts::of(old.text, old.document, (&old_cuts, &old_headers));
    let after = Parts::of(new.text, new.document, (&new_cuts, &new_headers));
    let differs = before.kept.iter().zip(&after.kept).find(|(old, new)| !old.is_same(new));
    if let Some((_, kept)) = differs {
        return changed(kept.start);
    }
    if before.kept.len() != after.kept.len() {
        return changed(new.text.len());
    }
    for (old, new) in before.gaps.iter().zip(&after.gaps) {
        let is_exact = old.pieces.len() == new.pieces.len() && !old.is_loose && !new.is_loose;
        let signs = |gap: &Gap<'_>| gap.pieces.iter().map(|piece| signs(syntax, piece)).collect::<String>();
        if is_exact && old.pieces != new.pieces || signs(old) != signs(new) {
            return changed(new.start);
        }
    }
    stray(syntax, old, new, ways)
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
    pieces: Vec<&'t str>,
    /// True if a cut in it is more than a scalar in place of another.
    is_loose: bool,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str, document: &Document, (cuts, headers): (&[Cut], &[String])) -> Self {
        let index = Index::new(cuts, headers);
        let mut parts = Parts { kept: Vec::new(), gaps: Vec::new() };
        let mut at = 0;
        let mut gap = Gap { is_loose: index.values.contains(""), ..Gap::default() };
        for atom in &document.atoms {
            let start = atom.range.start.max(at);
            gap.pieces.push(text.get(at..start).unwrap_or_default());
            let end = atom.range.end.max(start);
            let held = index.held(atom);
            let stays = !(held.by_member || held.by_scalar || held.by_other);
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
        gap.pieces.push(text.get(at..).unwrap_or_default());
        parts.gaps.push(gap);
        parts
    }
}

fn is_soft(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}' || ",:=[]{}-?|>+.".contains(c)
}

/// A text between keys and scalars without comments, space and punctuation.
fn signs(syntax: Syntax, text: &str) -> String {
    let (mut signs, mut at) = (String::new(), 0);
    for comment in comments(syntax, text, 0..text.len()).into_iter().chain(once(text.len()..text.len())) {
        // Anchors of YAML are compared with the comments.
        let is_anchor =
            |word: &&str| syntax == Syntax::Yaml && word.trim_start_matches(['-', '[', '{']).starts_with('&');
        let words = text[at..comment.start].split_whitespace().filter(|word| !is_anchor(word));
        signs.extend(words.flat_map(str::chars).filter(|c| !is_soft(*c)));
        at = comment.end;
    }
    signs
}
