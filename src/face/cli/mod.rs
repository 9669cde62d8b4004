//! The command line: the only room that prints, reads the environment and talks to a person.
//!
//! Every command turns its arguments into a call of the library and renders the reply. Data goes to stdout, talk to
//! stderr.

mod annotations;
mod apply;
mod approve;
mod arguments;
mod attest;
mod check;
mod ci;
mod commands;
mod docs;
mod doctor;
mod dta;
mod files;
mod gate;
mod hooks;
mod hunk;
mod init;
mod llm;
mod output;
mod pager;
mod plan;
mod progress;
mod recordings;
mod recover;
mod redact;
mod repl;
mod replay;
mod report;
mod resume;
mod run;
mod runs;
mod sarif;
mod scripts;
mod shell;
mod signals;
mod table;
mod target;
mod terminal;
mod test;
mod trust;
mod trusted;
mod verify;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::Read,
    path::{Component, Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Parser, error::ErrorKind};

use self::{
    arguments::{Cli, Command, Dta, PlanArguments, RunArguments, Runs},
    output::Output,
    progress::Meter,
};
use crate::{
    base::error::{Code, Error},
    host::{CI, Context, Options, Progress},
    service::adapter::Adapters,
    system::{
        net::Way,
        policy::{Cassettes, Policy},
        workspace::Workspace,
    },
};

/// Runs the command that the arguments ask for.
#[expect(clippy::disallowed_methods, reason = "this is where the arguments come in")]
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = gate::watched(&args) {
        return ExitCode::from(code);
    }
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let printed = output::print_of_arguments(&error, &args);
            let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return ExitCode::from(match printed {
                _ if !asked_for => Code::Usage.exit_code(),
                // A closed pipe changes no exit code.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Code::Io.exit_code(),
                Ok(()) | Err(_) => 0,
            });
        }
    };
    log_to_stderr(cli.global.verbose);
    let mut out = Output::new(&cli);
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
            // An earlier error takes precedence.
            ExitCode::from(if code == 0 { error.code().exit_code() } else { code })
        }
        None => ExitCode::from(code),
    }
}

fn dispatch(cli: &Cli, out: &mut Output) -> Result<u8, Error> {
    // Opened only by commands that need a policy: others work where it is missing or can't be read.
    let here = || Here::open(cli);
    // Recovery and the records of runs have to work even where a policy can't be read.
    let in_any_case = || match Here::open(cli) {
        Err(error) if error.code() == Code::InvalidPolicy => Here::without_policy(cli),
        here => here,
    };
    match &cli.command {
        Command::Run(arguments) => run::run(&here()?, arguments, out),
        Command::Plan(arguments) => plan::plan(&here()?, arguments, out),
        Command::Apply(arguments) => apply::apply(&here()?, arguments, out),
        Command::Approve(arguments) => approve::approve(&here()?, arguments, out),
        Command::Test(arguments) => test::test(&here()?, arguments, out),
        Command::Trust(arguments) => trust::trust(&here()?, arguments, out),
        Command::Check(arguments) => check::check(&here()?, arguments, out),
        Command::Scripts => scripts::list(&here()?, out),
        Command::Repl(arguments) => repl::repl(&here()?, arguments, out),
        Command::Dta { command: Dta::List } => dta::list(&here()?, out),
        Command::Dta { command: Dta::Describe { name } } => dta::describe(name, out),
        Command::Dta { command: Dta::Run(arguments) } => dta::run(&here()?, arguments, out),
        Command::Dta { command: Dta::Verify { run } } => dta::verify(&here()?, run, out),
        Command::Gate(arguments) if arguments.is_hook() => Ok(gate::hook(here, arguments, out)),
        Command::Gate(arguments) => gate::gate(&here()?, arguments, out),
        Command::Llm(arguments) => llm::llm(&here()?, arguments, out),
        Command::Runs { command: Runs::List { state, limit } } => {
            runs::list(&in_any_case()?, state.as_deref(), *limit, out)
        }
        Command::Runs { command: Runs::Stats { since, suggest: true } } => runs::suggest(&here()?, *since, out),
        Command::Runs { command: Runs::Stats { since, .. } } => runs::stats(&here()?, *since, out),
        Command::Runs { command: Runs::Show { run, canonical } } => runs::show(&in_any_case()?, run, *canonical, out),
        Command::Runs { command: Runs::Report(arguments) } => report::report(&here()?, arguments, out),
        Command::Runs { command: Runs::Attest(arguments) } => attest::attest(&here()?, arguments, out),
        Command::Runs { command: Runs::Verify { run } } => runs::verify(&in_any_case()?, run, out),
        Command::Runs { command: Runs::Export { run, output, with_contents } } => {
            runs::export(&here()?, run, output.as_deref(), *with_contents, out)
        }
        Command::Runs { command: Runs::Import { file } } => runs::import(&here()?, file, out),
        Command::Runs { command: Runs::Gc { dry_run } } => runs::gc(&here()?, *dry_run, out),
        Command::Replay(arguments) => replay::replay(&Here::without_policy(cli)?, arguments, out),
        Command::Verify { run } => verify::verify(&here()?, run, out),
        Command::Resume(arguments) => resume::resume(&here()?, arguments, out),
        Command::Rollback(arguments) => recover::rollback(&here()?, arguments, out),
        Command::Recover { check: true } => recover::check(&Place::find(cli)?, out),
        Command::Recover { check: false } => recover::recover(&in_any_case()?, out),
        Command::Hooks { command } => hooks::hooks(&here()?, command, out),
        Command::Init { dry_run } => init::init(&Place::find(cli)?, *dry_run, out),
        Command::Doctor => doctor::doctor(&Place::find(cli)?, out),
        Command::Docs(arguments) => docs::docs(arguments, out),
        Command::Definitions(arguments) => docs::definitions(arguments, out),
        Command::Completions { shell } => shell::completions(*shell, out),
        Command::Man { command } => shell::man(command, out),
    }
}

/// The folder where a command was started, and the root of the workspace that it works on.
struct Place {
    folder: PathBuf,
    root: PathBuf,
    /// The reason for that root.
    reason: String,
}

impl Place {
    fn find(cli: &Cli) -> Result<Self, Error> {
        let folder = current_folder()?;
        if let Some(root) = &cli.global.root {
            return Ok(Place { root: folder.join(root), folder, reason: "`--root` names it".to_owned() });
        }
        let root = Workspace::discover(&folder);
        let mark = ["nrv.toml", ".git"].into_iter().find(|mark| root.join(mark).exists());
        let reason = match mark {
            Some(mark) if root == folder => format!("it holds `{mark}`"),
            Some(mark) => format!("it is the nearest folder above that holds `{mark}`"),
            None => "neither it nor a folder above holds `nrv.toml` or `.git`".to_owned(),
        };
        Ok(Place { folder, root, reason })
    }
}

/// A place with its policy, and the context of its runs.
pub(crate) struct Here {
    place: Place,
    context: Context,
    meter: Arc<Meter>,
}

impl Here {
    fn open(cli: &Cli) -> Result<Self, Error> {
        let mut here = Here::with(cli, Context::new)?;
        if here.is_ci() {
            here.context.policy = here.context.policy.in_ci()?;
        }
        if let Command::Run(RunArguments { script, .. }) | Command::Plan(PlanArguments { script, .. }) = &cli.command
            && script.strict_tools
        {
            here.context.policy = here.context.policy.strict()?;
        }
        redact::know(&here.context.rules);
        Ok(here)
    }

    /// For commands whose policy comes from records: that of the workspace is not even read.
    fn without_policy(cli: &Cli) -> Result<Self, Error> {
        Here::with(cli, |workspace, options| Context::with_policy(workspace, Policy::default(), options))
    }

    fn with(cli: &Cli, context: impl FnOnce(Workspace, Options) -> Result<Context, Error>) -> Result<Self, Error> {
        let place = Place::find(cli)?;
        let meter = Arc::new(Meter::new(cli.mode()));
        let threads = match cli.global.threads {
            Some(n) => n.get(),
            None => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        };
        let advance = Arc::clone(&meter);
        let environment = environment();
        let options = with_trust(Options {
            threads,
            network: Way::of(&environment),
            environment,
            progress: Progress(Arc::new(move |done, total| advance.advance(done, total))),
            ..Options::default()
        });
        let context = context(Workspace::open(&place.root)?, options)?;
        Ok(Here { place, context, meter })
    }

    /// True in CI, where no person watches and nothing may be recorded.
    fn is_ci(&self) -> bool {
        self.context.options.is_ci()
    }

    /// True if only approved scripts run, even without a flag.
    fn is_locked(&self) -> bool {
        self.is_ci() && self.context.policy.settings().ci.locked
    }

    /// True if only recorded replies answer requests to language models.
    fn replays_only(&self) -> bool {
        self.is_ci() && self.context.policy.settings().ci.cassettes == Cassettes::Replay
    }

    /// The available adapters.
    fn adapters(&self) -> &Adapters {
        &self.context.options.adapters
    }

    /// A path that the user typed, absolute and without `.` and `..`.
    fn absolute(&self, path: &Path) -> PathBuf {
        let mut absolute = PathBuf::new();
        for part in self.place.folder.join(path).components() {
            match part {
                Component::ParentDir => drop(absolute.pop()),
                Component::CurDir => {}
                part => absolute.push(part),
            }
        }
        absolute
    }

    /// Reads a text that the user named, or stdin for `-`.
    fn read_input(&self, path: &Path) -> Result<String, Error> {
        let not_text = || Error::new(Code::Io, format!("`{}` can't be read: it is not UTF-8", path.display()));
        String::from_utf8(self.read_bytes(path)?).map_err(|_| not_text())
    }

    /// Reads a file that the user named, or stdin for `-`.
    fn read_bytes(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", path.display()), error);
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            return read.map(|_| bytes).map_err(|error| failed(&error));
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a file that the user names on the command line is theirs to name"
        )]
        std::fs::read(self.absolute(path)).map_err(|error| failed(&error))
    }
}

/// The same options, with the user's trust store: a person has to trust the programs and requests of the policy.
fn with_trust(options: Options) -> Options {
    Options { trust: trust::of(&options), ..options }
}

#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn current_folder() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|error| Error::io("the current folder can't be told", &error))
}

/// The variables that are UTF-8. The library passes on those that git needs and the policy names.
fn environment() -> BTreeMap<String, String> {
    let text = |text: OsString| text.into_string().ok();
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = text(name)?;
        // Its value does not matter.
        let value = if name == CI { value.to_string_lossy().into_owned() } else { text(value)? };
        Some((name, value))
    });
    variables.collect()
}

fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    // A closed stderr must not end the process in the middle of its work.
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(|| redact::Log).with_target(false);
    log.log_internal_errors(false).init();
}
