//! One line of the chain as text: how a record is written, and how a line is checked without building values.
//!
//! The hash covers the line without its member `hash`. A line that is not exactly canonical JSON is no line.

use super::{FileRef, event::Event, wire::Wire};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
};

/// The members of a record, sorted as they stand in its line; false for those that may be missing.
const MEMBERS: [(&str, bool); 9] = [
    ("at", true),
    ("data", true),
    ("files", false),
    ("hash", true),
    ("kind", true),
    ("position", true),
    ("prev", true),
    ("seq", true),
    ("volatile", false),
];

/// A line whose form is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    text: &'a str,
    /// Where each member stands; nowhere if it is missing.
    spans: [(usize, usize); MEMBERS.len()],
}

/// Writes a record into a buffer, as a line without a line feed; its hash.
pub(crate) fn write(record: &Wire, line: &mut String) -> Result<Sha256, Error> {
    let quoted = |text: &str| serde_json::to_string(text).map_err(|error| unwritable(&error));
    line.clear();
    line.push_str("{\"at\":");
    line.push_str(&quoted(&record.at)?);
    line.push_str(",\"data\":");
    line.push_str(&json::canonical_value(&record.data)?);
    if !record.files.is_empty() {
        line.push_str(",\"files\":");
        line.push_str(&serde_json::to_string(&record.files).map_err(|error| unwritable(&error))?);
    }
    let before = line.len();
    for (name, text) in [("kind", &record.kind), ("position", &record.position), ("prev", &record.prev)] {
        line.push_str(",\"");
        line.push_str(name);
        line.push_str("\":");
        line.push_str(&quoted(text)?);
    }
    line.push_str(",\"seq\":");
    line.push_str(&record.seq.to_string());
    if !record.volatile.is_null() {
        line.push_str(",\"volatile\":");
        line.push_str(&json::canonical_value(&record.volatile)?);
    }
    line.push('}');
    let hash = Sha256::of(line.as_bytes());
    line.insert_str(before, &format!(",\"hash\":\"{hash}\""));
    Ok(hash)
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::new(Code::Internal, error.to_string())
}

impl<'a> Line<'a> {
    /// Reads a line without its line feed; none if it is not exactly the canonical form of a record.
    pub(crate) fn read(line: &'a [u8]) -> Option<Self> {
        let text = str::from_utf8(line).ok()?;
        let mut spans = [(0, 0); MEMBERS.len()];
        let mut at = 0;
        for (span, (name, required)) in spans.iter_mut().zip(MEMBERS) {
            let opening = if at == 0 { '{' } else { ',' };
            let rest = text[at..].strip_prefix(opening).and_then(|rest| rest.strip_prefix('"')?.strip_prefix(name));
            if rest.is_some_and(|rest| rest.starts_with("\":")) {
                let start = at + 1 + name.len() + 3;
                at = json::scan::end_of(line, start)?;
                *span = (start, at);
            } else if required {
                return None;
            }
        }
        (&text[at..] == "}").then_some(Line { text, spans })
    }

    fn span(&self, name: &str) -> (usize, usize) {
        MEMBERS.iter().position(|member| member.0 == name).map_or((0, 0), |at| self.spans[at])
    }

    /// The member of that name as it is written; empty if there is none.
    fn member(&self, name: &str) -> &'a str {
        let (start, end) = self.span(name);
        &self.text[start..end]
    }

    /// A member that is text without escapes, which hashes are.
    fn plain(&self, name: &str) -> &'a str {
        let text = self.member(name).strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        text.filter(|text| !text.contains('\\')).unwrap_or_default()
    }

    /// The record's number; none if it is no number.
    pub(crate) fn seq(&self) -> Option<u64> {
        self.member("seq").parse().ok()
    }

    /// The hash of the record before, as it is said to be.
    pub(crate) fn prev(&self) -> &'a str {
        self.plain("prev")
    }

    /// The record's hash, as it is said to be.
    pub(crate) fn hash(&self) -> &'a str {
        self.plain("hash")
    }

    /// Returns the kind of the event; empty if it is written with escapes, which no kind needs.
    pub(crate) fn kind(&self) -> &'a str {
        self.plain("kind")
    }

    /// The event, as far as it can be read.
    pub(crate) fn event(&self) -> Event {
        let volatile = Some(self.member("volatile")).filter(|volatile| !volatile.is_empty());
        Event::read(self.kind(), self.member("data"), volatile)
    }

    /// The files that belong to the record; none if they are not in the form that they must have.
    pub(crate) fn files(&self) -> Option<Vec<FileRef>> {
        match self.member("files") {
            "" => Some(Vec::new()),
            text => serde_json::from_str(text).ok().filter(|files: &Vec<FileRef>| !files.is_empty()),
        }
    }

    /// True if the members have the types that they must have, and the hash is that of the rest of the line.
    pub(crate) fn is_whole(&self) -> bool {
        let has_types = ["at", "kind", "position"].iter().all(|name| self.member(name).starts_with('"'))
            && self.seq().is_some()
            && self.member("volatile") != "null";
        let (start, end) = self.span("hash");
        // With its name and the comma before it.
        let rest = [&self.text[..start - ",\"hash\":".len()], &self.text[end..]];
        has_types && self.hash() == Sha256::of_parts(&rest.map(str::as_bytes)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::GENESIS;

    fn record() -> Wire {
        Wire {
            seq: 7,
            position: "3".to_owned(),
            at: "t".to_owned(),
            kind: "call".to_owned(),
            data: json!({"b": [1, 0.5, "\n"], "a": {"seq": 1}}),
            files: vec![FileRef { path: "a/\"b\"".to_owned(), sha256: Sha256::of(b"x") }],
            volatile: json!({"duration_ms": 3}),
            prev: GENESIS.to_owned(),
            hash: String::new(),
        }
    }

    #[test]
    fn a_line_is_the_canonical_form_of_its_record() {
        for (files, volatile) in [(true, true), (false, true), (true, false), (false, false)] {
            let mut record = record();
            if !files {
                record.files.clear();
            }
            if !volatile {
                record.volatile = json!(null);
            }
            let mut line = String::new();
            record.hash = write(&record, &mut line).unwrap().to_string();
            assert_eq!(line, json::canonical(&record).unwrap());
            let mut unhashed = serde_json::to_value(&record).unwrap();
            unhashed.as_object_mut().unwrap().remove("hash");
            assert_eq!(record.hash, json::sha256(&unhashed).unwrap().to_string());
            let read = Line::read(line.as_bytes()).unwrap();
            assert_eq!((read.seq(), read.prev()), (Some(7), GENESIS));
            assert_eq!((read.hash(), read.files().unwrap()), (&*record.hash, record.files));
            assert!(read.is_whole());
        }
    }

    #[test]
    fn a_line_with_any_other_byte_is_not_whole() {
        let mut line = String::new();
        write(&record(), &mut line).unwrap();
        for at in 0..line.len() {
            for flip in [1, 4, 0x20, 0x80] {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= flip;
                assert!(!Line::read(&bytes).is_some_and(|line| line.is_whole()), "byte {at}");
            }
        }
    }
}
