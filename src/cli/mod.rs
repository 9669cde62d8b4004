//! The command line: the only room that prints, reads the environment and talks to a person.
//!
//! Every command turns its arguments into a call of the library and renders the reply. Data goes to stdout, talk to
//! stderr.

mod arguments;
mod dta;
mod output;
mod recover;
mod run;
mod runs;
mod table;
mod terminal;

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use clap::{Parser, error::ErrorKind};

use self::{
    arguments::{Cli, Command, Dta, Global, Runs},
    output::Output,
    terminal::Bar,
};
use crate::{
    dta::Adapters,
    error::{Code, Error},
    host::{Context, Options, Progress},
    workspace::Workspace,
};

/// Runs the command that the arguments ask for.
#[expect(clippy::disallowed_methods, reason = "this is where the arguments come in")]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            let printed = error.print();
            let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return ExitCode::from(match printed {
                _ if !asked_for => Code::Usage.exit_code(),
                // A closed pipe is no reason to say anything else.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Code::Io.exit_code(),
                Ok(()) | Err(_) => 0,
            });
        }
    };
    log_to_stderr(cli.global.verbose);
    let mut out = Output::new(&cli.global);
    let result = dispatch(&cli, &mut out);
    let code = match result {
        Ok(code) => code,
        Err(error) => {
            out.error(&error);
            error.code().exit_code()
        }
    };
    match out.take_failure() {
        Some(error) => {
            out.explain(&error);
            // What went wrong before says more.
            ExitCode::from(if code == 0 { error.code().exit_code() } else { code })
        }
        None => ExitCode::from(code),
    }
}

fn dispatch(cli: &Cli, out: &mut Output) -> Result<u8, Error> {
    let here = Here::open(&cli.global)?;
    match &cli.command {
        Command::Run(arguments) => run::run(&here, arguments, out),
        Command::Dta { command: Dta::List } => dta::list(&here, out),
        Command::Dta { command: Dta::Describe { name } } => dta::describe(&here, name, out),
        Command::Dta { command: Dta::Run(arguments) } => dta::run(&here, arguments, out),
        Command::Dta { command: Dta::Verify { run } } => dta::verify(&here, run, out),
        Command::Runs { command: Runs::List } => runs::list(&here, out),
        Command::Runs { command: Runs::Show { run, canonical } } => runs::show(&here, run, *canonical, out),
        Command::Runs { command: Runs::Verify { run } } => runs::verify(&here, run, out),
        Command::Rollback(arguments) => recover::rollback(&here, arguments, out),
        Command::Recover => recover::recover(&here, out),
    }
}

/// Where a command runs: the folder that it was started in, and the workspace.
pub(crate) struct Here {
    folder: PathBuf,
    context: Context,
}

impl Here {
    fn open(global: &Global) -> Result<Self, Error> {
        let folder = current_folder()?;
        let root = match &global.root {
            Some(root) => folder.join(root),
            None => Workspace::discover(&folder),
        };
        let cancel = cancelled_by_signals()?;
        let threads = match global.threads {
            Some(n) => n.get(),
            None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        };
        let bar = Bar::new(global);
        let options = Options {
            threads,
            environment: environment_of_git(),
            cancel,
            progress: Progress(Arc::new(move |done, total| bar.show(done, total))),
            ..Options::default()
        };
        Ok(Here { folder, context: Context::new(Workspace::open(&root)?, options)? })
    }

    /// The adapters that there are.
    fn adapters(&self) -> &Adapters {
        &self.context.options.adapters
    }

    /// Becomes true on Ctrl-C.
    fn cancel(&self) -> &AtomicBool {
        self.context.options.cancel.as_ref()
    }

    /// A path that the user typed, absolute and without `.` and `..`.
    fn absolute(&self, path: &Path) -> PathBuf {
        let mut absolute = PathBuf::new();
        for part in self.folder.join(path).components() {
            match part {
                Component::ParentDir => drop(absolute.pop()),
                Component::CurDir => {}
                part => absolute.push(part),
            }
        }
        absolute
    }

    /// Reads a file that the user named, or stdin for `-`.
    fn read_input(&self, path: &Path) -> Result<String, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", path.display()), error);
        if path == Path::new("-") {
            return std::io::read_to_string(std::io::stdin().lock()).map_err(|error| failed(&error));
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a file that the user names on the command line is theirs to name"
        )]
        std::fs::read_to_string(self.absolute(path)).map_err(|error| failed(&error))
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn current_folder() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::io("the current folder can't be told", &error))
}

/// What git needs to find itself and the user's settings.
#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn environment_of_git() -> BTreeMap<String, String> {
    let names = ["PATH", "HOME", "XDG_CONFIG_HOME", "LANG"];
    names.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// Ctrl-C asks for a clean stop; the second one ends the process, which recovery then cleans up.
fn cancelled_by_signals() -> Result<Arc<AtomicBool>, Error> {
    use signal_hook::{
        consts::{SIGINT, SIGTERM},
        flag,
    };
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_default(signal, Arc::clone(&cancel))
            .and_then(|_| flag::register(signal, Arc::clone(&cancel)))
            .map_err(|error| Error::io("signals can't be listened to", &error))?;
    }
    Ok(cancel)
}

fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false).init();
}
