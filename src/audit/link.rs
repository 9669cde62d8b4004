//! A URL that a reader found.

/// A URL from a page, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) Vec<u8>);

impl Link {
    /// The text, for messages.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).escape_debug().to_string()
    }
}
