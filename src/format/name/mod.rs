//! Names in source code, for proposers: their whole tokens, their bindings, and the ways of other files to them.
//!
//! `word` finds a name in bytes, `token` says what stands there, and `reserved` knows the names that a language refuses.
//! `script` resolves names of JavaScript and TypeScript, and `tree` those of Python, Rust, Go and Java.
//! `facts` has the results. `kin` and `side` tell where members are declared, and `built` which names code
//! builds while it runs. Nothing here reads a file.

pub(crate) mod built;
pub(crate) mod documentation;
pub(crate) mod facts;
pub(crate) mod kin;
pub(crate) mod reserved;
pub(crate) mod script;
pub(crate) mod side;
pub(crate) mod token;
pub(crate) mod tree;
pub(crate) mod word;
