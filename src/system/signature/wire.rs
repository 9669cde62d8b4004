//! The binary form of SSH's keys and signatures: numbers and strings in sequence (RFC 4251, section 5).

/// Reads values from the front of some bytes; none if the bytes do not hold such a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Wire(bytes)
    }

    /// The next `length` bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of four bytes.
    pub(super) fn number(&mut self) -> Option<u32> {
        let bytes = self.bytes(4)?;
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    /// A string: its length, then its bytes.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// A string that is text.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.string()?).ok()
    }

    /// A non-negative integer, without leading zeros.
    pub(super) fn magnitude(&mut self) -> Option<&'a [u8]> {
        let bytes = self.string()?;
        if bytes.first().is_some_and(|first| first & 0x80 != 0) {
            return None;
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Some(&bytes[zeros..])
    }

    /// None if bytes are left.
    pub(super) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// A string in its binary form.
pub(super) fn string(bytes: &[u8]) -> Vec<u8> {
    // A longer one can't come from any file that was read here.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_no_value() {
        let bytes = [string(b"ab"), string(&[0, 0x80]), vec![0, 0, 0, 9, 1]].concat();
        let mut wire = Wire::new(&bytes);
        assert_eq!((wire.text(), wire.magnitude()), (Some("ab"), Some(&[0x80][..])));
        assert_eq!((wire.string(), wire.end()), (None, None));
        assert_eq!(Wire::new(&string(&[0x80])).magnitude(), None);
    }
}
