//! Runs a command on a view of the tree or on a copy of it, and reads its changes back.

use std::path::{Path, PathBuf};

use super::{
    changes::{self, Candidates, Changes},
    conversation::Conversation,
    copy::Copy,
    foreign,
    prepared::Prepared,
    private_folder::{self, Desk},
    stage, upper_layer,
};
use base::{
    change::{ChangeSet, Content},
    error::{Code, Error},
};
use system::{
    policy,
    process::sandbox::{self, Confinement, Ended, Launch, NotStarted, State},
};

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

/// The caller's part in a command that runs.
struct Hooks<'h, 'c> {
    /// Called just before the start.
    ready: &'h mut dyn FnMut(&Confinement) -> Result<(), Error>,
    /// Both directions of its standard streams; if none, it reads its standard input as a file.
    conversation: Option<&'h mut Conversation<'c>>,
}

impl Prepared<'_> {
    /// Runs the command to its end and reads its changes back.
    ///
    /// `ready` receives the confinement just before the start, and may refuse. The changes of a killed command, and of a failed
    /// one that had to succeed, are not read back. `stale_preimage` if another process changed a file below `writes` meanwhile,
    /// `permission_denied` if the command changed a file outside of them.
    pub fn run(self, ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>) -> Result<Done, Error> {
        self.start(&mut Hooks { ready, conversation: None })
    }

    /// As [`Prepared::run`], in a conversation: standard input stays open, and stdout is heard as it comes.
    pub fn converse(
        self,
        ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
        conversation: &mut Conversation<'_>,
    ) -> Result<Done, Error> {
        self.start(&mut Hooks { ready, conversation: Some(conversation) })
    }

    fn start(&self, hooks: &mut Hooks<'_, '_>) -> Result<Done, Error> {
        let places = private_folder::places(&self.root, self.ctx.environment)?;
        let mut why = String::new();
        for place in private_folder::one_of_each_file_system(&places) {
            match self.on_stage(place, hooks)? {
                Ok(done) => return Ok(done),
                Err(reason) => why = reason,
            }
        }
        self.on_copy(&places, &why, hooks)
    }

    /// As [`Prepared::run`], on a copy of the tree even if the kernel supports views.
    pub fn run_on_copy(self, ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>) -> Result<Done, Error> {
        let places = private_folder::places(&self.root, self.ctx.environment)?;
        self.on_copy(&places, "none was asked for", &mut Hooks { ready, conversation: None })
    }

    /// Runs the command on a view over the tree; the inner error is the reason that there is none.
    fn on_stage(&self, place: &Path, hooks: &mut Hooks<'_, '_>) -> Result<Result<Done, String>, Error> {
        let Ok(desk) = Desk::make(place, self.ctx.run) else {
            return Ok(Err(format!("no private folder can be made in `{}`", place.display())));
        };
        let stage = stage::stage(self, &desk)?;
        let upper = stage.upper.clone();
        let laid = foreign::lay(self, &upper)?;
        let launch = Launch { stage: Some(stage), ..stage::launch(self, &desk, self.root.clone())? };
        match self.launch(&launch, &desk, hooks) {
            Ok(ended) => self.done(ended, || upper_layer::read(&self.ctx, &self.scope, &upper, &laid)).map(Ok),
            Err(NotStarted::NoStage(reason)) => Ok(Err(reason)),
            Err(NotStarted::Unconfined(missing)) => Err(unconfined(&missing)),
            Err(NotStarted::Failed(error)) => Err(error),
        }
    }

    /// Runs the command on a copy of the tree.
    fn on_copy(&self, places: &[PathBuf], why: &str, hooks: &mut Hooks<'_, '_>) -> Result<Done, Error> {
        let no_overlay =
            format!("no overlay: {why}; the command worked on a copy of the tree without `.git`, in another folder");
        if self.ctx.exec.sandbox == policy::Sandbox::Require {
            return Err(unconfined(&[no_overlay]));
        }
        let desk = Desk::make_in_first(places, self.ctx.run)?;
        let copy = Copy::make(self, &desk)?;
        let mut launch = stage::launch(self, &desk, copy.root())?;
        launch.write.push(copy.root());
        launch.write.extend(self.scratch()?.iter().map(|folder| self.root.join(folder.as_str())));
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
        let Hooks { ready, conversation } = hooks;
        let mut ready = |confinement: &Confinement| ready(&lessen(confinement));
        let mut hooks = Hooks { ready: &mut ready, conversation: conversation.as_deref_mut() };
        match self.launch(&launch, &desk, &mut hooks) {
            Ok(mut ended) => {
                ended.confinement = lessen(&ended.confinement);
                self.done(ended, || copy.read(&self.ctx, &self.scope))
            }
            Err(NotStarted::NoStage(reason)) => Err(Error::new(Code::Internal, reason)),
            Err(NotStarted::Unconfined(missing)) => Err(unconfined(&missing)),
            Err(NotStarted::Failed(error)) => Err(error),
        }
    }

    fn launch(&self, launch: &Launch, desk: &Desk, hooks: &mut Hooks<'_, '_>) -> Result<Ended, NotStarted> {
        let _section = self.ctx.critical.entered();
        let (supervisor, cancel) = (self.ctx.supervisor, self.ctx.cancel);
        match &mut hooks.conversation {
            None => sandbox::launch(launch, supervisor, cancel, hooks.ready),
            Some(conversation) => conversation.launch(launch, desk, (supervisor, cancel), hooks.ready),
        }
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
