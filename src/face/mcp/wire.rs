//! The events that a client is told while its call is worked on, and the redactor before everything that a client gets.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use base::text::counted;
use gate::{Rules, secrets};
use host::{Answer, Event, Question, Sink};

/// The most events that wait to be sent; more are dropped.
const WAITING: usize = 64;

/// Something that a client is told while its request is worked on.
#[derive(Debug)]
pub(super) enum Told {
    /// How far the work is, in words.
    Progress(String),
    /// A message of the run.
    Message(Level, Value),
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    #[default]
    Info,
    Warning,
    /// That of no message.
    Nothing,
}

/// The sink of a client's call. There is nobody behind it who could be asked: a question ends the run for now.
#[derive(Clone)]
pub(super) struct Wire {
    told: Sender<Told>,
    rules: Arc<Rules>,
}

impl Wire {
    /// A sink, and where its events arrive.
    pub(super) fn new(rules: &Arc<Rules>) -> (Wire, Receiver<Told>) {
        let (told, events) = channel(WAITING);
        (Wire { told, rules: Arc::clone(rules) }, events)
    }

    fn tell(&self, told: Told) {
        // A client that does not read loses events, and never holds up a run.
        let _ = self.told.try_send(told);
    }

    fn progress(&self, text: impl Into<String>) {
        self.tell(Told::Progress(secrets::redact(&text.into(), self.rules.secrets()).into_owned()));
    }

    fn message(&self, level: Level, mut value: Value) {
        redact(&mut value, &self.rules);
        self.tell(Told::Message(level, value));
    }
}

impl Sink for Wire {
    fn event(&mut self, event: Event) {
        match event {
            Event::Step { label } => self.progress(label),
            Event::DtaStarted { tool } => self.progress(tool),
            Event::DtaProgress { tool, phase, done, total } => {
                self.progress(format!("{tool}: {} {done} of {total}", json!(phase).as_str().unwrap_or_default()));
            }
            Event::CommandStarted { argv } => self.progress(format!("$ {}", argv.join(" "))),
            Event::Applied { files, written } => {
                let verb = if written { "changed" } else { "proposed" };
                self.progress(format!("{} {verb}", counted(files, "file")));
            }
            Event::Notice { text } => self.message(Level::Info, json!(text)),
            Event::Print { text } => self.message(Level::Info, json!(text)),
            Event::Table { rows } => self.message(Level::Info, json!(rows)),
            Event::Show { value } => self.message(Level::Info, value),
            Event::Warning { result } => self.message(Level::Warning, json!(result)),
            event @ (Event::AgentSummoned { .. }
            | Event::AgentDismissed { .. }
            | Event::AgentDone { .. }
            | Event::AgentFailed { .. }) => self.message(Level::Info, json!(event)),
            _ => {}
        }
    }

    fn ask(&mut self, _question: &Question) -> Answer {
        Answer::Nobody
    }
}

/// Takes the secrets out of a value.
pub(super) fn redact(value: &mut Value, rules: &Rules) {
    secrets::redact_json(value, rules.secrets());
}

/// A text without secrets.
pub(super) fn redacted(text: &str, rules: &Rules) -> String {
    secrets::redact(text, rules.secrets()).into_owned()
}
