//! Undoing the change at one position of a run by itself, although the run and others went on from there.

use std::collections::BTreeMap;

use serde_json::json;

use super::pre_images::{check_contents, moves};
use crate::{
    Asked, Context, Flags, Host, Request, RolledBack, Sink,
    change::{
        ledger::Ledger,
        restored::{Restored, pre_image},
        transaction::Transacted,
    },
    life::rollback::{check_record, prepared},
    recorder::Recorder,
    terms::Terms,
};
use base::{
    change::{Content, Entry, Stamp},
    diff::{self, ParseOptions, Placement, Side, TakenBack, take_back},
    error::{Code, Error},
    path::RepoPath,
};
use record::{Record, RunFolder, event::Event};

/// Undoes the change that a run committed at a position, in a run of its own. Later changes stand.
///
/// `undo_refused` names a later change in the same place. In a dry run nothing is written and the result says what would be.
pub fn rollback_position(
    context: &Context,
    id: &str,
    position: &str,
    flags: Flags,
    sink: &mut dyn Sink,
) -> Result<RolledBack, Error> {
    let folder = prepared(context, id)?;
    let request = Request {
        asked: Asked::Rollback {
            parent: folder.id().to_owned(),
            keep_later: false,
            position: Some(position.to_owned()),
        },
        policy: context.policy.clone(),
        seed: 0,
        flags,
        writes: None,
    };
    let mut host = Host::start(context, request, sink)?;
    let mut restored = Vec::new();
    let Host { run, ledger, recorder, .. } = &mut host;
    let outcome = bring_back((run, ledger, recorder), &folder, position, &mut restored);
    let outcome = outcome.map(|()| json!({"parent": folder.id(), "position": position, "restored": restored}));
    let finished = host.finish(outcome, sink)?;
    let (parent, position) = (folder.id().to_owned(), Some(position.to_owned()));
    Ok(RolledBack { parent, position, restored, kept: Vec::new(), finished })
}

/// Undoes the change, and names its files.
fn bring_back(
    (run, ledger, recorder): (&Terms<'_>, &mut Ledger<'_>, &mut Recorder<'_>),
    folder: &RunFolder,
    position: &str,
    done: &mut Vec<RepoPath>,
) -> Result<(), Error> {
    let context = run.context;
    check_record(context, folder)?;
    check_contents(folder)?;
    let records = moves(folder)?;
    let history = History { folder, records: &records, position };
    let restored = history.restored(context)?;
    run.check_permitted(&restored)?;
    let prefixes: Vec<String> = restored.paths().iter().map(ToString::to_string).collect();
    if prefixes.is_empty() {
        return Ok(());
    }
    ledger.lock(run, &prefixes)?;
    // Whatever changed while this waited for the lock is looked at no more: it is refused.
    let current = restored.current(context)?;
    *done = current.paths();
    if run.flags.dry_run {
        return Ok(());
    }
    let restored = ledger.bring_back(recorder, &current, None)?;
    ledger.transactions.push(restored);
    Ok(())
}

/// The changes of a run, and the position of the one that is to be undone.
struct History<'h> {
    folder: &'h RunFolder,
    records: &'h [Record],
    position: &'h str,
}

/// A file while changes are taken back: the stamp on the disk, and the content that it gets.
type File = (Option<Stamp>, Option<Content>);

impl History<'_> {
    /// The files without the change.
    fn restored(&self, context: &Context) -> Result<Restored, Error> {
        let own: Vec<Transacted> =
            self.committed().filter(|(at, _)| *at == self.position).map(|(_, one)| one).collect();
        if own.is_empty() {
            let known: Vec<&str> = self.committed().map(|(at, _)| at).collect();
            let error = Error::new(
                Code::NotFound,
                format!("run `{}` changed nothing at position `{}`", self.folder.id(), self.position.escape_debug()),
            );
            return Err(error
                .detail("positions", known)
                .hint("`nrv runs show` lists its changes with their positions"));
        }
        let mut files: BTreeMap<RepoPath, File> = BTreeMap::new();
        for transacted in own.iter().rev() {
            for (index, entry) in transacted.entries.iter().enumerate() {
                let (disk, now) = match files.remove(&entry.path) {
                    Some(file) => file,
                    None => {
                        let now = read(context, &entry.path)?;
                        (now.as_ref().map(Content::stamp), now)
                    }
                };
                let then = self.taken_back(transacted, (index, entry), now)?;
                files.insert(entry.path.clone(), (disk, then));
            }
        }
        Ok(Restored::of(files))
    }

    /// The committed changes with their positions, without those that were revoked.
    fn committed(&self) -> impl Iterator<Item = (&str, Transacted)> {
        let revoked: Vec<&str> = self
            .records
            .iter()
            .filter_map(|record| match &record.event {
                Event::Revoked(revoked) => Some(revoked.transaction.as_str()),
                _ => None,
            })
            .collect();
        self.records.iter().filter_map(move |record| {
            let committed = record.event.committed()?;
            let stands = !revoked.contains(&committed.transaction.as_str());
            stands.then(|| (record.position.as_str(), Transacted::from(committed)))
        })
    }

    /// A file without one of its changes.
    fn taken_back(
        &self,
        transacted: &Transacted,
        (index, entry): (usize, &Entry),
        now: Option<Content>,
    ) -> Result<Option<Content>, Error> {
        let stamp = now.as_ref().map(Content::stamp);
        let before = self.before(transacted, index, entry)?;
        if stamp == entry.after {
            return Ok(before);
        }
        if stamp == entry.before {
            return Ok(now);
        }
        let (Some(before), Some(now), Some(after)) = (before, now, entry.after) else {
            return Err(self.refused(entry, None));
        };
        if after.mode != now.mode || before.mode != now.mode || now.is_link() {
            return Err(self.refused(entry, None));
        }
        let after = self.after(transacted, entry, &before)?;
        match take_back(&before.bytes, &after.bytes, &now.bytes) {
            TakenBack::Text(text) => Ok(Some(Content::new(text, now.mode))),
            TakenBack::Already => Ok(Some(now)),
            TakenBack::Conflict => {
                Err(self.refused(entry, self.needing(transacted, entry, (before, after)).as_deref()))
            }
        }
    }

    fn before(&self, transacted: &Transacted, index: usize, entry: &Entry) -> Result<Option<Content>, Error> {
        let image = |stamp: &Stamp| pre_image(self.folder, &transacted.transaction, index, stamp, &entry.path);
        entry.before.as_ref().map(image).transpose()
    }

    /// The content that a change gave a file, made again from its patch.
    fn after(&self, transacted: &Transacted, entry: &Entry, before: &Content) -> Result<Content, Error> {
        let damaged = || {
            Error::new(
                Code::RecordDamaged,
                format!("the record does not hold the change of `{}` as a patch", entry.path),
            )
            .detail("path", entry.path.as_str())
            .hint("`nrv rollback` of the whole run needs no patch")
        };
        let bytes = self.folder.read(&format!("packs/{}/patch", transacted.transaction))?;
        let patch = diff::parse(&bytes, &ParseOptions::default())?;
        let part = patch.files.iter().find(|part| part.target() == Some(&entry.path)).ok_or_else(damaged)?;
        let patched = part.apply(Some(Side::from(before)), Placement::Exact)?;
        let (bytes, mode) = patched.after.ok_or_else(damaged)?;
        // A patch keeps one bit of the mode only.
        let content = Content::new(bytes, entry.after.map_or(mode, |after| after.mode));
        if entry.after.is_some_and(|after| after == content.stamp()) { Ok(content) } else { Err(damaged()) }
    }

    /// The position of the first later change of the run that is in the place of one.
    fn needing(&self, transacted: &Transacted, entry: &Entry, (before, after): (Content, Content)) -> Option<String> {
        let mut later = self.committed().skip_while(|(_, one)| one.transaction != transacted.transaction).skip(1);
        let mut sides = (before, after);
        later.find_map(|(position, one)| {
            let (index, changed) = one.entries.iter().enumerate().find(|(_, other)| other.path == entry.path)?;
            let pre = self.before(&one, index, changed).ok().flatten()?;
            let post = self.after(&one, changed, &pre).ok()?;
            match take_back(&sides.0.bytes, &sides.1.bytes, &post.bytes) {
                TakenBack::Text(text) => {
                    sides = (Content::new(text, post.mode), post);
                    None
                }
                TakenBack::Already | TakenBack::Conflict => Some(position.to_owned()),
            }
        })
    }

    fn refused(&self, entry: &Entry, by: Option<&str>) -> Error {
        let (run, path) = (self.folder.id(), &entry.path);
        let error = |message: String| Error::new(Code::UndoRefused, message).detail("files", vec![path.as_str()]);
        match by {
            Some(by) => error(format!(
                "`{path}` was changed at position {by} in the same place; undoing position {} would lose that",
                self.position
            ))
            .detail("needed_by", by)
            .hint(format!("`nrv rollback {run} --position {by}` undoes that one first")),
            None => error(format!(
                "`{path}` changed since in the same place; undoing position {} would lose that",
                self.position
            ))
            .hint("undo the later change first, or change the file by hand"),
        }
    }
}

/// A file or link as it is; none if there is none.
fn read(context: &Context, path: &RepoPath) -> Result<Option<Content>, Error> {
    match context.workspace.read_entry(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
