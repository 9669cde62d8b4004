//! Names in source code, for proposers: their whole tokens, their bindings, and the ways of other files to them.
//!
//! `word` finds a name in bytes, `token` says what stands there, and `reserved` knows the names that a language refuses.
//! `script` resolves names of JavaScript and TypeScript, where `passing` follows modules that are values, and
//! `blocks` finds declarations whose meaning lies elsewhere. `tree` resolves those of
//! Python, Rust, Go and Java. `facts` has the results, `links` the modules of a script, and `outline` those of a Rust file. `kin` and
//! `side` tell where members are declared, `built` which names code builds while it runs, and `value` which functions are used as
//! values. Nothing here reads a file.

mod blocks;
pub mod built;
pub mod documentation;
pub mod facts;
pub mod kin;
pub mod links;
mod node;
pub mod outline;
mod passing;
pub mod reserved;
pub mod script;
pub mod side;
pub mod token;
pub mod tree;
pub mod value;
pub mod word;
