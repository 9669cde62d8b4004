//! A session: texts that a person gives one after another, in one worker, at the one door, with one record.
//!
//! It is a dry run unless it was started otherwise: changes are proposed, and later texts see them. [`Interactive::apply`] makes
//! exactly the proposed changes, as a run of its own.

mod door;
mod saved;
mod used;

use std::{collections::BTreeMap, mem};

use serde::Serialize;
use serde_json::{Map, Value};

use self::{
    door::{NAME, OrNo, Watched, placed},
    saved::Piece,
    used::Used,
};
use crate::{
    Loader, Tapes,
    load::{Imported, load_imports},
    recordings,
    run::{HostDoor, origin, read_source},
    session::Worker,
};
use base::{
    call::Call,
    error::{Code, Error},
    frame::{self, Completion, Limits, RunRequest, Shown},
    path::RepoPath,
};
use host::{
    Asked, Context, Event, Finished, Flags, Host, Input, Position, Positions, Request, RolledBack, Silent, Sink,
};

/// The hint after the death of a worker.
const LOST: &str = "its variables and functions are gone; the next text begins without them";

/// The options of a new session.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Make changes at once; without it they are only proposed.
    pub apply: bool,
    /// The seed of all random choices.
    pub seed: u64,
    /// Answer the confirmations that policy lets a flag answer.
    pub yes: bool,
    /// Apply although files have uncommitted changes.
    pub allow_dirty: bool,
    /// The source of recorded replies of language models; those of the policy are in `session.llm`.
    pub tapes: Tapes,
    /// The arguments, by name, as texts see them in `args`.
    pub args: Map<String, Value>,
}

/// The state of a text before it is evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parsed {
    /// False if more text could complete it: a bracket or a string is open, or an operand is missing.
    pub complete: bool,
    /// Its errors, if it is complete.
    pub errors: Vec<Error>,
}

/// The result of a text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluated {
    /// Counts from 1; the text is `input-N` in places of errors.
    pub number: usize,
    /// The value of its last expression; none after an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// The error, if there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// True if the worker died, now or since the last text, and all variables and functions of earlier texts with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// The sources of the error's place, by name, as [`super::diagnostic::render`] takes them; empty without an error.
    #[serde(skip)]
    pub sources: BTreeMap<String, String>,
}

/// A session.
pub struct Interactive<'a> {
    context: &'a Context,
    start: Start,
    /// The present run; none if no other could follow the last one.
    host: Option<Host<'a>>,
    /// The worker; none until it is needed, and after it has died.
    worker: Option<Worker>,
    /// True if a worker that knew texts has died and the user was not told.
    lost: bool,
    positions: Positions,
    /// Every text so far.
    texts: Vec<Text>,
    /// The index of the first text that the worker knows.
    known: usize,
    lines: usize,
    /// The modules that were imported, by name.
    modules: BTreeMap<String, String>,
    used: Used,
    /// The runs that were applied and not rolled back.
    applied: Vec<String>,
    /// The idle time, if a text is awaited.
    rested: Option<host::Rest>,
}

/// A text that was given.
struct Text {
    name: String,
    text: String,
    /// The file whose folder its imports start from.
    place: String,
    /// The lines before it.
    after: usize,
    parsed: frame::Parsed,
    went_well: bool,
}

impl<'a> Interactive<'a> {
    /// Starts a session with a worker and a run.
    pub fn start(context: &'a Context, start: Start, sink: &mut dyn Sink) -> Result<Self, Error> {
        let mut session = Interactive {
            context,
            start,
            host: None,
            worker: None,
            lost: false,
            positions: Positions::default(),
            texts: Vec::new(),
            known: 0,
            lines: 0,
            modules: BTreeMap::new(),
            used: Used::default(),
            applied: Vec::new(),
            rested: None,
        };
        session.begin_run(sink)?;
        session.ready()?;
        Ok(session)
    }

    /// Checks if a text is complete, and finds its errors; nothing runs.
    pub fn parse(&mut self, text: &str) -> Result<Parsed, Error> {
        let frame::Parsed { complete, errors, .. } = self.ask(|worker| worker.parse(text, &|| None))?;
        let name = self.next_name();
        let errors = errors.into_iter().map(|error| self.placed_in(error, &name, self.lines)).collect();
        Ok(Parsed { complete, errors })
    }

    /// Evaluates a text. Its errors are in [`Evaluated`]; an `Err` means that the session can't go on.
    ///
    /// The `cancel` flag of the context's options stops the text only, and is cleared then.
    pub fn evaluate(&mut self, text: &str, sink: &mut dyn Sink) -> Result<Evaluated, Error> {
        self.evaluate_as(self.next_name(), NAME, text, sink)
    }

    /// Evaluates a script of the workspace in the session; its header permits and bounds nothing here.
    pub fn load(&mut self, path: &RepoPath, sink: &mut dyn Sink) -> Result<Evaluated, Error> {
        match read_source(self.context, path) {
            Ok(text) => self.evaluate_as(path.to_string(), path.as_str(), &text, sink),
            Err(error) => Ok(Evaluated {
                number: self.texts.len(),
                shown: None,
                error: Some(error),
                lost: false,
                sources: BTreeMap::new(),
            }),
        }
    }

    /// The candidates at a place of a text, in bytes. With an empty text and place 0 it lists all variables.
    pub fn complete(&mut self, text: &str, cursor: usize) -> Result<Completion, Error> {
        self.ask(|worker| worker.complete(text, cursor, &|| None))
    }

    /// The patch of the proposed changes, or of those made in a session that applies; without secrets, and empty without changes.
    pub fn diff(&mut self) -> Result<Vec<u8>, Error> {
        self.host()?.patch_so_far()
    }

    /// The number of files with proposed changes, or of changed files in a session that applies.
    pub fn files(&self) -> usize {
        self.host.as_ref().map_or(0, Host::files_so_far)
    }

    /// Makes exactly the proposed change, as a run of its own. After success nothing is proposed any more.
    ///
    /// An error means that the run did not start; [`Finished`] has the outcome of a started one.
    pub fn apply(&mut self, sink: &mut dyn Sink) -> Result<Finished, Error> {
        let finished = self.apply_now(&mut OrNo(sink));
        self.take_back_cancel();
        finished
    }

    fn apply_now(&mut self, sink: &mut dyn Sink) -> Result<Finished, Error> {
        let plan = self.host()?.plan_so_far(sink)?;
        if plan.files.is_empty() {
            return Err(Error::new(Code::InvalidInput, "nothing is proposed, so that there is nothing to apply"));
        }
        let (_, sha256) = plan.to_json()?;
        let asked = Asked::Planned { plan: Input { name: format!("{NAME} {}", self.run()), sha256 } };
        let call = Call::ApplyPlanned { files: plan.files };
        let request = Request::apply(self.context, asked, &call, Flags { dry_run: false, ..self.flags() });
        let mut run = Host::start(self.context, request, sink)?;
        let outcome = run.perform(&Position::nth(1), call, sink);
        let finished = run.finish(outcome, sink)?;
        if finished.error.is_none() {
            self.applied.push(finished.run.clone());
            self.renew(sink);
        }
        Ok(finished)
    }

    /// Rolls back the last run that was applied and not rolled back; in a session that applies all of its changes.
    pub fn rollback(&mut self, sink: &mut dyn Sink) -> Result<RolledBack, Error> {
        let sink = &mut OrNo(sink);
        let nothing = || Error::new(Code::InvalidInput, "nothing was applied that could be rolled back");
        if self.start.apply && self.host()?.files_so_far() > 0 {
            let finished = self.end_run(&mut Silent)?;
            self.applied.push(finished.run);
        }
        let last = self.applied.last().cloned().ok_or_else(nothing)?;
        let rolled = host::rollback(self.context, &last, false, Flags { dry_run: false, ..self.flags() }, sink);
        if self.host.is_none() {
            self.begin_run(sink)?;
        }
        self.take_back_cancel();
        let rolled = rolled?;
        if rolled.finished.error.is_none() {
            self.applied.pop();
        }
        Ok(rolled)
    }

    /// The used and remaining amounts of each budget, as `nrv.run.budget()` returns them.
    pub fn budget(&self) -> Result<Value, Error> {
        self.host.as_ref().map(Host::describe_budget).ok_or_else(no_run)
    }

    /// A script of the texts that succeeded, in their order, and a header with the permissions that their calls used.
    ///
    /// Its imports are rewritten so that they lead to the same modules from that path.
    pub fn script(&self, path: &RepoPath) -> String {
        let well = self.texts.iter().filter(|text| text.went_well);
        let pieces: Vec<Piece<'_>> =
            well.map(|Text { text, place, after, parsed, .. }| Piece { text, place, after: *after, parsed }).collect();
        saved::script(path.as_str(), &pieces, &self.used)
    }

    /// The id of the present run.
    pub fn run(&self) -> &str {
        self.host.as_ref().map_or("", Host::run_id)
    }

    /// Starts anew: no variables, no functions, nothing proposed, nothing to save.
    pub fn reset(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        if self.host.is_some() {
            self.end_run(&mut Silent)?;
        }
        self.forget();
        self.texts.clear();
        self.known = 0;
        (self.modules, self.used) = (BTreeMap::new(), Used::default());
        self.begin_run(sink)
    }

    /// Ends the session and its run.
    pub fn finish(mut self, sink: &mut dyn Sink) -> Result<Finished, Error> {
        self.worker = None;
        self.end_run(&mut OrNo(sink))
    }

    fn evaluate_as(&mut self, name: String, place: &str, text: &str, sink: &mut dyn Sink) -> Result<Evaluated, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let had_died = self.revive()?;
        if let Some(rest) = self.rested.take() {
            rest.end();
        }
        let position = self.positions.next();
        self.host()?.begin_input(&position, &name, text)?;
        self.texts.push(Text {
            name,
            text: text.to_owned(),
            place: place.to_owned(),
            after: self.lines,
            parsed: frame::Parsed::default(),
            went_well: false,
        });
        let sink: &mut dyn Sink = &mut OrNo(sink);
        let outcome = self.evaluate_last(place, sink);
        let lost = self.worker.is_none();
        let outcome = outcome.map_err(|error| self.told(error, lost));
        self.take_back_cancel();
        self.close_attempts(sink);
        let end = self.positions.next();
        self.host()?.end_input(&end, outcome.as_ref().err(), sink)?;
        self.rested = Some(self.host()?.rest());
        let (number, lost) = (self.texts.len(), lost || had_died);
        Ok(match outcome {
            Ok(shown) => Evaluated { number, shown: Some(shown), error: None, lost, sources: BTreeMap::new() },
            Err(error) => Evaluated { number, shown: None, error: Some(error), lost, sources: self.sources() },
        })
    }

    /// Evaluates the text that was given last.
    fn evaluate_last(&mut self, place: &str, sink: &mut dyn Sink) -> Result<Shown, Error> {
        let text = self.texts.last().map(|text| text.text.clone()).unwrap_or_default();
        let parsed = self.ask(|worker| worker.parse(&text, &|| None))?;
        if let Some(error) = parsed.errors.first() {
            return Err(error.clone());
        }
        let Imported { sources, imports } = self.imported(place, &parsed)?;
        self.modules.extend(sources.clone());
        if let Some(last) = self.texts.last_mut() {
            (last.parsed, last.after) = (parsed, self.lines);
        }
        self.lines += text.lines().count();
        let run = self.run().to_owned();
        let input = frame::Input { text, sources, imports, run };
        let mut worker = self.worker.take().ok_or_else(no_worker)?;
        let places: Vec<(String, usize)> =
            self.texts[self.known..].iter().map(|text| (text.name.clone(), text.after)).collect();
        let host = self.host.as_mut().ok_or_else(no_run)?;
        let positions = mem::take(&mut self.positions);
        let mut door = Watched { inner: HostDoor { host, sink, positions }, places: &places, used: Used::default() };
        let evaluated = worker.evaluate(input, &mut door);
        let Watched { inner: HostDoor { positions, .. }, used, .. } = door;
        self.positions = positions;
        let outcome = evaluated?;
        self.worker = Some(worker);
        let shown = outcome?;
        self.used.take(used);
        if let Some(last) = self.texts.last_mut() {
            last.went_well = true;
        }
        Ok(shown)
    }

    /// Loads the modules that a parsed text imports, with their own imports.
    fn imported(&self, place: &str, parsed: &frame::Parsed) -> Result<Imported, Error> {
        if parsed.imports.is_empty() {
            return Ok(Imported::default());
        }
        let loader = Loader {
            origin: origin(self.context),
            limits: self.limits(),
            read: &|path| read_source(self.context, path),
            stop: &|| self.context.cancelled(),
        };
        load_imports(&loader, NAME, place, &parsed.imports).map_err(Error::from)
    }

    /// Ends the attempts in which a text was stopped, as calls if that is possible.
    fn close_attempts(&mut self, sink: &mut dyn Sink) {
        while let Some(host) = self.host.as_mut().filter(|_| self.positions.is_within()) {
            let call = Call::AttemptEnd { keep: false };
            let (position, after) = (self.positions.take(&call), self.positions.after(&call));
            if host.perform(&position, call, sink).is_err() {
                self.positions = self.positions.outermost();
                return;
            }
            self.positions = after;
        }
    }

    /// Asks the worker, which is started if there is none. A worker that does not answer is dropped.
    fn ask<T>(&mut self, question: impl FnOnce(&mut Worker) -> Result<T, Error>) -> Result<T, Error> {
        self.ready()?;
        let worker = self.worker.as_mut().ok_or_else(no_worker)?;
        let answer = question(worker);
        if answer.is_err() {
            self.lost |= self.known < self.texts.len();
            self.forget();
        }
        answer
    }

    /// Makes sure that the worker is alive; true if one that knew texts died and the user was not told.
    fn revive(&mut self) -> Result<bool, Error> {
        if self.ask(|worker| worker.parse("", &|| None)).is_err() {
            self.ready()?;
        }
        Ok(mem::take(&mut self.lost))
    }

    /// Starts a worker if there is none.
    fn ready(&mut self) -> Result<(), Error> {
        if self.worker.is_some() {
            return Ok(());
        }
        self.forget();
        let mut worker = Worker::start(origin(self.context), self.limits(), &|| self.context.cancelled())?;
        let args = self.start.args.clone();
        let host = self.host()?;
        host.note_isolation(worker.isolation())?;
        let request = RunRequest {
            main: NAME.to_owned(),
            sources: BTreeMap::new(),
            imports: BTreeMap::new(),
            args: Value::Object(args),
            run: host.run_id().to_owned(),
            seed: host.seed(),
            mode: host.mode().to_owned(),
        };
        worker.interact(request)?;
        self.worker = Some(worker);
        Ok(())
    }

    /// Drops the worker with everything that it knew.
    fn forget(&mut self) {
        self.worker = None;
        (self.known, self.lines) = (self.texts.len(), 0);
    }

    fn limits(&self) -> &'a Limits {
        &self.context.policy.settings().script.limits
    }

    fn host(&mut self) -> Result<&mut Host<'a>, Error> {
        self.host.as_mut().ok_or_else(no_run)
    }

    fn flags(&self) -> Flags {
        let Start { apply, yes, allow_dirty, .. } = self.start;
        Flags { dry_run: !apply, yes, keep: false, allow_dirty }
    }

    fn begin_run(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let request = Request::session(self.context, NAME, self.start.seed, self.flags());
        let tape = recordings::choose(self.context, &request.policy, &RepoPath::parse(NAME)?, &self.start.tapes)?;
        let mut host = Host::start(self.context, request, sink)?;
        if let Some(tape) = tape
            && let Err(error) = host.use_cassettes(tape, None)
        {
            return host.finish(Err(error.clone()), sink).and(Err(error));
        }
        self.positions = Positions::default();
        self.rested = Some(host.rest());
        self.host = Some(host);
        Ok(())
    }

    fn end_run(&mut self, sink: &mut dyn Sink) -> Result<Finished, Error> {
        self.host.take().ok_or_else(no_run)?.finish(Ok(Value::Null), sink)
    }

    /// Ends the dry run whose changes were made, and begins the next. An error is only a notice, since the changes are made.
    fn renew(&mut self, sink: &mut dyn Sink) {
        let ended = self.end_run(&mut Silent).map(drop);
        if let Err(error) = ended.and_then(|()| self.begin_run(sink)) {
            sink.event(Event::Notice { text: format!("The session can't go on: {}.", error.message()) });
        }
    }

    fn take_back_cancel(&mut self) {
        if let Some(host) = &mut self.host {
            host.take_back_cancel();
        }
    }

    fn next_name(&self) -> String {
        format!("input-{}", self.texts.len() + 1)
    }

    /// The error of a text, with its place in that text and a hint about the state of the session.
    fn told(&mut self, error: Error, lost: bool) -> Error {
        let error = match self.texts.last() {
            Some(text) => self.placed_in(error, &text.name, text.after),
            None => error,
        };
        if lost {
            self.lost = false;
            self.forget();
        }
        match (error.code(), lost) {
            (Code::Cancelled, false) => Error::new(Code::Cancelled, "the text was stopped")
                .hint("its earlier changes and all variables are kept"),
            (Code::Cancelled, true) => {
                Error::new(Code::Cancelled, "the text was stopped; it did not obey, and its process was ended")
                    .hint(LOST)
            }
            (_, true) => error.hint(LOST),
            (Code::BudgetExhausted, false) => {
                let hint = error.hint_text().map(|hint| format!("{hint}; ")).unwrap_or_default();
                error.hint(format!("{hint}budgets begin anew when the proposal is applied, or with a new session"))
            }
            (_, false) => error,
        }
    }

    /// The error with its place in the text that it is about; a place beyond all others is in the text of that name.
    fn placed_in(&self, error: Error, name: &str, after: usize) -> Error {
        let known = self.texts[self.known..].iter().map(|text| (text.name.clone(), text.after));
        let places: Vec<_> = known.chain([(name.to_owned(), after)]).collect();
        match error.location().and_then(|place| placed(place, &places)) {
            Some(place) => error.moved(place),
            None => error,
        }
    }

    /// The sources that errors may point into.
    fn sources(&self) -> BTreeMap<String, String> {
        let texts = self.texts.iter().map(|text| (text.name.clone(), text.text.clone()));
        texts.chain(self.modules.clone()).collect()
    }
}

fn no_run() -> Error {
    Error::new(Code::Internal, "the session has no run any more").hint("begin a new session")
}

fn no_worker() -> Error {
    Error::new(Code::Internal, "the session has no worker")
}
