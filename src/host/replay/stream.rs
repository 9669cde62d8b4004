//! Streams of a replay: their events are those of the record.

use serde_json::{Value, json};

use super::{
    Replay,
    place::{Stop, parted},
};
use crate::{Parting, Position, Told};
use base::{
    call::Call,
    error::{Code, Error, Location},
};

impl Replay<'_> {
    /// Begins a stream; its number.
    pub fn open_stream(&mut self, position: &Position, at: Option<&Location>, call: &Call) -> Result<u64, Error> {
        let answer = self.perform(position, at, call)?;
        let number = self.streams.len() as u64 + 1;
        self.streams.insert(number, (position.clone(), Told::of(&answer)?));
        Ok(number)
    }

    /// The next events of a stream; none after the last.
    pub fn next_events(&mut self, stream: u64) -> Result<Value, Error> {
        let missing = || Error::new(Code::Internal, "there is no such stream");
        let (position, told) = self.streams.get_mut(&stream).ok_or_else(missing)?;
        let events = told.next_events();
        if let Err(error) = &events {
            let mut stop = parted(Parting::Longer, error.message(), Value::Null, json!({"name": "llm.stream"}));
            if let Stop::Diverged(divergence) = &mut stop {
                divergence.position = Some(position.to_string());
            }
            self.stop.get_or_insert(stop);
        }
        events
    }

    /// Ends a stream.
    pub fn close_stream(&mut self, stream: u64, _taken: u64) -> Result<(), Error> {
        match self.streams.contains_key(&stream) {
            true => Ok(()),
            false => Err(Error::new(Code::Internal, "there is no such stream")),
        }
    }
}
