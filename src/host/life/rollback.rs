//! Bringing back what a run changed: exactly, or not at all.

use serde::Serialize;
use serde_json::json;

use super::pre_images::check_contents;
use crate::{
    Asked, Context, Finished, Flags, Host, Overview, Request, Sink,
    change::{
        restored::{Restored, remaining_targets, undo_refused},
        transaction::Transacted,
    },
    life::{
        outcome::overviews,
        pre_images::{moves, standing_transactions},
    },
    terms::Terms,
};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
};
use record::RunFolder;

/// The result of a rollback.
#[derive(Clone, Debug, Serialize)]
pub struct RolledBack {
    /// The run that was rolled back.
    pub parent: String,
    /// The position of the change that was undone by itself; none if all of the run was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Files that were brought back.
    pub restored: Vec<RepoPath>,
    /// Files that changed since and were left alone on demand.
    pub kept: Vec<RepoPath>,
    /// The run that did it.
    pub finished: Finished,
}

/// Undoes a run that is over, in a run of its own. Of a run of which positions were undone by themselves, the rest is undone.
///
/// `undo_refused` names the files that changed since; with `keep_later` those are left alone. In a dry run nothing is
/// written and the result says what would be.
pub fn rollback(
    context: &Context,
    id: &str,
    keep_later: bool,
    flags: Flags,
    sink: &mut dyn Sink,
) -> Result<RolledBack, Error> {
    let folder = prepared(context, id)?;
    let request = Request {
        asked: Asked::Rollback { parent: folder.id().to_owned(), keep_later, position: None },
        policy: context.policy.clone(),
        seed: 0,
        flags,
        writes: None,
    };
    // Starting recovers what a crash left open, which the record below must hold already.
    let mut host = Host::start(context, request, sink)?;
    let mut kept = Vec::new();
    let mut restored = Vec::new();
    let outcome = host.bring_back_run(&folder, keep_later, &mut restored, &mut kept);
    let outcome = outcome.map(|()| json!({"parent": folder.id(), "restored": restored, "kept": kept}));
    let finished = host.finish(outcome, sink)?;
    Ok(RolledBack { parent: folder.id().to_owned(), position: None, restored, kept, finished })
}

/// The record of a run that is over.
pub(super) fn prepared(context: &Context, id: &str) -> Result<RunFolder, Error> {
    let folder = context.runs.open(id)?;
    if context.runs.path().exists() {
        context.runs.prepare()?;
    }
    if context.locks().is_live(folder.id())? {
        return Err(Error::new(Code::LockTimeout, format!("run `{}` is still going on", folder.id()))
            .hint("wait for it, or cancel it with Ctrl-C where it runs"));
    }
    Ok(folder)
}

impl Host<'_> {
    fn bring_back_run(
        &mut self,
        folder: &RunFolder,
        keep_later: bool,
        done: &mut Vec<RepoPath>,
        kept: &mut Vec<RepoPath>,
    ) -> Result<(), Error> {
        check_record(self.run.context, folder)?;
        check_contents(folder)?;
        let restored = standing(self.run.context, folder, keep_later)?;
        self.run.check_permitted(&restored)?;
        let prefixes: Vec<String> = restored.paths().iter().map(ToString::to_string).collect();
        if prefixes.is_empty() {
            return Ok(());
        }
        self.ledger.lock(&self.run, &prefixes)?;
        let (current, changed) = restored.without_changed(self.run.context)?;
        if keep_later {
            *kept = changed;
        } else if let Some(error) = undo_refused(&changed) {
            return Err(error.hint(format!("`nrv rollback {} --keep-later` brings back the others", folder.id())));
        }
        *done = current.paths();
        if self.run.flags.dry_run || done.is_empty() {
            return Ok(());
        }
        let restored = self.ledger.bring_back(&mut self.recorder, &current, None)?;
        self.ledger.transactions.push(restored);
        Ok(())
    }
}

impl Terms<'_> {
    /// Files that programs run by themselves are brought back only where the policy of now lets a run write them: a record from
    /// elsewhere could name any.
    pub(super) fn check_permitted(&self, restored: &Restored) -> Result<(), Error> {
        let permitted = &self.policy.settings().paths.allow_protected;
        let refused = |path: &&RepoPath| Some(((*path).clone(), protected::write_refusal_unless(path, permitted)?));
        let Some((path, reason)) = restored.paths().iter().find_map(|path| refused(&path)) else { return Ok(()) };
        Err(Error::new(Code::ProtectedPath, format!("`{path}` is protected: {reason}"))
            .detail("path", path.as_str())
            .hint("nothing was brought back; name the path in `paths.allow_protected` of `nrv.toml` to have it brought back"))
    }
}

/// An error if the chain or a manifest is not what was written: who knows what would be brought back then.
pub(super) fn check_record(context: &Context, folder: &RunFolder) -> Result<(), Error> {
    let report = record::verify(&context.runs, folder, context.options.threads, &context.options.cancel)?;
    let concerns = |place: &str| place.starts_with("events.jsonl") || place.starts_with("packs/");
    let Some(finding) = report.findings.iter().find(|finding| concerns(&finding.place)) else { return Ok(()) };
    Err(Error::new(Code::RecordDamaged, format!("the record of run `{}` was altered: {finding}", folder.id()))
        .hint(format!("`nrv runs verify {}` names everything; pre-images are in its `packs` folder", folder.id())))
}

/// The transactions that undid positions of a run by themselves, in later runs whose records are as they were written.
fn partial_rollbacks(context: &Context, id: &str) -> Result<Vec<Transacted>, Error> {
    let subject = format!("rollback of {id} at ");
    let is_partial = |run: &Overview| run.is_rollback && run.subject.starts_with(&subject);
    let mut partial = Vec::new();
    for run in overviews(context)?.into_iter().filter(is_partial) {
        // One whose record was removed says nothing.
        let Some(folder) = context.runs.find(&run.run) else { continue };
        check_record(context, &folder)?;
        partial.extend(standing_transactions(&moves(&folder)?));
    }
    Ok(partial)
}

/// The files of a run's changes that stand, without the positions that were undone by themselves since.
pub(super) fn standing(context: &Context, folder: &RunFolder, lenient: bool) -> Result<Restored, Error> {
    let standing = standing_transactions(&moves(folder)?);
    let partial = partial_rollbacks(context, folder.id())?;
    remaining_targets(context, (folder, &standing), &partial, lenient)
}

/// Files that a run changed and that are not as it left them.
pub fn changed_since(context: &Context, folder: &RunFolder) -> Vec<RepoPath> {
    standing(context, folder, true).and_then(|mut restored| restored.changed_since(context, false)).unwrap_or_default()
}
