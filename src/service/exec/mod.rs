//! `nrv.exec`: a command runs on a view of the tree, and its changes there are read back as a change set.
//!
//! Neither this code nor the command writes the tree, only private folders outside of it, which are removed afterwards. The
//! exception are scratch folders, which are not part of the tree.

mod baseline;
mod changes;
mod copy;
mod environment;
mod foreign;
mod private_folder;
mod program;
mod scope;
mod stage;
mod trial;
mod upper_layer;
mod variable;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use serde::{Deserialize, Serialize};

use self::{
    baseline::Stock,
    changes::{Candidates, Changes},
    copy::Copy,
    private_folder::Desk,
    program::Program as Located,
    scope::Scope,
};
pub use self::{
    program::look_up,
    trial::{Trial, trial},
};
use crate::{
    base::{
        call,
        change::{ChangeSet, Content},
        error::{Code, Error},
        hash::Sha256,
        path::{RepoPath, protected},
    },
    system::{
        policy,
        process::{
            Critical, Program,
            sandbox::{self, Confinement, Ended, Launch, NotStarted, State},
        },
        workspace::{Kind, View},
    },
};

/// The surroundings of a command.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The tree as the run sees it; in a dry run with its proposals.
    pub view: View<'a>,
    /// The policy of commands.
    pub exec: &'a policy::Exec,
    /// The environment of nrv; the policy passes some of its variables on.
    pub environment: &'a BTreeMap<String, String>,
    /// The program with the hidden subcommands that supervise.
    pub supervisor: &'a Program,
    /// The run, whose id is part of the names of private folders.
    pub run: &'a str,
    /// True if the program may be a file of the workspace, by the rule that allows the command.
    pub from_workspace: bool,
    /// The variables that calls may set by that rule, beside those that any call may.
    pub variables: &'a [String],
    /// Protected paths that the policy lets runs write.
    pub permitted: &'a [String],
    /// True if the changes are discarded.
    pub discard: bool,
    /// True if writes to scratch folders are discarded, too.
    pub dry_run: bool,
    /// The time limit of the command, in milliseconds.
    pub timeout_ms: u64,
    /// Threads for listing; results don't depend on it.
    pub threads: usize,
    /// True as soon as it must stop.
    pub cancel: &'a AtomicBool,
    /// Entered while the command runs, which ends by itself after a request to stop.
    pub critical: &'a Critical,
    /// The files that take the whole output, of stdout and stderr.
    pub output: Option<(&'a Path, &'a Path)>,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its hash.
    pub sha256: Sha256,
}

/// A prepared command.
#[derive(Debug)]
pub struct Prepared<'a> {
    ctx: Context<'a>,
    run: call::Run,
    program: Located,
    /// The workspace's root without links on the way.
    root: PathBuf,
    cwd: Option<RepoPath>,
    scope: Scope,
    stock: Stock,
}

/// The result of a command.
#[derive(Debug)]
pub struct Done {
    /// Its end, and its output.
    pub ended: Ended,
    /// Its changes in the view.
    pub changes: ChangeSet,
    /// The pre-image of each change, in their order.
    pub before: Vec<Option<Content>>,
}

/// Checks the call, finds the program and lists the files that the command may change. The caller holds the lock on them.
///
/// A program's path with a slash is relative to the workspace's root unless absolute. The working folder does not matter, as
/// for all paths of a call.
pub fn prepare<'a>(ctx: Context<'a>, run: &call::Run) -> Result<Prepared<'a>, Error> {
    let root = fs::canonicalize(ctx.view.workspace().root())
        .map_err(|error| Error::io("the workspace's root can't be found", &error))?;
    let cwd = working_folder(&ctx, run.cwd.as_deref())?;
    environment::check(&run.env, ctx.variables)?;
    if let Some(argument) = run.args.iter().find(|argument| argument.contains('\0')) {
        let message = format!("the argument `{}` holds a NUL byte", argument.escape_debug());
        return Err(Error::new(Code::InvalidInput, message).hint("no program can be given such an argument"));
    }
    let scope = Scope::parse(&run.writes, &ctx.exec.scratch, ctx.permitted)?;
    let program = program::find(&ctx, (&root, &run.program), environment::passed_on(&ctx).get("PATH"))?;
    let stock = Stock::take(&ctx, &scope)?;
    Ok(Prepared { ctx, run: run.clone(), program, root, cwd, scope, stock })
}

/// The folder that a command runs in; if none, the root.
fn working_folder(ctx: &Context<'_>, cwd: Option<&str>) -> Result<Option<RepoPath>, Error> {
    let Some(text) = cwd.filter(|text| !matches!(*text, "" | "." | "./")) else { return Ok(None) };
    let path = RepoPath::parse(text)?;
    if let Some(reason) = protected::read_refusal(&path) {
        return Err(Error::new(Code::ProtectedPath, format!("a command can't run in `{path}`: {reason}")));
    }
    let is_proposed = || {
        let mut proposed = ctx.view.overlay().iter().filter(|(_, content)| content.is_some());
        proposed.any(|(file, _)| file.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    match ctx.view.workspace().stat(&path)?.map(|found| found.kind) {
        Some(Kind::Folder) => Ok(Some(path)),
        None if is_proposed() => Ok(Some(path)),
        None => Err(Error::new(Code::NotFound, format!("the folder `{path}` does not exist"))
            .hint("give `cwd` as a folder of the workspace, relative to its root")),
        Some(Kind::Link) => Err(Error::new(Code::InvalidPath, format!("`{path}` is or goes through a symbolic link"))
            .hint("links are not followed; name the folder itself")),
        Some(Kind::File | Kind::Other) => Err(Error::new(Code::InvalidInput, format!("`{path}` is no folder"))
            .hint("give `cwd` as a folder of the workspace, relative to its root")),
    }
}

impl Prepared<'_> {
    /// The program that will be run.
    pub fn program(&self) -> &Found {
        &self.program.found
    }

    /// Missing scratch folders whose full names the policy gives. The owner of the tree creates them before the command runs,
    /// or their contents are discarded. A dry run discards them in any case, and needs none.
    pub fn missing_scratch(&self) -> Result<Vec<RepoPath>, Error> {
        let named = if self.ctx.dry_run { Vec::new() } else { self.scope.named_scratch() };
        let known = |folder: &RepoPath| self.stock.scratch.contains(folder);
        Ok(named.into_iter().filter(|folder| !known(folder)).collect())
    }

    /// The scratch folders that the command writes directly.
    pub fn scratch(&self) -> Result<Vec<RepoPath>, Error> {
        stage::through(self)
    }

    /// Runs the command to its end and reads its changes back.
    ///
    /// `ready` receives the confinement just before the start, and may refuse. The changes of a killed command, and of a failed
    /// one that had to succeed, are not read back. `stale_preimage` if another process changed a file below `writes` meanwhile,
    /// `permission_denied` if the command changed a file outside of them.
    pub fn run(self, ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>) -> Result<Done, Error> {
        let places = private_folder::places(&self.root, self.ctx.environment)?;
        let mut why = String::new();
        for place in private_folder::one_of_each_file_system(&places) {
            match self.on_stage(place, ready)? {
                Ok(done) => return Ok(done),
                Err(reason) => why = reason,
            }
        }
        self.on_copy(&places, &why, ready)
    }

    /// As [`Prepared::run`], on a copy of the tree even if the kernel supports views.
    pub fn run_on_copy(self, ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>) -> Result<Done, Error> {
        let places = private_folder::places(&self.root, self.ctx.environment)?;
        self.on_copy(&places, "none was asked for", ready)
    }

    /// Runs the command on a view over the tree; the inner error is the reason that there is none.
    fn on_stage(
        &self,
        place: &Path,
        ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
    ) -> Result<Result<Done, String>, Error> {
        let Ok(desk) = Desk::make(place, self.ctx.run) else {
            return Ok(Err(format!("no private folder can be made in `{}`", place.display())));
        };
        let stage = stage::stage(self, &desk)?;
        let upper = stage.upper.clone();
        let laid = foreign::lay(self, &upper)?;
        let launch = Launch { stage: Some(stage), ..stage::launch(self, &desk, self.root.clone())? };
        match self.launch(&launch, ready) {
            Ok(ended) => self.done(ended, || upper_layer::read(&self.ctx, &self.scope, (&upper, &laid))).map(Ok),
            Err(NotStarted::NoStage(reason)) => Ok(Err(reason)),
            Err(NotStarted::Unconfined(missing)) => Err(unconfined(&missing)),
            Err(NotStarted::Failed(error)) => Err(error),
        }
    }

    /// Runs the command on a copy of the tree.
    fn on_copy(
        &self,
        places: &[PathBuf],
        why: &str,
        ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
    ) -> Result<Done, Error> {
        let no_overlay =
            format!("no overlay: {why}; the command worked on a copy of the tree without `.git`, in another folder");
        if self.ctx.exec.sandbox == policy::Sandbox::Require {
            return Err(unconfined(&[no_overlay]));
        }
        let desk = Desk::make_in_first(places, self.ctx.run)?;
        let copy = Copy::make(self, &desk)?;
        let mut launch = stage::launch(self, &desk, copy.root())?;
        launch.write.push(copy.root());
        launch.write.extend(stage::through(self)?.iter().map(|folder| self.root.join(folder.as_str())));
        let mut missing = vec![no_overlay];
        missing.extend(copy.missing.iter().cloned());
        let lessen = |confinement: &Confinement| {
            let mut less = confinement.clone();
            (less.staged, less.isolated) = (false, false);
            less.missing.extend(missing.iter().cloned());
            if less.state == State::Enforced {
                less.state = State::Partial;
            }
            less
        };
        match self.launch(&launch, &mut |confinement| ready(&lessen(confinement))) {
            Ok(mut ended) => {
                ended.confinement = lessen(&ended.confinement);
                self.done(ended, || copy.read(&self.ctx, &self.scope))
            }
            Err(NotStarted::NoStage(reason)) => Err(Error::new(Code::Internal, reason)),
            Err(NotStarted::Unconfined(missing)) => Err(unconfined(&missing)),
            Err(NotStarted::Failed(error)) => Err(error),
        }
    }

    fn launch(
        &self,
        launch: &Launch,
        ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
    ) -> Result<Ended, NotStarted> {
        let _section = self.ctx.critical.entered();
        sandbox::launch(launch, self.ctx.supervisor, self.ctx.cancel, ready)
    }

    /// Reads back the changes of a command that ended by itself.
    fn done(&self, ended: Ended, read: impl FnOnce() -> Result<Candidates, Error>) -> Result<Done, Error> {
        let was_ended = ended.timed_out || ended.cancelled || ended.exceeded.is_some() || ended.status.is_none();
        let changes = if self.ctx.discard || was_ended || (self.run.check && ended.status != Some(0)) {
            Changes::default()
        } else {
            let changes = changes::collect(&self.ctx, &self.scope, &read()?)?;
            self.stock.check(&self.ctx, &self.scope)?;
            changes
        };
        Ok(Done { ended, changes: changes.set, before: changes.before })
    }
}

fn unconfined(missing: &[String]) -> Error {
    Error::new(Code::PermissionDenied, format!("the command can't be confined in full here: {}", missing.join("; ")))
        .detail("missing", missing.to_vec())
        .hint("`nrv doctor` says what this machine can do; with `sandbox = \"auto\"` in `[exec]` it is confined as far as that goes")
}

/// The limits of commands under a policy; an absent one is unlimited.
pub fn limits(exec: &policy::Exec) -> sandbox::Limits {
    stage::limits(exec)
}

/// The policy key of a limit, its value, and the limited resource.
pub fn bound(limits: &sandbox::Limits, bound: sandbox::Bound) -> (&'static str, u64, &'static str) {
    let (key, limit, what) = match bound {
        sandbox::Bound::Memory => ("exec.memory", limits.memory, "memory"),
        sandbox::Bound::Processes => ("exec.processes", limits.processes, "processes"),
        sandbox::Bound::Disk => ("exec.disk", limits.disk, "space on the disk, at least 4 KiB a file"),
    };
    (key, limit.unwrap_or(u64::MAX), what)
}

/// Removes the private folders that a dead run left behind.
pub fn clear(run: &str, environment: &BTreeMap<String, String>) -> Result<(), Error> {
    private_folder::clear(run, environment)
}
