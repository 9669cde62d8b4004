//! Source code as syntax trees, for verifiers: the patterns and rules of ast-grep, judged by a matcher of our own on the trees.
//!
//! `format::code` uses ast-grep's libraries. Only the grammars are common to both, so that a mistake of the libraries, of their
//! search for literals, or of their edits is not repeated. `rules` reads rules, `source` finds the matches in a file, and `rewrite` makes
//! a text.
//!
//! - Reading: `rules`, `config`, `reader`, `selector`, `shorthand` and `order` make the types of `rule` of YAML.
//! - Places: `embedded` has the code within pages, and `scan` finds the matches in one tree.
//! - Matching: `judge` judges nodes by rules, `unify` by patterns, `form` by fixes, and `binding` holds variables.
//! - Faults that a grammar lets pass: `gaps`.
//! - Writing: `template` and `transform` make texts, and `layout` indents them, but for the lines that `literal` finds.

pub mod gaps;
pub mod rewrite;
pub mod rules;
pub mod scan;
pub mod source;
pub(crate) mod tree;

mod binding;
mod config;
mod embedded;
mod form;
mod grammar;
mod judge;
mod layout;
mod literal;
mod need;
mod order;
mod pattern;
mod reader;
mod rule;
mod selector;
mod shorthand;
mod suppression;
mod template;
mod transform;
mod unify;
