//! Reads a text by its format.

use super::{Format, Sites, markup, script, sheet};
use crate::code::tree::{self, Base, Replaced};
use base::{error::Error, pulse::Pulse};

/// The places of a text; `invalid_input` if it can't be told apart what is text and what is a program. A program's tree is kept for
/// `read_edited`.
pub fn read(text: &str, format: Format, pulse: Pulse<'_>) -> Result<(Sites, Option<Base>), Error> {
    match format {
        Format::Markup(markup) => Ok((markup::read(text, markup, pulse)?, None)),
        Format::Script(language) => script::read(text, language, pulse),
        Format::Sheet(sheet) => Ok((sheet::read(text, sheet), None)),
    }
}

/// The places of the second text, which is the first with one place replaced. They are those that `read` gives.
pub fn read_edited(
    (before, text): (&str, &str),
    format: Format,
    (base, replaced): (Option<&Base>, &Replaced),
    pulse: Pulse<'_>,
) -> Result<Sites, Error> {
    let tree = match base {
        Some(base) => tree::parse_edited(base.clone(), (before, text), replaced, pulse)?,
        None => None,
    };
    match tree {
        Some(tree) => Ok(script::edited(&tree)),
        None => read(text, format, pulse).map(|(sites, _)| sites),
    }
}
