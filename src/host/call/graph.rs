//! Graphs at the door: a graph is checked before any node begins, and each node has its place in the record.

use serde_json::{Value, json};

use crate::{
    call::ahead::{declared, work_ahead},
    change::pipeline::Pipeline,
    terms::Terms,
};
use base::{
    call::{Call, Node, Work, check_nodes},
    error::{Code, Error},
    path::RepoPath,
    text::first_file,
};
use gate::Decision;
use system::{
    policy::Refusal,
    workspace::{Globs, View},
};

/// The rules that bound the files which a run may write at all.
const BOUNDS: &[&str] = &["header.permissions.write", "paths.write"];

/// Answers a call `dag.*`.
pub(crate) fn graph(pipeline: &mut Pipeline<'_, '_>, call: &Call) -> Result<Value, Error> {
    match call {
        Call::DagBegin { nodes } => {
            check(pipeline.run, nodes, pipeline.draft.view())?;
            return Ok(json!({"mode": pipeline.run.mode()}));
        }
        Call::DagEnter { node } => {
            if pipeline.tally.graphs.enter(node)? {
                let together = pipeline.tally.graphs.together();
                work_ahead(pipeline, &together)?;
            }
        }
        _ => pipeline.tally.graphs.check_open()?,
    }
    Ok(Value::Null)
}

/// Checks a graph before any node begins: the ids, the graph's form, and what gates and bounds say of each node's call.
fn check(run: &Terms<'_>, nodes: &[Node], view: View<'_>) -> Result<(), Error> {
    check_nodes(nodes)?;
    for node in nodes {
        let Some(call) = node.call()? else { continue };
        let verdict = run.judge_call(&call);
        let allowed = match verdict.decision {
            Decision::Block => {
                Err(verdict.into_error().unwrap_or_else(|| Error::new(Code::Blocked, "a gate blocks this")))
            }
            Decision::Allow | Decision::Warn | Decision::RequireConfirmation => Ok(()),
        };
        let checked =
            allowed.and_then(|()| declared(run, node, view)).and_then(|globs| check_writes(run, node, &globs, view));
        checked.map_err(|error| error.within(format!("node `{}`", node.id)))?;
    }
    Ok(())
}

/// Checks that the run may write every file that matches; those of an adapter that are none of its domain don't count.
fn check_writes(run: &Terms<'_>, node: &Node, globs: &[String], view: View<'_>) -> Result<(), Error> {
    let work = node.work()?;
    if globs.is_empty() || matches!(work, Work::Edit(_)) {
        return Ok(());
    }
    let domain = match &work {
        Work::Adapter { tool, .. } => Some(Globs::parse(&run.context.options.adapters.find(tool)?.domain())?),
        _ => None,
    };
    let refusal = |path: &RepoPath| {
        let refusal = run.policy.write_refusal(path)?;
        BOUNDS.contains(&refusal.rule.as_str()).then_some((path.to_string(), refusal))
    };
    let mut found = view.list(&Globs::parse(globs)?, run.context.options.threads)?.paths;
    found.retain(|path| domain.as_ref().is_none_or(|domain| domain.matches(path)));
    let (names, refusals): (Vec<String>, Vec<Refusal>) = found.iter().filter_map(refusal).unzip();
    let Some((named, refusal)) = first_file(&names).zip(refusals.into_iter().next()) else { return Ok(()) };
    let message = format!("it says that it may change {named}, but {}", refusal.reason);
    Err(Error::new(Code::PermissionDenied, message)
        .detail("files", names)
        .detail("rule", refusal.rule)
        .hint("narrow its target or `writes`, or permit more in the script's `WORKFLOW`"))
}
