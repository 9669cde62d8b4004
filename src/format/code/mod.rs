//! Source code as syntax trees, for proposers: patterns and rules of ast-grep, their matches and their edits.
//!
//! `grammar` has the compiled-in languages, `tree` parses, `rule` reads rules, `query` has one for several languages, `scan` finds matches, `rewrite` makes edits, and
//! `rule_test` runs the tests of rules.
//! Nothing here reads a file.

pub(crate) mod query;
pub(crate) mod rewrite;
pub(crate) mod rule;
pub(crate) mod rule_test;
pub(crate) mod scan;
pub(crate) mod tree;

mod grammar;
mod literal;
