//! Diffs, plans and whole files at the door: proposed, judged, confirmed, committed and read back.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    base::{
        call::Call,
        change::{Content, Stamp},
        diff::{self, Lines, Side, Stat},
        error::{Code, Error},
        path::RepoPath,
    },
    host::{
        Event, Host, Position, Sink,
        change::{
            commit::Submitted,
            confirm::{Leave, Subject},
            confirmations::files_before,
            patch::Patch,
        },
        life::start::Origin,
    },
    record::Note,
    service::{
        apply::{self, Proposed},
        gate::Decision,
    },
    system::{
        policy::Refusal,
        workspace::{View, parallel_map},
    },
};

/// What a change of this kind is called where somebody is asked, and where the policy grants it.
const KIND: &str = "apply";

impl Host<'_> {
    /// Answers a call `apply.*` with its outcomes: one map for one file, a list for a plan or patches.
    pub(in crate::host) fn apply(
        &mut self,
        position: &Position,
        call: &Call,
        sink: &mut dyn Sink,
    ) -> Result<Value, Error> {
        let mut request = apply::Request::of(call)?;
        if self.policy.is_locked() {
            request = request.strictly();
        }
        if let Some(text) = request.notice() {
            sink.event(Event::Notice { text: text.to_owned() });
        }
        let pledges = self.pledges_of(&request)?;
        self.check_paths(position, &request, sink)?;
        let proposed = {
            let options = &self.context.options;
            let stop = self.deadline.stop();
            let ctx = apply::Context { view: self.view().until(stop), threads: options.threads, cancel: stop };
            apply::propose(&ctx, &request)
        };
        let mut proposed = proposed.map_err(|error| self.conceal(error))?;
        let patch = self.render_proposed(&proposed)?;
        let verdict = self.admit(position, Submitted { adapter: None, patch: &patch, file: None }, sink)?;
        let mut leave = Leave::default();
        if request.writes() {
            self.reserved = self.budget.reserve_change(&proposed.changes, &patch.stats)?;
            self.permit_gates(position, (&verdict, &proposed.changes, &patch), &mut leave, sink)?;
            if self.origin == Origin::Person {
                self.permit(position, subject(&proposed, &patch)?, &mut leave, sink)?;
            }
        } else {
            self.budget.check_change(&proposed.changes, &patch.stats)?;
        }
        if self.flags.dry_run || !request.writes() {
            self.check_targets(&proposed.changes)?;
            if request.writes() {
                self.preview(&proposed.changes, &patch);
            }
        } else {
            proposed.mark_written();
            self.write(position, &proposed, (&patch, &outcomes(&proposed, &request)?), leave)?;
        }
        for pledge in pledges {
            self.commit_once(position.as_str(), pledge)?;
        }
        let written = request.writes() && !self.flags.dry_run;
        sink.event(Event::Applied { files: proposed.changes.len(), written });
        outcomes(&proposed, &request)
    }

    /// Refuses what may not be written whatever becomes of it, before anything is read: an error could tell what is there.
    fn check_paths(&mut self, position: &Position, request: &apply::Request, sink: &mut dyn Sink) -> Result<(), Error> {
        let stat = |path: RepoPath| Stat { path, lines: Lines::default() };
        let files: Vec<Stat> = request.targets().into_iter().map(stat).collect();
        let verdict = self.judge(None, &files, &[]);
        if verdict.decision == Decision::Block {
            let mut patch = Patch::default();
            files.into_iter().for_each(|stat| patch.push(&[], stat));
            self.note_judged(position, Submitted { adapter: None, patch: &patch, file: None }, &verdict)?;
            self.heed(&verdict, sink)?;
        }
        for (from, to) in request.moves()? {
            if let Some(refusal) = self.hidden(&from).filter(|_| self.policy.read_refusal(&to).is_none()) {
                return Err(refusal.into_error(&from).hint(format!("`{to}` could be read, and `{from}` can't")));
            }
        }
        Ok(())
    }

    /// Why the contents of a file are kept from whoever makes this run's calls.
    fn hidden(&self, path: &RepoPath) -> Option<Refusal> {
        match self.origin {
            Origin::Script | Origin::Session => self.policy.read_refusal(path),
            Origin::Program | Origin::Person => None,
        }
    }

    /// An error without the contents of a file that a script may not read.
    fn conceal(&self, error: Error) -> Error {
        let path = error.details().get("path").and_then(Value::as_str).and_then(|path| RepoPath::parse(path).ok());
        let Some((path, refusal)) = path.and_then(|path| self.hidden(&path).map(|refusal| (path, refusal))) else {
            return error;
        };
        Error::new(
            error.code(),
            format!("the change does not fit `{path}`, of which nothing is shown: {}", refusal.reason),
        )
        .detail("path", path.as_str())
        .hint(refusal.remediation)
    }

    /// Renders a change whose pre-images are at hand.
    pub(in crate::host) fn render_proposed(&self, proposed: &Proposed) -> Result<Patch, Error> {
        let sides = proposed.changes.changes().iter().zip(&proposed.before);
        let all: Vec<_> = sides.zip(&proposed.parts).collect();
        let rendered = parallel_map(self.context.options.threads, &all, |((change, before), part)| match part {
            Some(_) => None,
            None => {
                let after = change.after.as_ref().map(Side::from);
                Some(diff::render(&change.path, before.as_ref().map(Side::from), after))
            }
        });
        let mut patch = Patch::default();
        let backups: BTreeSet<&RepoPath> = proposed.outcomes.iter().filter_map(|one| one.backup.as_ref()).collect();
        for (known, rendered) in proposed.parts.iter().zip(rendered) {
            let rendered = rendered.transpose()?;
            match known.as_ref().or(rendered.as_ref()) {
                Some((part, stat)) if backups.contains(&stat.path) => patch.push_backup(part, &stat.path),
                Some((part, stat)) => patch.push(part, stat.clone()),
                None => {}
            }
        }
        Ok(patch)
    }

    /// Writes a change, reads back what it wrote, and undoes it if that is anything else.
    pub(in crate::host) fn write(
        &mut self,
        position: &Position,
        proposed: &Proposed,
        (patch, reply): (&Patch, &Value),
        leave: Leave,
    ) -> Result<(), Error> {
        let changes = &proposed.changes;
        let paths: Vec<String> = changes.changes().iter().map(|change| change.path.to_string()).collect();
        self.lock(&paths)?;
        // The transaction looks at the files that it replaces; what only decides what they become is looked at here.
        for (path, was) in &proposed.sources {
            if was.is_some_and(|was| stamp(self.view(), path, was.is_link()).ok() != Some(was)) {
                return Err(Error::new(Code::StalePreimage, format!("`{path}` changed while it was used"))
                    .detail("path", path.as_str())
                    .hint("run it again"));
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.use_up(position, leave)?;
        let first = self.transactions.len();
        let transaction = self.commit(position, changes, &patch.bytes, Some(reply))?;
        let checked = self.read_back(proposed).and_then(|()| {
            let data = json!({"transaction": transaction, "files": proposed.changes.len()});
            self.note(Note { position: position.to_string(), kind: "checked", data, ..Note::default() })
        });
        checked.map_err(|error| self.undo_unverified(first, error))
    }

    /// Compares what is on the disk with what was to be written.
    fn read_back(&self, proposed: &Proposed) -> Result<(), Error> {
        let view = self.view();
        let wrong = parallel_map(self.context.options.threads, proposed.changes.changes(), |change| {
            let expected = change.after.as_ref().map(Content::stamp);
            let found = match stamp(view, &change.path, expected.is_some_and(|stamp| stamp.is_link())) {
                Ok(stamp) => Some(stamp),
                Err(error) if error.code() == Code::NotFound => None,
                Err(error) => return Some(format!("`{}` can't be read back: {error}", change.path)),
            };
            (found != expected).then(|| format!("`{}` is not what was written", change.path))
        });
        let mut wrong = wrong.into_iter().flatten();
        let Some(first) = wrong.next() else { return Ok(()) };
        let more = wrong.count();
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        Err(Error::new(Code::VerificationFailed, format!("{first}{more}"))
            .hint("somebody else changes these files at the same time; run it again when they are done"))
    }
}

/// What a call is told of its steps: one map for one file, else a list.
fn outcomes(proposed: &Proposed, request: &apply::Request) -> Result<Value, Error> {
    let outcomes =
        serde_json::to_value(&proposed.outcomes).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    Ok(match outcomes {
        Value::Array(mut one) if request.is_single() && one.len() == 1 => one.remove(0),
        outcomes => outcomes,
    })
}

/// What stands at a path; of a link, the link itself.
fn stamp(view: View<'_>, path: &RepoPath, is_link: bool) -> Result<Stamp, Error> {
    if is_link { view.read_entry(path).map(|link| link.stamp()) } else { view.hash(path) }
}

/// What a person is asked.
fn subject(proposed: &Proposed, patch: &Patch) -> Result<Subject, Error> {
    Ok(Subject {
        id: proposed.changes.sha256()?.to_string(),
        kind: KIND,
        label: KIND.to_owned(),
        shown: json!({"files": patch.stats}),
        patch: patch.clone(),
        files: files_before(&proposed.changes),
        empty: proposed.changes.is_empty(),
    })
}
