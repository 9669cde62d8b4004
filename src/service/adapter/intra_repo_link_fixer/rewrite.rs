//! Writes repairs into a file. Every byte outside of a destination stays, and the result is read again.

use std::collections::BTreeMap;

use super::{
    page::{Kind, Page, destinations},
    repair::Fix,
    resolve::Rules,
    spelling::{self, Edit, Respelled},
};
use base::{error::Error, pulse::Pulse};
use format::outline::{Outline, Piece};

/// A file with repairs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// The new bytes; none if nothing could be written.
    pub(super) bytes: Option<Vec<u8>>,
    /// The indices of the repaired links.
    pub(super) written: Vec<usize>,
}

/// A file as it was read.
#[derive(Clone, Copy)]
pub(super) struct Original<'a> {
    pub(super) path: &'a str,
    pub(super) kind: Kind,
    pub(super) bytes: &'a [u8],
    pub(super) page: &'a Page,
}

/// Writes the repairs, by the indices of their links. A repair that would be read as something else is left out.
pub(super) fn rewrite(
    rules: &Rules<'_>,
    original: Original<'_>,
    fixes: &[(usize, Fix)],
    pulse: Pulse<'_>,
) -> Result<Rewritten, Error> {
    let spelled = |(link, fix): &(usize, Fix)| {
        let respelled = spelling::respelled(rules, (original.path, original.bytes), &original.page.links[*link], fix)?;
        Some((*link, respelled))
    };
    let all: Vec<(usize, Respelled)> = fixes.iter().filter_map(spelled).collect();
    let Some(outline) = original.kind.outline(original.bytes, original.page.blocks, pulse)? else {
        return Ok(Rewritten::default());
    };
    let old: Vec<String> = destinations(original.bytes, &outline).map(|(_, _, destination)| destination).collect();
    let read = Read { original, outline: &outline, old: &old };
    if let Some(bytes) = read.proven(&all, pulse)? {
        return Ok(Rewritten { bytes, written: all.into_iter().map(|(link, _)| link).collect() });
    }
    let mut single = Vec::new();
    for one in all {
        if read.proven(std::slice::from_ref(&one), pulse)?.is_some() {
            single.push(one);
        }
    }
    match read.proven(&single, pulse)? {
        Some(bytes) => Ok(Rewritten { bytes, written: single.into_iter().map(|(link, _)| link).collect() }),
        None => Ok(Rewritten::default()),
    }
}

/// The reading of a file before its repair.
struct Read<'a> {
    original: Original<'a>,
    outline: &'a Outline,
    old: &'a [String],
}

impl Read<'_> {
    /// The new bytes, if they read as meant: the same links in the same order, with the new destinations; the inner none if
    /// nothing changes.
    fn proven(&self, respelled: &[(usize, Respelled)], pulse: Pulse<'_>) -> Result<Option<Option<Vec<u8>>>, Error> {
        if respelled.is_empty() {
            return Ok(Some(None));
        }
        let Some(bytes) = edited(self.original.bytes, respelled.iter().flat_map(|(_, new)| &new.edits)) else {
            return Ok(None);
        };
        let Some(outline) = self.original.kind.outline(&bytes, self.original.page.blocks, pulse)? else {
            return Ok(None);
        };
        let meant: BTreeMap<usize, &str> =
            respelled.iter().map(|(link, new)| (self.original.page.links[*link].n, new.destination.as_str())).collect();
        let new: Vec<String> = destinations(&bytes, &outline).map(|(_, _, destination)| destination).collect();
        let is_meant = |(n, (old, new)): (usize, (&String, &String))| meant.get(&n).copied().unwrap_or(old) == new;
        let is_same = outline.skipped.is_none()
            && texts(&outline).eq(texts(self.outline))
            && outline.names == self.outline.names
            && self.old.len() == new.len()
            && self.old.iter().zip(&new).enumerate().all(is_meant);
        Ok(is_same.then_some(Some(bytes)))
    }
}

/// The text of each heading.
fn texts(outline: &Outline) -> impl Iterator<Item = &[Piece]> {
    outline.headings.iter().map(|heading| heading.pieces.as_slice())
}

/// The bytes with the edits made; none if two of them overlap.
fn edited<'a>(bytes: &[u8], edits: impl Iterator<Item = &'a Edit>) -> Option<Vec<u8>> {
    let mut new = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for Edit { range, text } in edits {
        new.extend_from_slice(bytes.get(copied..range.start)?);
        new.extend_from_slice(text.as_bytes());
        copied = range.end;
    }
    new.extend_from_slice(bytes.get(copied..)?);
    Some(new)
}
