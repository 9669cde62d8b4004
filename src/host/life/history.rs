//! The record of a run that goes on: the answered calls with their replies, and the progress of a call without an answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    Position,
    budget::{Demand, Spent},
    change::transaction::Transacted,
    life::attempts::{Aside, AttemptState, Taken},
    position,
    reply::{self, Recorded, answer_of},
};
use base::{
    call::Call,
    error::{Code, Error},
    hash::Sha256,
    json,
};
use record::{
    Pack, Record, RunFolder,
    event::{self, DtaProposed, Event, LlmSent, Reserved, Stored},
    named,
};

/// The former sessions of a run.
#[derive(Debug)]
pub(crate) struct Past {
    records: Vec<Record>,
    pack: Pack,
    /// The records of the calls that were answered, by position.
    answered: BTreeMap<String, usize>,
    /// All records of each position.
    events: BTreeMap<String, Vec<usize>>,
    /// The transactions that the run took back itself, and the changes that are set aside.
    taken: Taken,
    /// How many answered calls have not been made again yet.
    ahead: usize,
    /// The reply that a person states for a call of which nobody knows whether it took effect.
    pub(crate) reply: Option<Value>,
}

impl Past {
    pub(crate) fn of(folder: &RunFolder, records: Vec<Record>) -> Result<Self, Error> {
        records.iter().try_for_each(Record::check)?;
        let mut past = Past {
            pack: folder.pack()?,
            answered: answered(&records),
            events: BTreeMap::new(),
            taken: Taken::of(&records),
            ahead: 0,
            reply: None,
            records,
        };
        past.ahead = past.answered.len();
        for (at, record) in past.records.iter().enumerate() {
            past.events.entry(record.position.clone()).or_default().push(at);
        }
        Ok(past)
    }

    /// Returns the recorded reply or error of a call; none if the call was not answered yet.
    ///
    /// A different call at its position is `diverged`.
    pub(crate) fn answer(
        &mut self,
        position: &Position,
        call: &Recorded,
    ) -> Result<Option<Result<Value, Error>>, Error> {
        let Some(at) = self.answered.get(position.as_str()) else { return Ok(None) };
        let Some(recorded) = self.records[*at].event.call() else { return Ok(None) };
        check_same(&Recorded::of(recorded), position, call)?;
        let answer = answer_of(recorded, &self.pack)?;
        self.ahead = self.ahead.saturating_sub(1);
        Ok(Some(answer))
    }

    /// Checks that the pack still holds what going on needs of it. No chain vouches for it as long as a run is not over, and
    /// what is missing must be known before anything is done.
    pub(crate) fn check_pack(&self) -> Result<(), Error> {
        for record in &self.records {
            let kept: Vec<&Stored> = match &record.event {
                Event::Call(call) => {
                    self.call_of(call)?;
                    call.reply.iter().chain(&call.error_exact).collect()
                }
                Event::Prepared(prepared) => vec![&prepared.reply],
                Event::ConfirmationGranted(granted) => granted.reply.iter().collect(),
                Event::CommitmentMade(made) => [&made.assertion].into_iter().chain(&made.baseline).collect(),
                Event::Judged(judged) => vec![&judged.files],
                Event::DtaProposed(proposed) => vec![&proposed.files],
                _ => Vec::new(),
            };
            for kept in kept {
                self.pack.value(kept)?;
            }
            // A patch that shows a secret is kept there as it is.
            let exact = record.event.dta_proposed().and_then(|proposed| proposed.patch_sha256.exact());
            if let (Some(exact), Some(shown)) = (exact, record.files.get(2))
                && *exact != shown.sha256
            {
                self.pack.get(exact)?;
            }
        }
        Ok(())
    }

    /// True as long as calls are to come that were answered before.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// The intent of a call that was being answered when the run died; none if there is none at that position.
    pub(crate) fn in_flight(&self, position: &Position) -> Option<(u64, Recorded)> {
        let (intent, recorded) = self.last(position.as_str(), Event::intent)?;
        // That nobody knows what became of it is no answer.
        let ended = |(record, call): &(&Record, &event::Call)| {
            let is_uncertain = call.error.as_ref().is_some_and(|error| error.code() == Code::Uncertain);
            !is_uncertain && record.seq > intent.seq
        };
        let answer = self.all(position.as_str(), Event::call).find(ended);
        answer.is_none().then(|| (intent.seq, Recorded::of_intent(recorded)))
    }

    /// True if anything is recorded at a position.
    pub(crate) fn knows(&self, position: &Position) -> bool {
        self.events.contains_key(position.as_str())
    }

    /// The last event of a kind at a position, with its record.
    pub(crate) fn last<'p, T>(
        &'p self,
        position: &str,
        of_kind: impl Fn(&'p Event) -> Option<&'p T>,
    ) -> Option<(&'p Record, &'p T)> {
        let events = self.events.get(position)?;
        events.iter().rev().map(|at| &self.records[*at]).find_map(|record| Some((record, of_kind(&record.event)?)))
    }

    /// All events of a kind at a position, in their order, with their records.
    pub(crate) fn all<'p, T: 'p>(
        &'p self,
        position: &str,
        of_kind: impl Fn(&'p Event) -> Option<&'p T>,
    ) -> impl Iterator<Item = (&'p Record, &'p T)> {
        let events = self.events.get(position).into_iter().flatten();
        events.map(|at| &self.records[*at]).filter_map(move |record| Some((record, of_kind(&record.event)?)))
    }

    /// The call that was made at a position, whether or not it was answered, if its arguments are recorded.
    pub(crate) fn made_at(&self, position: &str) -> Option<Result<Call, Error>> {
        let call = self.last(position, Event::call).map(|(_, call)| Recorded::of(call));
        let recorded =
            call.or_else(|| self.last(position, Event::intent).map(|(_, intent)| Recorded::of_intent(intent)))?;
        Some(reply::call_of(&recorded, &self.pack))
    }

    /// The last change that was committed at a position, if it stands.
    pub(crate) fn standing_at(&self, position: &Position) -> Option<Transacted> {
        let committed = self.last(position.as_str(), Event::committed);
        committed.map(|(_, committed)| committed).filter(|committed| self.stands(committed)).map(Transacted::from)
    }

    /// Every change of the run that stands, in their order.
    pub(crate) fn standing(&self) -> Vec<Transacted> {
        let committed = self.records.iter().filter_map(|record| record.event.committed());
        committed.filter(|committed| self.stands(committed)).map(Transacted::from).collect()
    }

    fn stands(&self, committed: &event::Transaction) -> bool {
        !self.taken.is_back(&committed.transaction)
    }

    /// The attempts that were begun and not ended, outermost first, each with how many of the standing changes came before it.
    pub(crate) fn open_attempts(&self) -> Vec<(String, usize)> {
        let standing = |begun: &Record| {
            let before = self.records.iter().filter(|record| record.seq < begun.seq);
            before.filter_map(|record| record.event.committed()).filter(|committed| self.stands(committed)).count()
        };
        let open = AttemptState::of(self.calls()).open;
        open.into_iter().map(|begun| (begun.position.clone(), standing(begun))).collect()
    }

    /// How many attempts were kept, and how many undone.
    pub(crate) fn ended_attempts(&self) -> (u64, u64) {
        let AttemptState { kept, undone, .. } = AttemptState::of(self.calls());
        (kept, undone)
    }

    /// Returns the changes that were set aside when the run stopped; none if there are none, or if they were put back.
    pub(crate) fn aside(&self) -> Option<&Aside> {
        self.taken.aside.as_ref()
    }

    /// How many files were brought back when an attempt ended, if the run died before it could say so.
    pub(crate) fn brought_back(&self, attempt: &str) -> usize {
        self.taken.files.get(attempt).copied().unwrap_or_default()
    }

    /// Marks the changes that were set aside as standing again.
    pub(crate) fn put_back(&mut self) {
        self.taken.put_back();
    }

    /// True if the run had failed, or was rejected, and its changes were being taken back when it died.
    pub(crate) fn was_ending(&self) -> bool {
        let resumed = self.records.iter().rev().find_map(|record| record.event.run_resumed());
        let taken_back = self.calls().any(|record| {
            let is_answered = record.event.call().is_some_and(|call| call.reply.is_some());
            let committed = self.last(&record.position, Event::committed);
            is_answered && committed.is_some_and(|(_, committed)| self.taken.is_gone(&committed.transaction))
        });
        taken_back || resumed.is_some_and(|resumed| resumed.rejected.is_some())
    }

    /// The record that an adapter's proposal of that id was made, by a call that was answered.
    pub(crate) fn proposed(&self, id: &str) -> Option<(&Record, &DtaProposed)> {
        let proposed = self.records.iter().rev().filter_map(|record| Some((record, record.event.dta_proposed()?)));
        let mut of_id = proposed.filter(|(_, proposed)| proposed.proposal == id);
        of_id.find(|(record, _)| self.answered.contains_key(&record.position))
    }

    /// The records of the calls that were answered, in their order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().enumerate().filter(|(at, record)| self.is_answer(*at, record)).map(|(_, record)| record)
    }

    pub(crate) fn is_answer(&self, at: usize, record: &Record) -> bool {
        self.answered.get(&record.position) == Some(&at)
    }

    /// True if the call at a position was answered.
    pub(crate) fn is_answered(&self, position: &str) -> bool {
        self.answered.contains_key(position)
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The reply that a call is taken to have given, as was decided with this confirmation before the run stopped again.
    pub(crate) fn granted_reply(&self, id: &str) -> Result<Option<Value>, Error> {
        let mut granted = self.records.iter().rev().filter_map(|record| record.event.confirmation_granted());
        let reply = granted.find(|granted| granted.id == id).and_then(|granted| granted.reply.as_ref());
        reply.map(|reply| self.pack.value(reply)).transpose()
    }

    pub(crate) fn pack(&self) -> &Pack {
        &self.pack
    }

    /// The call that a record of the kind `call` or `intent` is about, as it was made.
    pub(crate) fn call_of(&self, call: &event::Call) -> Result<Call, Error> {
        reply::call_of(&Recorded::of(call), &self.pack)
    }

    /// Which session comes now: 2 if the run goes on for the first time.
    pub(crate) fn session(&self) -> usize {
        self.records.iter().filter(|record| record.event.run_resumed().is_some()).count() + 2
    }

    /// Returns the budget use of the answered calls, and the time that the run took in milliseconds.
    pub(crate) fn spent(&self) -> (Spent, u64) {
        let mut spent = Spent::default();
        let (mut elapsed, mut in_session) = (0, 0);
        for (at, record) in self.records.iter().enumerate() {
            match &record.event {
                // What reached the tree counts, even if it was undone; what a call took that was not answered is counted when it is.
                Event::Committed(committed) if self.is_answered(&record.position) => {
                    spent.files.extend(committed.entries.iter().map(|entry| entry.path.clone()));
                }
                Event::RunSuspended(end) => in_session = end.volatile.duration_ms.unwrap_or_default(),
                Event::RunResumed(_) => elapsed += std::mem::take(&mut in_session),
                Event::Call(call) => {
                    in_session += call.volatile.duration_ms.unwrap_or_default();
                    if self.is_answer(at, record) {
                        let cost = call.whole_cost();
                        spent.calls += 1;
                        spent.diff_lines += cost.diff_lines;
                        spent.bytes += cost.bytes;
                        spent.demand = spent.demand.and(Demand::of(&cost));
                    }
                }
                _ => {}
            }
        }
        (spent, elapsed + in_session)
    }

    /// Returns the tokens and the cost of the earlier sendings of a model request that is made again.
    ///
    /// If the run waited for the answer, the recorded cost counts. If the answer was lost, the reserved maximum counts. Recorded
    /// replies cost nothing.
    pub(crate) fn lost(&self, position: &Position) -> Demand {
        let resumed = |one: &&Record| one.event.run_resumed().is_some();
        let session = |seq: u64| self.records.iter().filter(resumed).filter(|one| one.seq < seq).count();
        let (mut lost, mut under_way) = (Demand::default(), None::<(u64, &LlmSent)>);
        let events = self.events.get(position.as_str()).into_iter().flatten().map(|at| &self.records[*at]);
        for record in events {
            match &record.event {
                Event::LlmSent(sent) => {
                    lost = lost.and(under_way.map(|(_, sent)| reserved(sent)).unwrap_or_default());
                    under_way = Some((record.seq, sent));
                }
                // What it says that it took has in it what was lost before.
                Event::Call(call) if under_way.is_some_and(|(seq, _)| session(seq) == session(record.seq)) => {
                    let event::Cost { tokens, cost, .. } = call.cost.unwrap_or_default();
                    lost = Demand { tokens, cost, ..Demand::default() };
                    under_way = None;
                }
                _ => {}
            }
        }
        lost.and(under_way.map(|(_, sent)| reserved(sent)).unwrap_or_default())
    }

    /// The greatest number that a transaction of the run has had.
    pub(crate) fn transactions(&self, folder: &RunFolder) -> Result<u64, Error> {
        let number = |name: &str| name.strip_prefix('t').and_then(|digits| digits.parse::<u64>().ok());
        let recorded = self.records.iter().filter_map(|record| number(record.event.transaction()?));
        let files = folder.files()?;
        let packed = files.iter().filter_map(|name| number(name.strip_prefix("packs/")?.split('/').next()?));
        Ok(recorded.chain(packed).max().unwrap_or_default())
    }
}

/// Checks that a call is the one that a record is about.
pub(crate) fn check_same(recorded: &Recorded, position: &Position, call: &Recorded) -> Result<(), Error> {
    // An intent may name the call alone.
    let same_args = recorded.args.form().is_null() || is_same(recorded.args.form(), call.args.form());
    if recorded.name == call.name && same_args {
        return Ok(());
    }
    let what = match recorded.name == call.name {
        true => format!("`{}` gets other arguments", call.name),
        false => format!("it makes `{}`, not `{}`", call.name, recorded.name),
    };
    Err(Error::new(Code::Diverged, format!("the run does not do at position {position} what its record says: {what}"))
        .detail("position", position.as_str())
        .detail("expected", json!({"call": recorded.name, "args": recorded.args}))
        .detail("found", json!({"call": call.name, "args": call.args}))
        .hint("a version of nrv that behaves otherwise may have written the record; start the run again"))
}

/// True if two recorded values stand for the same, however each is kept.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    let hash = |value: &Value| {
        named(value).or_else(|| json::canonical_value(value).ok().map(|text| Sha256::of(text.as_bytes())))
    };
    one == other || hash(one).is_some_and(|one| hash(other) == Some(one))
}

/// The last record of each call, without those on which a session ended that waits. Each branch of a graph may wait for one.
fn answered(records: &[Record]) -> BTreeMap<String, usize> {
    let mut answered = BTreeMap::new();
    let mut last: BTreeMap<&str, (&str, &event::Call)> = BTreeMap::new();
    let end = |answered: &mut BTreeMap<String, usize>, last: BTreeMap<&str, (&str, &event::Call)>, suspended: bool| {
        for (position, call) in last.into_values() {
            if is_for_later(call, suspended) && !(is_stream(call) && was_seen(records, position)) {
                answered.remove(position);
            }
        }
    };
    for (at, record) in records.iter().enumerate() {
        match &record.event {
            Event::Call(call) => {
                answered.insert(record.position.clone(), at);
                if may_be_last(call) {
                    last.insert(position::branch(&record.position), (record.position.as_str(), call));
                }
            }
            Event::RunSuspended(_) => end(&mut answered, std::mem::take(&mut last), true),
            Event::RunResumed(_) => end(&mut answered, std::mem::take(&mut last), false),
            _ => {}
        }
    }
    end(&mut answered, last, false);
    answered
}

/// True for the record of a call that a run stops for, to go on later. After what passes a script may have gone on, unless that
/// was the end of it.
pub(crate) fn is_for_later(call: &event::Call, suspended: bool) -> bool {
    let code = call.error.as_ref().map(Error::code).or(call.ended);
    code.is_some_and(|code| code.waits() && (suspended || code.is_final()))
}

/// True for the record of a call after which the run may have stopped. A stream is recorded when it is closed, which may be after
/// the call that the run waits for.
pub(crate) fn may_be_last(call: &event::Call) -> bool {
    !is_stream(call) || call.ended.is_some() || call.error.is_some()
}

/// True for the record of a call whose reply came piece by piece.
fn is_stream(call: &event::Call) -> bool {
    call.call == "llm.stream"
}

/// True if other calls were made after the beginning of a stream was seen: it can't be begun anew.
fn was_seen(records: &[Record], position: &str) -> bool {
    records.iter().any(|record| record.event.llm_seen().is_some() && record.position == position)
}

/// The most that a request may have taken.
fn reserved(sent: &LlmSent) -> Demand {
    let Reserved { tokens, cost } = sent.reserved;
    if sent.is_recorded() { Demand::default() } else { Demand { tokens, cost, ..Demand::default() } }
}

/// The error of a run that came to its end before it had made the calls that its record holds.
pub(crate) fn ended_early() -> Error {
    Error::new(Code::Diverged, "the run came to its end before it had made all the calls that its record holds")
        .hint("a version of nrv that behaves otherwise may have written the record; start the run again")
}
