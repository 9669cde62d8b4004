//! Commitments: what has to hold for a run to be done. Made by the policy, scripts and plans, kept in the record, and seen to by
//! others when the run ends. What the run itself says of them changes nothing.

mod command;
pub(crate) mod form;
pub(crate) mod outcome;
mod recheck;
mod stated;
mod verify;

use serde_json::{Value, json};

use super::{
    Context, Position, Sink,
    call::files::unprotected,
    change::{draft::Draft, ledger::Ledger},
    life::history::Past,
    recorder::Recorder,
    terms::Terms,
};
use crate::commitment::{form::well_formed, outcome::Commitment};
use base::{
    call::{Call, Promise},
    error::{Code, Error},
    json,
    path::RepoPath,
};
use gate::Rules;
use record::{
    Note, Pack,
    event::{CommitmentMade, Event, Maker},
};
use service::{
    apply,
    assertion::{self, Assertion, Baseline, Sight},
};
use system::{
    policy::{self, Hidden, Policy},
    workspace::Globs,
};

pub use self::{
    recheck::{VerifiedRun, verify_run},
    stated::{commitments, count_sentence},
};

/// A commitment with what it takes to see whether it holds.
#[derive(Clone, Debug)]
pub(super) struct Pledge {
    told: Commitment,
    assertion: Value,
    timeout_ms: Option<u64>,
    /// The state with which `tree_unchanged` compares the tree.
    baseline: Option<Baseline>,
}

impl Pledge {
    /// Reads a commitment from a record of the kind `commitment_made`.
    fn of(made: &CommitmentMade, pack: &Pack) -> Result<Self, Error> {
        let damaged = |error: serde_json::Error| {
            Error::new(Code::RecordDamaged, format!("the commitment `{}` can't be read: {error}", made.id))
        };
        let baseline = match &made.baseline {
            Some(kept) => serde_json::from_value(pack.value(kept)?).map(Some).map_err(damaged)?,
            None => None,
        };
        let (assertion, timeout_ms) = (pack.value(&made.assertion)?, made.timeout_ms);
        Ok(Pledge { told: Commitment::made(made), assertion, timeout_ms, baseline })
    }

    /// True if seeing to it starts a program.
    fn starts_program(&self) -> bool {
        starts_program(&self.assertion)
    }

    /// How long seeing to it may take.
    fn timeout_ms(&self, policy: &Policy) -> u64 {
        self.timeout_ms.unwrap_or(policy.settings().exec.timeout_ms)
    }
}

/// True if a program is started to see whether an assertion holds.
fn starts_program(assertion: &Value) -> bool {
    matches!(assertion::parse(assertion), Ok(Assertion::Command(_)))
}

/// The commitments of a run, with the parts of it that making one and looking at one take.
pub(super) struct Pledges<'k, 'a> {
    pub(super) run: &'k Terms<'a>,
    pub(super) recorder: &'k mut Recorder<'a>,
    pub(super) ledger: &'k Ledger<'a>,
    pub(super) draft: &'k Draft<'a>,
    pub(super) commitments: &'k mut Vec<Pledge>,
}

impl Pledges<'_, '_> {
    /// Answers `commit.add` with the commitment's id.
    pub(super) fn add_commitment(&mut self, position: &Position, call: &Call) -> Result<Value, Error> {
        let Call::CommitAdd { description, assertion, timeout_ms } = call else {
            return Err(Error::new(Code::Internal, format!("`{}` makes no commitment", call.name())));
        };
        let source = self.maker();
        let wanted = policy::Commitment {
            description: description.clone(),
            assertion: assertion.clone(),
            timeout_ms: *timeout_ms,
        };
        self.commit_to(position.as_str(), source, &wanted).map(Value::from)
    }

    /// Who makes a commitment by a call.
    fn maker(&self) -> Maker {
        if self.run.origin.is_kept_from_secrets() { Maker::Script } else { Maker::Program }
    }

    /// Adds a commitment of an agent; its id.
    pub(super) fn add_promise(&mut self, position: &Position, agent: &str, promise: &Promise) -> Result<String, Error> {
        let Promise { description, assertion, timeout_ms } = promise.clone();
        let wanted = policy::Commitment { description, assertion, timeout_ms };
        let mut pledge = self.pledge(self.maker(), &wanted)?;
        pledge.told.agent = Some(agent.to_owned());
        self.commit_once(position.as_str(), pledge)
    }

    /// The commitments that were made, and what was seen of them.
    pub(super) fn told_commitments(&self) -> Vec<Commitment> {
        self.commitments.iter().map(|pledge| pledge.told.clone()).collect()
    }

    /// The same of a run that begins: nothing is done before it is known that the programs may be started with which it ends.
    pub(crate) fn commit_to_trusted_policy(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.commit_to_policy()?;
        if self.commitments.iter().any(Pledge::starts_program) { self.run.trusted(sink) } else { Ok(()) }
    }

    /// Makes the commitments of the policy in force, as far as they are not made yet.
    pub(super) fn commit_to_policy(&mut self) -> Result<(), Error> {
        for wanted in self.run.policy.settings().commitments.clone() {
            self.commit_to("", Maker::Policy, &wanted)?;
        }
        Ok(())
    }

    /// The commitments of a plan that is about to be applied. One that can't be made refuses the plan, before anything of it is done.
    pub(super) fn pledges_of(&self, request: &apply::Request) -> Result<Vec<Pledge>, Error> {
        let pledge = |(at, wanted): (usize, &policy::Commitment)| {
            self.pledge(Maker::Plan, wanted).map_err(|error| {
                let place = error.details().get("at").and_then(Value::as_str).unwrap_or_default();
                let place = format!("/commitments/{at}{place}");
                error.within(format!("commitment {} of the plan", at + 1)).detail("at", place)
            })
        };
        let pledges = request.commitments().iter().enumerate().map(pledge).collect::<Result<Vec<_>, _>>()?;
        // A plan that is only tried commits to nothing.
        Ok(if request.writes() { pledges } else { Vec::new() })
    }

    /// Makes a commitment; its id.
    fn commit_to(&mut self, position: &str, source: Maker, wanted: &policy::Commitment) -> Result<String, Error> {
        let pledge = self.pledge(source, wanted)?;
        self.commit_once(position, pledge)
    }

    /// A commitment that may be made, with what it will be compared with.
    fn pledge(&self, source: Maker, wanted: &policy::Commitment) -> Result<Pledge, Error> {
        let wanted = policy::Commitment { assertion: json::as_recorded(wanted.assertion.clone()), ..wanted.clone() };
        let assertion = self.admissible(source, &wanted)?;
        let policy::Commitment { description, assertion: value, timeout_ms } = wanted;
        let (id, description) = (String::new(), self.recorder.without_secrets(description));
        let told = Commitment {
            id,
            source,
            description,
            agent: None,
            ok: None,
            reason: None,
            output: None,
            duration_ms: None,
        };
        let mut pledge = Pledge { told, assertion: value, timeout_ms, baseline: None };
        if let Assertion::TreeUnchanged(globs) = &assertion
            && self.made(&pledge).is_none()
        {
            pledge.baseline = Some(self.as_it_started(source, globs)?);
        }
        Ok(pledge)
    }

    /// The same commitment, if it was made already. One of the policy is not met by one that does not look at all files.
    fn made(&self, pledge: &Pledge) -> Option<&Pledge> {
        let is_same = |made: &&Pledge| {
            (made.told.source == Maker::Policy || pledge.told.source != Maker::Policy)
                && made.told.agent == pledge.told.agent
                && made.told.description == pledge.told.description
                && made.assertion == pledge.assertion
                && made.timeout_ms == pledge.timeout_ms
        };
        self.commitments.iter().find(is_same)
    }

    /// Records a commitment; its id. One that was made already is the same one.
    pub(super) fn commit_once(&mut self, position: &str, mut pledge: Pledge) -> Result<String, Error> {
        if let Some(made) = self.made(&pledge) {
            return Ok(made.told.id.clone());
        }
        let id = format!("k{}", self.commitments.len() + 1);
        pledge.told.id.clone_from(&id);
        let baseline =
            pledge.baseline.as_ref().map(|baseline| self.recorder.packed(&json!(baseline), true)).transpose()?;
        let made = CommitmentMade {
            id: id.clone(),
            source: pledge.told.source,
            description: pledge.told.description.clone(),
            agent: pledge.told.agent.clone(),
            assertion: self.recorder.packed(&pledge.assertion, false)?,
            timeout_ms: pledge.timeout_ms,
            baseline,
        };
        self.recorder.note(Note::at(position, Event::CommitmentMade(made.into())))?;
        self.commitments.push(pledge);
        Ok(id)
    }

    /// The assertion of a commitment that may be made: a count must not tell what is in a file that scripts may not read, and a
    /// command must be one that may be run without asking.
    fn admissible(&self, source: Maker, wanted: &policy::Commitment) -> Result<Assertion, Error> {
        let assertion = well_formed(wanted)?;
        match &assertion {
            Assertion::Command(command) => {
                let (policy, rules) = self.judges(source);
                command::permitted(self.run.context, policy, rules, command)?;
            }
            _ if source == Maker::Policy => {}
            Assertion::FileExists(path) => self.run.policy.may_read(path)?,
            Assertion::Count(assertion::Count { globs, .. })
            | Assertion::JsonValid(globs)
            | Assertion::TreeUnchanged(globs) => drop(unprotected(globs.clone())?),
        }
        Ok(assertion)
    }

    /// The policy by which the command of a commitment is judged: a script's header does not bind the policy.
    fn judges(&self, source: Maker) -> (&Policy, &Rules) {
        match source {
            Maker::Policy => (&self.run.context.policy, &self.run.context.rules),
            Maker::Plan | Maker::Program | Maker::Script => (&self.run.policy, &self.run.rules),
        }
    }

    /// The files as they were when the run started: as they are, with what the run has changed taken back.
    fn as_it_started(&self, source: Maker, globs: &Globs) -> Result<Baseline, Error> {
        let hidden = hidden(source, &self.run.policy).as_deref().map(Hidden::new).transpose()?;
        let threads = self.run.context.options.threads;
        // What a dry run proposes is not there.
        let sight = Sight { view: self.run.context.view(), hidden: hidden.as_ref(), threads };
        let mut baseline = assertion::baseline(sight, globs)?;
        let entries = self.ledger.transactions.iter().rev().flat_map(|transaction| transaction.entries.iter().rev());
        let looked_at = |path: &RepoPath| globs.matches(path) && sight.sees(path);
        for entry in entries.filter(|entry| looked_at(&entry.path)) {
            match entry.before {
                Some(before) => drop(baseline.insert(entry.path.clone(), before.into())),
                None => drop(baseline.remove(&entry.path)),
            }
        }
        Ok(baseline)
    }
}

/// Globs of the files that a commitment does not look at; none: it looks at all. Whoever writes a script would learn from its
/// counts what is in files that it may not read.
fn hidden(source: Maker, policy: &Policy) -> Option<Vec<String>> {
    (source != Maker::Policy).then(|| policy.hidden())
}

/// The commitments that a record holds.
pub(super) fn restore(past: &Past) -> Result<Vec<Pledge>, Error> {
    let made = past.records().iter().filter_map(|record| record.event.commitment_made());
    made.map(|made| Pledge::of(made, past.pack())).collect()
}

/// The context's threads, tree and program with which an assertion on the tree is looked at.
fn request(
    context: &Context,
    folder: &record::RunFolder,
    pledge: &Pledge,
    hidden: Option<Vec<String>>,
) -> assertion::check::Request {
    assertion::check::Request {
        root: context.workspace.root().to_owned(),
        run_folder: folder.path().to_owned(),
        assertion: pledge.assertion.clone(),
        hidden,
        baseline: pledge.baseline.clone(),
        overlay: Vec::new(),
        threads: context.options.threads,
    }
}
