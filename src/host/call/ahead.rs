//! Work of a graph's nodes that is done before their turn, at the same time: proposals are made, and commands run on views of the tree.
//!
//! Nothing of it has an effect. When its turn comes, each node's call is judged, paid for and answered as any other, with what is here
//! in place of the work. Which nodes begin together depends on the graph alone, so that the number of threads changes nothing.

use super::{
    adapter::{invocation, propose},
    exec,
};
use crate::{
    Position,
    ahead::Early,
    change::{freshness::moment, pipeline::Pipeline},
    terms::Terms,
};
use adapter::{contract::Invocation, source::Source};
use base::{
    call::{Call, Node, Run, Work},
    error::{Code, Error},
    path::{RepoPath, prefix},
};
use gate::Decision;
use system::workspace::{Globs, View, parallel_map};

/// The work of a node that can be done before its turn.
enum Job {
    Propose(Invocation),
    Command(Call, Box<Run>),
}

/// Does the work of nodes that begin together. A node waits for its turn if it says so, if a gate has something to say, or if a node in
/// front of it may change the same files.
pub(super) fn work_ahead(pipeline: &mut Pipeline<'_, '_>, together: &[Node]) -> Result<(), Error> {
    let mut claimed: Vec<String> = Vec::new();
    let mut jobs = Vec::new();
    for node in together {
        // What may change anything keeps all that come after it waiting.
        let Some(call) = node.call()? else {
            if matches!(node.work()?, Work::Gate { .. }) {
                continue;
            }
            break;
        };
        let prefixes = prefix::prefixes(&declared(pipeline.run, node, pipeline.draft.view())?);
        let is_free = node.parallelizable && !prefix::overlap(&claimed, &prefixes);
        claimed.extend(prefixes);
        let position = first_call(pipeline.position, node);
        if is_free
            && may_begin(pipeline, &position, &call)
            && let Some(job) = job(pipeline, &call)?
        {
            jobs.push((position, job));
        }
    }
    // One alone is done when its turn comes.
    if jobs.len() < 2 {
        return Ok(());
    }
    let (mut commands, mut proposals) = (Vec::new(), Vec::new());
    for (position, job) in jobs {
        match job {
            Job::Command(call, run) => commands.push((position, call, run)),
            Job::Propose(invocation) => proposals.push((position, invocation)),
        }
    }
    propose_ahead(pipeline, proposals);
    let limits = together.iter().filter_map(|node| match node.work() {
        Ok(Work::Exec(run)) => Some(exec::limit_ms(pipeline.run, &run)),
        _ => None,
    });
    let longest = limits.max().unwrap_or_default();
    run_ahead(pipeline, commands, longest)
}

/// The globs of the files that the node says that it may change.
pub(super) fn declared(run: &Terms<'_>, node: &Node, view: View<'_>) -> Result<Vec<String>, Error> {
    Ok(match node.work()? {
        Work::Adapter { tool, input } => invocation(run, view, tool, &input)?.target.globs(view)?.patterns().to_vec(),
        Work::Exec(run) => run.writes,
        Work::Edit(edit) => vec![Globs::literal(&RepoPath::parse(&edit.path)?)],
        Work::Proposal { .. } | Work::Gate { .. } | Work::Agent { .. } | Work::Script(_) => Vec::new(),
    })
}

/// The position of a node's first call, by that at which a node of the same graph begins.
fn first_call(begins: &Position, node: &Node) -> Position {
    let graph = begins.as_str().rsplit_once('.').map_or("", |(graph, _)| graph);
    Position::from(format!("{graph}.{}.1", node.id))
}

/// True if nothing stands in the way of the call, which was not made in a former session.
fn may_begin(pipeline: &Pipeline<'_, '_>, position: &Position, call: &Call) -> bool {
    let is_new = pipeline.recorder.past.as_ref().is_none_or(|past| !past.knows(position));
    let passes = || matches!(pipeline.run.judge_call(call).decision, Decision::Allow | Decision::Warn);
    is_new && passes() && pipeline.tally.unverified.admit(call).is_ok()
}

/// The work of a call; none if it is no work that can be done before its turn.
fn job(pipeline: &mut Pipeline<'_, '_>, call: &Call) -> Result<Option<Job>, Error> {
    match call {
        Call::ExecRun(run) => Ok(Some(Job::Command(call.clone(), run.clone()))),
        Call::DtaRun { tool, input } => {
            let Pipeline { run, draft, sink, .. } = pipeline;
            let adapter = run.context.options.adapters.find(tool)?;
            let invocation = invocation(run, draft.view(), tool, input)?;
            let asks = !run.policy.settings().language_servers.is_empty() && adapter.asks_servers(&invocation);
            let is_trusted = !adapter.source().is_some_and(Source::starts_program) || run.trusted(*sink).is_ok();
            Ok(Some(Job::Propose(invocation)).filter(|_| is_trusted && !asks))
        }
        _ => Ok(None),
    }
}

/// Makes proposals. One that fails is made when its turn comes, which says why.
fn propose_ahead(pipeline: &mut Pipeline<'_, '_>, invocations: Vec<(Position, Invocation)>) {
    let Pipeline { run, recorder, draft, ledger, turn, .. } = pipeline;
    let (run, view, id) = (*run, draft.view(), recorder.run_id());
    let (from, began) = (ledger.transactions.len(), moment(recorder));
    let made = parallel_map(run.context.options.threads, &invocations, |(_, invocation)| {
        let adapter = run.context.options.adapters.find(&invocation.tool)?;
        let proposal = propose((run, view, id), adapter, invocation)?;
        let seen = run.see(began, &proposal.baseline.files);
        Ok::<_, Error>((proposal, seen))
    });
    for ((position, invocation), made) in invocations.into_iter().zip(made) {
        if let Ok((proposal, seen)) = made {
            turn.ahead.proposals.insert(position.to_string(), Early { invocation, proposal, seen, from });
        }
    }
}

/// Runs commands, as many as the budget has whole time limits for, and for one more that waits for its turn. The error of one that can't
/// begin comes when its turn does.
fn run_ahead(
    pipeline: &mut Pipeline<'_, '_>,
    commands: Vec<(Position, Call, Box<Run>)>,
    longest: u64,
) -> Result<(), Error> {
    let mut orders = Vec::new();
    // A command that no call would be left for is not run: each node takes three.
    if !pipeline.run.budget.has_calls(3 * commands.len()) {
        return Ok(());
    }
    for (position, call, run) in commands {
        if !pipeline.run.budget.has_exec(exec::limit_ms(pipeline.run, &run).saturating_add(longest)) {
            break;
        }
        match exec::begin(pipeline, position, &call, &run) {
            Ok(order) => orders.push(order),
            Err(error) if error.code() == Code::RecordUnwritable => return Err(error),
            Err(_) => break,
        }
    }
    let outcomes = exec::carry_out(pipeline, &orders);
    let done = orders.into_iter().zip(outcomes).map(|(order, outcome)| (order.position.to_string(), (order, outcome)));
    pipeline.turn.ahead.commands.extend(done);
    Ok(())
}
