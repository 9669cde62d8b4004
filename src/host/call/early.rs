//! Proposals that were made before their turn: each is used if it would be the same one now.

use std::collections::BTreeSet;

use crate::{
    ahead::Early,
    change::{freshness::Seen, pipeline::Pipeline},
};
use adapter::contract::{Invocation, Proposal};
use base::{error::Error, path::RepoPath};

/// Takes the proposal that was made for the call that is answered now, unless it would be another one: a file that it looked at has
/// changed, or one came or went.
pub(super) fn early_proposal(pipeline: &mut Pipeline<'_, '_>, invocation: &Invocation) -> Option<(Proposal, Seen)> {
    let early = pipeline.turn.ahead.proposals.remove(pipeline.position.as_str())?;
    let is_same = early.invocation == *invocation && is_untouched(pipeline, &early).ok()?;
    let files = &early.proposal.baseline.files;
    let is_fresh = || pipeline.run.check_fresh(pipeline.draft.view(), files, &early.seen).is_ok();
    (is_same && is_fresh()).then_some((early.proposal, early.seen))
}

/// True if no change of the run since then touches what the proposal is about.
fn is_untouched(pipeline: &Pipeline<'_, '_>, early: &Early) -> Result<bool, Error> {
    let globs = early.invocation.target.globs(pipeline.draft.view())?;
    let looked: BTreeSet<&RepoPath> = early.proposal.baseline.files.iter().map(|file| &file.path).collect();
    let touches = |path: &RepoPath| globs.matches(path) || looked.contains(path);
    let since = pipeline.ledger.transactions.get(early.from..).unwrap_or_default();
    let entries = since.iter().flat_map(|transaction| &transaction.entries);
    let committed = entries.map(|entry| (&entry.path, entry.before.is_some() && entry.after.is_some()));
    // A dry run does not tell when it proposed a change of a file, only that it did.
    let proposed = pipeline.draft.proposed.iter();
    let drafted = proposed.map(|(path, file)| (path, file.before.is_some() && file.after.is_some()));
    Ok(committed.chain(drafted).all(|(path, is_edit)| is_edit && !touches(path)))
}
