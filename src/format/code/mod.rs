//! Source code as syntax trees, for proposers: patterns and rules of ast-grep, their matches and their edits.
//!
//! `grammar` has the compiled-in languages, `tree` parses, `embedded` finds the code within pages, `rule` reads rules, and `query` has one for several
//! languages. `scan` finds the matches in a tree and `file` those in a file, `rewrite` makes edits, and `rule_test` runs the tests of rules.
//! `form` knows matches that are rewritten already, `slots` what a fix does to the end of a list, and `verbatim` keeps the lines of literals as they
//! are. Nothing here reads a file.

pub mod file;
pub mod query;
pub mod rewrite;
pub mod rule;
pub mod rule_test;
pub mod scan;
pub mod tree;

mod embedded;
mod form;
mod grammar;
mod literal;
mod slots;
mod verbatim;
