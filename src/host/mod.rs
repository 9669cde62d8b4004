//! The one door: [`Host::perform`] answers every call of a run, and nobody reaches a service around it.
//!
//! A [`Host`] is one run: its record, its lease, its budgets, its overlay. A [`Context`] is what runs have in common.

mod agents;
mod ahead;
mod budget;
mod call;
mod callbacks;
mod change;
mod commitment;
mod context;
mod evaluator;
mod graphs;
mod life;
mod perform;
mod position;
mod record_call;
mod recorder;
mod redact;
mod replay;
mod reply;
mod reply_size;
mod sink;
mod tally;
mod terms;
mod times;
mod turn;
mod unverified;
mod view;
mod wiring;

use std::collections::BTreeMap;

/// The steps of a change, in their only order. No program outside can begin one; the examples hold that the order can't be broken.
///
/// ```
/// use nrv_host::pipeline::{Judged, Pipeline, Proof, Submitted, Verified};
/// # use base::error::Error;
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
/// # use nrv_host::pipeline::{Judged, Pipeline, Proof};
/// fn skip(judged: Judged<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = judged.permit(pipeline, proof);
/// }
/// ```
///
/// One that nobody has permitted can't be committed:
///
/// ```compile_fail,E0599
/// # use nrv_host::pipeline::{Pipeline, Proof, Reserved};
/// fn skip(reserved: Reserved<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = reserved.commit(pipeline, proof);
/// }
/// ```
///
/// One that is not committed can't be verified:
///
/// ```compile_fail,E0599
/// # use nrv_host::pipeline::{Permitted, Pipeline, Proof};
/// fn skip(permitted: Permitted<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = permitted.verify(pipeline, proof);
/// }
/// ```
///
/// No step can be done twice:
///
/// ```compile_fail,E0382
/// # use nrv_host::pipeline::{Permitted, Pipeline, Proof};
/// fn twice(permitted: Permitted<'_>, pipeline: &mut Pipeline<'_, '_>, proof: &dyn Proof) {
///     let _ = permitted.commit(pipeline, proof);
///     let _ = permitted.commit(pipeline, proof);
/// }
/// ```
///
/// And no step can be made by hand:
///
/// ```compile_fail,E0451
/// # use nrv_host::pipeline::{Judged, Reserved};
/// fn forge(judged: Judged<'_>) -> Reserved<'_> {
///     Reserved { judged }
/// }
/// ```
#[doc(hidden)]
pub mod pipeline {
    pub use super::change::{
        commit::Committed,
        judge::{Judged, Submitted},
        permit::Permitted,
        pipeline::{Pipeline, Proof},
        reserve::Reserved,
        subject::Subject,
        verify::Verified,
    };
}

pub use self::{
    agents::{Agent, AgentState},
    budget::Demand,
    call::{
        adapter::describe_adapter,
        approved_tools::ApprovedTools,
        custom::{Calls, CustomCall, CustomContext},
        llm::{
            Tape, Told,
            orchestrators::Orchestrators,
            providers::{Listed, Probed, Reached, probe_provider, providers, reach_provider},
            tape_of,
        },
        mcp_session::mcp_tools,
        verifier::{Verified, verify_again},
    },
    callbacks::Agents,
    change::{approver::signed_by_approver, draft::Preview, plan::Plan},
    commitment::{VerifiedRun, commitments, count_sentence, outcome::Commitment, verify_run},
    context::{CI, Context, Options, Progress, is_on, policy_of},
    life::{
        agents::agents,
        ask_trust::question as trust_question,
        client::{Resumed, answered, decline, ends_run, resume_client},
        finished::{Finished, Outcome, Verified as VerifiedFiles, outcome as outcome_of, verified_by},
        git_status::uncommitted,
        init::{
            FIRST_SCRIPT, Hook, HookState, Installed, Kept, SetUp, installed_hook, propose_approvals, propose_files,
            propose_hook, propose_set_up, propose_texts, remove_hook, set_up, take_back_approvals,
        },
        left::Left,
        outcome::{Overview, overview, overviews},
        pre_images::damaged_pre_images,
        probe::{Records, VerifierProbe, WorkspaceProbe, probe_verifier, probe_workspace},
        recover::{recover, unrecovered},
        recovery::Recovery,
        request::{Asked, Request, Source},
        resume::{Resumption, reject, resume_call},
        retention::{Collected, Removed, collect, export, import, remove_runs},
        rollback::{RolledBack, changed_since, rollback},
        rollback_position::rollback_position,
        run_json::Started,
        session::Rest,
        standing::{StandingChange, standing_changes},
        statistics::{Broken, Rates, Spread, Stats, Tries, stats, stats_of},
        suggest::{Suggested, Suggestion, suggest},
        trust::{Keeper as TrustKeeper, Trust, UNTRUSTED, Wanted, may_be_asked, untrusted},
        waiting::{Waiting, waiting},
    },
    position::{Position, Positions},
    replay::{Difference, Divergence, Judges, Opened, Parting, Reach, Replay, Replayed, RuleAt, Trial},
    reply::{canonical_records, without_run_ids},
    sink::{Answer, Event, Question, Silent, Sink},
};
use self::{
    call::llm::models::Models,
    change::{confirmations::Confirmations, draft::Draft, ledger::Ledger, stored_proposal::StoredProposal},
    commitment::Pledge,
    recorder::Recorder,
    tally::Tally,
    terms::Terms,
    turn::Turn,
};
pub use adapter::Work;
pub use llm::Replies;
use record::RunFolder;
pub use record::event::{Evaluation, Flags, Input, Maker, Ruling, State};
use system::policy::Policy;

/// A run that is going on.
pub struct Host<'a> {
    /// The terms of the run, and what it may still spend.
    run: Terms<'a>,
    /// The record that it writes, and what former sessions wrote.
    recorder: Recorder<'a>,
    /// Its changes that stand.
    ledger: Ledger<'a>,
    /// The changes that a dry run proposes.
    draft: Draft<'a>,
    confirmations: Confirmations,
    proposals: BTreeMap<String, StoredProposal>,
    /// The conditions that must hold for the run to be done.
    commitments: Vec<Pledge>,
    /// Who answers requests to language models.
    models: Models,
    /// The call that is being answered.
    turn: Turn,
    /// The data that is collected for the end of the run.
    tally: Tally,
}

impl Host<'_> {
    /// The run's id.
    pub fn run_id(&self) -> &str {
        self.recorder.run_id()
    }

    /// The run's folder.
    pub fn folder(&self) -> &RunFolder {
        &self.recorder.folder
    }

    /// `dry-run` or `apply`.
    pub fn mode(&self) -> &'static str {
        self.run.mode()
    }

    /// The run's seed.
    pub fn seed(&self) -> u64 {
        self.run.seed
    }

    /// The policy in force, tightened by the script's header.
    pub fn policy(&self) -> &Policy {
        &self.run.policy
    }
}
