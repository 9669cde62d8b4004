//! One task: a private clone, the run of the script in it under the fleet's policy, and its result in the store.

use std::path::Path;

use super::{
    changes,
    claim::{self, Claim, Taken},
    clone::Clone as Cloned,
    outcome::{Failure, Kind, Outcome, Volatile},
    plan::{Head, Task},
    result::{self, Part},
};
use crate::face::report::{self, Report};
use base::{
    diff,
    error::{Code, Error},
    hash::Sha256,
    json,
    path::RepoPath,
};
use gate::secrets;
use host::{Context, Finished, Flags, Options, Silent, State, Trust};
use record::RunFolder;
use script::{Invocation, Loader, load, remote::Surroundings, session::Origin};
use service::exec::PrivateFolder;
use system::{
    clock::Stopwatch,
    policy::{Ceiling, FILE, Policy},
    store::Store,
    workspace::Workspace,
};

/// The parts of a worker that all tasks share.
pub struct Worker<'w> {
    /// The parts of the plan that all tasks share.
    pub head: &'w Head,
    /// The store.
    pub store: &'w Store,
    /// How runs are done.
    pub options: &'w Options,
    /// True if whoever starts the worker knows that no other has the task.
    pub take_over: bool,
}

/// The end of one piece of work.
#[derive(Debug)]
pub enum Worked {
    /// The task is done, with this outcome. False if another worker was first, or the task was done before.
    Done(Box<Outcome>, bool),
    /// Another worker has it, or it rests after a failure.
    Busy {
        /// When it can be taken, in milliseconds since 1970.
        until_ms: u64,
        /// True if no worker has it.
        rests: bool,
    },
}

/// A run in a clone, and its end.
struct Ran {
    context: Context,
    finished: Finished,
}

impl Worker<'_> {
    /// Does a task, if it is not done yet and nobody else has it.
    ///
    /// An error is temporary, or one of the store; the task can be tried again. A run that fails is an outcome. `budget_exhausted` if more
    /// tasks of the fleet have failed than may.
    pub fn work(&self, task: &Task) -> Result<Worked, Error> {
        if let Some(outcome) = result::outcome(self.store, task.id)? {
            result::note(self.store, self.head, &outcome)?;
            return Ok(Worked::Done(Box::new(outcome), false));
        }
        result::check_failures(self.store, self.head)?;
        let folder = PrivateFolder::make("fleet")?;
        let claim = match claim::take(&self.terms(), task.id, &folder)? {
            Taken::Ours(claim) => claim,
            Taken::Busy { until_ms, rests } => return Ok(Worked::Busy { until_ms, rests }),
        };
        // Whoever had it may have finished it since the look above.
        if claim.attempt > 1
            && let Some(outcome) = result::outcome(self.store, task.id)?
        {
            return Ok(Worked::Done(Box::new(outcome), false));
        }
        match self.attempt(task, &claim, &folder) {
            Ok(outcome) => self.finish(outcome),
            // The worker is to end, and the task is for the next one.
            Err(error) if error.code() == Code::Cancelled || claim.failures < self.head.retries => {
                // Where that can't be told, the claim ends with its worker or its lease.
                let _ = claim.give_up(&self.terms(), task.id, &error);
                Err(error)
            }
            Err(error) => self.finish(failed(task, &claim, &error, folder.path())),
        }
    }

    /// The facts by which claims count now.
    pub(super) fn terms(&self) -> claim::Terms<'_> {
        claim::Terms {
            store: self.store,
            now_ms: self.options.clock.now_ms(),
            lease_ms: u64::from(self.head.lease_minutes) * 60_000,
            pause_ms: u64::from(self.head.retry_pause_s) * 1000,
            take_over: self.take_over,
        }
    }

    fn finish(&self, outcome: Outcome) -> Result<Worked, Error> {
        if result::finish(self.store, &outcome)? {
            result::note(self.store, self.head, &outcome)?;
            return Ok(Worked::Done(Box::new(outcome), true));
        }
        match result::outcome(self.store, outcome.task)? {
            Some(first) => Ok(Worked::Done(Box::new(first), false)),
            None => Err(Error::new(Code::Temporary, format!("the outcome of `{}` can't be written", outcome.task))),
        }
    }

    /// One attempt. An error is a reason to try again.
    fn attempt(&self, task: &Task, claim: &Claim, folder: &PrivateFolder) -> Result<Outcome, Error> {
        let watch = Stopwatch::start();
        let surroundings = self.surroundings();
        let clone = match Cloned::make(task, self.head.clone_mb, folder, &surroundings) {
            Ok(clone) => clone,
            Err(error) if is_temporary(&error) => return Err(error),
            Err(error) => return Ok(failed(task, claim, &error, folder.path())),
        };
        let ran = match self.run(task, &clone.root) {
            Ok(ran) => ran,
            Err(error) if is_temporary(&error) => return Err(error),
            Err(error) => return Ok(failed(task, claim, &error, folder.path())),
        };
        if let Some(error) = ran.finished.error.as_ref().filter(|error| is_temporary(error)) {
            return Err(error.clone());
        }
        let outcome = match self.keep(task, claim, &clone, &ran) {
            Ok(outcome) => outcome,
            Err(error) if is_temporary(&error) => return Err(error),
            Err(error) => failed(task, claim, &error, folder.path()),
        };
        Ok(Outcome { volatile: Volatile { duration_ms: watch.elapsed_ms(), ..outcome.volatile }, ..outcome })
    }

    /// Runs the script in a clone. An error means that no run began.
    fn run(&self, task: &Task, root: &Path) -> Result<Ran, Error> {
        let workspace = Workspace::open(root)?;
        let policy = self.policy(task, &workspace)?;
        let mut context = Context::with_policy(workspace, policy, self.options())?;
        let read = |path: &RepoPath| {
            let missing = || Error::new(Code::NotFound, format!("the plan has no `{path}`"));
            self.head.sources.get(path.as_str()).cloned().ok_or_else(missing)
        };
        let loader = Loader {
            origin: Origin { program: &self.options.program, isolation: self.options.isolation },
            limits: &context.policy.settings().script.limits,
            read: &read,
            stop: &|| context.cancelled(),
        };
        let loaded = load(&loader, &RepoPath::parse(&self.head.script)?).map_err(Error::from)?;
        if let Some(shard) = &task.shard {
            let shard = Ceiling { write: vec![shard.clone()], ..loaded.header.ceiling.clone() };
            context.policy = context.policy.tightened(&shard)?;
        }
        let invocation = Invocation {
            args: task.args.clone(),
            // What is confirmed is the collected set, before it reaches any repository.
            flags: Flags { yes: true, ..Flags::default() },
            ..Invocation::default()
        };
        let finished = script::run(&context, &loaded, invocation, &mut Silent)?;
        drop(loaded);
        Ok(Ran { context, finished })
    }

    /// The surroundings of git, which is taken from no workspace.
    pub(super) fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            environment: &self.options.environment,
            root: Path::new("/nonexistent"),
            supervisor: &self.options.program,
            cancel: self.options.cancel.as_ref(),
        }
    }

    /// How runs are done in a clone. Who planned the fleet trusts its policy, and a repository's own only tightens it.
    fn options(&self) -> Options {
        Options { trust: Trust::default(), ..self.options.clone() }
    }

    /// The fleet's policy, as strict as the repository's own where that is stricter.
    fn policy(&self, task: &Task, workspace: &Workspace) -> Result<Policy, Error> {
        let ceiling = Policy::parse(&self.head.policy.text, &self.head.policy.file)?;
        let ceiling = ceiling.locked()?.granting(&self.head.grants)?;
        if workspace.stat(&RepoPath::parse(FILE)?)?.is_none() {
            return Ok(ceiling);
        }
        let own = host::policy_of(workspace)?;
        // Gates that it weakens are as strict as those of the fleet.
        match own.entrusted().filter(|tables| tables.starts || tables.sends) {
            Some(tables) if task.trust.as_deref() != Some(tables.sha256.to_string().as_str()) => {
                let message = format!("the repository's `{FILE}` {}, and is not pinned", tables.verbs());
                Err(Error::new(Code::NotApproved, format!("{message} by `trust = \"{}\"`", tables.sha256)))
            }
            Some(_) | None => Policy::strictest(&ceiling, &own),
        }
    }

    /// Writes what the run left to the store.
    fn keep(&self, task: &Task, claim: &Claim, clone: &Cloned<'_>, ran: &Ran) -> Result<Outcome, Error> {
        let Ran { context, finished } = ran;
        let folder = context.runs.open(&finished.run)?;
        let kind = match finished.state {
            State::Done if finished.files_changed > 0 => Kind::Changed,
            State::Done => Kind::Nothing,
            State::Suspended => Kind::Waits,
            _ if finished.error.as_ref().is_some_and(|error| error.code() == Code::NoMatch) => Kind::Nothing,
            _ => Kind::Failed,
        };
        let put = |part, bytes: &[u8]| result::put(self.store, task.id, claim.attempt, part, bytes);
        let patch = match kind {
            Kind::Changed => {
                let changes = host::standing_changes(context, &folder)?;
                let paths: Vec<String> = changes.iter().map(|change| change.path.to_string()).collect();
                let patch = clone.patch(&paths)?;
                if let Some(why) = diff::objection(&patch, &changes::of(&folder)?) {
                    let message = format!("git's patch is not the change of the run: {why}");
                    return Err(Error::new(Code::VerificationFailed, message)
                        .hint("look at the attributes by which the repository lets git convert files"));
                }
                Some(put(Part::Patch, &patch)?)
            }
            Kind::Nothing | Kind::Waits | Kind::Failed => None,
        };
        let mut record = Vec::new();
        host::export(context, &finished.run, kind == Kind::Waits, &mut record)?;
        let page = report::page(&Report::of(context, &folder)?);
        Ok(Outcome {
            task: task.id,
            kind,
            exit_code: finished.exit_code(),
            error: finished.error.as_ref().map(|error| {
                let told = failure(error, &clone.root);
                Failure { message: secrets::redact(&told.message, context.rules.secrets()).into_owned(), ..told }
            }),
            files_changed: finished.files_changed,
            diff_lines: finished.diff_lines,
            patch,
            canonical: Some(canonical(&folder, &clone.root)?),
            volatile: Volatile {
                attempt: claim.attempt,
                run: Some(finished.run.clone()),
                root: Some(clone.root.display().to_string()),
                record: Some(put(Part::Record, &record)?),
                report: Some(put(Part::Report, page.as_bytes())?),
                duration_ms: 0,
            },
        })
    }
}

/// The hash of a run's record in its canonical form. `root` is the folder in which it ran.
pub(super) fn canonical(folder: &RunFolder, root: &Path) -> Result<Sha256, Error> {
    json::sha256(&host::canonical_records(folder, &folder.records()?, root)?)
}

/// True for an error that may be the machine's and not the task's. The retries bound how often that is believed.
fn is_temporary(error: &Error) -> bool {
    let of_machine = [Code::Cancelled, Code::Io, Code::RecordUnwritable, Code::ScriptCrashed];
    of_machine.contains(&error.code()) || error.code().exit_code() == Code::Temporary.exit_code()
}

/// The outcome of a task of which no run began, or whose change could not be carried further.
fn failed(task: &Task, claim: &Claim, error: &Error, folder: &Path) -> Outcome {
    Outcome {
        task: task.id,
        kind: Kind::Failed,
        exit_code: error.code().exit_code(),
        error: Some(failure(error, folder)),
        files_changed: 0,
        diff_lines: 0,
        patch: None,
        canonical: None,
        volatile: Volatile {
            attempt: claim.attempt,
            run: None,
            root: None,
            record: None,
            report: None,
            duration_ms: 0,
        },
    }
}

/// An error without the folder of the clone, which differs from attempt to attempt.
fn failure(error: &Error, root: &Path) -> Failure {
    let at = error.location().map(|at| format!("{}:{}", at.path, at.line));
    let message = error.message().replace(&root.display().to_string(), "<root>");
    let message = host::without_run_ids(&message);
    Failure { code: error.code().as_str().to_owned(), message, at }
}
