//! The agents of a run, by its record.

use super::history::Past;
use crate::{
    Context,
    agents::{Agent, Registry},
    reply::answer_of,
};
use base::error::Error;
use record::event::State;

/// The agents of a run in the order in which they were summoned, each as it is now.
///
/// `not_found` if there is no such run, `record_damaged` if its calls can't be read.
pub fn agents(context: &Context, run: &str) -> Result<Vec<Agent>, Error> {
    let folder = context.runs.open(run)?;
    let past = Past::of(&folder, folder.readable_records()?)?;
    let mut registry = Registry::default();
    for record in past.calls() {
        let Some(recorded) = record.event.call() else { continue };
        if let Ok(call) = past.call_of(recorded) {
            registry.note(&call, &answer_of(recorded, past.pack())?);
        }
    }
    let ended = past.records().iter().rev().find_map(|record| record.event.run_finished());
    if ended.is_some_and(|end| end.state != State::Suspended) {
        // Whoever had not finished when the run ended has failed.
        drop(registry.end(Ok(serde_json::Value::Null)));
    }
    Ok(registry.all().to_vec())
}
