//! Source code as syntax trees, for proposers: patterns and rules of ast-grep, their matches and their edits.
//!
//! `grammar` has the compiled-in languages, `tree` parses, `embedded` finds the code within pages, `rule` reads rules, and `query` has one for several
//! languages. `scan` finds the matches in a tree and `file` those in a file, `rewrite` makes edits, and `rule_test` runs the tests of rules.
//! Nothing here reads a file.

pub(crate) mod file;
pub(crate) mod query;
pub(crate) mod rewrite;
pub(crate) mod rule;
pub(crate) mod rule_test;
pub(crate) mod scan;
pub(crate) mod tree;

mod embedded;
mod grammar;
mod literal;
