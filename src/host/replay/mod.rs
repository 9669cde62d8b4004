//! Replay: a record answers the calls of its script once more, and whatever can be judged again is judged again.
//!
//! Nothing is read but the record, and nothing is written. The first place at which the two part ends it.

mod check;
mod divergence;
mod end;
mod judge;
mod place;
mod steps;
mod stream;
mod tried;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{
    judge::{Bench, Law},
    place::Place,
    steps::Steps,
};
use super::{
    Asked, Context, Position, Started, Told,
    budget::Budget,
    perform,
    reply::{self, Recorded},
};
use crate::replay::place::{Stop, parted};
use base::{
    call::Call,
    error::{Code, Error, Location},
};
use gate::{Decision, Rules};
use record::{
    Pack, Report, RunFolder, Seal,
    event::{RunResumed, Shown},
};
use system::policy::{self, Ceiling, Policy};

pub use self::divergence::{Difference, Divergence, Judges, Parting, RuleAt};

/// The policy and the header that a replay tries in place of the recorded ones.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Another policy: the name of its file, and its text.
    pub policy: Option<(String, String)>,
    /// The header of another script.
    pub header: Option<Ceiling>,
}

/// How far a replay came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// To the end of the run.
    End,
    /// To where the run is: it waits, goes on, or was stopped from outside.
    Open,
    /// To a call whose contents were left out of the record.
    LeftOut,
    /// To where the two part.
    Divergence,
    /// Nowhere: the record is not what was written.
    Damage,
}

/// The result of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// The run.
    pub run: String,
    /// True if the replay does what the record says, as far as it goes.
    pub agrees: bool,
    /// How many positions agree.
    pub positions: u64,
    /// How far it came.
    pub reach: Reach,
    /// How many decisions could not be made again: the record lacks what they were about, or the policy.
    pub not_judged: u64,
    /// The version of nrv that wrote the record.
    pub version: String,
    /// Where the two part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<Divergence>,
    /// The decisions that are other ones under the policy that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<Difference>>,
    /// The report of the verification of the record.
    pub record: Report,
    /// The sources that were executed, for whoever shows where.
    #[serde(skip)]
    pub sources: BTreeMap<String, String>,
    /// The rules on secrets under which the record was written, for whoever shows what is in it.
    #[serde(skip)]
    pub rules: Arc<Rules>,
}

impl Replayed {
    /// True if the record is what was written; of a run that has not ended, as far as it goes.
    pub fn is_sound(&self) -> bool {
        let open = self.reach == Reach::Open && self.record.seal == Seal::Unsealed;
        self.record.findings.is_empty() && (self.record.seal == Seal::Sealed || open)
    }

    /// The exit code of a command that ends with this replay.
    pub fn exit_code(&self) -> u8 {
        let differences = || self.differences.iter().flatten();
        match () {
            () if self.divergence.is_some() => Code::Diverged.exit_code(),
            () if !self.is_sound() => Code::RecordDamaged.exit_code(),
            () if self.reach == Reach::LeftOut => Code::NotFound.exit_code(),
            () if differences().any(Difference::blocks) => Code::Blocked.exit_code(),
            () if differences().any(Difference::asks) => Code::Suspended.exit_code(),
            () => 0,
        }
    }
}

/// A record that is ready to be replayed, or why it can't be.
pub enum Opened<'a> {
    /// It can.
    Ready(Box<Replay<'a>>),
    /// It is not what was written.
    Damaged(Box<Replayed>),
}

/// A run that is done again from its record.
pub struct Replay<'a> {
    context: &'a Context,
    folder: RunFolder,
    pack: Pack,
    /// True if contents were left out of the record when it was exported.
    left_out: bool,
    started: Started,
    steps: Steps,
    bench: Bench<'a>,
    /// The policy in force when the run started.
    law: Law,
    /// Those of each time that it was resumed; none if the record does not tell what it was.
    later: Vec<Option<Law>>,
    /// The policy that is tried.
    tried: Option<Law>,
    tried_budget: Option<Budget>,
    /// True if another script is tried.
    against: bool,
    budget: Budget,
    /// How often the run had been resumed before the last call.
    session: usize,
    tools: BTreeSet<String>,
    metrics: BTreeMap<String, Value>,
    /// How many attempts were kept, and how many undone.
    attempts: (u64, u64),
    positions: u64,
    not_judged: u64,
    differences: Vec<Difference>,
    /// The streams that were begun, by number.
    streams: BTreeMap<u64, (Position, Told)>,
    stop: Option<Stop>,
    report: Report,
}

impl<'a> Replay<'a> {
    /// Opens the record of a run and verifies it.
    ///
    /// `not_found` if there is none, `record_damaged` if what was asked can't be told from it, `invalid_policy` if the
    /// policy that is to be tried is none.
    pub fn open(context: &'a Context, run: &str, trial: Trial) -> Result<Opened<'a>, Error> {
        let folder = context.runs.open(run)?;
        let report = record::verify(&context.runs, &folder, context.options.threads, &context.options.cancel)?;
        if !report.findings.is_empty() {
            return Ok(Opened::Damaged(Box::new(damaged(&folder, report))));
        }
        let started = Started::load(&folder)?;
        let steps = Steps::of(folder.readable_records()?);
        let pack = folder.pack()?;
        let against = trial.header.is_some();
        let under = |policy: &Policy| match &trial.header {
            Some(header) => under_header(policy, header),
            None => Ok(policy.clone()),
        };
        let started_under = started.policy()?;
        // What the earlier release decided is decided again by the names that it protected.
        let recorded = started_under.clone().as_then();
        let law = Law::of(under(&recorded)?)?;
        let later = steps.resumed.iter().map(|resumed| {
            let is_then = resumed.rules == 0;
            let first = under(if is_then { &recorded } else { &started_under })?;
            let current = match current(resumed, &recorded, &pack)? {
                Now::Same => return Law::of(first).map(Some),
                Now::Unknown => return Ok(None),
                Now::Policy(current) => under(&if is_then { current.as_then() } else { *current })?,
            };
            Law::of(Policy::strictest(&first, &current)?).map(Some)
        });
        let later = later.collect::<Result<Vec<_>, Error>>()?;
        let tried = match trial.policy {
            Some((file, text)) => Some(Law::of(with_text(&law.policy, file, text)?)?),
            None => None,
        };
        let bench = Bench::new(context, &steps, &pack, &law.policy);
        Ok(Opened::Ready(Box::new(Replay {
            left_out: folder.lacks_contents()?,
            budget: Budget::new(limits(&law)),
            session: 0,
            tried_budget: tried.as_ref().map(|law| Budget::new(limits(law))),
            tools: BTreeSet::new(),
            metrics: BTreeMap::new(),
            attempts: (0, 0),
            differences: Vec::new(),
            positions: 0,
            not_judged: 0,
            streams: BTreeMap::new(),
            stop: None,
            context,
            folder,
            pack,
            started,
            steps,
            bench,
            law,
            later,
            tried,
            against,
            report,
        })))
    }

    /// Returns the data with which the run was started.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// The policy in force when the run started; with another script's header, if that is tried.
    pub fn policy(&self) -> &Policy {
        &self.law.policy
    }

    /// Answers a call from the record, or says that the two part. After an error of the code `diverged` there is no answer.
    pub fn perform(&mut self, position: &Position, at: Option<&Location>, call: &Call) -> Result<Value, Error> {
        let over = || Error::new(Code::Diverged, "the replay has come to its end");
        if self.stop.is_some() {
            return Err(over());
        }
        match self.answer(Place { position, at, call }) {
            Ok(answer) => {
                self.positions += 1;
                self.bench.agents.note(call, &answer);
                answer
            }
            Err(mut stop) => {
                if let Stop::Diverged(divergence) = &mut stop {
                    divergence.position = Some(position.to_string());
                    divergence.script = at.cloned();
                }
                self.stop = Some(stop);
                Err(over())
            }
        }
    }

    /// Makes every call of the record again: of a run without a script. The outcome of the last one.
    pub fn perform_recorded(&mut self) -> Option<Result<Value, Error>> {
        let mut outcome = None;
        while let Some(step) = self.steps.next() {
            let position = Position::from(step.position.clone());
            let recorded = step.made.last().map(|made| Recorded::of(&made.call))?;
            match reply::call_of(&recorded, &self.pack) {
                Ok(call) => outcome = Some(self.perform(&position, None, &call)),
                Err(error) => self.stop = Some(self.missing(error)),
            }
            if self.stop.is_some() {
                return None;
            }
        }
        outcome
    }

    fn answer(&mut self, place: Place<'_>) -> Result<Result<Value, Error>, Stop> {
        let Some(made) = self.steps.visit(place.position.as_str()) else {
            return Err(self.beyond(place.call));
        };
        let form = reply::recorded_form(place.call, self.law.rules.secrets())?;
        for mut one in made {
            self.check_call(&one, place.call, &form)?;
            if one.session != self.session {
                self.session = one.session;
                self.budget = self.budget.under(limits(self.law_of(one.session).unwrap_or(&self.law)));
            }
            let changes = self.check_decisions(place, &one)?;
            if !one.answered {
                continue;
            }
            self.try_confirmations(place, &one);
            self.check_budget(place, &one, &changes)?;
            let answer = reply::answer_of(&one.call, &self.pack).map_err(|error| self.missing(error))?;
            self.tools.extend(one.tool.take());
            let blocked = one.call.decision == Decision::Block;
            self.tools.extend(perform::used(place.call).filter(|_| !blocked).map(str::to_owned));
            return match answer {
                Ok(reply) => self.check_reply(place, &one, reply).map(Ok),
                Err(error) => Ok(Err(error)),
            };
        }
        Err(Stop::Open)
    }

    /// The policy in force after the run was resumed that often; none if the record does not tell it.
    fn law_of(&self, session: usize) -> Option<&Law> {
        session.checked_sub(1).map_or(Some(&self.law), |at| self.later.get(at)?.as_ref())
    }

    /// Returns the stop for a call that the record lacks: `Stop::Open` if the run was cut short, else a divergence.
    fn beyond(&self, call: &Call) -> Stop {
        if self.is_cut_short() {
            return Stop::Open;
        }
        let actual = serde_json::to_value(call).unwrap_or_default();
        let reason = format!("the script asks for `{}`, and the record ends here", call.name());
        parted(Parting::Longer, reason, Value::Null, actual)
    }

    /// True if it was not the script that ended the run: it goes on, died, or was stopped from outside.
    fn is_cut_short(&self) -> bool {
        let Some(end) = &self.steps.end else { return true };
        let Some(error) = &end.error else { return false };
        let limits = ["limit", "budget"].into_iter().filter_map(|key| error.details().get(key)?.as_str());
        let by_time = limits.into_iter().any(|limit| matches!(limit, "script.limits.cpu_s" | "wall_s"));
        let is_script = matches!(self.started.asked, Asked::Script { .. });
        // What the script does wrong has a place in it.
        let elsewhere = is_script && error.location().is_none();
        let codes = [Code::Cancelled, Code::ScriptCrashed, Code::Uncertain, Code::RecordUnwritable];
        by_time || elsewhere || codes.contains(&error.code())
    }

    /// A value that the record lacks was left out, or the record is damaged.
    fn missing(&self, error: Error) -> Stop {
        if self.left_out && error.code() == Code::RecordDamaged { Stop::LeftOut } else { Stop::Failed(error) }
    }
}

fn damaged(folder: &RunFolder, report: Report) -> Replayed {
    Replayed {
        run: folder.id().to_owned(),
        agrees: false,
        positions: 0,
        reach: Reach::Damage,
        not_judged: 0,
        version: String::new(),
        divergence: None,
        differences: None,
        record: report,
        sources: BTreeMap::new(),
        rules: Arc::default(),
    }
}

/// The policy of the workspace when a run was resumed.
enum Now {
    /// It had not changed.
    Same,
    /// The record does not tell.
    Unknown,
    /// This one: with the one of the start it makes the one in force.
    Policy(Box<Policy>),
}

fn current(resumed: &RunResumed, started: &Policy, pack: &Pack) -> Result<Now, Error> {
    if !resumed.policy_changed {
        return Ok(Now::Same);
    }
    let source = resumed.policy_source.as_ref().and_then(|source| pack.value(source).ok());
    let Some(source) = source else { return Ok(Now::Unknown) };
    let wrong =
        |error| Error::new(Code::RecordDamaged, format!("the policy of a session that went on can't be read: {error}"));
    let source = policy::Recorded::deserialize(source).map_err(wrong)?;
    // The release that went on with the run need not be the one that started it.
    for policy in [Policy::restore(&source)?, Policy::restore_earlier(&source)?] {
        let in_force = Policy::strictest(started, &policy)?.sha256();
        if resumed.policy_sha256.as_ref().and_then(Shown::exact) == Some(&in_force) {
            return Ok(Now::Policy(Box::new(policy)));
        }
    }
    Ok(Now::Unknown)
}

/// A policy with the header of another script in place of the one that tightened it.
fn under_header(policy: &Policy, header: &Ceiling) -> Result<Policy, Error> {
    policy.restore_like(&policy::Recorded { headers: vec![header.clone()], ..policy.recorded() })
}

/// Another policy, under the headers that tightened this one.
fn with_text(policy: &Policy, file: String, text: String) -> Result<Policy, Error> {
    Policy::restore(&policy::Recorded { file, text, ..policy.recorded() })
}

/// The limits of a policy. What time decides is not decided again.
fn limits(law: &Law) -> policy::Budget {
    policy::Budget { wall_s: u64::MAX, ..law.policy.settings().budget.clone() }
}
