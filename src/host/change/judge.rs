//! The first step: gates judge a change. Nothing is written, and nothing is paid for yet.

use super::{patch::Patch, pipeline::Pipeline};
use crate::{Position, recorder::Recorder};
use base::{change::ChangeSet, error::Error, hash::Sha256, span::span};
use gate::Verdict;
use record::{
    Note,
    event::{self, Event, JudgedPatch},
};

/// A change that is submitted to the pipeline.
#[derive(Clone, Copy)]
pub struct Submitted<'c> {
    /// The adapter that proposed it, if one did.
    pub(crate) adapter: Option<&'c str>,
    pub(crate) changes: &'c ChangeSet,
    pub(crate) patch: &'c Patch,
    /// Where in the run's folder the patch stands, unless it shows a secret there.
    pub(crate) file: Option<&'c str>,
    /// True for a change that is tried and written by nobody, also in a run that applies.
    pub(crate) is_trial: bool,
}

/// A change that no gate stops.
pub struct Judged<'c> {
    submitted: Submitted<'c>,
    verdict: Verdict,
}

impl<'c> Judged<'c> {
    /// Judges a change, with the adapter that proposed it if one did. A gate that blocks it is an error.
    pub fn of(pipeline: &mut Pipeline<'_, '_>, submitted: Submitted<'c>) -> Result<Self, Error> {
        let _span = span!("judge", files = submitted.changes.len()).entered();
        let Pipeline { run, recorder, tally, position, sink, .. } = pipeline;
        let verdict =
            run.judge((submitted.adapter, tally.agents.acting()), &submitted.patch.stats, &submitted.patch.texts());
        recorder.note_judged(position, submitted, &verdict)?;
        tally.heed(&verdict, *sink)?;
        Ok(Judged { submitted, verdict })
    }

    pub(super) fn submitted(&self) -> Submitted<'c> {
        self.submitted
    }

    pub(super) fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

impl Recorder<'_> {
    /// Records what the gates said of a patch, with the patch, so that they can be asked again.
    pub(crate) fn note_judged(
        &mut self,
        position: &Position,
        Submitted { adapter, patch, file, .. }: Submitted<'_>,
        verdict: &Verdict,
    ) -> Result<(), Error> {
        let sha256 = Sha256::of(&patch.bytes);
        let written = match file {
            Some(path) => Some(self.folder.file_ref(path)?).filter(|file| file.sha256 == sha256),
            None => None,
        };
        let place = match written {
            Some(file) => JudgedPatch::File(file),
            None => JudgedPatch::Kept(self.kept_bytes(&patch.bytes)?),
        };
        let judged = event::Judged {
            adapter: adapter.map(str::to_owned),
            files: self.packed(&patch.rows(), false)?,
            patch: place,
            run_lines_so_far: self.budget.lines(),
            decision: verdict.decision,
            results: verdict.remarks().cloned().map(Into::into).collect(),
        };
        self.note(Note::at(position.as_str(), Event::Judged(judged.into())))
    }
}
