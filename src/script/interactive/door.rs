//! The door of a session's texts, and the answers to its questions.

use serde_json::Value;

use crate::{interactive::used::Used, run::HostDoor, session::Door};
use base::{
    call::Call,
    error::{Error, Location},
    text::escape,
};
use host::{Answer, Event, Question, Sink};

/// The name of a session, in its record and in its worker.
pub(super) const NAME: &str = "session";

/// A place in the session as one in the text that it belongs to.
pub(super) fn placed(place: &Location, texts: &[(String, usize)]) -> Option<Location> {
    let (name, after) = texts.iter().rfind(|(_, after)| *after < place.line).filter(|_| place.path == NAME)?;
    Some(Location { path: name.clone(), line: place.line - after, column: place.column })
}

/// The door, with a note of the permissions that calls used, and with places in the texts.
pub(super) struct Watched<'a, 'h> {
    pub(super) inner: HostDoor<'a, 'h>,
    pub(super) places: &'a [(String, usize)],
    pub used: Used,
}

impl Watched<'_, '_> {
    fn place(&self, at: Option<&Location>) -> Option<Location> {
        at.map(|at| placed(at, self.places).unwrap_or_else(|| at.clone()))
    }
}

impl Door for Watched<'_, '_> {
    fn perform(&mut self, at: Option<&Location>, call: Call) -> Result<Value, Error> {
        let (at, judged) = (self.place(at), self.inner.host.as_judged(&call));
        let reply = self.inner.perform(at.as_ref(), call)?;
        self.used.note(&judged);
        Ok(reply)
    }

    fn open(&mut self, at: Option<&Location>, call: Call) -> Result<u64, Error> {
        let (at, judged) = (self.place(at), self.inner.host.as_judged(&call));
        let stream = self.inner.open(at.as_ref(), call)?;
        self.used.note(&judged);
        Ok(stream)
    }

    fn next(&mut self, stream: u64) -> Result<Value, Error> {
        self.inner.next(stream)
    }

    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error> {
        self.inner.close(stream, taken)
    }

    fn print(&mut self, text: &str) {
        self.inner.print(text);
    }

    fn cancelled(&self) -> Option<Error> {
        self.inner.cancelled()
    }
}

/// A sink that answers no where there is no person to ask: a session can't wait for an answer.
pub(super) struct OrNo<'a>(pub(super) &'a mut dyn Sink);

impl Sink for OrNo<'_> {
    fn event(&mut self, event: Event) {
        self.0.event(event);
    }

    fn ask(&mut self, question: &Question) -> Answer {
        match self.0.ask(question) {
            Answer::Nobody => {
                let label = escape(&question.label);
                self.event(Event::Notice {
                    text: format!("There is no person to confirm `{label}`, so the answer is no."),
                });
                Answer::No
            }
            answer => answer,
        }
    }

    fn ask_trust(&mut self, question: &Question) -> Answer {
        self.0.ask_trust(question)
    }
}
