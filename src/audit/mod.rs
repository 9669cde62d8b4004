//! Readers of file formats for verifiers, by other libraries than those of `format`.
//!
//! They find the links of a file, or the matches of a rule in code, and keep everything else for comparison. Neither room names the
//! other, so that a mistake of one reader is not repeated by the other.

pub(crate) mod code;
pub(crate) mod css;
pub(crate) mod definition;
pub(crate) mod document;
pub(crate) mod json;
pub(crate) mod link;
pub(crate) mod markdown;
pub(crate) mod markdown_outline;
pub(crate) mod markup;
pub(crate) mod page;
pub(crate) mod spelling;
pub(crate) mod text;
pub(crate) mod word;
pub(crate) mod xml;

mod attribute;
mod bare_url;
mod foreign_content;
