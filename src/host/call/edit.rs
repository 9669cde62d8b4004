//! Micro-edits at the door: found, proposed, judged, confirmed, committed, and proven on the bytes.

use serde_json::{Value, json};

use crate::{
    Event,
    call::files::{Files, unprotected},
    change::{
        judge::Submitted,
        pipeline::{Pipeline, Proof},
        read_back::{Asks, ReadBack},
        subject::Subject,
    },
    context::check_stop,
    reply::as_value,
    reply_size::too_large,
};
use base::{
    change::Content,
    error::{Code, Error},
    json,
    micro::{Edit, Find, Handle},
    path::RepoPath,
    text::escape,
};
use service::{
    apply::Proposed,
    edit::{
        self,
        proof::{self, Span},
    },
};
use system::workspace::{Globs, View, parallel_map};

/// The kind of this change in a confirmation, by which the policy can grant it.
const KIND: &str = "edit";

/// Answers a call `edit.make` with its outcome.
pub(crate) fn make(pipeline: &mut Pipeline<'_, '_>, edit: &Edit) -> Result<Value, Error> {
    let tool = Some(edit.tool.as_str());
    pipeline.check_targets(tool, vec![RepoPath::parse(&edit.path)?])?;
    let run = pipeline.run;
    let stop = run.deadline.stop();
    let proposal = edit::propose(pipeline.draft.view().until(stop), edit, &|| check_stop(stop))?;
    let edit::Proposal { changes, before, span, mut outcome } = proposal;
    for warning in &outcome.warnings {
        pipeline
            .sink
            .event(Event::Notice { text: format!("warning: {}: {}.", escape(&outcome.path), escape(warning)) });
    }
    outcome.written = !run.flags.dry_run && !changes.is_empty();
    let (parts, sources, outcomes) = (vec![None; changes.len()], Vec::new(), Vec::new());
    let images = changes.changes().iter().map(|_| Some(before.clone())).collect();
    let proposed = Proposed { changes, before: images, parts, sources, outcomes };
    let patch = run.render_proposed(&proposed)?;
    let reply = as_value(&outcome)?;
    let changes = &proposed.changes;
    let submitted = Submitted { adapter: tool, changes, patch: &patch, file: None, is_trial: false };
    let asks = run.origin.asks_before_writing().then_some(Asks::of(KIND));
    let read_back = ReadBack { proposed: &proposed, patch: &patch, reply: &reply, asks };
    let proof = Proven { read_back, before: &before, span: &span, path: &outcome.path };
    pipeline.change(submitted, &proof)?;
    pipeline.sink.event(Event::Applied { files: changes.len(), written: outcome.written });
    Ok(reply)
}

/// An edit that is read back, and compared byte for byte with the file as it was.
struct Proven<'p> {
    read_back: ReadBack<'p>,
    before: &'p Content,
    span: &'p Span,
    path: &'p RepoPath,
}

impl Proven<'_> {
    /// Proves that what a tree has now differs in the span of the edit only.
    fn prove(&self, view: View<'_>) -> Result<(), Error> {
        proof::prove(&self.before.bytes, &view.read(self.path)?.bytes, self.span)
    }
}

impl Proof for Proven<'_> {
    fn question(&self) -> Result<Option<Subject>, Error> {
        self.read_back.question()
    }

    fn prepare(&self, pipeline: &mut Pipeline<'_, '_>, waited: bool) -> Result<(), Error> {
        self.read_back.prepare(pipeline, waited)
    }

    fn reply(&self) -> Option<&Value> {
        self.read_back.reply()
    }

    fn replies_with_contents(&self) -> bool {
        true
    }

    fn verifies_empty(&self) -> bool {
        false
    }

    fn try_out(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        self.read_back.try_out(pipeline)
    }

    fn preview(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        let after = self.read_back.proposed.changes.changes().first().and_then(|change| change.after.as_ref());
        if let Some(after) = after {
            proof::prove(&self.before.bytes, &after.bytes, self.span)?;
        }
        self.read_back.preview(pipeline)
    }

    fn verify(&self, pipeline: &mut Pipeline<'_, '_>, transaction: Option<&str>) -> Result<Value, Error> {
        if transaction.is_some() {
            self.prove(pipeline.draft.view())?;
        }
        self.read_back.verify(pipeline, transaction)
    }
}

impl Files<'_> {
    /// Answers a call `edit.find` with handles, in the order of paths and places. Files of other formats are passed over.
    pub(crate) fn find_targets(&self, find: &Find) -> Result<Value, Error> {
        let globs = unprotected(Globs::parse(&find.patterns)?)?;
        let mut paths = self.view().list(&globs, self.context.options.threads)?.paths;
        paths.retain(|path| edit::knows(path.as_str()) && self.readable(path.as_str()).is_ok());
        let pulse = || self.stop.map_or(Ok(()), check_stop);
        let search = |path: &RepoPath| -> Result<Vec<Handle>, Error> {
            pulse()?;
            let content = self.view().read(path)?;
            // What is no text has no targets.
            let Ok(text) = edit::text_of(path, &content.bytes) else { return Ok(Vec::new()) };
            let seen = self.seen(text);
            // Behind a secret of several lines no place would be right.
            if seen.lines().count() != text.lines().count() {
                return Ok(Vec::new());
            }
            match edit::find(path.as_str(), &seen, find, &pulse) {
                Err(error) if error.code() == Code::InvalidInput && paths.len() > 1 => Ok(Vec::new()),
                found => found,
            }
        };
        let mut all = Vec::new();
        for found in parallel_map(self.context.options.threads, &paths, search) {
            all.extend(found?);
        }
        let reply = json!(all);
        let size = json::weight(&reply);
        if size > self.most {
            return Err(
                too_large("the list of targets", size, self.most).hint("narrow the globs, or give a name or text")
            );
        }
        Ok(reply)
    }
}
