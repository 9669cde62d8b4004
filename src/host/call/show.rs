//! `ui.show` at the door: a file and a model's reply are shown as they are, and marked as what they are.

use serde_json::{Value, json};

use super::files::Files;
use crate::{Event, Sink};
use base::{call::Blob, hash::Sha256};

impl Files<'_> {
    /// Shows a value. Of a file the reply says which it was, for the record; scripts don't learn it.
    pub(crate) fn show(&self, value: &Value, sink: &mut dyn Sink) -> Value {
        if let Some(path) = value.as_str()
            && let Some((path, content)) = self.stored(path)
        {
            let (sha256, bytes) = (Sha256::of(&content.bytes), content.bytes.to_vec());
            let proposed = self.overlay.get(&path).is_some();
            let shown = json!({"path": path, "sha256": sha256});
            sink.event(Event::ShowFile { path: path.to_string(), sha256, proposed, content: Blob::new(bytes) });
            return shown;
        }
        sink.event(reply(value).unwrap_or_else(|| Event::Show { value: value.clone() }));
        Value::Null
    }
}

/// Returns the event that shows a reply of `llm.complete`; none if the value is no such reply.
fn reply(value: &Value) -> Option<Event> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let requested = text("model_requested")?;
    Some(Event::ShowReply {
        text: text("text")?,
        model: text("model").unwrap_or(requested),
        provider: text("provider"),
        label: text("label"),
    })
}
