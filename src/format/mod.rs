//! Readers of file formats for proposers: the places of values in a text, with the way back to its bytes.
//!
//! Nothing here reads the tree or decides. A verifier reads the same formats by the libraries of `audit`, and neither room
//! names the other.

pub mod code;
pub mod css;
pub mod document;
pub mod escape;
pub mod foreign;
pub mod html;
pub mod json;
pub mod markdown;
pub mod markdown_outline;
pub mod mdx;
pub mod members;
pub mod name;
pub mod outline;
pub mod pieces;
pub mod scan;
pub mod site;
pub mod table;
pub mod text;
pub mod value;
pub mod xml;

mod destination;
mod heading;
mod vocabulary;
