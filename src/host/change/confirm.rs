//! Confirmations: bound to what is confirmed, answered by a person, a flag or the policy, used once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    confirmations::{Bound, Confirmations, Standing, files_before},
    ledger::Ledger,
    patch::Patch,
};
use crate::{
    Answer, Event, Position, Question, Sink,
    change::{
        stored_proposal::StoredProposal,
        subject::{CONFIRM, DTA_APPLY, FLAG, GATES, LOCK, PERSON, POLICY, Subject, WRITES},
    },
    life::request::Origin,
    recorder::Recorder,
    terms::Terms,
};
use base::{
    call::Call,
    change::ChangeSet,
    error::{Code, Error},
    hash::Sha256,
    json,
    span::span,
    text::{counted, escape},
};
use gate::{Decision, GateResult, Verdict};
use record::event::{self, Confirmation};
use system::{
    clock::{self, Stopwatch},
    policy::{Confirm, ConfirmMode, ConfirmWrites},
};

/// The confirmations under which a change is made.
#[derive(Debug, Default)]
pub(crate) struct Leave {
    ids: Vec<String>,
    /// True if a person was asked, who may have taken hours, with no lock held meanwhile.
    pub(crate) waited: bool,
}

impl Leave {
    /// True if nothing was confirmed.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// An answer, and who gave it.
struct Answered {
    by: &'static str,
    /// True if it is for all of this kind.
    all: bool,
    waited: bool,
}

/// The questions of a call: they are asked, bound to what is asked about, and recorded.
pub(crate) struct Asking<'q, 'a> {
    pub(crate) run: &'q Terms<'a>,
    pub(crate) recorder: &'q mut Recorder<'a>,
    pub(crate) ledger: &'q mut Ledger<'a>,
    pub(crate) confirmations: &'q mut Confirmations,
    pub(crate) position: &'q Position,
    pub(crate) sink: &'q mut dyn Sink,
}

impl Asking<'_, '_> {
    /// `nrv.gate.confirm`: asks, and keeps a token for the subject.
    pub(crate) fn confirm(&mut self, subject: Subject) -> Result<Value, Error> {
        let id = subject.id.clone();
        let now = self.run.context.options.clock.now();
        // What was granted while the run was suspended was asked by this call, and is no answer to another.
        if let Some((asked, by)) =
            self.confirmations.granted_at(self.position.as_str(), &id, self.run.policy.sha256(), &now)
        {
            self.check_shown(asked, &subject)?;
            return Ok(json!({"subject": id, "by": by}));
        }
        if self.run.flags.dry_run && !subject.empty {
            self.confirmations.promise(&id);
        }
        let by = match self.grant(subject, &mut Leave::default())? {
            Some(by) => by,
            None if self.run.flags.dry_run => "dry run",
            None => "nothing to confirm",
        };
        Ok(json!({"subject": id, "by": by}))
    }

    /// Looks for a token for a subject, or asks now. It stays until [`Asking::use_up`].
    pub(crate) fn permit(&mut self, subject: Subject, leave: &mut Leave) -> Result<(), Error> {
        let subject = self.as_asked(subject);
        let now = self.run.context.options.clock.now();
        let granted = self.confirmations.granted(&subject, self.run.policy.sha256(), &now);
        match granted.map(|bound| bound.id.clone()) {
            Some(id) => {
                self.check_shown(&id, &subject)?;
                leave.ids.push(id);
            }
            None if subject.kind == DTA_APPLY && self.confirmations.use_promise(&subject.id) => {}
            None => drop(self.grant(subject, leave)?),
        }
        Ok(())
    }

    /// A subject of gates as the release before bound it, whose words of advice were others: of a run that it began, what was asked by the
    /// same call, about the same patch and files, with the same reason, is the same question.
    fn as_asked(&self, subject: Subject) -> Subject {
        if subject.kind != GATES || !self.run.policy.has_earlier_defaults() {
            return subject;
        }
        let label = self.recorder.shown(&subject.label);
        let asked =
            self.confirmations.asked_as(self.position.as_str(), &subject, &label).map(|bound| bound.subject.clone());
        Subject { id: asked.unwrap_or(subject.id), ..subject }
    }

    /// Asks for what gates want confirmed of a change: bound to the change and to what they say. A change in a repository within
    /// the repository is refused before anybody is asked.
    pub(crate) fn permit_gates(
        &mut self,
        verdict: &Verdict,
        changes: &ChangeSet,
        patch: &Patch,
        leave: &mut Leave,
    ) -> Result<(), Error> {
        self.run.check_nested(changes, self.sink)?;
        let Some(label) = asks(verdict) else { return Ok(()) };
        let bound = json!({"patch": Sha256::of(&patch.bytes), "results": verdict.results});
        let subject = Subject {
            id: json::sha256(&bound)?.to_string(),
            kind: GATES,
            label,
            shown: json!({"results": verdict.remarks().collect::<Vec<_>>()}),
            patch: patch.clone(),
            files: files_before(changes),
            empty: false,
        };
        self.permit(subject, leave)
    }

    /// Asks whoever is there for a change of a script that no question of this run has shown. Where nobody is, the script alone decides.
    pub(crate) fn permit_write(&mut self, changes: &ChangeSet, patch: &Patch, leave: &mut Leave) -> Result<(), Error> {
        let Confirm { mode, writes, approvers, .. } = &self.run.policy.settings().confirm;
        let flags = &self.run.flags;
        let is_asked = (*mode, *writes) == (ConfirmMode::Ask, ConfirmWrites::Ask) && approvers.is_none();
        let is_script = self.run.origin == Origin::Script && !flags.yes && !flags.dry_run;
        if !is_asked || !is_script || !self.sink.is_attended() || self.confirmations.has_shown(patch) {
            return Ok(());
        }
        let label = format!("write {}", counted(changes.changes().len(), "file"));
        if grants(&self.run.policy.settings().confirm, &label, WRITES) {
            return Ok(());
        }
        let subject = Subject {
            id: Sha256::of(&patch.bytes).to_string(),
            kind: WRITES,
            label,
            shown: Value::Null,
            patch: patch.clone(),
            files: files_before(changes),
            empty: changes.is_empty(),
        };
        self.permit(subject, leave)
    }

    /// Asks for what gates want confirmed of a call: bound to the call and to what they say.
    pub(crate) fn confirm_call(&mut self, call: &Call, verdict: &Verdict) -> Result<(), Error> {
        let Some(label) = asks(verdict) else { return Ok(()) };
        let mut shown = json!({"call": call.name(), "results": verdict.remarks().collect::<Vec<_>>()});
        if let Call::ExecRun(run) = call {
            shown["command"] = json!(self.recorder.shown(&run.argv().join(" ")));
        }
        let call = serde_json::to_value(call).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let subject = Subject {
            id: json::sha256(&json!({"call": json::exact(&call), "results": verdict.results}))?.to_string(),
            kind: GATES,
            label,
            shown,
            patch: Patch::default(),
            files: Vec::new(),
            empty: false,
        };
        let mut leave = Leave::default();
        self.permit(subject, &mut leave)?;
        self.use_up(leave)
    }

    /// Uses up the token for a subject; the id of its confirmation, none if there is none.
    pub(crate) fn redeem(&mut self, subject: &Subject) -> Result<Option<String>, Error> {
        let now = self.run.context.options.clock.now();
        let granted = self.confirmations.granted(subject, self.run.policy.sha256(), &now);
        let Some(id) = granted.map(|bound| bound.id.clone()) else { return Ok(None) };
        self.check_shown(&id, subject)?;
        self.use_up(Leave { ids: vec![id.clone()], waited: false }).map(|()| Some(id))
    }

    /// Records that what was confirmed is begun: the tokens count no more, whatever becomes of it.
    pub(crate) fn use_up(&mut self, leave: Leave) -> Result<(), Error> {
        for id in leave.ids {
            let Some(token) = self.confirmations.get(&id) else { continue };
            let bound = token.bound.clone();
            self.recorder.note_confirmation(
                self.position.as_str(),
                event::Event::ConfirmationUsed,
                bound.data(),
                vec![bound.file()],
            )?;
            self.confirmations.set(&id, Standing::Used);
        }
        Ok(())
    }

    /// Asks; who granted it, none if nothing had to be granted.
    fn grant(&mut self, subject: Subject, leave: &mut Leave) -> Result<Option<&'static str>, Error> {
        let label = subject.label.clone();
        if subject.empty {
            return Ok(None);
        }
        let mode = self.run.policy.settings().confirm.mode;
        if self.run.flags.dry_run {
            // A dry run asks nobody, so that nobody has to be there. What would be refused is said.
            let confirm = &self.run.policy.settings().confirm;
            let refused = mode == ConfirmMode::Never && !grants(confirm, &label, subject.kind);
            self.confirmations.note_would_ask(&label, &subject.id, refused);
            return Ok(None);
        }
        let bound = self.bind(&subject)?;
        let shown = subject.patch.edits();
        let Some(answered) = self.decide(&bound, subject)? else {
            let files = vec![bound.file()];
            self.recorder.note_confirmation(
                self.position.as_str(),
                event::Event::ConfirmationRefused,
                bound.data(),
                files,
            )?;
            return Err(self.refused(&label, mode));
        };
        let by = answered.by;
        let granted = Confirmation { by: Some(by.to_owned()), all: answered.all, ..bound.data() };
        if answered.all {
            self.confirmations.grant_all(&bound.kind);
        }
        self.recorder.note_confirmation(
            self.position.as_str(),
            event::Event::ConfirmationGranted,
            granted,
            vec![bound.file()],
        )?;
        self.confirmations.show(shown);
        leave.waited |= answered.waited;
        leave.ids.push(bound.id.clone());
        self.confirmations.keep(bound, Standing::Granted { by: by.to_owned() }, self.position.to_string());
        self.sink.event(Event::Notice { text: format!("Confirmed by {by}: {}.", escape(&label)) });
        Ok(Some(by))
    }

    /// Who grants it under the policy; none if it is refused, and an error if nobody can be asked.
    fn decide(&mut self, bound: &Bound, subject: Subject) -> Result<Option<Answered>, Error> {
        let confirm = &self.run.policy.settings().confirm;
        let is_automatic = confirm.auto.iter().any(|auto| *auto == subject.label || auto == subject.kind);
        let answered = |by, waited| Ok(Some(Answered { by, all: false, waited }));
        if grants(confirm, &subject.label, subject.kind) {
            return answered(LOCK, false);
        }
        match confirm.mode {
            ConfirmMode::Never => Ok(None),
            ConfirmMode::Ask | ConfirmMode::Policy if is_automatic => answered(POLICY, false),
            ConfirmMode::Policy => self.put_off(bound, &subject),
            // Where a signature is asked for, a key on a keyboard is none.
            ConfirmMode::Ask if confirm.approvers.is_some() => self.put_off(bound, &subject),
            ConfirmMode::Ask if self.run.flags.yes => answered(FLAG, false),
            ConfirmMode::Ask if self.confirmations.are_all_granted(subject.kind) => {
                Ok(Some(Answered { by: PERSON, all: true, waited: false }))
            }
            ConfirmMode::Ask => {
                // What gates object to is another thing each time.
                let may_all = confirm.yes_flag && subject.kind != GATES;
                match self.ask_person(&bound.id, &subject, may_all)? {
                    Answer::Yes => answered(PERSON, true),
                    Answer::All => Ok(Some(Answered { by: PERSON, all: may_all, waited: true })),
                    Answer::No => Ok(None),
                    Answer::Nobody => self.put_off(bound, &subject),
                }
            }
        }
    }

    /// The run waits until somebody decides; in a session, with which nobody goes on, it is a refusal.
    fn put_off(&mut self, bound: &Bound, subject: &Subject) -> Result<Option<Answered>, Error> {
        match self.run.origin {
            Origin::Session => Ok(None),
            Origin::Script | Origin::Program | Origin::Client | Origin::Person => Err(self.suspend(bound, subject)),
        }
    }

    /// Locks are given up while a person thinks; what they confirmed is checked again afterwards.
    fn ask_person(&mut self, id: &str, subject: &Subject, may_all: bool) -> Result<Answer, Error> {
        let held = self.ledger.lease.as_ref().map(|lease| lease.paths().to_vec()).unwrap_or_default();
        self.ledger.unlock_untouched()?;
        let question = Question {
            id: id.to_owned(),
            label: subject.label.clone(),
            subject: subject.shown.clone(),
            files: subject.patch.stats.clone(),
            patch: subject.patch.bytes.clone(),
            may_all,
        };
        let waited = Stopwatch::start();
        self.run.budget.pause();
        let answer = span!("question").in_scope(|| self.sink.ask(&question));
        self.run.budget.forgive(waited);
        self.run.context.check_cancelled()?;
        if matches!(answer, Answer::Yes | Answer::All) && !held.is_empty() {
            self.ledger.lock(self.run, &held)?;
        }
        Ok(answer)
    }

    /// Binds a confirmation to the subject, to the files as they are and to the policy, and writes it down. If the call has
    /// asked exactly that before and nobody has answered, it is that confirmation, so that there is one question.
    pub(crate) fn bind(&mut self, subject: &Subject) -> Result<Bound, Error> {
        let now_ms = self.run.context.options.clock.now_ms();
        let expires = self.run.policy.settings().confirm.expires;
        let exact = json!(subject.files);
        let files = self.recorder.redacted(exact.clone());
        let files_exact = if files == exact { None } else { Some(self.recorder.packed(&exact, true)?) };
        let question = Bound {
            id: String::new(),
            run: self.recorder.folder.id().to_owned(),
            label: self.recorder.shown(&subject.label),
            kind: subject.kind.to_owned(),
            subject: subject.id.clone(),
            patch_sha256: Sha256::of(&subject.patch.bytes),
            policy_sha256: self.run.policy.sha256(),
            files: serde_json::from_value(files).map_err(|error| Error::new(Code::Internal, error.to_string()))?,
            files_exact,
            asked_at: clock::rfc3339(now_ms),
            expires_at: clock::rfc3339(now_ms.saturating_add(expires.saturating_mul(1000))),
        };
        if let Some(asked) = self.confirmations.asked_before(self.position.as_str(), &question) {
            return Ok(asked.clone());
        }
        let bound = Bound { id: self.confirmations.next_id(), ..question };
        self.recorder.folder.write(&bound.file(), &bound.text()?)?;
        Ok(bound)
    }

    fn refused(&self, label: &str, mode: ConfirmMode) -> Error {
        let error = Error::new(Code::Blocked, format!("`{}` was not confirmed", escape(label)));
        let way = match (mode, self.run.origin) {
            (ConfirmMode::Ask | ConfirmMode::Policy, _) => return error.hint("nothing was changed by this step"),
            (ConfirmMode::Never, Origin::Script) => {
                // As a shell reads it.
                let label = escape(label).replace('\'', r"'\''");
                format!("`nrv approve SCRIPT --grant '{label}'` grants it to a script that runs locked")
            }
            (ConfirmMode::Never, Origin::Session | Origin::Program | Origin::Client | Origin::Person) => {
                "with \"policy\" there, what `confirm.auto` lists is granted".to_owned()
            }
        };
        let origin = self.run.policy.origin("confirm.mode");
        error.hint(format!("nobody is asked: `confirm.mode` is \"never\" ({origin}); {way}"))
    }
}

/// Returns the text of the question if gates require a confirmation; none if they do not.
fn asks(verdict: &Verdict) -> Option<String> {
    let wanted = |result: &&GateResult| result.decision == Decision::RequireConfirmation;
    let mut results = verdict.results.iter().filter(wanted);
    let result = results.next().filter(|_| verdict.decision == Decision::RequireConfirmation)?;
    let more = match results.count() {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    Some(format!("{}: {}{more}", result.gate_name, result.reason))
}

/// The subject of a question of a script: a proposal that it was given, or any value.
pub(crate) fn subject_of(
    proposals: &BTreeMap<String, StoredProposal>,
    label: &str,
    subject: &Value,
) -> Result<Subject, Error> {
    let known = subject.get("id").and_then(Value::as_str).and_then(|id| proposals.get(id));
    match known {
        Some(stored) if stored.reply == *subject => {
            Ok(Subject { kind: CONFIRM, label: label.to_owned(), ..stored.subject() })
        }
        Some(stored) => Err(altered(&stored.invocation.tool)),
        None => Ok(Subject {
            id: json::sha256(&json::exact(subject))?.to_string(),
            kind: CONFIRM,
            label: label.to_owned(),
            shown: subject.clone(),
            patch: Patch::of_plan(subject).unwrap_or_default(),
            files: Vec::new(),
            empty: is_empty_plan(subject),
        }),
    }
}

/// True for a plan without diffs: there is nothing to decide.
fn is_empty_plan(value: &Value) -> bool {
    value.get("diffs").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// True if the script's approval grants it. What gates object to is no part of everything: it has to be named.
pub(crate) fn grants(confirm: &Confirm, label: &str, kind: &str) -> bool {
    confirm.granted.iter().any(|granted| granted == label || granted == kind || granted == "*" && kind != GATES)
}

/// The error for a proposal that is not what the host handed out.
pub(crate) fn altered(tool: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the proposal of `{tool}` was altered"))
        .hint("hand the proposal on as `propose` returned it")
}
