//! Diffs, plans and whole files at the door: proposed, judged, confirmed, committed and read back.

use serde_json::Value;

use crate::{
    Event, Host, Position, Sink,
    change::{
        judge::Submitted,
        patch::Patch,
        pipeline::Pipeline,
        read_back::{Asks, ReadBack},
    },
    terms::Terms,
};
use base::{
    call::Call,
    change::ChangeSet,
    diff::{Lines, Stat},
    error::{Code, Error},
    path::RepoPath,
};
use gate::Decision;
use service::apply::{self, Proposed};
use system::policy::Refusal;

/// The kind of this change in a confirmation, by which the policy can grant it.
const KIND: &str = "apply";

impl Host<'_> {
    /// Answers a call `apply.*` with its outcomes: one map for one file, a list for a plan or patches.
    pub(crate) fn apply(&mut self, position: &Position, call: &Call, sink: &mut dyn Sink) -> Result<Value, Error> {
        let mut request = apply::Request::of(call)?;
        if self.run.policy.is_locked() {
            request = request.strictly();
        }
        if let Some(text) = request.notice() {
            sink.event(Event::Notice { text: text.to_owned() });
        }
        let pledges = self.pledges().pledges_of(&request)?;
        self.check_paths(position, &request, sink)?;
        let proposed = {
            let options = &self.run.context.options;
            let stop = self.run.deadline.stop();
            let ctx = apply::Context { view: self.draft.view().until(stop), threads: options.threads, cancel: stop };
            apply::propose(&ctx, &request)
        };
        let mut proposed = proposed.map_err(|error| self.run.conceal(error))?;
        let patch = self.run.render_proposed(&proposed)?;
        let written = request.writes() && !self.run.flags.dry_run;
        if written {
            proposed.mark_written();
        }
        let reply = outcomes(&proposed, &request)?;
        let submitted = Submitted {
            adapter: None,
            changes: &proposed.changes,
            patch: &patch,
            file: None,
            is_trial: !request.writes(),
        };
        let asks = self.run.origin.asks_before_writing().then_some(Asks::of(KIND));
        let proof = ReadBack { proposed: &proposed, patch: &patch, reply: &reply, asks };
        self.pipeline(position, sink).change(submitted, &proof)?;
        for pledge in pledges {
            self.pledges().commit_once(position.as_str(), pledge)?;
        }
        sink.event(Event::Applied { files: proposed.changes.len(), written });
        Ok(reply)
    }

    /// Refuses what may not be written whatever becomes of it, before anything is read: an error could tell what is there.
    fn check_paths(&mut self, position: &Position, request: &apply::Request, sink: &mut dyn Sink) -> Result<(), Error> {
        self.pipeline(position, sink).check_targets(None, request.targets())?;
        for (from, to) in request.moves()? {
            if let Some(refusal) = self.run.hidden(&from).filter(|_| self.run.policy.read_refusal(&to).is_none()) {
                return Err(refusal.into_error(&from).hint(format!("`{to}` could be read, and `{from}` can't")));
            }
        }
        Ok(())
    }
}

impl Pipeline<'_, '_> {
    /// Refuses files that may not be written, before anything of them is read. The tool is the one that is to change them, if it has
    /// a name of its own.
    pub(crate) fn check_targets(&mut self, tool: Option<&str>, targets: Vec<RepoPath>) -> Result<(), Error> {
        let stat = |path: RepoPath| Stat { path, lines: Lines::default() };
        let files: Vec<Stat> = targets.into_iter().map(stat).collect();
        let verdict = self.run.judge((tool, self.tally.agents.acting()), &files, &[]);
        if verdict.decision != Decision::Block {
            return Ok(());
        }
        let mut patch = Patch::default();
        files.into_iter().for_each(|stat| patch.push(&[], stat));
        let changes = &ChangeSet::default();
        let submitted = Submitted { adapter: tool, changes, patch: &patch, file: None, is_trial: false };
        self.recorder.note_judged(self.position, submitted, &verdict)?;
        self.tally.heed(&verdict, self.sink)
    }
}

/// Returns the reply of the call: one map for one file, a list otherwise.
fn outcomes(proposed: &Proposed, request: &apply::Request) -> Result<Value, Error> {
    let outcomes =
        serde_json::to_value(&proposed.outcomes).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    Ok(match outcomes {
        Value::Array(mut one) if request.is_single() && one.len() == 1 => one.remove(0),
        outcomes => outcomes,
    })
}

impl Terms<'_> {
    /// Why the contents of a file are kept from whoever makes this run's calls.
    fn hidden(&self, path: &RepoPath) -> Option<Refusal> {
        self.policy.read_refusal(path).filter(|_| self.origin.is_kept_from_secrets())
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
}
