//! Records leave, arrive and expire: one file for a run, and what `[retention]` says.

use std::io::{Read, Write};

use serde::Serialize;
use serde_json::Value;

use super::pre_images::damaged_pre_images;
use crate::{Context, State};
use base::error::{Code, Error};
use gate::secrets;
use record::{Exported, Head, RunFolder, Scope};
use system::{clock, journal};

/// The state in a run's head after its record was removed.
const EXPIRED: &str = "expired";

const DAY_MS: u64 = 86_400_000;

/// The runs whose records were removed, or would be in a dry run, and the space that is freed and kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Runs whose records were removed, oldest first.
    pub removed: Vec<Removed>,
    /// Bytes that are free again.
    pub freed: u64,
    /// How many runs are left.
    pub kept: usize,
    /// Bytes that their records take.
    pub kept_bytes: u64,
}

/// A run whose record was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// The run.
    pub run: String,
    /// Bytes that its record took.
    pub bytes: u64,
    /// `age` or `size`: which limit it was beyond; none if it was removed by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<&'static str>,
}

/// Writes a run's record as one file; without `contents` it can be shown and verified, not rolled back.
pub fn export(context: &Context, id: &str, contents: bool, out: &mut dyn Write) -> Result<Exported, Error> {
    let shows_secret = |document: &Value| secrets::shows_secret(document, context.rules.secrets());
    let scope = Scope { contents, shows_secret: &shows_secret };
    record::export(&context.runs, &context.runs.open(id)?, scope, out)
}

/// Takes in a record that [`export`] wrote, verified; its id.
pub fn import(context: &Context, input: &mut dyn Read) -> Result<String, Error> {
    let limit = context.policy.settings().retention.size;
    let check = |run: &RunFolder| match damaged_pre_images(run).first() {
        Some(finding) => Err(Error::new(
            Code::RecordDamaged,
            format!("the record of run `{}` in the export is NOT intact: {finding}", run.id()),
        )
        .hint("export it again")),
        None => Ok(()),
    };
    record::import(&context.runs, input, limit, &check).map(|run| run.id().to_owned())
}

/// When a run began, to the second; none if its id has no time.
pub(crate) fn began(id: &str) -> Option<u64> {
    clock::parse_compact(id.split('-').next()?)
}

/// Until when a run's record is kept for certain, unless too many others need its room; none if its id has no time.
pub(crate) fn kept_until(context: &Context, id: &str) -> Option<u64> {
    Some(began(id)?.saturating_add(context.policy.settings().retention.days.saturating_mul(DAY_MS)))
}

/// Removes the records of runs that are older than `[retention]` says, and the oldest of those that take more room than it says.
///
/// Never one that is going on, waits for a confirmation, or has something to recover. The heads say which have expired. In a dry
/// run nothing is removed.
pub fn collect(context: &Context, dry_run: bool) -> Result<Collected, Error> {
    let limit = context.policy.settings().retention.size;
    let now = context.options.clock.now_ms();
    let mut collected = Collected::default();
    // Read once: there may be thousands of runs. One that stops from now on has to wait for the next time.
    let heads = context.runs.heads()?;
    let mut rest = Vec::new();
    for id in context.runs.list()? {
        let folder = context.runs.open(&id)?;
        let bytes = folder.size()?;
        collected.kept += 1;
        collected.kept_bytes += bytes;
        let is_old = kept_until(context, &id).is_some_and(|until| until < now);
        rest.push((folder, bytes, is_old));
    }
    for (beyond, by_age) in [("age", true), ("size", false)] {
        let mut young = Vec::new();
        for (folder, bytes, is_old) in rest {
            let goes = if by_age { is_old } else { collected.kept_bytes > limit };
            if !goes || !remove(context, &folder, heads.get(folder.id()), dry_run)? {
                young.push((folder, bytes, is_old));
                continue;
            }
            collected.kept -= 1;
            collected.kept_bytes -= bytes;
            collected.freed += bytes;
            collected.removed.push(Removed { run: folder.id().to_owned(), bytes, beyond: Some(beyond) });
        }
        rest = young;
    }
    Ok(collected)
}

/// Removes the records of these runs, whatever `[retention]` says; none if one of them must stay from the start. In a dry run nothing is
/// removed.
///
/// One that waits for a confirmation goes too. One that is going on or has something to recover is `invalid_input`. What a run changed
/// stays, and can't be rolled back any more.
pub fn remove_runs(context: &Context, ids: &[String], dry_run: bool) -> Result<Vec<Removed>, Error> {
    let heads = context.runs.heads()?;
    let mut folders: Vec<RunFolder> = Vec::new();
    for id in ids {
        let folder = context.runs.open(id)?;
        if let Some(why) = stays(context, &folder, heads.get(folder.id()), true)? {
            return Err(must_stay(folder.id(), why));
        }
        if folders.iter().all(|known| known.id() != folder.id()) {
            folders.push(folder);
        }
    }
    let mut removed = Vec::new();
    for folder in folders {
        let bytes = folder.size()?;
        let head = heads.get(folder.id());
        if !dry_run && !head.map_or(Ok(false), |head| expire(context, &folder, head, true))? {
            return Err(must_stay(folder.id(), "is going on"));
        }
        removed.push(Removed { run: folder.id().to_owned(), bytes, beyond: None });
    }
    Ok(removed)
}

fn must_stay(id: &str, why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the record of the run `{id}` can't be removed: it {why}"))
        .detail("run", id)
        .hint("`nrv recover` undoes what a killed run left; wait for one that is going on")
}

/// Removes the record of a run with that head; false if it must stay.
fn remove(context: &Context, folder: &RunFolder, head: Option<&Head>, dry_run: bool) -> Result<bool, Error> {
    match head {
        Some(head) if stays(context, folder, Some(head), false)?.is_none() => {
            if dry_run {
                Ok(true)
            } else {
                expire(context, folder, head, false)
            }
        }
        _ => Ok(false),
    }
}

/// The reason for which a record must stay, as a phrase.
fn stays(
    context: &Context,
    folder: &RunFolder,
    head: Option<&Head>,
    may_wait: bool,
) -> Result<Option<&'static str>, Error> {
    Ok(match head {
        _ if context.locks().is_live(folder.id())? => Some("is going on"),
        _ if !journal::open_transactions(folder.path())?.is_empty() => Some("has changes that are not recovered"),
        None => Some("did not come to an end, and is not recovered"),
        Some(head) if !may_wait && head.state == State::Suspended.as_str() => Some("waits for a confirmation"),
        Some(_) => None,
    })
}

/// Removes a record, unless somebody works with the run meanwhile.
fn expire(context: &Context, folder: &RunFolder, head: &Head, may_wait: bool) -> Result<bool, Error> {
    // Whoever holds the lease is the only one who may recover or resume the run.
    let Some(lease) = context.locks().lease(folder.id())? else { return Ok(false) };
    let is_open = !journal::open_transactions(folder.path())?.is_empty();
    // A lease that stays leads to what is open.
    if is_open {
        return Ok(false);
    }
    if !may_wait && head.state == State::Suspended.as_str() {
        return lease.retire().map(|()| false);
    }
    context.runs.add_head(&Head { state: EXPIRED.to_owned(), ..head.clone() })?;
    folder.remove()?;
    lease.retire().map(|()| true)
}
