//! Runs an adapter on files in memory: one JSON request a line, one JSON answer a line. Nothing is written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Adapter, Context,
    contract::{Finding, Output, Phase, SKIPPED, Skipped},
    evidence::{Evidence, Images},
    parse,
    verify::judge,
};
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
};
use system::workspace::{Overlay, View};

/// A line of input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Returned in the answer.
    pub id: Value,
    /// The invocation.
    pub input: Value,
    /// Texts by path.
    pub files: BTreeMap<String, String>,
}

/// A line of output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The request's.
    pub id: Value,
    /// The adapter's output; its verifier measured the proposed contents.
    pub output: Output,
    /// New texts of the files that changed; null for one that is removed.
    pub files: BTreeMap<String, Option<String>>,
    /// The places that the proposal leaves, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Finding>,
    /// The files that were not read, sorted by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
}

/// Proposes and measures. The context's view must be of an empty workspace, over which the request's files lie.
pub fn answer(adapter: &dyn Adapter, ctx: &Context<'_>, request: &Request) -> Result<Answer, Error> {
    let input = parse(adapter, &request.input)?;
    let mut overlay = Overlay::default();
    for (path, text) in &request.files {
        overlay.insert(RepoPath::parse(path)?, Some(Content::new(text.clone().into_bytes(), 0o644)));
    }
    let ctx = Context { view: View::new(ctx.view.workspace(), &overlay), ..*ctx };
    let proposal = match adapter.propose(&ctx, &input) {
        Ok(proposal) => proposal,
        Err(error) => return refused(&request.id, error),
    };
    let (baseline, manifest) = (proposal.baseline_record(&input), proposal.manifest_record(adapter.name()));
    let looks_at = adapter.looks_at(&input);
    let evidence = Evidence::new(looks_at, (&baseline, &manifest), Images::Proposed(&proposal.changes));
    let report = judge(&ctx, adapter, evidence)?;
    let mut files = BTreeMap::new();
    for change in proposal.changes.changes() {
        let text = change.after.as_ref().map(|content| String::from_utf8(content.bytes.to_vec())).transpose();
        let text = text.map_err(|_| {
            Error::new(Code::Unreadable, format!("the new content of `{}` is not UTF-8", change.path))
                .hint("a line of JSON holds texts only; run the adapter on a tree")
        })?;
        files.insert(change.path.to_string(), text);
    }
    let output = proposal.output(&input, Phase::DryRun, report.verdict());
    let (left, skipped) = (baseline.findings, baseline.skipped);
    Ok(Answer { id: request.id.clone(), output, files, left, skipped })
}

/// The answer of an adapter that refuses with an output of its own, and changes nothing; else its error.
fn refused(id: &Value, error: Error) -> Result<Answer, Error> {
    let detail = |key: &str| error.details().get(key).cloned().unwrap_or_default();
    let Ok(output) = serde_json::from_value(detail("output")) else { return Err(error) };
    let left = serde_json::from_value(detail("findings")).unwrap_or_default();
    let skipped = serde_json::from_value(detail(SKIPPED)).unwrap_or_default();
    Ok(Answer { id: id.clone(), output, files: BTreeMap::new(), left, skipped })
}
