//! The run of a client of the Model Context Protocol: its calls come one by one, and each is all or nothing.
//!
//! A call for which nobody can be asked ends the run for now: the run waits, as one of a script does. Whoever answers makes that call
//! with [`resume_client`], or leaves it out with [`decline`], and the run is over then. Its other calls stand either way.

use serde_json::Value;

use super::resume::Resumption;
use crate::{
    Asked, Context, Finished, Host, Position, Ruling, Sink, Started, life::history::Past, recorder::Recorder,
    reply::answer_of,
};
use base::{
    call::Call,
    error::{Code, Error},
};

/// How a run of a client went on and ended.
#[derive(Debug)]
pub struct Resumed {
    /// The end of the run. An error of the call is none of the run.
    pub finished: Finished,
    /// The answer to the call for which it waited; null if it waited for none.
    pub answer: Result<Value, Error>,
}

/// Goes on with a run of a client that waits, or whose process died: makes the call that was not answered, and ends the run.
///
/// What it has read may be otherwise now: the change that it asks for names what it expects of its files.
pub fn resume_client(
    context: &Context,
    run: &str,
    resumption: Resumption,
    sink: &mut dyn Sink,
) -> Result<Resumed, Error> {
    let (mut host, calls) = opened(context, run, resumption, sink)?;
    let mut answer = Ok(Value::Null);
    for (position, call) in calls {
        let is_answered = host.recorder.past.as_ref().is_some_and(|past| past.is_answered(position.as_str()));
        let given = host.perform(&position, call, sink);
        if !is_answered {
            answer = given;
        }
    }
    let ends = answer.as_ref().err().filter(|error| ends_run(error.code())).cloned();
    let finished = host.finish(ends.map_or(Ok(Value::Null), Err), sink)?;
    Ok(Resumed { finished, answer })
}

/// Ends a run of a client that waits, without the call for which it waits: a person or the client refuses that.
pub fn decline(context: &Context, run: &str, ruling: &Ruling, sink: &mut dyn Sink) -> Result<Finished, Error> {
    let (mut host, calls) = opened(context, run, Resumption::default(), sink)?;
    if let Err(error) = host.reject(&ruling.id, ruling.by.as_deref(), ruling.reason.as_deref()) {
        return Err(host.wait_on(error));
    }
    for (position, call) in calls {
        if host.recorder.past.as_ref().is_some_and(|past| past.is_answered(position.as_str())) {
            let _ = host.perform(&position, call, sink);
        }
    }
    host.finish(Ok(Value::Null), sink)
}

/// The answer to the call for which a run waited; none as long as it waits.
///
/// Of a run of a client that is its last call, of any other run its result. `not_approved` if somebody refused it.
pub fn answered(context: &Context, run: &str) -> Result<Option<Result<Value, Error>>, Error> {
    let folder = context.runs.open(run)?;
    let records = folder.records()?;
    let Some(end) = records.iter().rev().find_map(|record| record.event.run_finished()).cloned() else {
        return Ok(None);
    };
    let past = Past::of(&folder, records)?;
    if let Some(error) = end.error {
        return Ok(Some(Err(error)));
    }
    let is_client = matches!(Started::load(&folder)?.asked, Asked::Client { .. });
    if !is_client {
        return past.pack().value(&end.result).map(|result| Some(Ok(result)));
    }
    let last = past.records().iter().rev().find_map(|record| Some((record, record.event.call()?)));
    match last.filter(|(record, _)| past.is_answered(&record.position)) {
        Some((_, call)) => answer_of(call, past.pack()).map(Some),
        None => Ok(Some(Err(refused()))),
    }
}

/// The error of a call that somebody refused.
fn refused() -> Error {
    Error::new(Code::NotApproved, "what the call asked for was refused, and nothing was changed by it")
}

/// True for an error after which a run of a client can't do anything more; after any other its next call is answered.
pub fn ends_run(code: Code) -> bool {
    matches!(code, Code::Suspended | Code::Uncertain) || code.stops() && code != Code::Cancelled
}

/// The run, and the calls that it has made.
fn opened<'a>(
    context: &'a Context,
    run: &str,
    resumption: Resumption,
    sink: &mut dyn Sink,
) -> Result<(Host<'a>, Vec<(Position, Call)>), Error> {
    let resumption = Resumption { accept_stale_reads: true, ..resumption };
    let host = Host::resume(context, run, &context.policy, resumption, sink)?;
    match calls_made(&host.recorder) {
        Ok(calls) => Ok((host, calls)),
        Err(error) => Err(host.wait_on(error)),
    }
}

/// The calls of the record, the one that was not answered at the end.
fn calls_made(recorder: &Recorder<'_>) -> Result<Vec<(Position, Call)>, Error> {
    let Some(past) = &recorder.past else { return Ok(Vec::new()) };
    let made = |n| {
        let position = Position::nth(n);
        past.made_at(position.as_str()).map(|call| call.map(|call| (position, call)))
    };
    (1..).map_while(made).collect()
}
