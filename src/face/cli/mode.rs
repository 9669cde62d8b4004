//! The mode of stdout, and the use of colours.

use clap::ValueEnum;

/// The mode of stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Text for people.
    Text,
    /// One JSON document for programs.
    Document,
    /// Events as JSON lines for programs, the result last.
    Lines,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
