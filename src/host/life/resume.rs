//! Going on with a run that waits or whose process died: its record is opened again, and what it says is taken as done.

use std::sync::Arc;

use serde_json::{Value, json};
use tracing::Span;

use super::{
    history::Past,
    in_flight::{UNCERTAIN, objections},
    pre_images::check_contents,
    recover::{self, Round},
    stale_reads::{self, Reading},
    start::check_flags,
};
use crate::{
    Asked, Context, Finished, Flags, Host, Position, Sink, Started, State, Tape,
    budget::{Budget, Deadline, Spent},
    call::violation,
    change::{
        attempts::Attempts, confirmations::Confirmations, ledger::Ledger, proof, restored::restore_targets,
        transaction::Transacted,
    },
    commitment,
    evaluator::Evaluated,
    life::history::ended_early,
    perform,
    recorder::Recorder,
    terms::{Terms, redacted},
    wiring::run_span,
};
use base::{
    call::Call,
    error::{Code, Error},
    span::span,
    text::{counted, first_file},
};
use gate::{Decision, Rules};
use record::{
    Chain, Keeper, Note, RunFolder,
    event::{Event, Place, Ruling, RunResumed, StaleRead, StaleReads},
};
use system::{
    journal,
    lock::Lease,
    policy::{Policy, RULES},
};

/// How a run is to go on.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    /// A person's approval of the confirmation for which the run waits.
    pub approve: Option<Ruling>,
    /// The reply of a call of which nobody knows whether it took effect. Without it, an approval makes the call again.
    pub reply: Option<Value>,
    /// Go on with what was read, although it is otherwise now.
    pub accept_stale_reads: bool,
    /// Answer the confirmations that policy lets a flag answer.
    pub yes: bool,
    /// The recorded replies of language models; none: those in the folder of the workspace that the run names.
    pub tape: Option<Tape>,
    /// Let recorded replies alone answer, whatever the run did before, as in CI.
    pub replay_only: bool,
    /// Let a script go on only if it is approved as it ran, whatever it was started with, as in CI.
    pub locked: bool,
}

/// A record that was opened again, and the run's sign of life.
struct Opened {
    folder: RunFolder,
    lease: Lease,
    started: Started,
    past: Past,
}

impl Opened {
    /// The policy that the run began under, the one that it goes on under with its rules, and the flags in force.
    fn prepare(
        &self,
        context: &Context,
        current: Option<&Policy>,
        yes: bool,
    ) -> Result<(Policy, Policy, Rules, Flags), Error> {
        let Opened { folder, started, past, .. } = self;
        let recorded = started.policy()?;
        let policy = match current {
            // Defaults that have changed since the record was written are no change of the policy.
            Some(current) if !recorded.is_still(current)? => Policy::strictest(&recorded, current)?,
            Some(_) | None => recorded.clone(),
        };
        check_flags(&policy, Flags { yes, ..Flags::default() })?;
        let settings = policy.settings();
        let first = past.records().iter().position(|record| record.event.run_started().is_some()).unwrap_or_default();
        let is_begun_here = proof::is_own(context, folder, &past.records()[..=first])?;
        let flags = Flags {
            // Only who made the record has typed it.
            yes: yes || started.flags.yes && settings.confirm.yes_flag && is_begun_here,
            keep: started.flags.keep && settings.run.keep_flag,
            ..started.flags
        };
        let rules = Rules::of(&policy)?;
        Ok((recorded, policy, rules, flags))
    }
}

impl<'a> Host<'a> {
    /// Goes on with a run that waits, or that died: recovers it, checks that everything is as the run left it and read it, and
    /// opens its record. Whoever holds the host makes the run's calls again from the first: those that were answered get the
    /// same answer, and nothing of them is done twice.
    ///
    /// `current` is the policy of now, tightened by the script's header; what either it or the recorded one forbids is
    /// forbidden. `lock_timeout` if the run is still going on, `stale_preimage` names files that are otherwise,
    /// `not_approved` says why an approval does not count.
    pub fn resume(
        context: &'a Context,
        run: &str,
        current: &Policy,
        resumption: Resumption,
        sink: &mut dyn Sink,
    ) -> Result<Self, Error> {
        let span = run_span(true);
        let _run = span.clone().entered();
        let _start = span!("start").entered();
        let opened = open(context, run, sink)?;
        let ended = opened.past.was_ending();
        let (mut host, recorded) = Host::reopen((context, span), opened, Some(current), resumption.yes)?;
        if ended {
            let error = taken_back();
            return Err(host
                .finish(Err(error), sink)
                .map_or_else(|error| error, |finished| finished.error.unwrap_or_else(ended_early)));
        }
        if let Err(error) = host.begin(&recorded, &resumption, sink) {
            return Err(give_up(host, error));
        }
        // The policy of now may ask for more.
        if let Err(error) = host.pledges().commit_to_policy() {
            return Err(host.wait_on(error));
        }
        if let Some(past) = &mut host.recorder.past {
            past.reply = resumption.reply;
        }
        // What was set aside is what a confirmation may be about.
        if let Err(error) = host.ledger.put_back(&mut host.recorder) {
            return Err(host.wait_on(error));
        }
        if let Some(Ruling { id, by, reason }) = &resumption.approve
            && let Err(error) = host.approve(id, by.as_deref(), reason.as_deref())
        {
            return Err(host.wait_on(error));
        }
        sink.event(crate::Event::RunStarted { run: host.recorder.run_id().to_owned() });
        Ok(host)
    }

    /// The host of a run whose record is opened again, and the policy that it began under. Without one of now, that is in force:
    /// what only undoes the run is not judged.
    fn reopen(
        (context, span): (&'a Context, Span),
        opened: Opened,
        current: Option<&Policy>,
        yes: bool,
    ) -> Result<(Self, Policy), Error> {
        let prepared = opened.prepare(context, current, yes).and_then(|prepared| {
            let Opened { folder, past, .. } = &opened;
            folder.furnish()?;
            let kept = (Confirmations::restore(past.records(), folder)?, commitment::restore(past)?);
            let budget = Budget::new(prepared.1.settings().budget.clone());
            let deadline = Deadline::start(budget.wall(), Arc::clone(&context.options.cancel))?;
            let counted = (past.transactions(folder)?, past.standing(), past.spent());
            Ok((prepared, kept, Chain::open(folder)?, counted, (budget, deadline)))
        });
        let Opened { folder, lease, started, past } = opened;
        let ((recorded, policy, rules, flags), kept, chain, counted, (budget, deadline)) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return lease.retire().and(Err(error)),
        };
        let (rules, budget, origin) = (Arc::new(rules), Arc::new(budget), started.asked.origin());
        let ledger = Ledger {
            attempts: Attempts::restore(&past),
            transactions: counted.1,
            transaction_count: counted.0,
            ..Ledger::new(context, Some(lease))
        };
        let recorder = Recorder {
            context,
            rules: Arc::clone(&rules),
            budget: Arc::clone(&budget),
            origin,
            chain,
            keeper: Keeper::new(&folder),
            ends: false,
            folder,
            past: Some(past),
        };
        let run = Terms { context, policy, rules, flags, origin, seed: started.seed, budget, deadline };
        let mut host = Host { confirmations: kept.0, commitments: kept.1, ..Host::of(run, recorder, ledger, span) };
        let (spent, elapsed_ms) = counted.2;
        host.take_in(spent, elapsed_ms)?;
        let doubted = proof::doubt_grants(&host.run, &host.recorder, &mut host.confirmations);
        if let Err(error) = doubted { Err(give_up(host, error)) } else { Ok((host, recorded)) }
    }

    /// Counts what former sessions did, as far as calls were answered, and the record that they left.
    fn take_in(&mut self, spent: Spent, elapsed_ms: u64) -> Result<(), Error> {
        let Some(past) = &self.recorder.past else { return Ok(()) };
        self.run.budget.count_record(self.recorder.folder.own_bytes()?);
        self.run.budget.take_in(spent, elapsed_ms);
        for record in past.records().iter().filter(|record| past.is_answered(&record.position)) {
            match &record.event {
                Event::Call(recorded) => {
                    self.tally.violations.extend(objections(recorded.gate_results()));
                    let call = past.call_of(recorded).ok().filter(|_| recorded.decision != Decision::Block);
                    self.tally.tools.extend(call.as_ref().and_then(perform::used).map(str::to_owned));
                    if let Some(Call::RunViolation(violation)) = &call
                        && recorded.reply.is_some()
                    {
                        self.tally.violations.push(violation::result(violation, &self.run.policy));
                    }
                }
                Event::Judged(judged) => self.tally.violations.extend(objections(judged.gate_results())),
                Event::DtaStarted(started) => drop(self.tally.tools.insert(started.tool.clone())),
                _ => {}
            }
        }
        let answered = past.calls().filter_map(|record| record.event.call()).filter(|call| call.reply.is_some());
        let metrics = answered.filter(|call| call.call == "run.metric");
        let metrics = metrics.filter_map(|recorded| match past.call_of(recorded) {
            Ok(Call::RunMetric { name, value }) => Some((name, value)),
            _ => None,
        });
        self.tally.metrics = metrics.collect();
        if let Some(past) = &self.recorder.past {
            self.models.count_requests(past);
        }
        Ok(())
    }

    /// Checks that the run can go on in this tree, and records that it does.
    fn begin(&mut self, recorded: &Policy, resumption: &Resumption, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(Ruling { id, .. }) = &resumption.approve {
            let asked = &self.confirmations.pending(id)?.bound;
            if resumption.reply.is_some() && asked.kind != UNCERTAIN {
                let message =
                    format!("the confirmation `{id}` is about no call that may have been made, so it takes no reply");
                return Err(Error::new(Code::InvalidInput, message).hint("leave `--reply` out"));
            }
        }
        self.ledger.claim_changed(&self.run, self.recorder.past.as_ref())?;
        self.ledger.check_left(&self.recorder)?;
        let stale = stale_reads_of(&self.run, &self.recorder, recorded)?;
        if let Some(error) =
            stale_reads::refusal(self.recorder.folder.id(), &stale).filter(|_| !resumption.accept_stale_reads)
        {
            return Err(error);
        }
        if !stale.is_empty() {
            let results = counted(stale.len(), "result");
            let have = if stale.len() == 1 { "has" } else { "have" };
            let text = format!("{results} that the run read {have} changed; it goes on with what it read.");
            sink.event(crate::Event::Notice { text });
        }
        let resumed = RunResumed {
            accepted_stale_reads: StaleReads::Reads(stale.into_iter().map(Into::into).collect()),
            approved: resumption.approve.clone(),
            ..RunResumed::default()
        };
        self.note_resumed(recorded, resumed, sink)
    }

    /// Records that the run goes on, under which policy and on whose word.
    fn note_resumed(&mut self, recorded: &Policy, resumed: RunResumed, sink: &mut dyn Sink) -> Result<(), Error> {
        let changed = self.run.policy.sha256() != recorded.sha256();
        if changed {
            let keys = changed_keys(&self.run.policy)?;
            let text = format!("The policy has changed since the run started{keys}; what either forbids is forbidden.");
            sink.event(crate::Event::Notice { text });
        }
        // Of that and of the recorded one the policy in force can be made again.
        let current = self.run.policy.parts().last().filter(|_| changed).map(|current| json!(current.recorded()));
        let resumed = RunResumed {
            policy_sha256: Some(self.run.policy.sha256().into()),
            policy_changed: changed,
            rules: RULES.into(),
            policy_source: current.map(|source| self.recorder.packed(&source, true)).transpose()?,
            volatile: Place { git_head: None, place: Some(proof::place(self.run.context, &self.recorder.folder)?) },
            ..resumed
        };
        self.recorder.note(Note::of_run(Event::RunResumed(resumed.into())))?;
        self.recorder.sync()
    }

    /// Stops a session before it made a call; the run waits as it did before.
    pub fn wait_on(self, error: Error) -> Error {
        match self.end(Err(error.clone()), Some(State::Suspended), &Evaluated::default()) {
            Ok(_) => error,
            Err(unsealed) => unsealed,
        }
    }
}

/// Gives the run up before its record says that it goes on.
fn give_up(mut host: Host<'_>, error: Error) -> Error {
    match host.ledger.lease.take().map(Lease::retire) {
        Some(Err(second)) => error.detail("lock", second.message()),
        Some(Ok(())) | None => error,
    }
}

impl Ledger<'_> {
    /// Claims the files that the run has changed: until it ends they are nobody else's.
    fn claim_changed(&mut self, run: &Terms<'_>, past: Option<&Past>) -> Result<(), Error> {
        let aside = past.and_then(Past::aside).map(|aside| &aside.undo);
        let entries = self.transactions.iter().chain(aside).flat_map(|transaction| &transaction.entries);
        let mut paths: Vec<String> = entries.map(|entry| entry.path.to_string()).collect();
        paths.sort();
        paths.dedup();
        if paths.is_empty() { Ok(()) } else { self.lock(run, &paths) }
    }

    /// Checks that every file that the run changed is as it left it, those that it set aside among them.
    fn check_left(&self, recorder: &Recorder<'_>) -> Result<(), Error> {
        let aside = recorder.past.as_ref().and_then(Past::aside).map(|aside| aside.undo.clone());
        let left: Vec<Transacted> = self.transactions.iter().cloned().chain(aside).collect();
        let changed = restore_targets(&recorder.folder, &left, false)?.changed_since(self.context, false)?;
        let Some(named) = first_file(&changed) else { return Ok(()) };
        let names: Vec<&str> = changed.iter().map(|path| path.as_str()).collect();
        let message = format!("{named} changed since the run left it");
        Err(Error::new(Code::StalePreimage, message)
            .detail("files", names)
            .hint("bring the named files back as the run left them, then resume again"))
    }
}

/// The call of a run that makes only one, as its record has it.
fn only_call(recorder: &Recorder<'_>, asked: &Asked) -> Result<Call, Error> {
    if let Asked::Adapter { tool, input } = asked {
        return Ok(Call::DtaRun { tool: tool.clone(), input: input.clone() });
    }
    let first = Position::nth(1);
    let record = recorder.past.as_ref().and_then(|past| past.made_at(first.as_str()));
    record.unwrap_or_else(|| {
        Err(Error::new(Code::NotFound, "the run died before it had begun to change anything")
            .hint("run the command again"))
    })
}

fn stale_reads_of(run: &Terms<'_>, recorder: &Recorder<'_>, recorded: &Policy) -> Result<Vec<StaleRead>, Error> {
    let Some(past) = &recorder.past else { return Ok(Vec::new()) };
    let (context, folder, rules) = (run.context, &recorder.folder, run.rules.as_ref());
    Reading { context, folder, past, policy: recorded, rules, redacted: redacted(run) }.stale()
}

fn taken_back() -> Error {
    let message = "the run had failed or was rejected, and its changes were taken back when its process died";
    Error::new(Code::InvalidInput, message).hint("start it again")
}

/// The keys in which the policy of now differs from the recorded one, in words that follow a sentence.
pub(crate) fn changed_keys(in_force: &Policy) -> Result<String, Error> {
    let [recorded, now] = in_force.parts() else { return Ok(String::new()) };
    let keys = recorded.keys_that_differ(now)?;
    let named: Vec<String> = keys.iter().map(|key| format!("`{}`", key.escape_debug())).collect();
    Ok(if named.is_empty() { String::new() } else { format!(", in {}", named.join(", ")) })
}

/// Goes on with a run that makes only one call: of an adapter, of patches or of a plan.
pub fn resume_call(
    context: &Context,
    run: &str,
    resumption: Resumption,
    sink: &mut dyn Sink,
) -> Result<Finished, Error> {
    let started = Started::load(&context.runs.open(run)?)?;
    let mut host = Host::resume(context, run, &context.policy, resumption, sink)?;
    let outcome =
        only_call(&host.recorder, &started.asked).and_then(|call| host.perform(&Position::nth(1), call, sink));
    host.finish(outcome, sink)
}

/// Undoes a run that waits, since a person refuses what it waits for.
pub fn reject(context: &Context, run: &str, ruling: &Ruling, sink: &mut dyn Sink) -> Result<Finished, Error> {
    let span = run_span(true);
    let _run = span.clone().entered();
    let opened = open(context, run, sink)?;
    let ended = opened.past.was_ending();
    let (mut host, recorded) = Host::reopen((context, span), opened, None, false)?;
    let Ruling { id, by, reason } = ruling;
    let begun = match host.confirmations.pending(id) {
        // It was rejected before, and died while it was undone.
        Err(_) if ended => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            let claimed = host.ledger.claim_changed(&host.run, host.recorder.past.as_ref());
            let resumed = RunResumed { rejected: Some(ruling.clone()), ..RunResumed::default() };
            claimed.and_then(|()| host.note_resumed(&recorded, resumed, sink))
        }
    };
    if let Err(error) = begun {
        return Err(give_up(host, error));
    }
    if !ended && let Err(error) = host.reject(id, by.as_deref(), reason.as_deref()) {
        return Err(host.wait_on(error));
    }
    host.tally.rejected = true;
    let error = Error::new(Code::NotApproved, format!("the confirmation `{id}` was refused, and the run undone"));
    host.finish(Err(error.detail("confirmation", id.as_str()).hint("start the run again to be asked again")), sink)
}

/// Recovers a run, takes its lease, and checks that it can go on.
fn open(context: &Context, run: &str, sink: &mut dyn Sink) -> Result<Opened, Error> {
    let folder = context.runs.open(run)?;
    context.runs.prepare()?;
    folder.check_links()?;
    let locks = context.locks();
    if let Some(holder) = locks.holder(folder.id())? {
        return Err(still_going_on(&folder, Some(holder.process)));
    }
    let Round { recoveries, mut failures } = recover::recover_all(context)?;
    for recovery in &recoveries {
        sink.event(crate::Event::Notice { text: recovery.sentence() });
        if recovery.run == folder.id() {
            recovery.check()?;
        }
    }
    if !journal::open_transactions(folder.path())?.is_empty() && !failures.is_empty() {
        return Err(failures.remove(0));
    }
    let Some(lease) = locks.lease(folder.id())? else { return Err(still_going_on(&folder, None)) };
    context.runs.sync_leases()?;
    match examine(context, &folder) {
        Ok((started, past)) => Ok(Opened { folder, lease, started, past }),
        Err(error) => lease.retire().and(Err(error)),
    }
}

fn still_going_on(folder: &RunFolder, process: Option<u32>) -> Error {
    let who = process.map(|process| format!(", in process {process}")).unwrap_or_default();
    Error::new(Code::LockTimeout, format!("run `{}` is still going on{who}", folder.id()))
        .detail("process", process)
        .hint("wait for it, or cancel it with Ctrl-C where it runs")
}

/// Reads the record of a run, and checks that it is intact and that the run can go on.
fn examine(context: &Context, folder: &RunFolder) -> Result<(Started, Past), Error> {
    let run = folder.id();
    let refuse = |what: &str| Error::new(Code::InvalidInput, format!("run `{run}` {what}"));
    let state = context.runs.head(run)?.map(|head| head.state);
    let goes_on = [State::Suspended, State::Interrupted].map(State::as_str);
    match &state {
        None => {
            return Err(refuse("has no end that is known, so that its record can't be trusted").hint("run it again"));
        }
        Some(state) if !goes_on.contains(&state.as_str()) => {
            return Err(refuse(&format!("is over: it ended as `{state}`"))
                .detail("state", state.as_str())
                .hint("only a run that waits or whose process died can go on; run it again"));
        }
        Some(_) => {}
    }
    // A later version may record what this one takes for damage.
    if let Some(newer) = Started::load(folder).ok().filter(|started| is_newer(&started.version)) {
        return Err(refuse(&format!("was started by version {} of nrv, which is newer", newer.version))
            .detail("version", newer.version)
            .hint("go on with that version"));
    }
    let report = record::verify(&context.runs, folder, context.options.threads, &context.options.cancel)?;
    if let Some(finding) = report.findings.first() {
        return Err(Error::new(Code::RecordDamaged, format!("the record of run `{run}` is NOT intact: {finding}"))
            .hint(format!("`nrv runs verify {run}` names everything")));
    }
    let records = folder.records()?;
    if !records.iter().any(|record| record.event.run_started().is_some()) {
        return Err(refuse("died before it had begun, and did nothing").hint("run it again"));
    }
    check_contents(folder)?;
    let started = Started::load(folder)?;
    if started.flags.dry_run {
        return Err(refuse("is a dry run, which has changed nothing").hint("run it again"));
    }
    if let Asked::Rollback { parent, .. } = &started.asked {
        return Err(
            refuse(&format!("undoes run `{parent}` and does not go on")).hint(format!("`nrv rollback {parent}`"))
        );
    }
    let past = Past::of(folder, records)?;
    past.check_pack().map_err(|error| {
        error.hint(format!("nothing was done; `nrv rollback {run}` brings back what the run changed"))
    })?;
    Ok((started, past))
}

/// True if a version is later than this one.
fn is_newer(version: &str) -> bool {
    let numbers =
        |text: &str| -> Vec<u64> { text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    numbers(version) > numbers(env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_newer_by_its_numbers() {
        let own = env!("CARGO_PKG_VERSION");
        assert!(!is_newer(own) && !is_newer("0.0.9"));
        assert!(is_newer("10.0.0") && is_newer(&format!("{own}.1")));
    }
}
