//! Confirmations: bound to what is confirmed, answered by a person, a flag or the policy, used once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Answer, Event, Host, Position, Question, Sink, patch::Patch};
use crate::{
    call::Call,
    clock::Stopwatch,
    diff::Stat,
    error::{Code, Error},
    gate::{Decision, GateResult, Verdict},
    hash::Sha256,
    json,
    ledger::Note,
    policy::ConfirmMode,
    text::escape,
};

/// Who granted what a person was asked.
pub(super) const PERSON: &str = "person";

/// What a confirmation is called that a gate asks for, where the policy grants it.
const GATES: &str = "gates";

/// The confirmations of a run.
#[derive(Debug, Default)]
pub(super) struct Confirmations {
    asked: u64,
    /// Granted and not yet used: the subject's id.
    tokens: BTreeMap<String, String>,
    /// What a dry run would have asked.
    would_ask: Vec<Value>,
}

impl Confirmations {
    /// What a dry run would have asked.
    pub(super) fn would_ask(&self) -> &[Value] {
        &self.would_ask
    }
}

/// What is to be confirmed.
pub(super) struct Subject {
    /// What the token is bound to: a proposal's id, or the hash of a value.
    pub(super) id: String,
    /// The call that asks, which policy may grant by its name.
    pub(super) kind: &'static str,
    /// What is asked.
    pub(super) label: String,
    /// What a person is shown.
    pub(super) shown: Value,
    /// The files of the change.
    pub(super) files: Vec<Stat>,
    /// The change as a patch.
    pub(super) patch: Vec<u8>,
    /// True if there is nothing to decide, since nothing would change.
    pub(super) empty: bool,
}

impl Host<'_> {
    /// `nrv.gate.confirm`: asks, and keeps a token for the subject.
    pub(super) fn confirm(
        &mut self,
        position: &Position,
        label: &str,
        subject: &Value,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        let subject = self.subject_of(label, subject)?;
        let id = subject.id.clone();
        let by = self.grant(position, subject, sink)?;
        self.confirmations.tokens.insert(id.clone(), by.clone());
        Ok(json!({"subject": id, "by": by}))
    }

    fn subject_of(&self, label: &str, subject: &Value) -> Result<Subject, Error> {
        let known = subject.get("id").and_then(Value::as_str).and_then(|id| self.proposals.get(id));
        match known {
            Some(stored) if stored.reply == *subject => {
                Ok(Subject { kind: "gate.confirm", label: label.to_owned(), ..stored.subject() })
            }
            Some(stored) => Err(altered(&stored.invocation.tool)),
            None => Ok(Subject {
                id: json::sha256(&json::exact(subject))?.to_string(),
                kind: "gate.confirm",
                label: label.to_owned(),
                shown: subject.clone(),
                files: Vec::new(),
                patch: Vec::new(),
                empty: false,
            }),
        }
    }

    /// Uses up the token for a subject, or asks now. Returns who granted it.
    pub(super) fn consume(
        &mut self,
        position: &Position,
        subject: Subject,
        sink: &mut dyn Sink,
    ) -> Result<String, Error> {
        match self.confirmations.tokens.remove(&subject.id) {
            Some(by) => {
                self.note_confirmation(position, "confirmation_used", json!({"subject": subject.id, "by": by}))?;
                Ok(by)
            }
            None => self.grant(position, subject, sink),
        }
    }

    /// Asks for what gates want confirmed of a change: bound to the change and to what they say. Returns who granted it.
    pub(super) fn confirm_gates(
        &mut self,
        position: &Position,
        verdict: &Verdict,
        patch: &Patch,
        sink: &mut dyn Sink,
    ) -> Result<String, Error> {
        let Some(label) = asks(verdict) else { return Ok(String::new()) };
        let bound = json!({"patch": Sha256::of(&patch.bytes), "results": verdict.results});
        let subject = Subject {
            id: json::sha256(&bound)?.to_string(),
            kind: GATES,
            label,
            shown: json!({"results": verdict.remarks().collect::<Vec<_>>()}),
            files: patch.stats.clone(),
            patch: patch.bytes.clone(),
            empty: false,
        };
        self.consume(position, subject, sink)
    }

    /// Asks for what gates want confirmed of a call: bound to the call and to what they say.
    pub(super) fn confirm_call(
        &mut self,
        position: &Position,
        call: &Call,
        verdict: &Verdict,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let Some(label) = asks(verdict) else { return Ok(()) };
        let call = serde_json::to_value(call).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let subject = Subject {
            id: json::sha256(&json!({"call": json::exact(&call), "results": verdict.results}))?.to_string(),
            kind: GATES,
            label,
            shown: json!({"call": call["name"], "results": verdict.remarks().collect::<Vec<_>>()}),
            files: Vec::new(),
            patch: Vec::new(),
            empty: false,
        };
        self.consume(position, subject, sink).map(drop)
    }

    fn grant(&mut self, position: &Position, subject: Subject, sink: &mut dyn Sink) -> Result<String, Error> {
        let Subject { kind, label, .. } = &subject;
        let (kind, label) = (*kind, label.clone());
        if subject.empty {
            return Ok("nothing to confirm".to_owned());
        }
        let confirm = self.policy.settings().confirm.clone();
        if self.flags.dry_run && confirm.mode == ConfirmMode::Never {
            return Err(refused(&label, confirm.mode));
        }
        if self.flags.dry_run {
            self.confirmations.would_ask.push(json!({"label": label, "subject": subject.id}));
            return Ok("dry run".to_owned());
        }
        self.confirmations.asked += 1;
        let id = format!("c{}", self.confirmations.asked);
        let bound = self.bind(&id, &subject)?;
        let shown = self.redacted(bound.clone()).to_string();
        self.folder.write(&format!("confirmations/{id}.json"), shown.as_bytes())?;
        let automatic = confirm.auto.iter().any(|auto| *auto == label || auto == kind);
        let by = match confirm.mode {
            ConfirmMode::Never => None,
            ConfirmMode::Ask | ConfirmMode::Policy if automatic => Some("policy"),
            ConfirmMode::Policy => return Err(self.suspend(position, &id, &label, bound)),
            ConfirmMode::Ask if self.flags.yes => Some("--yes"),
            ConfirmMode::Ask => match self.ask_person(&id, subject, sink)? {
                Answer::Yes => Some(PERSON),
                Answer::No => None,
                Answer::Nobody => return Err(self.suspend(position, &id, &label, bound)),
            },
        };
        let Some(by) = by else {
            self.note_confirmation(position, "confirmation_refused", bound)?;
            return Err(refused(&label, confirm.mode));
        };
        let mut granted = bound;
        granted["by"] = json!(by);
        self.note_confirmation(position, "confirmation_granted", granted)?;
        sink.event(Event::Notice { text: format!("Confirmed by {by}: {}.", escape(&label)) });
        Ok(by.to_owned())
    }

    /// Locks are given up while a person thinks; what they confirmed is checked again afterwards.
    fn ask_person(&mut self, id: &str, subject: Subject, sink: &mut dyn Sink) -> Result<Answer, Error> {
        let held = self.lease.as_ref().map(|lease| lease.paths().to_vec()).unwrap_or_default();
        self.unlock_untouched()?;
        let Subject { label, shown, files, patch, .. } = subject;
        let question = Question { id: id.to_owned(), label, subject: shown, files, patch };
        let waited = Stopwatch::start();
        self.budget.pause();
        let answer = sink.ask(&question);
        self.budget.forgive(waited);
        self.context.check_cancelled()?;
        if answer == Answer::Yes && !held.is_empty() {
            self.lock(&held)?;
        }
        Ok(answer)
    }

    fn suspend(&mut self, position: &Position, id: &str, label: &str, bound: Value) -> Error {
        if let Err(error) = self.note_confirmation(position, "confirmation_pending", bound) {
            return error;
        }
        Error::new(Code::Suspended, format!("the run waits for the confirmation `{id}`: {}", escape(label)))
            .detail("confirmation", id)
            .detail("label", label)
            .detail("run", self.folder.id())
            .hint("run it again on a terminal to be asked, or with `--yes` where the policy lets a flag answer")
    }

    /// What a confirmation is bound to: the subject, which covers pre- and post-images, and the policy.
    fn bind(&self, id: &str, subject: &Subject) -> Result<Value, Error> {
        Ok(json!({
            "id": id,
            "label": subject.label,
            "subject": subject.id,
            "patch_sha256": Sha256::of(&subject.patch),
            "policy_sha256": self.policy.sha256(),
        }))
    }

    fn note_confirmation(&mut self, position: &Position, kind: &'static str, data: Value) -> Result<(), Error> {
        let file = data["id"].as_str().map(|id| self.folder.file_ref(&format!("confirmations/{id}.json")));
        let files = file.transpose()?.into_iter().collect();
        self.note(Note { position: position.to_string(), kind, data, files, ..Note::default() })
    }
}

/// What is asked if gates want a confirmation; none if they don't.
fn asks(verdict: &Verdict) -> Option<String> {
    let wanted = |result: &&GateResult| result.decision == Decision::RequireConfirmation;
    let result = verdict.results.iter().find(wanted).filter(|_| verdict.decision == Decision::RequireConfirmation)?;
    Some(format!("{}: {}", result.gate_name, result.reason))
}

fn refused(label: &str, mode: ConfirmMode) -> Error {
    let error = Error::new(Code::Blocked, format!("`{}` was not confirmed", escape(label)));
    match mode {
        ConfirmMode::Never => error.hint("`confirm.mode` is \"never\" in the policy, so nothing can be confirmed"),
        ConfirmMode::Ask | ConfirmMode::Policy => error.hint("nothing was changed by this step"),
    }
}

/// The error for a proposal that is not what the host handed out.
pub(super) fn altered(tool: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the proposal of `{tool}` was altered"))
        .hint("hand the proposal on as `propose` returned it")
}
