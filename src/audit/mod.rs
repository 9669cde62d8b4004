//! Readers of file formats for verifiers, by other libraries than those of `format`.
//!
//! They find the links of a file, or the matches of a rule in code, and keep everything else for comparison. Neither room names the
//! other, so that a mistake of one reader is not repeated by the other.

pub mod code;
pub mod css;
pub mod definition;
pub mod document;
pub mod json;
pub mod link;
pub mod markdown;
pub mod markdown_outline;
pub mod markup;
pub mod mdx;
pub mod members;
pub mod page;
pub mod spelling;
pub mod text;
pub mod word;
pub mod xml;

mod attribute;
mod bare_url;
mod foreign_content;
