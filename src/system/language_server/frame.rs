//! The messages of a stream: a header with the length of the body in bytes, an empty line, and the body in JSON.

use serde_json::Value;

/// The longest body, in bytes.
const LONGEST: usize = 16 << 20;

/// The most objects and lists of a message, and the most of their items. An edit of a rename is four objects of nine items in about 200 bytes,
/// so that a rename at 60,000 places is within both. In memory a short object takes a hundred times its bytes.
const MOST_NESTS: usize = 1 << 18;
const MOST_ITEMS: usize = 1 << 20;

/// The longest header, in bytes.
const HEADER: usize = 4 << 10;

/// The bytes of a message.
pub(super) fn written(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Cuts a stream into messages.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    /// The beginning of what was not cut yet.
    at: usize,
}

impl Frames {
    /// Adds bytes of the stream.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message; none if it is not complete. The error is a phrase that goes on after "it".
    pub(super) fn next(&mut self) -> Result<Option<Value>, String> {
        let rest = &self.bytes[self.at..];
        let Some(end) = memchr::memmem::find(&rest[..rest.len().min(HEADER)], b"\r\n\r\n") else {
            return if rest.len() < HEADER { Ok(None) } else { Err("wrote no message of the protocol".to_owned()) };
        };
        let length = length(&rest[..end])?;
        let Some(body) = rest[end + 4..].get(..length) else { return Ok(None) };
        check_size(body)?;
        let message = serde_json::from_slice(body).map_err(|error| format!("wrote a message that is no JSON: {error}"));
        self.at += end + 4 + length;
        message.map(Some)
    }
}

/// Checks how many values a body has, before memory is taken for them.
fn check_size(body: &[u8]) -> Result<(), String> {
    let (mut nests, mut items) = (0, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in body {
        match (is_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            (false, b'{' | b'[') => nests += 1,
            (false, b',') => items += 1,
            _ => {}
        }
    }
    if nests > MOST_NESTS || items > MOST_ITEMS {
        return Err(format!(
            "wrote a message of {nests} objects and lists with {items} items, and {MOST_NESTS} and {MOST_ITEMS} are the most"
        ));
    }
    Ok(())
}

/// The length that a header gives.
fn length(header: &[u8]) -> Result<usize, String> {
    let header = String::from_utf8_lossy(header);
    let mut fields = header.split("\r\n").filter_map(|line| line.split_once(':'));
    let field = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = field.and_then(|(_, value)| value.trim().parse::<usize>().ok());
    match length {
        Some(length) if length <= LONGEST => Ok(length),
        Some(length) => Err(format!("announced a message of {length} bytes, and {LONGEST} are the most")),
        None => Err("wrote a message without a length".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stream_in_any_pieces_gives_its_messages() {
        let messages = [json!({"id": 1, "result": "é"}), json!({"method": "x"}), json!([])];
        let stream: Vec<u8> = messages.iter().flat_map(written).collect();
        for size in [1, 2, 7, stream.len()] {
            let (mut frames, mut found) = (Frames::default(), Vec::new());
            for piece in stream.chunks(size) {
                frames.add(piece);
                while let Some(message) = frames.next().unwrap() {
                    found.push(message);
                }
            }
            assert_eq!(found, messages, "{size}");
        }
    }

    #[test]
    fn other_streams_are_errors() {
        let error = |bytes: &[u8]| {
            let mut frames = Frames::default();
            frames.add(bytes);
            frames.next().unwrap_err()
        };
        assert!(error(b"X: 1\r\n\r\n{}").contains("without a length"));
        assert!(error(b"content-length: 99999999999\r\n\r\n").contains("most"));
        assert!(error(b"Content-Length: 2\r\n\r\n{]").contains("no JSON"));
        assert!(error(&[b'a'; HEADER]).contains("no message"));
    }

    /// The next message of a stream of one body.
    fn of(body: &str) -> Result<Option<Value>, String> {
        let mut frames = Frames::default();
        frames.add(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
        frames.next()
    }

    #[test]
    fn a_message_of_too_many_values_is_refused_before_it_is_read() {
        let many = |value: &str, count: usize| format!("[{}1]", format!("{value},").repeat(count));
        for body in [many("{\"a\":1}", MOST_NESTS), many("[]", MOST_NESTS), many("0", MOST_ITEMS + 1)] {
            assert!(of(&body).unwrap_err().contains("objects and lists"), "{}", body.len());
        }
        assert!(of(&"[".repeat(200)).unwrap_err().contains("no JSON"));
        // Marks within texts are no values.
        let text = json!({"text": "{[,\\\"".repeat(MOST_ITEMS / 4)});
        assert_eq!(of(&text.to_string()).unwrap(), Some(text));
    }

    #[test]
    fn a_rename_of_many_places_is_read() {
        let place = |line: u32| json!({"line": line, "character": 12});
        let edit = |line: u32| json!({"range": {"start": place(line), "end": place(line)}, "newText": "aNewName"});
        let edits: Vec<Value> = (0..50_000).map(edit).collect();
        let message = json!({"id": 1, "result": {"changes": {"file:///a.ts": edits}}});
        assert_eq!(of(&message.to_string()).unwrap(), Some(message));
    }
}
