//! Texts that a line produces, as far as it tells them.

/// Stands for a word that is only known when the command runs.
pub(super) const UNKNOWN: &str = "$_";

/// Stands for a random letter in a name that `mktemp` has made.
pub(super) const LETTER: char = '\u{e000}';

/// The line's knowledge of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// All of it.
    Text(String),
    /// The output of a command, and true if it comes from the network.
    Output { fetched: bool },
}
