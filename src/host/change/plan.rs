//! Plans: what a workflow would do, as a file that a person reviews and that is then carried out as it was reviewed.
//!
//! A plan names neither the run that made it nor a time: the same inputs give the same bytes. Its hash finds edits and
//! damage, not a forger, who would compute it again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    draft::{Draft, Previewed},
    patch::Patch,
};
use crate::{Context, Finished, change::draft::Preview, terms::Terms};
use base::{
    call::{Blob, PlannedFile},
    change::{Change, Content, Entry},
    diff::Stat,
    error::{Code, Error},
    hash::Sha256,
    json,
    path::RepoPath,
};
use gate::{Decision, GateResult};
use record::event;

/// The version of the form that plans have.
const FORMAT: u64 = 1;

/// The key that tells a plan from other JSON, and its hash.
const FORMAT_KEY: &str = "format";
const HASH_KEY: &str = "sha256";

/// The gate that says what a plan should not hold.
const SECRETS: &str = "secrets";

/// The changes that a workflow would make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of this form.
    pub format: u64,
    /// The version of nrv that made it.
    pub version: String,
    /// The work that was run, such as a script with the hashes of its sources and its arguments.
    pub asked: event::Asked,
    /// The seed of everything that was chosen by chance.
    pub seed: u64,
    /// The workspace's policy, before a script's header tightened it.
    pub policy_sha256: Sha256,
    /// The commit; null without git or before the first commit.
    pub git_head: Option<String>,
    /// The results of gates that did not stop the run.
    pub results: Vec<GateResult>,
    /// The questions that an applying run would have asked.
    pub would_ask: Vec<event::Question>,
    /// The files that would change, sorted by path.
    pub files: Vec<PlannedFile>,
    /// Lines added and removed together.
    pub diff_lines: u64,
    /// The hash of all diffs, one after the other.
    pub patch_sha256: Sha256,
}

impl Plan {
    /// The plan that a finished dry run in this workspace amounts to.
    ///
    /// A plan holds exactly what is to be written, and goes from hand to hand. So one that would add a secret is `blocked`, unless
    /// the policy or its line allows it.
    pub fn of(context: &Context, finished: &Finished) -> Result<Self, Error> {
        let Some(preview) = finished.preview.as_ref().filter(|_| finished.error.is_none()) else {
            return Err(Error::new(Code::InvalidInput, "only a dry run that came to its end can be a plan"));
        };
        Plan::of_preview(context, &finished.run, preview, &finished.would_ask)
    }

    /// The plan that a dry run amounts to so far.
    pub(crate) fn of_preview(
        context: &Context,
        run: &str,
        preview: &Preview,
        would_ask: &[event::Question],
    ) -> Result<Self, Error> {
        refuse_secrets(&preview.results)?;
        let records = context.runs.open(run)?.records()?;
        let Some(started) = records.first().and_then(|record| record.event.run_started()) else {
            return Err(Error::new(Code::Internal, "the run has no record"));
        };
        let files = preview.entries.iter().zip(preview.patch.parts());
        Ok(Plan {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            asked: started.asked.clone(),
            seed: started.seed,
            policy_sha256: context.policy.sha256(),
            git_head: started.volatile.git_head.clone().flatten(),
            results: preview.results.clone(),
            would_ask: would_ask.to_vec(),
            files: files.map(planned).collect(),
            diff_lines: preview.size().1,
            patch_sha256: Sha256::of(&preview.patch.bytes),
        })
    }

    /// The plan as a file holds it, and the hash of everything else that this names.
    pub fn to_json(&self) -> Result<(Vec<u8>, Sha256), Error> {
        let internal = |error: serde_json::Error| Error::new(Code::Internal, error.to_string());
        let mut value = serde_json::to_value(self).map_err(internal)?;
        let sha256 = sealed(&value)?;
        value[HASH_KEY] = Value::from(sha256.to_string());
        let mut bytes = serde_json::to_vec_pretty(&value).map_err(internal)?;
        bytes.push(b'\n');
        Ok((bytes, sha256))
    }

    /// True if a document says of itself that it is a plan.
    pub fn is_one(document: &Value) -> bool {
        document.get(FORMAT_KEY).is_some()
    }

    /// Reads a plan; one that is not as it was written is `record_damaged`.
    pub fn parse(mut document: Value) -> Result<Self, Error> {
        let format = document[FORMAT_KEY].clone();
        if format != FORMAT {
            return Err(Error::new(Code::InvalidInput, format!("the plan has the format {format}, not {FORMAT}"))
                .hint("make it again with this version of nrv"));
        }
        let damaged = |why: String| {
            Error::new(Code::RecordDamaged, format!("the plan is not as it was written: {why}"))
                .hint("make it again with `nrv plan`; what it says can't be changed by hand")
        };
        let named = document.as_object_mut().and_then(|map| map.remove(HASH_KEY)).unwrap_or_default();
        let found = sealed(&document).map_err(|error| damaged(error.message().to_owned()))?;
        if named != found.to_string() {
            return Err(damaged(format!("it names the hash {named}, and has {found}"))
                .detail("expected", named)
                .detail("found", found.to_string()));
        }
        serde_json::from_value(document).map_err(|error| damaged(error.to_string()))
    }
}

fn refuse_secrets(results: &[GateResult]) -> Result<(), Error> {
    let adds = |result: &&GateResult| result.gate_name == SECRETS && result.decision > Decision::Warn;
    match results.iter().find(adds) {
        Some(result) => Err(Error::new(Code::Blocked, format!("the plan would hold {}", result.reason))
            .detail("gates", [SECRETS])
            .detail("rules", result.triggered_rules.clone())
            .hint(result.remediation.clone().unwrap_or_default())),
        None => Ok(()),
    }
}

/// The hash of everything but the hash.
fn sealed(document: &Value) -> Result<Sha256, Error> {
    json::canonical_value(document).map(|text| Sha256::of(text.as_bytes()))
}

fn planned((entry, (part, _)): (&Entry, (&[u8], &Stat))) -> PlannedFile {
    let path = entry.path.to_string();
    PlannedFile { path, before: entry.before, after: entry.after, diff: Blob::new(part.to_vec()) }
}

impl Draft<'_> {
    /// Returns the result of a dry run. Parts that several steps made are rendered again.
    pub(crate) fn all_previewed(&self, run: &Terms<'_>, violations: &[GateResult]) -> Result<Preview, Error> {
        let proposed = &self.proposed;
        let entry = |(path, file): (&RepoPath, &Previewed)| Entry {
            path: path.clone(),
            before: file.before,
            after: file.after.as_ref().map(Content::stamp),
        };
        let entries = proposed.iter().map(entry).collect();
        let again = proposed.iter().filter(|(_, file)| file.part.is_none());
        let again: Vec<Change> = again
            .map(|(path, file)| Change { path: path.clone(), before: file.before, after: file.after.clone() })
            .collect();
        let again = run.render(self.context.view(), &again)?;
        let mut again = again.parts();
        let mut patch = Patch::default();
        for file in proposed.values() {
            match &file.part {
                Some((part, stat)) => patch.push(part, stat.clone()),
                None => again.next().into_iter().for_each(|(part, stat)| patch.push(part, stat.clone())),
            }
        }
        Ok(Preview { entries, patch, results: violations.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written() -> Value {
        let file = PlannedFile {
            path: "a.txt".to_owned(),
            before: Some(Content::new(b"old\n".to_vec(), 0o644).stamp()),
            after: None,
            diff: Blob::new(b"\xff".to_vec()),
        };
        let plan = Plan {
            format: FORMAT,
            version: "1".to_owned(),
            asked: event::Asked::Program { name: "p".to_owned() },
            seed: 7,
            policy_sha256: Sha256::of(b"policy"),
            git_head: None,
            results: Vec::new(),
            would_ask: Vec::new(),
            files: vec![file],
            diff_lines: 1,
            patch_sha256: Sha256::of(b"\xff"),
        };
        let (bytes, sha256) = plan.to_json().unwrap();
        let written: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(written[HASH_KEY], sha256.to_string());
        assert_eq!(Plan::parse(written.clone()).unwrap(), plan);
        written
    }

    #[track_caller]
    fn refuses(code: Code, edit: impl FnOnce(&mut Value)) {
        let mut edited = written();
        edit(&mut edited);
        assert_eq!(Plan::parse(edited).unwrap_err().code(), code);
    }

    #[test]
    fn an_edited_plan_is_damaged() {
        refuses(Code::RecordDamaged, |plan| plan["seed"] = json!(8));
        refuses(Code::RecordDamaged, |plan| plan["files"][0]["path"] = json!("b.txt"));
        refuses(Code::RecordDamaged, |plan| plan["files"] = json!([]));
        refuses(Code::RecordDamaged, |plan| plan["extra"] = json!(1));
        refuses(Code::RecordDamaged, |plan| plan[HASH_KEY] = json!(Sha256::of(b"x")));
        refuses(Code::RecordDamaged, |plan| drop(plan.as_object_mut().and_then(|map| map.remove(HASH_KEY))));
    }

    #[test]
    fn a_plan_of_another_form_is_not_guessed_at() {
        refuses(Code::InvalidInput, |plan| plan[FORMAT_KEY] = json!(2));
        assert!(Plan::is_one(&written()) && !Plan::is_one(&json!({"diffs": []})) && !Plan::is_one(&json!(7)));
    }
}
