//! One signature, in the format of OpenSSH's `PROTOCOL.sshsig`: its key, its namespace, and its verification.

use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_STANDARD_NO_PAD};
use ring::{digest, signature};

use super::wire::{self, Wire};

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const MAGIC: &[u8] = b"SSHSIG";

/// The kind of key of a FIDO token, which signs more than the message.
const TOKEN: &str = "sk-ssh-ed25519@openssh.com";

/// The flag of a token that somebody touched it.
const TOUCHED: u8 = 1;

/// A signature that was parsed and not yet verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    key: Vec<u8>,
    namespace: String,
    reserved: Vec<u8>,
    hash: String,
    signature: Vec<u8>,
}

impl Signature {
    /// Parses the output of `ssh-keygen -Y sign`; an error is a phrase that continues a sentence after "the signature".
    pub fn parse(text: &str) -> Result<Self, String> {
        let inner = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        let inner: String = inner.unwrap_or_default().split_whitespace().collect();
        let bytes = BASE64_STANDARD.decode(inner).ok().filter(|bytes| !bytes.is_empty());
        let bytes = bytes.ok_or("is none that `ssh-keygen -Y sign` writes")?;
        Signature::read(Wire::new(&bytes)).ok_or_else(|| "is cut off or of another version".to_owned())
    }

    fn read(mut wire: Wire<'_>) -> Option<Self> {
        let known = wire.bytes(MAGIC.len())? == MAGIC && wire.number()? == 1;
        let signature = Signature {
            key: wire.string()?.to_vec(),
            namespace: wire.text()?.to_owned(),
            reserved: wire.string()?.to_vec(),
            hash: wire.text()?.to_owned(),
            signature: wire.string()?.to_vec(),
        };
        wire.end().filter(|()| known).map(|()| signature)
    }

    /// The public key that it claims, in SSH's binary form.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The key as `ssh-keygen -l` shows it: `SHA256:…`.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", BASE64_STANDARD_NO_PAD.encode(digest::digest(&digest::SHA256, &self.key)))
    }

    /// Verifies that its key signed this message for this namespace; an error is a phrase that continues a sentence after "the
    /// signature".
    pub fn verify(&self, namespace: &str, message: &[u8]) -> Result<(), String> {
        if self.namespace != namespace {
            return Err(format!("was made for `{}`, not for `{namespace}`", self.namespace.escape_debug()));
        }
        let algorithm = match self.hash.as_str() {
            "sha256" => &digest::SHA256,
            "sha512" => &digest::SHA512,
            other => return Err(format!("hashes with `{}`, which is not accepted", other.escape_debug())),
        };
        let hash = digest::digest(algorithm, message);
        let fields = [self.namespace.as_bytes(), &self.reserved, self.hash.as_bytes(), hash.as_ref()];
        let signed = [MAGIC.to_vec(), fields.map(wire::string).concat()].concat();
        match self.check(&signed) {
            Some(true) => Ok(()),
            Some(false) => Err("is not of this file, or not by its key".to_owned()),
            None => {
                let kind = Wire::new(&self.key).text().unwrap_or("unknown").escape_debug().to_string();
                Err(format!("is by a key of the kind `{kind}` that is not accepted: use ed25519, ECDSA or RSA"))
            }
        }
    }

    /// True if the key signed these bytes; none if the key, or its algorithm, is not accepted.
    fn check(&self, signed: &[u8]) -> Option<bool> {
        let mut key = Wire::new(&self.key);
        let mut signature = Wire::new(&self.signature);
        let (kind, how, value) = (key.text()?, signature.text()?, signature.string()?);
        match kind {
            "ssh-ed25519" | TOKEN => {
                let public = key.string()?;
                let signed =
                    if kind == TOKEN { by_token(key.string()?, &mut signature, signed)? } else { signed.to_vec() };
                key.end().and_then(|()| signature.end()).filter(|()| how == kind)?;
                Some(holds(&signature::ED25519, public, &signed, value))
            }
            "ecdsa-sha2-nistp256" | "ecdsa-sha2-nistp384" => {
                let small = kind.ends_with("256");
                let (algorithm, half) = match small {
                    true => (&signature::ECDSA_P256_SHA256_FIXED, 32),
                    false => (&signature::ECDSA_P384_SHA384_FIXED, 48),
                };
                let (curve, public) = (key.text()?, key.string()?);
                key.end().and_then(|()| signature.end()).filter(|()| how == kind && kind.ends_with(curve))?;
                let mut pair = Wire::new(value);
                let fixed = [padded(pair.magnitude()?, half)?, padded(pair.magnitude()?, half)?].concat();
                pair.end()?;
                Some(holds(algorithm, public, signed, &fixed))
            }
            "ssh-rsa" => {
                let algorithm = match how {
                    "rsa-sha2-256" => &signature::RSA_PKCS1_2048_8192_SHA256,
                    "rsa-sha2-512" => &signature::RSA_PKCS1_2048_8192_SHA512,
                    _ => return None,
                };
                let (e, n) = (key.magnitude()?, key.magnitude()?);
                key.end().and_then(|()| signature.end())?;
                Some(signature::RsaPublicKeyComponents { n, e }.verify(algorithm, signed, value).is_ok())
            }
            _ => None,
        }
    }
}

fn holds(algorithm: &'static dyn signature::VerificationAlgorithm, key: &[u8], signed: &[u8], value: &[u8]) -> bool {
    signature::UnparsedPublicKey::new(algorithm, key).verify(signed, value).is_ok()
}

/// The bytes that a token signs: the hash of its application, its flags and counter, and the hash of the message.
fn by_token(application: &[u8], signature: &mut Wire<'_>, signed: &[u8]) -> Option<Vec<u8>> {
    let (flags, count) = (signature.bytes(1)?, signature.bytes(4)?);
    let hash = |bytes: &[u8]| digest::digest(&digest::SHA256, bytes);
    (flags[0] & TOUCHED != 0).then(|| [hash(application).as_ref(), flags, count, hash(signed).as_ref()].concat())
}

/// A number padded with zeros to that length.
fn padded(number: &[u8], length: usize) -> Option<Vec<u8>> {
    Some([vec![0; length.checked_sub(number.len())?], number.to_vec()].concat())
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    /// A signature by a token, as far as it can be made without one.
    fn by_a_token(flags: u8, message: &[u8]) -> Signature {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let key = [TOKEN.as_bytes(), pair.public_key().as_ref(), b"ssh:"].map(wire::string).concat();
        let hash = digest::digest(&digest::SHA512, message);
        let fields = [&b"use"[..], b"", b"sha512", hash.as_ref()];
        let signed = [MAGIC.to_vec(), fields.map(wire::string).concat()].concat();
        let sha256 = |bytes: &[u8]| digest::digest(&digest::SHA256, bytes);
        let by_it = [sha256(b"ssh:").as_ref(), &[flags], &[0, 0, 0, 9], sha256(&signed).as_ref()].concat();
        let value = [TOKEN.as_bytes(), pair.sign(&by_it).as_ref()].map(wire::string).concat();
        Signature {
            key,
            namespace: "use".to_owned(),
            reserved: Vec::new(),
            hash: "sha512".to_owned(),
            signature: [&value[..], &[flags], &[0, 0, 0, 9]].concat(),
        }
    }

    #[test]
    fn a_token_has_to_be_touched() {
        assert_eq!(by_a_token(1, b"text").verify("use", b"text"), Ok(()));
        assert!(by_a_token(1, b"text").verify("use", b"test").unwrap_err().contains("not of this file"));
        assert!(by_a_token(0, b"text").verify("use", b"text").is_err());
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        for text in ["", BEGIN, &format!("{BEGIN}\n{END}"), &format!("{BEGIN}\nU1NIU0lH\n{END}"), "x"] {
            assert!(Signature::parse(text).is_err(), "{text}");
        }
        let one = by_a_token(1, b"text");
        assert!(one.verify("other", b"text").unwrap_err().contains("made for `use`"));
        let unknown = Signature { key: wire::string(b"ssh-dss"), ..one.clone() };
        assert!(unknown.verify("use", b"text").unwrap_err().contains("`ssh-dss`"));
        assert!(Signature { hash: "md5".to_owned(), ..one }.verify("use", b"text").unwrap_err().contains("`md5`"));
    }
}
