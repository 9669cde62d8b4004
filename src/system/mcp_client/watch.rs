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
pub(super) const ALLOWANCE: u64 = 64 << 20;

/// The most values of a message, with its keys: each takes hundreds of bytes of memory, however short it is.
const VALUES: usize = 1 << 18;

/// Takes out of a text what nobody may see, such as a token that a server repeats.
pub(super) type Clean<'a> = &'a dyn Fn(&str) -> String;

/// The conduct of a server, for whoever asks it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Bytes that came since the request.
    heard: AtomicU64,
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
        self.heard.store(0, Ordering::Relaxed);
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
        let bytes = bytes as u64;
        let is_bounded = self.heard.fetch_add(bytes, Ordering::Relaxed) + bytes <= ALLOWANCE;
        if !is_bounded {
            self.blame(format!("wrote more than {ALLOWANCE} bytes for one request"), None);
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

    /// The message that a text is, cleaned; none, and a fault, if it is none.
    pub(super) fn message(&self, text: &[u8], clean: Option<Clean<'_>>) -> Option<ServerJsonRpcMessage> {
        read(text, clean).inspect_err(|phrase| self.blame(phrase.clone(), None)).ok()
    }
}

/// The message that a text is, cleaned; otherwise the fault, as a phrase.
pub(super) fn read(text: &[u8], clean: Option<Clean<'_>>) -> Result<ServerJsonRpcMessage, String> {
    if values(text) > VALUES {
        return Err(format!("wrote a message of more than {VALUES} values"));
    }
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

/// The values and keys of a JSON text, or more of a text that is no JSON.
fn values(text: &[u8]) -> usize {
    let (mut count, mut at) = (1, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at + 1),
            b',' | b':' | b'[' | b'{' => count += 1,
            _ => {}
        }
        at += 1;
    }
    count
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
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_counted_without_their_texts() {
        for (text, count) in
            [("{}", 2), ("[1,2,3]", 4), (r#"{"a":[",,\"[{",2],"b\\":{}}"#, 8), (r#""a,b"#, 1), (r#""\"#, 1), ("", 1)]
        {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn a_message_of_very_many_values_is_refused_before_it_is_read() {
        let message = |items: usize| {
            let items = vec!["[]"; items].join(",");
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[],\"structuredContent\":[{items}]}}}}")
        };
        let watch = Watch::default();
        assert!(watch.message(message(VALUES / 2 - 10).as_bytes(), None).is_some());
        assert!(watch.message(message(VALUES / 2).as_bytes(), None).is_none());
        assert_eq!(
            watch.fault().map(|fault| fault.phrase).as_deref(),
            Some("wrote a message of more than 262144 values")
        );
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
