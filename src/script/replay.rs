//! Replays a script's run from its record: in a worker like any other, behind a door that answers from the record alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Loaded, complete, run::origin, session};
use base::{
    call::Call,
    error::{Code, Error, Location},
    frame::RunRequest,
};
use host::{Asked, Context, Opened, Positions, Replay, Replayed, Started, Trial};

/// The variation of a replay. The default is the recorded script under the recorded policy.
#[derive(Clone, Debug, Default)]
pub struct Variation<'a> {
    /// Another script, with everything that it imports.
    pub against: Option<&'a Loaded>,
    /// Another policy: the name of its file, and its text.
    pub policy: Option<(String, String)>,
}

/// Replays a run: executes its script against its record, without a tree, and repeats the judgements that need no tree.
///
/// A run without a script, such as one of an adapter, makes its calls as they are recorded. Nothing is written. [`Replayed`] has
/// the differences; an error means that there is no such run, or that it can't be replayed.
pub fn replay(context: &Context, run: &str, variation: Variation<'_>) -> Result<Replayed, Error> {
    let header = variation.against.map(|loaded| loaded.header.ceiling.clone());
    let mut replay = match Replay::open(context, run, Trial { policy: variation.policy, header })? {
        Opened::Ready(replay) => replay,
        Opened::Damaged(replayed) => return Ok(*replayed),
    };
    let Some(request) = request(replay.started(), variation.against)? else {
        let outcome = replay.perform_recorded();
        return replay.finish(outcome);
    };
    let sources = request.sources.clone();
    let limits = replay.policy().settings().script.limits.clone();
    let worker = session::Worker::start(origin(context), &limits, &|| context.cancelled())?;
    let mut door = RecordDoor { context, replay: &mut replay, positions: Positions::default() };
    let outcome = session::run(worker, request, &mut door);
    Ok(Replayed { sources, ..replay.finish(Some(outcome))? })
}

/// The request of the run's script; none if the run had no script.
fn request(started: &Started, against: Option<&Loaded>) -> Result<Option<RunRequest>, Error> {
    let mode = if started.flags.dry_run { "dry-run" } else { "apply" };
    let Asked::Script { path, sources, imports, args } = &started.asked else {
        return match against {
            None => Ok(None),
            Some(_) => Err(Error::new(Code::Usage, format!("the run `{}` is not one of a script", started.run))
                .hint("leave `--against` out: its calls are judged again as they were made")),
        };
    };
    if let Some(loaded) = against {
        let args = complete(&loaded.header, &[], Some(args))?;
        return Ok(Some(loaded.request(args, &started.run, started.seed, mode)));
    }
    let sources: BTreeMap<String, String> =
        sources.iter().map(|(path, source)| (path.clone(), source.text.clone())).collect();
    Ok(Some(RunRequest {
        main: path.clone(),
        sources,
        imports: imports.clone(),
        args: args.clone(),
        run: started.run.clone(),
        seed: started.seed,
        mode: mode.to_owned(),
    }))
}

/// The door of a replay: the script's numbered calls, answered from the record.
struct RecordDoor<'a, 'r> {
    context: &'a Context,
    replay: &'a mut Replay<'r>,
    positions: Positions,
}

impl session::Door for RecordDoor<'_, '_> {
    fn perform(&mut self, at: Option<&Location>, call: Call) -> Result<Value, Error> {
        let position = self.positions.take(&call);
        let result = self.replay.perform(&position, at, &call);
        if result.is_ok() {
            self.positions = self.positions.after(&call);
        }
        result.map_err(|error| match at {
            Some(at) => error.at(at.clone()),
            None => error,
        })
    }

    fn open(&mut self, at: Option<&Location>, call: Call) -> Result<u64, Error> {
        let position = self.positions.take(&call);
        self.replay.open_stream(&position, at, &call).map_err(|error| match at {
            Some(at) => error.at(at.clone()),
            None => error,
        })
    }

    fn next(&mut self, stream: u64) -> Result<Value, Error> {
        self.replay.next_events(stream)
    }

    fn close(&mut self, stream: u64, taken: u64) -> Result<(), Error> {
        self.replay.close_stream(stream, taken)
    }

    fn print(&mut self, _text: &str) {
        // It was printed when the script ran.
    }

    fn cancelled(&self) -> Option<Error> {
        self.context.cancelled()
    }
}
