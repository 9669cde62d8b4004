//! The conduct of a server: bounds on what it sends, and the first rule that it broke.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;

/// The longest message of a server, in bytes.
pub(super) const MESSAGE: usize = 16 << 20;

/// The most that a server may write while one request is answered, in bytes.
const ALLOWANCE: u64 = 64 << 20;

/// The most values of the messages for one request, with their keys: each takes hundreds of bytes of memory, however short it is.
const VALUES: u64 = 1 << 18;

/// The most messages for one request: each may be a question that has to be declined.
const MESSAGES: u64 = 10_000;

/// The deepest nesting of a message, which a script can hold too.
const DEEPEST: usize = 96;

/// Takes out of a text what nobody may see, such as a token that a server repeats.
pub(super) type Clean<'a> = &'a dyn Fn(&str) -> String;

/// The conduct of a server, for whoever asks it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Bytes that came since the request.
    heard: AtomicU64,
    /// Values of the messages that came since the request.
    values: AtomicU64,
    /// Messages that came since the request.
    messages: AtomicU64,
    fault: Mutex<Option<Fault>>,
}

/// The reason for which nothing more is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The deed of the server, as a phrase.
    pub(super) phrase: String,
    /// The remedy; none if there is none but another server.
    pub(super) hint: Option<&'static str>,
}

impl Watch {
    /// Begins a request.
    pub(super) fn reset(&self) {
        for counter in [&self.heard, &self.values, &self.messages] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    /// Begins a conversation: a refusal of a question that only other servers know is forgotten.
    pub(super) fn forgive(&self) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The first fault.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts bytes that came. False, and a fault, if they are too many for the request.
    pub(super) fn hears(&self, bytes: usize) -> bool {
        self.counts(&self.heard, bytes as u64, (ALLOWANCE, "bytes"))
    }

    fn counts(&self, counter: &AtomicU64, more: u64, (most, of): (u64, &str)) -> bool {
        let is_bounded = counter.fetch_add(more, Ordering::Relaxed) + more <= most;
        if !is_bounded {
            self.blame(format!("wrote more than {most} {of} for one request"), None);
        }
        is_bounded
    }

    /// Looks at the bytes of a message, all or the first of them. False, and a fault, if they are too many.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        let is_bounded = bytes <= MESSAGE;
        if !is_bounded {
            self.blame(format!("wrote a message of more than {MESSAGE} bytes"), None);
        }
        is_bounded
    }

    pub(super) fn blame(&self, phrase: impl Into<String>, hint: Option<&'static str>) {
        let fault = Fault { phrase: phrase.into(), hint };
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    /// Counts a message before it is read. False, and a fault, if it is one too many, has too many values or is too deep.
    pub(super) fn admits(&self, text: &[u8]) -> bool {
        let shape = Shape::of(text);
        let is_flat = shape.depth <= DEEPEST;
        if !is_flat {
            self.blame(format!("wrote a message of more than {DEEPEST} levels"), None);
        }
        is_flat
            && self.counts(&self.messages, 1, (MESSAGES, "messages"))
            && self.counts(&self.values, shape.values, (VALUES, "values"))
    }

    /// The message that a text is, cleaned; none, and a fault, if it is none.
    pub(super) fn message(&self, text: &[u8], clean: Option<Clean<'_>>) -> Option<ServerJsonRpcMessage> {
        if !self.admits(text) {
            return None;
        }
        read(text, clean).inspect_err(|phrase| self.blame(phrase.clone(), None)).ok()
    }
}

/// The message that an admitted text is, cleaned; otherwise the fault, as a phrase.
pub(super) fn read(text: &[u8], clean: Option<Clean<'_>>) -> Result<ServerJsonRpcMessage, String> {
    let message = match clean.filter(|clean| !is_clean(text, clean)) {
        None => serde_json::from_slice(text),
        Some(clean) => serde_json::from_slice(text).map(|value| cleaned(value, clean)).and_then(serde_json::from_value),
    };
    message.map_err(|_| "wrote a text that is no message of the protocol".to_owned())
}

/// True if a JSON text is clean as it is. An escape may hide a part of a secret, so that it is looked for in what such a text means.
fn is_clean(text: &[u8], clean: Clean<'_>) -> bool {
    let text = String::from_utf8_lossy(text);
    !text.contains('\\') && clean(&text) == text
}

/// The shape of a JSON text; of a text that is no JSON it may be too large.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    /// Values and keys.
    values: u64,
    /// The deepest nesting.
    depth: usize,
}

impl Shape {
    fn of(text: &[u8]) -> Self {
        let (mut shape, mut depth, mut at) = (Shape { values: 1, depth: 0 }, 0_usize, 0);
        while let Some(byte) = text.get(at) {
            match byte {
                b'"' => at = end_of_string(text, at + 1),
                b',' | b':' => shape.values += 1,
                b'[' | b'{' => {
                    shape.values += 1;
                    depth += 1;
                    shape.depth = shape.depth.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        shape
    }
}

/// The place of the quote that ends a string, or the end of the text.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at += 2;
    }
    text.len()
}

/// The value with its strings and keys cleaned.
fn cleaned(value: Value, clean: Clean<'_>) -> Value {
    match value {
        Value::String(text) => clean(&text).into(),
        Value::Array(items) => items.into_iter().map(|item| cleaned(item, clean)).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(key, value)| (clean(&key), cleaned(value, clean))).collect()
        }
        Value::Number(number) => {
            let text = number.to_string();
            let cleaned = clean(&text);
            if cleaned == text { Value::Number(number) } else { cleaned.into() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_counted_without_their_texts() {
        for (text, values, depth) in [
            ("{}", 2, 1),
            ("[1,2,3]", 4, 1),
            (r#"{"a":[",,\"[{",2],"b\\":{}}"#, 8, 2),
            (r#"[[[]],[]]"#, 6, 3),
            (r#""a,b""#, 1, 0),
            (r#""\"#, 1, 0),
            ("", 1, 0),
        ] {
            assert_eq!(Shape::of(text.as_bytes()), Shape { values, depth }, "{text}");
        }
    }

    /// A reply with so many empty arrays in an array of so many levels.
    fn reply(items: u64, levels: usize) -> Vec<u8> {
        let items = (0..items).map(|_| "[]").collect::<Vec<_>>().join(",");
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[],\"structuredContent\":{open}{items}{close}}}}}"
        )
        .into_bytes()
    }

    fn fault(watch: &Watch) -> String {
        watch.fault().map(|fault| fault.phrase).unwrap_or_default()
    }

    #[test]
    fn values_and_messages_for_one_request_are_bounded_before_they_are_read() {
        let watch = Watch::default();
        assert!(watch.message(&reply(VALUES / 2 - 10, 1), None).is_some());
        watch.reset();
        assert!(watch.message(&reply(VALUES / 4, 1), None).is_some());
        assert!(watch.message(&reply(VALUES / 4, 1), None).is_none());
        assert_eq!(fault(&watch), "wrote more than 262144 values for one request");
        let watch = Watch::default();
        assert!((0..MESSAGES).all(|_| watch.message(&reply(0, 1), None).is_some()));
        assert!(watch.message(&reply(0, 1), None).is_none());
        assert_eq!(fault(&watch), "wrote more than 10000 messages for one request");
    }

    #[test]
    fn a_deep_message_is_refused_before_it_is_read() {
        let watch = Watch::default();
        assert!(watch.message(&reply(0, DEEPEST - 2), None).is_some());
        assert!(watch.message(&reply(0, DEEPEST - 1), None).is_none());
        assert_eq!(fault(&watch), "wrote a message of more than 96 levels");
    }

    #[test]
    fn a_secret_of_digits_is_no_number_either() {
        let clean = |text: &str| text.replace("1234567890", "[key]");
        let text = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":[1234567890,7]}}"#;
        let message = Watch::default().message(text, Some(&clean)).map(|message| json!(message)).unwrap_or_default();
        assert_eq!(message["result"]["structuredContent"], json!(["[key]", 7]));
    }

    #[test]
    fn a_secret_is_taken_out_however_it_is_written() {
        let clean = |text: &str| text.replace("ab/cd-0123", "[key]");
        let text = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ab\/cd-0123"}],
            "structuredContent":{"\u0061b/cd-0123":["ab/cd-0123","\u0061\u0062/cd\u002d0123",1]}}}"#;
        let message = Watch::default().message(text.as_bytes(), Some(&clean)).map(|message| json!(message));
        let result = message.map(|mut message| message["result"].take()).unwrap_or_default();
        assert_eq!(result["content"][0]["text"], "[key]");
        assert_eq!(result["structuredContent"], json!({"[key]": ["[key]", "[key]", 1]}));
    }
}
