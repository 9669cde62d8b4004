//! Bringing back what a run changed: exactly, or not at all.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::retention::check_contents;
use crate::{
    base::{
        change::{Content, Entry, Stamp},
        diff::{self, Side},
        error::{Code, Error},
        hash::Sha256,
        path::{RepoPath, protected},
    },
    host::{
        Asked, Context, Finished, Flags, Host, Request, Sink,
        change::{commit::Committed, patch::Patch},
    },
    record::{self, Finding, Record, RunFolder},
    system::{journal::Target, workspace::parallel_map},
};

/// What a rollback came to.
#[derive(Clone, Debug, Serialize)]
pub struct RolledBack {
    /// The run that was rolled back.
    pub parent: String,
    /// Files that were brought back.
    pub restored: Vec<RepoPath>,
    /// Files that changed since and were left alone on demand.
    pub kept: Vec<RepoPath>,
    /// The run that did it.
    pub finished: Finished,
}

/// What transactions changed, taken together: the first pre-image and the last post-image of each file.
#[derive(Debug, Default)]
pub(in crate::host) struct Restored {
    items: BTreeMap<RepoPath, Item>,
}

/// The bits of a mode with which a program gets the rights of the file's owner or group.
const SET_ID: u32 = 0o6000;

/// What a file is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    /// As the transactions left it.
    Current,
    /// As it was before them.
    Restored,
    /// Neither.
    Changed,
}

#[derive(Debug)]
struct Item {
    now: Option<Stamp>,
    then: Option<Content>,
}

/// Puts the transactions together, with the pre-images from the packs.
///
/// `record_damaged` if a pre-image is missing or altered; with `lenient` such files are left out.
pub(in crate::host) fn restore_targets(
    folder: &RunFolder,
    transactions: &[Committed],
    lenient: bool,
) -> Result<Restored, Error> {
    let mut latest: BTreeMap<&RepoPath, Option<Stamp>> = BTreeMap::new();
    let mut first: BTreeMap<&RepoPath, (&Committed, usize, &Entry)> = BTreeMap::new();
    for transaction in transactions {
        for (index, entry) in transaction.entries.iter().enumerate() {
            latest.insert(&entry.path, entry.after);
            first.entry(&entry.path).or_insert((transaction, index, entry));
        }
    }
    let mut restored = Restored::default();
    for (path, (transaction, index, entry)) in first {
        let then = match entry.before {
            None => None,
            Some(stamp) => match pre_image(folder, &transaction.transaction, index, &stamp, path) {
                Ok(content) => Some(content),
                Err(_) if lenient => continue,
                Err(error) => return Err(error),
            },
        };
        let now = latest.get(path).copied().flatten();
        if now != then.as_ref().map(Content::stamp) {
            restored.items.insert(path.clone(), Item { now, then });
        }
    }
    Ok(restored)
}

pub(in crate::host) fn pre_image(
    folder: &RunFolder,
    name: &str,
    index: usize,
    stamp: &Stamp,
    path: &RepoPath,
) -> Result<Content, Error> {
    let file = format!("packs/{name}/pre/{index}");
    let damaged = |what: &str| {
        Error::new(Code::RecordDamaged, format!("the pre-image of `{path}` {what}"))
            .detail("file", file.as_str())
            .detail("run", folder.id())
    };
    let (bytes, mode) = folder.read_image(&file, stamp.length)?;
    if Sha256::of(&bytes) != stamp.sha256 {
        return Err(damaged("was altered"));
    }
    // The file itself lies in the pack, so that it has the bits. A record from elsewhere can only say so.
    if stamp.mode & SET_ID & !mode != 0 {
        return Err(damaged("has no set-id bits, and the record says that the file had"));
    }
    Ok(Content { bytes: bytes.into(), mode: stamp.mode, sha256: stamp.sha256 })
}

impl Restored {
    /// Looks at every file; those that are neither as the transactions left them nor as they were before.
    ///
    /// Files that are what they were before are left out with `leave_out_restored`: nothing is to be done for them.
    pub(in crate::host) fn changed_since(
        &mut self,
        context: &Context,
        leave_out_restored: bool,
    ) -> Result<Vec<RepoPath>, Error> {
        let items: Vec<_> = self.items.iter().collect();
        let states = parallel_map(context.options.threads, &items, |(path, item)| {
            let found = match context.workspace.stamp_entry(path) {
                Ok(found) => Some(found),
                Err(error) if error.code() == Code::NotFound => None,
                // A folder in its place, or a link on the way, is not what the run left either.
                Err(error) if matches!(error.code(), Code::Unreadable | Code::InvalidPath) => return Ok(Now::Changed),
                Err(error) => return Err(error),
            };
            Ok(match () {
                () if leave_out_restored && found == item.then.as_ref().map(Content::stamp) => Now::Restored,
                () if found == item.now => Now::Current,
                () => Now::Changed,
            })
        });
        let states = states.into_iter().collect::<Result<Vec<Now>, Error>>()?;
        let with = |wanted: Now| {
            let hits = items.iter().zip(&states).filter(move |(_, state)| **state == wanted);
            hits.map(|((path, _), _)| (*path).clone()).collect::<Vec<RepoPath>>()
        };
        let (restored, changed) = (with(Now::Restored), with(Now::Changed));
        self.leave_out(&restored);
        Ok(changed)
    }

    fn leave_out(&mut self, paths: &[RepoPath]) {
        for path in paths {
            self.items.remove(path);
        }
    }

    pub(in crate::host) fn paths(&self) -> Vec<RepoPath> {
        self.items.keys().cloned().collect()
    }

    /// An error that names the files that are not as the transactions left them.
    pub(in crate::host) fn check_current(&mut self, context: &Context) -> Result<(), Error> {
        refusal(&self.changed_since(context, false)?).map_or(Ok(()), Err)
    }

    /// What was changed, as a patch from what was to what is; files that changed since are left out.
    pub(in crate::host) fn patch(&self, context: &Context) -> Result<Patch, Error> {
        let mut patch = Patch::default();
        for (path, item) in &self.items {
            let now = match item.now {
                Some(_) => Some(context.workspace.read_entry(path)?),
                None => None,
            };
            if now.as_ref().map(Content::stamp) == item.now {
                let (part, stat) =
                    diff::render(path, item.then.as_ref().map(Side::from), now.as_ref().map(Side::from))?;
                patch.push(&part, stat);
            }
        }
        Ok(patch)
    }

    /// The targets that bring everything back.
    pub(in crate::host) fn targets(&self) -> Vec<Target<'_>> {
        self.items.iter().map(|(path, item)| Target { path, before: item.now, after: item.then.as_ref() }).collect()
    }
}

/// Undoes a run that is over, in a run of its own.
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
    let folder = context.runs.open(id)?;
    if context.runs.path().exists() {
        context.runs.prepare()?;
    }
    if context.locks().is_live(folder.id())? {
        return Err(Error::new(Code::LockTimeout, format!("run `{}` is still going on", folder.id()))
            .hint("wait for it, or cancel it with Ctrl-C where it runs"));
    }
    let request = Request {
        asked: Asked::Rollback { parent: folder.id().to_owned(), keep_later },
        policy: context.policy.clone(),
        seed: 0,
        flags,
        writes: None,
    };
    // Starting recovers what a crash left open, which the record below must hold already.
    let mut host = Host::start(context, request, sink)?;
    let mut kept = Vec::new();
    let mut restored = Vec::new();
    let outcome = host.bring_back(&folder, keep_later, &mut restored, &mut kept);
    let outcome = outcome.map(|()| json!({"parent": folder.id(), "restored": restored, "kept": kept}));
    let finished = host.finish(outcome, sink)?;
    Ok(RolledBack { parent: folder.id().to_owned(), restored, kept, finished })
}

impl Host<'_> {
    fn bring_back(
        &mut self,
        folder: &RunFolder,
        keep_later: bool,
        done: &mut Vec<RepoPath>,
        kept: &mut Vec<RepoPath>,
    ) -> Result<(), Error> {
        check_record(self.context, folder)?;
        check_contents(folder)?;
        let standing = standing_transactions(&moves(folder)?)?;
        let mut restored = restore_targets(folder, &standing, keep_later)?;
        self.check_permitted(&restored)?;
        let prefixes: Vec<String> = restored.paths().iter().map(ToString::to_string).collect();
        if prefixes.is_empty() {
            return Ok(());
        }
        self.lock(&prefixes)?;
        let changed = restored.changed_since(self.context, true)?;
        if keep_later {
            restored.leave_out(&changed);
            *kept = changed;
        } else if let Some(error) = refusal(&changed) {
            return Err(error.hint(format!("`nrv rollback {} --keep-later` brings back the others", folder.id())));
        }
        *done = restored.paths();
        if self.flags.dry_run || done.is_empty() {
            return Ok(());
        }
        let restored = self.undo_targets(&restored, None)?;
        self.transactions.push(restored);
        Ok(())
    }
}

impl Host<'_> {
    /// Files that programs run by themselves are brought back only where the policy of now lets a run write them: a record from
    /// elsewhere could name any.
    fn check_permitted(&self, restored: &Restored) -> Result<(), Error> {
        let permitted = &self.policy.settings().paths.allow_protected;
        let refused = |path: &&RepoPath| Some(((*path).clone(), protected::write_refusal_unless(path, permitted)?));
        let Some((path, reason)) = restored.items.keys().find_map(|path| refused(&path)) else { return Ok(()) };
        Err(Error::new(Code::ProtectedPath, format!("`{path}` is protected: {reason}"))
            .detail("path", path.as_str())
            .hint("nothing was brought back; name the path in `paths.allow_protected` of `nrv.toml` to have it brought back"))
    }
}

/// An error that names the files that are not as the transactions left them; none if all are.
fn refusal(changed: &[RepoPath]) -> Option<Error> {
    let first = changed.first()?;
    let more = if changed.len() > 1 { format!(" and {} more files", changed.len() - 1) } else { String::new() };
    let names: Vec<&str> = changed.iter().map(RepoPath::as_str).collect();
    let message = format!("`{first}`{more} changed since the run; undoing would lose that");
    Some(Error::new(Code::UndoRefused, message).detail("files", names))
}

/// An error if the chain or a manifest is not what was written: who knows what would be brought back then.
fn check_record(context: &Context, folder: &RunFolder) -> Result<(), Error> {
    let report = record::verify(&context.runs, folder, context.options.threads, &context.options.cancel)?;
    let concerns = |place: &str| place.starts_with("events.jsonl") || place.starts_with("packs/");
    let Some(finding) = report.findings.iter().find(|finding| concerns(&finding.place)) else { return Ok(()) };
    Err(Error::new(Code::RecordDamaged, format!("the record of run `{}` was altered: {finding}", folder.id()))
        .hint(format!("`nrv runs verify {}` names everything; pre-images are in its `packs` folder", folder.id())))
}

/// The records of what a run did to the tree.
fn moves(folder: &RunFolder) -> Result<Vec<Record>, Error> {
    folder.records_with(&[r#""kind":"committed""#, r#""kind":"undone""#, r#""kind":"revoked""#])
}

/// What a run did to the tree, its own undoing included: taken together, what still stands.
fn standing_transactions(records: &[Record]) -> Result<Vec<Committed>, Error> {
    let mut standing: Vec<Committed> = Vec::new();
    for record in records {
        let name = record.data["transaction"].as_str().unwrap_or_default();
        match record.kind.as_str() {
            "committed" | "undone" => {}
            "revoked" => {
                standing.retain(|committed| committed.transaction != name);
                continue;
            }
            _ => continue,
        }
        let entries = serde_json::from_value(record.data["entries"].clone())
            .map_err(|_| Error::new(Code::RecordDamaged, format!("record {} names no files", record.seq)))?;
        standing.push(Committed { transaction: name.to_owned(), entries });
    }
    Ok(standing)
}

/// Pre-images of a run that are missing or not what they were; without them it can't be rolled back.
pub fn damaged_pre_images(folder: &RunFolder) -> Vec<Finding> {
    if folder.lacks_contents().unwrap_or(false) {
        return Vec::new();
    }
    let Ok(standing) = moves(folder).and_then(|records| standing_transactions(&records)) else { return Vec::new() };
    let mut findings = Vec::new();
    for Committed { transaction, entries } in &standing {
        for (index, entry) in entries.iter().enumerate() {
            let Some(stamp) = entry.before else { continue };
            if let Err(error) = pre_image(folder, transaction, index, &stamp, &entry.path) {
                let place = format!("packs/{transaction}/pre/{index}");
                findings.push(Finding { place, reason: error.message().to_owned() });
            }
        }
    }
    findings
}

/// Files that a run changed and that are not as it left them.
pub fn changed_since(context: &Context, folder: &RunFolder) -> Vec<RepoPath> {
    let restored = moves(folder)
        .and_then(|records| standing_transactions(&records))
        .and_then(|standing| restore_targets(folder, &standing, true));
    restored.and_then(|mut restored| restored.changed_since(context, false)).unwrap_or_default()
}
