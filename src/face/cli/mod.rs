//! The command line: the only room that prints, reads the environment and talks to a person.
//!
//! Every command turns its arguments into a call of the library and renders the reply. Data goes to stdout, talk to
//! stderr.

mod add;
mod annotations;
mod apply;
mod approve;
mod arguments;
mod ask;
mod attest;
mod check;
mod ci;
mod columns;
mod commands;
mod commit;
mod dag;
mod docs;
mod doctor;
mod dta;
mod dta_new;
mod edit;
mod files;
mod fleet;
mod gate;
mod guides;
mod here;
mod hooks;
mod hunk;
mod init;
mod llm;
mod mcp;
mod mcp_approve;
mod mcp_install;
mod mode;
mod new;
mod output;
mod pager;
mod plan;
mod planner;
mod progress;
mod record;
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
mod stats;
mod table;
mod target;
mod terminal;
mod test;
mod trace;
mod trust;
mod trusted;
mod verify;

use std::{ffi::OsString, io::IsTerminal, process::ExitCode};

use clap::{Parser, error::ErrorKind};

pub(crate) use self::here::Here;
use self::{
    arguments::{Cli, Command, Dta, Runs},
    here::Place,
    output::Output,
    trace::Trace,
};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use base::{
    error::{Code, Error},
    span::{self, span},
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
    let mut out = Output::new(cli.mode(), cli.global.color, cli.global.quiet);
    let result = traced(&cli, &mut out);
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

/// Carries out the command, and writes its trace if there is to be one.
fn traced(cli: &Cli, out: &mut Output) -> Result<u8, Error> {
    let trace = Trace::start(cli);
    listen(cli.global.verbose, trace.as_ref().ok().and_then(Option::as_ref));
    let trace = trace?;
    let result = span!("command", name = "nrv", version = env!("CARGO_PKG_VERSION")).in_scope(|| dispatch(cli, out));
    if let Some(trace) = trace {
        trace.finish(out);
    }
    result
}

fn dispatch(cli: &Cli, out: &mut Output) -> Result<u8, Error> {
    // Opened only by commands that need a policy: others work where it is missing or can't be read.
    let here = || Here::open(cli);
    match &cli.command {
        Command::Run(arguments) => run::run(&here()?, arguments, out),
        Command::Plan(arguments) => plan::plan(&here()?, arguments, out),
        Command::Apply(arguments) => apply::apply(&here()?, arguments, out),
        Command::Add(arguments) => add::add(&here()?, arguments, out),
        Command::Approve(arguments) => approve::approve(&here()?, arguments, out),
        Command::Test(arguments) => test::test(&here()?, arguments, out),
        Command::Trust(arguments) => trust::trust(&here()?, arguments, out),
        Command::New(arguments) => new::new(&here()?, arguments, out),
        Command::Check(arguments) => check::check(&here()?, arguments, out),
        Command::Scripts(arguments) => scripts::list(&here()?, arguments, out),
        Command::Repl(arguments) => repl::repl(&here()?, arguments, out),
        Command::Dag { command } => dag::dag(&here()?, command, out),
        Command::Fleet { command } => fleet::fleet(cli, command, out),
        Command::Dta { command: Dta::List } => dta::list(&here()?, out),
        Command::Dta { command: Dta::Describe { name } } => dta::describe(&in_any_case(cli)?, name, out),
        Command::Dta { command: Dta::New(arguments) } => dta_new::new(&here()?, arguments, out),
        Command::Dta { command: Dta::Run(arguments) } => dta::run(&here()?, arguments, out),
        Command::Dta { command: Dta::Verify { run } } => dta::verify(&here()?, run, out),
        Command::Planner { command } => planner::planner(&here()?, command, out),
        Command::Edit(arguments) => edit::edit(&here()?, arguments, out),
        Command::Gate(arguments) if arguments.is_hook() => Ok(gate::hook(here, arguments, out)),
        Command::Gate(arguments) => gate::gate(&here()?, arguments, out),
        Command::Llm(arguments) => llm::llm(&here()?, arguments, out),
        Command::Mcp(arguments) => mcp::mcp(&here()?, arguments, out),
        Command::Runs { command } => records(cli, command, out),
        Command::Replay(arguments) => replay::replay(&Here::without_policy(cli)?, arguments, out),
        Command::Verify { run } => verify::verify(&here()?, run, out),
        Command::Resume(arguments) => resume::resume(&here()?, arguments, out),
        Command::Rollback(arguments) => recover::rollback(&here()?, arguments, out),
        Command::Recover { check: true } => recover::check(&Place::find(cli)?, out),
        Command::Recover { check: false } => recover::recover(&in_any_case(cli)?, out),
        Command::Hooks { command } => hooks::hooks(&here()?, command, out),
        Command::Init { dry_run } => init::init(&Place::find(cli)?, *dry_run, out),
        Command::Doctor => doctor::doctor(&Place::find(cli)?, out),
        Command::Docs(arguments) => docs::docs(arguments, out),
        Command::Definitions(arguments) => docs::definitions(arguments, out),
        Command::Completions { shell } => shell::completions(*shell, out),
        Command::Man { command } => shell::man(command, out),
    }
}

fn records(cli: &Cli, command: &Runs, out: &mut Output) -> Result<u8, Error> {
    let here = || Here::open(cli);
    match command {
        Runs::List { state, limit } => runs::list(&in_any_case(cli)?, state.as_deref(), *limit, out),
        Runs::Stats(arguments) => stats::stats(&here()?, arguments, out),
        Runs::Show { run, canonical } => runs::show(&in_any_case(cli)?, run, *canonical, out),
        Runs::Agents { run } => runs::agents(&in_any_case(cli)?, run, out),
        Runs::Report(arguments) => report::report(&here()?, arguments, out),
        Runs::Commit(arguments) => commit::commit_run(&here()?, arguments, out),
        Runs::Attest(arguments) => attest::attest(&here()?, arguments, out),
        Runs::Verify { run } => runs::verify(&in_any_case(cli)?, run, out),
        Runs::Export { run, output, with_contents, without_contents } => {
            let contents = (*with_contents || *without_contents).then_some(*with_contents);
            runs::export(&here()?, run, output.as_deref(), contents, out)
        }
        Runs::Import { file } => runs::import(&here()?, file, out),
        Runs::Remove { runs, dry_run, yes } => runs::remove(&here()?, runs, (*dry_run, *yes), out),
        Runs::Gc { dry_run } => runs::gc(&here()?, *dry_run, out),
    }
}

/// The place of a command that has to work even where a policy can't be read, as recovery and the records of runs have to.
fn in_any_case(cli: &Cli) -> Result<Here, Error> {
    match Here::open(cli) {
        Err(error) if error.code() == Code::InvalidPolicy => Here::without_policy(cli),
        here => here,
    }
}

/// Sends logs to stderr, and spans to a trace.
fn listen(verbose: u8, trace: Option<&Trace>) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    // A closed stderr must not end the process in the middle of its work.
    let log = tracing_subscriber::fmt::layer()
        .with_writer(|| redact::Log)
        .with_target(false)
        .log_internal_errors(false)
        .without_time()
        .with_ansi(std::io::stderr().is_terminal());
    // The library of a protocol tells of each request that is answered with an error, and whoever asked tells of it too.
    let library = if verbose == 0 { LevelFilter::OFF } else { level.into() };
    let logged =
        Targets::new().with_default(level).with_target("rmcp", library).with_target(span::TARGET, LevelFilter::OFF);
    match trace {
        Some(trace) => {
            let spans = Targets::new().with_target(span::TARGET, tracing::Level::DEBUG);
            let log = log.with_filter(logged);
            tracing_subscriber::registry().with(log).with(trace.layer().with_filter(spans)).init();
        }
        None => tracing_subscriber::registry().with(log).with(logged).init(),
    }
}
