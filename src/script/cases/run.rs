//! Runs cases on several threads, each in private copies of its input. Reports come in the order of the cases.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use serde_json::Value;

use super::{
    Check, Purpose, Report, Tree, Update, broken,
    copy::Desk,
    definition::Case,
    outcome::{Ended, Outcome, is_lasting},
    test_folder,
    tree::Modes,
};
use crate::{Invocation, Loaded, Tapes};
use base::error::{Code, Error};
use host::{
    Answer, Context, Event, Finished, Flags, Options, Progress, Question, Silent, Sink, Tape, canonical_records,
};
use system::{clock::Stopwatch, policy::Cassettes, threads, workspace::Workspace};

/// The numbers of threads with which the two runs of a case read and parse.
const THREADS: (usize, usize) = (1, 8);

/// The fields with a command's output and its size, which vary: compilers print their running time.
const SAID: &[&str] = &["stderr", "stderr_bytes", "stderr_sha256", "stdout", "stdout_bytes", "stdout_sha256"];

/// A case of a loaded script.
#[derive(Clone, Copy, Debug)]
pub struct Loadable<'a> {
    /// The script.
    pub loaded: &'a Loaded,
    /// The name of the case.
    pub case: &'a str,
    /// True if the script runs an adapter, whose verifier is checked too.
    pub is_adapter: bool,
}

/// Runs cases with as many threads as the options of the context give, and reports each in the given order.
///
/// An error means that the whole was stopped; the failure of a case is in its report.
pub fn run(
    context: &Context,
    cases: &[Loadable<'_>],
    purpose: Purpose,
    tell: &mut dyn FnMut(Report),
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let work = |sender: mpsc::Sender<(usize, Report)>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index).filter(|_| context.cancelled().is_none()) else { return };
            // A receiver that is gone needs no more reports.
            if sender.send((index, report(context, *case, purpose))).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let (work, most) = (&work, context.options.threads.clamp(1, cases.len().max(1)));
        if threads::helpers(scope, most, move || work(sender.clone())).is_empty() {
            return Err(threads::none_left());
        }
        let mut done = BTreeMap::new();
        let mut told = 0;
        for (index, report) in receiver {
            done.insert(index, report);
            while let Some(report) = done.remove(&told).filter(|_| context.cancelled().is_none()) {
                tell(report);
                told += 1;
            }
        }
        Ok(())
    })?;
    context.cancelled().map_or(Ok(()), Err)
}

fn report(context: &Context, Loadable { loaded, case, is_adapter }: Loadable<'_>, purpose: Purpose) -> Report {
    let watch = Stopwatch::start();
    let folder = test_folder(&loaded.main).child(case);
    let tried =
        Case::read(context, loaded, folder).and_then(|case| Trial { context, loaded, case, purpose, is_adapter }.run());
    let report = match tried {
        Ok(Tried { checks, printed, updated }) => Report {
            script: loaded.main.clone(),
            case: case.to_owned(),
            ok: checks.iter().all(|check| check.ok),
            checks,
            error: None,
            printed,
            updated,
            duration_ms: 0,
        },
        Err(error) => Report::broken(&loaded.main, case, error),
    };
    Report { duration_ms: watch.elapsed_ms(), ..report }
}

/// Runs a script once in a private copy of its case's input, with its arguments and policy. Nothing is checked, and nothing stays.
pub fn try_once(
    context: &Context,
    loaded: &Loaded,
    case: &str,
    tapes: &Tapes,
    sink: &mut dyn Sink,
) -> Result<Finished, Error> {
    let folder = test_folder(&loaded.main).child(case);
    let case = Case::read(context, loaded, folder)?;
    let trial = Trial { context, loaded, case, purpose: Purpose::Check, is_adapter: false };
    let desk = Desk::make(&context.options.environment, &trial.case.input, !loaded.header.ceiling.exec.is_empty())?;
    let place = trial.place(desk.copy("r", &trial.case.input)?, context.options.threads)?;
    crate::run(&place, loaded, trial.invocation(tapes), sink)
}

/// A case that is run.
struct Trial<'a> {
    context: &'a Context,
    loaded: &'a Loaded,
    case: Case,
    purpose: Purpose,
    is_adapter: bool,
}

/// The checks, output and update of a case.
struct Tried {
    checks: Vec<Check>,
    printed: Vec<String>,
    updated: Update,
}

/// The result of a run in a private copy.
struct Ran {
    run: String,
    ended: Ended,
    files_changed: usize,
    tree: Tree,
    records: Vec<Value>,
    printed: Vec<String>,
    /// Replies that it recorded.
    replies: BTreeMap<String, String>,
}

impl Trial<'_> {
    fn run(mut self) -> Result<Tried, Error> {
        let runs_commands = !self.loaded.header.ceiling.exec.is_empty();
        let desk = Desk::make(&self.context.options.environment, &self.case.input, runs_commands)?;
        let mut updated = Update::default();
        if self.purpose == Purpose::Record {
            self.record(&desk, &mut updated)?;
        }
        let one = self.place(desk.copy("a", &self.case.input)?, THREADS.0)?;
        let first = self.go(&one, &self.case.tapes)?;
        let outcome = self.case.outcome.clone().unwrap_or_default();
        let mut checks = vec![outcome.check(&first.ended)];
        // The tree of a failed run says nothing about the expected one.
        if checks[0].ok || self.purpose != Purpose::Check {
            checks.push(self.tree_check(&outcome, &first.tree)?);
        }
        if self.is_adapter && first.ended.error.is_none() {
            checks.extend(broken::check(&one, &first.run, (&self.case.input, &first.tree))?);
        }
        let second = self.go(&one, &self.case.tapes)?;
        checks.push(second_pass(&first, &second)?);
        checks.push(self.rollback(&one, &first, &second)?);
        let other = self.place(desk.copy("b", &self.case.input)?, THREADS.1)?;
        checks.push(determinism(&first, &self.go(&other, &self.case.tapes)?)?);
        if self.purpose != Purpose::Check {
            self.update(&mut checks, &outcome, &first, &mut updated)?;
        }
        Ok(Tried { checks, printed: first.printed, updated })
    }

    /// Asks the models in a run of its own, and uses their replies in all others. The replies are kept even if the case fails.
    fn record(&mut self, desk: &Desk, updated: &mut Update) -> Result<(), Error> {
        let place = self.place(desk.copy("r", &self.case.input)?, THREADS.0)?;
        let folder = self.case.folder.child("llm");
        let tape = |mode, files| Tapes::Given(Tape { mode, folder: folder.to_string(), files });
        let ran = self.go(&place, &tape(Cassettes::Record, BTreeMap::new()))?;
        match ran.ended.error {
            Some(error) if !is_lasting(error.code()) => return Err(error),
            Some(_) | None => {}
        }
        let old = crate::read_tape(self.context, &folder)?;
        updated.replies(&folder, &old, &ran.replies);
        if !ran.replies.is_empty() {
            self.case.tapes = tape(Cassettes::Replay, ran.replies);
        }
        Ok(())
    }

    /// A private copy as the workspace of runs.
    fn place(&self, copy: Workspace, threads: usize) -> Result<Context, Error> {
        let progress: Progress = Options::default().progress;
        // A case's policy is the workspace's, or a file of the workspace: trust in it there holds in the copy.
        let trust = self.context.options.trust.of_copy(self.context.workspace.root());
        let options = Options { threads, progress, trust, ..self.context.options.clone() };
        Context::with_policy(copy, self.case.policy.clone(), options)
    }

    fn invocation(&self, tapes: &Tapes) -> Invocation {
        Invocation {
            args: self.case.args.clone(),
            // The author of a case has decided, so every question is answered with yes.
            flags: Flags { yes: true, ..Flags::default() },
            tapes: tapes.clone(),
            ..Invocation::default()
        }
    }

    /// Runs the script once.
    fn go(&self, place: &Context, tapes: &Tapes) -> Result<Ran, Error> {
        let mut heard = Heard::default();
        let finished = crate::run(place, self.loaded, self.invocation(tapes), &mut heard)?;
        self.context.cancelled().map_or(Ok(()), Err)?;
        let folder = place.runs.open(&finished.run)?;
        // The script that runs an adapter is no file; only an error of the adapter's own functions has a place.
        let is_placed = |error: &Error| !self.is_adapter || error.details().contains_key("function");
        let error = finished.error.map(|error| if is_placed(&error) { error } else { error.without_place() });
        let records = canonical_records(&folder, &folder.records()?, place.workspace.root())?;
        Ok(Ran {
            ended: Ended { result: placeless(finished.result, &finished.run, place), error },
            files_changed: finished.files_changed,
            run: finished.run,
            tree: Tree::read(&place.workspace, None, self.case.scratch.as_ref())?,
            records: records.into_iter().map(without_talk).collect(),
            printed: heard.printed,
            replies: finished.cassettes.map(|tape| tape.files).unwrap_or_default(),
        })
    }

    /// The tree that is expected after a run with this outcome; none if nothing says it.
    fn expected(&self, outcome: &Outcome) -> Option<&Tree> {
        // A script that has to fail leaves the tree as it was, unless the case says otherwise.
        self.case.expected.as_ref().or(outcome.error.map(|_| &self.case.input))
    }

    fn tree_check(&self, outcome: &Outcome, found: &Tree) -> Result<Check, Error> {
        const NAME: &str = "tree";
        if let Some(expected) = self.expected(outcome) {
            return Ok(Check::of_trees(NAME, expected.differences(found, Modes::Executable)?));
        }
        // Git keeps no empty folder, so an empty tree needs no `expected` folder.
        if self.case.input.is_empty() && found.is_empty() {
            return Ok(Check::holds(NAME));
        }
        let detail = format!("there is no `{}`: `nrv test -u` writes it", self.case.folder.child("expected"));
        Ok(match self.case.input.differences(found, Modes::Executable)? {
            Some(made) => Check { diff: made.text(), ..Check::fails(NAME, detail) },
            None => Check::fails(NAME, detail).after("the script changes nothing of its input"),
        })
    }

    /// Rolls both runs back, the last one first.
    fn rollback(&self, place: &Context, first: &Ran, second: &Ran) -> Result<Check, Error> {
        const NAME: &str = "rollback";
        for ran in [second, first].into_iter().filter(|ran| ran.files_changed > 0) {
            let rolled_back = host::rollback(place, &ran.run, false, Flags::default(), &mut Silent);
            let finished = match rolled_back {
                Ok(rolled_back) => rolled_back.finished,
                Err(error) if error.code() == Code::Cancelled => return Err(error),
                Err(error) => return Ok(Check { error: Some(error), ..Check::fails(NAME, "it can't be rolled back") }),
            };
            if let Some(error) = finished.error {
                return Ok(Check { error: Some(error), ..Check::fails(NAME, "it can't be rolled back") });
            }
        }
        let found = Tree::read(&place.workspace, None, self.case.scratch.as_ref())?;
        let check = Check::of_trees(NAME, self.case.input.differences(&found, Modes::All)?);
        Ok(if check.ok { check } else { check.after("after the rollback the tree is not the input") })
    }

    /// Adds the changes that make the case expect the present result, if everything else holds; those checks hold then.
    fn update(&self, checks: &mut [Check], outcome: &Outcome, first: &Ran, updated: &mut Update) -> Result<(), Error> {
        let is_mended = |check: &Check| matches!(check.name, "outcome" | "tree");
        if checks.iter().any(|check| !check.ok && !is_mended(check)) {
            return Ok(());
        }
        let new = outcome.updated(&first.ended);
        // It ended with a passing failure, such as a lock.
        if new.is_none() && !outcome.check(&first.ended).ok {
            return Ok(());
        }
        let is_as_expected = match self.expected(new.as_ref().unwrap_or(outcome)) {
            Some(expected) => expected.differences(&first.tree, Modes::Executable)?.is_none(),
            None => false,
        };
        if !is_as_expected && first.tree.is_empty() && !self.case.input.is_empty() {
            const LOST: &str =
                "no file is left, and a repository keeps no empty `expected`: add one to `input` that stays";
            checks
                .iter_mut()
                .filter(|check| check.name == "tree")
                .for_each(|check| *check = Check::fails("tree", LOST));
            return Ok(());
        }
        if let Some(new) = &new {
            updated.outcome(&self.case.folder, new)?;
        }
        if !is_as_expected {
            updated.tree(&self.case.folder, &self.case.expected.clone().unwrap_or_default(), &first.tree);
        }
        checks.iter_mut().filter(|check| is_mended(check)).for_each(|check| *check = Check::holds(check.name));
        if let (Some(_), Some(error)) = (new, &first.ended.error) {
            // That is mostly a mistake, and rarely the purpose of the case.
            let detail = format!("it has to fail with `{}` from now on: {}", error.code().as_str(), error.message());
            checks
                .iter_mut()
                .filter(|check| check.name == "outcome")
                .for_each(|check| check.detail.clone_from(&detail));
        }
        Ok(())
    }
}

/// A second pass may fail, but it finds nothing left to do.
fn second_pass(first: &Ran, second: &Ran) -> Result<Check, Error> {
    let check = Check::of_trees("second_pass", first.tree.differences(&second.tree, Modes::All)?);
    Ok(match &second.ended.error {
        _ if !check.ok => check.after("a second pass changes the tree again"),
        Some(error) if error.code() == Code::NoMatch => check,
        Some(error) if first.ended.error.as_ref().map(Error::code) != Some(error.code()) => {
            check.after(&format!("a second pass ends with `{}` and changes nothing", error.code().as_str()))
        }
        Some(_) | None => check,
    })
}

/// Two runs on two copies with other numbers of threads are the same: tree, end, record.
fn determinism(one: &Ran, other: &Ran) -> Result<Check, Error> {
    const NAME: &str = "determinism";
    let told = format!("a run with {} threads differs from one with {}", THREADS.1, THREADS.0);
    let tree = Check::of_trees(NAME, one.tree.differences(&other.tree, Modes::All)?);
    if !tree.ok {
        return Ok(tree.after(&told));
    }
    if one.ended.result != other.ended.result {
        return Ok(Check::fails(NAME, format!("{told} in its result")).values(&one.ended.result, &other.ended.result));
    }
    let n = one.records.len().max(other.records.len());
    let row = |ran: &Ran, at: usize| ran.records.get(at).cloned().unwrap_or_default();
    Ok(match (0..n).find(|at| row(one, *at) != row(other, *at)) {
        None => Check::holds(NAME),
        Some(at) => {
            let detail = format!("{told} in record {} of {n}", at + 1);
            Check::fails(NAME, detail).values(&row(one, at), &row(other, at))
        }
    })
}

/// A result without the id and the folder of its run.
fn placeless(result: Value, run: &str, place: &Context) -> Value {
    let root = place.workspace.root().display().to_string();
    let text = result.to_string();
    if !text.contains(run) && !text.contains(&root) {
        return result;
    }
    serde_json::from_str(&text.replace(run, "<run>").replace(&root, "<root>")).unwrap_or(result)
}

/// A record without the output of commands.
fn without_talk(mut record: Value) -> Value {
    if record["data"]["call"] == "exec.run"
        && let Some(reply) = record["data"].get_mut("reply")
    {
        match reply.as_object_mut() {
            Some(reply) if reply.contains_key("status") => SAID.iter().for_each(|key| drop(reply.remove(*key))),
            _ => *reply = Value::Null,
        }
    }
    record
}

/// A sink that keeps a script's output and answers every question with yes.
#[derive(Default)]
struct Heard {
    printed: Vec<String>,
}

impl Sink for Heard {
    fn event(&mut self, event: Event) {
        if let Event::Print { text } = event {
            self.printed.push(text);
        }
    }

    fn ask(&mut self, _question: &Question) -> Answer {
        Answer::Yes
    }
}
