//! `exec.run` at the door: a command on a view of the tree, and what it changed there committed like any other change.

use std::sync::{Mutex, PoisonError, atomic::AtomicBool};

use serde_json::{Value, json};

use super::command_output::last_words;
use crate::{
    Context, Event, Position, Sink,
    ahead::{Order, Outcome},
    budget::Demand,
    call::command_output::text,
    change::{
        Changed,
        judge::Submitted,
        pipeline::Pipeline,
        read_back::{Asks, ReadBack},
    },
    recorder::Recorder,
    terms::Terms,
    times::parted,
};
use base::{
    call::{Call, Run},
    error::{Code, Error},
    path::RepoPath,
    text::{escape, shortened},
};
use gate::secrets;
use record::{
    FileRef, Note,
    event::{self, Confined, ExecEnded, ExecStarted, ExecTimes, Program},
};
use service::{
    apply::Proposed,
    exec::{self, Done},
};
use system::{
    journal::{self, Cleared},
    policy,
    process::sandbox::{Bound, Confinement, Ended, Stream},
    workspace::{Globs, Kind, View, Workspace, parallel_map},
};

/// The kind of a command's change in a confirmation, by which the policy can grant it.
const KIND: &str = "exec";

/// Characters of output that an error shows.
const SHOWN: usize = 2000;

/// The status with which git ends if it can't begin.
const GIT_FATAL: i32 = 128;

/// Characters of a command that an error shows.
const COMMAND: usize = 500;

/// The folder of a run that has the whole output of its commands. It may show secrets, as packs do.
const OUTPUT: &str = "packs/exec";

/// Runs a command. Its program was judged; its changes are judged here.
pub(crate) fn exec(pipeline: &mut Pipeline<'_, '_>, call: &Call, run: &Run) -> Result<Value, Error> {
    let (order, outcome) = match pipeline.turn.ahead.commands.remove(pipeline.position.as_str()) {
        Some(begun) => begun,
        None => {
            let order = begin(pipeline, pipeline.position.clone(), call, run)?;
            let outcome = carry_out(pipeline, std::slice::from_ref(&order)).pop();
            (order, outcome.ok_or_else(|| Error::new(Code::Internal, "a command has no outcome"))?)
        }
    };
    let ended = conclude(pipeline, &order, outcome);
    let spent = Demand { exec_ms: ended.as_ref().map_or(0, |done| done.ended.duration_ms), ..Demand::default() };
    pipeline.run.budget.settle(order.reserved, spent);
    pipeline.turn.reserved.demand = spent;
    let done = ended?;
    pipeline.run.heed_end(run, &done.ended, order.reserved.exec_ms < order.timeout_ms)?;
    let reply = reply(&done);
    if done.changes.is_empty() {
        return Ok(reply);
    }
    for change in done.changes.changes() {
        order.allowance.write_refusal(&change.path).map_or(Ok(()), |refusal| Err(refusal.into_error(&change.path)))?;
    }
    keep(pipeline, run, done, reply)
}

/// The time limit of a command, in milliseconds.
pub(crate) fn limit_ms(terms: &Terms<'_>, run: &Run) -> u64 {
    run.timeout_ms.unwrap_or(terms.policy.settings().exec.timeout_ms)
}

/// Locks what a command may change, reserves its time and records its intent.
pub(crate) fn begin(
    pipeline: &mut Pipeline<'_, '_>,
    position: Position,
    call: &Call,
    run: &Run,
) -> Result<Order, Error> {
    pipeline.run.trusted(pipeline.sink)?;
    if !run.writes.is_empty() && !pipeline.run.flags.dry_run {
        pipeline.ledger.lock(pipeline.run, &Globs::parse(&run.writes)?.prefixes())?;
    }
    // The gate has let it pass; what it may change is known from the same rule.
    let allowance = pipeline.run.policy.exec_rule(&run.argv())?;
    let timeout_ms = limit_ms(pipeline.run, run);
    let reserved = pipeline.run.budget.reserve_exec(timeout_ms)?;
    pipeline.recorder.note_intent(&position, call)?;
    // A command that is made again when the run goes on does not write over what the record names.
    let output = format!("{OUTPUT}/{position}-{}", pipeline.recorder.chain.tip().0);
    pipeline.recorder.folder.make_folder(OUTPUT)?;
    Ok(Order {
        run: run.clone(),
        allowance,
        settings: pipeline.run.exec_settings(),
        permitted: pipeline.run.policy.settings().paths.allow_protected.clone(),
        overlay: pipeline.draft.overlay.clone(),
        timeout_ms,
        reserved,
        files: ["stdout", "stderr"].map(|stream| pipeline.recorder.folder.path().join(format!("{output}.{stream}"))),
        output,
        position,
    })
}

/// Runs commands, each on a view of the tree as it is now, at the same time if there are threads for that.
pub(crate) fn carry_out(pipeline: &mut Pipeline<'_, '_>, orders: &[Order]) -> Vec<Outcome> {
    let Pipeline { run, recorder, tally, sink, .. } = pipeline;
    for order in orders {
        sink.event(Event::CommandStarted { argv: order.run.argv() });
    }
    let (terms, stop, id) = (*run, run.deadline.flag(), recorder.run_id().to_owned());
    let notes = Mutex::new(Notes { recorder, acted: &mut tally.acted });
    parallel_map(terms.context.options.threads, orders, |order| order.carry_out(terms, (&id, &stop), &notes))
}

/// The part of a run in which commands note that they start.
struct Notes<'n, 'a> {
    recorder: &'n mut Recorder<'a>,
    acted: &'n mut bool,
}

impl Order {
    fn carry_out(&self, terms: &Terms<'_>, (id, stop): (&str, &AtomicBool), notes: &Mutex<Notes<'_, '_>>) -> Outcome {
        let context = terms.context;
        let ctx = exec::Context {
            view: View::new(&context.workspace, &self.overlay),
            exec: &self.settings,
            environment: &context.options.environment,
            supervisor: &context.options.program,
            run: id,
            discard: false,
            from_workspace: self.allowance.from_workspace,
            variables: &self.allowance.env,
            permitted: &self.permitted,
            dry_run: terms.flags.dry_run,
            timeout_ms: self.reserved.exec_ms,
            threads: context.options.threads,
            cancel: stop,
            critical: &context.options.critical,
            output: Some((&self.files[0], &self.files[1])),
        };
        let held = || notes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unfiltered = Vec::new();
        let done = exec::prepare(ctx, &self.run).and_then(|prepared| {
            // Two commands may have the same scratch folders.
            let scratch = held().make_scratch(context, &prepared)?;
            let program = prepared.program().clone();
            prepared.run(&mut |confinement: &Confinement| {
                if !confinement.filtered {
                    unfiltered.clone_from(&scratch);
                }
                held().note_started(&self.position, &program, confinement, !self.settings.network)
            })
        });
        Outcome { done, unfiltered }
    }
}

impl Notes<'_, '_> {
    /// Makes the scratch folders that are missing; gives all that the command writes as they are.
    fn make_scratch(&self, context: &Context, prepared: &exec::Prepared<'_>) -> Result<Vec<RepoPath>, Error> {
        for folder in prepared.missing_scratch()? {
            journal::make_scratch(&context.workspace, &folder)?;
        }
        prepared.scratch()
    }

    /// Records what is started and what confines it. What can have effects elsewhere is on the disk before it starts.
    fn note_started(
        &mut self,
        position: &Position,
        program: &exec::Found,
        confinement: &Confinement,
        is_alone: bool,
    ) -> Result<(), Error> {
        let is_repeatable = confinement.isolated && is_alone;
        // Where programs stand, what they are and what the kernel offers differs from machine to machine.
        let volatile = Confined { program: Some(recorded_program(program)), confinement: confinement.clone() };
        let started = ExecStarted { repeatable: is_repeatable, volatile };
        self.recorder.note(Note::at(position.as_str(), event::Event::ExecStarted(started.into())))?;
        if is_repeatable {
            return Ok(());
        }
        // Should the run die now, nobody knows what it did elsewhere.
        *self.acted = true;
        self.recorder.sync()
    }
}

/// Records how a command ended, whose call is answered now. The files that it may change stay locked.
fn conclude(pipeline: &mut Pipeline<'_, '_>, order: &Order, outcome: Outcome) -> Result<Done, Error> {
    let Outcome { done, unfiltered } = outcome;
    let workspace = &pipeline.run.context.workspace;
    let set_id = match unfiltered.is_empty() {
        true => Cleared::default(),
        false => clear_scratch(workspace, &unfiltered, pipeline.sink),
    };
    let done = done.map_err(|error| set_id.iter().fold(error, |error, (key, paths)| error.detail(key, paths)))?;
    pipeline.run.budget.count_record(done.ended.stdout.stored + done.ended.stderr.stored);
    let output = note_ended(pipeline, &done, &set_id, &order.output)?;
    let Ended { status, duration_ms, .. } = done.ended;
    pipeline.sink.event(Event::CommandEnded { argv: order.run.argv(), status, duration_ms, output });
    Ok(done)
}

/// Records how a command ended; the end of its output if that was no good end.
fn note_ended(
    pipeline: &mut Pipeline<'_, '_>,
    done: &Done,
    set_id: &Cleared,
    output: &str,
) -> Result<Option<String>, Error> {
    let Ended { status, signal, timed_out, cancelled, ref stdout, ref stderr, .. } = done.ended;
    let mut files = Vec::new();
    for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
        let path = format!("{output}.{name}");
        match stream.sha256.filter(|_| stream.stored == stream.length) {
            _ if stream.stored == 0 => {}
            Some(sha256) => files.push(FileRef { path, sha256 }),
            None => files.push(pipeline.recorder.folder.file_ref(&path)?),
        }
    }
    let row = |stream: &Stream| {
        let Stream { length, sha256, stored, .. } = *stream;
        event::Output { length, sha256, stored }
    };
    let Ended { duration_ms, cpu_ms, peak_bytes, ref confinement, .. } = done.ended;
    let failed = status != Some(0);
    let said = failed.then(|| last_words(&done.ended, pipeline.run.rules.secrets())).flatten();
    let (confinement, output) = (confinement.clone(), said.clone());
    let (stdout, stderr) = (row(stdout), row(stderr));
    let volatile = ExecTimes { duration_ms, cpu_ms, peak_bytes, stdout, stderr, confinement, output };
    let ended = ExecEnded {
        status,
        signal,
        timed_out,
        cancelled,
        changed: done.changes.len() as u64,
        set_id_cleared: set_id.cleared.clone(),
        set_id_left: set_id.left.clone(),
        exceeded: done.ended.exceeded,
        volatile,
    };
    pipeline.note(event::Event::ExecEnded(ended.into()), files)?;
    Ok(said)
}

/// Judges and commits what a command changed.
fn keep(pipeline: &mut Pipeline<'_, '_>, run: &Run, done: Done, reply: Value) -> Result<Value, Error> {
    let Done { changes, before, .. } = done;
    let parts = before.iter().map(|_| None).collect();
    let proposed = Proposed { changes, before, parts, sources: Vec::new(), outcomes: Vec::new() };
    let patch = pipeline.run.render_proposed(&proposed)?;
    let (stable, _) = parted(&reply);
    let changes = &proposed.changes;
    let submitted = Submitted { adapter: None, changes, patch: &patch, file: None, is_trial: false };
    let by_script = run.confirm.as_deref().map(|label| Asks { kind: KIND, label });
    let asks = by_script.or(pipeline.run.origin.asks_before_writing().then_some(Asks::of(KIND)));
    let proof = ReadBack { proposed: &proposed, patch: &patch, reply: &stable, asks };
    let Changed { written, .. } = pipeline.change(submitted, &proof)?;
    pipeline.sink.event(Event::Applied { files: changes.len(), written });
    Ok(reply)
}

/// The reason why git did not find the repository of the workspace; none if it did, or if there is none.
fn lost_repository(workspace: &Workspace, run: &Run, ended: &Ended) -> Option<String> {
    let said = String::from_utf8_lossy(ended.stderr.tail.as_deref().unwrap_or(&ended.stderr.head));
    let found_none =
        ["not a git repository", ".git", "GIT_DISCOVERY_ACROSS_FILESYSTEM"].iter().any(|word| said.contains(word));
    if run.program.rsplit('/').next() != Some("git") || ended.status != Some(GIT_FATAL) || !found_none {
        return None;
    }
    let found = workspace.stat(&RepoPath::parse(".git").ok()?).ok()?;
    let above = || workspace.root().ancestors().skip(1).find(|folder| folder.join(".git").exists());
    match found.map(|found| found.kind) {
        Some(Kind::Folder) => None,
        Some(Kind::Link) => Some("`.git` is a link, and commands follow none out of the workspace".to_owned()),
        Some(Kind::File | Kind::Other) => {
            Some("`.git` names a folder outside of the workspace, which commands do not see".to_owned())
        }
        None => above().map(|folder| {
            format!(
                "it lies in `{}`, outside of the workspace, which commands do not see",
                escape(&folder.to_string_lossy())
            )
        }),
    }
}

impl Terms<'_> {
    /// The policy of commands, with no more output than the record and a reply have room for.
    fn exec_settings(&self) -> policy::Exec {
        let mut settings = self.policy.settings().exec.clone();
        // Of each of two streams, and what a reply shows of them must fit into it.
        settings.stored = settings.stored.min(self.budget.room() / 2);
        settings.output = settings.output.min(self.policy.settings().script.limits.reply_bytes / 4);
        settings
    }

    /// An error if a command did not come to an end of its own, or has failed and was to be checked. It holds the end of the output.
    fn heed_end(&self, run: &Run, ended: &Ended, short: bool) -> Result<(), Error> {
        self.end_of(run, ended, short).map_err(|error| match last_words(ended, self.rules.secrets()) {
            Some(said) => error.detail("output", said),
            None => error,
        })
    }

    fn end_of(&self, run: &Run, ended: &Ended, short: bool) -> Result<(), Error> {
        let name = &run.program;
        if ended.cancelled {
            self.check_cancelled()?;
            return Err(Error::new(Code::Cancelled, format!("`{name}` was ended, since the run was cancelled")));
        }
        if ended.timed_out && short {
            return Err(self.budget.took_the_rest(&format!("`{name}`")));
        }
        if let Some(bound) = ended.exceeded {
            return Err(self.beyond(run, ended, bound));
        }
        if let Some(why) = lost_repository(&self.context.workspace, run, ended) {
            let message = format!("`{}` found no repository: {why}", self.told(run));
            let error = Error::new(Code::CommandFailed, message)
                .hint("name the folder with the repository's data in `exec.read` of `nrv.toml`, or use the repository's root as the workspace");
            return Err(self.with_output(error, ended));
        }
        if !run.check || ended.status == Some(0) {
            return Ok(());
        }
        let how = match (ended.timed_out, ended.status, ended.signal) {
            (true, ..) => format!("took longer than {} ms and was ended", ended.duration_ms),
            (false, Some(status), _) => format!("ended with status {status}"),
            (false, None, Some(signal)) => format!("was ended by signal {signal}"),
            (false, None, None) => "did not end".to_owned(),
        };
        Err(self.with_output(Error::new(Code::CommandFailed, format!("`{}` {how}", self.told(run))), ended))
    }

    /// An error with how a command ended, and the end of what it said.
    fn with_output(&self, error: Error, ended: &Ended) -> Error {
        let reply = outcome(ended);
        let error =
            ["status", "signal", "timed_out"].iter().fold(error, |error, key| error.detail(key, reply[*key].clone()));
        let last =
            |stream: &str| last(&secrets::redact(reply[stream].as_str().unwrap_or_default(), self.rules.secrets()));
        error.detail("stdout", last("stdout")).detail("stderr", last("stderr"))
    }

    /// The error of a command that was ended since it hit a bound: whoever made the call, nothing of it counts.
    fn beyond(&self, run: &Run, ended: &Ended, bound: Bound) -> Error {
        let settings = self.policy.settings();
        let limits = exec::limits(&settings.exec);
        let (key, limit, what) = exec::bound(&limits, bound);
        let message = format!("`{}` was ended: it took more {what} than `{key}`", self.told(run));
        self.with_output(Error::new(Code::CommandFailed, message), ended)
            .detail("bound", key)
            .detail("limit", limit)
            .hint(format!("have it take less, or raise `{key}` in `nrv.toml`; nothing of what it changed was kept"))
    }

    /// A command as sentences name it: without secrets, and not all of a long one.
    pub(crate) fn told(&self, run: &Run) -> String {
        // What is cut off might be a part of a secret, of which the rest would not be found.
        shortened(&secrets::redact(&run.argv().join(" "), self.rules.secrets()), COMMAND)
    }
}

/// A program as records have it.
pub(crate) fn recorded_program(found: &exec::Found) -> Program {
    Program { path: found.path.clone(), sha256: found.sha256 }
}

/// Clears the set-id bits of files that a command left in scratch, and tells of them. It is asked for where nothing kept the command
/// from setting them, since looking for them takes as long as listing.
pub(crate) fn clear_scratch(workspace: &Workspace, scratch: &[RepoPath], sink: &mut dyn Sink) -> Cleared {
    let found = journal::clear_set_id(workspace, scratch);
    for (paths, what) in [
        (&found.cleared, "a set-id file that a command left in scratch, is one no more: the bits were cleared"),
        (&found.left, "left in scratch by a command, is a set-id file or can't be looked into; remove it"),
    ] {
        let Some(first) = paths.first() else { continue };
        let more = if paths.len() > 1 { format!(" (and {} more)", paths.len() - 1) } else { String::new() };
        sink.event(Event::Notice { text: format!("warning: `{}`{more}, {what}.", escape(first)) });
    }
    found
}

/// Returns the reply that the script receives.
pub(crate) fn reply(done: &Done) -> Value {
    let mut reply = outcome(&done.ended);
    reply["changed"] = done.changes.changes().iter().map(|change| json!(change.path)).collect();
    reply
}

fn outcome(ended: &Ended) -> Value {
    json!({
        "status": ended.status, "signal": ended.signal, "timed_out": ended.timed_out,
        "stdout": text(&ended.stdout), "stderr": text(&ended.stderr),
        "truncated": ended.stdout.tail.is_some() || ended.stderr.tail.is_some(),
        "duration_ms": ended.duration_ms, "cpu_ms": ended.cpu_ms, "peak_bytes": ended.peak_bytes,
    })
}

/// The end of an output, for an error.
fn last(text: &str) -> String {
    let from = text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at);
    text[from..].to_owned()
}
