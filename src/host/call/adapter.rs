//! Adapters at the door: propose, apply, run. What they propose is judged, confirmed, committed and verified here.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    early::early_proposal,
    files::unprotected,
    language_server::PolicyServers,
    samples::{self, try_samples},
    verifier::{verify_applied, verify_proposed},
    withheld,
};
use crate::{
    Context, Event, Position, Work,
    change::{
        commit::Committed,
        confirm::{altered, subject_of},
        freshness::{Seen, moment},
        judge::Submitted,
        pipeline::{Pipeline, Proof},
        rebuild_proposal::recall_proposal,
        stored_proposal::StoredProposal,
        subject::Subject,
        transaction::Transacted,
        verify::Verified,
    },
    recorder::Recorder,
    terms::Terms,
};
use adapter::{
    Adapter,
    contract::{BaselineRecord, Invocation, Mode, Phase, Proposal},
    envelope,
    source::Source,
    verify::Report,
};
use base::{
    error::{Code, Error},
    hash::Sha256,
    span::span,
};
use record::{
    FileRef,
    event::{self, DtaApplied, DtaFailed, DtaProposed, DtaStarted, DtaVerified, Free, SourceFile},
};
use system::{
    git,
    policy::{Hidden, Policy},
    workspace::View,
};

/// The word in the name of the artefact with the source of a user's adapter.
pub(super) const SOURCE: &str = "adapter";

/// The most replaced words of a proposal that are told.
const MOST_REPLACED: usize = 100;

/// The adapters that exist and that a policy approves.
pub(crate) fn approved<'a>(context: &'a Context, policy: &Policy) -> Vec<&'a dyn Adapter> {
    let list = policy.settings().adapters.approved.as_ref();
    let approved = |adapter: &&dyn Adapter| list.is_none_or(|list| list.iter().any(|name| name == adapter.name()));
    context.options.adapters.all().into_iter().filter(approved).collect()
}

/// The approved adapters, as `nrv.dtas()` gives them.
pub(crate) fn approved_adapters(run: &Terms<'_>) -> Value {
    let row = |adapter: &dyn Adapter| json!({"name": adapter.name(), "version": adapter.version(), "summary": adapter.summary()});
    approved(run.context, &run.policy).into_iter().map(row).collect()
}

/// The invocation with what a script may leave out, checked against the adapter's schema and the policy.
pub(crate) fn invocation(run: &Terms<'_>, view: View<'_>, tool: &str, input: &Value) -> Result<Invocation, Error> {
    let adapter = run.context.options.adapters.find(tool)?;
    let settings = run.policy.adapter(tool);
    let Value::Object(mut map) = input.clone() else {
        return Err(Error::new(Code::InvalidInput, format!("the input of `{tool}` is no map")));
    };
    map.entry("tool").or_insert_with(|| json!(adapter.name()));
    map.entry("version").or_insert_with(|| json!(adapter.version()));
    map.entry("mode").or_insert_with(|| json!(run.mode()));
    if let Some(Value::Object(target)) = map.get_mut("target") {
        target.entry("repo_path").or_insert_with(|| json!("."));
    }
    let constraints = map.entry("constraints").or_insert_with(|| json!({}));
    if let Value::Object(constraints) = constraints {
        let defaults = [("max_files", settings.max_files), ("timeout_ms", settings.timeout_ms), ("seed", run.seed)];
        for (key, value) in defaults {
            constraints.entry(key).or_insert_with(|| json!(value));
        }
    }
    samples::fill_in(adapter.params_schema(), &mut map, settings.http_samples);
    withheld::exclude(run, view, &mut map)?;
    let mut invocation = adapter::parse(adapter, &Value::Object(map))?;
    let globs = invocation.target.globs(view)?;
    withheld::check(run, view, &globs)?;
    unprotected(globs)?;
    // The policy is a ceiling; an invocation may only ask for less.
    let constraints = &mut invocation.constraints;
    constraints.max_files = constraints.max_files.min(settings.max_files);
    constraints.timeout_ms = constraints.timeout_ms.min(settings.timeout_ms);
    Ok(invocation)
}

/// Has an adapter propose. The view is the tree as the run of that id sees it.
pub(crate) fn propose(
    (run, view, id): (&Terms<'_>, View<'_>, &str),
    adapter: &dyn Adapter,
    invocation: &Invocation,
) -> Result<Proposal, Error> {
    let Context { workspace, options, .. } = &run.context;
    let view = view.until(run.deadline.stop());
    let hidden = Hidden::new(&run.policy.hidden())?;
    let ctx = adapter::Context {
        view,
        hidden: Some(&hidden),
        is_later: false,
        run: Some(id),
        servers: &PolicyServers::new(run, view, id),
        threads: options.threads,
        cancel: run.deadline.stop(),
        renames: &|| git::renames(workspace.root(), &options.environment_of_git(), &options.cancel),
        contents: &|names| git::contents(workspace.root(), names, &options.environment_of_git(), &options.cancel),
        progress: options.progress.0.as_ref(),
    };
    adapter.propose(&ctx, invocation)
}

/// The calls of adapters: their pipeline, and the proposals that are open.
pub(crate) struct Adapters<'s, 'a> {
    pub(crate) pipeline: Pipeline<'s, 'a>,
    pub(crate) proposals: &'s mut BTreeMap<String, StoredProposal>,
}

impl Adapters<'_, '_> {
    /// `propose`: a patch and a plan, no side effect but the record.
    pub(crate) fn propose(&mut self, tool: &str, input: &Value) -> Result<Value, Error> {
        let result = self.discover(tool, input).and_then(|stored| {
            self.check_held(&stored)?;
            let reply = stored.reply.clone();
            self.proposals.insert(stored.id.clone(), stored);
            Ok(reply)
        });
        self.tell_failure(tool, result)
    }

    /// Open proposals are held in memory: all of them together are no more than what a run may write.
    fn check_held(&self, new: &StoredProposal) -> Result<(), Error> {
        let limits = self.pipeline.run.policy.settings();
        let most = limits.budget.bytes.max(limits.script.limits.reply_bytes);
        let held: u64 = self.proposals.values().chain([new]).map(StoredProposal::bytes).sum();
        if held <= most || self.proposals.is_empty() {
            return Ok(());
        }
        Err(Error::new(Code::InvalidInput, format!("the open proposals have {held} bytes together, not {most}"))
            .hint("apply a proposal before others are made"))
    }

    /// `apply`: a proposal by its id, verified or undone.
    pub(crate) fn apply_proposal(&mut self, tool: &str, proposal: &Value) -> Result<Value, Error> {
        let id = proposal.get("id").and_then(Value::as_str).unwrap_or_default();
        recall_proposal(self.proposals, self.pipeline.recorder, self.pipeline.draft.view(), id)?;
        let Some(stored) = self.proposals.remove(id) else {
            return Err(Error::new(Code::NotFound, format!("`{tool}` has no open proposal of that id"))
                .hint("give what `propose` returned in this run; a proposal can be applied once"));
        };
        let intact = stored.reply == *proposal && stored.invocation.tool == tool;
        let result = if intact { self.carry_out(&stored, Held::No) } else { Err(altered(tool)) };
        if result.is_err() {
            self.proposals.insert(stored.id.clone(), stored);
        }
        self.tell_failure(tool, result)
    }

    /// `nrv.gate.confirm`: asks, and keeps a token for the subject.
    pub(crate) fn confirm(&mut self, label: &str, subject: &Value) -> Result<Value, Error> {
        if let Some(id) = subject.get("id").and_then(Value::as_str) {
            recall_proposal(self.proposals, self.pipeline.recorder, self.pipeline.draft.view(), id)?;
        }
        let subject = subject_of(self.proposals, label, subject)?;
        self.pipeline.asking().confirm(subject)
    }

    /// `run`: everything in one call, under one lock from discover to verify.
    pub(crate) fn run_adapter(&mut self, tool: &str, input: &Value) -> Result<Value, Error> {
        let result = self.run_locked(tool, input);
        self.tell_failure(tool, result)
    }

    fn run_locked(&mut self, tool: &str, input: &Value) -> Result<Value, Error> {
        let invocation = invocation(self.pipeline.run, self.pipeline.draft.view(), tool, input)?;
        let mut held = Held::No;
        if invocation.mode == Mode::Apply && !self.pipeline.run.flags.dry_run {
            let globs = invocation.target.globs(self.pipeline.draft.view())?;
            self.pipeline.ledger.lock(self.pipeline.run, &globs.prefixes())?;
            held = Held::SinceDiscover;
        }
        let stored = self.discover(tool, input)?;
        self.carry_out(&stored, held)
    }

    fn discover(&mut self, tool: &str, input: &Value) -> Result<StoredProposal, Error> {
        let adapter = self.pipeline.run.context.options.adapters.find(tool)?;
        let invocation = invocation(self.pipeline.run, self.pipeline.draft.view(), tool, input)?;
        self.pipeline.tally.tools.insert(tool.to_owned());
        self.pipeline.sink.event(Event::DtaStarted { tool: tool.to_owned() });
        let source = adapter.source();
        let may_ask = !self.pipeline.run.policy.settings().language_servers.is_empty();
        if source.is_some_and(Source::starts_program) || may_ask && adapter.asks_servers(&invocation) {
            self.pipeline.run.trusted(self.pipeline.sink)?;
        }
        let started = DtaStarted {
            tool: tool.to_owned(),
            input: Free(to_value(&invocation)?),
            source: source.map(|source| SourceFile { path: source.path.clone(), sha256: source.sha256 }),
        };
        // What verifies the change again must be what proposed it, whatever becomes of the file.
        let kept =
            source.map(|source| self.pipeline.recorder.write_artifact(self.pipeline.position, tool, SOURCE, source));
        self.pipeline.note(event::Event::DtaStarted(started.into()), kept.transpose()?.into_iter().collect())?;
        let (key, limit) =
            (format!("adapters.{tool}.rate_per_min"), self.pipeline.run.policy.adapter(tool).rate_per_min);
        if let Some(rate) = self.pipeline.run.budget.rate(&key, limit) {
            rate.reserve(self.pipeline.run.context.options.clock.now_ms())?;
        }
        let (proposal, seen) = match early_proposal(&mut self.pipeline, &invocation) {
            Some(early) => early,
            None => {
                let Pipeline { run, recorder, draft, .. } = &self.pipeline;
                let began = moment(recorder);
                let view = draft.view();
                let propose = || propose((run, view, recorder.run_id()), adapter, &invocation);
                let proposal = span!("propose", tool = adapter.name()).in_scope(propose)?;
                let seen = run.see(began, &proposal.baseline.files);
                (proposal, seen)
            }
        };
        let stored = self.store((invocation, adapter.source().map(|source| source.sha256)), proposal, seen)?;
        self.pipeline.sink.event(Event::DtaProposed {
            tool: tool.to_owned(),
            proposal: stored.id.clone(),
            files: stored.proposal.changes.len(),
            replacements: self.pipeline.run.redactor().replacements(&stored.patch, MOST_REPLACED),
        });
        let patch = self.pipeline.recorder.folder.file_ref(&stored.patch_path)?;
        let patch_sha256 = Sha256::of(&stored.patch.bytes);
        if patch.sha256 != patch_sha256 {
            // What stands there shows no secrets; the run could not go on with it.
            self.pipeline.recorder.kept_bytes(&stored.patch.bytes)?;
        }
        let files = vec![stored.baseline.clone(), stored.planned.clone(), patch];
        let proposed = self.proposed(adapter, &stored, patch_sha256)?;
        self.pipeline.note(event::Event::DtaProposed(proposed.into()), files)?;
        Ok(stored)
    }

    /// The event of a proposal.
    fn proposed(
        &self,
        adapter: &dyn Adapter,
        stored: &StoredProposal,
        patch_sha256: Sha256,
    ) -> Result<DtaProposed, Error> {
        let baseline = &stored.proposal.baseline;
        Ok(DtaProposed {
            tool: stored.invocation.tool.clone(),
            proposal: stored.id.clone(),
            proposed_changes: stored.proposal.counts.clone(),
            no_match: !adapter.counts().has_work(&stored.proposal),
            left: (baseline.findings.len() + baseline.skipped.len()) as u64,
            patch_sha256: patch_sha256.into(),
            files: self.pipeline.recorder.packed(&stored.patch.rows(), false)?,
        })
    }

    /// Writes a proposal's artefacts and describes it.
    fn store(
        &mut self,
        (invocation, adapter): (Invocation, Option<Sha256>),
        proposal: Proposal,
        seen: Seen,
    ) -> Result<StoredProposal, Error> {
        let tool = invocation.tool.as_str();
        let patch = self.pipeline.run.render(self.pipeline.draft.view(), proposal.changes.changes())?;
        let baseline = self.pipeline.recorder.write_artifact(
            self.pipeline.position,
            tool,
            "baseline",
            &BaselineRecord { adapter, ..proposal.baseline_record(&invocation) },
        )?;
        let planned = self.pipeline.recorder.write_artifact(
            self.pipeline.position,
            tool,
            "proposed",
            &proposal.manifest_record(tool),
        )?;
        let patch_path = format!("artifacts/{}-{tool}.patch", self.pipeline.recorder.stem(self.pipeline.position));
        let shown = self.pipeline.run.redactor().kept_patch(&patch).0.into_owned();
        self.pipeline.recorder.room(shown.len() as u64)?;
        self.pipeline.recorder.folder.write(&patch_path, &shown)?;
        let file = FileRef { path: patch_path, sha256: Sha256::of(&shown) };
        StoredProposal::new(invocation, proposal, patch, seen, [baseline, planned, file])
    }

    /// From a proposal to a verified change, or in a dry run to a verified preview.
    fn carry_out(&mut self, stored: &StoredProposal, held: Held) -> Result<Value, Error> {
        let tool = stored.invocation.tool.as_str();
        let changes = &stored.proposal.changes;
        // A preview inside an applying run writes nothing, so that it costs nothing.
        let is_trial = stored.invocation.mode == Mode::DryRun && !self.pipeline.run.flags.dry_run;
        let file = Some(stored.patch_path.as_str());
        let submitted = Submitted { adapter: Some(tool), changes, patch: &stored.patch, file, is_trial };
        let proof = ByVerifier { stored, held };
        self.pipeline.change(submitted, &proof).map(|changed| changed.output)
    }

    fn tell_failure<T>(&mut self, tool: &str, result: Result<T, Error>) -> Result<T, Error> {
        let result = result.map_err(|error| of_run(error, self.pipeline.recorder.run_id()));
        if let Err(error) = &result
            && error.code() != Code::Suspended
        {
            let failed = DtaFailed { tool: tool.to_owned(), code: error.code(), reason: error.message().to_owned() };
            self.pipeline.note(event::Event::DtaFailed(failed.into()), Vec::new())?;
            self.pipeline.sink.event(Event::DtaFailed { tool: tool.to_owned(), reason: error.message().to_owned() });
        }
        result
    }
}

impl Recorder<'_> {
    /// Writes an artefact of a call.
    pub(crate) fn write_artifact(
        &self,
        position: &Position,
        tool: &str,
        what: &str,
        content: &impl Serialize,
    ) -> Result<FileRef, Error> {
        // The folder is the run's. A name with its time would differ in every run, and so would values that hold it.
        let path = format!("dta/{tool}/{}-{what}.json", self.stem(position));
        let mut content = to_value(content)?;
        // The verifier reads the others, and no input with a secret comes so far.
        if matches!(what, "verify" | "samples") {
            content = self.redacted(content);
        }
        let mut bytes =
            serde_json::to_vec_pretty(&content).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        bytes.push(b'\n');
        self.room(bytes.len() as u64)?;
        self.folder.write(&path, &bytes)?;
        Ok(FileRef { path, sha256: Sha256::of(&bytes) })
    }
}

/// Since when the lock on the target is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    No,
    SinceDiscover,
}

/// The proof of an adapter's change: its verifier, a process of its own.
struct ByVerifier<'s> {
    stored: &'s StoredProposal,
    held: Held,
}

impl Proof for ByVerifier<'_> {
    fn question(&self) -> Result<Option<Subject>, Error> {
        Ok(Some(self.stored.subject()))
    }

    fn prepare(
        &self,
        Pipeline { run, ledger, draft, sink, .. }: &mut Pipeline<'_, '_>,
        waited: bool,
    ) -> Result<(), Error> {
        let StoredProposal { invocation, proposal, seen, .. } = self.stored;
        if self.held == Held::No {
            let globs = invocation.target.globs(draft.view())?;
            ledger.lock(run, &globs.prefixes())?;
        }
        if self.held == Held::No || waited {
            run.check_fresh(draft.view(), &proposal.baseline.files, seen)?;
        }
        if !proposal.changes.is_empty() {
            sink.event(self.stored.begins(Work::Apply));
        }
        Ok(())
    }

    fn reply(&self) -> Option<&Value> {
        None
    }

    fn verifies_empty(&self) -> bool {
        true
    }

    fn try_out(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        self.preview(pipeline)
    }

    fn preview(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        self.verify_preview(pipeline)
    }

    fn verify(&self, pipeline: &mut Pipeline<'_, '_>, transaction: Option<&str>) -> Result<Value, Error> {
        self.verify_committed(pipeline, transaction)
    }
}

impl ByVerifier<'_> {
    fn verify_committed(&self, pipeline: &mut Pipeline<'_, '_>, pack: Option<&str>) -> Result<Value, Error> {
        let stored = self.stored;
        let tool = stored.invocation.tool.as_str();
        let files = stored.proposal.changes.len();
        let manifest = pipeline.recorder.write_artifact(
            pipeline.position,
            tool,
            "applied",
            &stored.proposal.manifest_record(tool),
        )?;
        let applied = DtaApplied {
            tool: tool.to_owned(),
            proposal: stored.id.clone(),
            applied_changes: stored.proposal.counts.clone(),
            transaction: pack.map(str::to_owned),
            baseline: stored.baseline.clone(),
            manifest: manifest.clone(),
        };
        pipeline.note(event::Event::DtaApplied(applied.into()), vec![manifest.clone()])?;
        pipeline.sink.event(Event::DtaApplied { tool: tool.to_owned(), files });
        pipeline.sink.event(stored.begins(Work::Verify));
        let report = verify_applied(pipeline.run, &pipeline.recorder.folder, stored, &manifest, pack)?;
        self.conclude(pipeline, Phase::Verify, Some(manifest), report)
    }

    fn verify_preview(&self, pipeline: &mut Pipeline<'_, '_>) -> Result<Value, Error> {
        let stored = self.stored;
        pipeline.sink.event(stored.begins(Work::Verify));
        let report =
            verify_proposed(pipeline.run, &pipeline.recorder.folder, pipeline.draft, pipeline.position, stored)?;
        self.conclude(pipeline, Phase::DryRun, None, report)
    }

    /// Records what the verifier said; an error unless it passed.
    fn conclude(
        &self,
        pipeline: &mut Pipeline<'_, '_>,
        phase: Phase,
        manifest: Option<FileRef>,
        report: Report,
    ) -> Result<Value, Error> {
        let stored = self.stored;
        let tool = stored.invocation.tool.as_str();
        let mut files = vec![pipeline.recorder.write_artifact(pipeline.position, tool, "verify", &report)?];
        let mut verdict = report.verdict();
        files.extend(try_samples(pipeline, stored, report.samples, &mut verdict)?);
        let mut output = stored.proposal.output(&stored.invocation, phase, verdict);
        output.run = Some(pipeline.recorder.run_id().to_owned());
        output.artifacts = stored.artifacts();
        output.artifacts.extend(manifest.iter().chain(&files).map(|file| file.path.clone()));
        let value = to_value(&output)?;
        let verified = DtaVerified { tool: tool.to_owned(), output: output.clone(), after: report.counts.clone() };
        pipeline.note(event::Event::DtaVerified(verified.into()), files)?;
        if output.verifier.passed {
            let after = to_value(&report.counts)?;
            pipeline.sink.event(Event::DtaVerified { tool: tool.to_owned(), output: value.clone(), after });
            return Ok(value);
        }
        let mut reasons = output.verifier.failures.iter().map(|failure| match &failure.path {
            Some(path) => format!("{}: `{path}` {}", failure.check, failure.reason),
            None => format!("{}: {}", failure.check, failure.reason),
        });
        let first = reasons.next().unwrap_or_else(|| "no reason was given".to_owned());
        let n = output.verifier.failures.len();
        let more = if n > 1 { format!(" (and {} more)", n - 1) } else { String::new() };
        Err(Error::new(Code::VerificationFailed, format!("the verifier of `{tool}` failed: {first}{more}"))
            .detail("output", value))
    }
}

/// An error whose output, if it has one, names the run.
fn of_run(error: Error, run: &str) -> Error {
    let Some(Value::Object(mut output)) = error.details().get("output").cloned() else { return error };
    output.entry("run").or_insert_with(|| json!(run));
    error.detail("output", Value::Object(output))
}

/// Verifies a proposal that a former session committed, or undoes it with all that came after it.
pub(crate) fn verify_recalled(
    pipeline: &mut Pipeline<'_, '_>,
    stored: &StoredProposal,
    standing: &Transacted,
) -> Result<Value, Error> {
    let committed = Committed::recalled(pipeline.ledger, standing);
    committed.verify(pipeline, &ByVerifier { stored, held: Held::No }).map(Verified::into_output)
}

/// `nrv.dta(name).describe`.
pub(crate) fn describe(run: &Terms<'_>, tool: &str) -> Result<Value, Error> {
    describe_adapter(run.context.options.adapters.find(tool)?, &run.policy)
}

/// An adapter's globs, policy, phases and schemas.
pub fn describe_adapter(adapter: &dyn Adapter, policy: &Policy) -> Result<Value, Error> {
    let list = policy.settings().adapters.approved.as_ref();
    let settings = policy.adapter(adapter.name());
    let mut description = json!({
        "name": adapter.name(),
        "version": adapter.version(),
        "summary": adapter.summary(),
        "domain": adapter.domain(),
        "policy": {
            "approved": list.is_none_or(|list| list.iter().any(|name| name == adapter.name())),
            "paths": settings.paths.as_ref().unwrap_or(&policy.settings().paths.write),
            "max_files": settings.max_files,
            "timeout_ms": settings.timeout_ms,
            "http_samples": settings.http_samples,
            "strict_tools": policy.settings().adapters.strict_tools,
        },
        "phases": ["discover", "propose", "apply", "verify"],
        "input_schema": envelope::input_schema(adapter)?,
        "output_schema": envelope::output_schema(adapter),
    });
    if let Some(count) = adapter.counts().work {
        description["applies_if"] = json!({"count": count, "above": 0});
    }
    if let Some(rate) = settings.rate_per_min {
        description["policy"]["rate_per_min"] = json!(rate);
    }
    Ok(description)
}

fn to_value(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::new(Code::Internal, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_both_schemas() {
        for adapter in adapter::ADAPTERS {
            let value = describe_adapter(*adapter, &Policy::default()).unwrap();
            assert!(value["input_schema"].is_object() && value["output_schema"].is_object());
            assert!(value["applies_if"]["count"].is_string() && value["policy"]["max_files"] == 5000, "{value}");
        }
    }
}
