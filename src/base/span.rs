//! The spans of a run, which a subscriber of `tracing` receives: the run, its calls and the steps of each.
//!
//! The name of a span is its kind. Its attributes are of one list, and none of them holds an argument, a content, a variable or a
//! path. No decision and no record depends on a span.

/// The target of every span.
pub const TARGET: &str = "nrv::span";

/// The attributes of spans.
pub const ATTRIBUTES: &[&str] = &[
    "bytes",
    "decision",
    "error",
    "files",
    "gate",
    "lines",
    "mode",
    "name",
    "position",
    "resumed",
    "run",
    "state",
    "tool",
    "transaction",
    "undoes",
    "version",
];

/// Makes a span of a kind with attributes, as `tracing::debug_span` does; `in` names the span that it belongs to, if that is not the
/// one that the thread is in.
#[macro_export]
macro_rules! span {
    (in $parent:expr, $kind:literal $(, $($attributes:tt)+)?) => {
        ::tracing::debug_span!(target: $crate::span::TARGET, parent: $parent, $kind $(, $($attributes)+)?)
    };
    ($kind:literal $(, $($attributes:tt)+)?) => {
        ::tracing::debug_span!(target: $crate::span::TARGET, $kind $(, $($attributes)+)?)
    };
}
pub use span;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_sorted() {
        assert!(ATTRIBUTES.is_sorted());
    }
}
