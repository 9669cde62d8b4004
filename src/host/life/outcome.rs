//! Overviews of runs, for listings.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::retention::kept_until;
use crate::{Context, State};
use base::error::{Code, Error};
use record::{
    Record, RunFolder,
    event::{Asked, Kind},
    outcome::{changed_files, unverified},
};
use system::{clock, lock::Holder};

/// One run in a listing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overview {
    /// The run.
    pub run: String,
    /// `running`, or how it ended.
    pub state: String,
    /// The subject of the run: a script's path, an adapter, a program's name for it, or the run that it rolled back.
    pub subject: String,
    /// True if it undid another run.
    pub is_rollback: bool,
    /// `dry-run` or `apply`.
    pub mode: String,
    /// When it started.
    pub started: String,
    /// How many files it changed, or would change.
    pub files_changed: u64,
    /// The exit code; none while it runs and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u64>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// True if a change was applied and the verifier has not passed it.
    pub unverified: bool,
    /// Until when its record is kept, and with it the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<String>,
    /// The lock that the run holds while it is going on: its process, fencing number and path prefixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Holder>,
}

/// All runs in the order of their ids: oldest first, as far as the clock never went backwards.
///
/// Of a run that has stopped its head says enough; only the others are looked at one by one.
pub fn overviews(context: &Context) -> Result<Vec<Overview>, Error> {
    let ids = context.runs.list()?;
    let leased: BTreeSet<String> = context.locks().runs()?.into_iter().collect();
    let mut heads = context.runs.heads()?;
    let row = |id: &String| {
        let head = heads.remove(id).and_then(|head| head.overview).filter(|_| !leased.contains(id));
        match head.and_then(|overview| serde_json::from_value::<Overview>(overview).ok()) {
            Some(known) => {
                Ok(Overview { run: id.clone(), kept_until: kept_until(context, id).map(clock::rfc3339), ..known })
            }
            None => overview(context, &context.runs.open(id)?),
        }
    };
    ids.iter().map(row).collect()
}

/// Returns the overview that a head keeps for listings. It has no data that changes after the run has stopped.
pub(crate) fn listed(context: &Context, folder: &RunFolder) -> Result<Option<Value>, Error> {
    let overview = Overview { kept_until: None, ..of_record(context, folder, None) };
    serde_json::to_value(overview).map(Some).map_err(|error| Error::new(Code::Internal, error.to_string()))
}

/// The kinds of records that an overview is made of.
const LOOKED_AT: &[Kind] = &[
    Kind::RunStarted,
    Kind::RunResumed,
    Kind::RunFinished,
    Kind::RunSuspended,
    Kind::RunInterrupted,
    Kind::Committed,
    Kind::Checked,
    Kind::DtaVerified,
    Kind::Undoing,
    Kind::AttemptSetAside,
    Kind::Undone,
    Kind::Revoked,
];

/// One run.
pub fn overview(context: &Context, folder: &RunFolder) -> Result<Overview, Error> {
    Ok(of_record(context, folder, context.locks().holder(folder.id())?))
}

/// One run, as its record says and whether it is going on.
fn of_record(context: &Context, folder: &RunFolder, lock: Option<Holder>) -> Overview {
    // A damaged record is `runs verify`'s to report; a listing shows what can be read.
    let records = folder.records_of(LOOKED_AT).unwrap_or_default();
    let begun = records.iter().find_map(|record| Some((record, record.event.run_started()?)));
    let started = begun.map(|(_, started)| started);
    let sessions = [Kind::RunFinished, Kind::RunSuspended, Kind::RunInterrupted, Kind::RunResumed];
    let is_of_session = |record: &&Record| record.event.kind().is_some_and(|kind| sessions.contains(&kind));
    let ended = records.iter().rfind(is_of_session).and_then(|last| last.event.end());
    let state = match ended.map(|end| end.state) {
        Some(state) => state.as_str(),
        None if lock.is_some() => "running",
        None => State::Interrupted.as_str(),
    };
    Overview {
        run: folder.id().to_owned(),
        state: state.to_owned(),
        subject: started.map(|started| started.asked.subject()).unwrap_or_default(),
        is_rollback: started.is_some_and(|started| matches!(started.asked, Asked::Rollback { .. })),
        mode: started.map(|started| started.mode.clone()).unwrap_or_default(),
        started: begun.map(|(record, _)| record.at.clone()).unwrap_or_default(),
        files_changed: ended.map_or_else(|| changed_files(&records), |end| end.files_changed),
        exit_code: ended.and_then(|end| end.exit_code),
        duration_ms: ended.and_then(|end| end.volatile.duration_ms),
        unverified: !unverified(&records).is_empty(),
        kept_until: kept_until(context, folder.id()).map(clock::rfc3339),
        lock,
    }
}
