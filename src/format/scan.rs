//! The findings in a file of any format.

use std::{borrow::Cow, ops::Range};

use super::{
    escape::Escape,
    value::{Decoded, Value},
};
use base::error::Error;

/// Scans the bytes of a file.
pub type Scanner<'a> = &'a dyn Fn(&[u8]) -> Result<Scan, Error>;

/// The findings in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Every value with URLs, in the order of the file, none inside another.
    pub values: Vec<Value>,
    /// The reason to leave the file alone; none if it can be edited.
    pub skipped: Option<Cow<'static, str>>,
}

impl Scan {
    /// A file that is left alone.
    pub fn skipped(reason: impl Into<Cow<'static, str>>) -> Self {
        Scan { values: Vec::new(), skipped: Some(reason.into()) }
    }

    /// Scans one part only.
    pub fn of_part(
        bytes: &[u8],
        part: (Range<usize>, Escape),
        scan: impl FnOnce(&str) -> Result<Scan, Error>,
    ) -> Result<Self, Error> {
        let mut found = Scan::default();
        found.add_part(bytes, part, scan)?;
        Ok(found)
    }

    /// Scans a part in another language, inside a value or between tags.
    pub(crate) fn add_part(
        &mut self,
        bytes: &[u8],
        (range, escape): (Range<usize>, Escape),
        scan: impl FnOnce(&str) -> Result<Scan, Error>,
    ) -> Result<(), Error> {
        let part = Decoded::new(&bytes[range.clone()], &[escape]);
        let found = scan(&part.text)?;
        self.skipped = self.skipped.take().or(found.skipped);
        self.values.extend(found.values.into_iter().map(|value| value.within(&part, range.start, escape)));
        Ok(())
    }
}
