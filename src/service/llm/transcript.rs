//! The events of one answer in their recorded form: proportional to its text, and independent of batches.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{event::LlmStreamEvent, pieces::Pieces};
use base::error::{Code, Error};

/// All events of an answer, or the first of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// The events `started`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    started: Vec<Value>,
    /// The text of all events `token`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
    /// The lengths of their pieces, in bytes.
    #[serde(default, skip_serializing_if = "Pieces::is_empty")]
    pieces: Pieces,
    /// The events after them, without the text of the reply and without times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rest: Vec<Value>,
    /// True if the caller stopped reading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    closed: bool,
    /// Milliseconds to the first piece of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_token_ms: Option<u64>,
    /// Milliseconds of the last try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total_ms: Option<u64>,
}

impl Transcript {
    /// Takes the next event.
    pub fn push(&mut self, event: LlmStreamEvent) {
        let mut value = json!(event);
        match event {
            LlmStreamEvent::Token { text } => {
                self.text.push_str(&text);
                self.pieces.0.push(text.len());
                return;
            }
            LlmStreamEvent::Started { .. } => return self.started.push(value),
            LlmStreamEvent::Metrics { first_token_ms, total_ms, .. } => {
                (self.first_token_ms, self.total_ms) = (first_token_ms, Some(total_ms));
                if let Some(metrics) = value.as_object_mut() {
                    metrics.remove("first_token_ms");
                    metrics.remove("total_ms");
                }
            }
            LlmStreamEvent::Completed { .. } => self.leave_text_out(&mut value["reply"]),
            LlmStreamEvent::ToolCall { .. } | LlmStreamEvent::Error { .. } => {}
        }
        self.rest.push(value);
    }

    /// Takes a reply's value as its last event.
    pub fn complete(&mut self, mut reply: Value) {
        self.leave_text_out(&mut reply);
        self.rest.push(json!({"type": "completed", "reply": reply}));
    }

    fn leave_text_out(&self, reply: &mut Value) {
        if let Some(map) = reply.as_object_mut().filter(|map| map.get("text").is_some_and(|text| *text == self.text)) {
            map.remove("text");
        }
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.started.len() + self.pieces.0.len() + self.rest.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the caller stopped reading here.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The error at its end.
    pub fn error(&self) -> Option<&Value> {
        let last = self.rest.last()?;
        (last["type"] == "error").then(|| &last["error"])
    }

    /// The reply at its end, without its text.
    pub fn reply(&self) -> Option<&Value> {
        let last = self.rest.last()?;
        (last["type"] == "completed").then(|| &last["reply"])
    }

    /// Keeps the first `taken` events, after which the caller stopped reading. Does nothing if those are all, with an end.
    pub fn close(&mut self, taken: usize) {
        if taken >= self.len() && self.has_end() {
            return;
        }
        self.closed = true;
        self.keep(taken);
    }

    fn has_end(&self) -> bool {
        self.rest.last().is_some_and(|event| event["type"] == "completed" || event["type"] == "error")
    }

    fn keep(&mut self, count: usize) {
        self.started.truncate(count);
        let count = count - self.started.len();
        self.pieces.0.truncate(count);
        let length = self.pieces.0.iter().sum();
        self.text.truncate(length);
        self.rest.truncate(count - self.pieces.0.len());
        // Times are part of the events that have them.
        if self.rest.is_empty() {
            (self.first_token_ms, self.total_ms) = (None, None);
        }
    }

    /// The part from this event on, to be replayed after the events before.
    #[must_use]
    pub fn since(&self, first: usize) -> Transcript {
        let (pieces, from_piece) = (&self.pieces.0, first.saturating_sub(self.started.len()));
        let from_rest = from_piece.saturating_sub(pieces.len());
        let skipped: usize = pieces.iter().take(from_piece).sum();
        Transcript {
            started: self.started.iter().skip(first).cloned().collect(),
            text: self.text[skipped..].to_owned(),
            pieces: Pieces(pieces.iter().skip(from_piece).copied().collect()),
            rest: self.rest.iter().skip(from_rest).cloned().collect(),
            ..self.clone_without_events()
        }
    }

    fn clone_without_events(&self) -> Transcript {
        let Transcript { closed, first_token_ms, total_ms, .. } = *self;
        Transcript { closed, first_token_ms, total_ms, ..Transcript::default() }
    }

    /// The events from `first` to before `last`, as a part.
    #[must_use]
    pub fn part(&self, first: usize, last: usize) -> Transcript {
        let mut part = self.since(first);
        part.keep(last.saturating_sub(first));
        Transcript { closed: false, ..part }
    }

    /// Adds the part that follows.
    pub fn append(&mut self, more: Transcript) {
        self.started.extend(more.started);
        self.text.push_str(&more.text);
        self.pieces.0.extend(more.pieces.0);
        self.rest.extend(more.rest);
        self.closed |= more.closed;
        self.first_token_ms = more.first_token_ms.or(self.first_token_ms);
        self.total_ms = more.total_ms.or(self.total_ms);
    }

    /// Ends it with an error.
    pub fn fail(&mut self, error: &Error) {
        self.rest.push(json!({"type": "error", "error": error}));
    }

    /// The pieces of its text.
    pub fn pieces(&self) -> Vec<String> {
        let events = self.clone().into_events().skip(self.started.len()).take(self.pieces.0.len());
        events.filter_map(|event| event["text"].as_str().map(str::to_owned)).collect()
    }

    /// Its events in their delivered form.
    pub fn into_events(self) -> Events {
        Events { transcript: self, next: 0, at: 0 }
    }

    /// An event with its omitted parts restored.
    fn told(&self, event: &Value) -> Value {
        let mut event = event.clone();
        if event["type"] == "completed" && event["reply"].get("text").is_none() {
            event["reply"]["text"] = json!(self.text);
        }
        if event["type"] == "metrics" {
            event["total_ms"] = json!(self.total_ms.unwrap_or_default());
            if let Some(first) = self.first_token_ms {
                event["first_token_ms"] = json!(first);
            }
        }
        event
    }

    /// Its value.
    pub fn value(&self) -> Value {
        json!(self)
    }

    /// Parses a recorded value; `record_damaged` if it is not a transcript.
    pub fn of(value: &Value) -> Result<Self, Error> {
        let damaged = |why: &str| Error::new(Code::RecordDamaged, format!("a recorded stream can't be read: {why}"));
        let transcript = Transcript::deserialize(value).map_err(|error| damaged(&error.to_string()))?;
        let mut at = 0_usize;
        for length in &transcript.pieces.0 {
            at = at.saturating_add(*length);
            if !transcript.text.is_char_boundary(at) {
                return Err(damaged("its pieces are not its text"));
            }
        }
        if at != transcript.text.len() {
            return Err(damaged("its pieces are not its text"));
        }
        Ok(transcript)
    }
}

/// The events of a transcript, one after the other.
#[derive(Debug)]
pub struct Events {
    transcript: Transcript,
    next: usize,
    /// The place in the text where the next piece begins.
    at: usize,
}

impl Events {
    /// True if the caller stopped reading after these.
    pub fn is_closed(&self) -> bool {
        self.transcript.closed
    }
}

impl Iterator for Events {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let Transcript { started, text, pieces, rest, .. } = &self.transcript;
        let index = self.next;
        self.next += 1;
        if let Some(event) = started.get(index) {
            return Some(event.clone());
        }
        let index = index - started.len();
        if let Some(length) = pieces.0.get(index) {
            let piece = text.get(self.at..self.at + length).unwrap_or_default();
            self.at += length;
            return Some(json!({"type": "token", "text": piece}));
        }
        rest.get(index - pieces.0.len()).map(|event| self.transcript.told(event))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            error::{Kind, passing},
            event::{Reply, Usage},
        },
        *,
    };

    fn events() -> Vec<LlmStreamEvent> {
        let token = |text: &str| LlmStreamEvent::Token { text: text.to_owned() };
        vec![
            LlmStreamEvent::Started { model: "m".to_owned(), attempt: 1, after: None },
            LlmStreamEvent::Started {
                model: "m".to_owned(),
                attempt: 2,
                after: Some(Box::new(passing(Kind::Overloaded, "busy"))),
            },
            token("a"),
            token("é"),
            token(""),
            LlmStreamEvent::Metrics { usage: Usage::default(), first_token_ms: Some(3), total_ms: 9 },
            LlmStreamEvent::Completed { reply: Box::new(Reply::of_text("m", "aé")) },
        ]
    }

    fn transcript() -> Transcript {
        let mut transcript = Transcript::default();
        events().into_iter().for_each(|event| transcript.push(event));
        transcript
    }

    #[test]
    fn events_survive_in_a_value_that_has_the_text_once() {
        let told: Vec<Value> = events().iter().map(|event| json!(event)).collect();
        let value = transcript().value();
        assert_eq!(value.to_string().matches('é').count(), 1);
        let again = Transcript::of(&value).unwrap();
        assert_eq!(again.len(), told.len());
        assert_eq!(again.into_events().collect::<Vec<_>>(), told);
    }

    #[test]
    fn parts_of_it_make_the_whole_again_wherever_it_is_cut() {
        let whole = transcript();
        for cut in 0..=whole.len() {
            let (mut head, tail) = (whole.clone(), whole.since(cut));
            head.close(cut);
            assert_eq!(head.is_closed(), cut < whole.len());
            assert_eq!(head.clone().into_events().count(), cut);
            head.closed = false;
            head.append(tail);
            assert_eq!(head, whole, "{cut}");
        }
    }

    #[test]
    fn what_was_taken_of_an_answer_that_had_not_ended_is_no_whole_one() {
        let mut begun = transcript().part(0, 3);
        begun.close(usize::MAX);
        assert!(begun.is_closed() && begun.len() == 3);
        let mut whole = transcript();
        whole.close(usize::MAX);
        assert!(!whole.is_closed());
    }

    #[test]
    fn a_value_whose_pieces_are_not_its_text_is_refused() {
        for (text, pieces) in [("é", "1x2"), ("ab", "1"), ("ab", "3"), ("", "18446744073709551615 2")] {
            let error = Transcript::of(&json!({"text": text, "pieces": pieces})).unwrap_err();
            assert_eq!(error.code(), Code::RecordDamaged);
        }
    }
}
