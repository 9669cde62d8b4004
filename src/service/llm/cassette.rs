//! Recorded replies: one JSON file for each request, to be read, reviewed and kept beside a script.
//!
//! This code neither reads nor writes files. They come in as texts by their names, and new ones go out the same way. Only
//! replies are recorded; a request that failed is sent again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    canonical::{self, Key},
    capabilities::{Capabilities, Model},
    client::Orchestrator,
    difference,
    error::cancelled,
    event::Reply,
    pieces::Pieces,
    request::LlmRequest,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    text::counted,
};
use system::net::Cancel;

/// The version of the files.
const VERSION: u64 = 1;

/// The number of differences in the message of a miss; `details.differences` has more.
const IN_MESSAGE: usize = 3;

/// The largest number of differences that an error carries.
const IN_DETAILS: usize = 20;

/// The hint for a request that is not in the record, if the caller has none.
const HINT: &str = "record it where a model can be reached, in the mode `record`";

/// The detail of an error after the recorded part of an incomplete reply.
const CUT_SHORT: &str = "closed";

/// True for the end of a reply whose record stops where its reader stopped: the recorded part was delivered.
pub fn is_cut_short(error: &Error) -> bool {
    error.details().contains_key(CUT_SHORT)
}

/// The source of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The provider; nothing is recorded.
    #[default]
    Off,
    /// The provider; its replies are recorded, and replace former ones.
    Record,
    /// The record; a missing reply is an error.
    Replay,
    /// The record, and for a missing reply the provider, whose replies are recorded.
    Auto,
}

/// Removes secrets from a text before it is recorded.
pub type Redact = dyn Fn(&str) -> String + Send + Sync;

/// Answers from a record, or records answers.
pub struct Cassettes {
    inner: Option<Box<dyn Orchestrator>>,
    mode: Mode,
    redact: Box<Redact>,
    /// The label of new recordings.
    label: Option<String>,
    /// The next step for a request that is not in the record.
    hint: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cassettes: BTreeMap<Key, Cassette>,
    /// The number of times that each request was made.
    counts: BTreeMap<Sha256, u64>,
    fresh: BTreeSet<Key>,
}

/// One file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cassette {
    version: u64,
    key: String,
    /// The origin of a reply that is not a model's: `authored`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// True if a part was redacted: the hash of the stored request is not the key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
    request: Value,
    /// True if the caller stopped reading here: the rest is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    closed: bool,
    /// The lengths of the pieces of the text, in bytes; one piece if there are none.
    #[serde(default, skip_serializing_if = "Pieces::is_empty")]
    pieces: Pieces,
    reply: Reply,
}

impl Cassettes {
    /// Takes a record: texts by the names of their files, `KEY.json`. Recordings go through `redact`.
    ///
    /// A file that is not a cassette, or whose name is not its key, is `invalid_input`.
    pub fn new(mode: Mode, files: &BTreeMap<String, String>, redact: Box<Redact>) -> Result<Self, Error> {
        let mut cassettes = BTreeMap::new();
        for (name, text) in files {
            let (key, cassette) =
                read(name, text).map_err(|error| error.within(format!("`{}`", name.escape_debug())))?;
            cassettes.insert(key, cassette);
        }
        let state = Mutex::new(State { cassettes, ..State::default() });
        Ok(Cassettes { inner: None, mode, redact, label: None, hint: HINT.to_owned(), state })
    }

    /// The same with this label on new recordings, such as `authored`.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.label = Some(label.to_owned());
        self
    }

    /// The same with this hint in the error of a request that is not in the record.
    #[must_use]
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same in front of a provider.
    #[must_use]
    pub fn before(mut self, inner: impl Orchestrator + 'static) -> Self {
        self.inner = Some(Box::new(inner));
        self
    }

    /// The new recordings: texts by the names of their files.
    pub fn recorded(&self) -> Result<BTreeMap<String, String>, Error> {
        let state = self.lock();
        let fresh = state.fresh.iter().filter_map(|key| state.cassettes.get(key));
        fresh.map(|cassette| Ok((format!("{}.json", cassette.key), write(cassette)?))).collect()
    }

    /// The label of a request's recorded reply, such as `authored`.
    pub fn label(&self, key: &Key) -> Option<String> {
        self.lock().cassettes.get(key)?.label.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of the next occurrence of a request.
    fn next_key(&self, request: &LlmRequest) -> Key {
        let mut state = self.lock();
        let count = state.counts.entry(request.key(1).request).or_default();
        *count += 1;
        request.key(*count)
    }

    /// True if the reply to the request of this key is in the record and is to come from there.
    pub fn answers(&self, key: &Key) -> bool {
        matches!(self.mode, Mode::Replay | Mode::Auto) && self.lock().cassettes.contains_key(key)
    }

    /// The models with recorded replies.
    pub fn models(&self) -> Capabilities {
        let state = self.lock();
        let models = state.cassettes.values().map(|cassette| cassette.reply.model_requested.clone());
        Capabilities::new(models.map(|name| (name, Model::default())))
    }

    /// Answers the request of this key, from the record or by a provider.
    pub fn answer_at(
        &self,
        (key, request): (Key, &LlmRequest),
        provider: Option<&dyn Orchestrator>,
        cancel: &Cancel,
        on_token: &mut dyn FnMut(&str),
    ) -> Result<Reply, Error> {
        let known = self.lock().cassettes.get(&key).cloned();
        match (self.mode, known) {
            (Mode::Off, _) => behind(provider)?.answer(request, cancel, on_token),
            (Mode::Replay | Mode::Auto, Some(cassette)) => play(cassette, cancel, on_token),
            (Mode::Replay, None) => Err(self.miss(key, request)),
            (Mode::Record | Mode::Auto, _) => self.record((key, request), behind(provider)?, cancel, on_token),
        }
    }

    /// Records the beginning of a reply whose reader stopped, as the pieces of its text.
    pub fn record_closed(&self, key: Key, request: &LlmRequest, pieces: &[String]) {
        if !matches!(self.mode, Mode::Record | Mode::Auto) || self.answers(&key) {
            return;
        }
        let (asked, text) = (request.canonical().clone(), pieces.concat());
        let (recorded, kept) = (self.redacted(&asked), (self.redact)(&text));
        let redacted = recorded != asked || kept != text;
        let lengths = if redacted { Vec::new() } else { pieces.iter().map(String::len).collect() };
        let cassette = Cassette {
            version: VERSION,
            key: key.to_string(),
            label: self.label.clone(),
            redacted,
            request: recorded,
            closed: true,
            pieces: Pieces(lengths),
            reply: Reply::of_text(request.model(), kept),
        };
        self.keep(key, cassette);
    }

    fn keep(&self, key: Key, cassette: Cassette) {
        let mut state = self.lock();
        state.cassettes.insert(key, cassette);
        state.fresh.insert(key);
    }

    fn record(
        &self,
        (key, request): (Key, &LlmRequest),
        provider: &dyn Orchestrator,
        cancel: &Cancel,
        on_token: &mut dyn FnMut(&str),
    ) -> Result<Reply, Error> {
        let mut pieces = Pieces::default();
        let reply = provider.answer(request, cancel, &mut |piece| {
            pieces.0.push(piece.len());
            on_token(piece);
        })?;
        let (asked, replied) = (request.canonical().clone(), json!(reply));
        let (recorded, text) = (self.redacted(&asked), self.redacted(&replied));
        let redacted = recorded != asked || text != replied;
        let kept: Reply = serde_json::from_value(text).map_err(|error| {
            Error::new(Code::Internal, format!("a reply can't be read again without its secrets: {error}"))
        })?;
        // A redaction changes the pieces.
        let pieces = if redacted || pieces.0.len() < 2 { Pieces::default() } else { pieces };
        let cassette = Cassette {
            version: VERSION,
            key: key.to_string(),
            label: self.label.clone(),
            redacted,
            request: recorded,
            closed: false,
            pieces,
            reply: kept,
        };
        self.keep(key, cassette);
        Ok(reply)
    }

    fn redacted(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String((self.redact)(text)),
            Value::Array(items) => items.iter().map(|item| self.redacted(item)).collect(),
            Value::Object(map) => map.iter().map(|(name, value)| ((self.redact)(name), self.redacted(value))).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The error of a request that is not in the record.
    fn miss(&self, key: Key, request: &LlmRequest) -> Error {
        let state = self.lock();
        let asked = self.redacted(request.canonical());
        let recorded = state.cassettes.iter().map(|(key, cassette)| (key, &cassette.request));
        let missing =
            |what: String| Error::new(Code::NotFound, what).detail("request", key.to_string()).hint(self.hint.as_str());
        let Some((near, differences)) = difference::nearest(&asked, recorded) else {
            return missing("the request is not in the record, which is empty".to_owned());
        };
        let told: Vec<String> =
            differences.iter().take(IN_MESSAGE).map(|difference| format!("`{}`", difference.pointer)).collect();
        let what = match differences.len() {
            0 => format!("the request is in the record fewer than {}", counted(key.occurrence, "time")),
            1..=IN_MESSAGE => format!("the request is not in the record; `{near}` differs at {}", told.join(", ")),
            more => format!(
                "the request is not in the record; `{near}` is nearest and differs at {} and {}",
                told.join(", "),
                counted(more - IN_MESSAGE, "more place")
            ),
        };
        let some: Vec<_> = differences.into_iter().take(IN_DETAILS).collect();
        let what = match some.first().map(|first| (first.recorded.as_deref(), first.asked.as_deref())) {
            Some((Some(recorded), Some(asked))) => format!("{what}: it has `{recorded}` in place of `{asked}`"),
            Some(_) | None => what,
        };
        missing(what).detail("nearest", near.to_string()).detail("differences", json!(some))
    }
}

impl Orchestrator for Cassettes {
    /// The provider's capabilities; without one, or if only the record answers, the models with recorded replies.
    fn capabilities(&self) -> Result<Capabilities, Error> {
        if let (Some(inner), Mode::Off | Mode::Record | Mode::Auto) = (&self.inner, self.mode) {
            return inner.capabilities();
        }
        Ok(self.models())
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        self.answer_at((self.next_key(request), request), self.inner.as_deref(), cancel, on_token)
    }
}

fn behind(provider: Option<&dyn Orchestrator>) -> Result<&dyn Orchestrator, Error> {
    provider.ok_or_else(|| {
        Error::new(Code::InvalidInput, "there is no provider behind the record").hint("configure one, or replay only")
    })
}

impl fmt::Debug for Cassettes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassettes").field("mode", &self.mode).finish_non_exhaustive()
    }
}

fn play(cassette: Cassette, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
    let mut rest = cassette.reply.text.as_str();
    for length in cassette.pieces.0 {
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let (piece, more) = rest.split_at_checked(length).ok_or_else(|| damaged("its pieces are not its text"))?;
        on_token(piece);
        rest = more;
    }
    if !rest.is_empty() {
        on_token(rest);
    }
    if cassette.closed {
        return Err(Error::new(Code::NotFound, "the reply was recorded only as far as it was read then")
            .detail(CUT_SHORT, true)
            .hint("record it again with a script that reads it to its end"));
    }
    Ok(cassette.reply)
}

fn damaged(why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the cassette can't be used: {why}")).hint("record it again")
}

fn read(name: &str, text: &str) -> Result<(Key, Cassette), Error> {
    let key: Key = name.strip_suffix(".json").ok_or_else(|| damaged("its name is not `KEY.json`"))?.parse()?;
    let cassette: Cassette = serde_json::from_str(text).map_err(|error| damaged(&error.to_string()))?;
    if cassette.version != VERSION {
        return Err(damaged("it is of another version"));
    }
    if cassette.key != key.to_string() {
        return Err(damaged("it has another key than its name"));
    }
    if !cassette.redacted && canonical::hash(&cassette.request)? != key.request {
        return Err(damaged("its request is not the one of its key"));
    }
    let mut at = 0;
    for length in &cassette.pieces.0 {
        at = length.saturating_add(at);
        if !cassette.reply.text.is_char_boundary(at) {
            return Err(damaged("its pieces are not its text"));
        }
    }
    Ok((key, cassette))
}

fn write(cassette: &Cassette) -> Result<String, Error> {
    // Through a value, so that the names are sorted.
    let text = serde_json::to_value(cassette).and_then(|value| serde_json::to_string_pretty(&value));
    let text = text.map_err(|error| Error::new(Code::Internal, format!("a cassette can't be written: {error}")))?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Echoes the prompt, letter by letter, with the number of requests.
    struct Echo(Mutex<u32>);

    impl Orchestrator for Echo {
        fn capabilities(&self) -> Result<Capabilities, Error> {
            Ok(Capabilities::new([("m".to_owned(), Model::default())]))
        }

        fn answer(&self, request: &LlmRequest, _: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
            let mut count = self.0.lock().unwrap();
            *count += 1;
            let text = format!("{} {count}", request.messages()[0].content);
            text.chars().for_each(|c| on_token(&c.to_string()));
            Ok(Reply::of_text("m", text))
        }
    }

    fn echo() -> Echo {
        Echo(Mutex::new(0))
    }

    fn cassettes(mode: Mode, files: &BTreeMap<String, String>) -> Cassettes {
        Cassettes::new(mode, files, Box::new(|text| text.replace("sk-canary", "[redacted]"))).unwrap()
    }

    fn request(prompt: &str) -> LlmRequest {
        LlmRequest::builder(echo().capabilities().unwrap()).model("m").prompt(prompt).build().unwrap()
    }

    fn ask(cassettes: &Cassettes, prompt: &str) -> Result<(Vec<String>, Reply), Error> {
        let mut pieces = Vec::new();
        let reply =
            cassettes.answer(&request(prompt), &Cancel::default(), &mut |piece| pieces.push(piece.to_owned()))?;
        Ok((pieces, reply))
    }

    fn recorded(prompts: &[&str]) -> BTreeMap<String, String> {
        let cassettes = cassettes(Mode::Record, &BTreeMap::new()).before(echo());
        prompts.iter().for_each(|prompt| drop(ask(&cassettes, prompt).unwrap()));
        cassettes.recorded().unwrap()
    }

    #[test]
    fn what_was_recorded_is_replayed_piece_by_piece_without_a_provider() {
        let files = recorded(&["é", "é"]);
        assert_eq!(files.len(), 2, "each of several identical requests has its file");
        let replay = cassettes(Mode::Replay, &files);
        assert_eq!(replay.capabilities().unwrap(), echo().capabilities().unwrap());
        assert_eq!(ask(&replay, "é").unwrap().0, ["é", " ", "1"]);
        assert_eq!(ask(&replay, "é").unwrap().1.text, "é 2");
        let error = ask(&replay, "é").unwrap_err();
        assert!(error.message().contains("fewer than 3 times"), "{error}");
        assert!(replay.recorded().unwrap().is_empty());
    }

    #[test]
    fn a_reply_that_was_not_read_to_its_end_is_replayed_as_far_as_it_was() {
        let recording = cassettes(Mode::Record, &BTreeMap::new()).before(echo());
        recording.record_closed(request("x").key(1), &request("x"), &["a".to_owned(), "é".to_owned()]);
        let replay = cassettes(Mode::Replay, &recording.recorded().unwrap());
        let mut pieces = Vec::new();
        let read = replay.answer(&request("x"), &Cancel::default(), &mut |piece| pieces.push(piece.to_owned()));
        assert_eq!((pieces, read.unwrap_err().code()), (vec!["a".to_owned(), "é".to_owned()], Code::NotFound));
        replay.record_closed(request("y").key(1), &request("y"), &[]);
        assert!(replay.recorded().unwrap().is_empty(), "only who records does");
    }

    #[test]
    fn a_file_can_be_reviewed_and_is_the_same_every_time() {
        let files = recorded(&["hi"]);
        assert_eq!(files, recorded(&["hi"]));
        let (name, text) = files.into_iter().next().unwrap();
        assert_eq!(name, format!("{}.json", request("hi").key(1)));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["request"], &value["pieces"]), (request("hi").canonical(), &json!("1x4")));
        assert!(text.starts_with("{\n  \"key\": ") && text.ends_with("}\n"));
    }

    #[test]
    fn a_miss_names_the_nearest_request_and_what_differs() {
        let files = recorded(&["move all links", "bake a cake"]);
        let error = ask(&cassettes(Mode::Replay, &files), "move all pages").unwrap_err();
        assert_eq!(error.code(), Code::NotFound);
        assert!(error.message().contains("differs at `/messages/0/content`"), "{error}");
        assert_eq!(error.details()["request"], request("move all pages").key(1).to_string());
        let difference = &error.details()["differences"][0];
        assert_eq!(difference["asked"], "move all pages");
        let empty = ask(&cassettes(Mode::Replay, &BTreeMap::new()), "x").unwrap_err();
        assert!(empty.message().contains("empty"), "{empty}");
    }

    #[test]
    fn modes_decide_who_answers() {
        let files = recorded(&["hi"]);
        let auto = cassettes(Mode::Auto, &files).before(echo());
        assert_eq!(
            (ask(&auto, "hi").unwrap().1.text, ask(&auto, "ho").unwrap().1.text),
            ("hi 1".into(), "ho 1".into())
        );
        assert_eq!(auto.recorded().unwrap().len(), 1);
        let record = cassettes(Mode::Record, &files).before(echo());
        assert_eq!((ask(&record, "hi").unwrap().1.text, record.recorded().unwrap().len()), ("hi 1".into(), 1));
        let off = cassettes(Mode::Off, &files).before(echo());
        assert_eq!((ask(&off, "hi").unwrap().1.text, off.recorded().unwrap().len()), ("hi 1".into(), 0));
        assert_eq!(ask(&cassettes(Mode::Auto, &files), "ho").unwrap_err().code(), Code::InvalidInput);
    }

    #[test]
    fn secrets_are_taken_out_before_anything_is_recorded() {
        let files = recorded(&["the key is sk-canary"]);
        let text = files.values().next().unwrap();
        assert!(!text.contains("canary") && text.contains("the key is [redacted] 1"), "{text}");
        let (pieces, reply) = ask(&cassettes(Mode::Replay, &files), "the key is sk-canary").unwrap();
        assert_eq!((pieces.len(), reply.text.as_str()), (1, "the key is [redacted] 1"));
    }

    #[test]
    fn an_authored_reply_says_so_and_a_damaged_file_is_refused() {
        let files = recorded(&["hi"]);
        let edit = |from: &str, to: &str| -> BTreeMap<String, String> {
            files.iter().map(|(name, text)| (name.clone(), text.replace(from, to))).collect()
        };
        let authored = edit("\"key\":", "\"label\": \"authored\",\n  \"key\":");
        let replay = cassettes(Mode::Replay, &authored);
        assert_eq!(replay.label(&request("hi").key(1)).as_deref(), Some("authored"));
        for (from, to) in
            [("\"hi\"", "\"ho\""), ("\"version\": 1", "\"version\": 2"), ("\"key\": \"", "\"key\": \"0"), ("hi 1", "h")]
        {
            let error = Cassettes::new(Mode::Replay, &edit(from, to), Box::new(str::to_owned)).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{from}: {error}");
        }
    }
}
