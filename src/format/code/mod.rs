//! Source code as syntax trees, for proposers: patterns and rules of ast-grep, their matches and their edits.
//!
//! `grammar` has the compiled-in languages, `tree` parses, `rule` reads rules, `scan` finds matches, and `rewrite` makes edits.
//! Nothing here reads a file.

pub(crate) mod literal;
pub(crate) mod rewrite;
pub(crate) mod rule;
pub(crate) mod scan;
pub(crate) mod tree;

mod grammar;
