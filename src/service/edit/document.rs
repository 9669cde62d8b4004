//! A text with its places, its lines and their hashes.

use std::ops::Range;

use base::{
    error::Error,
    hash::Sha256,
    micro::{Handle, Kind},
    pulse::Pulse,
};
use format::{
    code::tree::Base,
    site::{self, Format, Sites},
};

/// A place in a text: a site, and the bytes of it that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) site: usize,
    pub(super) range: Range<usize>,
}

impl Place {
    /// The byte at which people see it begin: of an element its tag.
    pub(super) fn begin(&self, sites: &Sites) -> usize {
        let site = &sites.sites[self.site];
        match site.element.filter(|_| site.kind == Kind::Element) {
            Some(element) => sites.elements[element].start,
            None => self.range.start,
        }
    }
}

/// A text that was read.
pub(super) struct Document<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) format: Format,
    pub(super) sites: Sites,
    /// The tree of a program, with which its edited text is read faster.
    pub(super) base: Option<Base>,
    sha256: Sha256,
    /// The beginning of each line.
    starts: Vec<usize>,
}

/// The format of a file.
pub(super) fn format_of(path: &str) -> Result<Format, Error> {
    Format::of_path(path)
}

impl<'a> Document<'a> {
    pub(super) fn read(path: &'a str, text: &'a str, pulse: Pulse<'_>) -> Result<Self, Error> {
        let format = format_of(path)?;
        let (sites, base) = site::read(text, format, pulse).map_err(|error| error.detail("path", path))?;
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Ok(Document { path, text, format, sites, base, sha256: Sha256::of(text.as_bytes()), starts })
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> u64 {
        self.starts.partition_point(|start| *start <= at) as u64
    }

    /// The column of a byte, from 1 in characters.
    pub(super) fn column(&self, at: usize) -> u64 {
        let start = self.starts[self.starts.partition_point(|start| *start <= at) - 1];
        self.text[start..at].chars().count() as u64 + 1
    }

    /// The number of lines. A line break at the end begins none.
    pub(super) fn lines(&self) -> u64 {
        let last_is_empty = self.starts.last() == Some(&self.text.len()) && self.starts.len() > 1;
        (self.starts.len() - usize::from(last_is_empty)) as u64
    }

    /// A line without its line break; none past the end.
    pub(super) fn line_text(&self, line: u64) -> Option<&'a str> {
        let at = usize::try_from(line.checked_sub(1)?).ok().filter(|_| line <= self.lines())?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        let line = &self.text[self.starts[at]..end];
        let line = line.strip_suffix('\n').unwrap_or(line);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The lines of that hash.
    pub(super) fn lines_of(&self, sha256: Sha256) -> Vec<u64> {
        let is_it = |line: &u64| self.line_text(*line).is_some_and(|text| Sha256::of(text.as_bytes()) == sha256);
        (1..=self.lines()).filter(is_it).collect()
    }

    pub(super) fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// The handle of a place.
    pub(super) fn handle(&self, place: &Place) -> Handle {
        let site = &self.sites.sites[place.site];
        let line = self.line(place.range.start);
        let text = if site.kind == Kind::Element { site.name.as_str() } else { &self.text[place.range.clone()] };
        Handle {
            path: self.path.to_owned(),
            line,
            column: self.column(place.begin(&self.sites)),
            text: text.to_owned(),
            kind: site.kind,
            name: Some(site.name.clone()).filter(|name| !name.is_empty()),
            line_sha256: Sha256::of(self.line_text(line).unwrap_or_default().as_bytes()),
            file_sha256: self.sha256,
            lines: self.lines(),
        }
    }
}
