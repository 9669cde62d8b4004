//! The client of a forge, which opens and closes change requests: a program that the workspace's policy allows, run as the user's own, and
//! below a supervisor: when nrv ends, it ends too.

use std::{path::Path, sync::atomic::Ordering, time::Duration};

use super::super::{Here, arguments::Cli, output::Output, trust};
use crate::face::fleet::{RequestForm, Step};
use base::{
    error::{Code, Error},
    text::escape,
};
use gate::secrets;
use script::remote::without_secrets;
use service::exec::{PrivateFolder, look_up};
use system::{
    clock::Stopwatch,
    process::sandbox::{self, Confine, Ended, Launch, NotStarted},
};

/// The time that the client has, in milliseconds, and the time that it has to end after a request to stop.
const PATIENCE_MS: u64 = 120_000;
const GRACE_MS: u64 = 500;

/// The most bytes that it may print.
const MOST_SAID: usize = 1 << 20;

/// The time between two looks at a request to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the commands of change requests.
pub(super) struct Client {
    /// The workspace with its policy, which has to allow the commands; none if there are none.
    here: Option<Here>,
    pause: Duration,
    /// Runs since something was to be opened or closed last.
    since: Option<Stopwatch>,
}

impl Client {
    /// The client for the commands of a plan. Each of them is looked at before anything is pushed.
    pub(super) fn open(cli: &Cli, from: &Here, form: Option<&RequestForm>, out: &mut Output) -> Result<Self, Error> {
        let Some(form) = form else { return Ok(Client { here: None, pause: Duration::ZERO, since: None }) };
        let mut here = Here::open(cli)?;
        // One request to stop is for both.
        here.context.options.cancel = from.context.options.cancel.clone();
        for command in [&form.find, &form.open, &form.close] {
            here.context.policy.exec_rule(command)?;
        }
        trust::asking(&here, out, || here.context.check_trust())?;
        Ok(Client { here: Some(here), pause: Duration::from_secs(form.pause_s.into()), since: None })
    }

    /// Runs a command in an empty folder, with the user's environment; what it prints.
    ///
    /// `permission_denied` if the policy does not allow it, and `command_failed` if it fails.
    pub(super) fn run(&mut self, step: Step, argv: &[String]) -> Result<String, Error> {
        if step == Step::Change {
            self.wait()?;
            self.since = Some(Stopwatch::start());
        }
        let here = self.here.as_ref().ok_or_else(|| Error::new(Code::Internal, "the plan has no commands"))?;
        let Some((name, words)) = argv.split_first() else { return Ok(String::new()) };
        let options = &here.context.options;
        let folder = PrivateFolder::make("fleet")?;
        let launch = Launch {
            program: program(here, argv)?,
            name: name.clone(),
            args: words.to_vec(),
            cwd: folder.path().to_owned(),
            env: options.environment.clone(),
            timeout_ms: PATIENCE_MS,
            grace_ms: GRACE_MS,
            // It reaches the login of the user.
            confine: Confine::Off,
            network: true,
            temporary: folder.path().to_owned(),
            output: sandbox::Output { whole: MOST_SAID, ends: MOST_SAID / 2, ..sandbox::Output::default() },
            ..Launch::default()
        };
        let ended = sandbox::launch(&launch, &options.program, &options.cancel, &mut |_| Ok(()));
        let ended = ended.map_err(|refused| match refused {
            NotStarted::Failed(error) => error,
            NotStarted::NoStage(why) => Error::new(Code::Internal, why),
            NotStarted::Unconfined(missing) => Error::new(Code::Internal, missing.join("; ")),
        })?;
        if ended.cancelled {
            return Err(Error::new(Code::Cancelled, "it was cancelled"));
        }
        match fault(&ended) {
            None => Ok(String::from_utf8_lossy(&ended.stdout.head).into_owned()),
            Some(why) => {
                let why = without_secrets(&why, &options.environment);
                let why = secrets::redact(&why, here.context.rules.secrets()).into_owned();
                Err(Error::new(Code::CommandFailed, format!("`{}` failed: {}", escape(name), escape(&why))))
            }
        }
    }

    /// Waits until the pause since the last change is over.
    fn wait(&self) -> Result<(), Error> {
        while self.since.is_some_and(|since| since.elapsed() < self.pause) {
            if self.here.as_ref().is_some_and(|here| here.context.options.cancel.load(Ordering::Relaxed)) {
                return Err(Error::new(Code::Cancelled, "it was cancelled"));
            }
            std::thread::sleep(LOOK.min(self.pause));
        }
        Ok(())
    }
}

/// The file of a command's program, which the policy has to allow.
fn program(here: &Here, argv: &[String]) -> Result<std::path::PathBuf, Error> {
    let allowance = here.context.policy.exec_rule(argv)?;
    let name = argv.first().map_or("", String::as_str);
    let program = match Path::new(name).is_absolute() {
        true => name.into(),
        false => look_up(name, here.context.options.environment.get("PATH"))?,
    };
    let is_inside = program.canonicalize().is_ok_and(|real| real.starts_with(here.context.workspace.root()));
    match is_inside && !allowance.from_workspace {
        false => Ok(program),
        true => {
            let message = format!("the program `{}` is a file of the workspace", escape(name));
            Err(Error::new(Code::PermissionDenied, message)
                .hint("only a rule of `[[exec.allow]]` with `from_workspace = true` lets such a program be run"))
        }
    }
}

/// The reason that a command failed; none if it did not.
fn fault(ended: &Ended) -> Option<String> {
    let said = String::from_utf8_lossy(&ended.stderr.head).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").to_owned();
    match (ended.timed_out, ended.status) {
        (true, _) => Some(format!("it took longer than {} s", PATIENCE_MS / 1000)),
        (false, None) => Some(format!("it was ended by a signal; {last}")),
        (false, Some(0)) if ended.stdout.length > MOST_SAID as u64 => Some("it printed more than 1 MiB".to_owned()),
        (false, Some(0)) => None,
        (false, Some(status)) => Some(format!("exit code {status}: {last}")),
    }
}
