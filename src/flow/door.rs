//! The makers of calls: protocols see nothing else of the world.

use serde_json::Value;

use base::{call::Call, error::Error};
use host::{Host, Positions, Sink};

/// Someone whose calls a run answers.
///
/// A protocol hands on each error for which [`Error::is_final`] holds: the run is over.
pub trait Door {
    /// Makes a call, and waits for the reply.
    fn perform(&mut self, call: Call) -> Result<Value, Error>;
}

/// The door of a program that holds a run. Its calls have the positions `1`, `2`, ….
pub struct RunDoor<'h, 'a> {
    host: &'h mut Host<'a>,
    positions: Positions,
    sink: &'h mut dyn Sink,
}

impl<'h, 'a> RunDoor<'h, 'a> {
    /// The door of a run that has made no call yet.
    pub fn new(host: &'h mut Host<'a>, sink: &'h mut dyn Sink) -> Self {
        RunDoor { host, positions: Positions::default(), sink }
    }
}

impl Door for RunDoor<'_, '_> {
    fn perform(&mut self, call: Call) -> Result<Value, Error> {
        let position = self.positions.take(&call);
        let reply = self.host.perform(&position, call.clone(), self.sink)?;
        self.positions = self.positions.after(&call);
        Ok(reply)
    }
}
