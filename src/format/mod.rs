//! Readers of file formats for proposers: the places of values in a text, with the way back to its bytes.
//!
//! Nothing here reads the tree or decides. A verifier reads the same formats by the libraries of `audit`, and neither room
//! names the other.

pub(crate) mod code;
pub(crate) mod css;
pub(crate) mod document;
pub(crate) mod escape;
pub(crate) mod foreign;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod markdown_outline;
pub(crate) mod name;
pub(crate) mod outline;
pub(crate) mod pieces;
pub(crate) mod scan;
pub(crate) mod site;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod value;
pub(crate) mod xml;

mod destination;
mod heading;
mod vocabulary;
