//! The lengths of a text's pieces, in a readable notation: `1x26 3 1x50`.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The most pieces that are read.
const MAX: usize = 1 << 24;

/// Lengths in bytes, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces(pub(super) Vec<usize>);

impl Pieces {
    /// True if the pieces are unknown.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for run in self.0.chunk_by(|one, next| one == next) {
            let space = if text.is_empty() { "" } else { " " };
            // Writing to a string can't fail.
            let _ = match run.len() {
                1 => write!(text, "{space}{}", run[0]),
                times => write!(text, "{space}{}x{times}", run[0]),
            };
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        for run in text.split(' ').filter(|run| !run.is_empty()) {
            let (length, times) = run.split_once('x').unwrap_or((run, "1"));
            let (length, times) = (length.parse::<usize>().ok()?, times.parse::<usize>().ok()?);
            if times > MAX - pieces.len() {
                return None;
            }
            pieces.extend(std::iter::repeat_n(length, times));
        }
        Some(Pieces(pieces))
    }
}

impl Serialize for Pieces {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Pieces {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        Pieces::parse(&text).ok_or_else(|| D::Error::custom("`pieces` has what is no length"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_survive_as_text() {
        for (lengths, text) in [(vec![], ""), (vec![5], "5"), (vec![1, 1, 1, 3, 1], "1x3 3 1")] {
            assert_eq!(Pieces(lengths.clone()).text(), text);
            assert_eq!(Pieces::parse(text), Some(Pieces(lengths)));
        }
        for odd in ["x", "1x", "-1", "1x99999999999", "a 1"] {
            assert_eq!(Pieces::parse(odd), None, "{odd}");
        }
    }
}
