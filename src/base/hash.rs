//! SHA-256 hashes: computed here, written as 64 lower-case hex digits everywhere.

use std::{fmt, io, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Digest;

use crate::error::{Code, Error};

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sha256([u8; 32]);

impl Sha256 {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Sha256(sha2::Sha256::digest(bytes).into())
    }

    /// The hash of some bytes that lie apart.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = sha2::Sha256::new();
        parts.iter().for_each(|part| hasher.update(part));
        Sha256(hasher.finalize().into())
    }

    /// The hash of all bytes of a reader, and their number.
    pub fn of_reader(mut reader: impl io::Read) -> io::Result<(Self, u64)> {
        let mut hasher = sha2::Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut length = 0;
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok((Sha256(hasher.finalize().into()), length)),
                n => {
                    hasher.update(&buffer[..n]);
                    length += n as u64;
                }
            }
        }
    }

    /// The raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve hex digits, for people.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

/// A hash of the bytes written to it, for contents too large to be held.
#[derive(Clone, Default)]
pub struct Hasher {
    state: sha2::Sha256,
    length: u64,
}

impl Hasher {
    /// The hash of everything that was written, and the number of bytes.
    pub fn finish(self) -> (Sha256, u64) {
        (Sha256(self.state.finalize().into()), self.length)
    }
}

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.state.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<[u8; 32]> for Sha256 {
    fn from(bytes: [u8; 32]) -> Self {
        Sha256(bytes)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nibble = |n: u8| if n < 10 { b'0' + n } else { b'a' + n - 10 };
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[nibble(byte >> 4), nibble(byte & 15)]);
        }
        f.write_str(str::from_utf8(&digits).expect("hex digits are ASCII"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        let is_hex = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.iter().all(is_hex) {
            return Err(Error::new(Code::InvalidInput, format!("`{text}` is not a SHA-256 hash"))
                .hint("a hash has 64 lower-case hex digits"));
        }
        let nibble = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0]) << 4 | nibble(pair[1]);
        }
        Ok(Sha256(bytes))
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_survives() {
        let hash = Sha256::of(b"abc");
        assert_eq!(hash.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hash.to_string().parse::<Sha256>().unwrap(), hash);
        assert_eq!(Sha256::of_reader(&b"abc"[..]).unwrap(), (hash, 3));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", "é"] {
            assert!(text.parse::<Sha256>().is_err());
        }
    }
}
