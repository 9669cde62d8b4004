//! Compares a file before and after byte by byte, except in the destinations that differ in meaning.

use std::ops::Range;

use super::document::{Document, Found};

/// An error if the files differ anywhere else.
pub(super) fn compare(before: (&[u8], &Document), after: (&[u8], &Document)) -> Result<(), String> {
    let ((old, old_links), (new, new_links)) = ((before.0, &before.1.links), (after.0, &after.1.links));
    if old_links.len() != new_links.len() {
        return Err("its links are not the same in number".to_owned());
    }
    let mut cuts: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (one, other) in old_links.iter().zip(new_links).filter(|(one, other)| one.url != other.url) {
        let (Some(from), Some(to)) = (&one.span, &other.span) else {
            return Err(format!("the place of `{}` is unknown, so it was to be left alone", one.shown()));
        };
        cuts.push((from.clone(), to.clone()));
    }
    cuts.sort_by_key(|(from, _)| from.start);
    let (mut at, mut to) = (0, 0);
    for (from, into) in cuts {
        if from.start < at || into.start < to || old[at..from.start] != new[to..into.start] {
            return Err(format!("it differs before byte {}, where no link had to change", from.start));
        }
        (at, to) = (from.end, into.end);
    }
    match old[at..] == new[to..] {
        true => Ok(()),
        false => Err(format!("it differs after byte {at}, where no link had to change")),
    }
}

impl Found {
    /// The destination, for messages.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.url).escape_debug().to_string()
    }
}
