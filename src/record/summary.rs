//! A record in a few words, for listings.

use super::{
    Record,
    event::{AnsweredBy, Event},
};
use base::{change::Entry, text::escape};

impl Record {
    /// The event in a few words.
    pub fn summary(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut say = |text: &str| words.push(escape(text));
        match &self.event {
            Event::RunStarted(started) => say(started.asked.kind()),
            Event::RunFinished(end) | Event::RunSuspended(end) => {
                end.error.iter().for_each(|error| say(error.message()));
                say(end.state.as_str());
            }
            Event::RunInterrupted(died) => say(died.state.as_str()),
            Event::Input(input) => [&input.name, &input.text].into_iter().for_each(|text| say(first_line(text))),
            Event::InputFailed(failed) => say(failed.error.message()),
            Event::Call(call) => {
                say(&call.call);
                call.args.form().get("name").and_then(|name| name.as_str()).into_iter().for_each(&mut say);
                words.extend(call.answered_by.as_ref().map(answered_by));
                words.extend(call.error.as_ref().map(|error| escape(error.message())));
            }
            Event::Intent(intent) => {
                say(&intent.call);
                let name = intent.args.as_ref().and_then(|args| args.form().get("name"));
                name.and_then(|name| name.as_str()).into_iter().for_each(&mut say);
            }
            Event::Undoing(undoing) => {
                say(&undoing.transaction);
                undoing.attempt.iter().for_each(|attempt| say(attempt));
            }
            Event::AttemptSetAside(data) => [&data.transaction, &data.attempt].into_iter().for_each(|text| say(text)),
            Event::AttemptPutBack(data) => [&data.transaction, &data.attempt].into_iter().for_each(|text| say(text)),
            Event::ConfirmationPending(asked)
            | Event::ConfirmationGranted(asked)
            | Event::ConfirmationRefused(asked)
            | Event::ConfirmationUsed(asked) => say(&asked.label),
            Event::CommitmentMade(made) => [&made.id, &made.description].into_iter().for_each(|text| say(text)),
            Event::CommitmentVerified(seen) => [&seen.id, &seen.reason].into_iter().for_each(|text| say(text)),
            other => words.extend(of_steps(other)),
        }
        words.join(" ")
    }
}

/// The words of an event of an adapter, of a transaction or of a model.
fn of_steps(event: &Event) -> Vec<String> {
    let files = |entries: &[Entry]| base::text::counted(entries.len(), "file");
    match event {
        Event::DtaStarted(started) => vec![escape(&started.tool)],
        Event::DtaProposed(proposed) => vec![escape(&proposed.tool)],
        Event::DtaApplied(applied) => {
            [Some(&applied.tool), applied.transaction.as_ref()].into_iter().flatten().map(|text| escape(text)).collect()
        }
        Event::DtaVerified(verified) => vec![escape(&verified.tool)],
        Event::DtaFailed(failed) => vec![escape(&failed.tool)],
        Event::Prepared(prepared) => vec![escape(&prepared.transaction)],
        Event::Checked(checked) => vec![escape(&checked.transaction)],
        Event::Committed(data) | Event::Undone(data) | Event::UndoneAfterCrash(data) => {
            vec![escape(&data.transaction), files(&data.entries)]
        }
        Event::Revoked(revoked) => {
            let entries = revoked.entries.iter().map(|entries| files(entries));
            [escape(&revoked.transaction)].into_iter().chain(entries).collect()
        }
        Event::LlmCassettes(used) => vec![format!("{} {}", used.mode, quoted(&used.folder))],
        Event::LlmSent(sent) => vec![asked(&sent.model, &sent.provider)],
        Event::LlmTried(tried) => {
            let after = tried.after.as_ref().map(|error| format!(" after: {}", escape(error.message())));
            vec![format!("try {}{}", tried.attempt, after.unwrap_or_default())]
        }
        _ => Vec::new(),
    }
}

/// The first line of a text of a session.
fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or_default()
}

fn quoted(text: &str) -> String {
    format!("`{}`", escape(text))
}

fn asked(model: &str, provider: &str) -> String {
    format!("{} of {}", quoted(model), quoted(provider))
}

/// Who gave a model's reply.
fn answered_by(by: &AnsweredBy) -> String {
    let recorded = if by.is_recorded() { ", recorded" } else { "" };
    let label = by.label.as_ref().map(|label| format!(", {}", quoted(label))).unwrap_or_default();
    let (model, provider) = (by.model.as_deref().unwrap_or_default(), by.provider.as_deref().unwrap_or_default());
    format!("{}{recorded}{label}", asked(model, provider))
}
