//! The client of a forge, which opens and closes change requests: a program that the workspace's policy allows, run as the user's own.

use std::{path::Path, sync::atomic::Ordering, time::Duration};

use super::super::{Here, arguments::Cli, output::Output, trust};
use crate::{
    base::{
        error::{Code, Error},
        text::escape,
    },
    face::fleet::RequestForm,
    service::exec::{PrivateFolder, look_up},
    system::{
        clock::Stopwatch,
        process::{Command, Program, capture},
    },
};

/// The time that the client has, in milliseconds, and the most that it may say.
const PATIENCE_MS: u64 = 120_000;
const MOST_SAID: usize = 1 << 20;

/// The time between two looks at a request to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the commands of change requests.
pub(super) struct Client {
    /// The workspace with its policy, which has to allow the commands; none if there are none.
    here: Option<Here>,
    pause: Duration,
    /// Runs since something was opened or closed last.
    since: Option<Stopwatch>,
}

impl Client {
    /// The client for the commands of a plan. Each of them is looked at before anything is pushed.
    pub(super) fn open(cli: &Cli, form: Option<&RequestForm>, out: &mut Output) -> Result<Self, Error> {
        let Some(form) = form else { return Ok(Client { here: None, pause: Duration::ZERO, since: None }) };
        let here = Here::open(cli)?;
        for command in [&form.find, &form.open, &form.close] {
            here.context.policy.exec_rule(command)?;
        }
        trust::asking(&here, out, || here.context.check_trust())?;
        Ok(Client { here: Some(here), pause: Duration::from_secs(form.pause_s.into()), since: None })
    }

    /// Notes that something was opened or closed: the next command waits for the pause to be over.
    pub(super) fn rest(&mut self) {
        self.since = Some(Stopwatch::start());
    }

    /// Runs a command in an empty folder, with the user's environment; what it prints.
    ///
    /// `permission_denied` if the policy does not allow it, and `command_failed` if it fails.
    pub(super) fn run(&mut self, argv: &[String]) -> Result<String, Error> {
        let here = self.here.as_ref().ok_or_else(|| Error::new(Code::Internal, "the plan has no commands"))?;
        let allowance = here.context.policy.exec_rule(argv)?;
        let options = &here.context.options;
        while self.since.is_some_and(|since| since.elapsed() < self.pause) {
            if options.cancel.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "it was cancelled"));
            }
            std::thread::sleep(LOOK.min(self.pause));
        }
        let Some((name, words)) = argv.split_first() else { return Ok(String::new()) };
        let program = match Path::new(name).is_absolute() {
            true => name.into(),
            false => look_up(name, options.environment.get("PATH"))?,
        };
        let is_inside = program.canonicalize().is_ok_and(|real| real.starts_with(here.context.workspace.root()));
        if is_inside && !allowance.from_workspace {
            let message = format!("the program `{}` is a file of the workspace", escape(name));
            return Err(Error::new(Code::PermissionDenied, message)
                .hint("only a rule of `[[exec.allow]]` with `from_workspace = true` lets such a program be run"));
        }
        let folder = PrivateFolder::make("fleet")?;
        let done = capture(
            Command {
                program: Program::Path(program),
                args: words.iter().map(Into::into).collect(),
                cwd: Some(folder.path().to_owned()),
                env: options.environment.clone(),
                stdin: Vec::new(),
                timeout_ms: PATIENCE_MS,
                max_output: MOST_SAID,
            },
            Some(options.cancel.as_ref()),
        )?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if done.status == Some(0) {
            return Ok(said(&done.stdout));
        }
        let why = said(&done.stderr);
        let shown = argv.iter().take(3).map(|word| escape(word)).collect::<Vec<_>>().join(" ");
        let why = why.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        Err(Error::new(Code::CommandFailed, format!("`{shown} …` failed: {}", escape(why))))
    }
}
