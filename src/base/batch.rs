//! A batch of files for the adapter of a user, and the answer to it, as they travel between processes.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD as STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeStruct as _};
use serde_json::Value;

/// A phase of an adapter's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Counts the files before the change.
    Discover,
    /// Gives new texts.
    Propose,
    /// Counts again, for the verifier.
    Measure,
}

impl Phase {
    /// Its name on the wire, which is that of the function too.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Discover => "discover",
            Phase::Propose => "propose",
            Phase::Measure => "measure",
        }
    }
}

/// The content of a file: `text` if it is UTF-8, else `b64`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A text.
    Text(String),
    /// Other bytes, in Base64 on the wire.
    B64(#[serde(with = "encoded")] Vec<u8>),
}

impl Body {
    /// The content of these bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Body::B64(error.into_bytes()), Body::Text)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Body::Text(text) => text.as_bytes(),
            Body::B64(bytes) => bytes,
        }
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Body::Text(text) => text.into_bytes(),
            Body::B64(bytes) => bytes,
        }
    }

    /// The bytes that it takes in JSON.
    pub fn encoded(&self) -> usize {
        /// The letters of a control character without a short escape, as in `\u0001`.
        const ESCAPE: usize = 6;
        match self {
            Body::Text(text) => text
                .bytes()
                .map(|byte| match byte {
                    b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
                    0x00..0x20 => ESCAPE,
                    _ => 1,
                })
                .sum(),
            Body::B64(bytes) => bytes.len().div_ceil(3) * 4,
        }
    }
}

/// A file of a batch: `{path, text}` or `{path, b64}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path in the workspace.
    pub path: String,
    /// Its content.
    pub body: Body,
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut file = to.serialize_struct("File", 2)?;
        file.serialize_field("path", &self.path)?;
        match &self.body {
            Body::Text(text) => file.serialize_field("text", text)?,
            Body::B64(bytes) => file.serialize_field("b64", &STANDARD.encode(bytes))?,
        }
        file.end()
    }
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Wire { path, text, b64 } = Wire::deserialize(from)?;
        let body = match (text, b64) {
            (Some(text), None) => Body::Text(text),
            (None, Some(text)) => Body::B64(encoded::decode(&text)?),
            (Some(_), Some(_)) => return Err(D::Error::custom("a file has either `text` or `b64`, not both")),
            (None, None) => return Err(D::Error::custom("a file has neither `text` nor `b64`")),
        };
        Ok(File { path, body })
    }
}

/// A file as it is written.
#[derive(Deserialize)]
#[serde(rename = "File", deny_unknown_fields)]
struct Wire {
    path: String,
    text: Option<String>,
    b64: Option<String>,
}

/// Bytes in Base64.
mod encoded {
    use base64::{Engine, prelude::BASE64_STANDARD as STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        decode(&String::deserialize(from)?)
    }

    pub(super) fn decode<E: Error>(text: &str) -> Result<Vec<u8>, E> {
        STANDARD.decode(text).map_err(|error| E::custom(format!("`b64` is not Base64: {error}")))
    }
}

/// A batch of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The phase.
    pub phase: Phase,
    /// The input of the adapter: `tool`, `version`, `target`, `params` and `constraints`.
    pub input: Value,
    /// The files, sorted by path.
    pub files: Vec<File>,
}

/// The answer to a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The counts of all files of the batch together.
    Counts(BTreeMap<String, u64>),
    /// For each file its new content; none if it stays.
    Files(Vec<Option<Body>>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], written: &str) {
        let file = File { path: "a".to_owned(), body: Body::of(bytes.to_vec()) };
        assert_eq!(serde_json::to_string(&file).unwrap(), written);
        assert_eq!(serde_json::from_str::<File>(written).unwrap(), file);
        // Without the frame: `{"path":"a","text":""}`, or a byte less for `b64`.
        let frame = if matches!(file.body, Body::Text(_)) { 22 } else { 21 };
        assert_eq!(file.body.encoded() + frame, written.len());
        let answer = Answer::Files(vec![None, Some(file.body)]);
        let travelled = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<Answer>(&travelled).unwrap(), answer);
    }

    #[test]
    fn a_file_is_a_text_or_base64() {
        check(b"", r#"{"path":"a","text":""}"#);
        check(
            "\u{1}\u{1f}\u{7f}é\"\\/\n\r\t\u{8}\u{c}".as_bytes(),
            "{\"path\":\"a\",\"text\":\"\\u0001\\u001f\u{7f}é\\\"\\\\/\\n\\r\\t\\b\\f\"}",
        );
        check(b"\xff", r#"{"path":"a","b64":"/w=="}"#);
        check(b"\xff\0\x01\x02", r#"{"path":"a","b64":"/wABAg=="}"#);
    }

    #[test]
    fn a_file_has_one_content() {
        let wrong = |text: &str| serde_json::from_str::<File>(text).unwrap_err().to_string();
        assert!(wrong(r#"{"path":"a"}"#).contains("neither"));
        assert!(wrong(r#"{"path":"a","text":"","b64":""}"#).contains("not both"));
        assert!(wrong(r#"{"path":"a","b64":"?"}"#).contains("not Base64"));
        assert!(wrong(r#"{"path":"a","text":"","mode":1}"#).contains("unknown field"));
    }
}
