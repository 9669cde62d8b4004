//! The similarity of two contents, as git measures it: the share of the larger one whose lines stand in the other.

/// The score of equal contents.
pub(super) const MOST: u64 = 60_000;
/// The score from which a pair is a rename.
pub(super) const LEAST: u64 = MOST / 2;

/// The longest piece that is hashed as one, in bytes.
const LONGEST_PIECE: u32 = 64;
/// The number of different hashes.
const HASHES: u32 = 107_927;
/// The number of bytes that are searched for a NUL, which makes a content binary.
const SEARCHED: usize = 8000;

/// A content as counts of its pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    /// The length of the content.
    pub(super) length: u64,
    /// Each hash with the number of bytes of its pieces, in the order of the hashes.
    counts: Vec<(u32, u64)>,
}

impl Pieces {
    /// Cuts a content at its line ends.
    pub(super) fn of(content: &[u8]) -> Self {
        let is_text = !content[..content.len().min(SEARCHED)].contains(&0);
        let mut found: Vec<(u32, u64)> = Vec::with_capacity(content.len() / 32);
        let (mut low, mut high, mut length) = (0_u32, 0_u32, 0_u32);
        let hash = |low: u32, high: u32| low.wrapping_add(high.wrapping_mul(0x61)) % HASHES;
        for (at, byte) in content.iter().enumerate() {
            if is_text && *byte == b'\r' && content.get(at + 1) == Some(&b'\n') {
                continue;
            }
            let before = low;
            low = (low << 7) ^ (high >> 25);
            high = (high << 7) ^ (before >> 25);
            low = low.wrapping_add(u32::from(*byte));
            length += 1;
            if length < LONGEST_PIECE && *byte != b'\n' {
                continue;
            }
            found.push((hash(low, high), u64::from(length)));
            (low, high, length) = (0, 0, 0);
        }
        if length > 0 {
            found.push((hash(low, high), u64::from(length)));
        }
        found.sort_unstable();
        let mut counts: Vec<(u32, u64)> = Vec::with_capacity(found.len());
        for (hash, length) in found {
            match counts.last_mut() {
                Some(last) if last.0 == hash => last.1 += length,
                Some(_) | None => counts.push((hash, length)),
            }
        }
        Pieces { length: content.len() as u64, counts }
    }

    /// The similarity with a later content.
    pub(super) fn score(&self, later: &Pieces) -> u64 {
        if later.length == 0 || !may_be_similar(self.length, later.length) {
            return 0;
        }
        let mut others = later.counts.iter().peekable();
        let mut copied = 0;
        for (hash, count) in &self.counts {
            while others.next_if(|other| other.0 < *hash).is_some() {}
            if let Some((_, there)) = others.next_if(|other| other.0 == *hash) {
                copied += there.min(count);
            }
        }
        copied * MOST / self.length.max(later.length)
    }
}

/// False if the lengths alone rule out a rename.
pub(super) fn may_be_similar(one: u64, other: u64) -> bool {
    let (longer, shorter) = (one.max(other), one.min(other));
    longer.saturating_mul(MOST - LEAST) >= (longer - shorter).saturating_mul(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(one: &str, other: &str) -> u64 {
        Pieces::of(one.as_bytes()).score(&Pieces::of(other.as_bytes())) * 100 / MOST
    }

    #[test]
    fn lines_in_common_count() {
        assert_eq!(score("a\nb\nc\nd\n", "d\nc\nb\na\n"), 100);
        assert_eq!(score("a\nb\nc\nd\n", "a\nb\nx\ny\n"), 50);
        assert_eq!(score("a\nb\nc\nd\n", "w\nx\ny\nz\n"), 0);
        assert_eq!(score("a\r\nb\r\n", "a\nb\n"), 66);
        assert_eq!(score("a\n", ""), 0);
    }

    #[test]
    fn lengths_rule_out_a_rename() {
        assert!(may_be_similar(10, 5) && may_be_similar(5, 10) && !may_be_similar(11, 5));
    }
}
