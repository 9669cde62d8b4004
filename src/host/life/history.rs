//! What a record says of a run that goes on: which calls were answered and with what, and how far one came that was not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    base::{
        call::Call,
        change::Entry,
        error::{Code, Error},
        hash::Sha256,
        json,
    },
    host::{
        Position,
        budget::{Demand, Spent},
        call::attempt::{Aside, AttemptState, Taken},
        change::commit::Transacted,
        reply::{self, Recorded, answer_of},
    },
    record::{Pack, Record, RunFolder, named},
};

/// Codes of errors after which a run waits: the call that failed with one was not answered.
pub(in crate::host) const WAITING: &[Code] =
    &[Code::Suspended, Code::Uncertain, Code::LockTimeout, Code::ModelUnavailable];

/// Those of them that a script may catch, and go on.
const TEMPORARY: &[Code] = &[Code::LockTimeout, Code::ModelUnavailable];

/// The former sessions of a run.
#[derive(Debug)]
pub(in crate::host) struct Past {
    records: Vec<Record>,
    pack: Pack,
    /// The records of the calls that were answered, by position.
    answered: BTreeMap<String, usize>,
    /// All records of each position.
    events: BTreeMap<String, Vec<usize>>,
    /// What became of transactions that the run took back itself.
    taken: Taken,
    /// How many answered calls have not been made again yet.
    ahead: usize,
    /// What a person says that the call which nobody knows about replied.
    pub(in crate::host) reply: Option<Value>,
}

impl Past {
    pub(in crate::host) fn of(folder: &RunFolder, records: Vec<Record>) -> Result<Self, Error> {
        let mut past = Past {
            pack: folder.pack()?,
            answered: answered(&records),
            events: BTreeMap::new(),
            taken: Taken::of(&records)?,
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

    /// What was replied to a call before; none if it was not answered yet. Another call at its position is `diverged`.
    pub(in crate::host) fn answer(
        &mut self,
        position: &Position,
        call: &Recorded,
    ) -> Result<Option<Result<Value, Error>>, Error> {
        let Some(at) = self.answered.get(position.as_str()) else { return Ok(None) };
        let record = &self.records[*at];
        check_same(record, position, call)?;
        let answer = answer_of(record, &self.pack)?;
        self.ahead = self.ahead.saturating_sub(1);
        Ok(Some(answer))
    }

    /// Checks that the pack still holds what going on needs of it. No chain vouches for it as long as a run is not over, and
    /// what is missing must be known before anything is done.
    pub(in crate::host) fn check_pack(&self) -> Result<(), Error> {
        for record in &self.records {
            let kept: &[&str] = match record.kind.as_str() {
                "call" if record.data.get("args").is_some() => {
                    self.call_of(record)?;
                    &["reply", "error_exact"]
                }
                "prepared" | "confirmation_granted" => &["reply"],
                "commitment_made" => &["assertion", "baseline"],
                "judged" | "dta_proposed" => &["files"],
                _ => &[],
            };
            for key in kept {
                self.pack.value(&record.data[*key])?;
            }
            // A patch that shows a secret is kept there as it is.
            let exact = record.data["patch_sha256"].as_str().filter(|_| record.kind == "dta_proposed");
            let exact: Option<Sha256> = exact.and_then(|hash| hash.parse().ok());
            if let (Some(exact), Some(shown)) = (exact, record.files.get(2))
                && exact != shown.sha256
            {
                self.pack.get(&exact)?;
            }
        }
        Ok(())
    }

    /// True as long as calls are to come that were answered before.
    pub(in crate::host) fn is_ahead(&self) -> bool {
        self.ahead > 0
    }

    /// The intent of a call that was being answered when the run died; none if there is none at that position.
    pub(in crate::host) fn in_flight(&self, position: &Position) -> Option<&Record> {
        let intent = self.last(position.as_str(), "intent")?;
        // That nobody knows what became of it is no answer.
        let ended = |record: &&Record| {
            record.kind == "call" && record.data["error"]["code"] != Code::Uncertain.as_str() && record.seq > intent.seq
        };
        let mut events = self.events.get(position.as_str())?.iter().map(|at| &self.records[*at]);
        events.find(ended).is_none().then_some(intent)
    }

    /// True if anything is recorded at a position.
    pub(in crate::host) fn knows(&self, position: &Position) -> bool {
        self.events.contains_key(position.as_str())
    }

    /// The last record of a kind at a position.
    pub(in crate::host) fn last(&self, position: &str, kind: &str) -> Option<&Record> {
        let events = self.events.get(position)?;
        events.iter().rev().map(|at| &self.records[*at]).find(|record| record.kind == kind)
    }

    /// All records of a kind at a position, in their order.
    pub(in crate::host) fn all<'p>(&'p self, position: &str, kind: &'p str) -> impl Iterator<Item = &'p Record> {
        let events = self.events.get(position).into_iter().flatten();
        events.map(|at| &self.records[*at]).filter(move |record| record.kind == kind)
    }

    /// The last change that was committed at a position, if it stands.
    pub(in crate::host) fn standing_at(&self, position: &Position) -> Result<Option<Transacted>, Error> {
        let committed = self.last(position.as_str(), "committed").filter(|record| self.stands(record));
        committed.map(committed_of).transpose()
    }

    /// Every change of the run that stands, in their order.
    pub(in crate::host) fn standing(&self) -> Result<Vec<Transacted>, Error> {
        let committed = self.records.iter().filter(|record| record.kind == "committed" && self.stands(record));
        committed.map(committed_of).collect()
    }

    fn stands(&self, committed: &Record) -> bool {
        committed.data["transaction"].as_str().is_some_and(|name| !self.taken.is_back(name))
    }

    /// The attempts that were begun and not ended, outermost first, each with how many of the standing changes came before it.
    pub(in crate::host) fn open_attempts(&self) -> Vec<(String, usize)> {
        let standing = |begun: &Record| {
            let before = |record: &&Record| record.kind == "committed" && record.seq < begun.seq && self.stands(record);
            self.records.iter().filter(before).count()
        };
        let open = AttemptState::of(self.calls()).open;
        open.into_iter().map(|begun| (begun.position.clone(), standing(begun))).collect()
    }

    /// How many attempts were kept, and how many undone.
    pub(in crate::host) fn ended_attempts(&self) -> (u64, u64) {
        let AttemptState { kept, undone, .. } = AttemptState::of(self.calls());
        (kept, undone)
    }

    /// What was set aside when the run stopped; none if nothing was, or if it was put back.
    pub(in crate::host) fn aside(&self) -> Option<&Aside> {
        self.taken.aside.as_ref()
    }

    /// How many files were brought back when an attempt ended, if the run died before it could say so.
    pub(in crate::host) fn brought_back(&self, attempt: &str) -> usize {
        self.taken.files.get(attempt).copied().unwrap_or_default()
    }

    /// What was set aside stands again.
    pub(in crate::host) fn put_back(&mut self) {
        self.taken.put_back();
    }

    /// True if the run had failed, or was rejected, and its changes were being taken back when it died.
    pub(in crate::host) fn was_ending(&self) -> bool {
        let resumed = self.records.iter().rfind(|record| record.kind == "run_resumed");
        let taken_back = self.answered.values().map(|at| &self.records[*at]).any(|call| {
            let committed = self.last(&call.position, "committed");
            let is_gone = |committed: &Record| {
                committed.data["transaction"].as_str().is_some_and(|name| self.taken.is_gone(name))
            };
            call.data.get("reply").is_some() && committed.is_some_and(is_gone)
        });
        taken_back || resumed.is_some_and(|record| record.data.get("rejected").is_some())
    }

    /// The record that an adapter's proposal of that id was made, by a call that was answered.
    pub(in crate::host) fn proposed(&self, id: &str) -> Option<&Record> {
        let is_it = |record: &&Record| {
            record.kind == "dta_proposed"
                && record.data["proposal"] == id
                && self.answered.contains_key(&record.position)
        };
        self.records.iter().rfind(is_it)
    }

    /// The records of the calls that were answered, in their order.
    pub(in crate::host) fn calls(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().enumerate().filter(|(at, record)| self.is_answer(*at, record)).map(|(_, record)| record)
    }

    pub(in crate::host) fn is_answer(&self, at: usize, record: &Record) -> bool {
        self.answered.get(&record.position) == Some(&at)
    }

    /// True if the call at a position was answered.
    pub(in crate::host) fn is_answered(&self, position: &str) -> bool {
        self.answered.contains_key(position)
    }

    pub(in crate::host) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The reply that a call is taken to have given, as was decided with this confirmation before the run stopped again.
    pub(in crate::host) fn granted_reply(&self, id: &str) -> Result<Option<Value>, Error> {
        let is_it = |record: &&Record| record.kind == "confirmation_granted" && record.data["id"] == id;
        let granted = self.records.iter().rfind(is_it).and_then(|record| record.data.get("reply"));
        granted.map(|reply| self.pack.value(reply)).transpose()
    }

    pub(in crate::host) fn pack(&self) -> &Pack {
        &self.pack
    }

    /// The call that a record of the kind `call` or `intent` is about, as it was made.
    pub(in crate::host) fn call_of(&self, record: &Record) -> Result<Call, Error> {
        reply::call_of(&Recorded::of(record), &self.pack)
    }

    /// Which session comes now: 2 if the run goes on for the first time.
    pub(in crate::host) fn session(&self) -> usize {
        self.records.iter().filter(|record| record.kind == "run_resumed").count() + 2
    }

    /// What was spent, as far as calls were answered, and how many milliseconds it took.
    pub(in crate::host) fn spent(&self) -> Result<(Spent, u64), Error> {
        let mut spent = Spent::default();
        let (mut elapsed, mut in_session) = (0, 0);
        // What reached the tree counts, even if it was undone; what a call took that was not answered is counted when it is.
        for committed in
            self.records.iter().filter(|record| record.kind == "committed" && self.is_answered(&record.position))
        {
            spent.files.extend(committed_of(committed)?.entries.into_iter().map(|entry| entry.path));
        }
        for (at, record) in self.records.iter().enumerate() {
            let took = record.volatile["duration_ms"].as_u64().unwrap_or_default();
            match record.kind.as_str() {
                "run_suspended" => in_session = took,
                "run_resumed" => elapsed += std::mem::take(&mut in_session),
                "call" => in_session += took,
                _ => {}
            }
            if record.kind == "call" && self.is_answer(at, record) {
                let cost = |kind: &str| reply::cost_of(record, kind).unwrap_or_default();
                spent.calls += 1;
                spent.diff_lines += cost("diff_lines");
                spent.bytes += cost("bytes");
                spent.demand.exec_ms += cost("exec_ms");
                spent.demand.tokens += cost("tokens");
                spent.demand.cost += cost("cost");
            }
        }
        Ok((spent, elapsed + in_session))
    }

    /// What a request to a model took that is made again: what is known of it where the run waited for the answer, and the most
    /// that it may have taken where it was lost. Recorded replies took nothing.
    pub(in crate::host) fn lost(&self, position: &Position) -> Demand {
        let session = |seq: u64| self.records.iter().filter(|one| one.kind == "run_resumed" && one.seq < seq).count();
        let (mut lost, mut under_way) = (Demand::default(), None::<&Record>);
        let events = self.events.get(position.as_str()).into_iter().flatten().map(|at| &self.records[*at]);
        for record in events {
            match record.kind.as_str() {
                "llm_sent" => {
                    lost = lost.and(under_way.map(reserved).unwrap_or_default());
                    under_way = Some(record);
                }
                // What it says that it took has in it what was lost before.
                "call" if under_way.is_some_and(|sent| session(sent.seq) == session(record.seq)) => {
                    lost = demand_of(&record.data["cost"]);
                    under_way = None;
                }
                _ => {}
            }
        }
        lost.and(under_way.map(reserved).unwrap_or_default())
    }

    /// The greatest number that a transaction of the run has had.
    pub(in crate::host) fn transactions(&self, folder: &RunFolder) -> Result<u64, Error> {
        let number = |name: &str| name.strip_prefix('t').and_then(|digits| digits.parse::<u64>().ok());
        let recorded = self.records.iter().filter_map(|record| number(record.data["transaction"].as_str()?));
        let files = folder.files()?;
        let packed = files.iter().filter_map(|name| number(name.strip_prefix("packs/")?.split('/').next()?));
        Ok(recorded.chain(packed).max().unwrap_or_default())
    }
}

/// Checks that a call is the one that a record is about.
pub(in crate::host) fn check_same(record: &Record, position: &Position, call: &Recorded) -> Result<(), Error> {
    let recorded = Recorded::of(record);
    // An intent may name the call alone.
    let same_args = recorded.args.is_null() || is_same(&recorded.args, &call.args);
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
pub(in crate::host) fn is_same(one: &Value, other: &Value) -> bool {
    let hash = |value: &Value| {
        named(value).or_else(|| json::canonical_value(value).ok().map(|text| Sha256::of(text.as_bytes())))
    };
    one == other || hash(one).is_some_and(|one| hash(other) == Some(one))
}

/// The last record of each call, without those on which a session ended that waits.
fn answered(records: &[Record]) -> BTreeMap<String, usize> {
    let mut answered = BTreeMap::new();
    let mut last: Option<(usize, &Record)> = None;
    let end = |answered: &mut BTreeMap<String, usize>, last: Option<(usize, &Record)>, suspended: bool| {
        let Some((_, record)) = last else { return };
        if is_for_later(record, suspended) && !(is_stream(record) && was_seen(records, record)) {
            answered.remove(&record.position);
        }
    };
    for (at, record) in records.iter().enumerate() {
        match record.kind.as_str() {
            "call" => {
                answered.insert(record.position.clone(), at);
                if may_be_last(record) {
                    last = Some((at, record));
                }
            }
            "run_suspended" => end(&mut answered, last.take(), true),
            "run_resumed" => end(&mut answered, last.take(), false),
            _ => {}
        }
    }
    end(&mut answered, last, false);
    answered
}

/// True for the record of a call that a run stops for, to go on later. After what passes a script may have gone on, unless that
/// was the end of it.
pub(in crate::host) fn is_for_later(record: &Record, suspended: bool) -> bool {
    let codes = [&record.data["error"]["code"], &record.data["ended"]];
    let code = codes.into_iter().find_map(|code| serde_json::from_value::<Code>(code.clone()).ok());
    code.is_some_and(|code| WAITING.contains(&code) && (suspended || !TEMPORARY.contains(&code)))
}

/// True for the record of a call after which the run may have stopped. A stream is recorded when it is closed, which may be after
/// the call that the run waits for.
pub(in crate::host) fn may_be_last(record: &Record) -> bool {
    !is_stream(record) || record.data.get("ended").is_some() || record.data.get("error").is_some()
}

/// True for the record of a call whose reply came piece by piece.
fn is_stream(record: &Record) -> bool {
    record.data["call"] == "llm.stream"
}

/// True if other calls were made after the beginning of a stream was seen: it can't be begun anew.
fn was_seen(records: &[Record], stream: &Record) -> bool {
    records.iter().any(|record| record.kind == "llm_seen" && record.position == stream.position)
}

/// The most that a request may have taken.
fn reserved(sent: &Record) -> Demand {
    if sent.data["from"] == "cassette" { Demand::default() } else { demand_of(&sent.data["reserved"]) }
}

fn demand_of(cost: &Value) -> Demand {
    let of = |kind: &str| cost[kind].as_u64().unwrap_or_default();
    Demand { exec_ms: 0, tokens: of("tokens"), cost: of("cost") }
}

pub(in crate::host) fn committed_of(record: &Record) -> Result<Transacted, Error> {
    let entries: Vec<Entry> = serde_json::from_value(record.data["entries"].clone())
        .map_err(|_| Error::new(Code::RecordDamaged, format!("record {} names no files", record.seq)))?;
    let transaction = record.data["transaction"].as_str().unwrap_or_default().to_owned();
    Ok(Transacted { transaction, entries })
}
