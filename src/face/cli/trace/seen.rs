//! A span as listeners see it.

use std::time::Duration;

use super::attributes::Attributes;

/// A span that has begun.
pub(super) struct Seen {
    /// A number that no other span of the process has.
    pub(super) serial: u64,
    pub(super) kind: &'static str,
    /// The number of the thread that began it.
    pub(super) thread: u64,
    /// The time of its begin, since the start of the process.
    pub(super) begun: Duration,
    pub(super) attributes: Attributes,
    /// The number of its attributes at its begin.
    pub(super) told: usize,
}

impl Seen {
    /// The name that people read: that of a call for a call, else the kind.
    pub(super) fn title(&self) -> &str {
        self.attributes.text("name").unwrap_or(self.kind)
    }

    /// A span of a test, which begins after as many milliseconds as its number.
    #[cfg(test)]
    pub(super) fn of(serial: u64, kind: &'static str, attributes: &[(&'static str, serde_json::Value)]) -> Self {
        let attributes = Attributes::of(attributes);
        let begun = Duration::from_millis(serial);
        Seen { serial, kind, thread: 1, begun, told: attributes.len(), attributes }
    }

    /// True if it may overlap others of its thread without being inside.
    pub(super) fn is_apart(&self) -> bool {
        self.kind == "stream"
    }
}
