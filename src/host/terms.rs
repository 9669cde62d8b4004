//! The terms of a run: its workspace, policy and flags, and the budgets that are left to it.

use std::sync::Arc;

use serde_json::Value;
use tracing::field::Empty;

use super::{
    Context, Flags, Options,
    agents::Agent,
    budget::{Budget, Deadline},
    call::llm::route,
    change::domains::domains,
    life::request::Origin,
    redact::Redactor,
    reply_size::{ASK_FOR_LESS, too_large},
};
use base::{
    call::Call,
    diff::Stat,
    error::{Code, Error},
    json,
    span::span,
};
use gate::{Decision, Offered, Rules, Subject, Text, Verdict};
use system::policy::{OnFailure, Policy};

/// The terms of a run. All but its budgets stay as they are until it ends.
pub(super) struct Terms<'a> {
    pub(super) context: &'a Context,
    /// The policy, tightened by the script's header.
    pub(super) policy: Policy,
    /// The rules of the gates, with those of the policy.
    pub(super) rules: Arc<Rules>,
    pub(super) flags: Flags,
    pub(super) origin: Origin,
    pub(super) seed: u64,
    pub(super) budget: Arc<Budget>,
    /// Tells whatever works for the run when to stop.
    pub(super) deadline: Deadline,
}

/// The rules that redact texts before a search, so that its answers reveal no secret.
pub(super) fn redacted<'r>(run: &'r Terms<'_>) -> Option<&'r Rules> {
    (run.origin == Origin::Client).then_some(&*run.rules)
}

impl Terms<'_> {
    /// `dry-run` or `apply`.
    pub(super) fn mode(&self) -> &'static str {
        if self.flags.dry_run { "dry-run" } else { "apply" }
    }

    /// Takes secrets out of patches, as far as the policy does not allow them.
    pub(super) fn redactor(&self) -> Redactor<'_> {
        Redactor { policy: &self.policy, rules: &self.rules }
    }

    /// Returns the verdict of the gates on a call.
    pub(super) fn judge_call(&self, call: &Call) -> Verdict {
        let Options { adapters, calls, .. } = &self.context.options;
        let tools = self.policy.mcp_calls();
        let (adapters, mut calls) = (adapters.names(), calls.offered());
        calls.extend(Offered::of_tools(&tools));
        let judged = route::judged(&self.policy, &self.context.options.orchestrators, call);
        // A client knows tools by the names of an agent's. Whoever only asks the gates uses none.
        let tool = call.agent_tool().filter(|_| self.origin == Origin::Client);
        let subject = Subject::Call { call: &judged, adapters: &adapters, calls: &calls, tool: tool.as_deref() };
        decide(&subject, &self.policy, &self.rules)
    }

    /// Returns the verdict of the gates on a change.
    pub(super) fn judge(
        &self,
        (adapter, agent): (Option<&str>, Option<&Agent>),
        files: &[Stat],
        texts: &[Text<'_>],
    ) -> Verdict {
        let domains = domains(&self.context.options.adapters, &self.policy, adapter, agent);
        let subject =
            Subject::Changes { files, texts, run_lines_so_far: self.budget.lines(), adapter, domains: &domains };
        decide(&subject, &self.policy, &self.rules)
    }

    /// A reply that a script may be given.
    pub(super) fn bounded(&self, reply: Value) -> Result<Value, Error> {
        let size = json::weight(&reply);
        let most = self.policy.settings().script.limits.reply_bytes;
        if size <= most { Ok(reply) } else { Err(too_large("the reply", size, most).hint(ASK_FOR_LESS)) }
    }

    /// An error if the user wants everything to stop, or the time of the run is spent.
    pub(super) fn check_cancelled(&self) -> Result<(), Error> {
        self.context.check_cancelled().and_then(|()| self.budget.check_wall())
    }

    /// The cause of a failure: whatever was stopped since the time is spent only says that it was stopped.
    pub(super) fn cause(&self, error: Error) -> Error {
        match self.budget.check_wall() {
            Err(spent) if error.code() == Code::Cancelled => spent.detail("cause", error.message()),
            _ => error,
        }
    }

    /// True if the changes of a failed run stay.
    pub(super) fn keeps_changes(&self, rejected: bool) -> bool {
        !rejected && (self.flags.keep || self.policy.settings().run.on_failure == OnFailure::Keep)
    }
}

/// Returns the verdict of the gates on a subject.
fn decide(subject: &Subject<'_>, policy: &Policy, rules: &Rules) -> Verdict {
    let span = span!("gates", decision = Empty, gate = Empty).entered();
    let verdict = gate::decide(subject, policy, rules);
    span.record("decision", verdict.decision.as_str());
    if verdict.decision != Decision::Allow
        && let Some(result) = verdict.results.iter().find(|result| result.decision == verdict.decision)
    {
        span.record("gate", result.gate_name.as_str());
    }
    verdict
}
