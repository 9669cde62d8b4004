//! Reads a text by its format.

use super::{Format, Sites, markup, script, sheet};
use crate::base::{error::Error, pulse::Pulse};

/// The places of a text; `invalid_input` if it can't be told apart what is text and what is a program.
pub(crate) fn read(text: &str, format: Format, pulse: Pulse<'_>) -> Result<Sites, Error> {
    match format {
        Format::Markup(markup) => markup::read(text, markup, pulse),
        Format::Script(language) => script::read(text, language, pulse),
        Format::Sheet(sheet) => Ok(sheet::read(text, sheet)),
    }
}
