//! Recorded replies of language models beside a run: which answer, and which are recorded.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, de::IntoDeserializer};
use serde_json::json;

use super::models::{Models, Requests};
use crate::{
    Context, Host, Position,
    call::llm::{
        orchestrators::{self, ADD, RECORD},
        tape::Tape,
    },
    life::history::Past,
};
use base::error::{Code, Error};
use gate::secrets;
use llm::{AUTHORED, Cassettes, Key, LlmRequest, Mode, Replies};
use record::{
    Note,
    event::{Event, LlmCassettes, LlmSent},
};
use system::policy;

/// Returns the mode and the folder of recorded replies in a run, without their files; none if the run did not use any.
pub fn tape_of(context: &Context, run: &str) -> Result<Option<Tape>, Error> {
    let records = context.runs.open(run)?.records()?;
    let named = records.iter().rev().find_map(|record| Some((record.seq, record.event.llm_cassettes()?)));
    let read = |(seq, used): (u64, &LlmCassettes)| {
        let mode = policy::Cassettes::deserialize(used.mode.as_str().into_deserializer()).map_err(
            |error: serde::de::value::Error| {
                Error::new(Code::RecordDamaged, format!("record {seq} can't be read: {error}"))
            },
        )?;
        Ok(Tape { mode, folder: used.folder.clone(), files: BTreeMap::new() })
    };
    named.map(read).transpose()
}

impl Host<'_> {
    /// Lets recorded replies answer, or records replies. Files are neither read nor written: what was recorded is in
    /// [`crate::Finished`].
    ///
    /// With `replies`, those of a person answer in place of all providers, and are recorded as `authored`. A file that is no cassette is
    /// `invalid_input`.
    pub fn use_cassettes(&mut self, tape: Tape, replies: Option<Arc<Replies>>) -> Result<(), Error> {
        let mode = match tape.mode {
            policy::Cassettes::Off => return Ok(()),
            policy::Cassettes::Record => Mode::Record,
            policy::Cassettes::Auto => Mode::Auto,
            policy::Cassettes::Replay => Mode::Replay,
        };
        let rules = Arc::clone(&self.run.rules);
        let redact = move |text: &str| secrets::redact(text, rules.secrets()).into_owned();
        let cassettes = Cassettes::new(mode, &tape.files, Box::new(redact))?;
        let is_configured = orchestrators::is_any(&self.run.policy, &self.run.context.options.orchestrators);
        let hint = if is_configured { RECORD.to_owned() } else { format!("there is no provider: {ADD}") };
        let cassettes = cassettes.hinting(hint);
        let cassettes = if replies.is_some() { cassettes.labelled(AUTHORED) } else { cassettes };
        let mode = json!(tape.mode).as_str().unwrap_or_default().to_owned();
        let used = LlmCassettes { mode, folder: tape.folder.clone(), files: tape.files.len() as u64 };
        self.recorder.note(Note::of_run(Event::LlmCassettes(used.into())))?;
        (self.models.tape, self.models.replies) = (Some((tape, Arc::new(cassettes))), replies);
        Ok(())
    }
}

impl Models {
    /// Returns the replies that were recorded; none if there are none.
    pub(crate) fn recorded_replies(&self) -> Result<Option<Tape>, Error> {
        let Some((tape, cassettes)) = &self.tape else { return Ok(None) };
        let files = cassettes.recorded()?;
        Ok((!files.is_empty()).then(|| Tape { files, ..tape.clone() }))
    }

    /// Counts the requests that former sessions of the run made, so that a repeated one is known as that.
    pub(crate) fn count_requests(&mut self, past: &Past) {
        let sent = past.records().iter().filter_map(|record| record.event.llm_sent());
        let keys: Vec<Key> = sent.filter_map(key_of).collect();
        for key in keys {
            self.count(&key);
        }
    }
}

impl Requests<'_, '_> {
    /// The key of a request that is made now. One that is made again keeps the key that it had.
    pub(super) fn next_key(&self, position: &Position, request: &LlmRequest) -> Key {
        let sent = self.recorder.past.as_ref().and_then(|past| past.last(position.as_str(), Event::llm_sent));
        let key = sent.and_then(|(_, sent)| key_of(sent)).filter(|key| key.request == request.key(1).request);
        key.unwrap_or_else(|| self.models.next_key(request))
    }
}

/// The key in a record of the kind `llm_sent`.
fn key_of(sent: &LlmSent) -> Option<Key> {
    sent.request.parse().ok()
}
