//! The comparison of the comments of two texts: each stays with its member, unless that goes.

use std::collections::BTreeSet;

use super::{
    Document, Syntax,
    cut::{Cut, Departure, Side, above},
    remark::{Kind, Place, Remark, Token, remarks},
};

/// The first comment of the new text that is new or beside another member, or the end of the text if one is lost.
///
/// A comment of a member that goes has to go, and one within a value that is replaced may.
pub(super) fn stray(syntax: Syntax, old: Side<'_>, new: Side<'_>, ways: &[(String, String)]) -> Option<Departure> {
    let (before, after) = (remarks(syntax, old.text, old.document), remarks(syntax, new.text, new.document));
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let gone = Gone::of(old.cuts);
    let way = Way { ways, first: first(syntax, new.document), old: old.document };
    let mut left: Vec<&Remark<'_>> = after.iter().collect();
    let mut take = |remark: &Remark<'_>| {
        let places = way.places(remark, &gone);
        let found = left.iter().position(|new| new.text == remark.text && places.contains(&way.shown(&new.place)));
        found.map(|found| left.remove(found))
    };
    let (leaving, staying): (Vec<_>, Vec<_>) = before.iter().partition(|remark| gone.takes(remark).is_some());
    if let Some(lost) = staying.into_iter().find(|remark| take(remark).is_none()) {
        let at = after.iter().find(|new| new.text == lost.text).map_or(new.text.len(), |new| new.start);
        return Some(Departure { at, reason: "a comment is lost, or beside another member" });
    }
    for remark in leaving.into_iter().filter(|remark| gone.takes(remark) == Some(Leave::May)) {
        take(remark);
    }
    left.first().map(|new| Departure { at: new.start, reason: "a comment is new, or beside another member" })
}

/// The fate of a comment that need not stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    Must,
    May,
}

/// The values that go.
struct Gone<'c> {
    removed: BTreeSet<&'c str>,
    replaced: BTreeSet<&'c str>,
}

impl<'c> Gone<'c> {
    fn of(cuts: &'c [Cut]) -> Self {
        let mut gone = Gone { removed: BTreeSet::new(), replaced: BTreeSet::new() };
        for cut in cuts {
            match cut {
                Cut::Member(place) => drop(gone.removed.insert(place)),
                Cut::Value(place) => drop(gone.replaced.insert(place)),
                Cut::Moved(_) | Cut::Scalar(_) | Cut::Wrapped(_) | Cut::Name(_) => {}
            }
        }
        gone
    }

    /// The outermost member that is removed, at a place or around it.
    fn removes<'p>(&self, place: &'p str) -> Option<&'p str> {
        above(place).find(|place| self.removed.contains(place))
    }

    /// The outermost value that is replaced and holds a place; a value holds its own, and a member does not.
    fn replaces<'p>(&self, place: &'p str, is_value: bool) -> Option<&'p str> {
        above(place).find(|around| self.replaced.contains(around) && (is_value || *around != place))
    }

    /// The fate of a comment, unless it stays.
    fn takes(&self, remark: &Remark<'_>) -> Option<Leave> {
        let (place, is_value) = match &remark.place {
            Place::Top(_) => return None,
            Place::On(place) | Place::Above(place) => (place, false),
            Place::In(place) => (place, true),
        };
        let [before, after] = remark.between;
        let is_between = |holds: &dyn Fn(Token<'_>) -> Option<String>| {
            before.and_then(holds).zip(after.and_then(holds)).is_some_and(|(before, after)| before == after)
        };
        let is_removed = self.removes(place).or(remark.within.and_then(|place| self.removes(place))).is_some()
            || is_between(&|token| self.removes(token.pointer).map(str::to_owned));
        if is_removed {
            return Some(Leave::Must);
        }
        let is_replaced = self.replaces(place, is_value).is_some()
            || remark.within.is_some_and(|place| self.replaces(place, true).is_some())
            || is_between(&|token| self.replaces(token.pointer, token.kind != Kind::Key).map(str::to_owned));
        is_replaced.then_some(Leave::May)
    }
}

/// The way of places from the old text to the new one.
struct Way<'w> {
    ways: &'w [(String, String)],
    /// The first member of the new text.
    first: Option<&'w str>,
    old: &'w Document,
}

impl Way<'_> {
    /// The places in the new text at which a comment is right.
    fn places(&self, remark: &Remark<'_>, gone: &Gone<'_>) -> Vec<Place> {
        let places = |place: &String| self.follow(place);
        let places: Vec<Place> = match &remark.place {
            // What may be a heading may stay where it is, also apart from the next member.
            Place::Top(place) => {
                let follows = if gone.removes(place).is_some() { Vec::new() } else { self.above(place) };
                let stays = [Place::Top(String::new()), Place::In(String::new())];
                follows.into_iter().chain(stays).collect()
            }
            Place::Above(place) => self.above(place),
            Place::On(place) => places(place).into_iter().map(Place::On).collect(),
            Place::In(place) => places(place).into_iter().map(Place::In).collect(),
        };
        places.iter().map(|place| self.shown(place)).collect()
    }

    fn above(&self, place: &str) -> Vec<Place> {
        let places = self.follow(place).into_iter().chain(self.wrapped_head(place));
        places.map(Place::Above).collect()
    }

    /// The places that an old one has now. A value that became an item has two: its own, and that of the array.
    fn follow(&self, place: &str) -> Vec<String> {
        let mut places = vec![place.to_owned()];
        for (from, to) in self.ways {
            let is_wrapped = is_item(from, to);
            let moved = places.iter().flat_map(|place| match place.strip_prefix(from.as_str()) {
                Some("") if is_wrapped => vec![place.clone(), to.clone()],
                Some(rest) if rest.is_empty() || rest.starts_with('/') => vec![format!("{to}{rest}")],
                _ => vec![place.clone()],
            });
            places = moved.collect();
        }
        places
    }

    /// The item that a comment above the first member of a wrapped object may stand above.
    fn wrapped_head(&self, place: &str) -> Vec<String> {
        let Some((object, _)) = place.rsplit_once('/') else { return Vec::new() };
        let inner = format!("{object}/");
        let first = self.old.atoms.iter().find(|atom| atom.pointer.starts_with(&inner));
        let is_first = first.is_some_and(|atom| above(&atom.pointer).any(|above| above == place));
        let places = self.follow(object);
        if is_first && places.len() > 1 { places.into_iter().skip(1).collect() } else { Vec::new() }
    }

    /// A place as it is compared: all above the first member are one, as a heading may stand there.
    fn shown(&self, place: &Place) -> Place {
        let is_top = match place {
            Place::Top(_) => true,
            Place::Above(place) => self.first == Some(place),
            Place::On(place) | Place::In(place) => self.first.is_none() && place.is_empty(),
        };
        if is_top { Place::Top(String::new()) } else { place.clone() }
    }
}

/// True if the second place is that of the only item of an array at the first.
fn is_item(array: &str, item: &str) -> bool {
    item.strip_prefix(array) == Some("/0")
}

/// The first member of a text. That of TOML is the first that a line names.
fn first(syntax: Syntax, document: &Document) -> Option<&str> {
    let atom = document.atoms.first()?;
    let place = atom.owner.as_ref().unwrap_or(&atom.pointer);
    let end = if syntax == Syntax::Toml { None } else { place.match_indices('/').nth(1) };
    Some(end.map_or(place, |(end, _)| &place[..end]))
}
