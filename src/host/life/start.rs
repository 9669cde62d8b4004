//! How a run starts: recovery first, a clean tree, a record, a lease.

use std::sync::Arc;

use super::{
    git_status,
    recover::{self, Round},
    run_json::{RUN_FILE, Started},
};
use crate::{
    Context, Event, Flags, Host, Sink,
    budget::{Budget, Deadline},
    change::{ledger::Ledger, proof},
    life::request::{Asked, Request},
    recorder::Recorder,
    terms::Terms,
    wiring::run_span,
};
use base::{
    error::{Code, Error},
    frame::Isolation,
    hash::Sha256,
    span::span,
};
use record::{
    Chain, FileRef, Keeper, Note,
    event::{self, Place, RunStarted, WorkerStarted},
};
use system::{clock, policy::Policy, workspace::Globs};

impl<'a> Host<'a> {
    /// Starts a run: finishes what a crash left, checks that the tree is clean, opens the record.
    pub fn start(context: &'a Context, request: Request, sink: &mut dyn Sink) -> Result<Self, Error> {
        let span = run_span(false);
        let _run = span.clone().entered();
        let _start = span!("start").entered();
        context.runs.prepare()?;
        recover_dead(context, sink)?;
        check_flags(&request.policy, request.flags)?;
        let git = check_clean(context, &request, sink)?;
        let budget = Budget::new(request.policy.settings().budget.clone());
        let deadline = Deadline::start(budget.wall(), Arc::clone(&context.options.cancel))?;
        let now_ms = context.options.clock.now_ms();
        let folder = context.runs.create(now_ms, std::process::id())?;
        // Without a lease nothing was written, and nobody would close the record.
        let lease = context.locks().lease(folder.id()).or_else(|error| folder.remove().and(Err(error)))?;
        let started = Started::new(&folder, clock::rfc3339(now_ms), &request, git.head.clone());
        let text = started.write(&folder, context.rules.secrets())?;
        let rules = Arc::clone(&context.rules);
        let (budget, origin) = (Arc::new(budget), request.asked.origin());
        let recorder = Recorder {
            context,
            rules: Arc::clone(&rules),
            budget: Arc::clone(&budget),
            origin,
            chain: Chain::open(&folder)?,
            keeper: Keeper::new(&folder),
            ends: false,
            folder,
            past: None,
        };
        let (flags, seed, policy) = (request.flags, request.seed, request.policy);
        let run = Terms { context, policy, rules, flags, origin, seed, budget, deadline };
        let mut host = Host::of(run, recorder, Ledger::new(context, lease), span);
        host.note_start(&request.asked, &text, git.head.as_deref())?;
        sink.event(Event::RunStarted { run: host.recorder.run_id().to_owned() });
        host.bound_to_policy(&request.asked, sink)
    }

    fn note_start(&mut self, asked: &Asked, text: &[u8], head: Option<&str>) -> Result<(), Error> {
        let started = RunStarted {
            asked: asked.recorded(),
            seed: self.run.seed,
            flags: self.run.flags,
            mode: self.run.mode().to_owned(),
            policy_sha256: self.run.policy.sha256().into(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // A commit's id covers the time at which it was made.
            volatile: Place {
                git_head: Some(head.map(str::to_owned)),
                place: Some(proof::place(self.run.context, &self.recorder.folder)?),
            },
        };
        // The file names the run and its time, so that its hash differs from run to run.
        let files = vec![FileRef { path: RUN_FILE.to_owned(), sha256: Sha256::of(text) }];
        self.recorder.note(Note::of_run(event::Event::RunStarted(started.into())).with_files(files))
    }

    /// Records what confines the script's process.
    pub fn note_isolation(&mut self, isolation: &Isolation) -> Result<(), Error> {
        // What the kernel offers differs from machine to machine, and decides nothing.
        let started = WorkerStarted { isolation: isolation.clone() };
        self.recorder.note(Note::of_run(event::Event::WorkerStarted(started.into())))
    }

    /// A run that has just started, with the commitments of its policy; one that can't make them ends here.
    pub(crate) fn bound_to_policy(mut self, asked: &Asked, sink: &mut dyn Sink) -> Result<Host<'a>, Error> {
        // What is brought back was there before anybody committed to anything.
        let is_rollback = matches!(asked, Asked::Rollback { .. });
        match if is_rollback { Ok(()) } else { self.pledges().commit_to_trusted_policy(sink) } {
            Ok(()) => Ok(self),
            Err(error) => Err(self.finish(Err(error.clone()), sink).map_or_else(|unsealed| unsealed, |_| error)),
        }
    }
}

/// Finishes or undoes what runs left that died, and tells it.
fn recover_dead(context: &Context, sink: &mut dyn Sink) -> Result<(), Error> {
    let Round { recoveries, failures } = recover::recover_all(context)?;
    for recovery in &recoveries {
        sink.event(Event::Notice { text: recovery.sentence() });
        recovery.check()?;
    }
    for error in failures {
        // Whoever needs the files of that run is stopped by its lock.
        sink.event(Event::Notice { text: format!("A run that died can't be recovered: {}.", error.message()) });
    }
    Ok(())
}

/// Flags that loosen can be switched off by the policy.
pub(crate) fn check_flags(policy: &Policy, flags: Flags) -> Result<(), Error> {
    let settings = policy.settings();
    let switched_off = [
        (flags.yes, settings.confirm.yes_flag, "--yes", "confirm.yes_flag"),
        (flags.keep, settings.run.keep_flag, "--keep", "run.keep_flag"),
        (flags.allow_dirty, settings.run.allow_dirty_flag, "--allow-dirty", "run.allow_dirty_flag"),
    ];
    for (given, allowed, flag, key) in switched_off {
        if given && !allowed {
            return Err(Error::new(Code::PermissionDenied, format!("the policy switches `{flag}` off"))
                .detail("key", key)
                .hint(format!("`{key}` comes from {}", policy.origin(key))));
        }
    }
    Ok(())
}

fn check_clean(context: &Context, request: &Request, sink: &mut dyn Sink) -> Result<git_status::GitState, Error> {
    let allowed = request.flags.allow_dirty || request.policy.settings().run.allow_dirty;
    let Some(writes) = request.writes.as_ref().filter(|writes| !allowed && !writes.is_empty()) else {
        return Ok(git_status::head(context));
    };
    let state = git_status::git_state(context)?;
    let mut dirty = git_status::dirty(context, &state, &Globs::of_any_size(writes)?)?;
    dirty.retain(|(path, _)| !git_status::belongs(&request.asked, path));
    if dirty.is_empty() {
        return Ok(state);
    }
    let error = git_status::dirty_tree(&dirty);
    if request.flags.dry_run {
        sink.event(Event::Notice { text: format!("Applying this would be refused: {}.", error.message()) });
        return Ok(state);
    }
    Err(error)
}
