//! A URL that a reader found.

/// A URL from a page, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(pub Vec<u8>);

impl Link {
    /// The text, for messages.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).escape_debug().to_string()
    }
}
