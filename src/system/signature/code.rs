//! Message authentication codes (HMAC-SHA-256): the holder of a secret key recognises texts that got a code under it.

use ring::hmac;

use base::hash::Sha256;

/// The bytes of a secret key.
pub const KEY_BYTES: usize = 32;

/// The code of a text under a key.
pub fn code(key: &[u8; KEY_BYTES], text: &[u8]) -> Sha256 {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let mut bytes = [0; KEY_BYTES];
    bytes.copy_from_slice(tag.as_ref());
    bytes.into()
}

/// True if a code is that of a text under a key. The time that it takes tells nothing about the right code.
pub fn is_code_of(key: &[u8; KEY_BYTES], text: &[u8], code: &Sha256) -> bool {
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key), text, code.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_that_of_its_key_and_its_text_alone() {
        // RFC 4231, test case 2, with the key filled up by zeros as HMAC does.
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(b"Jefe");
        let text = b"what do ya want for nothing?";
        let made = code(&key, text);
        assert_eq!(made.to_string(), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert!(is_code_of(&key, text, &made));
        assert!(!is_code_of(&[0; KEY_BYTES], text, &made) && !is_code_of(&key, b"", &made));
        assert!(!is_code_of(&key, text, &Sha256::of(text)));
    }
}
