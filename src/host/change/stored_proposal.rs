//! The proposal of an adapter, kept until it is applied.

use serde_json::{Value, json};

use crate::{
    Event, Work,
    change::{
        confirmations::files_before,
        freshness::Seen,
        patch::Patch,
        subject::{DTA_APPLY, Subject},
    },
};
use adapter::contract::{Invocation, Proposal};
use base::{diff::Stat, error::Error, json};
use record::FileRef;

/// A proposal that the host keeps; scripts only have its description.
#[derive(Debug)]
pub(crate) struct StoredProposal {
    pub(crate) invocation: Invocation,
    /// The description of the proposal, as the script received it.
    pub(crate) reply: Value,
    pub(crate) id: String,
    pub(crate) proposal: Proposal,
    pub(crate) patch: Patch,
    /// When the adapter began to look, and what the files that it looked at were like afterwards.
    pub(crate) seen: Seen,
    /// The baseline and the plan, which the verifier reads.
    pub(crate) baseline: FileRef,
    pub(crate) planned: FileRef,
    /// The path of the patch in the run's folder.
    pub(crate) patch_path: String,
}

impl StoredProposal {
    /// A proposal with its id and description. The files are the baseline, the manifest and the patch.
    pub(crate) fn new(
        invocation: Invocation,
        proposal: Proposal,
        patch: Patch,
        seen: Seen,
        [baseline, planned, file]: [FileRef; 3],
    ) -> Result<Self, Error> {
        let id = json::sha256(&json!({"input": invocation, "changes": proposal.changes.entries()}))?.to_string();
        let patch_path = file.path;
        let mut stored =
            StoredProposal { invocation, reply: Value::Null, id, proposal, patch, seen, baseline, planned, patch_path };
        // As the script is told it, who hands it back.
        stored.reply = json::as_recorded(stored.describe());
        Ok(stored)
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject {
            id: self.id.clone(),
            kind: DTA_APPLY,
            label: format!("apply {}", self.invocation.tool),
            shown: self.reply.clone(),
            patch: self.patch.clone(),
            files: files_before(&self.proposal.changes),
            empty: self.proposal.changes.is_empty(),
        }
    }

    /// Returns the memory that the proposal holds, in bytes: new contents and the patch.
    pub(crate) fn bytes(&self) -> u64 {
        let after = self.proposal.changes.changes().iter().filter_map(|change| change.after.as_ref());
        after.map(|content| content.bytes.len() as u64).sum::<u64>() + self.patch.bytes.len() as u64
    }

    /// The event that tells that work on the proposal's files begins.
    pub(crate) fn begins(&self, phase: Work) -> Event {
        // The verifier looks at every file that was looked at.
        let files = match phase == Work::Apply {
            true => self.proposal.changes.len(),
            false => self.proposal.baseline.files.len(),
        };
        Event::DtaProgress { tool: self.invocation.tool.clone(), phase, done: 0, total: files as u64 }
    }

    pub(crate) fn artifacts(&self) -> Vec<String> {
        vec![self.baseline.path.clone(), self.planned.path.clone(), self.patch_path.clone()]
    }

    /// The description of the proposal.
    fn describe(&self) -> Value {
        let findings = &self.proposal.baseline.findings;
        let row = |stat: &Stat| json!({"path": stat.path, "added": stat.lines.added, "removed": stat.lines.removed});
        let mut description = json!({
            "id": self.id,
            "tool": self.invocation.tool,
            "version": self.invocation.version,
            "phase": "propose",
            "baseline": self.proposal.baseline.counts,
            "skipped": self.proposal.baseline.skipped,
            "proposed_changes": self.proposal.counts,
            "files": self.patch.stats.iter().map(row).collect::<Vec<_>>(),
            "artifacts": self.artifacts(),
            "patch": self.patch_path,
        });
        if !findings.is_empty() {
            description["findings"] = json!(findings);
        }
        if !self.proposal.baseline.settings.is_empty() {
            description["settings"] = json!(self.proposal.baseline.settings);
        }
        description
    }
}
