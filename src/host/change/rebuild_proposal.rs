//! Proposals of former sessions, rebuilt from what is recorded of them. No adapter is asked a second time.

use std::collections::BTreeMap;

use super::{freshness::Seen, patch::Patch};
use crate::{Context, change::stored_proposal::StoredProposal, recorder::Recorder};
use adapter::contract::{Baseline, BaselineRecord, ManifestRecord, Proposal};
use base::{
    call::{Blob, Call, PlannedFile},
    change::{Change, ChangeSet, Content, Entry},
    diff::{Lines, Stat},
    error::{Code, Error},
};
use record::{
    FileRef, Pack, Record,
    event::{DtaProposed, FileRow},
};
use service::apply;
use system::workspace::View;

/// The state of the files of a proposal that is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeState {
    /// As they were before the change: its patch is applied to them.
    Before,
    /// As the change left them.
    After,
}

/// Makes sure that a proposal which was made in a former session is known, if there was one of that id.
pub(crate) fn recall_proposal(
    proposals: &mut BTreeMap<String, StoredProposal>,
    recorder: &Recorder<'_>,
    view: View<'_>,
    id: &str,
) -> Result<(), Error> {
    if proposals.contains_key(id) {
        return Ok(());
    }
    let Some(past) = &recorder.past else { return Ok(()) };
    let Some(proposed) = past.proposed(id) else { return Ok(()) };
    let stored = rebuild(recorder, view, proposed, past.pack(), TreeState::Before)?;
    proposals.insert(id.to_owned(), stored);
    Ok(())
}

/// Rebuilds a proposal from the record that it was made.
///
/// `stale_preimage` names the files that are not what they were, `record_damaged` says that something else came of it.
pub(crate) fn rebuild(
    recorder: &Recorder<'_>,
    view: View<'_>,
    (record, proposed): (&Record, &DtaProposed),
    pack: &Pack,
    state: TreeState,
) -> Result<StoredProposal, Error> {
    let damaged = |what: &str| {
        Error::new(Code::RecordDamaged, format!("the proposal of position {} {what}", record.position))
            .hint("the run can't go on; `nrv rollback` brings back what it changed")
    };
    let [baseline, planned, patch] = record.files.as_slice() else { return Err(damaged("names no files")) };
    let read = |file: &FileRef| recorder.folder.read(&file.path);
    let seen: BaselineRecord =
        serde_json::from_slice(&read(baseline)?).map_err(|_| damaged("has no baseline that can be read"))?;
    let manifest: ManifestRecord =
        serde_json::from_slice(&read(planned)?).map_err(|_| damaged("has no manifest that can be read"))?;
    let rows = pack.rows(&proposed.files)?;
    let bytes = match proposed.patch_sha256.exact() {
        Some(exact) if *exact == patch.sha256 => read(patch)?,
        Some(exact) => pack.get(exact)?,
        None => return Err(damaged("does not name its patch")),
    };
    let patch_again = patch_of(&bytes, rows).ok_or_else(|| damaged("has another patch"))?;
    let changes = match state {
        TreeState::Before => changes_before(recorder.context, view, &manifest.entries, &patch_again)?,
        TreeState::After => changes_after(view, &manifest.entries)?,
    };
    if changes.entries() != manifest.entries {
        return Err(damaged("comes out otherwise"));
    }
    let looks = Seen::nothing(seen.files.len());
    let BaselineRecord { input, counts, files, skipped, findings, settings, engine, adapter: _ } = seen;
    let measured = Baseline { counts, files, skipped, findings, settings, engine };
    let proposal = Proposal { baseline: measured, counts: manifest.counts, changes };
    let files = [baseline, planned, patch].map(Clone::clone);
    let stored = StoredProposal::new(input, proposal, patch_again, looks, files)?;
    if proposed.proposal != stored.id {
        return Err(damaged("has another id"));
    }
    Ok(stored)
}

/// The change from the files as they were, each by its part of the patch, to exactly what was proposed.
fn changes_before(context: &Context, view: View<'_>, entries: &[Entry], patch: &Patch) -> Result<ChangeSet, Error> {
    if entries.is_empty() {
        return Ok(ChangeSet::default());
    }
    let planned = entries.iter().zip(patch.parts()).map(|(entry, (part, _))| PlannedFile {
        path: entry.path.to_string(),
        before: entry.before,
        after: entry.after,
        diff: Blob::new(part.to_vec()),
    });
    let request = apply::Request::of(&Call::ApplyPlanned { files: planned.collect() })?;
    let options = &context.options;
    let ctx = apply::Context { view, threads: options.threads, cancel: options.cancel.as_ref() };
    apply::propose(&ctx, &request).map(|proposed| proposed.changes)
}

/// The change that was carried out: its files are there.
fn changes_after(view: View<'_>, entries: &[Entry]) -> Result<ChangeSet, Error> {
    let changes = entries.iter().map(|entry| {
        let after: Option<Content> = entry.after.map(|_| view.read_entry(&entry.path)).transpose()?;
        Ok(Change { path: entry.path.clone(), before: entry.before, after })
    });
    ChangeSet::new(changes.collect::<Result<_, Error>>()?)
}

/// Returns a proposal's patch from its bytes and the recorded rows; none if the two do not fit.
fn patch_of(bytes: &[u8], rows: Vec<FileRow>) -> Option<Patch> {
    let mut patch = Patch::default();
    let mut rest = bytes;
    for FileRow { path, added, removed, length, .. } in rows {
        let (part, more) = rest.split_at_checked(length?)?;
        patch.push(part, Stat { path, lines: Lines { added, removed } });
        rest = more;
    }
    rest.is_empty().then_some(patch)
}
