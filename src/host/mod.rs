//! The one door: [`Host::perform`] answers every call of a run, and nobody reaches a service around it.
//!
//! A [`Host`] is one run: its record, its lease, its budgets, its overlay. A [`Context`] is what runs have in common.

mod budget;
mod call;
mod change;
mod commitment;
mod context;
mod evaluator;
mod life;
mod perform;
mod position;
mod redact;
mod replay;
mod reply;
mod sink;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

pub use self::{
    budget::Demand,
    call::{
        adapter::describe_adapter,
        custom::{Calls, CustomCall, CustomContext},
        llm::{
            Tape, Told,
            provider::Orchestrators,
            providers::{Listed, Probed, Reached, probe_provider, providers, reach_provider},
            tape_of,
        },
        verifier::{Verified, verify_again},
    },
    change::{
        approve::signed_by_approver,
        plan::{Plan, Preview},
    },
    commitment::{Commitment, Maker, VerifiedRun, commitments, count_sentence, verify_run},
    context::{CI, Context, Flags, Options, Progress, is_on},
    evaluator::Evaluation,
    life::{
        finish::{Finished, State},
        init::{
            FIRST_SCRIPT, Hook, HookState, Installed, Kept, SetUp, installed_hook, propose_approvals, propose_hook,
            propose_set_up, remove_hook, set_up,
        },
        outcome::{Overview, overview, overviews, summary},
        probe::{Records, VerifierProbe, WorkspaceProbe, probe_verifier, probe_workspace},
        recover::{Recovery, recover, unrecovered},
        resume::{Resumption, Ruling, reject, resume_call},
        retention::{Collected, Removed, collect, export, import},
        rollback::{RolledBack, changed_since, damaged_pre_images, rollback},
        run_json::Started,
        start::{Asked, Input, Request, Source},
        statistics::{Broken, Rates, Spread, Stats, Tries, stats},
        suggest::{Suggested, Suggestion, suggest},
        trust::{Keeper as TrustKeeper, Trust, UNTRUSTED, Wanted, may_be_asked, question as trust_question, untrusted},
        waiting::{Waiting, waiting},
    },
    position::{Position, Positions},
    replay::{Difference, Divergence, Judges, Opened, Parting, Reach, Replay, Replayed, RuleAt, Trial},
    reply::canonical_records,
    sink::{Answer, Event, Question, Silent, Sink, Work},
};

/// The steps of a change, in their only order. No program outside can begin one; the examples hold that the order can't be broken.
///
/// ```
/// use nrv::host::pipeline::{Judged, Pipeline, Proof, Submitted, Verified};
/// # use nrv::Error;
///
/// fn change(pipeline: &mut Pipeline<'_, '_>, submitted: Submitted<'_>, proof: &dyn Proof) -> Result<Verified, Error> {
///     let permitted = Judged::of(pipeline, submitted)?.reserve(pipeline)?.permit(pipeline, proof)?;
///     permitted.commit(pipeline, proof)?.verify(pipeline, proof)
/// }
/// ```
///
/// A change that was judged and not paid for can't be permitted:
///
/// ```compile_fail,E0599
/// # use nrv::host::pipeline::{Judged, Pipeline, Proof};
/// fn skip(judged: Judged<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = judged.permit(pipeline, proof);
/// }
/// ```
///
/// One that nobody has permitted can't be committed:
///
/// ```compile_fail,E0599
/// # use nrv::host::pipeline::{Pipeline, Proof, Reserved};
/// fn skip(reserved: Reserved<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = reserved.commit(pipeline, proof);
/// }
/// ```
///
/// One that is not committed can't be verified:
///
/// ```compile_fail,E0599
/// # use nrv::host::pipeline::{Permitted, Pipeline, Proof};
/// fn skip(permitted: Permitted<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = permitted.verify(pipeline, proof);
/// }
/// ```
///
/// No step can be done twice:
///
/// ```compile_fail,E0382
/// # use nrv::host::pipeline::{Permitted, Pipeline, Proof};
/// fn twice(permitted: Permitted<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = permitted.commit(pipeline, proof);
///     let _ = permitted.commit(pipeline, proof);
/// }
/// ```
///
/// And no step can be made by hand:
///
/// ```compile_fail,E0451
/// # use nrv::host::pipeline::{Judged, Reserved};
/// fn forge(judged: Judged<'_>) -> Reserved<'_> {
///     Reserved { judged }
/// }
/// ```
#[doc(hidden)]
pub mod pipeline {
    pub use super::change::{
        Pipeline, Proof,
        commit::Committed,
        confirm::Subject,
        judge::{Judged, Submitted},
        permit::Permitted,
        reserve::Reserved,
        verify::Verified,
    };
}

use self::{
    budget::{Budget, Cost, Deadline},
    call::{adapter::StoredProposal, attempt::Attempts, llm::Models},
    change::{commit::Transacted, confirmations::Confirmations, preview::Previewed},
    commitment::Pledge,
    life::{history::Past, start::Origin},
};
use crate::{
    base::{
        error::{Code, Error},
        path::RepoPath,
    },
    record::{Chain, Keeper, Note, RunFolder},
    service::gate::{GateResult, Rules},
    system::{lock::Lease, policy::Policy, workspace::Overlay},
};

/// A run that is going on.
///
/// ```
/// use nrv::{Call, Context, Host, Options, Position, Request, Silent, Workspace};
/// use serde_json::json;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.md"), "# A\n")?;
/// let context = Context::new(Workspace::open(folder.path())?, Options::default())?;
/// let mut host = Host::start(&context, Request::program(&context, "list pages"), &mut Silent)?;
/// let call = Call::FilesGlob { patterns: vec!["**/*.md".to_owned()] };
/// let outcome = host.perform(&Position::nth(1), call, &mut Silent);
/// let finished = host.finish(outcome, &mut Silent)?;
/// assert_eq!(finished.result, json!(["a.md"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Host<'a> {
    context: &'a Context,
    /// The policy, tightened by the script's header.
    policy: Policy,
    /// The rules of the gates, with those of the policy.
    rules: Arc<Rules>,
    flags: Flags,
    origin: Origin,
    seed: u64,
    folder: RunFolder,
    chain: Chain,
    /// The pack of what is too large for events.
    keeper: Keeper,
    /// Bytes of calls that are kept until the run ends.
    held: u64,
    /// True once the run is ending, which is recorded in any case.
    ends: bool,
    lease: Option<Lease>,
    budget: Budget,
    /// Tells whatever works for the run when to stop.
    deadline: Deadline,
    /// What the call that is being answered has reserved of the budgets.
    reserved: Cost,
    /// True if that call's change has reached the tree, whatever became of it then.
    reached_tree: bool,
    overlay: Overlay,
    /// What a dry run proposes.
    proposed: BTreeMap<RepoPath, Previewed>,
    proposals: BTreeMap<String, StoredProposal>,
    /// What the record says, if the run went on.
    past: Option<Past>,
    /// True if a person rejected what it waited for: whatever was to be kept is undone.
    rejected: bool,
    /// True if a call of the program was made that may have had an effect elsewhere.
    acted: bool,
    confirmations: Confirmations,
    /// What has to hold for it to be done.
    commitments: Vec<Pledge>,
    transactions: Vec<Transacted>,
    /// Those of them that were not verified, and could not be undone.
    unproven: std::collections::BTreeSet<String>,
    /// The attempts that are open, and what became of the others.
    attempts: Attempts,
    transaction_count: u64,
    /// How many files were brought back.
    undone: usize,
    /// How many were, until the run goes on.
    set_aside: usize,
    tools: BTreeSet<String>,
    violations: Vec<GateResult>,
    metrics: BTreeMap<String, Value>,
    /// Who answers requests to language models.
    models: Models,
    /// True if the last call was not answered, since the run waits for something.
    waits: bool,
    watch: crate::system::clock::Stopwatch,
}

impl Host<'_> {
    /// The run's id.
    pub fn run_id(&self) -> &str {
        self.folder.id()
    }

    /// The run's folder.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// `dry-run` or `apply`.
    pub fn mode(&self) -> &'static str {
        if self.flags.dry_run { "dry-run" } else { "apply" }
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The policy in force, tightened by the script's header.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Appends an event to the run's record, without secrets.
    fn note(&mut self, note: Note) -> Result<(), Error> {
        let note = self.redacted_note(note)?;
        self.note_as_is(note)
    }

    /// The same for an event in which there can be no secret any more.
    fn note_as_is(&mut self, note: Note) -> Result<(), Error> {
        let before = self.chain.length();
        self.chain.append(self.context.options.clock.now(), note).map_err(unrecorded)?;
        self.budget.count_record(self.chain.length() - before);
        Ok(())
    }

    /// Waits until the record is on the disk.
    fn sync(&self) -> Result<(), Error> {
        self.chain.sync().map_err(unrecorded)
    }
}

/// What can't be recorded must not go on, and a script must not catch that.
fn unrecorded(error: Error) -> Error {
    let message = format!("the run can't go on without its record: {}", error.message());
    Error::new(Code::RecordUnwritable, message)
        .hint("make room on the disk, or make `.runs` writable, then start again")
}
